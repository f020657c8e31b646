//! A thread that exchanges names under operations that write: a directory, an ancestor, the last name and a name inside a tree change
//! places with links to outside, and with directories from outside (`renameat2` with `RENAME_EXCHANGE`), while threads work on the path.
//!
//! Every outcome is in a closed list for each operation, each side of the exchange is met often enough, and the picture of the outside, with
//! contents, modes, inodes and times, is the same afterwards. What was done went to the directory that was meant, by its handle. The same
//! harness pointed at "canonicalize, check, write" changes the outside: it works.
//!
//! Catches: anything that checks a name and then acts on it by its path; a temporary file that is renamed by a path; a tree that is gone
//! through by names; `..` taken from a directory that was moved; a last link that is followed by the call that changes; and, beside other
//! threads, changes that are lost or torn.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "the counts are the evidence")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

#[path = "../support/mod.rs"]
mod support;

mod inside;
mod last;
mod parallel;
mod parents;

use std::path::PathBuf;

use cap_roots::Roots;
use cap_roots_oracle::poison::CANARY;
use cap_roots_oracle::tree::Tree;
use support::race::{Held, picture};
use support::{Way, roots};

const WAYS: [(&str, Way); 2] = [("fast", Way::Fast), ("walk", Way::Walk)];

/// The same names outside as inside: whoever gets there finds what it looks for.
const OUTSIDE: [&str; 10] = [
    "file ../outside/file=CANARY-7f3a",
    "file ../outside/file-0=CANARY-7f3a",
    "file ../outside/file-1=CANARY-7f3a",
    "file ../outside/canary-name=CANARY-7f3a",
    "file ../outside/tree/file=CANARY-7f3a",
    "file ../outside/tree/d/file=CANARY-7f3a",
    "file ../outside/tree/canary-name=CANARY-7f3a",
    "dir ../outside/p-0",
    "dir ../outside/p-1",
    "mode 640 ../outside/file",
];

/// A tree, roots on it, and what was outside before.
pub(crate) struct Stage {
    pub(crate) tree: Tree,
    pub(crate) roots: Roots,
    before: Vec<String>,
}

impl Stage {
    pub(crate) fn new(way: Way, lines: &[&str]) -> Self {
        assert!(OUTSIDE[0].ends_with(CANARY));
        // The outside twice: right behind a link to it, and two directories deeper for an ancestor.
        let deep = OUTSIDE.map(|line| line.replace("../outside/", "../outside/y/z/"));
        let lines = OUTSIDE.iter().copied().chain(deep.iter().map(String::as_str)).chain(lines.iter().copied());
        let tree = Tree::build(lines).unwrap();
        let roots = roots(&tree, way);
        let before = picture(tree.base(), &[&tree.root()]);
        assert!(before.len() > 20);
        Self { tree, roots, before }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.tree.root().join(name)
    }

    pub(crate) fn hold(&self, name: &str) -> Held {
        Held::new(&self.path(name))
    }

    /// Nothing outside was made, changed or removed.
    pub(crate) fn check_outside(&self, name: &str) {
        let after = picture(self.tree.base(), &[&self.tree.root()]);
        assert!(self.before == after, "{name}: escaped\nbefore {:#?}\nafter {after:#?}", self.before);
    }

    /// Nothing under a reserved name stays behind.
    pub(crate) fn check_leftovers(&self, name: &str) {
        let left = picture(&self.tree.root(), &[]);
        let left: Vec<_> = left.iter().filter(|line| line.contains("/.cap-roots-")).collect();
        assert!(left.is_empty(), "{name}: {left:?}");
    }
}
