//! What rules tell, to the operator and to callers, and how they reach over roots that lie inside each other.
//!
//! Catches: a rule that cannot be read and protects nothing without a word, an answer that depends on whether a protected name exists, hidden
//! names that are listed or not counted, an inner root's name that is a way round the outer one's rules, and the other way round.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;

use cap_roots::{Access, Builder, Grant, Operation, Roots};
use cap_roots_oracle::tree::Tree;
use support::writing::picture;
use support::{Way, builder, code};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];

#[test]
fn a_rule_that_cannot_be_read_is_an_error_at_start() {
    let tree = Tree::build(["dir d"]).unwrap();
    let long = "x".repeat(4096);
    let deep = vec!["x"; 63].join("/");
    let bad = [
        "", "/", "//", "a//b", "a/./b", "a/../b", "..", ".", "a\\b", "!a", "~", "~/a", "a\nb", "a\u{0}b", "a**", "**a/b",
        "a/b**c", "[", "[]", "[a", "a[!", "[!]", "x/[a-", &long, &deep,
    ];
    for glob in bad {
        for builder in [
            Roots::builder().root(tree.root(), Access::Write).rule(glob, Access::None),
            Roots::builder().grant(Grant::new(tree.root()).access(Access::Write).rule(glob, Access::None)),
        ] {
            let error = builder.open().unwrap_err();
            assert_eq!(error.code(), "invalid-argument", "{glob:?}");
            assert!(!error.to_string().contains(tree.base().to_str().unwrap()), "{error}");
        }
    }
    for glob in
        ["a", "/a", "a/", "a/b", "**", "a/**", "**/a", "a/**/b", "[a]", "[]a]", "[a-]", "*", "?", "a~", "a b", "\u{e9}", "[*]"]
    {
        assert_eq!(code(Roots::builder().root(tree.root(), Access::Write).rule(glob, Access::None).open()), "ok", "{glob:?}");
    }
}

/// A rule starts at the top of a root, so a path of the host would match nothing.
#[test]
fn a_path_of_the_host_is_no_rule() {
    let tree = Tree::build(["file d/f=F", "link ../alias -> ROOT"]).unwrap();
    let open = |root: &str, glob: &str| {
        let builder = Roots::builder().root(tree.base().join(root), Access::Write);
        code(builder.rule(tree.expand(glob), Access::None).open())
    };
    for glob in ["$ROOT/d", "$ROOT/d/**", "$ROOT", "$ROOT/"] {
        assert_eq!(open("ROOT", glob), "invalid-argument", "{glob}");
    }
    assert_eq!(open("alias", "$BASE/alias/d"), "invalid-argument", "as it was given");
    assert_eq!(open("ROOT", "/d"), "ok");
    assert_eq!(open("ROOT", "/tmp"), "ok");
}

/// The directory's other spelling is a path of the host as well.
#[test]
fn a_canonical_path_of_the_host_is_no_rule() {
    let tree = Tree::build(["file d/f=F", "link ../alias -> ROOT"]).unwrap();
    let builder = Roots::builder().root(tree.base().join("alias"), Access::Write);
    assert_eq!(code(builder.rule(tree.expand("$ROOT/d"), Access::None).open()), "invalid-argument");
}

/// Catches: an answer, or a text, that depends on whether anything is there.
#[test]
fn what_is_protected_is_protected_whether_or_not_it_is_there() {
    let build = |lines: &[&str]| Tree::build(["dir d"].iter().chain(lines)).unwrap();
    let there = build(&["file d/secret=S", "file keys/id=S"]);
    let missing = build(&[]);
    let other = build(&["dir d/secret", "file keys=S"]);
    let told = |tree: &Tree, way: Way| {
        let roots = builder(way).named("r", tree.root(), Access::Write).rule("secret", Access::None).rule("/keys", Access::None);
        let roots = roots.open().unwrap();
        let mut told = Vec::new();
        for path in
            ["d/secret", "d/secret/", "d/secret/x", "d/SECRET", "keys/id", "keys", "keys/..", "root://r/d/secret", "d/../keys/id"]
        {
            told.push(roots.read(path).map(drop));
            told.push(roots.metadata(path).map(drop));
            told.push(roots.symlink_metadata(path).map(drop));
            told.push(roots.exists(path).map(drop));
            told.push(roots.read_dir(path).map(drop));
            told.push(roots.read_link(path).map(drop));
            told.push(roots.write(path, ""));
            told.push(roots.create_dir(path));
            told.push(roots.remove_dir_all(path));
            told.push(roots.rename(path, "x"));
            told.push(roots.rename("d", path));
            assert_eq!(roots.explain(path, Operation::Open).verdict().map_err(|kind| kind.code()), Err("protected"), "{path}");
        }
        told.into_iter().map(|outcome| outcome.unwrap_err().to_string()).collect::<Vec<_>>()
    };
    for way in WAYS {
        let first = told(&there, way);
        assert!(first.iter().all(|text| text.starts_with("protected: ")), "{first:#?}");
        assert_eq!(told(&missing, way), first);
        assert_eq!(told(&other, way), first);
    }
}

/// RULE-03, RULE-04: hidden names are counted, not listed, and what is below them is not counted.
#[test]
fn hidden_names_are_counted_and_not_listed() {
    let mut lines: Vec<String> = (0..50).map(|number| format!("file build/o{number}=O")).collect();
    lines.extend(
        ["file a.txt=A", "file sub/.env=S", "file sub/b=B", "file .env=S", "dir shut", "file sub/.cap-roots-0.tmp=T"]
            .map(String::from),
    );
    let tree = Tree::build(&lines).unwrap();
    for way in WAYS {
        let roots = builder(way).named("r", tree.root(), Access::Write).rule("build/", Access::None).rule(".env", Access::None);
        let roots = roots.rule("shut", Access::List).open().unwrap();
        let mut listing = roots.read_dir(".").unwrap();
        let mut names: Vec<_> = listing.by_ref().map(|entry| entry.unwrap().name().to_owned()).collect();
        names.sort();
        assert_eq!(names, ["a.txt", "shut", "sub"]);
        assert_eq!(listing.hidden(), 2);
        let mut walk = roots.walk(".").unwrap();
        let mut uris: Vec<_> = walk.by_ref().map(|entry| entry.unwrap().uri()).collect();
        uris.sort();
        assert_eq!(uris, ["root://r/a.txt", "root://r/shut", "root://r/sub", "root://r/sub/b"]);
        assert_eq!((walk.hidden(), walk.cut()), (3, None));
        let mut below = roots.open_dir("sub").unwrap().entries().unwrap();
        assert_eq!((below.by_ref().count(), below.hidden()), (1, 1), "names of ours are nobody's");
        assert_eq!(roots.within("sub").unwrap().walk(".").unwrap().count(), 1);
    }
}

/// Catches: a recursive removal that finds out half-way.
#[test]
fn a_tree_with_a_ruled_name_is_removed_whole_or_not_at_all() {
    let lines = ["file t/a=A", "file t/d/e/f/.env=S", "file t/z=Z", "file u/a=A", "link u/l -> ../t", "file v/list=L"];
    for way in WAYS {
        let tree = Tree::build(lines).unwrap();
        let roots = builder(way).named("r", tree.root(), Access::Write).rule(".env", Access::None).rule("list", Access::Read);
        let roots = roots.open().unwrap();
        let before = picture(tree.base(), true);
        for path in ["t", "t/d", "t/d/e/", "v"] {
            assert_eq!(code(roots.remove_dir_all(path)), "protected", "{path}");
            assert_eq!(code(roots.open_dir(".").unwrap().remove_dir_all(path)), "protected", "{path}");
        }
        assert_eq!(picture(tree.base(), true), before);
        assert_eq!(code(roots.remove_dir_all("u")), "ok");
        assert_eq!(fs::read_dir(tree.root()).unwrap().count(), 2, "not through the link");
    }
}

fn nested(way: Way, outer: Grant, inner: Grant) -> [Roots; 2] {
    let open = |builder: Builder, grants: [&Grant; 2]| builder.grant(grants[0].clone()).grant(grants[1].clone()).open().unwrap();
    [open(builder(way), [&outer, &inner]), open(builder(way), [&inner, &outer])]
}

fn tree() -> Tree {
    Tree::build([
        "file a/in/f=F",
        "file a/in/d/.env=S",
        "file a/in/secret=S",
        "file a/x=X",
        "file free=F",
        "link up -> a/in/secret",
    ])
    .unwrap()
}

/// An object is judged by its name in every root that holds it.
#[test]
fn rules_of_each_root_hold_by_the_name_of_the_other() {
    for way in WAYS {
        let tree = tree();
        let outer = Grant::new(tree.root())
            .name("out")
            .access(Access::Write)
            .rule("/a/in/secret", Access::None)
            .rule("x.txt", Access::Read);
        let inner = Grant::new(tree.root().join("a/in")).name("in").access(Access::Write).rule("/d/.env", Access::None);
        for roots in nested(way, outer, inner) {
            for path in ["root://in/secret", "root://out/a/in/secret", "$ROOT/a/in/secret", "root://in/SECRET", "root://out/up"] {
                assert_eq!(code(roots.read(tree.expand(path))), "protected", "{path} {way:?}");
            }
            for path in ["root://in/d/.env", "root://out/a/in/d/.env", "$ROOT/a/in/d/.env", "root://out/a/in/d/../d/.env"] {
                assert_eq!(code(roots.read(tree.expand(path))), "protected", "{path} {way:?}");
            }
            for path in ["root://in/x.txt", "root://out/a/in/x.txt", "root://out/x.txt"] {
                assert_eq!(code(roots.write(path, "")), "protected", "{path} {way:?}");
            }
            assert_eq!(code(roots.rename("root://in/d", "root://in/e")), "protected", "{way:?}");
            for path in ["root://in/f", "root://out/a/in/f", "$ROOT/a/in/f"] {
                assert_eq!(code(roots.write(tree.expand(path), "F")), "ok", "{path} {way:?}");
            }
            assert!(roots.list().all(|root| root.inside().is_none()));
        }
    }
}

#[test]
fn an_inner_root_with_less_access_holds_through_the_outer_one() {
    for way in WAYS {
        for (access, reads) in [(Access::Read, "ok"), (Access::List, "protected"), (Access::None, "protected")] {
            let tree = tree();
            let outer = Grant::new(tree.root()).name("out").access(Access::Write);
            let inner = Grant::new(tree.root().join("a/in")).name("in").access(access);
            for roots in nested(way, outer, inner) {
                assert_eq!(code(roots.read("root://out/a/in/f")), reads, "{access} {way:?}");
                assert_eq!(code(roots.read("root://out/up")), reads, "{access} {way:?}");
                assert_eq!(code(roots.write("root://out/a/in/f", "")), "protected", "{access} {way:?}");
                assert_eq!(code(roots.create_dir("root://out/a/in/new")), "protected", "{access} {way:?}");
                assert_eq!(code(roots.write("root://in/f", "")), "not-granted", "{access} {way:?}");
                assert_eq!(code(roots.write("root://out/a/x", "X")), "ok");
                let inside: Vec<_> =
                    roots.list().map(|root| (root.name().to_owned(), root.inside().map(str::to_owned))).collect();
                assert!(inside.contains(&("in".to_owned(), Some("out".to_owned()))), "{inside:?}");
                assert!(inside.contains(&("out".to_owned(), None)), "{inside:?}");
            }
        }
    }
}

#[test]
fn an_inner_root_with_more_access_is_its_own() {
    for way in WAYS {
        let tree = tree();
        let outer = Grant::new(tree.root()).name("out").access(Access::List);
        let inner = Grant::new(tree.root().join("a/in")).name("in").access(Access::Write);
        for roots in nested(way, outer, inner) {
            assert_eq!(code(roots.read("root://out/a/in/f")), "not-granted");
            assert_eq!(code(roots.read("root://out/up")), "not-granted");
            assert_eq!(code(roots.metadata("root://out/a/in/f")), "ok");
            assert_eq!(code(roots.write("root://in/f", "F")), "ok");
            assert!(roots.list().all(|root| root.inside().is_none()));
        }
    }
}

#[test]
fn a_root_is_inside_the_nearest_one_with_more_access() {
    let tree = tree();
    let grants = [("one", ".", Access::Write), ("two", "a", Access::Read), ("three", "a/in", Access::List)];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let add =
            |builder: Builder, index: usize| builder.named(grants[index].0, tree.root().join(grants[index].1), grants[index].2);
        let roots = order.into_iter().fold(Roots::builder(), add).open().unwrap();
        for root in roots.list() {
            let want = match root.name() {
                "one" => None,
                "two" => Some("one"),
                _ => Some("two"),
            };
            assert_eq!(root.inside(), want, "{} {order:?}", root.name());
        }
        for path in ["root://one/a/in/f", "root://two/in/f"] {
            assert_eq!((code(roots.metadata(path)), code(roots.read(path))), ("ok", "protected"), "{path} {order:?}");
        }
    }
}

/// Whatever the grants: a root's directory is not moved away under its operator, by either name.
#[test]
fn a_nested_roots_directory_stays_where_it_is() {
    for way in WAYS {
        for access in [Access::Read, Access::Write] {
            let tree = tree();
            let outer = Grant::new(tree.root()).name("out").access(Access::Write);
            let inner = Grant::new(tree.root().join("a/in")).name("in").access(access);
            let before = picture(tree.base(), true);
            for roots in nested(way, outer, inner) {
                for path in ["root://out/a/in", "root://out/a/in/", "root://out/A/IN", "root://out/a"] {
                    assert_eq!(code(roots.rename(path, "root://out/b")), "protected", "{path}");
                    assert_eq!(code(roots.remove_dir_all(path)), "protected", "{path}");
                }
                assert_eq!(code(roots.remove_dir("root://out/a/in")), "protected");
                assert_eq!(code(roots.rename_replace("root://out/free", "root://out/a/in")), "protected");
                assert_eq!(
                    code(roots.remove_dir_all("root://in/")),
                    if access == Access::Write { "protected" } else { "not-granted" }
                );
                assert_eq!(picture(tree.base(), true), before, "{access} {way:?}");
                assert_eq!(code(roots.rename("root://out/a/x", "root://out/a/y")), "ok");
                assert_eq!(code(roots.rename("root://out/a/y", "root://out/a/x")), "ok");
            }
        }
    }
}

/// NO-LAUNDERING: what lies in a grant without deletion is not carried, by that grant's own name, to where another one deletes it.
#[test]
fn a_grant_without_deletion_is_not_left_by_way_of_a_root_inside_it() {
    for way in WAYS {
        let tree = tree();
        let outer = Grant::new(tree.root()).name("out").access(Access::Write).no_delete();
        let inner = Grant::new(tree.root().join("a/in")).name("in").access(Access::Write);
        for roots in nested(way, outer, inner) {
            assert_eq!(code(roots.rename("root://out/free", "root://in/free")), "cross-root");
            let moved = roots.rename("root://out/free", "root://out/a/in/free");
            let removed = roots.remove_file("root://in/free");
            assert!(moved.is_err() || removed.is_err(), "a file of a grant without deletion is gone, {way:?}");
        }
    }
}

/// Catches: rules that are dropped where they have more names than fit. An error at start is an answer as well.
#[test]
fn a_long_rule_of_an_inner_root_holds_in_the_outer_one() {
    let below = vec!["x"; 60].join("/");
    let tree = Tree::build([format!("file a/b/c/{below}=SECRET")]).unwrap();
    let inner = Grant::new(tree.root().join("a/b/c")).name("in").access(Access::Write).rule(format!("/{below}"), Access::None);
    let Ok(roots) = Roots::builder().named("out", tree.root(), Access::Write).grant(inner).open() else { return };
    assert_eq!(code(roots.read(format!("root://in/{below}"))), "protected");
    assert_eq!(code(roots.read(format!("root://out/a/b/c/{below}"))), "protected");
}

#[test]
fn an_inner_root_may_lie_deeper_than_a_rule_is_long() {
    let deep = vec!["d"; 70].join("/");
    let tree = Tree::build([format!("file {deep}/f=F")]).unwrap();
    let builder = Roots::builder().named("out", tree.root(), Access::Write);
    let Ok(roots) = builder.named("in", tree.root().join(&deep), Access::Read).open() else { return };
    assert_eq!(code(roots.write(format!("root://out/{deep}/f"), "NEW")), "protected");
    assert_eq!(code(roots.write("root://out/d/d/d/d/d/d/new", "NEW")), "ok");
}

/// Catches: a pattern that is folded as text, so that the ends of a range change places.
#[test]
fn a_range_over_cases_matches_what_lies_in_it() {
    let tree = Tree::build(["file a=A", "file z=Z", "file _=U", "file m=M"]).unwrap();
    let open = |glob: &str| Roots::builder().root(tree.root(), Access::Write).rule(glob, Access::None).open().unwrap();
    for name in ["a", "z", "_"] {
        assert_eq!(code(open("[Z-a]").read(name)), "protected", "{name}");
    }
    for name in ["a", "z", "_", "m"] {
        assert_eq!(code(open("[A-z]").read(name)), "protected", "{name}");
    }
}

/// Catches: one character of the pattern compared with one of the folded name, which may have more.
#[test]
fn a_character_that_folds_to_several_is_one() {
    let tree = Tree::build(["file \u{df}.key=S"]).unwrap();
    for glob in ["?.key", "[\u{df}].key", "[!a].key"] {
        let roots = Roots::builder().root(tree.root(), Access::Write).rule(glob, Access::None).open().unwrap();
        assert_eq!(code(roots.read("\u{df}.key")), "protected", "{glob}");
    }
}
