//! Kernel agreement: what the crate opens name by name is the very object that the kernel's own confined open finds, and where that finds
//! nothing, the crate finds nothing either.
//!
//! Left out is what the crate documents as its own: absolute links that stay inside (the kernel refuses them), names that only their Unicode
//! form tells apart, reserved names, and a typed `.`, which is no look-up. By the fast way a call would be compared with itself.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use cap_roots::{Error, Roots};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

/// Which object it is, on this machine.
pub type Id = (u64, u64);

/// What the kernel finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Dir(Id),
    File(Id),
    Other,
}

/// A root, held by nobody but this.
#[derive(Debug)]
pub struct Kernel {
    root: OwnedFd,
}

impl Kernel {
    pub fn of(root: &Path) -> io::Result<Self> {
        Ok(Self { root: openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())? })
    }

    /// What `openat2(2)` finds for a relative path, confined to the root.
    pub fn find(&self, path: &str) -> Result<Found, Errno> {
        let confined = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let path = if path.is_empty() { "." } else { path };
        let found = loop {
            // EAGAIN: a rename anywhere on the machine got in between (openat2(2)).
            match openat2(&self.root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), confined) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                outcome => break outcome?,
            }
        };
        let (kind, id) = id(found)?;
        Ok(match kind {
            FileType::Directory => Found::Dir(id),
            FileType::RegularFile => Found::File(id),
            _ => Found::Other,
        })
    }
}

fn id(object: impl AsFd) -> Result<(FileType, Id), Errno> {
    let stat = fstat(object)?;
    Ok((FileType::from_raw_mode(stat.st_mode), (stat.st_dev, stat.st_ino)))
}

/// Whether a tree has a link that the kernel refuses and the crate may follow.
pub fn has_absolute_links<S: AsRef<str>>(lines: &[S]) -> bool {
    lines.iter().any(|line| line.as_ref().split_once(" -> ").is_some_and(|(_, text)| text.starts_with(['/', '$'])))
}

/// The relative path that a text means by itself, if it is one; escapes and other spellings are left to others.
pub fn relative(text: &str) -> Option<&str> {
    match text.strip_prefix("root://root/") {
        Some(path) => (!path.contains(['%', '?', '#'])).then_some(path),
        None if text.is_empty() || text.starts_with(['/', '~', '$']) => None,
        None => (!text.split('/').next().is_some_and(|first| first.contains(':'))).then_some(text),
    }
}

/// Panics unless the crate opens by `text` what was found for `path`. `roots` is one root that may be written, without rules: of another one
/// no plain handle is given out, and so nothing to compare. `absolute`: some links are absolute.
pub fn check(roots: &Roots, found: Result<Found, Errno>, text: &str, path: &str, absolute: bool) {
    let plain = |error: io::Error| panic!("{error}");
    let dir = roots.open_dir(text).and_then(|dir| Ok(dir.into_cap_std_without_revocation()?.into_std_file()));
    let file = roots.open(text).and_then(|file| file.into_std_without_revocation());
    let of = |opened: Result<std::fs::File, Error>| match opened {
        Ok(file) => Ok(id(&file).unwrap_or_else(|error| plain(error.into())).1),
        Err(error) => Err(error.code()),
    };
    let (dir, file) = (of(dir), of(file));
    let neither = dir.is_err() && file.is_err();
    let agrees = match found {
        // Names that the crate keeps for itself are refused, there or not.
        _ if path.contains(".cap-roots-") => neither,
        // The text says nothing that the kernel would be asked.
        _ if matches!(dir, Err("invalid-path" | "invalid-uri")) => true,
        Ok(Found::Dir(id)) => dir == Ok(id) && file.is_err(),
        Ok(Found::File(id)) => dir == Err("not-a-directory") && (file == Ok(id) || file == Err("os-denied")),
        Ok(Found::Other) => neither,
        Err(Errno::XDEV) => absolute || (dir == Err("outside-roots") && file == Err("outside-roots")),
        Err(Errno::NOENT) => (!path.is_ascii() || path.contains(' ')) || (dir == Err("not-found") && file == Err("not-found")),
        Err(Errno::ACCESS) => path.split('/').any(|name| name == ".") || neither,
        Err(_) => neither,
    };
    assert!(
        agrees,
        "the kernel finds {found:?} by {path:?}, and ours are the directory {dir:?} and the file {file:?} by {text:?}"
    );
}
