//! What several test binaries share.

#![allow(dead_code, unused_imports, reason = "each test binary uses a part")]

use cap_roots::{Access, Builder, Error, Hint, Narrowed, Roots};
use cap_roots_oracle::tree::Tree;

pub(crate) mod child;
pub(crate) mod filter;
pub(crate) mod privilege;
pub(crate) mod race;
pub(crate) mod rows;
pub(crate) mod writing;

/// Which way paths are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `openat2` first, the guarded walk where it cannot tell.
    Fast,
    /// The guarded walk alone.
    Walk,
}

pub(crate) fn builder(way: Way) -> Builder {
    match way {
        Way::Fast => Roots::builder(),
        Way::Walk => Roots::builder().without_openat2(),
    }
}

pub(crate) fn roots(tree: &Tree, way: Way) -> Roots {
    builder(way).named("root", tree.root(), Access::Write).open().unwrap()
}

pub(crate) fn code<T>(result: Result<T, Error>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(error) => error.code(),
    }
}

/// A few files and links inside, and a file beside the root.
pub(crate) fn tree() -> Tree {
    Tree::build(["file a/b/c.txt=C", "file a/x=X", "file ../other/y=Y", "link a/up -> ../a/x", "link a/b/far -> ../../a/x"])
        .unwrap()
}

/// Narrows by what a client would send for these paths; `$ROOT` and `$BASE` are filled in.
pub(crate) fn narrow(tree: &Tree, roots: &Roots, hints: &[&str]) -> Narrowed {
    let hints: Vec<Hint> = hints.iter().map(|path| Hint::parse(&format!("file://{}", tree.expand(path))).unwrap()).collect();
    roots.narrow(&hints)
}

/// Waits until a look at a root from a moment ago counts no more: what only reads relies on one, so that it may miss for as long that the directory
/// was moved. What changes something does not.
pub(crate) fn let_looks_grow_old() {
    std::thread::sleep(std::time::Duration::from_millis(25));
}
