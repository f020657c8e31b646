//! Every operation against every exchange of names: the last name, the parent, an ancestor and the root itself change places with a file, a
//! directory, a link to outside, a link that stays inside, a link to what a rule protects, a link that dangles outside and a pipe
//! (`renameat2` with `RENAME_EXCHANGE` in a loop on another thread), while the operation is called on the path; by one attacker, and by two at
//! different places.
//!
//! For each cell: every code is in the list of those that may come (`allowed`), and what stands still at the path gives its code at least
//! once; what comes back is the inside's; an operation that succeeded was carried out once, in a directory that the path led to, and one that was
//! refused not at all; the outside, and what is behind the rule, is the same to the inode and the time of change, also where it was exchanged
//! in; no pipe was waited for or written to; and often enough an exchange fell into a call. The same cells find escapes where paths
//! are checked by `canonicalize` or by text and then used: they work.
//!
//! Catches: anything that checks a name and then acts on it by its path; a last link that is followed; a link on the way that is followed; what is
//! opened before its type is known; a change of what had the name a moment ago.
//!
//! `cargo test` runs each operation against each exchange once, by one of the five ways. With `CAP_ROOTS_RACE` set, each of these cells
//! runs for that many seconds.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "the counts are the evidence")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

#[path = "../support/mod.rs"]
mod support;

mod allowed;
mod cell;
mod operation;
mod swap;
mod wrong;

use std::path::Path;
use std::sync::{Condvar, Mutex, Once};
use std::time::{Duration, Instant};

use cell::{Counts, Subject};
use operation::Operation;
use support::Way;
use swap::{Place, Swap, With};
use wrong::Check;

const WAYS: [Subject; 5] = [
    Subject::Roots(Way::Fast),
    Subject::Roots(Way::Walk),
    Subject::RootsWithoutOpenat2,
    Subject::RuledRoots(Way::Fast),
    Subject::RuledRoots(Way::Walk),
];

/// How long each cell runs at least.
fn time() -> Duration {
    let seconds = std::env::var("CAP_ROOTS_RACE").map_or(0.0, |text| text.parse().unwrap());
    // A call that waits is told from a cell that goes on by how long it takes (`no_wait`).
    assert!(seconds <= 30.0, "a cell of {seconds} s");
    Duration::from_secs_f64(seconds)
}

/// Fewest calls of a cell into which an exchange fell. More where a call that is carried out by its path would go astray: between its look at
/// the path and its deed are a few microseconds, which an exchange has to meet.
pub(crate) fn fewest_met(swaps: &[Swap], time: Duration) -> usize {
    let is_on_the_way = |swap: &Swap| matches!(swap.place, Place::Parent | Place::Ancestor);
    let leads_out = |swap: &Swap| matches!(swap.with, With::LinkOut | With::LinkRuled);
    let least = if swaps.iter().any(|swap| is_on_the_way(swap) && leads_out(swap)) { 50 } else { 10 };
    least + 10 * usize::try_from(time.as_secs()).unwrap()
}

/// Syncs on a real disk take a thousand times as long as all else.
fn in_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let memory = Path::new("/dev/shm");
        if tempfile::tempdir_in(memory).is_ok() {
            tempfile::env::override_temp_dir(memory).unwrap();
        }
    });
}

/// Runs `work` while others of the kind do so only as far as there are processors for their threads: a race between threads that wait for each
/// other's turn is none.
fn in_turn<T>(work: impl FnOnce() -> T) -> T {
    static RUNNING: Mutex<usize> = Mutex::new(0);
    static ENDED: Condvar = Condvar::new();
    struct Turn;
    impl Drop for Turn {
        fn drop(&mut self) {
            *RUNNING.lock().unwrap() -= 1;
            ENDED.notify_one();
        }
    }
    let places = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
    *ENDED.wait_while(RUNNING.lock().unwrap(), |running| *running >= places).unwrap() += 1;
    let _turn = Turn;
    work()
}

/// All operations against all exchanges that `chosen` takes, by its number of the operation and of the exchange.
fn each_cell(
    swaps: &[Swap],
    mut chosen: impl FnMut(usize, usize) -> bool,
    mut run: impl FnMut(Operation, Swap) -> Counts,
) -> Counts {
    let mut counts = Counts::default();
    for (row, operation) in Operation::ALL.into_iter().enumerate() {
        for (column, swap) in swaps.iter().enumerate() {
            if chosen(row, column) {
                counts.add(&run(operation, *swap));
            }
        }
    }
    counts
}

fn swaps(with: &[With]) -> Vec<Swap> {
    Place::ALL.into_iter().flat_map(|place| with.iter().map(move |with| Swap { place, with: *with })).collect()
}

fn report(name: &str, counts: &Counts, begin: Instant) {
    let Counts { cells, attempts, inside, met, escaped, untouched } = counts;
    println!(
        "proof: races, {name}: {cells} cells, {attempts} attempts, an exchange fell into {met}, {inside} won inside, {} refused, {escaped} escaped, \
        the outside as before in {untouched} cells, {:.1} s",
        attempts - inside - escaped,
        begin.elapsed().as_secs_f32()
    );
    assert!(*cells > 0);
}

/// The same of those that may not escape.
fn report_safe(name: &str, counts: &Counts, begin: Instant) {
    report(name, counts, begin);
    assert_eq!((counts.escaped, counts.untouched), (0, counts.cells));
}

/// The cells whose numbers add up to the way's, modulo the number of ways: of all ways together each cell once.
fn by_one_way(way: usize) {
    in_memory();
    let begin = Instant::now();
    let run = |operation, swap| in_turn(|| cell::run(WAYS[way], operation, &[swap], time()));
    let mut counts = each_cell(&swaps(&With::ALL), |row, column| (row + column) % WAYS.len() == way, run);
    if let Subject::RuledRoots(_) = WAYS[way] {
        let ruled: Vec<_> = swaps(&[With::LinkRuled]).into_iter().filter(|swap| swap.place != Place::Root).collect();
        counts.add(&each_cell(&ruled, |row, column| (row + column) % 2 == way % 2, run));
    }
    report_safe(&format!("{:?}", WAYS[way]), &counts, begin);
}

#[test]
fn no_escape_by_the_fast_way() {
    by_one_way(0);
}

#[test]
fn no_escape_by_the_guarded_walk() {
    by_one_way(1);
}

#[test]
fn no_escape_without_openat2() {
    by_one_way(2);
}

#[test]
fn no_escape_from_rules_by_the_fast_way() {
    by_one_way(3);
}

#[test]
fn no_escape_from_rules_by_the_guarded_walk() {
    by_one_way(4);
}

/// Each operation against each two places, what comes in and the way in turn.
#[test]
fn no_escape_from_two_attackers() {
    in_memory();
    let begin = Instant::now();
    let mut counts = Counts::default();
    let mut turn = 0;
    for operation in Operation::ALL {
        for (index, one) in Place::ALL.into_iter().enumerate() {
            for other in &Place::ALL[index + 1..] {
                let with = |turn: usize| With::ALL[turn % With::ALL.len()];
                let swaps = [Swap { place: one, with: with(turn) }, Swap { place: *other, with: with(turn / 7 + turn) }];
                counts.add(&in_turn(|| cell::run(WAYS[turn % WAYS.len()], operation, &swaps, time())));
                turn += 1;
            }
        }
    }
    report_safe("two attackers", &counts, begin);
}

/// The control: if an operation that checks its path and then uses it were not seen to escape, the tests above would prove nothing.
fn escapes(check: Check) {
    in_memory();
    let begin = Instant::now();
    let swaps = [Place::Parent, Place::Ancestor].map(|place| Swap { place, with: With::LinkOut });
    let run = |operation, swap| in_turn(|| cell::run(Subject::Wrong(check), operation, &[swap], Duration::ZERO));
    let counts = each_cell(&swaps, |_, _| true, run);
    report(&format!("control, {check:?}"), &counts, begin);
    assert!(counts.escaped >= counts.cells, "each of them escapes at least once");
}

#[test]
fn canonicalize_then_use_escapes() {
    escapes(Check::Canonicalize);
}

#[test]
fn lexical_check_then_use_escapes() {
    escapes(Check::Lexical);
}
