//! Giving an entry another name.
//!
//! May touch: `permit`, `resolve`, `change`. Both ends are judged (TWO-ENDS), and so is everything below a directory: a rename can neither
//! slip out of a rule nor into one.

use std::sync::Arc;

use crate::access::{Access, End, Operation};
use crate::change;
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::identity::Identity;
use crate::observe::Coming;
use crate::ops::{check_creatable, io, remove, slot};
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

/// Permits for both ends, in this order. What one of them is refused for is told of the other as well.
pub(crate) fn permits(from: Way, to: Way, operation: Operation) -> Result<(Permit, Permit)> {
    let mut source = match Permit::issue(from.place, from.path, operation) {
        Ok(source) => source,
        // Declined by the observer: who has no room for one is not asked for another.
        Err(error) if error.kind() == ErrorKind::Busy => return Err(error),
        Err(error) => {
            let target = || [Coming::at(operation, End::Target, &to.place, &to.path)];
            return Err(to.place.authority.watch.refused(error, target));
        }
    };
    match source.issue_target(to.place, to.path) {
        Ok(target) => Ok((source, target)),
        Err(error) => source.spend().close(Err(error.at_target())),
    }
}

pub(crate) fn rename(from: Way, to: Way, replace: bool) -> Result<()> {
    let operation = if replace { Operation::RenameReplace } else { Operation::Rename };
    let (source, target) = permits(from, to, operation)?;
    // A name leaves one grant for another: for the first one, it is taken away.
    if !source.place().authority.may_pass_to(&target.place().authority) {
        let error = Error::from(ErrorKind::CrossRoot);
        target.give_up(&error);
        return source.spend().close(Err(error));
    }
    let (from, source) = match slot(source, Want::Name, ErrorKind::InvalidPath) {
        Ok(found) => found,
        Err(error) => {
            target.give_up(&error);
            return Err(error);
        }
    };
    // What is not there is said before anything is said of the target.
    if let Err(error) = look(&from, &source) {
        target.give_up(&error);
        return source.close(Err(error));
    }
    let (to, mut target) = match slot(target, Want::Name, ErrorKind::InvalidPath) {
        Ok(found) => found,
        Err(error) => return source.close(Err(error.at_target())),
    };
    let outcome = rename_in(&from, &source, &to, &mut target, replace);
    let outcome = target.close(outcome);
    source.close_committed(outcome)
}

fn look(from: &Slot, source: &Receipt) -> Result<Seen> {
    let seen = from.see()?.ok_or(ErrorKind::NotFound)?;
    remove::check(from, source, &seen)?;
    Ok(seen)
}

fn rename_in(from: &Slot, source: &Receipt, to: &Slot, target: &mut Receipt, replace: bool) -> Result<()> {
    let (here, there) = (&source.authority().root, Arc::clone(&target.authority().root));
    let _turn = there.shared.queue.turn([from.key()?, to.key()?])?;
    let seen = look(from, source)?;
    let old = to.see().map_err(Error::at_target)?;
    if !to.admits(&seen.metadata) {
        return Err(Error::from(ErrorKind::OutsideRoots).at_target());
    }
    // What comes to a name must be allowed there as what it is.
    if to.level.ceiling(is_dir_or_link(&seen.metadata)) < Access::Write {
        return Err(Error::from(ErrorKind::Protected).at_target());
    }
    let is_dir = seen.metadata.is_dir();
    // A link stands for a directory: by its new name it would be one that was prepared elsewhere.
    let alike = !is_dir_or_link(&seen.metadata) || here.rules.stand_alike(&from.level, &there.rules, &to.level);
    if !alike {
        return Err(unlike(Arc::ptr_eq(here, &there)));
    }
    if is_dir && !source.authority().may_pass_tree_to(target.authority()) {
        return Err(ErrorKind::CrossRoot.into());
    }
    match &old {
        Some(_) if !replace => return Err(Error::from(ErrorKind::AlreadyExists).at_target()),
        _ if to.must_be_dir && !is_dir => return Err(Error::from(ErrorKind::NotADirectory).at_target()),
        Some(old) if to.must_be_dir && old.metadata.is_symlink() => return Err(Error::from(ErrorKind::NotADirectory).at_target()),
        // Two names of one file (rename(2)), or one name.
        Some(old) if !is_dir && is_same(old, &seen) && !is_respelled(from, to)? => return Ok(()),
        Some(old) if !is_dir && old.metadata.is_dir() => return Err(Error::from(ErrorKind::IsADirectory).at_target()),
        Some(_) => {}
        None => check_creatable(to).map_err(Error::at_target)?,
    }
    source.authority().check()?;
    target.commit()?;
    change::rename(&from.dir, &from.name, &to.dir, &to.name, replace).map_err(|error| refusal(error, from))
}

/// Rules would match other names below the new name than below the old one.
pub(crate) fn unlike(same_root: bool) -> Error {
    if same_root { Error::detailed(ErrorKind::Protected, Detail::Inside) } else { ErrorKind::CrossRoot.into() }
}

fn is_same(one: &Seen, other: &Seen) -> bool {
    Identity::from(&one.metadata) == Identity::from(&other.metadata)
}

/// On a disk that folds names, another spelling of the same name is there already, and is what is wanted.
fn is_respelled(from: &Slot, to: &Slot) -> Result<bool> {
    Ok(from.name != to.name && from.key()? == to.key()?)
}

/// rename(2) has failures of its own: a directory into itself, one over another that is not empty, and another mount.
fn refusal(error: std::io::Error, from: &Slot) -> Error {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => {
            Error::invalid_argument("the target is inside the source").advise("name a target outside of it")
        }
        std::io::ErrorKind::PermissionDenied if !change::lets_change(&from.dir) => io(error),
        std::io::ErrorKind::CrossesDevices => io(error).advise("copy it, then remove it"),
        // The source was looked at a moment ago; what stands in the way is at the target.
        _ => io(error).at_target(),
    }
}
