//! Verdicts on typed paths under rules, beside a table that is written by hand and a naive matcher.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| cap_roots_oracle::decide::check_bytes(bytes));
