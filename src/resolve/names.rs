//! The names in a directory, as its handle lists them.
//!
//! May touch: one held directory.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::metadata::FileType;

/// By the handle, and on Windows by the path that it tells.
#[cfg(not(windows))]
mod listing {
    pub(super) use cap_std::fs::ReadDir;

    pub(super) fn of(dir: &super::Dir) -> std::io::Result<ReadDir> {
        dir.entries()
    }
}

#[cfg(windows)]
mod listing {
    pub(super) use std::fs::ReadDir;

    pub(super) use crate::resolve::joined::list as of;
}

/// The names alone.
pub(crate) fn list(dir: &Dir) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    listing::of(dir).map(|entries| entries.map(|entry| entry.map(|entry| entry.file_name())))
}

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
pub(crate) use linux::Names;
#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
pub(crate) use portable::Names;

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
mod linux {
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{FileType as Told, RawDir};
    use rustix::io::Errno;

    use super::*;

    /// What the kernel gives at once. Several names of any length fit (name_max is 255 bytes).
    const BATCH: usize = 32 << 10;

    /// A listing under way.
    pub(crate) struct Names {
        dir: Arc<Dir>,
        buffer: Vec<u8>,
    }

    impl Names {
        /// `dir`: open for reading, and not listed before. `buffer`: an old one, or an empty one.
        pub(crate) fn of(dir: Arc<Dir>, mut buffer: Vec<u8>) -> io::Result<Self> {
            buffer.clear();
            buffer.reserve_exact(BATCH);
            Ok(Self { dir, buffer })
        }

        /// Some more names, without `.` and `..`, each with its type where the file system tells; whether there may be more.
        pub(crate) fn more(&mut self, mut each: impl FnMut(&OsStr, Option<FileType>)) -> io::Result<bool> {
            let mut entries = RawDir::new(&*self.dir, self.buffer.spare_capacity_mut());
            loop {
                let entry = match entries.next() {
                    // Removed while it is listed: nothing is left of it.
                    None | Some(Err(Errno::NOENT)) => return Ok(false),
                    Some(Err(Errno::INTR)) => continue,
                    Some(Err(error)) => return Err(error.into()),
                    Some(Ok(entry)) => entry,
                };
                let name = entry.file_name().to_bytes();
                if !matches!(name, b"." | b"..") {
                    each(OsStr::from_bytes(name), told(entry.file_type()));
                }
                if entries.is_buffer_empty() {
                    return Ok(true);
                }
            }
        }

        pub(crate) fn into_buffer(self) -> Vec<u8> {
            self.buffer
        }
    }

    fn told(file_type: Told) -> Option<FileType> {
        match file_type {
            Told::RegularFile => Some(FileType::File),
            Told::Directory => Some(FileType::Dir),
            Told::Symlink => Some(FileType::Symlink),
            Told::Unknown => None,
            _ => Some(FileType::Special),
        }
    }
}

#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
mod portable {
    use super::*;

    #[cfg(not(windows))]
    const TYPE: fn(cap_std::fs::FileType) -> FileType = FileType::from_cap_std;
    #[cfg(windows)]
    const TYPE: fn(std::fs::FileType) -> FileType = FileType::from_std;

    pub(crate) struct Names(listing::ReadDir);

    impl Names {
        pub(crate) fn of(dir: Arc<Dir>, _: Vec<u8>) -> io::Result<Self> {
            listing::of(&dir).map(Self)
        }

        pub(crate) fn more(&mut self, mut each: impl FnMut(&OsStr, Option<FileType>)) -> io::Result<bool> {
            let Some(entry) = self.0.next() else { return Ok(false) };
            let entry = entry?;
            each(&entry.file_name(), entry.file_type().ok().map(TYPE));
            Ok(true)
        }

        pub(crate) fn into_buffer(self) -> Vec<u8> {
            Vec::new()
        }
    }
}

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::resolve::step;

    /// Catches: a batch that is taken for the end, names of a batch that are lost or told twice, and a link that is told as what it leads to.
    #[test]
    fn all_names_come_once_with_their_types() {
        let folder = tempfile::tempdir().unwrap();
        let mut wanted = BTreeMap::new();
        for number in 0..2_000 {
            let name = format!("{number:0200}");
            std::fs::write(folder.path().join(&name), "").unwrap();
            wanted.insert(name, Some(FileType::File));
        }
        std::fs::create_dir(folder.path().join("d")).unwrap();
        std::os::unix::fs::symlink("d", folder.path().join("l")).unwrap();
        drop(std::os::unix::net::UnixListener::bind(folder.path().join("s")).unwrap());
        for (name, kind) in [("d", FileType::Dir), ("l", FileType::Symlink), ("s", FileType::Special)] {
            wanted.insert(name.to_owned(), Some(kind));
        }
        let dir = Dir::from_std_file(std::fs::File::open(folder.path()).unwrap());
        let listed = |buffer: Vec<u8>| {
            let mut names = Names::of(Arc::new(step::open_to_list(&dir).unwrap()), buffer).unwrap();
            let (mut all, mut count, mut batches) = (BTreeMap::new(), 0, 0);
            let mut goes_on = true;
            while goes_on {
                goes_on = names
                    .more(|name, kind| {
                        all.insert(name.to_str().unwrap().to_owned(), kind);
                        count += 1;
                    })
                    .unwrap();
                batches += 1;
            }
            assert!(batches > 2);
            assert_eq!(count, all.len());
            assert_eq!(all, wanted);
            names.into_buffer()
        };
        let buffer = listed(Vec::new());
        listed(buffer);
    }
}
