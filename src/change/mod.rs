//! What is done to names in held directories: temporary files, renames that replace nothing, the order of syncs.
//!
//! May touch: held directories, one name at a time. Decides nothing; `ops` has asked before.

#[cfg(not(windows))]
mod names;
mod rename;
mod scaffold;
mod sweep;
mod temp;
pub(crate) mod tree;

use names::create_private_dir;
pub(crate) use names::{create_dir, remove_dir, remove_file};
pub(crate) use rename::rename;
pub(crate) use scaffold::{Scaffold, keeps_name, make_dir};
pub(crate) use sweep::sweep;
pub(crate) use temp::Temp;
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
pub(crate) use temp::{reserved_name, takes_unnamed_files};

#[cfg(windows)]
use crate::resolve::joined as names;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::time::SystemTime;

use cap_fs_ext::MetadataExt;
use cap_std::fs::{Dir, Metadata};

use crate::identity::Identity;
#[cfg(not(windows))]
use crate::resolve::step;

/// What tells whether a file is still the one that was looked at, with the content that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    identity: Identity,
    len: u64,
    changed: (i64, i64),
    modified: Option<SystemTime>,
}

impl Snapshot {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let changed = {
            use cap_std::fs::MetadataExt as _;
            (metadata.ctime(), metadata.ctime_nsec())
        };
        #[cfg(not(unix))]
        let changed = (0, 0);
        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        Self { identity: metadata.into(), len: metadata.len(), changed, modified }
    }
}

/// How many names the file has; a change in place reaches them all.
pub(crate) fn names_of(metadata: &Metadata) -> u64 {
    metadata.nlink()
}

/// A lock on a directory, held around the last look at a name in it and the change of that name. Processes that go by it do not come between;
/// one that holds it for long is not waited for, since it may be anybody's.
#[cfg(not(windows))]
pub(crate) fn lock_dir(dir: &Dir) -> Option<File> {
    const TRIES: u32 = 200;
    let handle = step::open_dir(dir).ok()?;
    for _ in 0..TRIES {
        match handle.try_lock() {
            Ok(()) => return Some(handle),
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(1)),
            Err(std::fs::TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// There a directory cannot be locked, which the table of SECURITY.md says.
#[cfg(windows)]
pub(crate) fn lock_dir(_: &Dir) -> Option<File> {
    None
}

/// Whether the system would let this process take names from the directory or add some, as far as it tells without trying.
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
pub(crate) fn lets_change(dir: &Dir) -> bool {
    use rustix::fs::{Access, AtFlags, accessat};
    use rustix::io::Errno;
    let may = |access, flags| accessat(dir, ".", access, flags);
    let change = Access::WRITE_OK | Access::EXEC_OK;
    match may(change, AtFlags::EACCESS) {
        Err(Errno::ACCESS | Errno::ROFS) => false,
        // An immutable directory; or a filter that does not know the call, which then refuses the mere look as well.
        Err(Errno::PERM) if may(Access::EXISTS, AtFlags::EACCESS) == Err(Errno::PERM) => {
            !matches!(may(change, AtFlags::empty()), Err(Errno::ACCESS | Errno::ROFS | Errno::PERM))
        }
        Err(Errno::PERM) => false,
        // Whatever else it says, it does not say no; the change itself will tell.
        Ok(()) | Err(_) => true,
    }
}

#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
pub(crate) fn lets_change(_: &Dir) -> bool {
    true
}

/// The next bytes of a file, `most` at most, to the end of another one. A copy that the kernel makes by itself can be interrupted (EINTR); both
/// files then stand where it got to, and it goes on from there.
pub(crate) fn copy_bytes(from: &File, to: &mut File, most: u64) -> io::Result<u64> {
    let begin = to.stream_position()?;
    let mut done = 0;
    loop {
        match io::copy(&mut from.take(most - done), to) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                done = to.stream_position()?.saturating_sub(begin).min(most);
            }
            outcome => return outcome.map(|more| done + more),
        }
    }
}

/// Makes what was done to names in `dir` last (fsync(2), on the directory). A directory that cannot be read cannot be synced; what was
/// done to it is done all the same.
#[cfg(not(windows))]
pub(crate) fn sync_dir(dir: &Dir) -> io::Result<()> {
    match step::open_dir(dir) {
        Ok(dir) => match dir.sync_all() {
            // Some file systems have nothing to sync there.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            outcome => outcome,
        },
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

/// There is no such call; the file itself was synced.
#[cfg(windows)]
pub(crate) fn sync_dir(_: &Dir) -> io::Result<()> {
    Ok(())
}
