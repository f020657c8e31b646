//! The guarded directory.
//!
//! May touch: `ops`. The raw handle never leaves it: whoever holds one can step to `..` with a plain system call.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use camino::Utf8Path;

use crate::access::Operation;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::metadata::Metadata;
use crate::ops::list::{self, ReadDir};
use crate::ops::{open, read_link, stat};
use crate::path::locate::Form;
use crate::path::location::Location;
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;
use crate::path::uri;
use crate::root::{Floor, Place, Root};

/// A directory inside a root, held: a capability for what is below it and for nothing above.
///
/// Paths are relative to it; absolute paths, URIs, `..` above it and links that lead out of it are `outside-roots`, even where the
/// root holds the place. An absolute link below it is followed if its text lies below the path by which the directory was opened (so
/// not where that path went through a link). It was inside the root when it was opened; if the directory is moved later, the handle moves with it. Each
/// operation is decided anew, with the access of the root, and fails with `revoked` once the authority was taken back.
#[derive(Clone)]
pub struct Dir {
    place: Place,
}

impl Dir {
    pub(crate) fn new(root: Arc<Root>, dir: Arc<cap_std::fs::Dir>, prefix: RelPath) -> Self {
        Self { place: Place { root, floor: Floor::Dir { dir, prefix }, start: None } }
    }

    fn on<T>(
        &self,
        path: impl AsRef<Utf8Path>,
        operation: Operation,
        operate: impl FnOnce(Place, RelPath) -> Result<T>,
    ) -> Result<T> {
        let text = path.as_ref().as_str();
        let shared = &self.place.root.shared;
        let error = match Location::parse(text, PathStyle::host()) {
            Ok(Location::Relative(path)) => {
                let subject = |error: Error| error.on(shared.subject(text, Some(Form::Relative)));
                return operate(self.place.clone(), path).map_err(subject);
            }
            Ok(Location::Host(_) | Location::Home(_) | Location::Named(..)) => ErrorKind::OutsideRoots.into(),
            Err(error) => error,
        };
        shared.observe_unlocated(operation, text, &error);
        Err(error.on(shared.subject(text, None)))
    }

    /// Opens a file below this directory, as [`Roots::open`](crate::Roots::open) does below a root.
    ///
    /// # Errors
    /// As there.
    pub fn open(&self, path: impl AsRef<Utf8Path>) -> Result<File> {
        self.on(path, Operation::Open, open::file)
    }

    /// Opens a directory below this one.
    ///
    /// # Errors
    /// As [`Roots::open_dir`](crate::Roots::open_dir).
    pub fn open_dir(&self, path: impl AsRef<Utf8Path>) -> Result<Dir> {
        self.on(path, Operation::OpenDir, open::dir)
    }

    /// Reads a whole file. Limit: 64 MiB unless the builder says otherwise.
    ///
    /// # Errors
    /// As [`Roots::read`](crate::Roots::read).
    pub fn read(&self, path: impl AsRef<Utf8Path>) -> Result<Vec<u8>> {
        self.on(path, Operation::Open, open::read)
    }

    /// Reads a whole file as UTF-8 text. Limit: 64 MiB unless the builder says otherwise.
    ///
    /// # Errors
    /// As [`Roots::read_to_string`](crate::Roots::read_to_string).
    pub fn read_to_string(&self, path: impl AsRef<Utf8Path>) -> Result<String> {
        self.on(path, Operation::Open, open::read_to_string)
    }

    /// Metadata of what the path leads to.
    ///
    /// # Errors
    /// As [`Roots::metadata`](crate::Roots::metadata).
    pub fn metadata(&self, path: impl AsRef<Utf8Path>) -> Result<Metadata> {
        self.on(path, Operation::Metadata, stat::metadata)
    }

    /// Metadata of the path itself; a last link is not followed.
    ///
    /// # Errors
    /// As [`Roots::symlink_metadata`](crate::Roots::symlink_metadata).
    pub fn symlink_metadata(&self, path: impl AsRef<Utf8Path>) -> Result<Metadata> {
        self.on(path, Operation::SymlinkMetadata, stat::symlink_metadata)
    }

    /// The text of a link, where it stays inside.
    ///
    /// # Errors
    /// As [`Roots::read_link`](crate::Roots::read_link).
    pub fn read_link(&self, path: impl AsRef<Utf8Path>) -> Result<PathBuf> {
        self.on(path, Operation::ReadLink, read_link::read_link)
    }

    /// Whether the path leads to something.
    ///
    /// # Errors
    /// As [`Roots::exists`](crate::Roots::exists).
    pub fn exists(&self, path: impl AsRef<Utf8Path>) -> Result<bool> {
        self.on(path, Operation::Metadata, stat::exists)
    }

    /// Lists a directory below this one.
    ///
    /// # Errors
    /// As [`Roots::read_dir`](crate::Roots::read_dir).
    pub fn read_dir(&self, path: impl AsRef<Utf8Path>) -> Result<ReadDir> {
        self.on(path, Operation::ReadDir, list::read_dir)
    }

    /// Lists this directory.
    ///
    /// # Errors
    /// As [`Roots::read_dir`](crate::Roots::read_dir).
    pub fn entries(&self) -> Result<ReadDir> {
        self.read_dir(".")
    }

    /// The `root://NAME/relative` URI that it was opened by. Never a host path.
    #[must_use]
    pub fn uri(&self) -> String {
        uri::write(&self.place.root.name, &self.place.path_from_root(&RelPath::default()))
    }
}

impl fmt::Debug for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dir").field("root", &self.place.root.name.as_str()).finish_non_exhaustive()
    }
}
