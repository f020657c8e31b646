//! `file:` URIs beside a URL parser: the same path or a listed difference, refused for a listed reason, the same again when written.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| cap_roots_oracle::file_uri::check(text));
