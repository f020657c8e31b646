//! The committed inputs of fuzz targets that read bytes as choices still make what they made.
//!
//! Catches: a list that has grown at its beginning, a choice that is asked for earlier, another order: each of which leaves the seeds and the
//! regressions as bytes that mean something else, and nobody would notice.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use cap_roots_oracle::seeds;

const ADVICE: &str = "The encoding has changed. Lists grow at their ends only, and new choices come after those that are there. If the change \
    is meant, `CAP_ROOTS_REWRITE_SEEDS=1 cargo test --test seeds` writes the digests anew; look at what the regressions still show.";

#[test]
fn committed_inputs_make_what_they_made() {
    if std::env::var_os("CAP_ROOTS_REWRITE_SEEDS").is_some() {
        seeds::rewrite();
    }
    let (found, recorded) = (seeds::digests(), seeds::recorded());
    assert!(found.len() > 20, "the inputs were not found");
    for (name, digest) in &found {
        assert_eq!(recorded.get(name), Some(digest), "{name}: {ADVICE}");
    }
    let gone: Vec<_> = recorded.keys().filter(|name| !found.contains_key(*name)).collect();
    assert!(gone.is_empty(), "written down, and not there: {gone:?}");
}

/// A byte that wraps around a list means another entry once the list is longer.
#[test]
fn committed_inputs_outlive_a_longer_list() {
    for name in seeds::digests().keys() {
        assert!(seeds::is_lowest(name), "{name} is not in its lowest form. {ADVICE}");
    }
}
