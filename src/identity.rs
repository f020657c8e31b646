//! Which directory a handle is: device and inode (on Windows volume and file index), never a name.
//!
//! May touch: held handles.

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

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}
