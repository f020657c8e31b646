//! Kernel agreement: what the crate opens name by name is the very object that the kernel's own confined open finds, and where that finds
//! nothing, the crate says why in the word that stands for the kernel's.
//!
//! Where the crate is documented to go on, the kernel is asked for what it goes on with, and has to agree there: a name in another Unicode
//! form for the one that the listing has, a typed `.` for no look-up, an absolute link that stays inside for an open that is not confined, if
//! what that finds lies in the root. By the fast way a call would be compared with itself.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use cap_roots::internals::Style;
use cap_roots::{Error, Roots};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat};
use rustix::io::Errno;

use crate::model::place::form;
use crate::{location, uri};

/// Which object it is, on this machine.
pub type Id = (u64, u64);

/// What the kernel finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Dir(Id),
    File(Id),
    /// A file whose content is not for this process.
    Closed,
    Other,
    /// A name that fits several others by its Unicode form alone.
    Several,
}

/// What the kernel says of a path.
#[derive(Clone, Debug)]
pub struct Said {
    path: String,
    found: Result<Found, Errno>,
    /// Where an absolute link may stand on the way: what there is by an open that is not confined.
    absolute: Option<Result<Found, Errno>>,
}

/// A root, held by nobody but this.
#[derive(Debug)]
pub struct Kernel {
    root: OwnedFd,
    place: PathBuf,
    /// Whether the tree has a link that the kernel refuses and the crate may follow.
    absolute: bool,
}

impl Kernel {
    /// `absolute`: some links of the tree are.
    pub fn of(root: &Path, absolute: bool) -> io::Result<Self> {
        let place = std::fs::canonicalize(root)?;
        Ok(Self { root: openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?, place, absolute })
    }

    /// What `openat2(2)` finds for a relative path, confined to the root.
    pub fn find(&self, path: &str) -> Said {
        let found = self.as_typed(path, ResolveFlags::BENEATH);
        let absolute = (self.absolute && found == Err(Errno::XDEV)).then(|| self.as_typed(path, ResolveFlags::empty()));
        Said { path: path.to_owned(), found, absolute }
    }

    /// By the names as a caller may have typed them.
    fn as_typed(&self, path: &str, how: ResolveFlags) -> Result<Found, Errno> {
        match self.look(path, how) {
            Err(Errno::ACCESS) if path.split('/').any(|name| name == ".") => self.as_typed(&without_dots(path), how),
            Err(Errno::NOENT) if !path.is_ascii() || path.contains(' ') => self.respelled(path, how),
            outcome => outcome,
        }
    }

    /// By the names that the listings have, where exactly one fits by its form.
    fn respelled(&self, path: &str, how: ResolveFlags) -> Result<Found, Errno> {
        let mut at = String::new();
        for name in path.split('/') {
            let missing = !matches!(name, "" | "." | "..") && self.look(&format!("{at}{name}"), how) == Err(Errno::NOENT);
            let there = if missing { self.names(&at, how)? } else { Vec::new() };
            let fits: Vec<_> = there.iter().filter(|there| form(there) == form(name)).collect();
            match fits[..] {
                [] if missing => return Err(Errno::NOENT),
                [] => at += name,
                // A link that dangles.
                _ if there.iter().any(|there| there == name) => return Err(Errno::NOENT),
                [fit] => at += fit,
                _ => return Ok(Found::Several),
            }
            at.push('/');
        }
        at.pop();
        self.as_typed(&at, how)
    }

    /// The names in a directory; none where they are not for this process.
    fn names(&self, dir: &str, how: ResolveFlags) -> Result<Vec<String>, Errno> {
        let listed = match self.open(dir, OFlags::RDONLY | OFlags::DIRECTORY, how) {
            Err(Errno::ACCESS) => return Ok(Vec::new()),
            dir => Dir::new(dir?)?,
        };
        listed.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn look(&self, path: &str, how: ResolveFlags) -> Result<Found, Errno> {
        let object = self.open(path, OFlags::PATH, how)?;
        // Past an absolute link, only what lies in the root counts.
        if how.is_empty() {
            let place = readlinkat(CWD, format!("/proc/self/fd/{}", object.as_raw_fd()), Vec::new())?;
            if !Path::new(&*place.to_string_lossy()).starts_with(&self.place) {
                return Err(Errno::XDEV);
            }
        }
        let (kind, id) = id(object)?;
        Ok(match kind {
            FileType::Directory => Found::Dir(id),
            FileType::RegularFile => match self.open(path, OFlags::RDONLY | OFlags::NONBLOCK, how) {
                Err(Errno::ACCESS) => Found::Closed,
                file => Found::File(self::id(file?)?.1),
            },
            _ => Found::Other,
        })
    }

    fn open(&self, path: &str, flags: OFlags, how: ResolveFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { "." } else { path };
        loop {
            // EAGAIN: a rename anywhere on the machine got in between (openat2(2)).
            match openat2(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty(), how | ResolveFlags::NO_MAGICLINKS) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                outcome => return outcome,
            }
        }
    }
}

fn id(object: impl AsFd) -> Result<(FileType, Id), Errno> {
    let stat = fstat(object)?;
    Ok((FileType::from_raw_mode(stat.st_mode), (stat.st_dev, stat.st_ino)))
}

/// The path without typed dots; one at its end asks for a directory, as a slash does.
fn without_dots(path: &str) -> String {
    let slash = if path.ends_with("/.") { "/" } else { "" };
    let names = path.split('/').filter(|name| *name != ".").collect::<Vec<_>>().join("/") + slash;
    names.trim_start_matches('/').to_owned()
}

/// Whether a tree has a link that the kernel refuses and the crate may follow.
pub fn has_absolute_links<S: AsRef<str>>(lines: &[S]) -> bool {
    lines.iter().any(|line| line.as_ref().split_once(" -> ").is_some_and(|(_, text)| text.starts_with(['/', '$'])))
}

/// The relative path that a text means by itself, if it is one; escapes and other spellings are left to others.
pub fn relative(text: &str) -> Option<&str> {
    match text.strip_prefix("root://root/") {
        Some(path) => (!path.contains(['%', '?', '#'])).then_some(path),
        None if text.is_empty() || text.starts_with(['/', '$']) || text == "~" || text.starts_with("~/") => None,
        None => (!text.contains("://")).then_some(text),
    }
}

/// Whether a text says nothing, so that there is nothing to ask the kernel for: by the reading of it that is not the crate's.
fn says_nothing(text: &str) -> bool {
    let read = if text.starts_with("root://") { uri::read } else { location::read };
    read(text, Style::Unix).is_none()
}

/// Whether a path comes by a name that the crate keeps for itself before it leaves the root by its own text.
fn is_reserved(path: &str) -> bool {
    let mut deep = 0_usize;
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        if name.starts_with(".cap-roots-") && name.ends_with(".tmp") {
            return true;
        }
        let Some(now) = (if name == ".." { deep.checked_sub(1) } else { Some(deep + 1) }) else { return false };
        deep = now;
    }
    false
}

/// Panics unless the crate opens by `text` what the kernel said of the same path. `roots` is one root that may be written, without rules: of another
/// one no plain handle is given out, and so nothing to compare.
pub fn check(roots: &Roots, said: &Said, text: &str) {
    let plain = |error: io::Error| panic!("{error}");
    let dir = roots.open_dir(text).and_then(|dir| dir.into_std_without_revocation());
    let file = roots.open(text).and_then(|file| file.into_std_without_revocation());
    let of = |opened: Result<std::fs::File, Error>| match opened {
        Ok(file) => Ok(id(&file).unwrap_or_else(|error| plain(error.into())).1),
        Err(error) => Err(error.code()),
    };
    let ours = (of(dir), of(file));
    let Said { path, found, absolute } = said;
    let agrees = match ours {
        (Err("invalid-path" | "invalid-uri"), Err("invalid-path" | "invalid-uri")) => says_nothing(text),
        // Such names are refused, there or not.
        _ if is_reserved(path) => ours == (Err("protected"), Err("protected")),
        _ => is_said(*found, ours) || absolute.is_some_and(|found| is_said(found, ours)),
    };
    assert!(agrees, "the kernel says {said:?}, and ours are the directory and the file {ours:?} by {text:?}");
}

/// Whether the crate's directory and file are what was found.
fn is_said(found: Result<Found, Errno>, ours: (Result<Id, &str>, Result<Id, &str>)) -> bool {
    let both = |code| ours == (Err(code), Err(code));
    match found {
        Ok(Found::Dir(id)) => ours == (Ok(id), Err("is-a-directory")),
        Ok(Found::File(id)) => ours == (Err("not-a-directory"), Ok(id)),
        Ok(Found::Closed) => ours == (Err("not-a-directory"), Err("os-denied")),
        Ok(Found::Other) => ours == (Err("not-a-directory"), Err("special-file")),
        Ok(Found::Several) => both("ambiguous"),
        Err(Errno::XDEV) => both("outside-roots"),
        Err(Errno::NOENT) => both("not-found"),
        Err(Errno::NOTDIR) => both("not-a-directory"),
        Err(Errno::LOOP) => both("symlink-loop"),
        Err(Errno::ACCESS) => both("os-denied"),
        Err(_) => false,
    }
}
