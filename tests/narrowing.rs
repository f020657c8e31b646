//! Sets that were narrowed to one directory: that directory is the floor for `..`, for links and for every spelling.
//!
//! Catches: a floor that is forgotten by what came out of the set (entries, directories, walks), names looked up from another directory than
//! the floor, a held directory that is followed out of its grant when it is moved.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;

use cap_roots::{Access, Entry, Roots};
use cap_roots_oracle::tree::Tree;
use support::{Way, builder, code};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];

/// `within`: relative paths start there, other spellings work below it, and nothing else is reached.
#[test]
fn a_set_narrowed_to_a_directory_reaches_nothing_else() {
    let tree =
        Tree::build(["file d/f=F", "file e/g=G", "link d/up -> ../e/g", "link d/abs -> $ROOT/d/f", "link l -> d"]).unwrap();
    let other = tree.base().join("other");
    fs::create_dir(&other).unwrap();
    let all = Roots::builder().named("r", tree.root(), Access::Write).named("o", &other, Access::Write).open().unwrap();
    for narrowed in [all.within("d").unwrap(), all.within("l").unwrap(), all.within("root://r/l/").unwrap()] {
        for path in ["f", "root://r/d/f", "$ROOT/d/f", "abs"] {
            assert_eq!(narrowed.read_to_string(tree.expand(path)).unwrap(), "F", "{path}");
        }
        for path in [
            "up",
            "../e/g",
            "..",
            "root://r/e/g",
            "root://r/",
            "$ROOT/e/g",
            "$ROOT/l/f",
            "$ROOT/d/../e/g",
            "root://o/",
            "$BASE/other",
        ] {
            assert_eq!(code(narrowed.metadata(tree.expand(path))), "outside-roots", "{path}");
        }
        assert_eq!(code(narrowed.rename("f", tree.expand("$ROOT/e/f"))), "outside-roots");
        assert_eq!(narrowed.list().map(|root| root.uri()).collect::<Vec<_>>(), ["root://r/d"]);
        assert_eq!(code(narrowed.within("..")), "outside-roots");
    }
    // By its names each time: moved away, it takes nothing with it, and what has the names then is what is meant.
    let narrowed = all.within("d").unwrap();
    fs::rename(tree.root().join("d"), tree.base().join("taken")).unwrap();
    assert_eq!(code(narrowed.read("f")), "not-found");
    std::os::unix::fs::symlink("e", tree.root().join("d")).unwrap();
    assert_eq!(code(narrowed.read("g")), "not-a-directory");
}

fn entry(mut entries: impl Iterator<Item = Result<Entry, cap_roots::Error>>, name: &str) -> Entry {
    entries.find_map(|entry| entry.ok().filter(|entry| entry.name() == name)).unwrap()
}

/// A narrowed set on `d`, which looks like what is beside it.
fn twins(way: Way) -> (Tree, Roots) {
    let tree = Tree::build([
        "file e/g=OUTSIDE",
        "file t/g=OUTSIDE",
        "file d/e/g=OWN",
        "file d/t/g=OWN",
        "link d/t/up -> ../e/g",
        "link d/t/abs -> $ROOT/d/e/g",
        "link d/t/out -> ../../e/g",
        "link d/t/abs-out -> $ROOT/e/g",
    ])
    .unwrap();
    let roots = builder(way).named("r", tree.root(), Access::Write).open().unwrap().within("d").unwrap();
    (tree, roots)
}

#[test]
fn links_of_a_narrowed_set_start_at_its_floor() {
    for way in WAYS {
        let (_tree, roots) = twins(way);
        for path in ["t/g", "t/up", "t/abs", "root://r/d/t/up"] {
            assert_eq!(roots.read_to_string(path).unwrap(), "OWN", "{path} {way:?}");
        }
        for path in ["t/out", "t/abs-out", "../e/g"] {
            assert_eq!(code(roots.read(path)), "outside-roots", "{path} {way:?}");
        }
        roots.write("t/up", "OWN").unwrap();
    }
}

#[test]
fn entries_of_a_narrowed_set_keep_its_floor() {
    for way in WAYS {
        let (_tree, roots) = twins(way);
        for name in ["up", "abs"] {
            let listed = entry(roots.read_dir("t").unwrap(), name);
            assert_eq!(listed.read_to_string().unwrap(), "OWN", "{name} {way:?}");
            let walked = entry(roots.walk(".").unwrap(), name);
            assert_eq!(walked.read_to_string().unwrap(), "OWN", "{name} {way:?}");
        }
        for name in ["out", "abs-out"] {
            assert_eq!(code(entry(roots.read_dir("t").unwrap(), name).read()), "outside-roots", "{name} {way:?}");
            assert_eq!(code(entry(roots.walk(".").unwrap(), name).read()), "outside-roots", "{name} {way:?}");
        }
    }
}

/// The same fault gets round rules: names are looked up from the root, and judged as if they were below the directory.
#[test]
fn entries_of_a_narrowed_set_get_round_no_rule() {
    for way in WAYS {
        let tree = Tree::build(["file e/g=RULED", "dir t", "file d/e/g=OWN", "link d/t/up -> ../e/g"]).unwrap();
        let roots = builder(way).named("r", tree.root(), Access::Write).rule("/e", Access::None).open().unwrap();
        let narrowed = roots.within("d").unwrap();
        assert_eq!(code(roots.read("e/g")), "protected");
        assert_eq!(entry(narrowed.read_dir("t").unwrap(), "up").read_to_string().unwrap(), "OWN", "{way:?}");
    }
}

#[test]
fn directories_of_a_narrowed_set_are_their_own_floor() {
    for way in WAYS {
        let (_tree, roots) = twins(way);
        let dir = roots.open_dir("t").unwrap();
        assert_eq!(dir.read_to_string("g").unwrap(), "OWN");
        for path in ["up", "abs", "out", "abs-out", "../e/g", ".."] {
            assert_eq!(code(dir.read(path)), "outside-roots", "{path} {way:?}");
        }
        let again = roots.within("t").unwrap();
        assert_eq!(again.read_to_string("g").unwrap(), "OWN");
        for path in ["up", "abs", "out", "root://r/d/e/g"] {
            assert_eq!(code(again.read(path)), "outside-roots", "{path} {way:?}");
        }
    }
}

/// RACE-02, without a race: the directory is exchanged for a link out between two operations, and in the middle of one.
#[test]
fn an_exchanged_directory_is_not_followed_out() {
    for way in WAYS {
        let tree = Tree::build(["file d/f=F", "file ../out/f=OUT"]).unwrap();
        let roots = builder(way).named("r", tree.root(), Access::Write).open().unwrap();
        let (narrowed, dir) = (roots.within("d").unwrap(), roots.open_dir("d").unwrap());
        let outcome = roots.update("d/f", |_| {
            fs::rename(tree.root().join("d"), tree.root().join("moved")).unwrap();
            std::os::unix::fs::symlink(tree.base().join("out"), tree.root().join("d")).unwrap();
            Ok(b"NEW".to_vec())
        });
        assert_eq!(code(outcome), "ok", "by the handle of the directory, wherever that is now");
        assert_eq!(fs::read(tree.root().join("moved/f")).unwrap(), b"NEW");
        for (outcome, want) in [
            (roots.write("d/n", ""), "outside-roots"),
            (roots.create_dir_all("d/n/m"), "outside-roots"),
            (roots.rename("moved/f", "d/n"), "outside-roots"),
            (narrowed.write("n", ""), "not-a-directory"),
            (narrowed.create_dir_all("n/m"), "not-a-directory"),
            (dir.write("n", "by handle"), "ok"),
        ] {
            assert_eq!(code(outcome), want, "{way:?}");
        }
        assert_eq!(fs::read_dir(tree.base().join("out")).unwrap().count(), 1);
        assert_eq!(fs::read(tree.base().join("out/f")).unwrap(), b"OUT");
        assert_eq!(fs::read(tree.root().join("moved/n")).unwrap(), b"by handle");
    }
}
