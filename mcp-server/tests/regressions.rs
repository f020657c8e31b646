//! The seeds of the fuzz targets that need the server, the inputs that once showed a fault, and some that are made up, without a fuzzer.
//!
//! `CAP_ROOTS_INPUTS=100000` makes up as many for each target.

#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

#[path = "support/xorshift.rs"]
mod xorshift;

use cap_roots_server_oracle::regressions::replay;
use cap_roots_server_oracle::{edit, glob_walk, session};
use xorshift::Random;

/// Committed inputs, and `count` others.
fn run(target: &str, count: u64, check: fn(&[u8])) {
    assert!(replay(target, check) >= 10, "the inputs were not found");
    let count = std::env::var("CAP_ROOTS_INPUTS").map_or(count, |count| count.parse().unwrap());
    let mut random = Random::new(1);
    for _ in 0..count {
        let length = random.below(60);
        let input: Vec<u8> = (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        check(&input);
    }
}

/// Catches: an edit that takes the line ends of its own text, a place that is counted wrongly, a diff that says something else.
#[test]
fn edits_do_what_they_promise() {
    run("edit", 5_000, edit::check);
}

/// Catches: a glob that fits something else than it says, a walk that shows what is left out, pages that lose or repeat an entry.
#[test]
fn globs_and_walks_are_what_they_say() {
    run("glob_walk", 2_000, glob_walk::check);
}

/// Catches: a request without an answer or with two, an answer that holds something of the outside, a session that ends early.
#[test]
fn sessions_keep_their_promises() {
    run("session", 200, session::check);
}
