//! Removing files, links, directories and trees.
//!
//! May touch: `permit`, `resolve`, `change`. What names the directory that a path starts from, or ends with `..`, names no entry and is
//! refused before anything is looked at.

use std::ffi::OsStr;
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::access::{Access, Operation};
use crate::authority::Authority;
use crate::change;
use crate::change::tree::{self, Descended, Descent, Step};
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::metadata::FileType;
use crate::ops::{TREE_LIMIT, io, slot};
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;
use crate::permit::{Permit, Receipt};
use crate::resolve::mounts::Mounts;
use crate::resolve::step::{self, Entered, Seen};
use crate::resolve::{Slot, Want, again, names};
use crate::root::Place;
use crate::rule::{Level, is_reserved};

pub(crate) fn remove_file(place: Place, path: RelPath) -> Result<()> {
    remove(place, path, Operation::RemoveFile, |slot, receipt, seen| {
        if seen.metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        receipt.commit()?;
        change::remove_file(&slot.dir, &slot.name).map_err(io)
    })
}

pub(crate) fn remove_dir(place: Place, path: RelPath) -> Result<()> {
    remove(place, path, Operation::RemoveDir, |slot, receipt, seen| {
        if !seen.metadata.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        receipt.commit()?;
        change::remove_dir(&slot.dir, &slot.name).map_err(io)
    })
}

pub(crate) fn remove_dir_all(place: Place, path: RelPath) -> Result<()> {
    remove(place, path, Operation::RemoveDirAll, |slot, receipt, seen| {
        if seen.metadata.is_symlink() {
            receipt.commit()?;
            return change::remove_file(&slot.dir, &slot.name).map_err(io);
        }
        if !seen.metadata.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        let authority = receipt.authority().clone();
        let doomed = Doomed { slot, authority: &authority };
        doomed.judge()?;
        receipt.commit()?;
        doomed.remove().map_err(|error| error.advise("a part of it may be gone, so list it first"))
    })
}

/// Whether the rules let a whole tree be removed.
pub(crate) fn judge_tree(slot: &Slot, authority: &Authority) -> Result<()> {
    Doomed { slot, authority }.judge()
}

/// Whether a directory has entries, as far as that may be seen: the operation itself need not list it.
pub(crate) fn look_if_empty(slot: &Slot) -> Result<()> {
    let Ok(Entered::Dir(dir)) = step::enter(&slot.dir, &slot.name, slot.mounts) else { return Ok(()) };
    let is_empty = names::list(&dir).map_or(true, |mut names| names.next().is_none());
    if is_empty { Ok(()) } else { Err(ErrorKind::NotEmpty.into()) }
}

fn remove(
    place: Place,
    path: RelPath,
    operation: Operation,
    remove: impl FnOnce(&Slot, &mut Receipt, &Seen) -> Result<()>,
) -> Result<()> {
    let (slot, mut receipt) = slot(Permit::issue(place, path, operation)?, Want::Name, ErrorKind::InvalidPath)?;
    let outcome = remove_in(&slot, &mut receipt, remove);
    receipt.close(outcome)
}

fn remove_in(slot: &Slot, receipt: &mut Receipt, remove: impl FnOnce(&Slot, &mut Receipt, &Seen) -> Result<()>) -> Result<()> {
    let shared = Arc::clone(&receipt.authority().root.shared);
    let _turn = shared.queue.turn([slot.key()?])?;
    let seen = slot.see()?.ok_or(ErrorKind::NotFound)?;
    check(slot, receipt, &seen)?;
    remove(slot, receipt, &seen)
}

/// The entry is what its slash says that it is.
pub(crate) fn check(slot: &Slot, receipt: &Receipt, seen: &Seen) -> Result<()> {
    if slot.must_be_dir && !seen.metadata.is_dir() {
        if seen.metadata.is_symlink() {
            // The slash follows it, and tells what following it tells.
            again(receipt, Want::Metadata)?;
        }
        return Err(ErrorKind::NotADirectory.into());
    }
    Ok(())
}

/// A directory that is to be removed with everything in it.
struct Doomed<'a> {
    slot: &'a Slot,
    authority: &'a Authority,
}

impl Doomed<'_> {
    /// Every name in the tree, before the first is removed.
    fn judge(&self) -> Result<()> {
        let mut descent = self.descend()?;
        let mut inside = None;
        while let Some(step) = descent.next() {
            self.authority.check()?;
            if let Step::Name { dir, name, file_type } = step.map_err(io)? {
                // Once for each directory: half a tree is nobody's wish.
                if inside != Some(descent.depth()) {
                    inside = Some(descent.depth());
                    if !change::lets_change(&dir) {
                        return Err(ErrorKind::OsDenied.into());
                    }
                }
                let (level, is_dir) = self.judge_name(&descent, &dir, &name, file_type)?;
                if is_dir {
                    check_descended(descent.descend(&name, level).map_err(io)?)?;
                }
            }
        }
        if descent.is_over() { Err(ErrorKind::Limit.into()) } else { Ok(()) }
    }

    /// Each name is judged again: what appeared meanwhile was not there to be judged.
    fn remove(&self) -> Result<()> {
        let mut descent = self.descend()?;
        while let Some(step) = descent.next() {
            self.authority.check()?;
            match step.map_err(io)? {
                Step::Name { dir, name, file_type } => {
                    let (level, is_dir) = self.judge_name(&descent, &dir, &name, file_type)?;
                    check_descended(tree::remove_or_descend(&mut descent, &dir, &name, is_dir, level).map_err(io)?)?;
                }
                Step::Leave { dir, name, .. } => change::remove_dir(&dir, &name).map_err(io)?,
            }
        }
        // A directory that is held is not removed on Windows.
        drop(descent);
        change::remove_dir(&self.slot.dir, &self.slot.name).map_err(io)
    }

    fn descend(&self) -> Result<Descent<Level>> {
        let Entered::Dir(top) = step::enter(&self.slot.dir, &self.slot.name, self.slot.mounts).map_err(io)? else {
            return Err(ErrorKind::Conflict.into());
        };
        Descent::new(top, self.slot.level.clone(), TREE_LIMIT, self.slot.mounts).map_err(io)
    }

    fn judge_name(
        &self,
        descent: &Descent<Level>,
        dir: &Dir,
        name: &OsStr,
        file_type: Option<FileType>,
    ) -> Result<(Level, bool)> {
        // What the system would not remove ends the look, and not the removal half way.
        PathStyle::host().check_os_name(name).map_err(|kind| io(kind.into()))?;
        let file_type = type_of(dir, name, file_type, self.slot.mounts)?;
        let above = descent.known().map_or_else(Level::free, Level::clone);
        let level = self.authority.root.rules.enter(&above.stand, name);
        let dir_or_link = matches!(file_type, FileType::Dir | FileType::Symlink);
        // Leftovers of ours are in nobody's way.
        if level.ceiling(dir_or_link) < Access::Write && !is_reserved(name) {
            return Err(Error::detailed(ErrorKind::Protected, Detail::Inside));
        }
        Ok((level, file_type == FileType::Dir))
    }
}

/// What is not gone into ends a removal, before anything is removed or where it came to be meanwhile.
fn check_descended(descended: Descended) -> Result<()> {
    match descended {
        Descended::TooDeep => Err(ErrorKind::Limit.into()),
        Descended::Elsewhere => Err(Error::on_another_mount()),
        Descended::Into | Descended::Not => Ok(()),
    }
}

/// The type that the listing told, or a look at the name. On which mount it lies, only a look tells.
pub(crate) fn type_of(dir: &Dir, name: &OsStr, listed: Option<FileType>, mounts: Mounts) -> Result<FileType> {
    match listed {
        Some(file_type) if mounts == Mounts::Any => Ok(file_type),
        _ => Ok(FileType::from_cap_std(step::see(dir, name, mounts).map_err(io)?.metadata.file_type())),
    }
}
