//! One name, from a held directory, never following it.
//!
//! May touch: one held directory and one name at a time. The name is a single component (no separator, neither `.` nor `..`), so the
//! system call cannot leave the directory whatever the name turns out to be. What lies on a mount that is none of `mounts` is refused by
//! its handle (`Mounts::check`).

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
mod linux;
#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
mod portable;

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use cap_std::fs::{Dir, Metadata};

use crate::metadata::Metadata as Facts;
use crate::resolve::mounts::{Mount, Mounts};

/// Where a link says that it leads, read from the very link that was seen.
pub(crate) enum Target {
    Text(PathBuf),
    /// A magic link: one that the kernel follows by itself and not by its text, such as `/proc/self/cwd`. An escape on every way.
    #[cfg_attr(any(not(target_os = "linux"), cap_roots_portable), allow(dead_code, reason = "only procfs has them"))]
    Magic,
}

/// What a name on the way turned out to be.
pub(crate) enum Entered {
    Dir(Dir),
    Link(Target),
    Other,
}

/// What a last name turned out to be.
pub(crate) enum Opened {
    File(std::fs::File, Metadata),
    Link(Target),
    /// What was seen to be neither, and was not opened to be read.
    Other(Metadata),
}

/// A last name, looked at without opening it.
pub(crate) struct Seen {
    pub(crate) metadata: Metadata,
    /// Where it leads, if it is a link.
    pub(crate) link: Option<Target>,
}

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
pub(crate) use linux::{
    create_file, enter, enter_to_list, mount_of, on_kernel_file_system, open, open_dir_at, open_to_list, reenter, see, text_of,
};
#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
pub(crate) use portable::{
    create_file, enter, enter_to_list, mount_of, on_kernel_file_system, open, open_dir_at, open_to_list, reenter, see,
};

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
use linux::open_to_write;
#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
use portable::open_to_write;

/// The directory once more, open for reading: for what is done by handle and not with a search handle, such as a lock or a sync.
#[cfg(not(windows))]
pub(crate) fn open_dir(dir: &Dir) -> io::Result<std::fs::File> {
    uninterrupted(|| dir.open(".")).map(cap_std::fs::File::into_std)
}

/// Handles of directories are open for reading there.
#[cfg(windows)]
pub(crate) fn open_dir(dir: &Dir) -> io::Result<std::fs::File> {
    dir.try_clone().map(Dir::into_std_file)
}

/// Again, as long as a signal comes between (EINTR, open(2)).
pub(crate) fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// A file that is there, open for writing and not cut. Does not wait for a peer.
pub(crate) fn open_for_change(dir: &Dir, name: &OsStr, append: bool, mounts: Mounts) -> io::Result<(std::fs::File, Metadata)> {
    let mut tries = 0;
    loop {
        match open_to_write(dir, name, append, mounts) {
            // A lease that another process holds on the file (fcntl(2)).
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && tries < RETRIES => tries += 1,
            Err(error) => return Err(error),
            Ok(file) => {
                let metadata = Metadata::from_file(&file)?;
                return Ok((file, metadata));
            }
        }
        std::thread::yield_now();
    }
}

/// How often a name that changes its kind between two calls is looked at again.
const RETRIES: usize = 16;

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Catches: a confined call for one name, which says that the file leads out where it is moved to another directory at that moment.
    #[test]
    fn a_file_that_is_moved_away_is_gone_and_not_denied() {
        use rustix::fs::{RenameFlags, renameat_with};
        // In memory, where an exchange takes no longer than an open.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let open = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("f"), "x").unwrap();
            Dir::from_std_file(std::fs::File::open(path).unwrap())
        };
        let (here, there) = (open("here"), open("there"));
        let name = OsStr::new("f");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(&here, name, &there, name, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let tried: Vec<_> = (0..50_000)
                .flat_map(|_| [open_for_change(&here, name, false, Mounts::Any).map(drop), create_file(&here, name).map(drop)])
                .filter_map(|outcome| outcome.err().filter(|error| error.kind() != io::ErrorKind::AlreadyExists))
                .collect();
            stop.store(true, Ordering::Relaxed);
            assert!(tried.is_empty(), "{tried:?}");
        });
    }
}
