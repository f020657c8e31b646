//! Trees written as lines: `dir a`, `file a/b=text`, `link x -> target`, `hard a = b`, `fifo p`, `sock s`, `mode 000 a`.
//!
//! Paths are relative to the root; `../x` is beside it. In a link's target `$ROOT` and `$BASE` stand for the absolute paths of the
//! root and of its parent. Missing parents are made.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, mkdirat, mkfifoat, openat, symlinkat};
use rustix::io::Errno;

/// A root directory called `ROOT` in a temporary directory that is removed with it.
pub struct Tree {
    base: tempfile::TempDir,
    /// The same, held: an object is made by one short path.
    held: OwnedFd,
    root_text: String,
    base_text: String,
}

impl Tree {
    /// Builds the tree that `lines` describe.
    pub fn build<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> io::Result<Self> {
        let base = tempfile::Builder::new().prefix("cap-roots-").tempdir()?;
        let held = openat(CWD, base.path(), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let (base_text, root) = (base.path().to_string_lossy().into_owned(), base.path().join("ROOT"));
        let tree = Self { base, held, root_text: root.to_string_lossy().into_owned(), base_text };
        tree.lay(lines)?;
        Ok(tree)
    }

    /// Makes the root, which is not there, and what is described below it or beside it.
    pub(crate) fn lay<S: AsRef<str>>(&self, lines: impl IntoIterator<Item = S>) -> io::Result<()> {
        mkdirat(&self.held, "ROOT", Mode::from_raw_mode(0o777))?;
        let mut modes = Vec::new();
        for line in lines {
            let line = line.as_ref();
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            if kind == "mode" {
                modes.push(rest.to_owned());
            } else {
                self.make(kind, rest)?;
            }
        }
        // Last, or they would stop the making.
        for rest in modes {
            let (mode, path) = rest.split_once(' ').ok_or_else(|| malformed(&rest))?;
            let mode = u32::from_str_radix(mode, 8).map_err(|_| malformed(&rest))?;
            let path = self.root().join(path);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    /// Makes what one more line describes, where something may have changed meanwhile.
    pub fn plant(&self, line: &str) -> io::Result<()> {
        let (kind, rest) = line.split_once(' ').ok_or_else(|| malformed(line))?;
        self.make(kind, rest)
    }

    fn make(&self, kind: &str, rest: &str) -> io::Result<()> {
        let split = |separator| rest.split_once(separator).ok_or_else(|| malformed(rest));
        let path = match kind {
            "file" => split("=")?.0,
            "link" => split(" -> ")?.0,
            "hard" => split(" = ")?.0,
            _ => rest,
        };
        let path = from_base(path);
        match self.make_at(kind, rest, &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parent = self.base().join(&*path);
                fs::create_dir_all(parent.parent().unwrap_or(&parent))?;
                self.make_at(kind, rest, &path)
            }
            outcome => outcome,
        }
    }

    fn make_at(&self, kind: &str, rest: &str, path: &str) -> io::Result<()> {
        let value = |separator| rest.split_once(separator).map_or("", |(_, value)| value);
        match kind {
            "dir" => match mkdirat(&self.held, path, Mode::from_raw_mode(0o777)) {
                Err(Errno::EXIST) if self.base().join(path).is_dir() => Ok(()),
                outcome => Ok(outcome?),
            },
            "file" => {
                let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::CLOEXEC;
                let file = openat(&self.held, path, flags, Mode::from_raw_mode(0o666))?;
                fs::File::from(file).write_all(value("=").as_bytes())
            }
            "link" => Ok(symlinkat(&*self.expanded(value(" -> ")), &self.held, path)?),
            "hard" => Ok(linkat(&self.held, &*from_base(value(" = ")), &self.held, path, AtFlags::empty())?),
            "fifo" => Ok(mkfifoat(&self.held, path, Mode::from_raw_mode(0o600))?),
            "sock" => UnixListener::bind(self.base().join(path)).map(drop),
            _ => Err(malformed(kind)),
        }
    }

    /// `text` with `$ROOT` and `$BASE` filled in.
    pub fn expand(&self, text: &str) -> String {
        self.expanded(text).into_owned()
    }

    fn expanded<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.contains('$') {
            Cow::Owned(text.replace("$ROOT", &self.root_text).replace("$BASE", &self.base_text))
        } else {
            Cow::Borrowed(text)
        }
    }

    /// The root's path.
    pub fn root(&self) -> PathBuf {
        PathBuf::from(&self.root_text)
    }

    /// The path of the directory that the root lies in.
    pub fn base(&self) -> &Path {
        self.base.path()
    }

    pub(crate) fn base_text(&self) -> &str {
        &self.base_text
    }

    /// The directory that the root lies in.
    pub(crate) fn held(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}

/// A path as lines have it, from the directory that the root lies in.
fn from_base(path: &str) -> Cow<'_, str> {
    path.strip_prefix("../").map_or_else(|| Cow::Owned(format!("ROOT/{path}")), Cow::Borrowed)
}

impl Drop for Tree {
    fn drop(&mut self) {
        open_up(self.base.path());
    }
}

/// Gives directories back the permissions without which they cannot be removed.
fn open_up(dir: &Path) {
    let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

fn malformed(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("not a line of a tree: {line}"))
}
