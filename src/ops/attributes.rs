//! Permission bits and times.
//!
//! May touch: `permit`, `resolve`. Done on the handle of what the path led to, never by name.

use std::fs::{File, FileTimes};
use std::time::SystemTime;

use cap_std::fs::{Dir, Metadata};

use crate::access::{Access, Operation};
use crate::change;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{contradiction, io};
use crate::path::relative::RelPath;
use crate::permit::Permit;
use crate::resolve::slot::is_dir_or_link;
use crate::resolve::step::{self, Entered, Opened};
use crate::resolve::{Found, Slot, Want, resolve};
use crate::root::Place;

pub(crate) fn set_permissions(place: Place, path: RelPath, mode: u32) -> Result<()> {
    let permit = Permit::issue(place, path, Operation::SetPermissions)?;
    if mode & !0o777 != 0 {
        let refusal = Error::invalid_argument("only the nine permission bits can be set, 0o777 at most");
        return permit.spend().close(Err(refusal.advise("leave set-id and sticky bits out")));
    }
    change_attributes(permit, |file| {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            file.set_permissions(std::fs::Permissions::from_mode(mode)).map_err(io)
        }
        #[cfg(not(unix))]
        {
            let _ = file;
            Err(ErrorKind::Unsupported.into())
        }
    })
}

pub(crate) fn set_times(place: Place, path: RelPath, accessed: Option<SystemTime>, modified: Option<SystemTime>) -> Result<()> {
    let permit = Permit::issue(place, path, Operation::SetTimes)?;
    change_attributes(permit, |file| {
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

fn change_attributes(permit: Permit, change: impl FnOnce(&File) -> Result<()>) -> Result<()> {
    let (found, mut receipt) = resolve(permit, Want::Target)?;
    let opened = match found {
        Found::Slot(slot) => open(&slot),
        Found::Dir(dir, _) => open_dir(&dir),
        _ => Err(contradiction()),
    };
    let outcome = opened.and_then(|file| {
        receipt.commit()?;
        change(&file)
    });
    receipt.close(outcome)
}

fn open(slot: &Slot) -> Result<File> {
    let metadata = slot.see()?.ok_or(ErrorKind::NotFound)?.metadata;
    if slot.level.ceiling(is_dir_or_link(&metadata)) < Access::Write {
        return Err(ErrorKind::Protected.into());
    }
    if metadata.is_dir() {
        return match step::enter(&slot.dir, &slot.name).map_err(io)? {
            Entered::Dir(dir) => open_dir(&dir),
            Entered::Link(_) | Entered::Other => Err(ErrorKind::Conflict.into()),
        };
    }
    if slot.must_be_dir {
        return Err(ErrorKind::NotADirectory.into());
    }
    if !metadata.is_file() {
        return Err(ErrorKind::SpecialFile.into());
    }
    let (file, opened) = open_file(slot)?;
    if !opened.is_file() {
        return Err(ErrorKind::SpecialFile.into());
    }
    // A change would reach the other names as well.
    if change::names_of(&opened) > 1 { Err(ErrorKind::HardLinked.into()) } else { Ok(file) }
}

/// For reading or for writing, whichever its owner left to himself. What allows neither cannot be changed by handle.
fn open_file(slot: &Slot) -> Result<(File, Metadata)> {
    match step::open(&slot.dir, &slot.name) {
        Ok(Opened::File(file, metadata)) => Ok((file, metadata)),
        Ok(Opened::Link(_)) => Err(ErrorKind::Conflict.into()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            step::open_for_change(&slot.dir, &slot.name, false).map_err(io)
        }
        Err(error) => Err(io(error)),
    }
}

fn open_dir(dir: &Dir) -> Result<File> {
    dir.open(".").map(cap_std::fs::File::into_std).map_err(io)
}
