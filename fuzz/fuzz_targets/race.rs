//! Operations while names are exchanged under them, by a schedule out of the input: known outcomes, and nothing outside is read or changed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| cap_roots_oracle::race::check(input));
