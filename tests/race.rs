//! A thread that swaps names under readers: a directory, an ancestor and a final name are exchanged with a link to outside
//! (`renameat2` with `RENAME_EXCHANGE`) while the same path is opened, read and listed.
//!
//! Every outcome is in the list of allowed ones, and no byte of the outside comes back. Both sides of the swap are hit often enough that
//! a race which does not happen fails. The same harness pointed at "canonicalize, check, open" sees escapes: it works.
//!
//! Catches: anything that checks a name and then uses it.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "the counts are the evidence")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_roots::Roots;
use cap_roots_oracle::poison::CANARY;
use cap_roots_oracle::tree::Tree;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use support::{Way, privilege, roots};

/// Opens for each swap; there are three for each way, 210,000 together.
const OPENS: usize = 70_000;
/// Fewest opens that must have met each side of a swap.
const HITS: usize = 1_000;
/// Most opens of the control, which ends at its first escape.
const CONTROL: usize = 2_000_000;

struct Swap {
    name: &'static str,
    /// What is exchanged, relative to the root.
    names: [&'static str; 2],
    /// The file that is opened, and its directory.
    file: &'static str,
    dir: &'static str,
}

const SWAPS: [Swap; 3] = [
    Swap { name: "directory", names: ["a/b", "a/evil"], file: "a/b/file", dir: "a/b" },
    Swap { name: "ancestor", names: ["x", "evil"], file: "x/y/z/file", dir: "x/y/z" },
    Swap { name: "final name", names: ["f/file", "f/evil"], file: "f/file", dir: "f" },
];

fn tree() -> Tree {
    Tree::build([
        &format!("file ../outside/file={CANARY}") as &str,
        &format!("file ../outside/y/z/file={CANARY}"),
        "file ../outside/canary-name=",
        "file ../outside/y/z/canary-name=",
        "file a/b/file=inside",
        "link a/evil -> ../../outside",
        "file x/y/z/file=inside",
        "link evil -> $BASE/outside",
        "file f/file=inside",
        "link f/evil -> ../../outside/file",
    ])
    .unwrap()
}

/// Stops the swapping thread however the reading ends: a failed assertion must not wait for it for ever.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Outcomes = BTreeMap<&'static str, usize>;

/// Runs `attempt` until it gives nothing more, and `beside` on another thread, while the swap goes on. Counts the outcomes of both.
fn race(
    tree: &Tree,
    swap: &Swap,
    mut attempt: impl FnMut() -> Option<&'static str>,
    beside: impl Fn() -> &'static str + Sync,
) -> (usize, Outcomes, Outcomes) {
    let stop = AtomicBool::new(false);
    let [one, other] = swap.names.map(|name| tree.root().join(name));
    std::thread::scope(|scope| {
        let stopper = Stop(&stop);
        let swapper = scope.spawn(|| {
            let mut swaps = 0usize;
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                swaps += 1;
            }
            swaps
        });
        let others = scope.spawn(|| {
            let mut outcomes = Outcomes::new();
            while !stop.load(Ordering::Relaxed) {
                *outcomes.entry(beside()).or_insert(0) += 1;
            }
            outcomes
        });
        let mut outcomes = Outcomes::new();
        while let Some(outcome) = attempt() {
            *outcomes.entry(outcome).or_insert(0) += 1;
        }
        drop(stopper);
        (swapper.join().unwrap(), outcomes, others.join().unwrap())
    })
}

fn read(roots: &Roots, path: &str) -> &'static str {
    match roots.read_to_string(path) {
        Ok(text) if text == "inside" => "inside",
        Ok(text) => panic!("outside bytes: {text}"),
        Err(error) => error.code(),
    }
}

/// Lists, and reads what was listed through its entry.
fn list(roots: &Roots, path: &str) -> &'static str {
    let entries = match roots.read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return error.code(),
    };
    for entry in entries {
        let entry = entry.unwrap();
        assert_ne!(entry.name(), "canary-name", "an outside directory was listed");
        match entry.read_to_string() {
            Ok(text) => assert_eq!(text, "inside"),
            Err(error) => assert_eq!(error.code(), "outside-roots", "{error}"),
        }
    }
    "listed"
}

fn no_outside_byte(name: &str, way: Way) {
    for swap in &SWAPS {
        let tree = tree();
        let roots = roots(&tree, way);
        let mut left = OPENS;
        let reader = || {
            left = left.checked_sub(1)?;
            Some(read(&roots, swap.file))
        };
        let (swaps, opens, listings) = race(&tree, swap, reader, || list(&roots, swap.dir));
        println!("{name}, {}: {OPENS} opens, 0 escapes, {opens:?}, listings {listings:?}, {swaps} swaps", swap.name);
        // Either side of the swap, and nothing else: no name is ever missing, and none turns into another type.
        assert!(opens.keys().all(|outcome| ["inside", "outside-roots"].contains(outcome)), "{}: {opens:?}", swap.name);
        assert!(listings.keys().all(|outcome| ["listed", "outside-roots"].contains(outcome)), "{}: {listings:?}", swap.name);
        for side in ["inside", "outside-roots"] {
            let hits = opens.get(side).copied().unwrap_or(0);
            assert!(hits >= HITS, "the race did not happen: {side} {hits} times in {opens:?}");
        }
        assert_eq!(std::fs::read_to_string(tree.base().join("outside/file")).unwrap(), CANARY);
    }
}

#[test]
fn no_escape_by_the_fast_way() {
    no_outside_byte("fast", Way::Fast);
}

#[test]
fn no_escape_by_the_guarded_walk() {
    no_outside_byte("walk", Way::Walk);
}

#[test]
fn no_escape_without_openat2() {
    privilege::hide_openat2();
    no_outside_byte("without openat2", Way::Fast);
}

/// The control: what most servers do. If this saw no escape, the tests above would prove nothing.
#[test]
fn canonicalize_then_open_escapes() {
    for swap in &SWAPS {
        let tree = tree();
        let root = std::fs::canonicalize(tree.root()).unwrap();
        let path = root.join(swap.file);
        let mut left = CONTROL;
        let mut escaped = false;
        let reader = || {
            left = left.checked_sub(1).filter(|_| !escaped)?;
            let Ok(real) = std::fs::canonicalize(&path) else { return Some("not found") };
            if !real.starts_with(&root) {
                return Some("refused");
            }
            escaped = std::fs::read_to_string(&path).is_ok_and(|text| text == CANARY);
            Some(if escaped { "escaped" } else { "inside" })
        };
        let (swaps, outcomes, _) = race(&tree, swap, reader, || "nothing");
        println!("control, {}: {outcomes:?}, {swaps} swaps", swap.name);
        assert!(outcomes.contains_key("escaped"), "no escape in {CONTROL} opens: {outcomes:?}");
    }
}
