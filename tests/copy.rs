//! Copies of files and trees: whole or not at all, with the modes of what was copied, and never into themselves.
//!
//! Catches: a copy that fails and leaves a part or its scaffold behind, a private directory that becomes everybody's, a tree that is copied into
//! itself by another of its names.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cap_roots_oracle::tree::Tree;
use support::writing::{fix_umask, picture};
use support::{Way, code, privilege, roots};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn what_is_in_a_copied_tree_keeps_its_mode_without_set_id() {
    fix_umask();
    let tree = Tree::build([
        "file t/d/s=S",
        "file t/d/x=X",
        "file t/e/ro=R",
        "mode 4711 t/d/x",
        "mode 600 t/d/s",
        "mode 2750 t/d",
        "mode 555 t/e",
    ]);
    let tree = tree.unwrap();
    for way in WAYS {
        roots(&tree, way).copy("t", "c").unwrap();
        for (path, want) in [("c/d/s", 0o600), ("c/d/x", 0o711), ("c/d", 0o750), ("c/e", 0o555), ("c/e/ro", 0o644)] {
            assert_eq!(mode(&tree.root().join(path)), want, "{path} {way:?}");
        }
        fs::set_permissions(tree.root().join("c/e"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_dir_all(tree.root().join("c")).unwrap();
    }
}

#[test]
fn a_private_directory_is_private_as_a_copy() {
    fix_umask();
    let tree = Tree::build(["file t/s=S", "mode 700 t"]).unwrap();
    roots(&tree, Way::Fast).copy("t", "c").unwrap();
    assert_eq!(mode(&tree.root().join("c")), 0o700);
}

/// ALL-OR-NOTHING, of files that cannot be read and of directories that let nothing be made in them.
#[test]
fn a_copy_that_fails_leaves_nothing() {
    privilege::drop_override();
    let tree =
        Tree::build(["file t/a/f=F", "file t/b/f=F", "file t/shut=S", "mode 000 t/shut", "dir ro", "mode 555 ro"]).unwrap();
    let before = picture(tree.base(), true);
    for way in WAYS {
        let roots = roots(&tree, way);
        assert_eq!(code(roots.copy("t", "c")), "os-denied", "{way:?}");
        assert_eq!(code(roots.copy("t/a", "ro/c")), "os-denied", "{way:?}");
        assert_eq!(code(roots.copy("t/a/f", "ro/c")), "os-denied", "{way:?}");
        assert_eq!(code(roots.copy("t/shut", "c")), "os-denied", "{way:?}");
        assert_eq!(code(roots.copy("t/a/f", "none/c")), "not-found", "{way:?}");
        assert_eq!(picture(tree.base(), true), before, "{way:?}");
    }
}

#[test]
fn a_copy_that_fails_behind_a_closed_directory_leaves_nothing() {
    privilege::drop_override();
    let mut lines: Vec<String> =
        (0..8).flat_map(|number| [format!("file t/{number}/f=F"), format!("mode 555 t/{number}")]).collect();
    lines.extend(["file t/z/shut=S", "mode 000 t/z/shut"].map(String::from));
    let tree = Tree::build(&lines).unwrap();
    let before = picture(tree.base(), true);
    assert_eq!(code(roots(&tree, Way::Fast).copy("t", "c")), "os-denied");
    assert_eq!(picture(tree.base(), true), before);
}

#[test]
fn a_tree_is_not_copied_or_moved_into_itself() {
    let tree = Tree::build(["file d/e/f=F", "link l -> d/e", "link abs -> $ROOT/d", "file g=G", "link d/up -> .."]).unwrap();
    let before = picture(tree.base(), true);
    for way in WAYS {
        let roots = roots(&tree, way);
        for (from, to) in [
            ("d", "d/n"),
            ("d", "d/e/n"),
            ("d", "l/n"),
            ("d", "abs/n"),
            ("abs/", "d/n"),
            ("d/e", "d/e/../e/n"),
            (".", "n"),
            ("d", "d/up/d/n"),
        ] {
            assert_eq!(code(roots.copy(from, to)), "invalid-argument", "copy {from} {to} {way:?}");
            assert_eq!(code(roots.copy_replace(from, to)), "invalid-argument", "copy_replace {from} {to} {way:?}");
            if from == "d" {
                assert_eq!(code(roots.rename(from, to)), "invalid-argument", "rename {from} {to} {way:?}");
                assert_eq!(code(roots.rename_replace(from, to)), "invalid-argument", "rename_replace {from} {to} {way:?}");
            }
        }
        assert_eq!(picture(tree.base(), true), before, "{way:?}");
        for (from, to) in [("d/e", "d/n"), ("l", "n"), ("d", "d2")] {
            assert_eq!(code(roots.copy(from, to)), "ok", "{from} {to} {way:?}");
            roots.remove_dir_all(to).unwrap();
        }
    }
}

/// A file onto itself, by whatever name: before anything is opened for writing.
#[test]
fn a_file_is_not_copied_onto_itself() {
    for way in WAYS {
        let tree = Tree::build(["file f=CONTENT", "hard h = f", "link l -> f", "link d/abs -> $ROOT/f"]).unwrap();
        let before = picture(tree.base(), true);
        let roots = roots(&tree, way);
        for (from, to) in [("f", "f"), ("f", "h"), ("f", "l"), ("l", "f"), ("h", "d/abs"), ("d/abs", "l"), ("f", "d/../f")] {
            assert_eq!(code(roots.copy(from, to)), "already-exists", "{from} {to} {way:?}");
            assert_eq!(code(roots.copy_replace(from, to)), "invalid-argument", "{from} {to} {way:?}");
        }
        assert_eq!(picture(tree.base(), true), before, "{way:?}");
    }
}

/// Catches: a link to a directory that no name is left of (`.`, `..`, the root) that is answered otherwise than one to a directory with a name.
#[test]
fn a_copy_over_a_link_to_a_directory_says_what_is_there() {
    let lines = [
        "file f=F",
        "dir d/e",
        "link here -> .",
        "link d/up -> ..",
        "link back -> d/e/..",
        "link named -> d",
        "link dotted -> d/.",
    ];
    let tree = Tree::build(lines).unwrap();
    for way in WAYS {
        let roots = roots(&tree, way);
        let answers = |to: &str| (code(roots.copy("f", to)), code(roots.copy_replace("f", to)));
        for link in ["here", "d/up", "back", "named", "dotted"] {
            assert_eq!(answers(link), ("already-exists", "is-a-directory"), "{link} {way:?}");
            assert_eq!(answers(&format!("{link}/")), ("already-exists", "not-a-directory"), "{link}/ {way:?}");
        }
        for nothing in [".", "d/e/.."] {
            assert_eq!(answers(nothing), ("invalid-path", "invalid-path"), "{nothing} {way:?}");
        }
    }
}
