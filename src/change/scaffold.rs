//! A directory that nobody else is let into until it is complete.
//!
//! May touch: one held directory. Used for trees that appear all at once, and to see what a disk makes of a name.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;

use cap_std::fs::Dir;

use crate::change::temp::{is_there, lock, reserved_name};
use crate::change::{create_dir, create_private_dir, remove_dir, rename, tree};
use crate::resolve::mounts::Mounts;
use crate::resolve::slot::holds_exactly;
use crate::resolve::step::{self, Entered};

/// How often one is made that somebody sweeps away before it is locked.
const TRIES: usize = 16;

/// A directory under a reserved name, with mode 0700. Dropped before it is placed, it is removed.
pub(crate) struct Scaffold<'a> {
    dir: &'a Dir,
    mounts: Mounts,
    name: Option<OsString>,
    /// Given back before it is removed, which needs descriptors.
    top: Option<Dir>,
    /// Its lock keeps others from sweeping it away.
    lock: Option<File>,
}

impl<'a> Scaffold<'a> {
    pub(crate) fn new(dir: &'a Dir, mounts: Mounts) -> io::Result<Self> {
        for _ in 0..TRIES {
            let name = reserved_name();
            create_private_dir(dir, &name)?;
            let locked = enter(dir, &name, mounts).and_then(|top| {
                let handle = step::open_dir(&top)?;
                // There a directory cannot be locked, and none is swept that cannot.
                let is_ours = cfg!(windows) || lock(&handle);
                Ok((is_ours && is_there(dir, &name)?, top, handle))
            });
            match locked {
                Ok((true, top, handle)) => return Ok(Self { dir, mounts, name: Some(name), top: Some(top), lock: Some(handle) }),
                // Swept between the two, or about to be: another one.
                Ok(_) => {
                    let _ = remove_dir(dir, &name);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let _ = remove_dir(dir, &name);
                    return Err(error);
                }
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    pub(crate) fn top(&self) -> io::Result<&Dir> {
        self.top.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Gives it its name, if nothing has it.
    pub(crate) fn place(mut self, to: &OsStr) -> io::Result<()> {
        // A directory that is held is not renamed there.
        #[cfg(windows)]
        drop((self.top.take(), self.lock.take()));
        if let Some(name) = &self.name {
            rename(self.dir, name, self.dir, to, false)?;
        }
        self.name = None;
        Ok(())
    }
}

impl Drop for Scaffold<'_> {
    fn drop(&mut self) {
        drop((self.top.take(), self.lock.take()));
        if let Some(name) = &self.name {
            let _ = tree::remove_unjudged(self.dir, name, self.mounts);
        }
    }
}

/// Whether a disk gives a file in `dir` exactly this name: one that folds or trims names does so in every directory of its own, so it is
/// asked in one where nothing can be met.
pub(crate) fn keeps_name(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<bool> {
    let scaffold = Scaffold::new(dir, mounts)?;
    step::create_file(scaffold.top()?, name)?;
    holds_exactly(scaffold.top()?, name)
}

/// A new directory, entered.
pub(crate) fn make_dir(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Dir> {
    create_dir(dir, name)?;
    enter(dir, name, mounts)
}

fn enter(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Dir> {
    match step::enter(dir, name, mounts)? {
        Entered::Dir(dir) => Ok(dir),
        // Something else has its name already.
        Entered::Link(_) | Entered::Other => Err(io::ErrorKind::NotFound.into()),
    }
}
