//! The same operations on the same tree by the fast way and by another one: outcomes, answers, words and trees are the same, and the walk opens what
//! the kernel's own confined open finds.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| cap_roots_oracle::differential::fuzz(bytes));
