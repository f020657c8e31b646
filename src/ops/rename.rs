//! Giving an entry another name.
//!
//! May touch: `permit`, `resolve`, `change`. Both ends are judged (TWO-ENDS), and so is everything below a directory: a rename can neither
//! slip out of a rule nor into one.

use std::sync::Arc;

use crate::access::{Access, End, Operation};
use crate::change;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{io, remove, slot};
use crate::path::relative::RelPath;
use crate::permit::{Permit, Receipt};
use crate::resolve::slot::is_dir_or_link;
use crate::resolve::step::Seen;
use crate::resolve::{Slot, Want};
use crate::root::Place;

/// One end of an operation with two.
pub(crate) struct Way {
    pub(crate) place: Place,
    pub(crate) path: RelPath,
}

/// Permits for both ends, in this order. If the second is refused, the first ends with the same refusal.
pub(crate) fn permits(from: Way, to: Way, operation: Operation) -> Result<(Permit, Permit)> {
    let source = Permit::issue_at(from.place, from.path, operation, End::Source)?;
    match Permit::issue_at(to.place, to.path, operation, End::Target) {
        Ok(target) => Ok((source, target)),
        Err(error) => source.spend().close(Err(error.at_target())),
    }
}

pub(crate) fn rename(from: Way, to: Way, replace: bool) -> Result<()> {
    let operation = if replace { Operation::RenameReplace } else { Operation::Rename };
    let slash = to.path.must_be_dir() && !to.path.is_empty();
    // What has the name is in the way whatever it is, so the slash says something about the source only.
    let to = Way { path: to.path.of_any_kind(), ..to };
    let (source, target) = permits(from, to, operation)?;
    let (from, source) = match slot(source, Want::Name, ErrorKind::InvalidPath) {
        Ok(found) => found,
        Err(error) => return target.spend().close(Err(error)),
    };
    let (to, mut target) = match slot(target, Want::Name, ErrorKind::InvalidPath) {
        Ok(found) => found,
        Err(error) => return source.close(Err(error.at_target())),
    };
    let outcome = rename_in(&from, &source, &to, &mut target, replace, slash);
    let outcome = target.close(outcome);
    source.close_committed(outcome)
}

fn rename_in(from: &Slot, source: &Receipt, to: &Slot, target: &mut Receipt, replace: bool, slash: bool) -> Result<()> {
    let (here, there) = (&source.authority().root, Arc::clone(&target.authority().root));
    let _turn = there.shared.queue.turn([from.key()?, to.key()?]);
    let seen = from.see()?.ok_or(ErrorKind::NotFound)?;
    remove::check(from, source, &seen)?;
    let old = to.see().map_err(Error::at_target)?;
    check_target(to, &seen, old.as_ref()).map_err(Error::at_target)?;
    let is_dir = seen.metadata.is_dir();
    let alike = !is_dir || here.rules.stand_alike(&from.level, &there.rules, &to.level);
    if !Arc::ptr_eq(here, &there) {
        // A name leaves one grant for another: for that one, it is taken away.
        if source.authority().no_delete() || !alike {
            return Err(ErrorKind::CrossRoot.into());
        }
    } else if !alike {
        return Err(ErrorKind::Protected.into());
    }
    match &old {
        Some(_) if !replace => return Err(Error::from(ErrorKind::AlreadyExists).at_target()),
        _ if slash && !is_dir => return Err(Error::from(ErrorKind::NotADirectory).at_target()),
        Some(old) if slash && old.metadata.is_symlink() => return Err(Error::from(ErrorKind::NotADirectory).at_target()),
        Some(_) => {}
        None => to.check_creatable().map_err(Error::at_target)?,
    }
    source.authority().check()?;
    target.commit()?;
    change::rename(&from.dir, &from.name, &to.dir, &to.name, replace).map_err(refusal)
}

/// What comes to a name must be allowed there as what it is, and what is replaced must be allowed to go.
fn check_target(to: &Slot, seen: &Seen, old: Option<&Seen>) -> Result<()> {
    let allows = |seen: &Seen| to.level.ceiling(is_dir_or_link(&seen.metadata)) >= Access::Write;
    if allows(seen) && old.is_none_or(allows) { Ok(()) } else { Err(ErrorKind::Protected.into()) }
}

/// rename(2) has failures of its own: a directory into itself, one over another that is not empty, and another mount.
fn refusal(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => ErrorKind::InvalidArgument.into(),
        // The source was looked at a moment ago; what stands in the way is at the target.
        _ => io(error).at_target(),
    }
}
