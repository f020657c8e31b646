//! Directories one inside the other, with few descriptors however many they are.
//!
//! May touch: held directories. The deepest few handles are kept; one that was let go is opened again by its name from the one above it, never
//! through a link, and counts only if it is the same directory as before.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::identity::Identity;
use crate::resolve::mounts::Mounts;
use crate::resolve::step::{self, Entered};

/// How many of the deepest handles are kept.
const WINDOW: usize = 16;

pub(crate) struct Way {
    top: Arc<Dir>,
    mounts: Mounts,
    below: Vec<Below>,
}

struct Below {
    /// Its name in the directory above.
    name: OsString,
    handle: Handle,
}

enum Handle {
    Held(Arc<Dir>),
    Gone(Identity),
}

impl Way {
    /// All of it lies on `mounts`.
    pub(crate) fn new(top: Arc<Dir>, mounts: Mounts) -> Self {
        Self { top, mounts, below: Vec::new() }
    }

    pub(crate) fn mounts(&self) -> Mounts {
        self.mounts
    }

    pub(crate) fn top(&self) -> &Arc<Dir> {
        &self.top
    }

    /// How many directories it leads below the top.
    pub(crate) fn len(&self) -> usize {
        self.below.len()
    }

    /// The names from the top.
    pub(crate) fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.below.iter().map(|below| below.name.as_os_str())
    }

    /// One directory deeper.
    pub(crate) fn push(&mut self, name: OsString, dir: impl Into<Arc<Dir>>) {
        self.below.push(Below { name, handle: Handle::Held(dir.into()) });
        if let Some(index) = self.below.len().checked_sub(WINDOW + 1)
            && let Some(old) = self.below.get_mut(index)
            && let Handle::Held(dir) = &old.handle
            // Without an identity it could not be found again, so it is kept.
            && let Ok(identity) = Identity::of(dir)
        {
            old.handle = Handle::Gone(identity);
        }
    }

    /// Back to the directory above; the name of the one that was left.
    pub(crate) fn pop(&mut self) -> Option<OsString> {
        self.below.pop().map(|below| below.name)
    }

    /// The deepest directory, opened again if it was let go. `NotFound`: another one has its name, or one on the way to it.
    pub(crate) fn last(&mut self) -> io::Result<Arc<Dir>> {
        let is_held = |below: &Below| matches!(below.handle, Handle::Held(_));
        let first = self.below.iter().rposition(is_held).unwrap_or(0);
        let count = self.below.len();
        let mut at = Arc::clone(&self.top);
        for (index, below) in self.below.iter_mut().enumerate().skip(first) {
            at = match &below.handle {
                Handle::Held(dir) => Arc::clone(dir),
                Handle::Gone(identity) => {
                    let gone = || io::Error::from(io::ErrorKind::NotFound);
                    let Entered::Dir(dir) = step::enter(&at, &below.name, self.mounts)? else { return Err(gone()) };
                    if Identity::of(&dir)? != *identity {
                        return Err(gone());
                    }
                    let dir = Arc::new(dir);
                    if index + WINDOW >= count {
                        below.handle = Handle::Held(Arc::clone(&dir));
                    }
                    dir
                }
            };
        }
        Ok(at)
    }

    /// The deepest directory, for whoever goes no further.
    pub(crate) fn take_last(&mut self) -> io::Result<Dir> {
        let last = self.last()?;
        self.below.pop();
        Arc::try_unwrap(last).or_else(|shared| shared.try_clone())
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn held(way: &Way) -> Vec<usize> {
        let held = |(index, below): (usize, &Below)| matches!(below.handle, Handle::Held(_)).then_some(index);
        way.below.iter().enumerate().filter_map(held).collect()
    }

    /// Catches: more descriptors than promised, or fewer handles, so that each name on the way is opened again and again; and another directory in
    /// the place of one that was let go.
    #[test]
    fn the_deepest_are_held_and_the_others_are_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut way = Way::new(Arc::new(Dir::from_std_file(std::fs::File::open(folder.path()).unwrap())), Mounts::Any);
        let mut identities = vec![Identity::of(way.top()).unwrap()];
        for depth in 1..=40 {
            let above = way.last().unwrap();
            above.create_dir("d").unwrap();
            let Entered::Dir(dir) = step::enter(&above, OsStr::new("d"), Mounts::Any).unwrap() else { panic!("no directory") };
            identities.push(Identity::of(&dir).unwrap());
            way.push("d".into(), dir);
            assert_eq!((way.len(), way.names().count()), (depth, depth));
        }
        assert_eq!(held(&way), (24..40).collect::<Vec<_>>());
        while way.len() > 20 {
            assert_eq!(way.pop().as_deref(), Some(OsStr::new("d")));
        }
        assert_eq!(held(&way), [0; 0]);
        assert_eq!(Identity::of(&way.last().unwrap()).unwrap(), identities[20]);
        assert_eq!(held(&way), (4..20).collect::<Vec<_>>());
        while way.len() > 2 {
            way.pop();
        }
        let second = folder.path().join("d/d");
        std::fs::rename(&second, folder.path().join("away")).unwrap();
        std::fs::create_dir(&second).unwrap();
        assert_eq!(way.last().err().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
    }
}
