//! Public faults of file servers and agents that show when something is written: the foreign effect is kept out, and the own one let in.
//!
//! The names are those of the ledger in SECURITY.md. Catches: writes that follow a link out, names made outside, other names' bytes changed,
//! rules that another spelling or a parent's name walks around.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use cap_roots::{Access, Roots};
use cap_roots_oracle::tree::Tree;
use support::writing::{CHANGES, picture};
use support::{Way, builder, code, roots};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];

fn tree(lines: &[&str]) -> Tree {
    Tree::build(["file ../out/real.txt=SECRET", "dir ../out/e", "file a.txt=A", "file d/x=X"].iter().chain(lines)).unwrap()
}

fn ruled(tree: &Tree, way: Way, glob: &str, access: Access) -> Roots {
    builder(way).named("r", tree.root(), Access::Write).rule(glob, access).open().unwrap()
}

/// LINK-02, LINK-03, LINK-05, LINK-08. Catches: a name on the way, or the last one, resolved by the system when something is written.
#[test]
fn link_02_link_03_link_05_link_08_writes_through_links_out() {
    let lines = [
        "link out -> $BASE/out",
        "link rel -> ../out",
        "link d/chain -> ../rel",
        "link notes.txt -> $BASE/out/real.txt",
        "link dangling -> ../out/new.txt",
        "link nowhere -> ../none/new.txt",
        "link in -> d/x",
        "link new -> d/new",
        "link dir -> d",
        "link abs -> $ROOT/d",
    ];
    for way in WAYS {
        let tree = tree(&lines);
        let before = picture(tree.base(), true);
        let roots = roots(&tree, way);
        let files = ["out/real.txt", "rel/real.txt", "d/chain/real.txt", "notes.txt", "dangling", "nowhere"];
        let missing = ["out/new.txt", "rel/new.txt", "d/chain/e/new.txt", "out/a/b/c.txt"];
        for path in files.iter().chain(&missing) {
            for (op, change) in CHANGES {
                let outcome = change(&roots, path);
                assert_eq!(code(outcome), "outside-roots", "{op} {path} {way:?}");
            }
        }
        for path in ["out/n", "rel/real.txt", "d/chain/n", "out/e/n", "out/a/b"] {
            let outcomes = [
                code(roots.create_new(path)),
                code(roots.create_dir(path)),
                code(roots.create_dir_all(format!("{path}/m"))),
                code(roots.remove_file(path)),
                code(roots.remove_dir(path)),
                code(roots.remove_dir_all(path)),
                code(roots.rename("a.txt", path)),
                code(roots.rename_replace("a.txt", path)),
                code(roots.rename(path, "stolen")),
                code(roots.copy(path, "stolen")),
                code(roots.copy("d", path)),
            ];
            assert!(outcomes.iter().all(|code| *code == "outside-roots"), "{path} {way:?} {outcomes:?}");
        }
        assert_eq!(code(roots.copy("notes.txt", "stolen")), "outside-roots");
        assert_eq!(code(roots.create_dir_all("out")), "already-exists");
        assert_eq!(picture(tree.base(), true), before, "{way:?}");
        // A link that stays inside is followed, and what it names is made.
        for (path, real) in [("in", "d/x"), ("new", "d/new"), ("dir/y", "d/y"), ("abs/z", "d/z")] {
            assert_eq!(code(roots.write(path, "OWN")), "ok", "{path} {way:?}");
            assert_eq!(fs::read(tree.root().join(real)).unwrap(), b"OWN", "{path} {way:?}");
        }
        assert_eq!(code(roots.create_dir_all("abs/p/q")), "ok");
        assert!(tree.root().join("new").is_symlink() && tree.root().join("d/p/q").is_dir());
    }
}

/// RACE-02, without a race: what was judged is exchanged in the middle of the operation.
#[test]
fn race_02_a_file_that_is_exchanged_for_a_link_meanwhile() {
    for way in WAYS {
        let tree = tree(&[]);
        let roots = roots(&tree, way);
        let outcome = roots.update("d/x", |_| {
            fs::remove_file(tree.root().join("d/x")).unwrap();
            symlink("../../out/real.txt", tree.root().join("d/x")).unwrap();
            Ok(b"EVIL".to_vec())
        });
        assert_eq!(code(outcome), "conflict", "{way:?}");
        assert_eq!(code(roots.update("d/x", |_| Ok(b"EVIL".to_vec()))), "outside-roots");
        let outcome = roots.update("a.txt", |old| {
            fs::write(tree.root().join("a.txt"), "ANOTHER").unwrap();
            Ok(old)
        });
        assert_eq!(code(outcome), "conflict", "{way:?}");
        assert_eq!(fs::read(tree.root().join("a.txt")).unwrap(), b"ANOTHER");
        assert_eq!(fs::read(tree.base().join("out/real.txt")).unwrap(), b"SECRET");
        assert_eq!(code(roots.update("a.txt", |old| Ok([old, b"+".to_vec()].concat()))), "ok");
        assert_eq!(fs::read(tree.root().join("a.txt")).unwrap(), b"ANOTHER+");
    }
}

/// HARD-01. Catches: a file changed in place that has a name outside.
#[test]
fn hard_01_the_other_name_keeps_its_bytes() {
    for way in WAYS {
        for (op, change) in CHANGES {
            let want = if ["write", "update", "copy_replace"].contains(&op) { "ok" } else { "hard-linked" };
            for path in ["h", "l"] {
                let tree = tree(&["hard h = ../out/real.txt", "link l -> h"]);
                let outside = tree.base().join("out/real.txt");
                let before = fs::metadata(&outside).unwrap();
                assert_eq!(code(change(&roots(&tree, way), path)), want, "{op} {path} {way:?}");
                assert_eq!(fs::read(&outside).unwrap(), b"SECRET", "{op} {path} {way:?}");
                let after = fs::metadata(&outside).unwrap();
                assert_eq!((after.mode(), after.mtime()), (before.mode(), before.mtime()), "{op} {path} {way:?}");
                // Replaced, the name is a file of its own.
                assert_eq!(fs::metadata(tree.root().join("h")).unwrap().nlink() == 1, want == "ok", "{op} {path} {way:?}");
            }
        }
        let tree = tree(&["hard h = ../out/real.txt"]);
        let roots = roots(&tree, way);
        for outcome in
            [roots.append("h", "x"), roots.set_len("h", 0), roots.set_permissions("h", 0o777), roots.set_times("h", None, None)]
        {
            let error = outcome.unwrap_err();
            assert_eq!(error.code(), "hard-linked");
            assert!(error.to_string().contains("more than one name"), "{error}");
        }
    }
}

/// HARD-03. Catches: files that are shared on purpose taken for missing ones.
#[test]
fn hard_03_a_shared_file_is_read_moved_and_copied() {
    for way in WAYS {
        let tree = tree(&["hard h = ../out/real.txt", "hard d/two = a.txt"]);
        let roots = roots(&tree, way);
        assert_eq!(roots.read_to_string("h").unwrap(), "SECRET");
        assert_eq!(roots.copy("h", "copied").unwrap().files, 1);
        assert_eq!(code(roots.rename("h", "h2")), "ok");
        assert_eq!(code(roots.rename_replace("a.txt", "d/two")), "ok", "two names of one file stay (rename(2))");
        assert!(tree.root().join("a.txt").exists() && tree.root().join("d/two").exists());
        assert_eq!(code(roots.copy_replace("a.txt", "d/two")), "invalid-argument");
        assert_eq!(code(roots.remove_file("h2")), "ok");
        assert_eq!(fs::read(tree.base().join("out/real.txt")).unwrap(), b"SECRET");
        assert_eq!(code(roots.append("copied", "+")), "ok");
    }
}

/// Another case is refused also where the disk tells cases apart: the next disk may not.
#[test]
fn case_01_case_02_case_03_case_04_another_case_is_the_same_rule() {
    for way in WAYS {
        for (glob, spelled, free) in [
            (".cfg/mcp.json", [".CFG/MCP.json", ".Cfg/mcp.JSON"], ".cfg/other.json"),
            ("keys/", ["KEYS/id", "Keys/deep/id"], "keys.txt"),
            ("/.ssh", [".SSH/id", ".sSh"], "d/.ssh"),
            (".rc", [".RC", "d/.Rc"], ".rc2"),
        ] {
            let tree = tree(&["dir .cfg", "dir keys"]);
            let before = picture(tree.base(), true);
            let roots = ruled(&tree, way, glob, Access::None);
            for path in spelled {
                for (op, change) in CHANGES {
                    let outcome = change(&roots, path);
                    assert_eq!(code(outcome), "protected", "{glob} {op} {path} {way:?}");
                }
                assert_eq!(code(roots.read(path)), "protected", "{glob} {path} {way:?}");
                assert_eq!(code(roots.create_dir_all(path)), "protected", "{glob} {path} {way:?}");
                assert_eq!(code(roots.rename("a.txt", path)), "protected", "{glob} {path} {way:?}");
            }
            assert_eq!(picture(tree.base(), true), before);
            assert_eq!(code(roots.write(free, "OWN")), "ok", "{glob} {free} {way:?}");
        }
    }
}

/// Catches: a rule that binds one spelling of a path.
#[test]
fn rule_01_rule_02_all_spellings_of_a_path_are_one() {
    for way in WAYS {
        let tree = tree(&["file docs/f=S", "file .ignore=S", "link l -> docs"]);
        for (glob, paths) in [
            (
                "docs/",
                [
                    "docs/f",
                    "$ROOT/docs/f",
                    "root://r/docs/f",
                    "./docs//f",
                    "d/../docs/f",
                    "$ROOT/d/../docs/./f",
                    "root://r/d%6Fcs/f",
                    "l/f",
                ],
            ),
            (
                "/.ignore",
                [
                    ".ignore",
                    "./.ignore",
                    "d/../.ignore",
                    "$ROOT/.ignore",
                    "$ROOT//./.ignore",
                    "root://r/.ignore",
                    "l/../.ignore",
                    "root://r/%2eignore",
                ],
            ),
        ] {
            let roots = ruled(&tree, way, glob, Access::None);
            for path in paths.map(|path| tree.expand(path)) {
                assert_eq!(code(roots.read(&path)), "protected", "{glob} {path} {way:?}");
                assert_eq!(code(roots.write(&path, "EVIL")), "protected", "{glob} {path} {way:?}");
            }
            assert_eq!(code(roots.read(tree.expand("$ROOT/d/../a.txt"))), "ok");
            assert_eq!(code(roots.write("./d//x", "X")), "ok");
        }
    }
}

/// Catches: what is ruled brought along by naming its parent, and hidden names told one by one.
#[test]
fn rule_03_rule_04_a_parents_name_brings_nothing_along() {
    let mut lines: Vec<String> = (0..5_000).map(|number| format!("file build/{number}=O")).collect();
    lines.extend(["file sub/.env=S", "file sub/b=B"].map(String::from));
    let tree = tree(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    for way in WAYS {
        let roots =
            builder(way).named("r", tree.root(), Access::Write).rule("/sub/.env", Access::None).rule("build/", Access::None);
        let roots = roots.open().unwrap();
        let names = |uris: Vec<String>| uris.iter().filter(|uri| uri.contains("env") || uri.contains("build")).count();
        for at in ["sub", "."] {
            let mut walk = roots.walk(at).unwrap();
            assert_eq!(names(walk.by_ref().map(|entry| entry.unwrap().uri()).collect()), 0);
            assert_eq!(walk.hidden(), if at == "." { 2 } else { 1 });
        }
        assert_eq!(code(roots.copy("sub", "c")), "protected");
        assert_eq!(code(roots.rename("sub", "c")), "protected");
        assert_eq!(code(roots.remove_dir_all("sub")), "protected");
        assert_eq!(code(roots.open_dir("sub").unwrap().read(".env")), "protected");
        assert_eq!(code(roots.within("sub").unwrap().read(".env")), "protected");
        assert_eq!(code(roots.within("sub").unwrap().read("b")), "ok");
    }
}

/// Names of temporary files are nobody's, however they are reached.
#[test]
fn a_link_to_a_reserved_name_leads_nowhere() {
    for way in WAYS {
        let tree = tree(&["link l -> .cap-roots-0.tmp", "link m -> d/.cap-roots-1.tmp", "file d/.cap-roots-1.tmp=T"]);
        for roots in [ruled(&tree, way, "unused", Access::None), roots(&tree, way)] {
            for path in [".cap-roots-0.tmp", ".CAP-ROOTS-0.TMP", "d/.cap-roots-1.tmp", "l", "m"] {
                // Without rules the kernel follows a link unseen; what is there can be read by it, and not written.
                if path.starts_with('.') || path.starts_with('d') || roots.list().any(|root| root.rules().next().is_some()) {
                    assert_eq!(code(roots.read(path)), "protected", "{path} {way:?}");
                }
                assert_eq!(code(roots.write(path, "")), "protected", "{path} {way:?}");
            }
        }
    }
}

/// Catches: a change that picks one of two names, or makes a third beside them.
#[test]
fn uni_01_a_name_that_fits_two_is_neither_changed_nor_made() {
    for way in [Way::Fast, Way::Walk] {
        let tree = tree(&["file \u{1e69}=1", "file s\u{323}\u{307}=2"]);
        let before = picture(tree.base(), false);
        let roots = roots(&tree, way);
        for (name, change) in CHANGES {
            assert_eq!(code(change(&roots, "s\u{307}\u{323}")), "ambiguous", "{name}");
        }
        assert_eq!(code(roots.create_dir("s\u{307}\u{323}")), "ambiguous");
        assert_eq!(picture(tree.base(), false), before);
    }
}
