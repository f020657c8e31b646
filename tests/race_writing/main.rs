//! Names inside a tree change places with links to outside (`renameat2` with `RENAME_EXCHANGE`) while threads remove the tree, copy it, walk it
//! and make directories in it; and threads change the same files at once. The names that a path leads through are the matter of `race_matrix`.
//!
//! Every outcome is in a closed list for each operation, each is met often enough, and the picture of the outside, with contents, modes, inodes
//! and times, is the same afterwards.
//!
//! Catches: a tree that is gone through by names; `..` taken from a directory that was moved; a mode that is set through a link; and, beside
//! other threads, changes that are lost or torn.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "the counts are the evidence")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

#[path = "../support/mod.rs"]
mod support;

mod inside;
mod odd;
mod parallel;

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
