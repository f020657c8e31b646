//! Renaming from one held directory to another.
//!
//! May touch: two held directories, one name in each.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::Dir;

#[cfg(windows)]
use crate::change::names;
use crate::change::names::{hard_link, remove_file, rename_over};

/// Gives the entry `from` of `from_dir` the name `to` in `to_dir`. Without `replace` it fails with `AlreadyExists` where something has that
/// name, with nothing between the look and the rename.
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
pub(crate) fn rename(from_dir: &Dir, from: &OsStr, to_dir: &Dir, to: &OsStr, replace: bool) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat, renameat_with};
    use rustix::io::Errno;

    if replace {
        // By the old call, which every kernel and every filter knows.
        return renameat(from_dir, from, to_dir, to).map_err(io::Error::from);
    }
    match renameat_with(from_dir, from, to_dir, to, RenameFlags::NOREPLACE) {
        // A file system, or a kernel before 3.15, that cannot tell (renameat2(2)).
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => by_link(from_dir, from, to_dir, to),
        Err(Errno::PERM) if is_filtered(from_dir) => by_link(from_dir, from, to_dir, to),
        outcome => outcome.map_err(io::Error::from),
    }
}

/// Whether EPERM stands for a call that a filter does not know, as in old containers. A kernel that knows it looks for the name first, and there
/// is none.
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
fn is_filtered(dir: &Dir) -> bool {
    use rustix::fs::{RenameFlags, renameat_with};
    let name = super::reserved_name();
    renameat_with(dir, &name, dir, &name, RenameFlags::NOREPLACE) == Err(rustix::io::Errno::PERM)
}

#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
pub(crate) fn rename(from_dir: &Dir, from: &OsStr, to_dir: &Dir, to: &OsStr, replace: bool) -> io::Result<()> {
    if replace { rename_over(from_dir, from, to_dir, to) } else { by_link(from_dir, from, to_dir, to) }
}

/// A second name, which is refused where there is something, then the first one taken away. A directory can have no second name: it is
/// looked for first, and an empty directory that appears meanwhile is replaced.
fn by_link(from_dir: &Dir, from: &OsStr, to_dir: &Dir, to: &OsStr) -> io::Result<()> {
    let metadata = from_dir.symlink_metadata(from)?;
    if metadata.is_file() {
        #[cfg(windows)]
        let _held = names::hold_to_remove(from_dir, from)?;
        match hard_link(from_dir, from, to_dir, to) {
            // Without the first name taken away it is not renamed, and must not have two.
            Ok(()) => return remove_file(from_dir, from).map_err(|error| left(error, to_dir, to)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // No links on this file system.
            Err(_) => {}
        }
    }
    match to_dir.symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => rename_over(from_dir, from, to_dir, to),
        Err(error) => Err(error),
    }
}

/// Takes the second name back. A directory that has the first one by now is not what was to be renamed: that is gone.
fn left(error: io::Error, to_dir: &Dir, to: &OsStr) -> io::Error {
    drop(remove_file(to_dir, to));
    if error.kind() == io::ErrorKind::IsADirectory { io::ErrorKind::NotFound.into() } else { error }
}
