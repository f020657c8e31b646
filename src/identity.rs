//! Which directory a handle is: device and inode (on Windows volume and file index), never a name.
//!
//! May touch: held handles.

use std::ffi::OsStr;
use std::io;

use cap_fs_ext::MetadataExt;
use cap_std::fs::{Dir, Metadata};

/// The identity of a file system object for as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Identity {
    pub(crate) fn of(dir: &Dir) -> io::Result<Self> {
        dir.dir_metadata().map(|metadata| Self::from(&metadata))
    }
}

impl Identity {
    /// Of the directory that has this name in `dir`; `None` where something else has it. Asked at each operation, so in one system call.
    #[cfg(all(target_os = "linux", not(cap_roots_portable)))]
    pub(crate) fn of_dir_named(dir: &Dir, name: &OsStr) -> io::Result<Option<Self>> {
        use rustix::fs::{AtFlags, FileType, statat};
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Ok(is_dir.then_some(Self { device: stat.st_dev, inode: stat.st_ino }))
    }

    #[cfg(any(not(target_os = "linux"), cap_roots_portable))]
    pub(crate) fn of_dir_named(dir: &Dir, name: &OsStr) -> io::Result<Option<Self>> {
        let metadata = crate::resolve::step::see(dir, name, crate::resolve::mounts::Mounts::Any)?.metadata;
        Ok(metadata.is_dir().then(|| Self::from(&metadata)))
    }
}

impl From<&crate::metadata::Metadata> for Identity {
    fn from(metadata: &crate::metadata::Metadata) -> Self {
        metadata.identity
    }
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}
