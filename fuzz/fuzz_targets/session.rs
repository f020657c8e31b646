//! Sessions of both eras by the lines of the wire: each request gets one answer, nothing of the outside comes back, and the session goes on.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| cap_roots_server_oracle::session::check(input));
