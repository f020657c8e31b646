//! Rules, counter-example by counter-example: each way round a rule is closed, and beside it stands what has to stay allowed.
//!
//! Catches: rules on the typed text only (links, `..`, case, Unicode forms walk around them), rules that a rename, a copy or a removal gets
//! out of or into, rules that tell whether a name exists, rules that match nothing without a word.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;

use cap_roots::{Access, Grant, Roots};
use cap_roots_oracle::tree::Tree;
use support::writing::picture;
use support::{Way, builder, code};

const NONE: Access = Access::None;
const LIST: Access = Access::List;
const READ: Access = Access::Read;
const WRITE: Access = Access::Write;

/// A writable root with rules, by each way of resolving.
fn ruled(tree: &Tree, rules: &[(&str, Access)]) -> [Roots; 2] {
    [Way::Fast, Way::Walk].map(|way| {
        let add = |grant: Grant, (glob, access): &(&str, Access)| grant.rule(*glob, *access);
        let grant = rules.iter().fold(Grant::new(tree.root()).name("r").access(WRITE), add);
        builder(way).grant(grant).open().unwrap()
    })
}

/// Nothing of `path` is read, changed or taken away.
#[track_caller]
fn closed(tree: &Tree, roots: &Roots, path: &str) {
    let before = picture(tree.base(), true);
    let path = &tree.expand(path);
    assert_eq!(code(roots.read(path)), "protected", "read {path}");
    assert_eq!(code(roots.write(path, "NEW")), "protected", "write {path}");
    assert_eq!(code(roots.append(path, "NEW")), "protected", "append {path}");
    assert_eq!(code(roots.update(path, |_| Ok(Vec::new()))), "protected", "update {path}");
    assert_eq!(code(roots.set_len(path, 0)), "protected", "set_len {path}");
    assert_eq!(code(roots.copy(path, "copied")), "protected", "copy {path}");
    assert_eq!(code(roots.set_permissions(path, 0o777)), "protected", "set_permissions {path}");
    assert_eq!(code(roots.set_times(path, None, None)), "protected", "set_times {path}");
    assert_eq!(picture(tree.base(), true), before, "{path}");
}

/// A name itself is neither made, moved, replaced nor removed.
#[track_caller]
fn kept(tree: &Tree, roots: &Roots, path: &str) {
    let before = picture(tree.base(), true);
    let path = &tree.expand(path);
    assert_eq!(code(roots.create_new(path)), "protected", "create_new {path}");
    assert_eq!(code(roots.create_dir(path)), "protected", "create_dir {path}");
    assert_eq!(code(roots.create_dir_all(format!("{path}/x"))), "protected", "create_dir_all {path}");
    assert_eq!(code(roots.remove_file(path)), "protected", "remove_file {path}");
    assert_eq!(code(roots.remove_dir(path)), "protected", "remove_dir {path}");
    assert_eq!(code(roots.remove_dir_all(path)), "protected", "remove_dir_all {path}");
    assert_eq!(code(roots.rename(path, "moved")), "protected", "rename from {path}");
    for to in ["rename", "rename_replace", "copy", "copy_replace"] {
        let outcome = match to {
            "rename" => roots.rename("free", path),
            "rename_replace" => roots.rename_replace("free", path),
            "copy" => roots.copy("free", path).map(drop),
            _ => roots.copy_replace("free", path).map(drop),
        };
        assert_eq!(code(outcome), "protected", "{to} to {path}");
    }
    assert_eq!(picture(tree.base(), true), before, "{path}");
}

/// LINK-09. Catches: a rule on the asked name only.
#[test]
fn a_link_to_a_ruled_name() {
    let tree = Tree::build([
        "file .env=SECRET",
        "file d/keys/id=SECRET",
        "file free=F",
        "link l -> .env",
        "link d/far -> ../l",
        "link abs -> $ROOT/.env",
        "link k -> d/keys",
        "link ok -> free",
    ])
    .unwrap();
    for roots in ruled(&tree, &[(".env", NONE), ("keys", NONE)]) {
        for path in ["l", "d/far", "abs", "k/id", "$ROOT/l", "root://r/d/far"] {
            closed(&tree, &roots, path);
        }
        assert_eq!(code(roots.metadata("l")), "protected");
        assert_eq!(code(roots.read_dir("k")), "protected");
        assert_eq!(code(roots.within("k")), "protected");
        assert_eq!(roots.read_to_string("ok").unwrap(), "F");
        assert_eq!(code(roots.write("ok", "F")), "ok");
        for entry in roots.walk(".").unwrap().chain(roots.read_dir("d").unwrap()).map(Result::unwrap) {
            assert!(entry.read().map_or(true, |bytes| bytes == b"F"), "{}", entry.uri());
        }
        // The link is a name of its own, and no content.
        assert_eq!(code(roots.symlink_metadata("l")), "ok");
    }
}

/// A link that leads to nothing yet makes what it names, and so does a directory behind one.
#[test]
fn a_dangling_link_to_a_ruled_name() {
    let tree = Tree::build([
        "link l -> .env",
        "link d/l -> ../keys/new",
        "link keys2 -> keys",
        "dir keys",
        "link m -> d/made",
        "link n -> d",
    ])
    .unwrap();
    let before = picture(tree.base(), true);
    for roots in ruled(&tree, &[(".env", NONE), ("/keys/**", READ)]) {
        // Whether or not anything is there: nothing is looked at before it was judged.
        for outcome in [code(roots.read("l")), code(roots.metadata("l")), code(roots.exists("l")), code(roots.read_dir("l"))] {
            assert_eq!(outcome, "protected");
        }
        for path in ["l", "d/l", "keys2/new"] {
            assert_eq!(code(roots.write(path, "NEW")), "protected", "{path}");
            assert_eq!(code(roots.append(path, "NEW")), "protected", "{path}");
            assert_eq!(
                code(roots.copy_replace("d", path)),
                if path == "keys2/new" { "protected" } else { "already-exists" },
                "{path}"
            );
        }
        for path in ["keys2/new", "keys2/new/er"] {
            assert_eq!(code(roots.create_dir_all(path)), "protected", "{path}");
        }
        assert_eq!(code(roots.create_new("keys2/new")), "protected");
        assert_eq!(code(roots.rename("m", "keys2/new")), "protected");
        assert_eq!(picture(tree.base(), true), before);
        assert_eq!(code(roots.write("m", "NEW")), "ok");
        assert_eq!(code(roots.create_dir_all("n/a/b")), "ok");
        fs::remove_file(tree.root().join("d/made")).unwrap();
        fs::remove_dir_all(tree.root().join("d/a")).unwrap();
    }
}

#[test]
fn dot_dot_round_a_ruled_name() {
    let tree = Tree::build(["file .env=SECRET", "file keys/id=SECRET", "file a/b/c=C", "link l -> a/b", "file free=F"]).unwrap();
    for roots in ruled(&tree, &[("/.env", NONE), ("/keys", NONE), ("/a/.env", NONE)]) {
        for path in ["a/../.env", "a/b/../../.env", "./.env", "l/../../.env", "keys/../.env", "a/../keys/id"] {
            closed(&tree, &roots, path);
        }
        assert_eq!(code(roots.read("keys/../free")), "protected", "not through it either");
        assert_eq!(code(roots.read("a/../free")), "ok");
        assert_eq!(code(roots.read("l/../b/c")), "ok");
        // By its real names `l/../.env` is `a/.env`, by its text `.env`.
        assert_eq!(code(roots.read("l/../.env")), "protected");
    }
}

/// CASE-01 to CASE-04, and the forms that disks fold: protected on every disk, whether or not this one folds.
#[test]
fn other_spellings_of_a_ruled_name() {
    let lines = [
        "file free=F",
        "file secrets=S",
        "file caf\u{e9}=S",
        "file stra\u{df}e=S",
        "file d/My\u{a0}Docs=S",
        "file other\u{e9}=F",
    ];
    let tree = Tree::build(lines).unwrap();
    let rules = [("secrets", NONE), ("caf\u{e9}", NONE), ("stra\u{df}e", NONE), ("/d/my\u{a0}docs", NONE)];
    for roots in ruled(&tree, &rules) {
        for path in [
            "SECRETS",
            "Secrets",
            "\u{17f}ecrets",
            "secret\u{17f}",
            "cafe\u{301}",
            "CAF\u{c9}",
            "CAFE\u{301}",
            "STRASSE",
            "strasse",
        ] {
            closed(&tree, &roots, path);
            kept(&tree, &roots, path);
        }
        // Another form of a space leads to the name on the disk, and that is judged.
        assert_eq!(code(roots.read("d/My Docs")), "protected");
        for path in ["free", "other\u{e9}", "othere\u{301}"] {
            assert_eq!(roots.read_to_string(path).unwrap(), "F", "{path}");
        }
        assert_eq!(code(roots.write("other\u{e9}", "F")), "ok");
        assert_eq!(code(roots.create_new("secrets2")), "ok");
        fs::remove_file(tree.root().join("secrets2")).unwrap();
    }
}

/// Names that some disks trim or alias count only as the listing has them: they are their own files here, and never the ruled one.
#[test]
fn trailing_dots_and_short_names() {
    let tree = Tree::build(["file .env=SECRET", "file secrets=SECRET", "file dot.=D", "file til~1=T"]).unwrap();
    for roots in ruled(&tree, &[(".env", NONE), ("secrets", NONE)]) {
        for path in [".env.", ".env ", "secrets.", "SECRET~1", "secret~1"] {
            assert_ne!(code(roots.read(path)), "ok", "{path}");
            assert_eq!(code(roots.write(path, "NEW")), "ok", "{path}");
            assert_eq!(code(roots.remove_file(path)), "ok", "{path}");
        }
        assert_eq!(fs::read(tree.root().join(".env")).unwrap(), b"SECRET");
        assert_eq!(fs::read(tree.root().join("secrets")).unwrap(), b"SECRET");
        assert_eq!(roots.read_to_string("dot.").unwrap(), "D");
        assert_eq!(roots.read_to_string("til~1").unwrap(), "T");
    }
}

/// A rename may slip neither out of a rule nor into one, and not under another's name.
#[test]
fn renames_out_of_a_rule_and_into_one() {
    let tree = Tree::build([
        "file a/secret=S",
        "file h/hooks/pre=EVIL",
        "file h/free=F",
        "file repo/.git/hooks/pre=P",
        "file c/x=C",
        "dir c/repo",
        "file tree/.git/hooks/pre=EVIL",
    ])
    .unwrap();
    let before = picture(tree.base(), true);
    for roots in ruled(&tree, &[("/a/secret", NONE), ("**/.git/hooks/**", READ), ("/new/in", NONE)]) {
        for (from, to) in [
            ("a", "b"),
            ("a/secret", "b"),
            ("c", "a/secret"),
            ("h", "repo2/.git"),
            ("h", ".git"),
            ("h", ".GIT"),
            ("h/hooks", "repo/.git/hooks"),
            ("h/hooks/pre", "repo/.git/hooks/pre2"),
            ("repo/.git", "h2"),
            ("repo/.git/hooks", "h2"),
            ("repo", "tree/.git/hooks/r"),
            ("c", "new"),
        ] {
            assert_eq!(
                code(roots.rename(from, to)),
                if to.starts_with("repo2") { "not-found" } else { "protected" },
                "{from} {to}"
            );
            assert_eq!(picture(tree.base(), true), before, "{from} {to}");
        }
        assert_eq!(code(roots.rename_replace("h/hooks/pre", "repo/.git/hooks/pre")), "protected");
        assert_eq!(code(roots.copy("h/hooks/pre", "repo/.git/hooks/post")), "protected");
        assert_eq!(code(roots.copy("h", ".git")), "protected");
        assert_eq!(picture(tree.base(), true), before);
        // Where every rule matches below the new name what it matched below the old one.
        for (from, to) in [("c", "c2"), ("repo", "repo2"), ("h", "h2"), ("h/free", "h/free2")] {
            assert_eq!(code(roots.rename(from, to)), "ok", "{from} {to}");
            assert_eq!(code(roots.rename(to, from)), "ok", "{from} {to}");
        }
        assert_eq!(code(roots.read("repo/.git/hooks/pre")), "ok");
        assert_eq!(code(roots.write("repo/.git/hooks/pre", "EVIL")), "protected");
    }
}

/// Catches: a copy that drops a rule on its way, or leaves out what is ruled and calls itself a copy.
#[test]
fn a_copy_of_a_tree_with_a_ruled_name() {
    let tree =
        Tree::build(["file t/a=A", "file t/d/.env=SECRET", "file u/.git/hooks/pre=P", "file f/a=A", "file f/d/b=B"]).unwrap();
    let before = picture(tree.base(), true);
    // A name that was made and taken away again shows in the time.
    let touched = || fs::metadata(tree.root()).unwrap().modified().unwrap();
    for roots in ruled(&tree, &[(".env", NONE), ("**/.git/hooks/**", READ), ("/f/a", LIST)]) {
        let time = touched();
        for (from, to, want) in [
            ("t", "t2", "protected"),
            ("u", "u2", "protected"),
            ("f", "f2", "protected"),
            ("t/d/.env", "e", "protected"),
            ("f/a", "e", "protected"),
            ("t/a", ".env", "protected"),
        ] {
            assert_eq!(code(roots.copy(from, to)), want, "{from} {to}");
            assert_eq!(code(roots.copy_replace(from, to)), want, "{from} {to}");
            assert_eq!((picture(tree.base(), true), touched()), (before.clone(), time), "{from} {to}");
        }
        for (from, to) in [("f/d", "f2"), ("t/a", "e"), ("u/.git/hooks/pre", "e2")] {
            assert_eq!(code(roots.copy(from, to)), "ok", "{from} {to}");
        }
        roots.remove_dir_all("f2").unwrap();
        roots.remove_file("e").unwrap();
        roots.remove_file("e2").unwrap();
    }
}

#[test]
fn a_rule_on_a_place_that_does_not_exist_yet() {
    let tree = Tree::build(["file free=F", "dir d"]).unwrap();
    for roots in ruled(&tree, &[("/new/secret", NONE), ("/later", READ)]) {
        kept(&tree, &roots, "later");
        assert_eq!(code(roots.create_dir_all("later/x/y")), "protected");
        assert_eq!(code(roots.create_dir_all("new/secret/x")), "protected");
        assert!(!tree.root().join("new").exists(), "all names are judged before the first is made");
        assert_eq!(code(roots.rename("d", "new")), "protected", "names that are put there later would be ruled");
        assert_eq!(code(roots.create_dir("new")), "ok");
        kept(&tree, &roots, "new/secret");
        assert_eq!(code(roots.write("new/open", "")), "ok");
        fs::remove_dir_all(tree.root().join("new")).unwrap();
    }
}

/// `X/**` is about what is below `X`, and keeps `X` where it is.
#[test]
fn everything_below_a_name_and_the_name() {
    let tree = Tree::build(["file free=F", "file p/q/f=S", "dir p/empty", "file other/f=F"]).unwrap();
    for roots in ruled(&tree, &[("/p/**", NONE), ("/absent/**", LIST)]) {
        for path in ["p", "absent"] {
            kept(&tree, &roots, path);
        }
        assert_eq!(code(roots.metadata("p")), "ok");
        let mut listing = roots.read_dir("p").unwrap();
        assert_eq!((listing.by_ref().count(), listing.hidden()), (0, 2));
        assert_eq!(code(roots.metadata("p/q")), "protected");
        assert_eq!(code(roots.create_dir("p/new")), "protected");
        assert_eq!(code(roots.create_dir_all("absent/x")), "protected");
        assert_eq!(code(roots.rename("other/f", "other/g")), "ok");
        assert_eq!(code(roots.rename("other/g", "other/f")), "ok");
    }
}

/// `x/`: directories, and links, which may lead to one.
#[test]
fn a_slash_at_the_end_is_for_directories_only() {
    let tree =
        Tree::build(["file a/build/o=O", "file b/build=F", "link c/build -> ../b/f", "file b/f=F", "dir d", "dir e"]).unwrap();
    for roots in ruled(&tree, &[("build/", NONE)]) {
        for path in ["a/build", "a/build/", "a/BUILD", "a/build/o", "c/build"] {
            assert_eq!(code(roots.metadata(path)), if path == "a/BUILD" { "not-found" } else { "protected" }, "{path}");
        }
        assert_eq!(roots.read_to_string("b/build").unwrap(), "F");
        assert_eq!(code(roots.write("b/build", "F")), "ok");
        assert_eq!(code(roots.remove_file("c/build")), "protected");
        assert_eq!(code(roots.create_dir("d/build")), "protected");
        assert_eq!(code(roots.rename("e", "d/build")), "protected");
        assert_eq!(code(roots.create_new("d/build")), "ok");
        fs::remove_file(tree.root().join("d/build")).unwrap();
        let hidden = |dir: &str| {
            let mut listing = roots.read_dir(dir).unwrap();
            (listing.by_ref().count(), listing.hidden())
        };
        assert_eq!((hidden("a"), hidden("b"), hidden("c")), ((0, 1), (2, 0), (0, 1)));
    }
}

#[test]
fn the_strictest_of_several_rules_holds() {
    let tree = Tree::build(["file a/x/f=F", "file a/y/f=F", "file b/f=F", "file b/d/g=G"]).unwrap();
    let mut rules =
        [("/a", LIST), ("/a/x/**", WRITE), ("x", READ), ("/a/y", NONE), ("f", READ), ("/b/f", NONE), ("/b/d", NONE), ("d", LIST)];
    for _ in 0..rules.len() {
        rules.rotate_left(1);
        for roots in ruled(&tree, &rules) {
            assert_eq!(code(roots.metadata("a/x/f")), "ok", "{rules:?}");
            assert_eq!(code(roots.read("a/x/f")), "protected", "{rules:?}");
            assert_eq!(code(roots.metadata("a/y")), "protected", "{rules:?}");
            assert_eq!(code(roots.metadata("b/f")), "protected", "{rules:?}");
            assert_eq!(code(roots.metadata("b/d/")), "protected", "{rules:?}");
            assert_eq!(code(roots.create_dir("a/z")), "protected", "{rules:?}");
            assert_eq!(code(roots.create_dir("z")), "ok", "{rules:?}");
            roots.remove_dir("z").unwrap();
        }
    }
}

/// `list`: names, types and metadata, and no content.
#[test]
fn a_list_rule_shows_metadata_and_no_content() {
    let tree = Tree::build(["file d/f=SECRET", "link d/l -> f", "file g=G"]).unwrap();
    for roots in ruled(&tree, &[("d", LIST)]) {
        assert_eq!(roots.metadata("d/f").unwrap().len(), 6);
        assert_eq!(roots.read_link("d/l").unwrap().to_str(), Some("f"));
        assert_eq!(code(roots.open("d/f")), "protected");
        closed(&tree, &roots, "d/f");
        for entry in roots.read_dir("d").unwrap().chain(roots.walk("d").unwrap()).map(Result::unwrap) {
            assert_eq!(code(entry.metadata()), "ok");
            assert_eq!(code(entry.read()), "protected");
        }
        assert_eq!(code(roots.open_dir("d").unwrap().read("f")), "protected");
        assert_eq!(code(roots.within("d").unwrap().read("f")), "protected");
        assert_eq!(code(roots.copy("d", "e")), "protected");
        assert_eq!(code(roots.read("g")), "ok");
    }
}
