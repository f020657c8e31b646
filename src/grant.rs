//! What the operator decides for one directory.
//!
//! May touch: `rule`, `access`. No I/O: the directory is looked at when the builder opens it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::access::Access;

/// A directory, and what may be done in it. Grants nothing by default: say how much with [`Grant::access`].
///
/// ```
/// use std::time::Duration;
/// use cap_roots::{Access, Grant, Roots};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// let grant = Grant::new(path)
///     .name("notes")
///     .access(Access::Write)
///     .no_delete()
///     .rule("archive/**", Access::Read)
///     .expires_in(Duration::from_secs(3600));
/// let roots = Roots::builder().grant(grant).open()?;
/// assert_eq!(roots.remove_file("a.md").unwrap_err().code(), "not-granted");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a grant does nothing until a builder has it"]
#[derive(Clone)]
pub struct Grant {
    pub(crate) path: PathBuf,
    pub(crate) name: Option<String>,
    pub(crate) access: Access,
    pub(crate) no_delete: bool,
    pub(crate) rules: Vec<(String, Access)>,
    pub(crate) expires_in: Option<Duration>,
    pub(crate) unless_granted: bool,
}

impl Grant {
    /// For the directory `path`.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            name: None,
            access: Access::None,
            no_delete: false,
            rules: Vec::new(),
            expires_in: None,
            unless_granted: false,
        }
    }

    /// The name in `root://NAME/`: 1 to 64 of the characters `a-z 0-9 . _ -`. Default: the last part of the path in lower case; a second
    /// root of the same name gets `-2`, in order.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How much may be done.
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// No name is taken away: nothing is removed, replaced by a rename, or moved to another root. Files can be written all the same.
    pub fn no_delete(mut self) -> Self {
        self.no_delete = true;
        self
    }

    /// A rule for this directory, as [`Builder::rule`](crate::Builder::rule) gives one for all.
    pub fn rule(mut self, glob: impl Into<String>, access: Access) -> Self {
        self.rules.push((glob.into(), access));
        self
    }

    /// Gives way to a grant for the same directory that comes before it, instead of being an error beside it. What it said does not hold then, so
    /// ask [`RootInfo::instead_of`](crate::RootInfo::instead_of) which did.
    pub fn unless_granted(mut self) -> Self {
        self.unless_granted = true;
        self
    }

    /// Ends by itself this long after the builder opened it; then everything answers `expired`. The time counts while the machine sleeps.
    pub fn expires_in(mut self, time: Duration) -> Self {
        self.expires_in = Some(time);
        self
    }
}

/// Without the path, which is the host's.
impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").field("name", &self.name).field("access", &self.access).finish_non_exhaustive()
    }
}
