//! A root whose directory is gone, moved, exchanged or not there yet: told by identity, never by name.
//!
//! Catches: a root looked up again by its path, so that whoever puts a directory or a link there chooses what is served; a handle that goes on
//! working in a directory that was moved away; an absent root that is picked up where somebody may write.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use cap_roots::{Access, Roots};
use cap_roots_oracle::tree::Tree;
use support::writing::picture;
use support::{Way, builder, code, let_looks_grow_old};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];

fn tree() -> Tree {
    Tree::build(["file ../ws/f=F", "file ../ws/d/g=G", "file ../other/f=OTHER", "file ../other/d/g=OTHER", "file x=X"]).unwrap()
}

/// Everything that was opened through the root answers `root-absent`, and nothing is done anywhere.
#[track_caller]
fn absent(tree: &Tree, roots: &Roots, why: &str) {
    let_looks_grow_old();
    let before = picture(tree.base(), true);
    let narrowed = roots.limit(Access::Write);
    for roots in [roots, &narrowed] {
        for (outcome, op) in [
            (code(roots.read("f")), "read"),
            (code(roots.metadata(".")), "metadata"),
            (code(roots.exists("missing")), "exists"),
            (code(roots.read_dir(".")), "read_dir"),
            (code(roots.walk(".")), "walk"),
            (code(roots.open_dir("d")), "open_dir"),
            (code(roots.within("d")), "within"),
            (code(roots.write("f", "NEW")), "write"),
            (code(roots.append("f", "NEW")), "append"),
            (code(roots.create_new("n")), "create_new"),
            (code(roots.create_dir_all("n/m")), "create_dir_all"),
            (code(roots.rename("f", "n")), "rename"),
            (code(roots.copy("f", "n")), "copy"),
            (code(roots.remove_dir_all("d")), "remove_dir_all"),
        ] {
            assert_eq!(outcome, "root-absent", "{op}, {why}");
        }
        assert!(roots.list().next().unwrap().is_absent(), "{why}");
    }
    assert_eq!(picture(tree.base(), true), before, "{why}");
}

#[track_caller]
fn present(roots: &Roots, why: &str) {
    assert_eq!(roots.read_to_string("f").unwrap(), "F", "{why}");
    assert_eq!(code(roots.write("f", "F")), "ok", "{why}");
    assert!(!roots.list().next().unwrap().is_absent(), "{why}");
}

#[test]
fn a_root_is_where_its_directory_is_and_nothing_else_is_it() {
    for way in WAYS {
        let tree = tree();
        let (at, away) = (tree.base().join("ws"), tree.base().join("away"));
        let roots = builder(way).named("ws", &at, Access::Write).open().unwrap();
        let (dir, narrowed) = (roots.open_dir("d").unwrap(), roots.within("d").unwrap());
        let gone = |why: &str| {
            absent(&tree, &roots, why);
            for outcome in
                [code(dir.read("g")), code(dir.write("g", "")), code(narrowed.read("g")), code(narrowed.write("g", ""))]
            {
                assert_eq!(outcome, "root-absent", "{why}");
            }
        };
        present(&roots, "to begin with");
        fs::rename(&at, &away).unwrap();
        gone("moved away");
        fs::create_dir(&at).unwrap();
        gone("another directory has its name");
        fs::remove_dir(&at).unwrap();
        symlink("away", &at).unwrap();
        gone("a link to itself has its name");
        fs::remove_file(&at).unwrap();
        symlink("other", &at).unwrap();
        gone("a link to another directory has its name");
        fs::remove_file(&at).unwrap();
        fs::write(&at, "file").unwrap();
        gone("a file has its name");
        fs::remove_file(&at).unwrap();
        fs::rename(&away, &at).unwrap();
        present(&roots, "the very directory is back");
        assert_eq!(code(dir.read("g")), "ok");
        assert_eq!(code(narrowed.read("g")), "ok");
        fs::remove_dir_all(&at).unwrap();
        gone("removed");
        fs::create_dir(&at).unwrap();
        fs::write(at.join("f"), "F").unwrap();
        gone("made anew");
    }
}

/// Catches: a change, or a name that is missed, that relies on a look at the root from a moment ago.
#[test]
fn a_change_looks_for_its_root_each_time() {
    for way in WAYS {
        let tree = tree();
        let (at, away) = (tree.base().join("ws"), tree.base().join("away"));
        let roots = builder(way).named("ws", &at, Access::Write).open().unwrap();
        let changes: [fn(&Roots) -> &'static str; 5] = [
            |roots| code(roots.write("f", "NEW")),
            |roots| code(roots.rename("f", "n")),
            |roots| code(roots.copy("f", "n")),
            |roots| code(roots.remove_file("f")),
            |roots| code(roots.read("missing")),
        ];
        for change in changes {
            assert_eq!(code(roots.read("f")), "ok");
            fs::rename(&at, &away).unwrap();
            assert_eq!(change(&roots), "root-absent");
            assert_eq!(code(roots.read("f")), "root-absent", "a look that went badly counts at once");
            fs::rename(&away, &at).unwrap();
        }
        assert_eq!(fs::read_to_string(at.join("f")).unwrap(), "F");
    }
}

/// Two roots, of which one is gone: the other goes on, and nothing goes from one to the other.
#[test]
fn an_operation_with_two_ends_needs_both_roots() {
    let tree = tree();
    let at = tree.base().join("ws");
    let roots = Roots::builder().named("r", tree.root(), Access::Write).named("ws", &at, Access::Write).open().unwrap();
    fs::rename(&at, tree.base().join("away")).unwrap();
    let before = picture(tree.base(), true);
    for (from, to) in [("root://ws/f", "root://r/n"), ("root://r/x", "root://ws/n")] {
        assert_eq!(code(roots.rename(from, to)), "root-absent");
        assert_eq!(code(roots.copy(from, to)), "root-absent");
        assert_eq!(code(roots.copy_replace(from, to)), "root-absent");
    }
    assert_eq!(picture(tree.base(), true), before);
    assert_eq!(code(roots.rename("root://r/x", "root://r/y")), "ok");
}

#[test]
fn an_absent_root_works_from_when_it_appears() {
    for way in WAYS {
        let tree = tree();
        let late = tree.base().join("late/r");
        let roots = builder(way).named("late", &late, Access::Write).open().unwrap();
        absent(&tree, &roots, "not there yet");
        fs::create_dir(tree.base().join("late")).unwrap();
        absent(&tree, &roots, "one of its names is there");
        fs::rename(tree.base().join("ws"), &late).unwrap();
        present(&roots, "there");
        fs::rename(&late, tree.base().join("ws")).unwrap();
        absent(&tree, &roots, "moved away again");
        fs::create_dir(&late).unwrap();
        absent(&tree, &roots, "another one");
    }
}

type Plant = fn(&Path);

/// Whoever writes in a root could choose what an absent root below it becomes.
#[test]
fn what_is_planted_where_a_root_is_missing_is_never_picked_up() {
    let plant: [(&str, Plant); 4] = [
        ("a link", |at| symlink("../other", at).unwrap()),
        ("an absolute link", |at| symlink(at.parent().unwrap().with_file_name("other"), at).unwrap()),
        ("a directory", |at| fs::create_dir(at).unwrap()),
        ("another one that was moved there", |at| fs::rename(at.parent().unwrap().with_file_name("other"), at).unwrap()),
    ];
    for way in WAYS {
        for missing in ["late", "late/deep"] {
            for (what, plant) in plant {
                let tree = tree();
                symlink("ROOT", tree.base().join("alias")).unwrap();
                for spelled in [tree.root(), tree.base().join("alias")] {
                    let builder = builder(way).named("ws", tree.root(), Access::Write);
                    let roots = builder.named("late", spelled.join(missing), Access::Write).open().unwrap();
                    // By the writable root itself it cannot be done.
                    assert_eq!(code(roots.create_dir_all("root://ws/late/deep")), "protected", "{missing}");
                    let at = tree.root().join("late");
                    plant(&at);
                    let _ = fs::create_dir(at.join("deep"));
                    for path in ["root://late/", "root://late/f", "root://late/d/g"] {
                        assert_eq!(code(roots.metadata(path)), "root-absent", "{what} {missing} {way:?}");
                    }
                    assert_eq!(code(roots.write("root://late/n", "")), "root-absent", "{what} {missing} {way:?}");
                    assert!(roots.list().nth(1).unwrap().is_absent());
                    if at.is_symlink() {
                        let _ = fs::remove_dir(tree.base().join("other/deep"));
                        fs::remove_file(&at).unwrap();
                    } else {
                        let _ = fs::remove_dir(at.join("deep"));
                        fs::rename(&at, tree.base().join("other2")).unwrap();
                        let _ = fs::rename(tree.base().join("other2"), tree.base().join("other"));
                    }
                }
            }
        }
    }
}

/// The same where the writable root is itself missing to begin with.
#[test]
fn a_missing_root_inside_a_missing_writable_one_is_not_made_by_it() {
    for way in WAYS {
        let (tree, roots) = missing_in_missing(way);
        assert_eq!(code(roots.create_dir("root://late/in")), "protected");
        assert_eq!(code(roots.create_dir_all("root://late/in/x")), "protected");
        assert_eq!(code(roots.rename("root://late/d", "root://late/in")), "protected");
        assert_eq!(code(roots.copy("root://late/d", "root://late/in")), "protected");
        assert_eq!(code(roots.read_dir("root://in/")), "root-absent");
        assert!(!tree.base().join("late/in").exists());
    }
}

#[test]
fn what_is_planted_in_a_writable_root_that_appeared_is_never_picked_up() {
    for way in WAYS {
        let (tree, roots) = missing_in_missing(way);
        let late = tree.base().join("late");
        fs::rename(late.join("d"), late.join("in")).unwrap();
        assert_eq!(code(roots.read("root://in/g")), "root-absent", "whoever may write there chose it");
    }
}

/// A writable root that was missing at start and is there now, with a missing root inside.
fn missing_in_missing(way: Way) -> (Tree, Roots) {
    let tree = tree();
    let late = tree.base().join("late");
    let roots = builder(way).named("late", &late, Access::Write).named("in", late.join("in"), Access::Write).open().unwrap();
    fs::rename(tree.base().join("other"), &late).unwrap();
    assert_eq!(code(roots.write("root://late/n", "")), "ok");
    (tree, roots)
}
