//! What may be told of a root.
//!
//! May touch: `root`, `support`. The one place where a host path is given out, on purpose and by its name.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::access::Access;
use crate::path::relative::RelPath;
use crate::path::uri;
use crate::root::Place;
use crate::support::{self, Support};

/// What may be told of a root, as the set that listed it sees it.
#[derive(Clone)]
pub struct RootInfo {
    place: Place,
}

impl RootInfo {
    pub(crate) fn new(place: Place) -> Self {
        Self { place }
    }

    /// The names from the root to what the set sees of it.
    fn names(&self) -> RelPath {
        let path = self.place.only.as_deref().map_or_else(RelPath::default, RelPath::single);
        self.place.path_from_root(&path)
    }

    /// The name, as in `root://NAME/`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.place.root().name.as_str()
    }

    /// What was granted, or what is left of it.
    #[must_use]
    pub fn access(&self) -> Access {
        self.place.authority.access()
    }

    /// Whether names may be taken away.
    #[must_use]
    pub fn may_delete(&self) -> bool {
        self.access() == Access::Write && !self.place.authority.no_delete()
    }

    /// The rules that hold in it, as `(glob, access)`: the operator's, and those that come from roots around and inside it.
    pub fn rules(&self) -> impl Iterator<Item = (&str, Access)> {
        self.place.root().rules.list()
    }

    /// The name of a root around it that has more access, if there is one: what this root may not is refused there as well.
    #[must_use]
    pub fn inside(&self) -> Option<&str> {
        self.place.root().inside.as_deref()
    }

    /// Whether its directory is missing now. A root that was missing at start is looked for again each time; one that was there and was
    /// removed, moved away, replaced or mounted over is absent, whatever has its name, until that very directory is back.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        !self.place.root().is_present()
    }

    /// The directory as the operator named it, made absolute. A host path: for the operator, and for callers only where the operator
    /// agreed that they may see it.
    #[must_use]
    pub fn host_path(&self) -> PathBuf {
        let (given, names) = (&self.place.root().given, self.names());
        if names.is_empty() { given.clone() } else { given.join(names.as_os_str()) }
    }

    /// The same with every link resolved, as it was when the directory was opened. What the operator, or a host that is asked for consent, should
    /// be shown: a link's name says nothing of where it leads.
    #[must_use]
    pub fn real_path(&self) -> PathBuf {
        let (real, names) = (&self.place.root().real, self.names());
        if names.is_empty() { real.clone() } else { real.join(names.as_os_str()) }
    }

    /// Whether it is one file and not a directory: what a hint left of a root.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.place.only.is_some()
    }

    /// The name of a root that may be written and in which a link lies by which this directory was named: whoever changes the link chooses what
    /// will be served when the directory is opened anew, such as at the next start.
    #[must_use]
    pub fn named_through(&self) -> Option<&str> {
        self.place.root().through.as_deref()
    }

    /// Which of the grants of its builder it is, from 0 on, in the order in which they were added.
    #[must_use]
    pub fn position(&self) -> usize {
        self.place.root().position
    }

    /// The positions of the grants that gave way to it ([`Grant::unless_granted`](crate::Grant::unless_granted)): what they said, such as their rules,
    /// does not hold.
    #[must_use]
    pub fn instead_of(&self) -> &[usize] {
        &self.place.root().instead_of
    }

    /// How long it still lasts; `None` for ever.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.place.authority.time_left()
    }

    /// What the kernel and the file system give in it, found out now; `None` where its directory is missing or the grant has ended. Nothing on the disk is changed: where
    /// it may be written, a file without a name is made and let go. It waits as long as the disk does.
    #[must_use]
    pub fn support(&self) -> Option<Support> {
        support::of(&self.place)
    }

    /// The root's URI, `root://NAME/`; of a narrowed set, that of its directory or file.
    #[must_use]
    pub fn uri(&self) -> String {
        uri::write(&self.place.root().name, &self.names())
    }
}

impl fmt::Debug for RootInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.root().fmt(f)
    }
}
