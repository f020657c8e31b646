//! Hints: what a client sends as roots only narrows.
//!
//! Catches: a hint that adds a directory (its parent, a sibling with the same prefix, `/`, a link out, a directory that is exchanged later),
//! one that is opened by its text, a file whose directory is seen with it, own folders kept out by another spelling.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;

use cap_roots::{Access, Grant, Hint, Narrowed, Operation, Roots};
use cap_roots_oracle::tree::Tree;
use support::{Way, builder, code, narrow};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];

fn uris(roots: &Roots) -> Vec<String> {
    roots.list().map(|root| root.uri()).collect()
}

/// `left` after `hints`, and the codes of those that were refused.
fn told(narrowed: &Narrowed) -> (Vec<String>, Vec<(usize, &'static str)>) {
    let refused = narrowed.refused().iter().map(|(index, error)| (*index, error.code())).collect();
    (uris(narrowed.roots()), refused)
}

fn tree() -> Tree {
    Tree::build([
        "file d/f=F",
        "file d/sub/g=G",
        "file e/h=H",
        "file ../ROOT-old/x=SIBLING",
        "file ../out/k=OUT",
        "link l -> d",
        "link abs -> $ROOT/d/sub",
        "link out -> ../out",
        "link ../alias -> ROOT",
        "fifo pipe",
    ])
    .unwrap()
}

#[test]
fn a_hint_selects_what_was_granted_and_nothing_else() {
    for way in WAYS {
        let tree = tree();
        let roots = builder(way).named("r", tree.root(), Access::Write).open().unwrap();
        for (hints, left, refused) in [
            // The root itself, above it, below it.
            (&["$ROOT"][..], &["root://r/"][..], &[][..]),
            (&["$ROOT/"], &["root://r/"], &[]),
            (&["$BASE"], &["root://r/"], &[]),
            (&["/"], &["root://r/"], &[]),
            (&["$ROOT/d"], &["root://r/d"], &[]),
            (&["$ROOT/d/sub/"], &["root://r/d/sub"], &[]),
            // By links that stay inside: the real names.
            (&["$ROOT/l"], &["root://r/d"], &[]),
            (&["$ROOT/l/sub"], &["root://r/d/sub"], &[]),
            (&["$ROOT/abs"], &["root://r/d/sub"], &[]),
            // A file.
            (&["$ROOT/d/f"], &["root://r/d/f"], &[]),
            // Several, in the order of the roots and names, once each.
            (&["$ROOT/e", "$ROOT/d"], &["root://r/d", "root://r/e"], &[]),
            (&["$ROOT/d/sub", "$ROOT/d", "$ROOT/d/f", "$ROOT/l"], &["root://r/d"], &[]),
            (&["$ROOT/d", "$BASE"], &["root://r/"], &[]),
            // Elsewhere.
            (&["$BASE/out"], &[], &[(0, "outside-roots")]),
            (&["$BASE/ROOT-old"], &[], &[(0, "outside-roots")]),
            (&["$BASE/RO"], &[], &[(0, "outside-roots")]),
            (&["$BASE/nothing"], &[], &[(0, "outside-roots")]),
            (&["$ROOT/out"], &[], &[(0, "outside-roots")]),
            (&["$ROOT/out/k"], &[], &[(0, "outside-roots")]),
            (&["$ROOT/missing"], &[], &[(0, "not-found")]),
            (&["$ROOT/d/f/"], &[], &[(0, "not-a-directory")]),
            (&["$ROOT/pipe"], &[], &[(0, "special-file")]),
            (&["/etc", "$ROOT/d", "/proc/self/root"], &["root://r/d"], &[(0, "outside-roots"), (2, "outside-roots")]),
            (&[], &[], &[]),
        ] {
            let (uris, codes) = told(&narrow(&tree, &roots, hints));
            assert_eq!((uris, &codes[..]), (left.iter().map(|uri| (*uri).to_owned()).collect(), refused), "{hints:?} {way:?}");
        }
    }
}

/// A directory that was given by another spelling is hinted at by either (ALIAS-01, and the same for what a client sends).
#[test]
fn both_spellings_of_a_linked_root_are_hints_for_it() {
    let tree = tree();
    let roots = builder(Way::Fast).named("r", tree.base().join("alias"), Access::Read).open().unwrap();
    for (hint, left) in
        [("$BASE/alias", "root://r/"), ("$ROOT", "root://r/"), ("$BASE/alias/l", "root://r/d"), ("$ROOT/d", "root://r/d")]
    {
        assert_eq!(told(&narrow(&tree, &roots, &[hint])).0, [left], "{hint}");
    }
    let narrowed = narrow(&tree, &roots, &["$BASE/alias/d"]).into_roots();
    for path in ["f", "$BASE/alias/d/f", "$ROOT/d/f", "root://r/d/f"] {
        assert_eq!(narrowed.read_to_string(tree.expand(path)).unwrap(), "F", "{path}");
    }
    assert_eq!(narrowed.list().next().unwrap().host_path(), tree.base().join("alias/d"));
}

#[test]
fn what_no_hint_selects_is_out_of_view() {
    for way in WAYS {
        let tree = tree();
        let roots = builder(way).named("r", tree.root(), Access::Write).open().unwrap();
        let narrowed = narrow(&tree, &roots, &["$ROOT/d/sub", "$ROOT/e"]).into_roots();
        for path in ["g", "root://r/d/sub/g", "root://r/e/h", "$ROOT/d/sub/g", "$ROOT/e/h", "$ROOT/e/../e/h"] {
            let there = narrowed.read_to_string(tree.expand(path));
            // `..` above the directory of a hint is above all of it, also where it comes back by text.
            assert_eq!(code(there), if path.contains("..") { "outside-roots" } else { "ok" }, "{path} {way:?}");
        }
        for path in
            ["..", "../f", "root://r/", "root://r/d", "root://r/d/f", "$ROOT/d/f", "$ROOT", "$BASE/out/k", "$ROOT/l/sub/g"]
        {
            assert_eq!(code(narrowed.metadata(tree.expand(path))), "outside-roots", "{path} {way:?}");
            assert_eq!(code(narrowed.write(tree.expand(path), "X")), "outside-roots", "{path} {way:?}");
        }
        assert_eq!(code(narrowed.rename("g", "root://r/d/g")), "outside-roots");
        narrowed.rename("g", "root://r/e/g").unwrap();
        assert_eq!(fs::read(tree.root().join("e/g")).unwrap(), b"G");
        assert_eq!(narrowed.walk("root://r/e").unwrap().count(), 2);
    }
}

#[test]
fn nothing_selected_is_no_access() {
    let tree = tree();
    let roots = builder(Way::Fast).named("r", tree.root(), Access::Write).open().unwrap();
    for hints in [&[][..], &["$BASE/out"], &["/etc", "$ROOT/missing"]] {
        let none = narrow(&tree, &roots, hints).into_roots();
        for path in ["d/f", "$ROOT/d/f", "root://r/d/f", "."] {
            assert_eq!(code(none.read(tree.expand(path))), "no-roots", "{hints:?}");
        }
        assert_eq!(none.list().count(), 0);
        // What is nothing stays nothing.
        assert_eq!(narrow(&tree, &none, &["$ROOT", "/"]).into_roots().list().count(), 0);
    }
    let many: Vec<Hint> = (0..129).map(|_| Hint::parse(&format!("file://{}", tree.root().display())).unwrap()).collect();
    assert_eq!(told(&roots.narrow(&many)), (vec![], vec![(128, "limit")]));
    assert_eq!(told(&roots.narrow(&many[1..])).0, ["root://r/"]);
}

#[test]
fn a_name_in_another_unicode_form_is_the_same_file() {
    let tree = Tree::build(["file d/e\u{301}=F", "file e\u{301}/g=G"]).unwrap();
    let roots = builder(Way::Fast).named("r", tree.root(), Access::Read).open().unwrap();
    let one = narrow(&tree, &roots, &["$ROOT/d/\u{e9}"]).into_roots();
    for path in ["\u{e9}", "e\u{301}", "$ROOT/d/\u{e9}", "root://r/d/%C3%A9"] {
        assert_eq!(one.read_to_string(tree.expand(path)).unwrap(), "F", "{path}");
    }
    let dir = narrow(&tree, &roots, &["$ROOT/\u{e9}"]).into_roots();
    for path in ["g", "$ROOT/\u{e9}/g", "$ROOT/e\u{301}/g", "root://r/%C3%A9/g"] {
        assert_eq!(dir.read_to_string(tree.expand(path)).unwrap(), "G", "{path}");
    }
}

/// Catches: a held directory that is followed out of its grant; names that are looked up through a link that was planted later.
#[test]
fn a_directory_that_is_exchanged_later_adds_nothing() {
    for way in WAYS {
        let tree = tree();
        let roots = builder(way).named("r", tree.root(), Access::Write).open().unwrap();
        let narrowed = narrow(&tree, &roots, &["$ROOT/d/sub"]).into_roots();
        fs::rename(tree.root().join("d"), tree.base().join("taken")).unwrap();
        assert_eq!(code(narrowed.read("g")), "not-found", "moved out: {way:?}");
        symlink(tree.base().join("taken"), tree.root().join("d")).unwrap();
        assert_eq!(code(narrowed.read("g")), "not-a-directory", "by a link: {way:?}");
        assert_eq!(told(&narrow(&tree, &roots, &["$ROOT/d/sub"])), (vec![], vec![(0, "outside-roots")]));
        fs::remove_file(tree.root().join("d")).unwrap();
        fs::create_dir_all(tree.root().join("d/sub")).unwrap();
        fs::write(tree.root().join("d/sub/g"), "OTHER").unwrap();
        assert_eq!(narrowed.read_to_string("g").unwrap(), "OTHER", "what has the names: {way:?}");
    }
}

/// Access, rules, limits and the end of the grant hold in what hints leave.
#[test]
fn what_a_grant_forbids_no_hint_allows() {
    let tree = Tree::build(["file d/f=F", "file d/.env=S", "file secret/x=X", "file d/in/y=Y"]).unwrap();
    let grant =
        |access| Grant::new(tree.root()).name("r").access(access).rule(".env", Access::None).rule("/secret", Access::None);
    let roots = Roots::builder().grant(grant(Access::Read)).open().unwrap();
    let d = narrow(&tree, &roots, &["$ROOT/d"]).into_roots();
    assert_eq!(code(d.write("f", "X")), "not-granted");
    assert_eq!(code(d.read(".env")), "protected");
    for hint in ["$ROOT/d/.env", "$ROOT/secret", "$ROOT/secret/x"] {
        assert_eq!(told(&narrow(&tree, &roots, &[hint])), (vec![], vec![(0, "protected")]), "{hint}");
    }
    // A rule that comes with a directory inside holds by the outer name too.
    let inner = Grant::new(tree.root().join("d/in")).name("i").access(Access::Read);
    let nested = Roots::builder().grant(grant(Access::Write)).grant(inner).open().unwrap();
    let both = narrow(&tree, &nested, &["$ROOT/d"]);
    assert_eq!(told(&both).0, ["root://r/d", "root://i/"]);
    for path in ["in/y", "root://i/y", "$ROOT/d/in/y"] {
        assert_ne!(code(both.roots().write(tree.expand(path), "X")), "ok", "{path}");
        assert_eq!(both.roots().read_to_string(tree.expand(path)).unwrap(), "Y", "{path}");
    }
    assert_eq!(told(&narrow(&tree, &nested, &["$ROOT/d/in"])).0, ["root://i/"]);
    // Revoked with all the rest, and limited like any set.
    let limited = both.roots().limit(Access::List);
    assert_eq!(code(limited.read("f")), "not-granted");
    nested.revoke();
    assert_eq!(code(both.roots().read("f")), "revoked");
}

#[test]
fn narrowed_sets_narrow_further_and_never_back() {
    let tree = tree();
    let roots = builder(Way::Fast).named("r", tree.root(), Access::Write).open().unwrap();
    let d = narrow(&tree, &roots, &["$ROOT/d"]).into_roots();
    for (hint, left) in
        [("$ROOT", vec!["root://r/d"]), ("/", vec!["root://r/d"]), ("$ROOT/d/sub", vec!["root://r/d/sub"]), ("$ROOT/e", vec![])]
    {
        assert_eq!(told(&narrow(&tree, &d, &[hint])).0, left, "{hint}");
    }
    assert_eq!(uris(&d.within("sub").unwrap()), ["root://r/d/sub"]);
    assert_eq!(code(narrow(&tree, &d, &["$ROOT/d/sub"]).roots().within("../f")), "outside-roots");
    // The verdict without the disk says the same.
    assert!(d.explain("f", Operation::Open).verdict().is_ok());
    assert!(d.explain(tree.expand("$ROOT/e/h"), Operation::Open).verdict().is_err());
}

/// A directory that was missing at start has its place kept, and none is made up for it.
#[test]
fn a_hint_at_a_missing_root_waits_with_it() {
    let tree = Tree::build(["file d/f=F"]).unwrap();
    let missing = tree.base().join("later");
    let roots = builder(Way::Fast).named("r", tree.root(), Access::Read).named("l", &missing, Access::Read).open().unwrap();
    let narrowed = narrow(&tree, &roots, &["$BASE/later"]).into_roots();
    assert_eq!(code(narrowed.read("a")), "root-absent");
    assert_eq!(told(&narrow(&tree, &roots, &["$BASE/later/a"])), (vec![], vec![(0, "root-absent")]));
    fs::create_dir(&missing).unwrap();
    fs::write(missing.join("a"), "A").unwrap();
    assert_eq!(narrowed.read_to_string("a").unwrap(), "A");
}

/// LEAK: reasons are for whoever sent the list and for logs; none repeats what was sent, nor tells what is there.
#[test]
fn reasons_repeat_no_path() {
    let tree = tree();
    let roots = builder(Way::Fast).named("r", tree.root(), Access::Read).open().unwrap();
    let there = narrow(&tree, &roots, &["$BASE/out", "$BASE/nothing", "$ROOT/missing", "$ROOT/pipe"]);
    let texts: Vec<String> = there.refused().iter().map(|(_, error)| format!("{error} {error:?}")).collect();
    assert_eq!((texts[0].as_str(), there.refused().len()), (texts[1].as_str(), 4), "alike, whether or not it is there");
    let bad =
        ["file:///etc/SECRET?", "SECRET", "file://SECRET/x", "file:///SECRET/%zz", "file:///SECRET/..", "file:///C:/SECRET"];
    let bad = bad.map(|uri| Hint::parse(uri).unwrap_err()).map(|error| format!("{error} {error:?}"));
    let base = tree.base().to_str().unwrap().to_owned();
    for text in texts.iter().chain(&bad) {
        assert!(!text.contains("SECRET") && !text.contains(&base) && !text.contains("out/"), "{text}");
    }
    let hint = Hint::parse("file:///etc/SECRET").unwrap();
    assert!(!format!("{hint:?} {:?}", roots.narrow([&hint])).contains("SECRET"));
}

/// Two names that differ in their Unicode form alone are two: each is reached by its own, and a hint selects the one that it names.
/// Catches: a folded match that comes before an exact one.
#[test]
fn a_name_that_fits_as_it_is_comes_first() {
    for way in WAYS {
        let tree = Tree::build([
            "file caf\u{e9}/x=NFC",
            "file cafe\u{301}/x=NFD",
            "file f\u{e9}=NFC",
            "file fe\u{301}=NFD",
            "dir ../r\u{e9}",
            "dir ../re\u{301}",
        ])
        .unwrap();
        let roots = builder(way).named("r", tree.root(), Access::Write).open().unwrap();
        let all =
            narrow(&tree, &roots, &["$ROOT/caf\u{e9}", "$ROOT/cafe\u{301}", "$ROOT/f\u{e9}", "$ROOT/fe\u{301}"]).into_roots();
        assert_eq!(all.list().count(), 4);
        for root in all.list() {
            let uri = root.uri();
            let path = if uri.contains("caf") { format!("{uri}/x") } else { uri };
            let want = if path.contains("%C3%A9") { "NFC" } else { "NFD" };
            assert_eq!(all.read_to_string(&path).unwrap(), want, "{path} {way:?}");
            assert_eq!(
                all.read_to_string(
                    root.host_path().join(if path.ends_with("/x") { "x" } else { "" }).to_str().unwrap().trim_end_matches('/')
                )
                .unwrap(),
                want,
                "{path} {way:?}"
            );
        }
        let two = builder(way).named("d", tree.base().join("re\u{301}"), Access::Read).named(
            "c",
            tree.base().join("r\u{e9}"),
            Access::Read,
        );
        let two = two.open().unwrap();
        assert_eq!(told(&narrow(&tree, &two, &["$BASE/r\u{e9}"])).0, ["root://c/"], "{way:?}");
        assert_eq!(told(&narrow(&tree, &two, &["$BASE/re\u{301}"])).0, ["root://d/"], "{way:?}");
        let one = builder(way).named("d", tree.base().join("re\u{301}"), Access::Read).open().unwrap();
        assert_eq!(told(&narrow(&tree, &one, &["$BASE/r\u{e9}"])).0, ["root://d/"], "where nothing fits as it is: {way:?}");
    }
}
