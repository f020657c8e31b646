//! Public faults of file servers and agents that lose data: moves that replace, modes and edits that are lost, torn files, walks without end.
//!
//! The names are those of the ledger in SECURITY.md. Catches: a look with a gap before a rename, a link followed by a move, a file emptied before
//! it is replaced or with a new file's mode, edits of one file that do not wait for each other, a cut without a mark.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cap_roots::{Cut, Error, Roots};
use cap_roots_oracle::tree::Tree;
use support::writing::{CHANGES, picture};
use support::{Way, code, privilege, roots};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];

fn tree(lines: &[&str]) -> Tree {
    Tree::build(["file ../out/real.txt=SECRET", "file a.txt=A", "file d/x=X"].iter().chain(lines)).unwrap()
}

/// WRITE-01, WRITE-02, OWN-10. Catches: a move that replaces, or a look with a gap before the rename.
#[test]
fn write_01_write_02_own_10_a_move_replaces_nothing() {
    for way in WAYS {
        let tree = tree(&["file b=B", "dir e", "link dangling -> none", "link l -> b"]);
        let before = picture(tree.base(), true);
        let roots = roots(&tree, way);
        for to in ["b", "e", "dangling", "l", "d"] {
            assert_eq!(code(roots.rename("a.txt", to)), "already-exists", "{to} {way:?}");
            assert_eq!(code(roots.copy("a.txt", to)), "already-exists", "{to} {way:?}");
            assert_eq!(code(roots.rename("d", to)), "already-exists", "{to} {way:?}");
        }
        assert_eq!(picture(tree.base(), true), before);
        assert_eq!(code(roots.rename_replace("a.txt", "b")), "ok");
        assert_eq!(fs::read(tree.root().join("b")).unwrap(), b"A");
    }
}

/// Of several that move to one name at once, one wins and no file is lost. Each has a set of roots of its own, as another process would: within
/// one set they would queue.
#[test]
fn write_01_nothing_falls_between_the_look_and_the_rename() {
    const MOVERS: usize = 4;
    let tree = tree(&[]);
    let (sets, start) = ([(); MOVERS].map(|()| roots(&tree, Way::Fast)), Barrier::new(MOVERS));
    for round in 0..400 {
        (0..MOVERS).for_each(|number| fs::write(tree.root().join(format!("m{number}")), "").unwrap());
        let move_one = &|(number, roots): (usize, &Roots)| {
            start.wait();
            roots.rename(format!("m{number}"), format!("to{round}")).is_ok()
        };
        let won = thread::scope(|scope| {
            let movers = sets.iter().enumerate().map(|mover| scope.spawn(move || move_one(mover)));
            movers.collect::<Vec<_>>().into_iter().map(|mover| mover.join().unwrap()).filter(|won| *won).count()
        });
        let left = (0..MOVERS).filter(|number| tree.root().join(format!("m{number}")).exists()).count();
        assert_eq!((won, left), (1, MOVERS - 1), "{round}");
    }
}

/// OWN-09. Catches: a move that follows its source.
#[test]
fn own_09_a_link_moves_itself() {
    for way in WAYS {
        let tree = tree(&["link l -> a.txt", "link out -> ../out/real.txt", "link d/none -> nowhere"]);
        let roots = roots(&tree, way);
        for (from, to, text) in [("l", "m", "a.txt"), ("out", "out2", "../out/real.txt"), ("d/none", "none", "nowhere")] {
            assert_eq!(code(roots.rename(from, to)), "ok", "{from} {way:?}");
            assert_eq!(fs::read_link(tree.root().join(to)).unwrap().to_str(), Some(text));
        }
        assert_eq!(code(roots.rename_replace("m", "none")), "ok");
        assert_eq!(roots.read_to_string("none").unwrap(), "A");
        assert_eq!(fs::read(tree.base().join("out/real.txt")).unwrap(), b"SECRET");
    }
}

/// WRITE-03, WRITE-04. Catches: a replacement that has a new file's mode, or a temporary one's.
#[test]
fn write_03_write_04_the_mode_stays() {
    privilege::drop_override();
    for way in WAYS {
        for mode in [0o755, 0o640, 0o600, 0o664] {
            let tree = tree(&["file s.sh=S", "link l -> s.sh"]);
            let at = tree.root().join("s.sh");
            let roots = roots(&tree, way);
            let check = |op: &str, outcome: Result<(), Error>| {
                assert_eq!(code(outcome), "ok", "{op} {way:?}");
                assert_eq!(fs::metadata(&at).unwrap().permissions().mode() & 0o7777, mode, "{op} {way:?}");
            };
            fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
            check("write", roots.write("s.sh", "NEW"));
            check("write through a link", roots.write("l", "NEW"));
            check("update", roots.update("s.sh", |_| Ok(b"NEW".to_vec())));
            check("append", roots.append("s.sh", "NEW"));
            check("set_len", roots.set_len("s.sh", 1));
            check("copy_replace", roots.copy_replace("a.txt", "s.sh").map(drop));
            check("rename", roots.rename("s.sh", "t.sh").and_then(|()| roots.rename("t.sh", "s.sh")));
            roots.copy("s.sh", "copied").unwrap();
            assert_eq!(fs::metadata(tree.root().join("copied")).unwrap().mode() & 0o7777, mode);
            roots.write("plain", "").unwrap();
            let made = fs::File::create(tree.root().join("made")).unwrap().metadata().unwrap().mode();
            assert_eq!(fs::metadata(tree.root().join("plain")).unwrap().mode(), made, "a new file is as any new file");
        }
        // Who may not write it may not replace it either.
        let tree = tree(&["file ro=RO", "mode 444 ro"]);
        for (op, change) in &CHANGES[..5] {
            let outcome = change(&roots(&tree, way), "ro");
            assert_eq!(code(outcome), "os-denied", "{op} {way:?}");
        }
        assert_eq!(fs::read(tree.root().join("ro")).unwrap(), b"RO");
    }
}

/// EDIT-08, EDIT-09, EDIT-10, OWN-06: changes of one file at once, by whatever name, are all there.
#[test]
fn edit_08_edit_09_edit_10_own_06_no_edit_is_lost() {
    let line = "x".repeat(1_000);
    let tree = tree(&["link d/l -> ../big", &format!("file big={}", [line.as_str(); 100].join("\n"))]);
    let roots = roots(&tree, Way::Fast);
    thread::scope(|scope| {
        for number in 0..24 {
            let (roots, dir) = (&roots, roots.open_dir(".").unwrap());
            scope.spawn(move || {
                let edit = |old: Vec<u8>| {
                    let mut lines: Vec<_> = old.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                    lines[number * 4] = format!("edited {number}").into_bytes();
                    Ok(lines.join(&b'\n'))
                };
                match number % 3 {
                    0 => roots.update("big", edit).unwrap(),
                    1 => roots.update("d/l", edit).unwrap(),
                    _ => dir.update("big", edit).unwrap(),
                }
            });
        }
    });
    let text = fs::read_to_string(tree.root().join("big")).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("edited")).count(), 24);
    assert_eq!(text.lines().count(), 100);
}

/// OWN-11. Catches: a file that is emptied and then filled.
#[test]
fn own_11_who_reads_meanwhile_sees_the_old_or_the_new() {
    let tree = tree(&[]);
    let roots = roots(&tree, Way::Fast);
    let (big, done) = (|byte: u8| vec![byte; 200_000], AtomicBool::new(false));
    roots.write("f", big(b'0')).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let seen = fs::read(tree.root().join("f")).unwrap();
                assert!(!seen.is_empty() && seen == big(seen[0]), "a part of it");
            }
        });
        for byte in (b'0'..=b'9').cycle().take(200) {
            roots.write("f", big(byte)).unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
    assert_eq!(fs::read_dir(tree.root()).unwrap().count(), 3, "nothing is left beside it");
}

/// OWN-20. Catches: a temporary name in an answer.
#[test]
fn own_20_a_directory_in_the_way_is_one() {
    let tree = tree(&[]);
    for (op, change) in &CHANGES[..5] {
        let outcome = change(&roots(&tree, Way::Fast), "d");
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), "is-a-directory", "{op}");
        assert!(!error.to_string().contains("cap-roots-"), "{error}");
    }
}

/// WALK-01: caps with a mark, and no more is done than is shown.
#[test]
fn walk_01_a_large_tree_is_cut_and_says_so() {
    let lines: Vec<String> = (0..3_000).map(|number| format!("file t/{}/{number}=", number % 30)).collect();
    let tree = tree(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    for way in WAYS {
        let roots = roots(&tree, way);
        let mut walk = roots.walk("t").unwrap().max_entries(1_000);
        assert_eq!((walk.by_ref().filter(Result::is_ok).count(), walk.cut()), (1_000, Some(Cut::Entries)));
        let mut walk = roots.walk("t").unwrap();
        assert_eq!((walk.by_ref().filter(Result::is_ok).count(), walk.cut()), (3_030, None));
    }
}
