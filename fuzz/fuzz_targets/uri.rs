//! `file:` and `root://` URIs in both path styles, beside a second reading and a URL parser: the same path or a listed difference, refused for a
//! listed reason, the same again when written.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| cap_roots_oracle::uri::check_bytes(bytes));
