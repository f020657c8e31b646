//! Renaming from one held directory to another.
//!
//! May touch: two held directories, one name in each.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::Dir;

/// Gives the entry `from` of `from_dir` the name `to` in `to_dir`. Without `replace` it fails with `AlreadyExists` where something has that
/// name, with nothing between the look and the rename.
#[cfg(target_os = "linux")]
pub(crate) fn rename(from_dir: &Dir, from: &OsStr, to_dir: &Dir, to: &OsStr, replace: bool) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;

    let flags = if replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
    match renameat_with(from_dir, from, to_dir, to, flags) {
        // A file system, or a kernel before 3.15, that cannot tell (renameat2(2)).
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if !replace => by_link(from_dir, from, to_dir, to),
        outcome => outcome.map_err(io::Error::from),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn rename(from_dir: &Dir, from: &OsStr, to_dir: &Dir, to: &OsStr, replace: bool) -> io::Result<()> {
    if replace { from_dir.rename(from, to_dir, to) } else { by_link(from_dir, from, to_dir, to) }
}

/// A second name, which is refused where there is something, then the first one taken away. A directory can have no second name: it is
/// looked for first, and an empty directory that appears meanwhile is replaced.
fn by_link(from_dir: &Dir, from: &OsStr, to_dir: &Dir, to: &OsStr) -> io::Result<()> {
    let metadata = from_dir.symlink_metadata(from)?;
    if metadata.is_file() {
        match from_dir.hard_link(from, to_dir, to) {
            Ok(()) => return from_dir.remove_file(from),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // No links on this file system.
            Err(_) => {}
        }
    }
    match to_dir.symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => from_dir.rename(from, to_dir, to),
        Err(error) => Err(error),
    }
}
