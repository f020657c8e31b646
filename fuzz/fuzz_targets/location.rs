//! Path arguments in both path styles, beside a second reading.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| cap_roots_oracle::location::check_bytes(bytes));
