//! Copying files and trees.
//!
//! May touch: `permit`, `resolve`, `change`. Content is read with the source's authority and written with the target's. A tree is judged
//! whole, made under a reserved name, and gets its own name in one step.

use std::ffi::OsStr;
use std::fs::File;
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};

use crate::access::{Access, Operation};
use crate::authority::Authority;
use crate::change::tree::{Descended, Descent, Step};
use crate::change::{self, Scaffold, names_of};
use crate::error::{Detail, Error, ErrorKind, Result, is_on_another_mount};
use crate::identity::Identity;
use crate::metadata::{FileType, Metadata as Facts};
use crate::ops::remove::type_of;
use crate::ops::rename::{Way, permits, unlike};
use crate::ops::{TREE_LIMIT, check_creatable, contradiction, io, slot, write};
use crate::permit::Receipt;
use crate::resolve::mounts::Mounts;
use crate::resolve::step::{self, Opened};
use crate::resolve::way::Way as Handles;
use crate::resolve::{Found, Slot, Want, again, check_names, is_kernel_file};
use crate::root::Place;
use crate::rule::{Level, is_reserved};

/// Most bytes between two looks at whether the authority still holds.
const CHUNK: u64 = 8 << 20;

/// What a copy made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Files that were made.
    pub files: u64,
    /// Directories that were made.
    pub dirs: u64,
    /// Bytes of content.
    pub bytes: u64,
    /// Links, pipes, sockets and devices in a tree, which are not copied; and what lies on another mount, where the root ends with its own
    /// ([`Builder::one_file_system`](crate::Builder::one_file_system)).
    pub skipped: u64,
}

pub(crate) fn copy(from: Way, to: Way, replace: bool) -> Result<Copied> {
    let operation = if replace { Operation::CopyReplace } else { Operation::Copy };
    let slash = to.path.must_be_dir() && !to.path.is_empty();
    // A link of the name that it ends with may lead to a directory that no name is left of, such as the root.
    let no_entry = match to.path.split_last() {
        None => ErrorKind::InvalidPath,
        Some(_) if slash => ErrorKind::NotADirectory,
        Some(_) => ErrorKind::IsADirectory,
    };
    let (source, target) = permits(from, to, operation)?;
    let mut source = source.spend();
    let found = match again(&source, Want::File) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => again(&source, Want::Dir),
        found => found,
    };
    let is_dir = matches!(found, Ok(Found::Dir(..)));
    let want = if replace && !is_dir { Want::Target } else { Want::Name };
    if let Err(error) = &found {
        target.give_up(error);
        return source.close(Err(error.clone()));
    }
    let (to, mut target) = match slot(target, want, no_entry) {
        Ok(found) => found,
        Err(error) => return source.close(Err(error.at_target())),
    };
    let outcome = match found {
        Ok(Found::File(file, metadata)) => check_file_target(metadata.identity, &to, replace, slash)
            .and_then(|()| copy_file(&file, metadata.len(), &source, &to, &mut target, replace)),
        Ok(Found::Dir(dir, level)) => copy_tree(dir, level, &source, &to, &mut target),
        Ok(_) => Err(contradiction()),
        Err(error) => Err(error),
    };
    if let Ok(copied) = &outcome {
        source.count(copied.bytes);
        target.count(copied.bytes);
    }
    let outcome = target.close(outcome);
    source.close_committed(outcome)
}

/// Before anything is opened for writing: nothing is in the way, and the target is not the source by this or another name.
fn check_file_target(source: Identity, to: &Slot, replace: bool, slash: bool) -> Result<()> {
    match to.see()? {
        Some(_) if !replace => Err(Error::from(ErrorKind::AlreadyExists).at_target()),
        // A slash that was typed; one in a link's text is its target's.
        _ if slash => Err(Error::from(ErrorKind::NotADirectory).at_target()),
        Some(old) if !to.must_be_dir && Identity::from(&old.metadata) == source => {
            Err(Error::invalid_argument("the source and the target are the same file").advise("name another target"))
        }
        _ => write::called_file(to, Want::Target).map_err(Error::at_target),
    }
}

fn copy_file(file: &File, len: u64, source: &Receipt, to: &Slot, target: &mut Receipt, replace: bool) -> Result<Copied> {
    let authority = source.authority().clone();
    let like = Metadata::from_file(file).map_err(io)?;
    let mut bytes = 0;
    write::replace(to, target, replace, Some(&like), |_, out| {
        bytes = copy_bytes(file, len, out, &authority)?;
        Ok(())
    })
    .map_err(Error::at_target)?;
    Ok(Copied { files: 1, bytes, ..Copied::default() })
}

/// As much as the file had when it was opened, or less if it ends before: a file that grows as fast as it is copied would never end. Some files
/// that the kernel makes up say that they are empty: of those it is one piece at most.
fn copy_bytes(from: &File, len: u64, to: &mut File, authority: &Authority) -> Result<u64> {
    let len = if len == 0 { CHUNK } else { len };
    let mut done = 0;
    while done < len {
        authority.check()?;
        match change::copy_bytes(from, to, CHUNK.min(len - done)).map_err(io)? {
            0 => break,
            copied => done += copied,
        }
    }
    Ok(done)
}

fn copy_tree(from: Dir, level: Level, source: &Receipt, to: &Slot, target: &mut Receipt) -> Result<Copied> {
    let (here, there) = (&source.authority().root, Arc::clone(&target.authority().root));
    if to.only_file {
        return Err(Error::from(ErrorKind::OutsideRoots).at_target());
    }
    if to.level.as_dir < Access::Write {
        return Err(Error::from(ErrorKind::Protected).at_target());
    }
    if !here.rules.stand_alike(&level, &there.rules, &to.level) {
        return Err(unlike(Arc::ptr_eq(here, &there)));
    }
    if to.see()?.is_some() {
        return Err(Error::from(ErrorKind::AlreadyExists).at_target());
    }
    let tree = Tree { from, level, place: source.place(), authority: source.authority() };
    tree.judge(Identity::of(&to.dir).map_err(io)?)?;
    check_creatable(to)?;
    let _turn = there.shared.queue.turn([to.key()?])?;
    write::prepare(to, &there.shared.queue)?;
    let made = Scaffold::new(&to.dir, to.mounts).map_err(|error| io(error).at_target())?;
    let copied = tree.copy_into(&made, target.authority(), to.mounts).map_err(|error| match error.kind() {
        ErrorKind::NoSpace => error.at_target(),
        _ => error,
    })?;
    source.authority().check()?;
    target.commit()?;
    made.place(&to.name).map_err(io)?;
    change::sync_dir(&to.dir).map_err(io)?;
    Ok(copied)
}

/// A tree that is to be copied.
struct Tree<'a> {
    from: Dir,
    level: Level,
    place: &'a Place,
    authority: &'a Authority,
}

impl Tree<'_> {
    fn descend(&self) -> Result<Descent<Level>> {
        Descent::new(self.from.try_clone().map_err(io)?, self.level.clone(), TREE_LIMIT, self.place.mounts()?).map_err(io)
    }

    /// Every name may be read here and made there, whose rules are the same; and the target is not inside.
    fn judge(&self, target: Identity) -> Result<()> {
        let mut descent = self.descend()?;
        let mut refusal = None;
        while let Some(step) = descent.next() {
            self.authority.check()?;
            let Step::Name { dir, name, file_type } = step.map_err(io)? else { continue };
            let file_type = type_of(&dir, &name, file_type, Mounts::Any)?;
            match self.judge_name(&descent, &name, matches!(file_type, FileType::Dir | FileType::Symlink)) {
                Ok(level) if file_type == FileType::Dir && !is_reserved(&name) => {
                    if descent.descend(&name, level).map_err(io)? == Descended::TooDeep {
                        return Err(ErrorKind::Limit.into());
                    }
                }
                Ok(_) => {}
                Err(error) => refusal = Some(error),
            }
        }
        if descent.has_seen(target) {
            return Err(Error::invalid_argument("the target is inside the source").advise("name a target outside of it"));
        }
        match refusal {
            Some(refusal) => Err(refusal),
            None if descent.is_over() => Err(ErrorKind::Limit.into()),
            None => Ok(()),
        }
    }

    fn judge_name(&self, descent: &Descent<Level>, name: &OsStr, dir_or_link: bool) -> Result<Level> {
        let above = descent.known().map_or_else(Level::free, Level::clone);
        let level = self.authority.root.rules.enter(&above.stand, name);
        if level.ceiling(dir_or_link) < Access::Write {
            return Err(Error::detailed(ErrorKind::Protected, Detail::Inside));
        }
        Ok(level)
    }

    fn copy_into(&self, made: &Scaffold<'_>, target: &Authority, there: Mounts) -> Result<Copied> {
        let mut copied = Copied { dirs: 1, ..Copied::default() };
        let mut out = Handles::new(Arc::new(made.top().map_err(io)?.try_clone().map_err(io)?), there);
        let mut descent = self.descend()?;
        while let Some(step) = descent.next() {
            self.authority.check()?;
            target.check()?;
            match step.map_err(io)? {
                Step::Leave { metadata, .. } => {
                    set_dir_mode(&*out.last().map_err(io)?, &metadata)?;
                    out.pop();
                }
                Step::Name { name, .. } if is_reserved(&name) => {}
                Step::Name { dir, name, file_type } => {
                    let file_type = type_of(&dir, &name, file_type, Mounts::Any)?;
                    let level = self.judge_name(&descent, &name, matches!(file_type, FileType::Dir | FileType::Symlink))?;
                    let into = out.last().map_err(io)?;
                    if file_type == FileType::Dir {
                        match descent.descend(&name, level).map_err(io)? {
                            Descended::Into => {
                                out.push(name.clone(), change::make_dir(&into, &name, there).map_err(io)?);
                                copied.dirs += 1;
                            }
                            Descended::Elsewhere => copied.skipped += 1,
                            Descended::Not | Descended::TooDeep => {}
                        }
                    } else if file_type == FileType::File {
                        match step::open(&dir, &name, self.place.mounts()?) {
                            Ok(Opened::File(file, metadata)) if self.is_copied(&file, &metadata)? => {
                                copied.bytes += self.copy_one(&file, &metadata, &into, &name)?;
                                copied.files += 1;
                            }
                            Ok(Opened::File(..) | Opened::Link(_) | Opened::Other(_)) => copied.skipped += 1,
                            Err(error) if is_on_another_mount(&error) => copied.skipped += 1,
                            Err(error) => match Error::from_open(&error) {
                                error if error.kind() == ErrorKind::SpecialFile => copied.skipped += 1,
                                error => return Err(error),
                            },
                        }
                    } else {
                        copied.skipped += 1;
                    }
                }
            }
        }
        set_dir_mode(made.top().map_err(io)?, &Facts::from_cap_std(&self.from.dir_metadata().map_err(io)?))?;
        Ok(copied)
    }

    /// Whether it is a file, and not one that the kernel makes up.
    fn is_copied(&self, file: &File, metadata: &Metadata) -> Result<bool> {
        check_names(self.place, names_of(metadata))?;
        Ok(metadata.is_file() && !is_kernel_file(self.place, file, metadata.into())?)
    }

    fn copy_one(&self, file: &File, metadata: &Metadata, into: &Dir, name: &OsStr) -> Result<u64> {
        let mut out = step::create_file(into, name).map_err(io)?;
        let bytes = copy_bytes(file, metadata.len(), &mut out, self.authority)?;
        set_mode(&out, &Facts::from_cap_std(metadata))?;
        Ok(bytes)
    }
}

/// The permission bits of a directory for its copy, which is complete now.
fn set_dir_mode(copy: &Dir, like: &Facts) -> Result<()> {
    set_mode(&step::open_dir(copy).map_err(io)?, like)
}

/// Set-id bits are not copied.
#[cfg(unix)]
fn set_mode(file: &File, like: &Facts) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(like.mode() & 0o777)).map_err(io)
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: &Facts) -> Result<()> {
    Ok(())
}
