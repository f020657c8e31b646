//! The committed inputs of fuzz targets still make what they made.
//!
//! Catches: a list that has grown at its beginning, a choice that is asked for earlier, another order, a word in the place of another one: each
//! of which leaves the seeds and the regressions as bytes that mean something else, and nobody would notice.

#![cfg(unix)]
#![allow(missing_docs, reason = "a test")]

use cap_roots_oracle::seeds;

#[test]
fn committed_inputs_make_what_they_made() {
    seeds::check_digests(seeds::ENCODINGS);
}

/// A byte that wraps around a list means another entry once the list is longer.
#[test]
fn committed_inputs_outlive_a_longer_list() {
    seeds::check_lowest(seeds::ENCODINGS);
}
