//! Rules beside a naive matcher, and the comparison of two places beside an enumeration of what is below them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| cap_roots_oracle::rules::check_bytes(bytes));
