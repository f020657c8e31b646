//! Sequences of operations beside the model, by either way: outcomes, answers and the whole tree agree, and no sequence gets around access
//! or rules.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| cap_roots_oracle::sequence::run::fuzz(bytes));
