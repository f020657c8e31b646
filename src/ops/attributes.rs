//! Permission bits and times.
//!
//! May touch: `permit`, `resolve`. Done on the handle of what the path led to, never by name.

use std::fs::{File, FileTimes};
use std::time::SystemTime;

use cap_std::fs::Metadata;

use crate::access::Operation;
use crate::change;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{contradiction, io, vanished};
use crate::path::relative::RelPath;
use crate::permit::Permit;
use crate::resolve::step::{self, Opened};
use crate::resolve::{Found, Slot, Want, resolve};
use crate::root::Place;

pub(crate) fn set_permissions(place: Place, path: RelPath, mode: u32) -> Result<()> {
    let permit = Permit::issue(place, path, Operation::SetPermissions)?;
    if mode & !0o777 != 0 {
        let refusal = Error::invalid_argument("only the nine permission bits can be set, 0o777 at most");
        return permit.spend().close(Err(refusal.advise("leave set-id and sticky bits out")));
    }
    change_attributes(permit, |changed| set_mode(changed, mode))
}

pub(crate) fn set_times(place: Place, path: RelPath, accessed: Option<SystemTime>, modified: Option<SystemTime>) -> Result<()> {
    let permit = Permit::issue(place, path, Operation::SetTimes)?;
    change_attributes(permit, |changed| {
        let Changed::Open(file) = changed else { return Err(ErrorKind::OsDenied.into()) };
        let mut times = FileTimes::new();
        if let Some(accessed) = accessed {
            times = times.set_accessed(accessed);
        }
        if let Some(modified) = modified {
            times = times.set_modified(modified);
        }
        file.set_times(times).map_err(io)
    })
}

/// What is to be changed.
enum Changed<'a> {
    Open(File),
    /// What its owner may open neither for reading nor for writing.
    #[cfg_attr(not(unix), allow(dead_code, reason = "there are no bits to set"))]
    Closed(&'a Slot),
}

#[cfg(unix)]
fn set_mode(changed: Changed<'_>, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(mode);
    match changed {
        Changed::Open(file) => file.set_permissions(permissions).map_err(io),
        // By its name, beneath the held directory.
        Changed::Closed(slot) => {
            let permissions = cap_std::fs::Permissions::from_std(permissions);
            slot.dir.set_permissions(&slot.name, permissions).map_err(|error| match error.raw_os_error() {
                // Not the system's: the name has become a link that leads out of the directory.
                None => ErrorKind::Conflict.into(),
                // EINVAL of readlink(2): it was a link for a moment, and is none any more.
                Some(_) if error.kind() == std::io::ErrorKind::InvalidInput => ErrorKind::Conflict.into(),
                Some(_) => io(error),
            })
        }
    }
}

#[cfg(not(unix))]
fn set_mode(_: Changed<'_>, _: u32) -> Result<()> {
    Err(ErrorKind::Unsupported.into())
}

fn change_attributes(permit: Permit, change: impl FnOnce(Changed<'_>) -> Result<()>) -> Result<()> {
    let (found, mut receipt) = resolve(permit, Want::Target)?;
    // Where a rule could be reached by another name, or another mount by the same, a name alone is not enough.
    let by_name = !receipt.place().judges_names() && !receipt.place().root().shared.one_file_system;
    let opened = match &found {
        Found::Slot(slot) => match open(slot) {
            Err(error) if error.kind() == ErrorKind::OsDenied && by_name => closed(slot),
            opened => opened.map(Changed::Open),
        },
        Found::Dir(dir, _) => step::open_dir(dir).map(Changed::Open).map_err(io),
        _ => Err(contradiction()),
    };
    let outcome = opened.and_then(|changed| {
        receipt.commit()?;
        change(changed)
    });
    receipt.close(outcome)
}

/// Its other names count here as well, though it is not open.
fn closed(slot: &Slot) -> Result<Changed<'_>> {
    let metadata = slot.see()?.ok_or(ErrorKind::NotFound)?.metadata;
    if metadata.is_file() && change::names_of(&metadata) > 1 {
        return Err(ErrorKind::HardLinked.into());
    }
    Ok(Changed::Closed(slot))
}

fn open(slot: &Slot) -> Result<File> {
    open_seen(slot, &slot.see()?.ok_or(ErrorKind::NotFound)?.metadata)
}

fn open_seen(slot: &Slot, metadata: &Metadata) -> Result<File> {
    if metadata.is_dir() {
        let dir = step::open_dir_at(&slot.dir, &slot.name, slot.mounts).map_err(vanished)?;
        return dir.ok_or_else(|| ErrorKind::Conflict.into());
    }
    if slot.must_be_dir {
        return Err(ErrorKind::NotADirectory.into());
    }
    // It was no link a moment ago.
    if metadata.is_symlink() {
        return Err(ErrorKind::Conflict.into());
    }
    if !metadata.is_file() {
        return Err(ErrorKind::SpecialFile.into());
    }
    let (file, opened) = open_file(slot)?;
    // It was a file a moment ago.
    if opened.is_dir() {
        return Err(ErrorKind::Conflict.into());
    }
    if !opened.is_file() {
        return Err(ErrorKind::SpecialFile.into());
    }
    // A change would reach the other names as well.
    if change::names_of(&opened) > 1 { Err(ErrorKind::HardLinked.into()) } else { Ok(file) }
}

/// For reading or for writing, whichever its owner left to himself. What allows neither cannot be changed by handle.
fn open_file(slot: &Slot) -> Result<(File, Metadata)> {
    match step::open(&slot.dir, &slot.name, slot.mounts) {
        Ok(Opened::File(file, metadata)) => Ok((file, metadata)),
        Ok(Opened::Other(metadata)) if !metadata.is_dir() => Err(ErrorKind::SpecialFile.into()),
        Ok(Opened::Link(_) | Opened::Other(_)) => Err(ErrorKind::Conflict.into()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            step::open_for_change(&slot.dir, &slot.name, false, slot.mounts).map_err(|error| match error.kind() {
                std::io::ErrorKind::IsADirectory => ErrorKind::Conflict.into(),
                _ => vanished(error),
            })
        }
        Err(error) => Err(vanished(error)),
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::exchanged;

    /// Catches: what has taken the name between the look and the open that is changed as what was looked at, or told as missing or as a thing
    /// that it is not.
    #[test]
    fn what_has_become_of_the_name_since_the_look() {
        for (now, file, directory) in [
            ("file", "ok", "conflict"),
            ("pipe", "special-file", "conflict"),
            ("socket", "special-file", "conflict"),
            ("directory", "conflict", "ok"),
            ("link", "conflict", "conflict"),
            ("nothing", "conflict", "conflict"),
        ] {
            let open = |slot: &Slot, metadata: &Metadata| open_seen(slot, metadata).map(drop);
            let told = exchanged::told(now, Operation::SetTimes, |slot, _, seen| open(slot, &seen.metadata));
            assert_eq!(told, file, "a file, then {now}");
            let above = |slot: &Slot| slot.dir.dir_metadata().unwrap();
            let told = exchanged::told(now, Operation::SetTimes, |slot, _, _| open(slot, &above(slot)));
            assert_eq!(told, directory, "a directory, then {now}");
        }
    }
}
