//! The fast way: one `openat2(2)`, confined by the kernel.
//!
//! May touch: one held directory. Source for what each flag promises: openat2(2).

use std::fs::File;
use std::os::fd::OwnedFd;

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::error::Error;
use crate::metadata::Metadata;
use crate::path::relative::RelPath;
use crate::resolve::mounts::Mounts;
use crate::resolve::slot::{self, Slot, Spot};
use crate::resolve::{Found, Want, step};
use crate::rule::Level;

/// `BENEATH`: neither `..` nor a link nor an absolute text leaves the directory, and no rename during the call makes it so.
const CONFINED: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// The kernel gives EAGAIN where it cannot rule out that `..` raced with a rename anywhere on the machine; trying again is its advice.
const RETRIES: usize = 32;

pub(super) enum Fast {
    Found(Found),
    /// A failure that means the same on every way.
    Refused(Error),
    /// Only the walk can tell.
    Undecided,
}

/// `level`: what the rules say of the last name, if the names walked are the ones in the text. `free`: without rules, links change nothing
/// about that; with rules none may be on the way. EXDEV is for both, a way out and another mount: the walk tells which.
pub(super) fn open(from: &Dir, path: &RelPath, want: Want, level: &Level, free: bool, mounts: Mounts) -> Fast {
    let confined = if free { CONFINED } else { CONFINED.union(ResolveFlags::NO_SYMLINKS) };
    let confined = if mounts == Mounts::Any { confined } else { confined.union(ResolveFlags::NO_XDEV) };
    if want.is_slot() {
        return slot(from, path, want, level, confined, mounts);
    }
    let flags = OFlags::CLOEXEC
        | match want {
            // With a slash behind it, it is a directory or nothing; no reason to open it for reading.
            Want::File | Want::LinkText if path.must_be_dir() => OFlags::PATH | OFlags::DIRECTORY,
            // Non-blocking, so that a pipe does not wait for its other end (NO-WAIT); without a controlling terminal (open(2)).
            Want::File => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
            Want::Dir => OFlags::PATH | OFlags::DIRECTORY,
            Want::Metadata | Want::OwnMetadata | Want::LinkText => {
                let kind = if path.must_be_dir() { OFlags::DIRECTORY } else { OFlags::empty() };
                let follow = if want.follows_last(path) { OFlags::empty() } else { OFlags::NOFOLLOW };
                OFlags::PATH | kind | follow
            }
            Want::Name | Want::Target => OFlags::PATH,
        };
    match open_confined(from, path, flags, confined) {
        Ok(fd) => {
            finish(File::from(fd), want, level).map_or_else(Fast::Refused, |found| found.map_or(Fast::Undecided, Fast::Found))
        }
        Err(error) if only_the_walk_can_tell(error) => Fast::Undecided,
        // The kernel looks the dot up in the directory. Without a name it is the held directory itself, which needs no search.
        Err(Errno::ACCESS) if path.is_empty() => Fast::Undecided,
        // What cannot be read is told by its type first, as it is where it can be.
        Err(Errno::ACCESS) if want == Want::File => match open_confined(from, path, OFlags::PATH | OFlags::CLOEXEC, confined) {
            Ok(fd) => unreadable(File::from(fd)).map_or_else(Fast::Refused, Fast::Found),
            Err(_) => Fast::Refused(refusal(Errno::ACCESS)),
        },
        Err(Errno::NOENT) if path.may_fold() => Fast::Undecided,
        Err(error) => Fast::Refused(refusal(error)),
    }
}

fn only_the_walk_can_tell(error: Errno) -> bool {
    matches!(error, Errno::XDEV | Errno::LOOP | Errno::AGAIN | Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::TOOBIG)
}

/// The directory in one call, then the last name in it. A last link that is to be followed is left to the walk.
fn slot(from: &Dir, path: &RelPath, want: Want, level: &Level, confined: ResolveFlags, mounts: Mounts) -> Fast {
    // Where the path names no entry, the walk says which directory it is.
    let Some((parent, name)) = path.split_last() else { return Fast::Undecided };
    let dir = match open_confined(from, &parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, confined) {
        Ok(fd) => Dir::from_std_file(File::from(fd)),
        Err(error) if only_the_walk_can_tell(error) => return Fast::Undecided,
        Err(Errno::NOENT) if parent.may_fold() => return Fast::Undecided,
        Err(error) => return Fast::Refused(refusal(error)),
    };
    match slot::look(&dir, name, path.is_typed(), false, mounts) {
        Ok(Spot::Entry { seen, .. }) if want == Want::Target && seen.link.is_some() => Fast::Undecided,
        Ok(Spot::Entry { name: found, .. }) if found != name => Fast::Undecided,
        Ok(Spot::Entry { .. } | Spot::Nothing) => Fast::Found(Found::Slot(Slot {
            dir,
            name: name.to_owned(),
            level: level.clone(),
            must_be_dir: path.must_be_dir(),
            exact: false,
            only_file: false,
            mounts,
        })),
        Err(error) => Fast::Refused(error),
    }
}

fn open_confined(from: &Dir, path: &RelPath, flags: OFlags, confined: ResolveFlags) -> Result<OwnedFd, Errno> {
    let mut tries = 0;
    loop {
        match openat2(from, path.as_os_str(), flags, Mode::empty(), confined) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if tries < RETRIES => tries += 1,
            outcome => return outcome,
        }
    }
}

/// `None`: only the walk can tell.
fn finish(file: File, want: Want, level: &Level) -> Result<Option<Found>, Error> {
    if want == Want::Dir {
        return Ok(Some(Found::Dir(Dir::from_std_file(file), level.clone())));
    }
    let io = |error: std::io::Error| Error::from_io(&error);
    if want == Want::File {
        let metadata = Metadata::of_opened(&file).map_err(io)?;
        return Ok(Some(Found::File(file, metadata)));
    }
    let metadata = Metadata::of(&file).map_err(io)?;
    Ok(match want {
        Want::LinkText if !metadata.is_symlink() => Some(Found::Metadata(metadata)),
        // Whether it is magic depends on its parent, which is not held here.
        Want::LinkText if step::on_kernel_file_system(&file).map_err(io)? => None,
        Want::LinkText => Some(Found::Link { text: step::text_of(&file).map_err(io)?, depth: None }),
        _ => Some(Found::Metadata(metadata)),
    })
}

fn unreadable(file: File) -> Result<Found, Error> {
    let metadata = Metadata::of(&file).map_err(|error| Error::from_io(&error))?;
    if metadata.is_file() { Err(refusal(Errno::ACCESS)) } else { Ok(Found::File(file, metadata)) }
}

fn refusal(error: Errno) -> Error {
    Error::from_open(&error.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::table::{self, Case, has_openat2, held};
    use Want::{File as Content, LinkText, Metadata as Far, Name, OwnMetadata as Near, Target};

    fn told(dir: &Dir, path: &str, want: Want, free: bool) -> String {
        match open(dir, &table::path(path), want, &Level::free(), free, Mounts::Any) {
            Fast::Undecided => "walk".to_owned(),
            Fast::Refused(error) => table::told(Err(error)),
            Fast::Found(found) => table::told(Ok(found)),
        }
    }

    /// Catches: a call that opens where it should only look, follows where it should not, waits, takes a file for a directory, or leaves to the
    /// walk what it knows itself: then the answers are right, and each takes as long as the slow way.
    #[test]
    fn what_one_call_says_and_what_it_leaves_to_the_walk() {
        if !has_openat2() {
            return;
        }
        let case = Case::new();
        let dir = held(&case.at("."));
        for (path, want, answer) in [
            (".", Want::Dir, "held"),
            ("d/f", Content, "open: a file"),
            ("d/f/", Content, "not-a-directory"),
            ("d", Content, "open: a directory"),
            ("d/", Content, "open: a directory"),
            ("l", Content, "open: a file"),
            ("s", Content, "special-file"),
            ("p", Content, "open: special"),
            ("missing", Content, "not-found"),
            ("missin\u{e9}", Content, "walk"),
            ("out/x", Content, "walk"),
            ("self", Content, "walk"),
            ("d", Want::Dir, "held"),
            ("dl", Want::Dir, "held"),
            ("d/f", Want::Dir, "not-a-directory"),
            ("s", Want::Dir, "not-a-directory"),
            ("l", Far, "a file"),
            ("dl", Far, "a directory"),
            ("s", Far, "special"),
            ("p", Far, "special"),
            ("d/f/", Far, "not-a-directory"),
            ("out", Far, "walk"),
            ("l", Near, "a link"),
            ("out", Near, "a link"),
            ("dl/", Near, "a directory"),
            ("d/f", LinkText, "a file"),
            ("l", LinkText, "-> d/f"),
            ("dl/", LinkText, "a directory"),
            ("d/new", Name, "slot new"),
            ("d/f", Name, "slot f"),
            ("d/f", Target, "slot f"),
            ("l", Name, "slot l"),
            ("l", Target, "walk"),
            ("d/new", Target, "slot new"),
            ("d/..", Name, "walk"),
            ("dl/f", Name, "slot f"),
            ("s/x", Name, "not-a-directory"),
            ("missing/x", Name, "not-found"),
            ("missin\u{e9}/x", Name, "walk"),
            ("out/x", Name, "walk"),
            ("caf\u{e9}", Name, "walk"),
            ("caf\u{e9}s", Name, "slot caf\u{e9}s"),
        ] {
            assert_eq!(told(&dir, path, want, true), answer, "{path} {want:?}");
        }
        // Where names are judged, no link is on the way.
        for (path, want, answer) in
            [("d/f", Content, "open: a file"), ("l", Content, "walk"), ("dl/f", Name, "walk"), ("l", Near, "a link")]
        {
            assert_eq!(told(&dir, path, want, false), answer, "{path} {want:?}");
        }
        // What may not be read is told by its type first.
        for name in ["d/f", "p"] {
            table::close(&case.at(name), 0);
        }
        let shut = table::unprivileged(|| ["d/f", "p", "d/f/"].map(|path| told(&dir, path, Content, true)));
        assert_eq!(shut, ["os-denied", "open: special", "not-a-directory"]);
        // Whether one of those is magic, only its parent tells.
        assert_eq!(told(&held("/proc".as_ref()), "self", LinkText, true), "walk");
    }
}
