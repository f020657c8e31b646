//! A tree with every kind of object that a path can lead to, and a canary tree beside it that nothing may reach.

use std::io;

use cap_roots::{ErrorKind, Roots};

use crate::tree::Tree;

/// Stands in every file outside the root, and nowhere inside.
pub const CANARY: &str = "CANARY-7f3a";

const LINES: &[&str] = &[
    "file ../outside/secret=CANARY-7f3a",
    "file ../outside/dir/canary=CANARY-7f3a",
    "file ../ROOT-old/canary=CANARY-7f3a",
    "file file=inside",
    "file a/b/file=inside",
    "file a/canary=inside",
    "dir dir/in",
    "file dir/in/file=inside",
    "dir deep/deep/deep/deep/deep/deep/deep/deep",
    "link in -> a/b/file",
    "link up -> ..",
    "link dir/up -> ..",
    "link out -> ../outside/secret",
    "link outside -> ../outside",
    "link abs-out -> $BASE/outside",
    "link abs-in -> $ROOT/a",
    "link a/abs-in -> $ROOT/dir/in/",
    "link dangling -> nothing",
    "link dir/dangling -> ../../outside/nothing",
    "link self -> .",
    "link loop -> loop",
    "link a/loop -> ../dir/loop",
    "link dir/loop -> ../a/loop",
    "link out-and-back -> ../ROOT/file",
    "link proc -> /proc/self/root",
    "fifo fifo",
    "sock a/sock",
    "file cafe\u{301}=inside",
    "mode 000 b",
    "file b=inside",
];

/// Builds the tree.
pub fn build() -> io::Result<Tree> {
    Tree::build(LINES)
}

/// Tries everything that reads on one path and panics if a byte, a name or a word of what lies outside comes back.
pub fn probe(roots: &Roots, tree: &Tree, path: &str) {
    let base = tree.base().to_string_lossy();
    let check = |text: &str| {
        assert!(!text.contains(CANARY), "outside content by {path:?}: {text}");
        assert!(path.contains(&*base) || !text.contains(&*base), "host path by {path:?}: {text}");
    };
    match roots.read(path) {
        Ok(bytes) => check(&String::from_utf8_lossy(&bytes)),
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Busy, "{path:?}");
            check(&format!("{error} {error:?}"));
        }
    }
    for entry in roots.read_dir(path).into_iter().flatten().flatten() {
        check(&entry.name_text());
        if let Ok(bytes) = entry.read() {
            check(&String::from_utf8_lossy(&bytes));
        }
    }
    if let Ok(text) = roots.read_link(path) {
        check(&text.to_string_lossy());
    }
    let _ = (roots.metadata(path), roots.symlink_metadata(path), roots.exists(path));
    if let Ok(dir) = roots.open_dir(path) {
        check(&format!("{dir:?}"));
        for name in ["..", "up", "outside/secret", "../outside/secret"] {
            if let Ok(bytes) = dir.read(name) {
                check(&String::from_utf8_lossy(&bytes));
            }
        }
    }
}
