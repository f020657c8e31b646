//! The inputs of the fuzz targets that need the server, each a test `TARGET::FILE`, and some that are made up.
//!
//! `CAP_ROOTS_INPUTS=100000` makes up as many for each target, and `CAP_ROOTS_CORPUS=DIR` replays what lies in `DIR/TARGET` as well.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

#[path = "support/xorshift.rs"]
mod xorshift;

use cap_roots_oracle::privilege;
use cap_roots_oracle::regressions::{Check, Work, trials};
use cap_roots_oracle::seeds::check_digests;
use cap_roots_server_oracle::{ENCODINGS, TARGETS, edit, glob_walk, session};
use libtest_mimic::{Arguments, Trial};
use xorshift::Random;

fn main() {
    let arguments = Arguments::from_args();
    privilege::drop_override();
    let own: [(&str, fn()); 4] = [
        ("committed_inputs_make_what_they_made", committed_inputs_make_what_they_made),
        ("edits_do_what_they_promise", edits_do_what_they_promise),
        ("globs_and_walks_are_what_they_say", globs_and_walks_are_what_they_say),
        ("sessions_keep_their_promises", sessions_keep_their_promises),
    ];
    let trial = |name: &str, work: Work| {
        Trial::test(name, move || {
            work();
            Ok(())
        })
    };
    libtest_mimic::run(&arguments, trials(&own, TARGETS, trial)).exit();
}

/// Catches: a word in the place of another one, bytes that are read in another order.
fn committed_inputs_make_what_they_made() {
    check_digests(ENCODINGS);
    let targets = TARGETS.iter().map(|(target, _)| *target);
    assert!(targets.eq(ENCODINGS.iter().map(|encoding| encoding.target)));
}

/// Catches: an edit that takes the line ends of its own text, a place that is counted wrongly, a diff that says something else.
fn edits_do_what_they_promise() {
    drawn(5_000, edit::check);
}

/// Catches: a glob that fits something else than it says, a walk that shows what is left out, pages that lose or repeat an entry.
fn globs_and_walks_are_what_they_say() {
    drawn(2_000, glob_walk::check);
}

/// Catches: a request without an answer or with two, an answer that holds something of the outside, a session that ends early.
fn sessions_keep_their_promises() {
    drawn(200, session::check);
}

/// The same inputs each time.
fn drawn(count: u64, check: Check) {
    let count = std::env::var("CAP_ROOTS_INPUTS").map_or(count, |count| count.parse().unwrap());
    let mut random = Random::new(1);
    for _ in 0..count {
        let length = random.below(60);
        let input: Vec<u8> = (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        check(&input);
    }
}
