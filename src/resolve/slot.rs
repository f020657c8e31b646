//! A name in a held directory: what everything acts on that creates, replaces, renames or removes.
//!
//! May touch: one held directory and its listing. The name is a single component, so whatever is done with it is done in that directory.

use std::ffi::{OsStr, OsString};
use std::io;

use cap_std::fs::{Dir, Metadata};

use crate::access::Access;
use crate::error::{Detail, Error, ErrorKind};
use crate::identity::Identity;
use crate::path::relative::may_fold;
use crate::queue::Key;
use crate::resolve::fold::{self, Fold};
use crate::resolve::mounts::Mounts;
use crate::resolve::names;
use crate::resolve::step::{self, Seen};
use crate::rule::Level;

/// The place of an entry: the directory, the name, and what the rules say of it.
pub(crate) struct Slot {
    pub(crate) dir: Dir,
    pub(crate) name: OsString,
    pub(crate) level: Level,
    /// A slash stood behind the name.
    pub(crate) must_be_dir: bool,
    /// Below a root with rules, a disk may take the name for another one.
    pub(crate) exact: bool,
    /// The set sees nothing but this name, and that as a file.
    pub(crate) only_file: bool,
    /// Where what has the name has to lie to be acted on, as the directory does.
    pub(crate) mounts: Mounts,
}

/// What is at a name, once every form is settled in which the name may be meant.
#[expect(clippy::large_enum_variant, reason = "lives for one match; a box would cost each look an allocation")]
pub(crate) enum Spot {
    Nothing,
    /// By this name, which may be another Unicode form of the one that was asked for.
    Entry {
        name: OsString,
        seen: Seen,
    },
}

/// Looks at `name`. `typed`: another Unicode form counts, where exactly one is there. `exact`: it counts only as the listing has it.
pub(crate) fn look(dir: &Dir, name: &OsStr, typed: bool, exact: bool, mounts: Mounts) -> Result<Spot, Error> {
    let io = |error: io::Error| Error::from_io(&error);
    if let Some(seen) = if_there(dir, name, mounts)? {
        if exact && !holds_exactly(dir, name).map_err(io)? {
            // The disk takes the name for another one, which was not judged.
            return Err(ErrorKind::Protected.into());
        }
        return Ok(Spot::Entry { name: name.to_owned(), seen });
    }
    if !typed || !may_fold(name) {
        return Ok(Spot::Nothing);
    }
    match fold::find(dir, name).map_err(io)? {
        Fold::One(found) if found != name => {
            Ok(if_there(dir, &found, mounts)?.map_or(Spot::Nothing, |seen| Spot::Entry { name: found, seen }))
        }
        Fold::One(_) | Fold::Nothing => Ok(Spot::Nothing),
        Fold::Several => Err(Error::detailed(ErrorKind::Ambiguous, Detail::SeveralForms)),
    }
}

fn if_there(dir: &Dir, name: &OsStr, mounts: Mounts) -> Result<Option<Seen>, Error> {
    match step::see(dir, name, mounts) {
        Ok(seen) => Ok(Some(seen)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::from_io(&error)),
    }
}

/// Whether the directory's listing holds exactly these bytes: what disks that fold or trim names do not hide.
pub(crate) fn holds_exactly(dir: &Dir, name: &OsStr) -> io::Result<bool> {
    for held in names::list(dir)? {
        if held? == name {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Slot {
    /// What is there now, if the rules let it be changed as what it is. Asked when it is this change's turn: what was there before that may be
    /// another thing by now.
    pub(crate) fn see(&self) -> Result<Option<Seen>, Error> {
        match step::see(&self.dir, &self.name, self.mounts) {
            Ok(seen) if !self.admits(&seen.metadata) => Err(ErrorKind::OutsideRoots.into()),
            Ok(seen) if self.level.ceiling(is_dir_or_link(&seen.metadata)) < Access::Write => Err(ErrorKind::Protected.into()),
            Ok(seen) => Ok(Some(seen)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::from_io(&error)),
        }
    }

    /// Whether a thing of this kind can have the name at all.
    pub(crate) fn admits(&self, metadata: &Metadata) -> bool {
        !self.only_file || !is_dir_or_link(metadata)
    }

    /// Whose turn it is to change it.
    pub(crate) fn key(&self) -> Result<Key, Error> {
        let parent = Identity::of(&self.dir).map_err(|error| Error::from_io(&error))?;
        Ok(Key::new(parent, &self.name))
    }
}

/// Whether a thing is a directory, or a link, which may lead to one.
pub(crate) fn is_dir_or_link(metadata: &Metadata) -> bool {
    metadata.is_dir() || metadata.is_symlink()
}
