//! Reading by any path in a poisoned tree: nothing of the outside comes back, and the fast way and the walk agree.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|picks: &[u8]| cap_roots_oracle::read::check(picks));
