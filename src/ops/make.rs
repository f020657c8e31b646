//! Making directories.
//!
//! May touch: `permit`, `resolve`, `change`.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::access::{Access, Operation};
use crate::change;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{check_creatable, contradiction, io, slot};
use crate::path::relative::RelPath;
use crate::permit::{Permit, Receipt};
use crate::resolve::slot::{Spot, look};
use crate::resolve::step::{self, Entered};
use crate::resolve::{Found, Slot, Want, again, on_the_way};
use crate::root::Place;
use crate::rule::{Level, is_reserved, may_alias};

pub(crate) fn create_dir(place: Place, path: RelPath) -> Result<()> {
    // Whatever has the name is in the way, with a slash behind it or without.
    let permit = Permit::issue(place, path.of_any_kind(), Operation::CreateDir)?;
    let (slot, mut receipt) = slot(permit, Want::Name, ErrorKind::AlreadyExists)?;
    let outcome = create_in(&slot, &mut receipt);
    receipt.close(outcome)
}

fn create_in(slot: &Slot, receipt: &mut Receipt) -> Result<()> {
    if slot.level.as_dir < Access::Write {
        return Err(ErrorKind::Protected.into());
    }
    if slot.see()?.is_some() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    check_creatable(slot)?;
    receipt.commit()?;
    change::create_dir(&slot.dir, &slot.name).map_err(io)
}

/// The directory and the missing ones above it. What is there already is walked to as always; below the first missing name nothing can be
/// but names, so all that is to be created is judged before the first is.
pub(crate) fn create_dir_all(place: Place, path: RelPath) -> Result<()> {
    let mut receipt = Permit::issue(place, path.clone(), Operation::CreateDirAll)?.spend();
    let outcome = create_all(&mut receipt, &path);
    receipt.close(outcome)
}

/// How often it is begun again where somebody else makes the same directories.
const RETRIES: usize = 32;

fn create_all(receipt: &mut Receipt, path: &RelPath) -> Result<()> {
    for _ in 0..RETRIES {
        let whole = match again(receipt, Want::Dir) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Protected => return Err(error),
            Err(error) => error,
        };
        match find_missing(receipt, path, whole)? {
            Some((dir, level, missing)) => return create_names(receipt, dir, level, &missing),
            // What was missing a moment ago is a directory now.
            None => std::thread::yield_now(),
        }
    }
    Err(ErrorKind::Busy.into())
}

/// The deepest directory on the way that is there, and the names that are not. `None`: the first of them has become a directory.
fn find_missing(receipt: &Receipt, path: &RelPath, whole: Error) -> Result<Option<(Dir, Level, Vec<OsString>)>> {
    let mut missing: Vec<OsString> = Vec::new();
    let (mut refusal, mut at) = (whole, path.of_any_kind());
    loop {
        // A name that leads nowhere, and behind which the path goes back up, was meant to be there.
        let Some((parent, name)) = at.split_last() else { return Err(refusal) };
        let first = missing.is_empty();
        missing.push(name.to_owned());
        match on_the_way(receipt, &parent) {
            Ok(Found::Dir(dir, level)) => match look_at(&dir, name, receipt)? {
                Spot::Nothing => {
                    missing.reverse();
                    return Ok(Some((dir, level, missing)));
                }
                Spot::Entry { seen, .. } if seen.metadata.is_dir() => return Ok(None),
                // Something that leads to no directory: in the way at the end, not to be passed on the way.
                Spot::Entry { .. } => return Err(if first { ErrorKind::AlreadyExists.into() } else { refusal }),
            },
            Ok(_) => return Err(contradiction()),
            Err(error) if error.kind() == ErrorKind::NotFound => refusal = error,
            Err(error) => return Err(error),
        }
        at = parent.of_any_kind();
    }
}

fn look_at(dir: &Dir, name: &OsStr, receipt: &Receipt) -> Result<Spot> {
    let exact = receipt.place().judges_names() && may_alias(name);
    look(dir, name, true, exact, receipt.place().mounts()?)
}

/// For a rehearsal, where the whole path leads to no directory: whether the missing ones could be made.
pub(crate) fn could_create_all(receipt: &Receipt, whole: Error) -> Result<()> {
    if whole.kind() == ErrorKind::Protected {
        return Err(whole);
    }
    match find_missing(receipt, receipt.permit().path(), whole)? {
        Some((_, level, missing)) => judge_names(receipt, level, &missing).map(drop),
        None => Ok(()),
    }
}

/// The levels of directories that are to be made one in the other.
fn judge_names(receipt: &Receipt, level: Level, names: &[OsString]) -> Result<Vec<Level>> {
    let mut levels = Vec::new();
    let mut at = level;
    for name in names {
        at = receipt.authority().root.rules.enter(&at.stand, name);
        if at.as_dir < Access::Write || is_reserved(name) {
            return Err(ErrorKind::Protected.into());
        }
        levels.push(at.clone());
    }
    Ok(levels)
}

fn create_names(receipt: &mut Receipt, mut dir: Dir, level: Level, names: &[OsString]) -> Result<()> {
    let root = Arc::clone(&receipt.authority().root);
    let levels = judge_names(receipt, level, names)?;
    let mounts = receipt.place().mounts()?;
    for (name, level) in names.iter().zip(levels) {
        let exact = !root.rules.is_empty() && may_alias(name);
        let slot = Slot { dir, name: name.clone(), level, must_be_dir: false, exact, only_file: false, mounts };
        check_creatable(&slot)?;
        receipt.commit()?;
        match change::create_dir(&slot.dir, name) {
            // Somebody else wanted it as well.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => made.map_err(io)?,
        }
        dir = match step::enter(&slot.dir, name, mounts).map_err(io)? {
            Entered::Dir(dir) => dir,
            // What was made was taken away again.
            Entered::Link(_) | Entered::Other => return Err(ErrorKind::Conflict.into()),
        };
    }
    Ok(())
}
