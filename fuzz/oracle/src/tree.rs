//! Trees written as lines: `dir a`, `file a/b=text`, `link x -> target`, `hard a = b`, `fifo p`, `sock s`, `mode 000 a`.
//!
//! Paths are relative to the root; `../x` is beside it. In a link's target `$ROOT` and `$BASE` stand for the absolute paths of the
//! root and of its parent. Missing parents are made.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, mkfifoat};

/// A root directory called `ROOT` in a temporary directory that is removed with it.
pub struct Tree {
    base: tempfile::TempDir,
}

impl Tree {
    /// Builds the tree that `lines` describe.
    pub fn build<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> io::Result<Self> {
        let tree = Self { base: tempfile::Builder::new().prefix("cap-roots-").tempdir()? };
        fs::create_dir(tree.root())?;
        let mut modes = Vec::new();
        for line in lines {
            let line = line.as_ref();
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            if kind == "mode" {
                modes.push(rest.to_owned());
            } else {
                tree.make(kind, rest)?;
            }
        }
        // Last, or they would stop the making.
        for rest in modes {
            let (mode, path) = rest.split_once(' ').ok_or_else(|| malformed(&rest))?;
            let mode = u32::from_str_radix(mode, 8).map_err(|_| malformed(&rest))?;
            fs::set_permissions(tree.at(path)?, fs::Permissions::from_mode(mode))?;
        }
        Ok(tree)
    }

    /// Makes what one more line describes, where something may have changed meanwhile.
    pub fn plant(&self, line: &str) -> io::Result<()> {
        let (kind, rest) = line.split_once(' ').ok_or_else(|| malformed(line))?;
        self.make(kind, rest)
    }

    fn make(&self, kind: &str, rest: &str) -> io::Result<()> {
        let split = |separator| rest.split_once(separator).ok_or_else(|| malformed(rest));
        match kind {
            "dir" => fs::create_dir_all(self.at(rest)?),
            "file" => split("=").and_then(|(path, text)| fs::write(self.at(path)?, text)),
            "link" => split(" -> ").and_then(|(path, target)| symlink(self.expand(target), self.at(path)?)),
            "hard" => split(" = ").and_then(|(path, target)| fs::hard_link(self.at(target)?, self.at(path)?)),
            "fifo" => Ok(mkfifoat(CWD, self.at(rest)?, Mode::from_raw_mode(0o600))?),
            "sock" => UnixListener::bind(self.at(rest)?).map(drop),
            _ => Err(malformed(kind)),
        }
    }

    fn at(&self, path: &str) -> io::Result<PathBuf> {
        let path = self.root().join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(path)
    }

    /// `text` with `$ROOT` and `$BASE` filled in.
    pub fn expand(&self, text: &str) -> String {
        text.replace("$ROOT", &self.root().to_string_lossy()).replace("$BASE", &self.base().to_string_lossy())
    }

    /// The root's path.
    pub fn root(&self) -> PathBuf {
        self.base.path().join("ROOT")
    }

    /// The path of the directory that the root lies in.
    pub fn base(&self) -> &Path {
        self.base.path()
    }
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
