//! The operator's side: grants become roots.
//!
//! May touch: `ambient`, once, in [`Builder::open`]. What is given here is authority; nothing of it comes from a client.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::Access;
use crate::ambient;
use crate::error::{Detail, Error, ErrorKind, Result, Subject};
use crate::identity::Identity;
use crate::observe::Observer;
use crate::path::host::HostPath;
use crate::path::uri::RootName;
use crate::root::{Held, Pending, Root, Shared};
use crate::roots::Roots;

/// Largest file that is read whole, in bytes, unless the builder says otherwise.
pub(crate) const READ_LIMIT: u64 = 64 * 1024 * 1024;

/// Collects grants; [`Builder::open`] makes them real.
#[must_use = "grants do nothing until they are opened"]
pub struct Builder {
    grants: Vec<Grant>,
    observer: Option<Arc<dyn Observer>>,
    hide_host_paths: bool,
    without_openat2: bool,
    read_limit: u64,
}

struct Grant {
    name: Option<String>,
    path: PathBuf,
    access: Access,
}

/// A grant whose directory was looked for.
struct Opened {
    name: RootName,
    access: Access,
    given: PathBuf,
    directory: std::result::Result<ambient::Found, Option<ambient::Missing>>,
    ancestors: Vec<Identity>,
}

impl Opened {
    fn identity(&self) -> Option<Identity> {
        self.directory.as_ref().ok().map(|found| found.identity)
    }

    fn missing(&self) -> Option<&ambient::Missing> {
        self.directory.as_ref().err()?.as_ref()
    }

    /// Whether both are one directory: by identity, or, where they are missing, by the names missing below the same ancestor.
    fn is(&self, other: &Opened) -> bool {
        match (self.missing(), other.missing()) {
            (Some(a), Some(b)) => a.ancestor.identity == b.ancestor.identity && a.names == b.names,
            (None, None) => self.identity().is_some() && self.identity() == other.identity(),
            _ => false,
        }
    }

    /// Whether it lies, or would lie, inside `outer`.
    fn is_inside(&self, outer: &Opened) -> bool {
        if let Some(identity) = outer.identity() {
            return self.ancestors.contains(&identity);
        }
        let (Some(inner), Some(outer)) = (self.missing(), outer.missing()) else { return false };
        let same_start = inner.ancestor.identity == outer.ancestor.identity && inner.names.starts_with(&outer.names);
        same_start && inner.names.len() > outer.names.len()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self { grants: Vec::new(), observer: None, hide_host_paths: false, without_openat2: false, read_limit: READ_LIMIT }
    }
}

impl Builder {
    /// Grants `access` to the directory `path`. Its name is the last part of the path in lower case; a second root of the same name
    /// gets `-2`, in order.
    pub fn root(self, path: impl AsRef<Path>, access: Access) -> Self {
        self.grant(None, path.as_ref(), access)
    }

    /// Grants `access` to the directory `path` by the name `name`: 1 to 64 of the characters `a-z 0-9 . _ -`.
    pub fn named(self, name: impl Into<String>, path: impl AsRef<Path>, access: Access) -> Self {
        self.grant(Some(name.into()), path.as_ref(), access)
    }

    fn grant(mut self, name: Option<String>, path: &Path, access: Access) -> Self {
        self.grants.push(Grant { name, path: path.to_owned(), access });
        self
    }

    /// Who is told of each operation and its outcome.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Keeps host paths out of errors even where the caller typed one.
    pub fn hide_host_paths(mut self, hide: bool) -> Self {
        self.hide_host_paths = hide;
        self
    }

    /// Largest file, in bytes, that `read` and `read_to_string` take. Default: 64 MiB.
    pub fn read_limit(mut self, bytes: u64) -> Self {
        self.read_limit = bytes;
        self
    }

    /// Resolves every path by the guarded walk, as where the kernel lacks `openat2(2)`: slower, with the same answers. For tests and
    /// comparisons.
    pub fn without_openat2(mut self) -> Self {
        self.without_openat2 = true;
        self
    }

    /// Opens the directories. `~/` and relative paths are resolved here, once. A directory that is missing does not stop the others:
    /// its root is absent until it appears (see [`RootInfo::is_absent`](crate::RootInfo::is_absent)). With no grant at all, every
    /// operation answers `no-roots`.
    ///
    /// # Errors
    /// Each names its root ([`Error::root_name`]): `not-a-directory`; `os-denied`; `invalid-argument` for a name that is malformed or
    /// used twice, the same directory twice, or a root inside another one that has more access and so reaches the same files.
    pub fn open(self) -> Result<Roots> {
        let mut opened: Vec<Opened> = Vec::with_capacity(self.grants.len());
        let mut names = Names::reserved(&self.grants)?;
        for grant in &self.grants {
            let name = names.next(grant)?;
            let root = open_grant(name.clone(), grant).map_err(|error| error.on(Subject::Root(name.as_str().to_owned())))?;
            opened.push(root);
        }
        check_nesting(&opened)?;
        let writable: Vec<Identity> =
            opened.iter().filter(|root| root.access == Access::Write).filter_map(Opened::identity).collect();
        let shared = Arc::new(Shared {
            observer: self.observer,
            without_openat2: self.without_openat2,
            read_limit: self.read_limit,
            hide_host_paths: self.hide_host_paths,
            ..Shared::default()
        });
        let roots = opened.into_iter().map(|root| root.into_root(&writable, &shared)).collect();
        let home = ambient::home().and_then(|home| HostPath::from_disk(&home));
        Ok(Roots::new(roots, home, shared))
    }
}

/// Hands out names: given ones as they are, default ones numbered.
struct Names {
    taken: Vec<RootName>,
}

impl Names {
    /// Given names come first, so that no default name takes one away.
    fn reserved(grants: &[Grant]) -> Result<Self> {
        let mut taken = Vec::new();
        for text in grants.iter().filter_map(|grant| grant.name.as_ref()) {
            match RootName::parse(text) {
                Some(name) if !taken.contains(&name) => taken.push(name),
                _ => {
                    let error = Error::detailed(ErrorKind::InvalidArgument, Detail::RootName);
                    return Err(error.on(Subject::Root(text.clone())));
                }
            }
        }
        Ok(Self { taken })
    }

    fn next(&mut self, grant: &Grant) -> Result<RootName> {
        if let Some(text) = &grant.name {
            return RootName::parse(text).ok_or_else(|| Error::detailed(ErrorKind::InvalidArgument, Detail::RootName));
        }
        // `.` and the like have no last part until they are made absolute.
        let absolute = ambient::absolute(&grant.path).unwrap_or_else(|_| grant.path.clone());
        let base = RootName::from_directory(&absolute.file_name().unwrap_or_default().to_string_lossy());
        let mut name = base.clone();
        let mut count = 1;
        while self.taken.contains(&name) {
            count += 1;
            name = base.numbered(count);
        }
        self.taken.push(name.clone());
        Ok(name)
    }
}

fn open_grant(name: RootName, grant: &Grant) -> Result<Opened> {
    let from_io = |error: io::Error| match error.kind() {
        io::ErrorKind::NotADirectory => {
            Error::detailed(ErrorKind::NotADirectory, Detail::NotADirectoryRoot).advise("name a directory")
        }
        _ => Error::from_io(&error),
    };
    let given = ambient::absolute(&grant.path).map_err(from_io)?;
    let (directory, ancestors) = match ambient::open(&given) {
        Ok(found) => {
            let ancestors = ambient::ancestors(&found.dir).map_err(from_io)?;
            (Ok(found), ancestors)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => match ambient::open_nearest_ancestor(&given) {
            Ok(missing) => {
                let mut ancestors = ambient::ancestors(&missing.ancestor.dir).map_err(from_io)?;
                ancestors.push(missing.ancestor.identity);
                (Err(Some(missing)), ancestors)
            }
            Err(_) => (Err(None), Vec::new()),
        },
        Err(error) => return Err(from_io(error)),
    };
    Ok(Opened { name, access: grant.access, given, directory, ancestors })
}

/// Two roots for one directory would leave open which grant holds, and an inner root with less than the outer one would be no limit:
/// the same files can be reached by the outer one. Found by identity up the chain of parents, not by text.
fn check_nesting(opened: &[Opened]) -> Result<()> {
    for (index, inner) in opened.iter().enumerate() {
        for (other_index, outer) in opened.iter().enumerate() {
            let outer_name = outer.name.as_str().to_owned();
            let detail = if other_index < index && inner.is(outer) {
                Detail::DuplicateRoot { other: outer_name }
            } else if inner.is_inside(outer) && inner.access < outer.access {
                Detail::InnerRootWithLess { outer: outer_name }
            } else {
                continue;
            };
            let error = Error::detailed(ErrorKind::InvalidArgument, detail);
            return Err(error.on(Subject::Root(inner.name.as_str().to_owned())));
        }
    }
    Ok(())
}

impl Opened {
    fn into_root(self, writable: &[Identity], shared: &Arc<Shared>) -> Root {
        let mut spellings: Vec<HostPath> = HostPath::from_disk(&self.given).into_iter().collect();
        let state = match self.directory {
            Ok(found) => {
                spellings.extend(HostPath::from_disk(&found.canonical).filter(|canonical| !spellings.contains(canonical)));
                Ok(Held::new(found.dir, found.identity))
            }
            // Who may write where the directory would appear could choose what appears there: such a root stays absent.
            Err(Some(missing)) if !self.ancestors.iter().any(|identity| writable.contains(identity)) => {
                let canonical = missing.ancestor.canonical.join(missing.names.iter().collect::<PathBuf>());
                spellings.extend(HostPath::from_disk(&canonical).filter(|canonical| !spellings.contains(canonical)));
                Err(Some(Pending { ancestor: missing.ancestor.dir, names: missing.names }))
            }
            Err(_) => Err(None),
        };
        Root::new(self.name, self.access, self.given, spellings, state, Arc::clone(shared))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("grants", &self.grants.len()).finish_non_exhaustive()
    }
}
