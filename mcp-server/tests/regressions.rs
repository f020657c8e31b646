//! The seeds of the fuzz targets that need the server, and the inputs that once showed a fault, without a fuzzer.

#![cfg(target_os = "linux")]
#![allow(missing_docs, reason = "a test")]

use cap_roots_server_oracle::regressions::replay;
use cap_roots_server_oracle::{edit, glob_walk, session};

/// Catches: an edit that takes the line ends of its own text, a place that is counted wrongly, a diff that says something else.
#[test]
fn edits_do_what_they_promise() {
    assert!(replay("edit", edit::check) >= 10, "the inputs were not found");
}

/// Catches: a glob that fits something else than it says, a walk that shows what is left out, pages that lose or repeat an entry.
#[test]
fn globs_and_walks_are_what_they_say() {
    assert!(replay("glob_walk", glob_walk::check) >= 10, "the inputs were not found");
}

/// Catches: a request without an answer or with two, an answer that holds something of the outside, a session that ends early.
#[test]
fn sessions_keep_their_promises() {
    assert!(replay("session", session::check) >= 10, "the inputs were not found");
}
