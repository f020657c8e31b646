//! Path texts: parsing ends, says the same twice, and its own text form means the same place.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| cap_roots_oracle::location::check(text));
