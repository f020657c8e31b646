//! Globs of callers beside a naive matcher, and walks beside the whole listing of a small tree.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| cap_roots_server_oracle::glob_walk::check(input));
