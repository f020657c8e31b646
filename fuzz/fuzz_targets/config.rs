//! Configurations: one line with its place, or a configuration that fits the published schema and says what the text says.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| cap_roots_oracle::config::check_bytes(bytes));
