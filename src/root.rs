//! A root: a grant made real. Holds the directory, its name, its access and its rules; private to the crate.
//!
//! May touch: `resolve::step` for picking up a root that was missing, `lease`, `queue`.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use cap_std::fs::Dir;

use crate::access::Access;
use crate::authority::Authority;
use crate::clock::{Deadline, LastSeen};
use crate::error::{Error, ErrorKind, Subject};
use crate::fenced;
use crate::identity::Identity;
use crate::lease::Lease;
use crate::observe::Watch;
use crate::path::host::HostPath;
use crate::path::locate::Form;
use crate::path::region::Region;
use crate::path::relative::RelPath;
use crate::path::uri::RootName;
use crate::queue::Queue;
use crate::resolve::mounts::Mounts;
use crate::resolve::step::{self, Entered};
use crate::rule::{Level, Rules};

/// The directory of a root, held since it was found.
pub(crate) struct Held {
    pub(crate) dir: Arc<Dir>,
    pub(crate) identity: Identity,
    /// Where what is below it has to lie.
    pub(crate) mounts: Mounts,
    /// The directory that it was found in, and its name there. None for a top directory.
    at: Option<(Dir, OsString)>,
    /// When it was last seen there.
    seen: LastSeen,
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
    pub(crate) queue: Queue,
    pub(crate) watch: Watch,
    #[cfg_attr(any(not(target_os = "linux"), cap_roots_portable), allow(dead_code, reason = "there is no fast way"))]
    pub(crate) without_openat2: bool,
    pub(crate) read_limit: u64,
    /// Files with more names than one are not opened.
    pub(crate) refuse_hard_links: bool,
    /// A root ends where its mount does.
    pub(crate) one_file_system: bool,
    pub(crate) hide_host_paths: bool,
    /// Directories on the way to files of the operator: no root may be one of them.
    pub(crate) outside: Vec<Identity>,
}

impl Shared {
    /// What an error about `text` may repeat: the caller's own spelling, unless host paths are hidden and it may be one.
    pub(crate) fn subject(&self, text: &str, form: Option<Form>) -> Subject {
        let repeatable = !self.hide_host_paths || matches!(form, Some(Form::Relative | Form::Named));
        if repeatable { Subject::Typed(text.to_owned()) } else { Subject::Unnamed }
    }
}

/// Aligned so that counting who holds it, which each operation does, takes no cache line from those who read it.
#[repr(align(128))]
pub(crate) struct Root {
    pub(crate) name: RootName,
    pub(crate) access: Access,
    pub(crate) no_delete: bool,
    pub(crate) deadline: Option<Deadline>,
    pub(crate) rules: Rules,
    /// The path as the operator gave it, made absolute. For the operator's eyes, and for `RootInfo::host_path`.
    pub(crate) given: PathBuf,
    /// The same with every link resolved, when it was found.
    pub(crate) real: PathBuf,
    /// Texts that mean this directory: as given, and canonical.
    pub(crate) spellings: Vec<HostPath>,
    /// The root that it lies in, where that one has other access.
    pub(crate) inside: Option<String>,
    /// A root that may be written and holds a link by which this one was named.
    pub(crate) through: Option<String>,
    /// Which of the builder's grants it is, from 0 on.
    pub(crate) position: usize,
    /// Those that gave way to it.
    pub(crate) instead_of: Vec<usize>,
    pub(crate) state: Presence,
    pub(crate) shared: Arc<Shared>,
}

/// Whether a root's directory is there.
pub(crate) struct Presence {
    held: OnceLock<Held>,
    pending: Option<Pending>,
}

impl Presence {
    pub(crate) fn new(state: Result<Held, Option<Pending>>) -> Self {
        match state {
            Ok(held) => Self { held: OnceLock::from(held), pending: None },
            Err(pending) => Self { held: OnceLock::new(), pending },
        }
    }
}

impl Root {
    /// The held directory. A root that was missing is looked for again, one name after the other from the held ancestor and without
    /// following links; once found, it is held for good.
    pub(crate) fn held(&self) -> Option<&Held> {
        if let Some(held) = self.state.held.get() {
            return Some(held);
        }
        // What is not in the fence could be found and not be used.
        if fenced::is() {
            return None;
        }
        let held = self.state.pending.as_ref().and_then(|pending| pick_up(pending, self.shared.one_file_system))?;
        if self.shared.outside.contains(&held.identity) {
            return None;
        }
        Some(self.state.held.get_or_init(|| held))
    }

    /// Whether it was missing when the process was fenced in, and will be for good.
    pub(crate) fn is_fenced_off(&self) -> bool {
        self.state.held.get().is_none() && fenced::is()
    }

    /// Whether the directory is where it was found. One that was removed, moved away, replaced or mounted over is not, whatever took its
    /// name; one that comes back is.
    pub(crate) fn is_present(&self) -> bool {
        self.held().is_some_and(|held| held.seen.look(|| held.is_in_place()))
    }

    /// The same, or whether it was a moment ago. For what changes nothing: it is then as if that had begun a moment earlier, and what it reads is in
    /// the directory that was granted in any case, since that is held.
    pub(crate) fn was_present_lately(&self) -> bool {
        self.held().is_some_and(|held| held.seen.look_if_old(|| held.is_in_place()))
    }
}

impl Held {
    pub(crate) fn new(dir: Dir, identity: Identity, at: Option<(Dir, OsString)>, one_file_system: bool) -> io::Result<Self> {
        let mounts = Mounts::below(&dir, one_file_system)?;
        let mut held = Self { dir: Arc::new(dir), identity, mounts, at, seen: LastSeen::default() };
        // Where its place cannot be looked at to begin with, that says nothing later.
        if !held.is_in_place() {
            held.at = None;
        }
        Ok(held)
    }

    fn is_in_place(&self) -> bool {
        let Some((parent, name)) = &self.at else { return true };
        match Identity::of_dir_named(parent, name) {
            Ok(identity) => identity == Some(self.identity),
            Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }
}

fn pick_up(pending: &Pending, one_file_system: bool) -> Option<Held> {
    let (last, way) = pending.names.split_last()?;
    let mut at = pending.ancestor.try_clone().ok()?;
    for name in way {
        at = enter(&at, name)?;
    }
    let dir = enter(&at, last)?;
    let identity = Identity::of(&dir).ok()?;
    Held::new(dir, identity, Some((at, last.clone())), one_file_system).ok()
}

fn enter(dir: &Dir, name: &OsStr) -> Option<Dir> {
    match step::enter(dir, name, Mounts::Any).ok()? {
        Entered::Dir(dir) => Some(dir),
        Entered::Link(_) | Entered::Other => None,
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root").field("name", &self.name.as_str()).field("access", &self.access).finish_non_exhaustive()
    }
}

/// The directory that a path is relative to, how far up `..` and links may go from it, and with which authority.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) authority: Authority,
    pub(crate) floor: Floor,
    /// A held directory below the floor from which to start.
    pub(crate) start: Option<Arc<Start>>,
    /// The one name in the floor that counts; it is no directory and no link.
    pub(crate) only: Option<OsString>,
}

/// Nothing above it is reached.
#[derive(Clone)]
pub(crate) enum Floor {
    /// The root itself.
    Root,
    /// A directory below the root, looked up by these names at each operation: a handle would follow it out of the grant.
    Names(Arc<RelPath>),
    /// A held directory below the root, with its path from the root.
    Dir(Arc<Start>),
}

/// A held directory, with its path from the floor or the root, and what the rules say of it.
pub(crate) struct Start {
    pub(crate) dir: Arc<Dir>,
    pub(crate) path: RelPath,
    pub(crate) level: Level,
}

impl Place {
    pub(crate) fn new(authority: Authority, floor: Floor) -> Self {
        Self { authority, floor, start: None, only: None }
    }

    /// The part of the root that is `region`.
    pub(crate) fn of(authority: Authority, region: &Region) -> Self {
        let names = region.names();
        let floor = if names.is_empty() { Floor::Root } else { Floor::Names(Arc::new(names.clone())) };
        Self { authority, floor, start: None, only: region.only().map(ToOwned::to_owned) }
    }

    /// Whether it matters by which names something is reached.
    pub(crate) fn judges_names(&self) -> bool {
        self.only.is_some() || !self.root().rules.is_empty()
    }

    pub(crate) fn root(&self) -> &Root {
        &self.authority.root
    }

    pub(crate) fn floor_dir(&self) -> Result<&Arc<Dir>, Error> {
        match &self.floor {
            Floor::Root | Floor::Names(_) => Ok(&self.root().held().ok_or(ErrorKind::RootAbsent)?.dir),
            Floor::Dir(held) => Ok(&held.dir),
        }
    }

    pub(crate) fn mounts(&self) -> Result<Mounts, Error> {
        Ok(self.root().held().ok_or(ErrorKind::RootAbsent)?.mounts)
    }

    /// What the rules say of the floor.
    pub(crate) fn floor_level(&self) -> Cow<'_, Level> {
        let rules = &self.root().rules;
        match &self.floor {
            Floor::Root => Cow::Borrowed(rules.top()),
            Floor::Names(names) => Cow::Owned(rules.level(names)),
            Floor::Dir(held) => Cow::Borrowed(&held.level),
        }
    }

    /// What the rules say of the directory that paths start from.
    pub(crate) fn start_level(&self) -> Cow<'_, Level> {
        self.start.as_ref().map_or_else(|| self.floor_level(), |start| Cow::Borrowed(&start.level))
    }

    /// The path of `path` from the root: for messages, URIs and the audit, not for opening.
    pub(crate) fn path_from_root(&self, path: &RelPath) -> RelPath {
        let mut full = match &self.floor {
            Floor::Root => RelPath::default(),
            Floor::Names(prefix) => RelPath::clone(prefix),
            Floor::Dir(held) => held.path.clone(),
        };
        if let Some(start) = &self.start {
            full = full.join(&start.path);
        }
        full.join(path)
    }

    /// Where an absolute link target leads from the floor, if its text lies below a spelling of the root and below the floor.
    pub(crate) fn below_floor(&self, target: &HostPath) -> Option<RelPath> {
        let spellings = &self.root().spellings;
        let rest = spellings.iter().filter_map(|spelling| target.below(spelling)).min_by_key(RelPath::depth)?;
        match &self.floor {
            Floor::Root => Some(rest),
            Floor::Names(prefix) => rest.below(prefix),
            Floor::Dir(held) => rest.below(&held.path),
        }
    }
}
