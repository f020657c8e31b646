//! What callers hold: directories, entries, files, and what becomes of them.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::io::{Read, Seek, SeekFrom};

use cap_roots::Access;
use cap_roots_oracle::tree::Tree;
use support::{Way, code, roots, tree};

#[test]
fn all_forms_of_a_path_lead_to_the_same_file() {
    let tree = tree();
    for way in [Way::Fast, Way::Walk] {
        let roots = roots(&tree, way);
        for path in
            ["a/x", "./a//x", "a/up", "a/b/../x", "a/b/far", "root://root/a/x", "ROOT://root/a/%78", "$ROOT/a/x", "$ROOT//a/./x"]
        {
            assert_eq!(roots.read_to_string(tree.expand(path)).unwrap(), "X", "{path}");
        }
        assert_eq!(roots.uri(tree.expand("$ROOT/a/x y")).unwrap(), "root://root/a/x%20y");
        assert_eq!(code(roots.uri("/etc")), "outside-roots");
    }
}

#[test]
fn entries_open_through_the_directory_that_was_listed() {
    let tree = tree();
    for way in [Way::Fast, Way::Walk] {
        let roots = roots(&tree, way);
        let entries: Vec<_> = roots.read_dir("a").unwrap().map(Result::unwrap).collect();
        let find = |name: &str| entries.iter().find(|entry| entry.name() == name).unwrap();
        // The directory gets another name, and another one gets its name: the entries are still those that were listed.
        fs::rename(tree.root().join("a"), tree.root().join("z")).unwrap();
        fs::create_dir(tree.root().join("a")).unwrap();
        fs::write(tree.root().join("a/x"), "ANOTHER").unwrap();
        assert_eq!(find("x").read_to_string().unwrap(), "X");
        assert_eq!(find("b").open_dir().unwrap().read_to_string("c.txt").unwrap(), "C");
        assert_eq!(find("x").metadata().unwrap().len(), 1);
        assert_eq!(find("x").uri(), "root://root/a/x");
        // A link is walked from the root, by names, as they are now.
        assert_eq!(find("up").read_to_string().unwrap(), "ANOTHER");
        fs::remove_dir_all(tree.root().join("a")).unwrap();
        fs::rename(tree.root().join("z"), tree.root().join("a")).unwrap();
    }
}

#[test]
fn a_directory_is_its_own_floor() {
    let tree = Tree::build([
        "file d/e/x=X",
        "file y=Y",
        "link d/e/up -> ../../y",
        "link d/e/abs -> $ROOT/y",
        "link d/e/abs-in -> $ROOT/d/e/x",
        "link d/e/in -> ../e/x",
        "link d/e/here -> ./x",
    ])
    .unwrap();
    for way in [Way::Fast, Way::Walk] {
        let roots = roots(&tree, way);
        let dir = roots.open_dir("d/e").unwrap();
        assert_eq!(dir.read_to_string("x").unwrap(), "X");
        assert_eq!(dir.read_to_string("here").unwrap(), "X");
        assert_eq!(dir.read_to_string("abs-in").unwrap(), "X");
        for path in ["up", "abs", "in", "..", "../e/x", "/", ""] {
            assert_ne!(code(dir.read(path)), "ok", "{path} {way:?}");
        }
        for entry in dir.entries().unwrap().map(Result::unwrap) {
            let inside = ["x", "here", "abs-in"].contains(&entry.name().to_str().unwrap());
            assert_eq!(code(entry.read()), if inside { "ok" } else { "outside-roots" }, "{:?} {way:?}", entry.name());
        }
        // By the roots themselves the same links lead where they lead.
        for entry in roots.read_dir("d/e").unwrap().map(Result::unwrap) {
            assert_eq!(code(entry.read()), "ok", "{:?} {way:?}", entry.name());
        }
        assert_eq!(roots.open_dir("d").unwrap().open_dir("e").unwrap().uri(), "root://root/d/e");
    }
}

#[test]
fn revoking_ends_clones_directories_entries_and_files() {
    let tree = tree();
    let roots = roots(&tree, Way::Fast);
    let (clone, dir, mut file) = (roots.clone(), roots.open_dir("a").unwrap(), roots.open("a/x").unwrap());
    let (entry, mut listing) = (roots.read_dir("a").unwrap().next().unwrap().unwrap(), roots.read_dir("a").unwrap());
    roots.revoke();
    assert_eq!(code(clone.read("a/x")), "revoked");
    assert_eq!(code(clone.metadata("../../etc")), "revoked");
    assert_eq!(code(dir.read("x")), "revoked");
    assert_eq!(code(entry.metadata()), "revoked");
    assert_eq!(code(listing.next().unwrap()), "revoked");
    assert_eq!(code(file.metadata()), "revoked");
    assert_eq!(code(file.read_all(9)), "revoked");
    for error in [file.read(&mut [0]).unwrap_err(), file.seek(SeekFrom::Start(0)).map(|_| ()).unwrap_err()] {
        assert_eq!(error.downcast::<cap_roots::Error>().unwrap().code(), "revoked");
    }
}

#[test]
fn a_listing_holds_one_descriptor_whatever_its_size() {
    let tree = tree();
    fs::create_dir(tree.root().join("many")).unwrap();
    for number in 0..1_500 {
        fs::write(tree.root().join(format!("many/{number}")), "").unwrap();
    }
    let roots = roots(&tree, Way::Fast);
    let count = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = count();
    let entries: Vec<_> = roots.read_dir("many").unwrap().map(Result::unwrap).collect();
    assert_eq!(entries.len(), 1_500);
    // Other tests of this binary open files meanwhile; 1,500 would show.
    assert!(count() < before + 200);
}

#[test]
fn an_entry_shows_no_link_text_that_leads_out() {
    let tree = Tree::build([
        "dir a/b/c",
        "link leak -> ../../../home/secret",
        "link a/b/top -> ../..",
        "link a/in -> ../leak",
        "link a/b/c/up -> ../../../leak",
    ])
    .unwrap();
    for way in [Way::Fast, Way::Walk] {
        let roots = roots(&tree, way);
        for listed in [".", "a/..", "a/../a/..", "a/b/top", "a/b/c/../../.."] {
            let leak = roots.read_dir(listed).unwrap().map(Result::unwrap).find(|entry| entry.name() == "leak").unwrap();
            assert_eq!(code(leak.read_link()), "outside-roots", "{listed} {way:?}");
        }
        let entry =
            |dir: &str, name: &str| roots.read_dir(dir).unwrap().map(Result::unwrap).find(|entry| entry.name() == name).unwrap();
        assert_eq!(entry("a", "in").read_link().unwrap().to_str(), Some("../leak"));
        assert_eq!(entry("a/b/c", "up").read_link().unwrap().to_str(), Some("../../../leak"));
        assert_eq!(entry("a/b/top/a/b/c", "up").read_link().unwrap().to_str(), Some("../../../leak"));
    }
}

#[test]
fn a_revoked_listing_ends() {
    let tree = tree();
    let roots = roots(&tree, Way::Fast);
    let listing = roots.read_dir("a").unwrap();
    roots.revoke();
    let rest: Vec<_> = listing.take(100).map(code).collect();
    assert_eq!(rest, ["revoked"]);
}

#[test]
fn names_that_would_mean_something_else_are_shown_as_uris() {
    let tree = Tree::build(["file ~=tilde", "file a\u{200d}b=joined", "file plain=plain"]).unwrap();
    let roots = roots(&tree, Way::Fast);
    for entry in roots.read_dir(".").unwrap().map(Result::unwrap) {
        assert_eq!(entry.name_text().starts_with("root://"), entry.name() != "plain");
        assert_eq!(roots.read(&*entry.name_text()).unwrap(), entry.read().unwrap());
    }
}

/// Catches: a rename over what another process has written since it was read.
#[test]
fn a_file_that_another_process_changed_is_a_conflict() {
    let tree = tree();
    for way in [Way::Fast, Way::Walk] {
        let roots = roots(&tree, way);
        let path = tree.root().join("a/x");
        fs::write(&path, "old").unwrap();
        let outcome = roots.update("a/x", |old| {
            assert_eq!(old, b"old");
            fs::write(&path, "theirs").unwrap();
            Ok(b"ours".to_vec())
        });
        assert_eq!((code(outcome), fs::read(&path).unwrap()), ("conflict", b"theirs".to_vec()), "{way:?}");
        let outcome = roots.update("a/x", |_| {
            fs::remove_file(&path).unwrap();
            fs::write(&path, "theirs").unwrap();
            Ok(b"ours".to_vec())
        });
        assert_eq!((code(outcome), fs::read(&path).unwrap()), ("conflict", b"theirs".to_vec()), "{way:?}");
        assert_eq!(code(roots.update("a/x", |_| Err(cap_roots::ErrorKind::NoMatch.into()))), "no-match");
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }
}

/// The option for those who want no second names, whoever made them.
#[test]
fn files_with_other_names_can_be_refused() {
    let tree = tree();
    fs::hard_link(tree.root().join("a/x"), tree.root().join("second")).unwrap();
    for way in [Way::Fast, Way::Walk] {
        let roots = support::builder(way).root(tree.root(), Access::Write).refuse_hard_links().open().unwrap();
        for path in ["a/x", "second"] {
            let outcomes =
                [code(roots.read(path)), code(roots.write(path, "")), code(roots.copy(path, "c")), code(roots.append(path, ""))];
            assert_eq!(outcomes, ["hard-linked"; 4], "{path} {way:?}");
        }
        assert_eq!(code(roots.copy("a", "d")), "hard-linked");
        assert_eq!(code(roots.read("a/b/c.txt")), "ok");
    }
}
