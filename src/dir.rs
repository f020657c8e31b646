//! The guarded directory.
//!
//! May touch: `ops`. The raw handle never leaves it: whoever holds one can step to `..` with a plain system call.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use camino::Utf8Path;

use crate::access::{End, Operation};
use crate::authority::Authority;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::front::operations_on;
use crate::metadata::Metadata;
use crate::observe::Coming;
use crate::ops::copy::{self, Copied};
use crate::ops::list::{self, ReadDir};
use crate::ops::rename::Way;
use crate::ops::walk::{self, Walk};
use crate::ops::{attributes, make, open, read_link, remove, rename, stat, write};
use crate::path::locate::Form;
use crate::path::location::Location;
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;
use crate::path::uri;
use crate::root::{Floor, Place, Start};
use crate::rule::Level;

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
    pub(crate) fn new(authority: Authority, dir: Arc<cap_std::fs::Dir>, prefix: RelPath, level: Level) -> Self {
        Self { place: Place::new(authority, Floor::Dir(Arc::new(Start { dir, path: prefix, level }))) }
    }

    /// A path below this directory; whatever else the text is, it is outside.
    fn locate(text: &str) -> Result<RelPath> {
        match Location::parse(text, PathStyle::host())? {
            Location::Relative(path) => Ok(path),
            Location::Host(_) | Location::Home(_) | Location::Named(..) => Err(ErrorKind::OutsideRoots.into()),
        }
    }

    fn coming(&self, operation: Operation, end: End, text: &str, path: Option<&RelPath>) -> Coming {
        match path {
            Some(path) => Coming::at(operation, end, &self.place, path),
            None => Coming::text(operation, end, text),
        }
    }

    /// The observer is told, and the caller in its own words.
    fn unlocated<const PATHS: usize>(&self, text: &str, error: Error, coming: impl FnOnce() -> [Coming; PATHS]) -> Error {
        let error = self.place.authority.watch.refused(error, coming);
        error.on(self.place.root().shared.subject(text, None))
    }

    fn on<T>(
        &self,
        path: impl AsRef<Utf8Path>,
        operation: Operation,
        operate: impl FnOnce(Place, RelPath) -> Result<T>,
    ) -> Result<T> {
        let text = path.as_ref().as_str();
        let coming = || [Coming::text(operation, End::Source, text)];
        let path = Self::locate(text).map_err(|error| self.unlocated(text, error, coming))?;
        operate(self.place.clone(), path).map_err(|error| error.on(self.place.root().shared.subject(text, Some(Form::Relative))))
    }

    fn on_both<T>(
        &self,
        from: impl AsRef<Utf8Path>,
        to: impl AsRef<Utf8Path>,
        operation: Operation,
        operate: impl FnOnce(Way, Way) -> Result<T>,
    ) -> Result<T> {
        let (from, to) = (from.as_ref().as_str(), to.as_ref().as_str());
        let unlocated = |text, error, source: Option<&RelPath>, target: Option<&RelPath>| {
            let ends = || [(End::Source, from, source), (End::Target, to, target)];
            Err(self.unlocated(text, error, || ends().map(|(end, text, path)| self.coming(operation, end, text, path))))
        };
        let (source, target) = match (Self::locate(from), Self::locate(to)) {
            (Ok(source), Ok(target)) => (source, target),
            (Err(error), target) => return unlocated(from, error, None, target.as_ref().ok()),
            (Ok(source), Err(error)) => return unlocated(to, error, Some(&source), None),
        };
        let way = |path| Way { place: self.place.clone(), path };
        let subject = |text| self.place.root().shared.subject(text, Some(Form::Relative));
        operate(way(source), way(target)).map_err(|error| error.on_end(subject(from), subject(to)))
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
        uri::write(&self.place.root().name, &self.place.path_from_root(&RelPath::default()))
    }

    /// The directory as an open file of the standard library; `cap_std::fs::Dir::from_std_file` takes it. What is lost: nothing can take it back any more, neither `revoke()` nor the end of a grant; and whoever
    /// turns it into a raw descriptor can step to `..` with a plain system call.
    ///
    /// # Errors
    /// `not-granted` where that would be more than was granted: less than [`Access::Write`](crate::Access::Write), a grant without
    /// deletion or with an end, a root with rules or one that ends where its mount does.
    pub fn into_std_without_revocation(self) -> Result<std::fs::File> {
        self.place.authority.check()?;
        if !self.place.authority.is_unconditional() {
            return Err(ErrorKind::NotGranted.into());
        }
        let dir = self.place.floor_dir()?.try_clone().map_err(|error| Error::from_io(&error))?;
        Ok(dir.into_std_file())
    }
}

operations_on!(Dir);

impl fmt::Debug for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dir").field("root", &self.place.root().name.as_str()).finish_non_exhaustive()
    }
}
