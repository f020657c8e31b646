//! Ways round rules and grants that take two steps or two parties.
//!
//! Catches: a rename that asks what is below a directory and not what is behind a link; a name that is tried out in the place where others
//! write; two foldings that differ; a handle that goes with a directory into a grant with less; private content under a reserved name.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cap_roots::{Access, Grant, Roots};
use cap_roots_oracle::tree::Tree;
use support::{Way, builder, code};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];

/// By the new name of a link, what it leads to has the ruled names.
#[test]
fn a_link_is_not_renamed_into_a_rule() {
    for way in WAYS {
        let tree = Tree::build(["dir evil/workflows", "link l -> evil", "link m -> evil"]).unwrap();
        let roots = builder(way).root(tree.root(), Access::Write).rule(".github/workflows/**", Access::Read).open().unwrap();
        roots.write("evil/workflows/ci.yml", "evil").unwrap();
        assert_eq!(code(roots.rename("evil", ".github")), "protected");
        assert_eq!(code(roots.rename("l", ".github")), "protected", "{way:?}");
        assert_eq!(code(roots.rename_replace("l", ".github")), "protected", "{way:?}");
        assert_eq!(code(roots.rename("l", "moved")), "ok");
    }
}

/// The same would choose, at the next start, where an absent root is.
#[test]
fn a_link_is_not_planted_above_an_absent_root() {
    let tree = Tree::build(["file ../outside/i/secret=CANARY", "link l -> ../outside", "dir a"]).unwrap();
    let open = || {
        let inner = tree.root().join("a/i");
        Roots::builder().named("o", tree.root(), Access::Write).named("i", inner, Access::Read).open().unwrap()
    };
    let roots = open();
    assert_eq!(code(roots.create_dir("a/i")), "protected", "its place stays what it is");
    let _ = roots.remove_dir("a");
    assert_eq!(code(roots.rename("l", "a")), "protected");
    assert_ne!(code(open().read("root://i/secret")), "ok");
}

/// What a disk makes of an odd name is not found out where others write.
#[test]
fn nothing_is_taken_away_to_try_out_a_name() {
    let tree = Tree::build((0..500).map(|number| format!("file n{number}=x"))).unwrap();
    let grant = Grant::new(tree.root()).access(Access::Write).no_delete();
    let roots = Roots::builder().grant(grant).rule("zzz", Access::None).open().unwrap();
    for round in 0..60 {
        let name = format!("\u{e9}{round}");
        let (appended, made, created) = thread::scope(|scope| {
            let appended = scope.spawn(|| (0..50).any(|_| roots.append(&name, "precious").is_ok()));
            let made = scope.spawn(|| roots.create_dir(&name).is_ok());
            let created = scope.spawn(|| roots.create_new(&name).is_ok());
            (appended.join().unwrap(), made.join().unwrap(), created.join().unwrap())
        });
        assert!(!(made && (appended || created)), "two have made {name}");
        if appended {
            assert!(fs::read_to_string(tree.root().join(&name)).unwrap().contains("precious"), "{name}");
        }
    }
    let names = fs::read_dir(tree.root()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.into_iter().any(|name| name.starts_with(".cap-roots-")), "something was left");
}

/// Names are looked for with no-break spaces as spaces, so rules have to see them so.
#[test]
fn another_space_is_the_same_name_for_a_rule() {
    for way in WAYS {
        let ask = |lines: &[&str]| {
            let tree = Tree::build(["dir d"].iter().chain(lines)).unwrap();
            let roots = builder(way).root(tree.root(), Access::Write).rule("my secret", Access::None).open().unwrap();
            [code(roots.metadata("my\u{a0}secret")), code(roots.write("my\u{202f}secret", "")), code(roots.read("d/my secret"))]
        };
        assert_eq!(ask(&["file my secret=S"]), ["protected"; 3]);
        assert_eq!(ask(&[]), ["protected"; 3]);
    }
}

/// A handle keeps the authority that it was opened with, so nothing goes with it to where there is less.
#[test]
fn a_handle_is_not_carried_into_a_grant_with_less() {
    let tree = Tree::build(["dir a/d", "file a/f=F", "dir b", "dir c", "dir e"]).unwrap();
    let grant = |name: &str| Grant::new(tree.root().join(name)).name(name).access(Access::Write);
    let roots = Roots::builder()
        .grant(grant("a"))
        .grant(grant("b").no_delete())
        .grant(grant("c").expires_in(Duration::from_secs(3600)))
        .grant(grant("e"))
        .open()
        .unwrap();
    for (to, want) in [("root://b/d", "cross-root"), ("root://c/d", "cross-root"), ("root://e/d", "ok")] {
        assert_eq!(code(roots.rename("d", to)), want, "{to}");
    }
    for (to, want) in [("root://c/f", "cross-root"), ("root://b/f", "ok")] {
        assert_eq!(code(roots.rename("f", to)), want, "{to}");
    }
}

/// Of a private tree, nobody else reads a byte while it is copied.
#[test]
fn a_private_tree_is_private_while_it_is_copied() {
    // Many files, so that the copy takes its time on every disk.
    let lines = (0..3_000).map(|number| format!("file d/{number}=K")).chain(["mode 700 d".to_owned()]);
    let tree = Tree::build(lines).unwrap();
    let roots = Roots::builder().root(tree.root(), Access::Write).open().unwrap();
    let over = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = 0;
            while !over.load(Ordering::SeqCst) {
                for entry in fs::read_dir(tree.root()).unwrap().flatten() {
                    if entry.file_name().to_string_lossy().starts_with(".cap-roots-")
                        && let Ok(metadata) = entry.metadata()
                    {
                        assert_eq!(metadata.permissions().mode() & 0o077, 0, "others are let in");
                        seen += 1;
                    }
                }
            }
            seen
        });
        roots.copy("d", "copy").unwrap();
        over.store(true, Ordering::SeqCst);
        watcher.join().unwrap()
    });
    assert!(seen > 0, "it was never looked at");
    assert_eq!(fs::metadata(tree.root().join("copy")).unwrap().permissions().mode() & 0o777, 0o700);
}

/// A mode reaches all names of a file, whether it can be opened or not.
#[test]
fn a_closed_file_with_two_names_keeps_its_mode() {
    support::privilege::drop_override();
    let tree = Tree::build(["file ../outside/s=S", "dir d"]).unwrap();
    let outside = tree.base().join("outside/s");
    fs::hard_link(&outside, tree.root().join("s")).unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o000)).unwrap();
    let roots = Roots::builder().root(tree.root(), Access::Write).open().unwrap();
    assert_eq!(code(roots.set_permissions("s", 0o666)), "hard-linked");
    assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0);
}

/// An update that changes something else could wait for itself.
#[test]
fn an_update_changes_nothing_else() {
    let tree = Tree::build(["file a=A", "file b=B"]).unwrap();
    let roots = Roots::builder().root(tree.root(), Access::Write).open().unwrap();
    let outcome = roots.update("a", |_| roots.append("A", "x").map(|()| Vec::new()));
    assert_eq!(code(outcome), "busy");
    let outcome = roots.update("a", |old| Ok([old, roots.read("b")?].concat()));
    assert_eq!((code(outcome), roots.read_to_string("a").unwrap()), ("ok", "AB".to_owned()));
}

/// A link's text may have more names than a process has descriptors.
#[test]
fn a_long_link_takes_few_descriptors() {
    let tree = Tree::build(["dir a"]).unwrap();
    let mut deep = tree.root().join("a");
    for _ in 0..300 {
        deep.push("a");
        fs::create_dir(&deep).unwrap();
    }
    fs::write(deep.join("f"), "F").unwrap();
    symlink(vec!["a"; 301].join("/"), tree.root().join("l")).unwrap();
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    for way in WAYS {
        let roots = builder(way).root(tree.root(), Access::Read).rule("x", Access::None).open().unwrap();
        let before = open();
        let most = AtomicBool::new(false);
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    most.fetch_or(open() > before + 100, Ordering::SeqCst);
                }
            });
            for _ in 0..20 {
                assert_eq!(roots.read_to_string("l/f").unwrap(), "F", "{way:?}");
            }
            over.store(true, Ordering::SeqCst);
        });
        assert!(!most.load(Ordering::SeqCst), "{way:?}");
    }
}
