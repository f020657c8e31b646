//! The fuzz targets' seeds and the inputs that once showed a fault, without a fuzzer; and, cheaply, more of what the targets do.

#![allow(missing_docs, reason = "a test")]

use cap_roots_oracle::{read, regressions};

#[test]
fn committed_inputs_are_replayed() {
    assert!(regressions::replay() >= 10, "the inputs were not found");
}

/// Every tree with every path of one and two picks: what the fuzzer starts from.
#[test]
fn short_inputs() {
    for first in 0..=16 {
        for second in 0..=255 {
            read::check(&[first, second]);
            read::check(&[first, 1, second, second.wrapping_mul(7)]);
        }
    }
}
