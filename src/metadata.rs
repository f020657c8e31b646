//! What may be known of a file without its content.
//!
//! May touch: nothing; wraps what `resolve` found.

use std::time::SystemTime;

use cap_fs_ext::MetadataExt as _;

/// The type of a file system object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FileType {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link, not followed.
    Symlink,
    /// A pipe, socket, device or anything else; it is listed and never opened.
    Special,
}

impl From<cap_std::fs::FileType> for FileType {
    fn from(file_type: cap_std::fs::FileType) -> Self {
        if file_type.is_dir() {
            FileType::Dir
        } else if file_type.is_file() {
            FileType::File
        } else if file_type.is_symlink() {
            FileType::Symlink
        } else {
            FileType::Special
        }
    }
}

/// Metadata of an object inside a root, as it was when it was asked for.
#[derive(Clone, Debug)]
pub struct Metadata(pub(crate) cap_std::fs::Metadata);

impl Metadata {
    /// The type.
    #[must_use]
    pub fn file_type(&self) -> FileType {
        self.0.file_type().into()
    }

    /// Whether it is a regular file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.0.is_file()
    }

    /// Whether it is a directory.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        self.0.is_dir()
    }

    /// Whether it is a symbolic link (only where links are not followed).
    #[must_use]
    pub fn is_symlink(&self) -> bool {
        self.0.is_symlink()
    }

    /// The size in bytes; of a link, the length of its text.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "the size of a file, as in std::fs::Metadata")]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// The number of names (hard links) that it has.
    #[must_use]
    pub fn links(&self) -> u64 {
        self.0.nlink()
    }

    /// When the content was last changed, where the file system tells.
    #[must_use]
    pub fn modified(&self) -> Option<SystemTime> {
        self.0.modified().ok().map(cap_std::time::SystemTime::into_std)
    }

    /// When the content was last read, where the file system tells.
    #[must_use]
    pub fn accessed(&self) -> Option<SystemTime> {
        self.0.accessed().ok().map(cap_std::time::SystemTime::into_std)
    }

    /// When it was created, where the file system tells.
    #[must_use]
    pub fn created(&self) -> Option<SystemTime> {
        self.0.created().ok().map(cap_std::time::SystemTime::into_std)
    }

    /// Whether its permissions say that nobody may write it.
    #[must_use]
    pub fn is_readonly(&self) -> bool {
        self.0.permissions().readonly()
    }

    /// The permission bits of `chmod(2)`, without the type (Unix only).
    #[cfg(unix)]
    #[must_use]
    pub fn mode(&self) -> u32 {
        use cap_std::fs::MetadataExt as _;
        self.0.mode() & 0o7777
    }
}
