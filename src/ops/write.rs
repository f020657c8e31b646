//! Writing files: replacing, creating, adding, cutting.
//!
//! May touch: `permit`, `resolve`, `change`. Replacing is ALL-OR-NOTHING; adding and cutting are done in place, and named as not atomic.

use std::io::{Read, Write};
use std::sync::Arc;

use cap_std::fs::Metadata;

use crate::access::{Access, Operation};
use crate::change::{self, Snapshot, Temp};
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::file::File;
use crate::identity::Identity;
use crate::ops::{check_creatable, io, slot, vanished};
use crate::path::relative::RelPath;
use crate::permit::{Permit, Receipt};
use crate::resolve::slot::is_dir_or_link;
use crate::resolve::step::{self, Opened, Seen};
use crate::resolve::{Slot, Want, check_names, is_kernel_file};
use crate::root::Place;

pub(crate) fn write(place: Place, path: RelPath, contents: &[u8]) -> Result<()> {
    let want = target_of(&path);
    let permit = Permit::issue(place, path, Operation::Write)?;
    let (slot, mut receipt) = slot(permit, want, ErrorKind::IsADirectory)?;
    receipt.count(contents.len());
    let outcome = called_file(&slot, want)
        .and_then(|()| replace(&slot, &mut receipt, true, None, |_, file| file.write_all(contents).map_err(io)));
    receipt.close(outcome)
}

/// Reads the file and replaces it by what `edit` makes of it, with nothing of ours in between.
pub(crate) fn update(place: Place, path: RelPath, edit: impl FnOnce(Vec<u8>) -> Result<Vec<u8>>) -> Result<()> {
    let limit = place.root().shared.read_limit;
    let permit = Permit::issue(place, path, Operation::Update)?;
    let (slot, mut receipt) = slot(permit, Want::Target, ErrorKind::IsADirectory)?;
    let mut made = 0;
    let change = |old: Option<&mut std::fs::File>, file: &mut std::fs::File| {
        let Some(old) = old else { return Err(ErrorKind::NotFound.into()) };
        let mut bytes = Vec::new();
        old.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
            return Err(Error::too_large(limit));
        }
        let new = edit(bytes)?;
        made = new.len();
        file.write_all(&new).map_err(io)
    };
    let outcome = existing_file(&slot).and_then(|_| replace(&slot, &mut receipt, true, None, change));
    receipt.count(made);
    receipt.close(outcome)
}

/// Puts a new file where the slot is. Without `over`, what is there stays, and is `already-exists`. `like`: a file that a new one takes after.
/// `fill` gets the old file, if one is there, and the new one to write to.
pub(crate) fn replace(
    slot: &Slot,
    receipt: &mut Receipt,
    over: bool,
    like: Option<&Metadata>,
    fill: impl FnOnce(Option<&mut std::fs::File>, &mut std::fs::File) -> Result<()>,
) -> Result<()> {
    let shared = Arc::clone(&receipt.authority().root.shared);
    let _turn = shared.queue.turn([slot.key()?])?;
    prepare(slot, &shared.queue)?;
    let seen = slot.see()?;
    if seen.is_some() && !over {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let mut old = match &seen {
        Some(seen) => Some(open_old(slot, receipt, seen, receipt.permit().operation() == Operation::Update)?),
        None => {
            check_creatable(slot)?;
            None
        }
    };
    let mut temp = Temp::new(&slot.dir).map_err(io)?;
    fill(old.as_mut().map(|(file, _)| file), temp.file())?;
    // Held to the end, so that its number is not given to another file meanwhile; but Windows may not replace what is open.
    let (_held, metadata) = old.unzip();
    #[cfg(windows)]
    drop(_held);
    let metadata = metadata.as_ref();
    temp.finish(metadata.or(like)).map_err(io)?;
    // Other processes with roots of ours stand in no queue of this one, but wait here.
    let _lock = change::lock_dir(&slot.dir);
    receipt.commit()?;
    // Whoever keeps to no lock is met by comparison: what was read must be what is replaced.
    let now = slot.see()?.map(|seen| Snapshot::of(&seen.metadata));
    if now != metadata.map(Snapshot::of) {
        return Err(ErrorKind::Conflict.into());
    }
    temp.place(&slot.name, metadata.is_some()).map_err(appeared)?;
    change::sync_dir(&slot.dir).map_err(io)
}

/// Nothing had the name a moment ago.
fn appeared(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::AlreadyExists => ErrorKind::Conflict.into(),
        _ => io(error),
    }
}

/// Once in each directory, what an interrupted process left is taken away.
pub(crate) fn prepare(slot: &Slot, queue: &crate::queue::Queue) -> Result<()> {
    if queue.is_first_in(Identity::of(&slot.dir).map_err(io)?) {
        change::sweep(&slot.dir, slot.mounts);
    }
    Ok(())
}

/// The file that is to be replaced, open for reading: of a kind that may be, and one that this process could change in place. A rename would
/// not ask for that.
fn open_old(slot: &Slot, receipt: &Receipt, seen: &Seen, reads: bool) -> Result<(std::fs::File, Metadata)> {
    check_kind(slot, &seen.metadata)?;
    let (changeable, metadata) = step::open_for_change(&slot.dir, &slot.name, false, slot.mounts).map_err(vanished)?;
    check_file(slot, receipt, &changeable, &metadata)?;
    open_to_read(slot, changeable, metadata, reads)
}

/// The same file once more, for reading.
fn open_to_read(slot: &Slot, changeable: std::fs::File, metadata: Metadata, reads: bool) -> Result<(std::fs::File, Metadata)> {
    match step::open(&slot.dir, &slot.name, slot.mounts) {
        Ok(Opened::File(file, opened)) if Identity::from(&opened) == Identity::from(&metadata) => Ok((file, opened)),
        Ok(_) => Err(ErrorKind::Conflict.into()),
        // Not to be read, and still to be replaced by what needs no reading.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied && !reads => Ok((changeable, metadata)),
        Err(error) => Err(vanished(error)),
    }
}

/// By what was seen before anything is opened, so that no pipe is let go by it.
fn check_kind(slot: &Slot, metadata: &Metadata) -> Result<()> {
    if slot.level.ceiling(is_dir_or_link(metadata)) < Access::Write {
        return Err(ErrorKind::Protected.into());
    }
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    // It was no link a moment ago.
    if metadata.is_symlink() {
        return Err(ErrorKind::Conflict.into());
    }
    if metadata.is_file() { Ok(()) } else { Err(ErrorKind::SpecialFile.into()) }
}

/// By the handle.
fn check_file(slot: &Slot, receipt: &Receipt, file: &std::fs::File, metadata: &Metadata) -> Result<()> {
    check_kind(slot, metadata)?;
    if is_kernel_file(receipt.place(), file, metadata.into())? {
        return Err(ErrorKind::SpecialFile.into());
    }
    Ok(check_names(receipt.place(), change::names_of(metadata))?)
}

/// A slash behind the last name calls it a directory, wherever a link of that name may lead.
pub(crate) fn target_of(path: &RelPath) -> Want {
    if path.must_be_dir() { Want::Name } else { Want::Target }
}

fn named_as_directory() -> Error {
    Error::detailed(ErrorKind::IsADirectory, Detail::NamedAsDirectory).advise("leave out the slash to name a file")
}

/// The path, or the text of the last link, does not call it a directory.
pub(crate) fn called_file(slot: &Slot, want: Want) -> Result<()> {
    if !slot.must_be_dir {
        return Ok(());
    }
    match slot.see()? {
        Some(seen) if want == Want::Target && !seen.metadata.is_dir() => Err(ErrorKind::NotADirectory.into()),
        Some(seen) if seen.metadata.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => Err(named_as_directory()),
    }
}

/// Something is there, and it is not called a directory.
pub(crate) fn existing_file(slot: &Slot) -> Result<Seen> {
    let seen = slot.see()?.ok_or(ErrorKind::NotFound)?;
    match (slot.must_be_dir, seen.metadata.is_dir()) {
        (false, _) => Ok(seen),
        (true, true) => Err(ErrorKind::IsADirectory.into()),
        (true, false) => Err(ErrorKind::NotADirectory.into()),
    }
}

pub(crate) fn create_new(place: Place, path: RelPath) -> Result<File> {
    let authority = place.authority.clone();
    let permit = Permit::issue(place, path, Operation::CreateNew)?;
    let (slot, mut receipt) = slot(permit, Want::Name, ErrorKind::AlreadyExists)?;
    let outcome = create_in(&slot, &mut receipt);
    receipt.close(outcome.map(|(file, metadata)| File::new(file, metadata, authority, Access::Write)))
}

fn create_in(slot: &Slot, receipt: &mut Receipt) -> Result<(std::fs::File, crate::metadata::Metadata)> {
    if slot.must_be_dir {
        return Err(named_as_directory());
    }
    if slot.see()?.is_some() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    check_creatable(slot)?;
    receipt.commit()?;
    let file = step::create_file(&slot.dir, &slot.name).map_err(io)?;
    let metadata = crate::metadata::Metadata::of(&file).map_err(io)?;
    Ok((file, metadata))
}

pub(crate) fn append(place: Place, path: RelPath, contents: &[u8]) -> Result<()> {
    let want = target_of(&path);
    let permit = Permit::issue(place, path, Operation::Append)?;
    let (slot, mut receipt) = slot(permit, want, ErrorKind::IsADirectory)?;
    receipt.count(contents.len());
    let outcome = called_file(&slot, want).and_then(|()| append_in(&slot, &mut receipt, contents));
    receipt.close(outcome)
}

fn append_in(slot: &Slot, receipt: &mut Receipt, contents: &[u8]) -> Result<()> {
    let shared = Arc::clone(&receipt.authority().root.shared);
    let _turn = shared.queue.turn([slot.key()?])?;
    let seen = slot.see()?;
    let mut file = match &seen {
        Some(seen) => open_in_place(slot, receipt, seen, true)?,
        None => {
            check_creatable(slot)?;
            receipt.commit()?;
            step::create_file(&slot.dir, &slot.name).map_err(appeared)?
        }
    };
    // One that was made for this is as good as not there, and is not looked at before it has its content.
    let before = match &seen {
        Some(_) => {
            let before = file.metadata().map_err(io)?.len();
            receipt.commit()?;
            before
        }
        None => 0,
    };
    let (written, outcome) = write_counted(&mut file, contents);
    // What did not fit is taken back, so that the next try does not add it twice; unless somebody else has added something behind it.
    let is_ours = || file.metadata().is_ok_and(|now| now.len() == before.saturating_add(written));
    if outcome.is_err() && is_ours() {
        let _ = if seen.is_some() { file.set_len(before) } else { change::remove_file(&slot.dir, &slot.name) };
    }
    outcome.map_err(io)
}

/// How much of it was written, and whether that was all.
fn write_counted(file: &mut std::fs::File, contents: &[u8]) -> (u64, std::io::Result<()>) {
    let mut left = contents;
    let written = |left: &[u8]| u64::try_from(contents.len() - left.len()).unwrap_or(u64::MAX);
    while !left.is_empty() {
        match file.write(left) {
            Ok(0) => return (written(left), Err(std::io::ErrorKind::WriteZero.into())),
            Ok(count) => left = left.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return (written(left), Err(error)),
        }
    }
    (written(left), Ok(()))
}

pub(crate) fn set_len(place: Place, path: RelPath, len: u64) -> Result<()> {
    let permit = Permit::issue(place, path, Operation::SetLen)?;
    let (slot, mut receipt) = slot(permit, Want::Target, ErrorKind::IsADirectory)?;
    let outcome = set_len_in(&slot, &mut receipt, len);
    receipt.close(outcome)
}

fn set_len_in(slot: &Slot, receipt: &mut Receipt, len: u64) -> Result<()> {
    let shared = Arc::clone(&receipt.authority().root.shared);
    let _turn = shared.queue.turn([slot.key()?])?;
    let seen = existing_file(slot)?;
    let file = open_in_place(slot, receipt, &seen, false)?;
    receipt.commit()?;
    file.set_len(len).map_err(io)
}

/// A file to be changed in place: open for writing, of the right kind, and with one name only, since a change would reach the others.
fn open_in_place(slot: &Slot, receipt: &Receipt, seen: &Seen, append: bool) -> Result<std::fs::File> {
    check_kind(slot, &seen.metadata)?;
    let (file, metadata) = step::open_for_change(&slot.dir, &slot.name, append, slot.mounts).map_err(vanished)?;
    check_file(slot, receipt, &file, &metadata)?;
    if change::names_of(&metadata) > 1 { Err(ErrorKind::HardLinked.into()) } else { Ok(file) }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::exchanged;

    /// Catches: what has taken the name between the look and the open that is told as a failure of the system, as missing where something was to
    /// be written, or that is written to.
    #[test]
    fn what_has_become_of_the_name_since_the_look() {
        // Elsewhere than on Linux what is no file is seen before it is opened.
        let seen = cfg!(any(not(target_os = "linux"), cap_roots_portable));
        for (now, while_opened, while_read) in [
            ("file", "ok", "conflict"),
            ("pipe", "special-file", "conflict"),
            ("pipe with a reader", "special-file", "conflict"),
            ("socket", "special-file", if seen { "conflict" } else { "special-file" }),
            ("directory", "is-a-directory", "conflict"),
            ("link", "conflict", "conflict"),
            ("nothing", "conflict", "conflict"),
        ] {
            for operation in [Operation::Write, Operation::Update, Operation::Append, Operation::SetLen] {
                let told = exchanged::told(now, operation, |slot, receipt, seen| match operation {
                    Operation::Write => open_old(slot, receipt, seen, false).map(drop),
                    Operation::Update => open_old(slot, receipt, seen, true).map(drop),
                    _ => open_in_place(slot, receipt, seen, operation == Operation::Append).map(drop),
                });
                assert_eq!(told, while_opened, "{operation:?}, {now}");
            }
            for reads in [false, true] {
                let opened = std::cell::Cell::new(None);
                let told = exchanged::between(
                    now,
                    Operation::Write,
                    |slot| opened.set(step::open_for_change(&slot.dir, &slot.name, false, slot.mounts).ok()),
                    |slot, _, _| {
                        let (file, metadata) = opened.take().unwrap();
                        open_to_read(slot, file, metadata, reads).map(drop)
                    },
                );
                assert_eq!(told, while_read, "read, {now}");
            }
        }
    }
}
