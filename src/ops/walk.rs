//! Going through a tree: every name below a directory, by handles.
//!
//! May touch: `permit`, `resolve`, `change::tree`.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

use crate::access::{Access, Operation};
use crate::change::tree::{Descended, Descent};
use crate::error::{ErrorKind, Result};
use crate::metadata::FileType;
use crate::ops::list::Entry;
use crate::ops::remove::type_of;
use crate::ops::{TREE_LIMIT, contradiction, io};
use crate::path::relative::RelPath;
use crate::permit::Permit;
use crate::resolve::mounts::Mounts;
use crate::resolve::{Found, Want, resolve};
use crate::root::{Place, Start};
use crate::rule::{Level, is_reserved};

pub(crate) fn walk(place: Place, path: RelPath) -> Result<Walk> {
    let below_floor = match &place.start {
        Some(start) => start.path.join(&path),
        None => path.clone(),
    };
    let walked = Place { start: None, ..place.clone() };
    let (found, receipt) = resolve(Permit::issue(place, path, Operation::Walk)?, Want::Dir)?;
    let Found::Dir(dir, level) = found else { return receipt.close(Err(contradiction())) };
    let known = Known { path: below_floor, length: 0, level };
    let descent = walked.mounts().and_then(|mounts| Descent::sorted(dir, known, TREE_LIMIT, mounts).map_err(io));
    receipt.close(descent.map(|descent| Walk {
        place: walked,
        here: None,
        descent,
        ahead: None,
        depth: 0,
        limits: Limits { depth: usize::MAX, entries: TREE_LIMIT, bytes: u64::MAX },
        entries: 0,
        bytes: 0,
        hidden: 0,
        other_mounts: 0,
        cut: None,
        ended: false,
    }))
}

/// What is known of a directory on the way.
struct Known {
    /// Its path from the floor.
    path: RelPath,
    /// How long its path below the walked directory is, with a slash behind it.
    length: u64,
    level: Level,
}

#[derive(Clone, Copy)]
struct Limits {
    depth: usize,
    entries: usize,
    bytes: u64,
}

/// Why a [`Walk`] did not show everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cut {
    /// There are directories deeper than [`Walk::max_depth`].
    Depth,
    /// There are more entries than [`Walk::max_entries`].
    Entries,
    /// The names are longer than [`Walk::max_bytes`] together.
    Bytes,
}

/// Every entry below a directory: a directory before what is in it, each directory once, links as links, the names of each directory in the
/// order of their bytes.
///
/// The number of descriptors is bounded whatever the size and depth of the tree. Entries open through the directory that they were found
/// in, and are judged again. Names that a rule hides are left out and counted. A directory that cannot be read is one error, and the walk
/// goes on behind it; one that disappears meanwhile is passed over. Each step checks again that the authority holds; if it does not, one
/// error ends the walk. Dropping it gives it up. An entry that is kept
/// holds the descriptor of its directory.
#[must_use = "an iterator does nothing until it is used"]
pub struct Walk {
    place: Place,
    /// The directory that the last entry is in, for all entries of it. One, so that what it holds is one descriptor.
    here: Option<Arc<Place>>,
    descent: Descent<Known>,
    /// A directory that was shown and is to be entered next.
    ahead: Option<(Entry, Known)>,
    /// Of the entry that was shown last.
    depth: usize,
    limits: Limits,
    entries: usize,
    bytes: u64,
    hidden: u64,
    other_mounts: u64,
    cut: Option<Cut>,
    ended: bool,
}

impl Walk {
    /// Shows what is at most `depth` names below the directory. Default, and most: 512.
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.limits.depth = depth;
        self
    }

    /// Shows at most `count` entries. Default, and most: 1,000,000.
    pub fn max_entries(mut self, count: usize) -> Self {
        self.limits.entries = count.min(TREE_LIMIT);
        self
    }

    /// Shows entries until their paths below the directory are `bytes` long together. Default: no limit.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.limits.bytes = bytes;
        self
    }

    /// How deep the entry lies that was shown last: 1 directly in the directory that is walked. 0 before the first.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Does not go into the directory that was shown last. It is not opened.
    pub fn skip_dir(&mut self) {
        self.ahead = None;
    }

    /// Whether something was left out because of a limit, so far.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// How many names were left out because of rules, so far; what is below them is not counted.
    #[must_use]
    pub fn hidden(&self) -> u64 {
        self.hidden
    }

    /// How many directories were not gone into, so far, because they lie on another mount
    /// ([`Builder::one_file_system`](crate::Builder::one_file_system)).
    #[must_use]
    pub fn other_mounts(&self) -> u64 {
        self.other_mounts
    }

    fn step(&mut self) -> Option<Result<Entry>> {
        if let Some((entry, known)) = self.ahead.take() {
            match self.descent.descend(entry.name(), known) {
                Ok(Descended::TooDeep) => self.cut = Some(Cut::Depth),
                Ok(Descended::Into) => self.here = None,
                Ok(Descended::Elsewhere) => self.other_mounts += 1,
                Ok(Descended::Not) => {}
                // Removed or exchanged meanwhile.
                Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {}
                Err(error) => return Some(Err(io(error).about(entry.uri()))),
            }
        }
        loop {
            let Some((name, listed)) = self.descent.name() else {
                self.here = None;
                match self.descent.next() {
                    None => {
                        if self.descent.is_over() {
                            self.cut = Some(Cut::Entries);
                        }
                        return None;
                    }
                    Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => return Some(Err(io(error))),
                    Some(_) => continue,
                }
            };
            let here = match self.here() {
                Ok(here) => here,
                // A directory above was exchanged or removed: what is left of it is not shown.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Some(Err(io(error))),
            };
            if is_reserved(&name) {
                continue;
            }
            if self.limits.depth == 0 {
                self.cut = Some(Cut::Depth);
                return None;
            }
            let (known, start) = (self.descent.known()?, here.start.as_ref()?);
            let file_type = match type_of(&start.dir, &name, listed, Mounts::Any) {
                Ok(file_type) => file_type,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(_) => FileType::Special,
            };
            let rules = &self.place.root().rules;
            // Without rules, all of it stands as the directory does.
            let level = if rules.is_empty() { known.level.clone() } else { rules.enter(&known.level.stand, &name) };
            if level.ceiling(matches!(file_type, FileType::Dir | FileType::Symlink)) < Access::List {
                self.hidden += 1;
                continue;
            }
            let length = known.length.saturating_add(u64::try_from(name.len()).unwrap_or(u64::MAX));
            if self.entries >= self.limits.entries || self.bytes.saturating_add(length) > self.limits.bytes {
                self.cut = Some(if self.entries >= self.limits.entries { Cut::Entries } else { Cut::Bytes });
                return None;
            }
            self.entries += 1;
            self.bytes += length;
            self.depth = self.descent.depth();
            let entry = Entry::new(here, name, file_type);
            if file_type == FileType::Dir {
                if self.descent.depth() < self.limits.depth {
                    let path = known.path.join(&RelPath::single(entry.name()));
                    self.ahead = Some((entry.clone(), Known { path, length: length.saturating_add(1), level }));
                } else {
                    self.cut = Some(Cut::Depth);
                }
            }
            return Some(Ok(entry));
        }
    }

    /// The directory that it stands in, as the place that its entries are in.
    fn here(&mut self) -> std::io::Result<Arc<Place>> {
        if let Some(here) = &self.here {
            return Ok(Arc::clone(here));
        }
        let dir = self.descent.dir()?;
        let known = self.descent.known().ok_or(std::io::ErrorKind::NotFound)?;
        let start = Arc::new(Start { dir, path: known.path.clone(), level: known.level.clone() });
        let here = Arc::new(Place { start: Some(start), ..self.place.clone() });
        self.here = Some(Arc::clone(&here));
        Ok(here)
    }
}

impl Iterator for Walk {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        // Counted, and looked at again behind: nobody gets an entry once the authority is gone.
        let _under_way = self.place.authority.begin();
        let step = match self.place.authority.check() {
            Ok(()) => self.step(),
            Err(_) => None,
        };
        match self.place.authority.check() {
            Err(kind) => {
                self.ended = true;
                Some(Err(kind.into()))
            }
            Ok(()) => {
                self.ended = step.is_none();
                step
            }
        }
    }
}

impl FusedIterator for Walk {}

impl fmt::Debug for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk")
            .field("root", &self.place.root().name.as_str())
            .field("entries", &self.entries)
            .finish_non_exhaustive()
    }
}
