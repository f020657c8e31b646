//! Text edits beside a naive reading of what they promise, and their diff done to the old text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| cap_roots_server_oracle::edit::check(input));
