//! A root: a grant made real. Holds the directory, its name and its access; private to the crate.
//!
//! May touch: `resolve::step` for picking up a root that was missing, `decide`'s facts, `lease`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use cap_fs_ext::MetadataExt;
use cap_std::fs::Dir;

use crate::access::{Access, Operation};
use crate::decide::{Facts, State};
use crate::error::{Error, ErrorKind, Subject};
use crate::identity::Identity;
use crate::lease::Lease;
use crate::observe::{Event, Observer};
use crate::path::host::HostPath;
use crate::path::locate::Form;
use crate::path::relative::RelPath;
use crate::path::uri::RootName;
use crate::resolve::step::{self, Entered};

/// The directory of a root, held since it was found.
pub(crate) struct Held {
    pub(crate) dir: Arc<Dir>,
    /// Whether the file system counted the directory's names when it was found. Some do not, and then a count of none says nothing.
    pub(crate) counted: bool,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "tells kernel file systems"))]
    pub(crate) identity: Identity,
}

/// Where a missing root may appear.
pub(crate) struct Pending {
    pub(crate) ancestor: Dir,
    pub(crate) names: Vec<OsString>,
}

/// What all roots of a set have in common.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) lease: Lease,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no fast way"))]
    pub(crate) without_openat2: bool,
    pub(crate) read_limit: u64,
    pub(crate) hide_host_paths: bool,
}

impl Shared {
    pub(crate) fn observe(&self, event: &Event<'_>) {
        if let Some(observer) = &self.observer {
            observer.observe(event);
        }
    }

    /// A text that was refused before it led to a root.
    pub(crate) fn observe_unlocated(&self, operation: Operation, text: &str, error: &Error) {
        self.observe(&Event { operation, root: None, path: OsStr::new(text), outcome: Err(error.kind()) });
    }

    /// What an error about `text` may repeat: the caller's own spelling, unless host paths are hidden and it may be one.
    pub(crate) fn subject(&self, text: &str, form: Option<Form>) -> Subject {
        let repeatable = !self.hide_host_paths || matches!(form, Some(Form::Relative | Form::Named));
        if repeatable { Subject::Typed(text.to_owned()) } else { Subject::Unnamed }
    }
}

pub(crate) struct Root {
    pub(crate) name: RootName,
    pub(crate) access: Access,
    /// The path as the operator gave it, made absolute. For the operator's eyes, and for `RootInfo::host_path`.
    pub(crate) given: PathBuf,
    /// Texts that mean this directory: as given, and canonical.
    pub(crate) spellings: Vec<HostPath>,
    held: OnceLock<Held>,
    pending: Option<Pending>,
    pub(crate) shared: Arc<Shared>,
}

impl Root {
    pub(crate) fn new(
        name: RootName,
        access: Access,
        given: PathBuf,
        spellings: Vec<HostPath>,
        state: Result<Held, Option<Pending>>,
        shared: Arc<Shared>,
    ) -> Self {
        let (held, pending) = match state {
            Ok(held) => (OnceLock::from(held), None),
            Err(pending) => (OnceLock::new(), pending),
        };
        Self { name, access, given, spellings, held, pending, shared }
    }

    /// The held directory. A root that was missing is looked for again, one name after the other from the held ancestor and without
    /// following links; once found, it is held for good.
    pub(crate) fn held(&self) -> Option<&Held> {
        if let Some(held) = self.held.get() {
            return Some(held);
        }
        let held = self.pending.as_ref().and_then(pick_up)?;
        Some(self.held.get_or_init(|| held))
    }

    /// The snapshot that one operation is decided by.
    pub(crate) fn facts(&self) -> Facts {
        let state = match (self.shared.lease.check(), self.held()) {
            (Err(_), _) => State::Revoked,
            (Ok(()), None) => State::Absent,
            (Ok(()), Some(_)) => State::Held,
        };
        Facts { state, access: self.access }
    }

    /// Whether the held directory was removed: it has no name any more, and nothing can be in it. Another directory that took its
    /// name is another one.
    pub(crate) fn is_gone(&self) -> bool {
        self.held().is_some_and(|held| held.counted && !has_names(&held.dir))
    }
}

impl Held {
    pub(crate) fn new(dir: Dir, identity: Identity) -> Self {
        let counted = has_names(&dir);
        Self { dir: Arc::new(dir), counted, identity }
    }
}

fn has_names(dir: &Dir) -> bool {
    dir.dir_metadata().is_ok_and(|metadata| metadata.nlink() > 0)
}

fn pick_up(pending: &Pending) -> Option<Held> {
    let mut at = pending.ancestor.try_clone().ok()?;
    for name in &pending.names {
        at = match step::enter(&at, name).ok()? {
            Entered::Dir(dir) => dir,
            Entered::Link(_) | Entered::Other => return None,
        };
    }
    let identity = Identity::of(&at).ok()?;
    Some(Held::new(at, identity))
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root").field("name", &self.name.as_str()).field("access", &self.access).finish_non_exhaustive()
    }
}

/// The directory that a path is relative to, and how far up `..` and links may go from it.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) root: Arc<Root>,
    pub(crate) floor: Floor,
    /// A held directory below the floor from which to start, with its path from the floor.
    pub(crate) start: Option<Start>,
}

/// Nothing above it is reached.
#[derive(Clone)]
pub(crate) enum Floor {
    /// The root itself.
    Root,
    /// A directory below the root, with its path from the root.
    Dir { dir: Arc<Dir>, prefix: RelPath },
}

#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) dir: Arc<Dir>,
    pub(crate) path: RelPath,
}

impl Place {
    pub(crate) fn root(root: Arc<Root>) -> Self {
        Self { root, floor: Floor::Root, start: None }
    }

    pub(crate) fn floor_dir(&self) -> Result<&Arc<Dir>, Error> {
        match &self.floor {
            Floor::Root => Ok(&self.root.held().ok_or(ErrorKind::RootAbsent)?.dir),
            Floor::Dir { dir, .. } => Ok(dir),
        }
    }

    /// The path of `path` from the root: for messages, URIs and the audit, not for opening.
    pub(crate) fn path_from_root(&self, path: &RelPath) -> RelPath {
        let mut full = match &self.floor {
            Floor::Root => RelPath::default(),
            Floor::Dir { prefix, .. } => prefix.clone(),
        };
        if let Some(start) = &self.start {
            full = full.join(&start.path);
        }
        full.join(path)
    }

    /// Where an absolute link target leads from the floor, if its text lies below a spelling of the root and below the floor.
    pub(crate) fn below_floor(&self, target: &HostPath) -> Option<RelPath> {
        let rest = self.root.spellings.iter().filter_map(|spelling| target.below(spelling)).min_by_key(RelPath::depth)?;
        match &self.floor {
            Floor::Root => Some(rest),
            Floor::Dir { prefix, .. } => rest.below(prefix),
        }
    }
}
