//! What may be known of a file without its content.
//!
//! May touch: one open handle. Small, since it is handed on at each open.

use std::io;
use std::time::SystemTime;

use cap_fs_ext::MetadataExt as _;

use crate::identity::Identity;

/// The type of a file system object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// No `From`: it would put the types of other crates into the API.
impl FileType {
    pub(crate) fn from_cap_std(file_type: cap_std::fs::FileType) -> Self {
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

/// Windows calls a link to a directory both.
#[cfg(windows)]
impl FileType {
    pub(crate) fn from_std(file_type: std::fs::FileType) -> Self {
        if file_type.is_symlink() {
            FileType::Symlink
        } else if file_type.is_dir() {
            FileType::Dir
        } else if file_type.is_file() {
            FileType::File
        } else {
            FileType::Special
        }
    }
}

/// Metadata of an object inside a root, as it was when it was asked for.
#[derive(Clone, Debug)]
pub struct Metadata {
    file_type: FileType,
    is_readonly: bool,
    #[cfg(unix)]
    mode: u32,
    len: u64,
    links: u64,
    pub(crate) identity: Identity,
    modified: Option<SystemTime>,
    accessed: Option<SystemTime>,
    created: Option<SystemTime>,
}

impl Metadata {
    pub(crate) fn from_cap_std(metadata: &cap_std::fs::Metadata) -> Self {
        let std = |time: io::Result<cap_std::time::SystemTime>| time.ok().map(cap_std::time::SystemTime::into_std);
        Self {
            file_type: FileType::from_cap_std(metadata.file_type()),
            is_readonly: metadata.permissions().readonly(),
            #[cfg(unix)]
            mode: cap_std::fs::MetadataExt::mode(metadata) & 0o7777,
            len: metadata.len(),
            links: metadata.nlink(),
            identity: metadata.into(),
            modified: std(metadata.modified()),
            accessed: std(metadata.accessed()),
            created: std(metadata.created()),
        }
    }
}

impl Metadata {
    /// Of a file that was just opened, by the cheapest call: without the time of creation, which [`Metadata::with_created`] adds.
    #[cfg(all(target_os = "linux", not(cap_roots_portable)))]
    pub(crate) fn of_opened(file: &std::fs::File) -> io::Result<Self> {
        linux::of_opened(file)
    }

    /// With the time of creation of the file that this is of. It never changes, so it is asked for only where somebody wants it.
    pub(crate) fn with_created(mut self, file: &std::fs::File) -> Self {
        if self.created.is_none() {
            self.created = Self::of(file).ok().and_then(|now| now.created);
        }
        self
    }

    /// Of what this handle is of.
    pub(crate) fn of(file: &std::fs::File) -> io::Result<Self> {
        #[cfg(all(target_os = "linux", not(cap_roots_portable)))]
        if let Some(metadata) = linux::of(file) {
            return Ok(metadata);
        }
        cap_std::fs::Metadata::from_file(file).map(|metadata| Self::from_cap_std(&metadata))
    }

    /// The type.
    #[must_use]
    pub fn file_type(&self) -> FileType {
        self.file_type
    }

    /// Whether it is a regular file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.file_type == FileType::File
    }

    /// Whether it is a directory.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        self.file_type == FileType::Dir
    }

    /// Whether it is a symbolic link (only where links are not followed).
    #[must_use]
    pub fn is_symlink(&self) -> bool {
        self.file_type == FileType::Symlink
    }

    /// The size in bytes; of a link, the length of its text.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "the size of a file, as in std::fs::Metadata")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The number of names (hard links) that it has.
    #[must_use]
    pub fn links(&self) -> u64 {
        self.links
    }

    /// When the content was last changed, where the file system tells.
    #[must_use]
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// When the content was last read, where the file system tells.
    #[must_use]
    pub fn accessed(&self) -> Option<SystemTime> {
        self.accessed
    }

    /// When it was created, where the file system tells.
    #[must_use]
    pub fn created(&self) -> Option<SystemTime> {
        self.created
    }

    /// Whether its permissions say that nobody may write it.
    #[must_use]
    pub fn is_readonly(&self) -> bool {
        self.is_readonly
    }

    /// The permission bits of `chmod(2)`, without the type (Unix only).
    #[cfg(unix)]
    #[must_use]
    pub fn mode(&self) -> u32 {
        self.mode
    }
}

/// In one call, and without the copies that the way over the standard library makes at each open.
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
mod linux {
    use std::time::{Duration, UNIX_EPOCH};

    use rustix::fs::{AtFlags, StatxFlags, fstat, makedev, statx};

    use super::*;

    pub(super) fn of_opened(file: &std::fs::File) -> io::Result<Metadata> {
        let stat = fstat(file)?;
        let time = |seconds, nanos| time(seconds, u32::try_from(nanos).ok()?);
        Ok(Metadata {
            file_type: kind(rustix::fs::FileType::from_raw_mode(stat.st_mode)),
            is_readonly: stat.st_mode & 0o222 == 0,
            mode: stat.st_mode & 0o7777,
            len: u64::try_from(stat.st_size).unwrap_or(0),
            #[allow(clippy::useless_conversion, reason = "narrower on other processors")]
            links: stat.st_nlink.into(),
            identity: Identity { device: stat.st_dev, inode: stat.st_ino },
            modified: time(stat.st_mtime, stat.st_mtime_nsec),
            accessed: time(stat.st_atime, stat.st_atime_nsec),
            created: None,
        })
    }

    /// `None`: an old kernel, or a filter, that does not know the call.
    pub(super) fn of(file: &std::fs::File) -> Option<Metadata> {
        let asked = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let stat = statx(file, c"", AtFlags::EMPTY_PATH, asked).ok()?;
        let has = |what: StatxFlags| stat.stx_mask & what.bits() == what.bits();
        if !has(StatxFlags::BASIC_STATS) {
            return None;
        }
        let mode = u32::from(stat.stx_mode);
        Some(Metadata {
            file_type: kind(rustix::fs::FileType::from_raw_mode(mode)),
            is_readonly: mode & 0o222 == 0,
            mode: mode & 0o7777,
            len: stat.stx_size,
            links: stat.stx_nlink.into(),
            identity: Identity { device: makedev(stat.stx_dev_major, stat.stx_dev_minor), inode: stat.stx_ino },
            modified: time(stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
            accessed: time(stat.stx_atime.tv_sec, stat.stx_atime.tv_nsec),
            created: if has(StatxFlags::BTIME) { time(stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec) } else { None },
        })
    }

    fn time(seconds: i64, nanos: u32) -> Option<SystemTime> {
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let full = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
        full?.checked_add(Duration::from_nanos(nanos.into()))
    }

    fn kind(file_type: rustix::fs::FileType) -> FileType {
        match file_type {
            rustix::fs::FileType::RegularFile => FileType::File,
            rustix::fs::FileType::Directory => FileType::Dir,
            rustix::fs::FileType::Symlink => FileType::Symlink,
            _ => FileType::Special,
        }
    }
}

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::linux::{of, of_opened};
    use super::*;

    /// Catches: a field from another place than where everybody else reads it.
    #[test]
    fn all_ways_tell_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("f"), folder.path().join("g"));
        std::fs::write(&path, "12345").unwrap();
        std::fs::hard_link(&path, &other).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let long_ago = UNIX_EPOCH - Duration::new(3, 250_000_000);
        let times = std::fs::FileTimes::new().set_modified(long_ago).set_accessed(UNIX_EPOCH + Duration::new(7, 1));
        file.set_times(times).unwrap();
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o4440)).unwrap();
        let files = [file, std::fs::File::open(folder.path()).unwrap(), std::fs::File::open("/dev/null").unwrap()];
        for file in files {
            let slow = Metadata::from_cap_std(&cap_std::fs::Metadata::from_file(&file).unwrap());
            assert_eq!(format!("{:?}", of(&file).unwrap()), format!("{slow:?}"));
            assert_eq!(format!("{:?}", of_opened(&file).unwrap().with_created(&file)), format!("{slow:?}"));
        }
        let told = of(&std::fs::File::open(&other).unwrap()).unwrap();
        assert_eq!((told.len(), told.links(), told.mode(), told.modified()), (5, 2, 0o4440, Some(long_ago)));
        assert!(told.is_file() && told.is_readonly());
    }
}
