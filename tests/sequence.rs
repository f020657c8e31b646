//! Sequences of operations beside the model: trees, grants, rules and steps out of bytes, on a real disk and in memory, by each way of
//! resolving. After every step the outcome, the answer and the whole tree have to be the model's; nothing of the outside or behind a rule
//! may have come back or changed (NO-LAUNDERING).
//!
//! Catches: an operation that asks for too little at one of its ends, a rule that a link, a rename or a copy walks around, an effect where
//! there was a refusal, a refusal with another code.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use cap_roots::Builder;
use cap_roots_oracle::sequence::run;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::panic::AssertUnwindSafe;
use support::privilege;

/// `PROPTEST_CASES` in the environment asks for another number.
const CASES: u32 = 1_000;
const BYTES: usize = 400;

fn beside_the_model(way: fn(Builder) -> Builder) {
    privilege::drop_override();
    let given = Config { failure_persistence: None, ..Config::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { given.cases } else { CASES };
    TestRunner::new(Config { cases, max_shrink_iters: 1_500, ..given })
        .run(&proptest::collection::vec(any::<u8>(), 0..BYTES), |bytes| {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| run::check(&bytes, way)));
            prop_assert!(outcome.is_ok());
            Ok(())
        })
        .unwrap();
}

#[test]
fn sequences_by_the_fast_way() {
    beside_the_model(|builder| builder);
}

#[test]
fn sequences_by_the_guarded_walk() {
    beside_the_model(Builder::without_openat2);
}
