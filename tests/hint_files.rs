//! A hint that is a file: one name in its directory, as long as it is a file or nothing.
//!
//! Catches: a file whose directory is seen with it, a link or directory in its place that is followed, entered, moved or removed, a look at
//! what has the name that is not repeated when it is a change's turn.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;

use cap_roots::{Access, Operation, Roots};
use cap_roots_oracle::tree::Tree;
use support::{Way, builder, code, narrow};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];

/// A root that is a file: that name in its directory, as long as it is a file or nothing, whatever is put beside it.
#[test]
fn a_file_is_one_name() {
    for way in WAYS {
        let tree = Tree::build(["file d/f=F", "file d/g=G", "dir e"]).unwrap();
        let roots = builder(way).named("r", tree.root(), Access::Write).open().unwrap();
        let one = narrow(&tree, &roots, &["$ROOT/d/f"]).into_roots();
        let root = one.list().next().unwrap();
        assert_eq!((root.uri(), root.host_path()), ("root://r/d/f".to_owned(), tree.root().join("d/f")));
        for path in ["f", "./f", "root://r/d/f", "$ROOT/d/f"] {
            assert_eq!(one.read_to_string(tree.expand(path)).unwrap(), "F", "{path} {way:?}");
        }
        for path in ["g", ".", "", "..", "f/..", "../d/f", "f/../g", "root://r/d/g", "root://r/d/", "$ROOT/d", "$ROOT/d/g", "f/x"]
        {
            for outcome in [one.metadata(tree.expand(path)).map(drop), one.read_dir(tree.expand(path)).map(drop)] {
                assert_eq!(code(outcome), if path.is_empty() { "invalid-path" } else { "outside-roots" }, "{path:?} {way:?}");
            }
            assert_ne!(code(one.write(tree.expand(path), "X")), "ok", "{path:?} {way:?}");
            assert_ne!(code(one.create_dir_all(tree.expand(path))), "ok", "{path:?} {way:?}");
        }
        assert_eq!(code(one.read("f/")), "not-a-directory");
        one.write("f", "NEW").unwrap();
        one.append("f", "ER").unwrap();
        one.set_permissions("f", 0o600).unwrap();
        assert_eq!(fs::read(tree.root().join("d/f")).unwrap(), b"NEWER");
        for to in ["g", "$ROOT/e/f", "h"] {
            assert_eq!(code(one.rename("f", tree.expand(to))), "outside-roots", "{to}");
            assert_eq!(code(one.copy("f", tree.expand(to))), "outside-roots", "{to}");
        }
        one.remove_file("f").unwrap();
        assert_eq!(code(one.read("f")), "not-found");
        one.create_new("f").unwrap();

        // A link or a directory in its place leads nowhere.
        fs::remove_file(tree.root().join("d/f")).unwrap();
        symlink("g", tree.root().join("d/f")).unwrap();
        for outcome in [
            one.read("f").map(drop),
            one.metadata("f").map(drop),
            one.symlink_metadata("f").map(drop),
            one.read_link("f").map(drop),
            one.append("f", "X"),
            one.write("f", "X"),
            one.set_permissions("f", 0o777),
            one.set_len("f", 0),
            one.remove_file("f"),
            one.rename("f", "f"),
            one.create_new("f").map(drop),
        ] {
            assert_eq!(code(outcome), "outside-roots", "{way:?}");
        }
        assert_eq!(fs::read(tree.root().join("d/g")).unwrap(), b"G");
        fs::remove_file(tree.root().join("d/f")).unwrap();
        fs::create_dir_all(tree.root().join("d/f/x")).unwrap();
        for outcome in
            [one.read_dir("f").map(drop), one.open_dir("f").map(drop), one.metadata("f/x").map(drop), one.walk("f").map(drop)]
        {
            assert_eq!(code(outcome), "outside-roots", "{way:?}");
        }
        for outcome in
            [one.remove_dir("f/x"), one.remove_dir_all("f"), one.create_dir("f"), one.create_dir_all("f"), one.write("f", "X")]
        {
            assert_eq!(code(outcome), "outside-roots", "{way:?}");
        }
        assert!(one.within("f").is_err() && one.within(".").is_err());
        fs::remove_dir_all(tree.root().join("d/f")).unwrap();
        assert_eq!(code(one.create_dir("f")), "outside-roots", "{way:?}");
        one.write("f", "AGAIN").unwrap();
    }
}

/// Relative paths start at a directory; only where there is none, the names of the files are.
#[test]
fn a_file_is_no_place_to_start_from() {
    let tree = Tree::build(["file README=R", "file src/main=M", "file x=X"]).unwrap();
    let roots = builder(Way::Fast).named("r", tree.root(), Access::Read).open().unwrap();
    let both = narrow(&tree, &roots, &["$ROOT/README", "$ROOT/src"]).into_roots();
    assert_eq!(both.read_to_string("main").unwrap(), "M");
    assert_eq!(code(both.read("README")), "not-found");
    assert_eq!(both.read_to_string("root://r/README").unwrap(), "R");
    let files = narrow(&tree, &roots, &["$ROOT/README", "$ROOT/x"]).into_roots();
    assert_eq!((files.read_to_string("README").unwrap(), files.read_to_string("x").unwrap()), ("R".into(), "X".into()));
    assert_eq!(code(files.read("src/main")), "outside-roots");
}

/// Catches: a look at what has the name that is not repeated when it is this change's turn, and a tree or link put in the file's place.
#[test]
fn a_file_that_becomes_another_thing_while_a_change_waits() {
    for way in WAYS {
        let tree = Tree::build(["file f=F", "file private/t=P", "dir d", "link l -> private"]).unwrap();
        let roots = builder(way).named("r", tree.root(), Access::Write).open().unwrap();
        let narrowed = narrow(&tree, &roots, &["$ROOT/f", "$ROOT/d"]).into_roots();
        for (index, change) in [
            |set: &Roots, _: &str| set.remove_dir_all("root://r/f"),
            |set: &Roots, _: &str| set.remove_file("root://r/f"),
            |set: &Roots, free: &str| set.rename("root://r/f", format!("root://r/d/{free}")),
            |set: &Roots, _: &str| set.write("root://r/f", "X"),
            |set: &Roots, _: &str| set.set_permissions("root://r/f", 0o700),
        ]
        .into_iter()
        .enumerate()
        {
            // The changes queue one behind the other, while the first one takes its time.
            let later = |count: u64| std::thread::sleep(std::time::Duration::from_millis(40 * count));
            let outcome = std::thread::scope(|scope| {
                scope.spawn(|| {
                    let held = roots.update("f", |old| {
                        later(5);
                        Ok(old)
                    });
                    // A change of permissions takes no turn, and is seen as a conflict.
                    assert!(matches!(code(held), "ok" | "conflict" | "not-found"));
                });
                later(1);
                let kept = scope.spawn(|| roots.rename("f", "kept"));
                later(1);
                let taken = scope.spawn(|| roots.rename("private", "f"));
                later(1);
                let outcome = change(&narrowed, "got");
                // On a slow machine they come in another order, and some find nothing to do.
                let _ = (kept.join().unwrap(), taken.join().unwrap());
                outcome
            });
            assert!(
                ["ok", "not-found", "outside-roots", "conflict", "is-a-directory"].contains(&code(outcome.clone())),
                "{index} {outcome:?}"
            );
            assert!(!tree.root().join("d/got/t").exists(), "{index} {way:?}");
            if tree.root().join("f/t").exists() {
                roots.rename("f", "private").unwrap();
            }
            assert_eq!(fs::read(tree.root().join("private/t")).unwrap(), b"P", "{index} {way:?}");
            for name in ["f", "kept", "d/got"] {
                let _ = roots.remove_file(name);
            }
            roots.write("f", "F").unwrap();
        }
        roots.remove_file("f").unwrap();
        for outcome in [
            narrowed.rename("root://r/d", "root://r/f"),
            roots.create_dir("d/tree").and_then(|()| narrowed.rename("root://r/d/tree", "root://r/f")),
            narrowed.copy("root://r/d/tree", "root://r/f").map(drop),
        ] {
            assert_ne!(code(outcome), "ok", "{way:?}");
        }
        assert!(!tree.root().join("f").exists());
        assert!(narrowed.explain("root://r/f", Operation::CreateDir).verdict().is_err());
    }
}
