//! `Roots`: the one type through which anything is opened.
//!
//! May touch: `path` to parse and locate, `ops` to operate. Text goes in here, and nothing but permits gets further.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use camino::Utf8Path;

use crate::access::{Access, Operation};
use crate::builder::Builder;
use crate::decide::{State, decide};
use crate::dir::Dir;
use crate::error::{Error, Result};
use crate::explain::Explanation;
use crate::file::File;
use crate::metadata::Metadata;
use crate::ops::list::{self, ReadDir};
use crate::ops::{open, read_link, stat};
use crate::path::host::HostPath;
use crate::path::locate::{Located, Route, locate};
use crate::path::location::Location;
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;
use crate::path::uri;
use crate::root::{Place, Root, Shared};

/// A set of named directories, and the only way to what is in them.
///
/// Made by the operator's side with [`Roots::builder`]; cheap to clone, and clones share revocation. Every method takes a path as the
/// untrusted side wrote it: absolute, relative to the first root, `~/...`, or `root://NAME/relative` with percent escapes. It parses
/// the text, picks a root by it, decides, and opens relative to the root's held directory, so that neither the text nor `..`, links
/// or renames lead outside. All methods may be called from several threads at once; they block on the disk, never on a peer.
///
/// # Errors of every method
/// `invalid-path` and `invalid-uri` for text that is no path; `outside-roots`, alike whether or not anything is there; `no-roots`,
/// `root-absent`, `not-granted`, `revoked`; `not-found`, `not-a-directory`, `symlink-loop` (more than 40 links), `ambiguous` (names
/// that only their Unicode form tells apart); `os-denied`, `busy`, `limit` (out of descriptors) and `io` from the operating system.
#[derive(Clone)]
pub struct Roots {
    inner: Arc<Inner>,
}

struct Inner {
    roots: Vec<Arc<Root>>,
    routes: Vec<Route>,
    home: Option<HostPath>,
    shared: Arc<Shared>,
}

impl Roots {
    /// Starts a set of roots. The builder is the operator's: what it is given is authority.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(roots: Vec<Root>, home: Option<HostPath>, shared: Arc<Shared>) -> Self {
        let routes = roots.iter().map(|root| Route { name: root.name.clone(), spellings: root.spellings.clone() }).collect();
        let roots = roots.into_iter().map(Arc::new).collect();
        Self { inner: Arc::new(Inner { roots, routes, home, shared }) }
    }

    /// Parse and locate: the first two steps of every operation.
    fn locate(&self, text: &str) -> Result<(Arc<Root>, Located)> {
        let location = Location::parse(text, PathStyle::host())?;
        let present = |root: usize| self.inner.roots.get(root).is_some_and(|root| root.held().is_some());
        let located = locate(&self.inner.routes, self.inner.home.as_ref(), present, location)?;
        let root = self.inner.roots.get(located.root).ok_or(crate::ErrorKind::OutsideRoots)?;
        Ok((Arc::clone(root), located))
    }

    /// Text in, result out: every method goes through here.
    fn on<T>(
        &self,
        path: impl AsRef<Utf8Path>,
        operation: Operation,
        operate: impl FnOnce(Place, RelPath) -> Result<T>,
    ) -> Result<T> {
        let text = path.as_ref().as_str();
        match self.locate(text) {
            Ok((root, located)) => {
                let subject = |error: Error| error.on(self.inner.shared.subject(text, Some(located.form)));
                operate(Place::root(root), located.path).map_err(subject)
            }
            Err(error) => {
                self.inner.shared.observe_unlocated(operation, text, &error);
                Err(error.on(self.inner.shared.subject(text, None)))
            }
        }
    }

    /// Opens a regular file for reading. It was inside its root when it was opened.
    ///
    /// # Errors
    /// As [every method](Roots#errors-of-every-method); `is-a-directory`; `special-file` for a pipe, socket, device or kernel file:
    /// the open does not wait for a peer, and the handle is closed unread.
    pub fn open(&self, path: impl AsRef<Utf8Path>) -> Result<File> {
        self.on(path, Operation::Open, open::file)
    }

    /// Opens a directory, to work below it by handle.
    ///
    /// # Errors
    /// As [every method](Roots#errors-of-every-method).
    pub fn open_dir(&self, path: impl AsRef<Utf8Path>) -> Result<Dir> {
        self.on(path, Operation::OpenDir, open::dir)
    }

    /// Reads a whole file. Limit: 64 MiB unless [`Builder::read_limit`] says otherwise.
    ///
    /// # Errors
    /// As [`Roots::open`]; `too-large`, before anything is read where the size tells.
    pub fn read(&self, path: impl AsRef<Utf8Path>) -> Result<Vec<u8>> {
        self.on(path, Operation::Open, open::read)
    }

    /// Reads a whole file as UTF-8 text, to the byte: line ends and a byte order mark stay. Limit: 64 MiB unless
    /// [`Builder::read_limit`] says otherwise.
    ///
    /// # Errors
    /// As [`Roots::read`]; `not-utf8`.
    pub fn read_to_string(&self, path: impl AsRef<Utf8Path>) -> Result<String> {
        self.on(path, Operation::Open, open::read_to_string)
    }

    /// Metadata of what the path leads to. Nothing is opened for reading.
    ///
    /// # Errors
    /// As [every method](Roots#errors-of-every-method).
    pub fn metadata(&self, path: impl AsRef<Utf8Path>) -> Result<Metadata> {
        self.on(path, Operation::Metadata, stat::metadata)
    }

    /// Metadata of the path itself: a link as the last name is not followed, unless a slash stands behind it.
    ///
    /// # Errors
    /// As [every method](Roots#errors-of-every-method).
    pub fn symlink_metadata(&self, path: impl AsRef<Utf8Path>) -> Result<Metadata> {
        self.on(path, Operation::SymlinkMetadata, stat::symlink_metadata)
    }

    /// The text of a link, where it is relative and stays inside by text.
    ///
    /// # Errors
    /// As [every method](Roots#errors-of-every-method); `invalid-argument` if it is not a link; `outside-roots` for a text that is
    /// absolute or leads out, since it would tell about the host.
    pub fn read_link(&self, path: impl AsRef<Utf8Path>) -> Result<PathBuf> {
        self.on(path, Operation::ReadLink, read_link::read_link)
    }

    /// Whether the path leads to something.
    ///
    /// # Errors
    /// As [`Roots::metadata`], without `not-found`. A path that leads outside is an error, not `false`.
    pub fn exists(&self, path: impl AsRef<Utf8Path>) -> Result<bool> {
        self.on(path, Operation::Metadata, stat::exists)
    }

    /// Lists a directory: names and types, without opening an entry.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # std::fs::write(folder.path().join("a.md"), "text")?;
    /// # let roots = cap_roots::Roots::builder().root(folder.path(), cap_roots::Access::Read).open()?;
    /// for entry in roots.read_dir(".")? {
    ///     let entry = entry?;
    ///     println!("{:?} {}", entry.file_type(), entry.name_text());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [every method](Roots#errors-of-every-method).
    pub fn read_dir(&self, path: impl AsRef<Utf8Path>) -> Result<ReadDir> {
        self.on(path, Operation::ReadDir, list::read_dir)
    }

    /// The `root://NAME/relative` URI of a path, by its text alone: nothing is opened, and nothing need be there.
    ///
    /// # Errors
    /// `invalid-path`, `invalid-uri`, `no-roots`, `outside-roots`.
    pub fn uri(&self, path: impl AsRef<Utf8Path>) -> Result<String> {
        let text = path.as_ref().as_str();
        let (root, located) = self.locate(text).map_err(|error| error.on(self.inner.shared.subject(text, None)))?;
        Ok(uri::write(&root.name, &located.path))
    }

    /// How `operation` on `path` would be judged, and why; for the operator and for tests. The verdict is the decision's: whether
    /// the path leads anywhere on the disk is not looked at.
    #[must_use]
    pub fn explain(&self, path: impl AsRef<Utf8Path>, operation: Operation) -> Explanation {
        match self.locate(path.as_ref().as_str()) {
            Err(error) => Explanation::unlocated(operation, error.kind()),
            Ok((root, located)) => Explanation::located(operation, &root, &located.path, decide(root.facts(), operation)),
        }
    }

    /// The roots, in the operator's order.
    pub fn list(&self) -> impl Iterator<Item = RootInfo> {
        self.inner.roots.iter().map(|root| RootInfo { root: Arc::clone(root) })
    }

    /// Takes the authority back, from this set and from all its clones, directories and opened files. After it has returned, no
    /// operation passes its last check; one that was under way may hand out a handle, which fails on first use.
    pub fn revoke(&self) {
        self.inner.shared.lease.revoke();
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.inner.roots).finish()
    }
}

/// What may be told of a root.
#[derive(Clone)]
pub struct RootInfo {
    root: Arc<Root>,
}

impl RootInfo {
    /// The name, as in `root://NAME/`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.root.name.as_str()
    }

    /// What the operator granted.
    #[must_use]
    pub fn access(&self) -> Access {
        self.root.access
    }

    /// Whether its directory is missing now. A root that was missing at start is looked for again each time; one that was there and
    /// was removed stays absent, whatever takes its name. A file system that does not count a directory's names (some FUSE drivers, and
    /// merged directories of overlayfs) does not tell that one was removed: it is then empty.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.root.facts().state == State::Absent || self.root.is_gone()
    }

    /// The directory as the operator named it, made absolute. A host path: for the operator, and for callers only where the operator
    /// agreed that they may see it.
    #[must_use]
    pub fn host_path(&self) -> &Path {
        &self.root.given
    }

    /// The root's URI, `root://NAME/`.
    #[must_use]
    pub fn uri(&self) -> String {
        uri::write(&self.root.name, &RelPath::default())
    }
}

impl fmt::Debug for RootInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

// A handle that is shared between threads and kept in a server's state; a change that breaks this breaks every embedder.
const _: fn() = || {
    fn shareable<T: Send + Sync + Clone + 'static>() {}
    shareable::<Roots>();
    shareable::<Dir>();
    fn sendable<T: Send + Sync + 'static>() {}
    sendable::<File>();
    sendable::<ReadDir>();
    sendable::<Error>();
};
