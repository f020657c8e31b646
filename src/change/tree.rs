//! Going through a tree by handles, with a bounded number of descriptors whatever its size.
//!
//! May touch: held directories. Each directory is entered by one name from the handle of its parent and never through a link, and entered
//! once.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::change::{remove_dir, remove_file};
use crate::error::is_on_another_mount;
use crate::identity::Identity;
use crate::metadata::{FileType, Metadata};
use crate::resolve::mounts::Mounts;
use crate::resolve::names::Names;
use crate::resolve::step::{self, Entered};
use crate::resolve::way::Way;

/// Most directories one inside the other: what is known of each is kept, and grows with how deep it lies.
pub(crate) const DEPTH_LIMIT: usize = 512;

/// Most names in a tree that is copied or removed in one operation.
pub(crate) const NAME_BUDGET: usize = 1_000_000;

/// A directory that is being gone through: the names still to come, and what its caller knows of it.
struct Frame<T> {
    /// As it was when it was entered.
    metadata: Metadata,
    names: std::vec::IntoIter<(OsString, Option<FileType>)>,
    known: T,
}

pub(crate) enum Step {
    /// An entry of `dir`. Its type is from the listing, where the file system tells it.
    Name { dir: Arc<Dir>, name: OsString, file_type: Option<FileType> },
    /// Everything in the directory `name` of `dir` was seen; `metadata` of when it was entered.
    Leave { dir: Arc<Dir>, name: OsString, metadata: Metadata },
}

pub(crate) struct Descent<T> {
    way: Way,
    frames: Vec<Frame<T>>,
    seen: HashSet<Identity>,
    /// Whether the names of a directory come in the order of their bytes, and not in that of the disk.
    sorted: bool,
    /// Names that may still be listed.
    budget: usize,
    /// Names were left out because there were more.
    over: bool,
    /// What listings are read into, one after the other.
    buffer: Vec<u8>,
}

/// Whether a directory was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Descended {
    Into,
    /// It was seen already, or is none any more.
    Not,
    /// It lies deeper than [`DEPTH_LIMIT`].
    TooDeep,
    /// It lies on another mount, where the root ends with its own.
    Elsewhere,
}

impl<T> Descent<T> {
    /// `budget`: most names, over all directories.
    pub(crate) fn new(top: Dir, known: T, budget: usize, mounts: Mounts) -> io::Result<Self> {
        Self::in_order(top, known, budget, mounts, false)
    }

    /// As [`Descent::new`], in an order that is the same each time.
    pub(crate) fn sorted(top: Dir, known: T, budget: usize, mounts: Mounts) -> io::Result<Self> {
        Self::in_order(top, known, budget, mounts, true)
    }

    fn in_order(top: Dir, known: T, budget: usize, mounts: Mounts, sorted: bool) -> io::Result<Self> {
        let top = Arc::new(step::open_to_list(&top)?);
        let way = Way::new(Arc::clone(&top), mounts);
        let (frames, seen, buffer) = (Vec::new(), HashSet::new(), Vec::new());
        let mut descent = Self { way, frames, seen, sorted, budget, over: false, buffer };
        let metadata = Metadata::from_cap_std(&top.dir_metadata()?);
        descent.seen.insert(metadata.identity);
        descent.open(&top, metadata, known)?;
        Ok(descent)
    }

    /// How many directories deep it stands; in the top it is 1.
    pub(crate) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Whether there were more names than the budget.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Whether a directory was entered.
    pub(crate) fn has_seen(&self, identity: Identity) -> bool {
        self.seen.contains(&identity)
    }

    /// What is known of the directory that it stands in.
    pub(crate) fn known(&self) -> Option<&T> {
        self.frames.last().map(|frame| &frame.known)
    }

    /// The next name in the directory that it stands in; `None` where all were told.
    pub(crate) fn name(&mut self) -> Option<(OsString, Option<FileType>)> {
        self.frames.last_mut()?.names.next()
    }

    /// The directory that it stands in.
    pub(crate) fn dir(&mut self) -> io::Result<Arc<Dir>> {
        self.way.last()
    }

    /// The next entry, or the end of a directory; `None` at the end of all. After an error it goes on behind what failed.
    pub(crate) fn next(&mut self) -> Option<io::Result<Step>> {
        if let Some((name, file_type)) = self.name() {
            return Some(self.way.last().map(|dir| Step::Name { dir, name, file_type }));
        }
        let metadata = self.frames.pop()?.metadata;
        let name = self.way.pop()?;
        Some(self.way.last().map(|dir| Step::Leave { dir, name, metadata }))
    }

    /// Goes into the directory `name` of the one that it stands in.
    pub(crate) fn descend(&mut self, name: &OsStr, known: T) -> io::Result<Descended> {
        if self.frames.len() >= DEPTH_LIMIT {
            return Ok(Descended::TooDeep);
        }
        let mounts = self.way.mounts();
        let (dir, metadata) = match step::enter_to_list(&*self.way.last()?, name, mounts) {
            Ok(Some(entered)) => entered,
            Ok(None) => return Ok(Descended::Not),
            Err(error) if is_on_another_mount(&error) => return Ok(Descended::Elsewhere),
            Err(error) => return Err(error),
        };
        if !self.seen.insert(metadata.identity) {
            return Ok(Descended::Not);
        }
        let dir = Arc::new(dir);
        self.open(&dir, metadata, known)?;
        self.way.push(name.to_owned(), dir);
        Ok(Descended::Into)
    }

    /// All names at once, so that no listing stays open while what is below is gone through.
    fn open(&mut self, dir: &Arc<Dir>, metadata: Metadata, known: T) -> io::Result<()> {
        let mut names = Vec::new();
        let mut listing = Names::of(Arc::clone(dir), std::mem::take(&mut self.buffer))?;
        while listing.more(|name, file_type| match self.budget.checked_sub(1) {
            Some(left) => {
                self.budget = left;
                names.push((name.to_owned(), file_type));
            }
            None => self.over = true,
        })? && !self.over
        {}
        self.buffer = listing.into_buffer();
        if self.sorted {
            names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        }
        self.frames.push(Frame { metadata, names: names.into_iter(), known });
        Ok(())
    }
}

/// Removes the directory `name` of `dir` with everything in it: for what nobody was let into.
pub(crate) fn remove_unjudged(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<()> {
    // The common case, which needs no descriptor: nothing was put in yet.
    if remove_dir(dir, name).is_ok() {
        return Ok(());
    }
    open_up(dir, name, mounts);
    let Entered::Dir(top) = step::enter(dir, name, mounts)? else { return Err(io::ErrorKind::NotADirectory.into()) };
    let mut descent = Descent::new(top, (), NAME_BUDGET, mounts)?;
    while let Some(step) = descent.next() {
        match step? {
            Step::Name { dir, name, file_type } => {
                let is_dir = match file_type {
                    Some(file_type) => file_type == FileType::Dir,
                    None => step::see(&dir, &name, mounts)?.metadata.is_dir(),
                };
                if is_dir {
                    open_up(&dir, &name, mounts);
                }
                let done = remove_or_descend(&mut descent, &dir, &name, is_dir, ())?;
                if matches!(done, Descended::TooDeep | Descended::Elsewhere) {
                    return Err(io::ErrorKind::DirectoryNotEmpty.into());
                }
            }
            Step::Leave { dir, name, .. } => remove_dir(&dir, &name)?,
        }
    }
    // A directory that is held is not removed on Windows.
    drop(descent);
    remove_dir(dir, name)
}

/// A directory of ours that was copied with a mode that lets nothing be removed from it.
fn open_up(dir: &Dir, name: &OsStr, mounts: Mounts) {
    #[cfg(unix)]
    {
        use cap_std::fs::{Permissions, PermissionsExt};
        let is_closed = |seen: step::Seen| seen.metadata.permissions().mode() & 0o700 != 0o700;
        if step::see(dir, name, mounts).is_ok_and(is_closed) {
            // If it does not help, the removal says so.
            let _ = dir.set_permissions(name, Permissions::from_mode(0o700));
        }
    }
    #[cfg(not(unix))]
    let _ = (dir, name, mounts);
}

/// Removes an entry, or goes into it if it is a directory; what somebody else has removed meanwhile is gone as well.
pub(crate) fn remove_or_descend<T>(
    descent: &mut Descent<T>,
    dir: &Dir,
    name: &OsStr,
    is_dir: bool,
    known: T,
) -> io::Result<Descended> {
    let done = match is_dir {
        true => descent.descend(name, known),
        false => remove_file(dir, name).map(|()| Descended::Not),
    };
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Descended::Not),
        done => done,
    }
}
