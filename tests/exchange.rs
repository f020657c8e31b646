//! RACE-02: a thread that exchanges a directory, and a file, with a link to outside (`renameat2` with `RENAME_EXCHANGE`) under writers.
//!
//! What is outside is to the byte, the mode and the time what it was, and nothing is made there. Both sides of the swap are met.
//!
//! Catches: a name that is checked and then created, changed, moved or removed by a path.

#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cap_roots::Error;
use cap_roots_oracle::tree::Tree;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use support::writing::{CHANGES, picture};
use support::{Way, code, roots};

/// How long each swap goes on.
const TIME: Duration = Duration::from_secs(2);

fn tree() -> Tree {
    let lines = [
        "file d/f=F",
        "file d/t/x=X",
        "link evil -> ../out",
        "file a.txt=A",
        "file g/f=F",
        "link g/evil -> ../../out/f",
        "dir made",
    ];
    Tree::build(lines.iter().chain(&["file ../out/f=OUT", "file ../out/t/x=OUT", "dir ../out/empty"])).unwrap()
}

type Outcome = Result<(), Error>;

/// Runs `attempt`, with a number of its own each time, while two names are exchanged; what it answered, and how often.
fn under_swaps(tree: &Tree, names: [&str; 2], mut attempt: impl FnMut(usize) -> Outcome) -> BTreeMap<&'static str, usize> {
    let (stop, [one, other]) = (AtomicBool::new(false), names.map(|name| tree.root().join(name)));
    let mut outcomes = BTreeMap::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let end = Instant::now() + TIME;
        for number in 0.. {
            if Instant::now() > end {
                break;
            }
            *outcomes.entry(code(attempt(number))).or_insert(0) += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    outcomes
}

fn untouched(tree: &Tree, attempts: impl FnOnce() -> BTreeMap<&'static str, usize>) {
    let out = tree.base().join("out");
    let times = || {
        ["", "f", "t", "t/x", "empty"]
            .map(|name| fs::metadata(out.join(name)).map(|at| (at.mtime(), at.mtime_nsec(), at.ino())).unwrap())
    };
    let before = (picture(&out, true), times());
    let outcomes = attempts();
    assert_eq!((picture(&out, true), times()), before, "{outcomes:?}");
    for met in ["ok", "outside-roots"] {
        assert!(outcomes.get(met).is_some_and(|count| *count > 10), "one side of the swap was not met: {outcomes:?}");
    }
}

#[test]
fn a_directory_that_is_exchanged_with_a_link_out_under_writers() {
    for way in [Way::Fast, Way::Walk] {
        let tree = tree();
        let roots = roots(&tree, way);
        untouched(&tree, || {
            under_swaps(&tree, ["d", "evil"], |number| match number % 12 {
                0 => roots.create_new(format!("d/n{number}")).map(drop),
                1 => roots.create_dir(format!("d/n{number}")),
                2 => roots.create_dir_all(format!("d/m{number}/k")),
                3 => roots.append("d/f", "+"),
                4 => roots.set_len("d/f", 3),
                5 => roots.set_permissions("d/f", 0o640),
                6 => roots.rename("d/f", "made/f"),
                7 => roots.rename("made/f", "d/f"),
                8 => roots.remove_dir("d/empty").or_else(|error| if error.code() == "not-found" { Ok(()) } else { Err(error) }),
                9 => roots.copy("d/t", format!("made/t{number}")).map(drop),
                10 => roots.remove_dir_all("d/t").and_then(|()| roots.create_dir("d/t")),
                _ => roots.write("d/f", "NEW"),
            })
        });
        // Nothing of the outside came in either.
        assert!(!picture(&tree.root().join("made"), false).iter().any(|line| line.contains("OUT")), "{way:?}");
    }
}

#[test]
fn a_file_that_is_exchanged_with_a_link_out_under_writers() {
    for way in [Way::Fast, Way::Walk] {
        let tree = tree();
        let roots = roots(&tree, way);
        untouched(&tree, || under_swaps(&tree, ["g/f", "g/evil"], |number| CHANGES[number % CHANGES.len()].1(&roots, "g/f")));
    }
}
