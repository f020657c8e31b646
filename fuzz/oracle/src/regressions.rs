//! Inputs that once showed a fault, replayed without a fuzzer.

use std::fs;
use std::path::Path;

/// Runs every committed input of every target, and gives their number: those under `regressions/`, and the seeds.
pub fn replay() -> usize {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut count = 0;
    for folder in ["regressions", "corpus"] {
        for (target, check) in [
            ("location", crate::location::check_bytes as fn(&[u8])),
            ("uri", crate::uri::check_bytes),
            ("rules", crate::rules::check_bytes),
            ("decide", crate::decide::check_bytes),
            ("config", crate::config::check_bytes),
            ("read", crate::read::check),
            ("race", crate::race::check),
            ("sequence", crate::sequence::run::check_both),
            ("differential", crate::differential::check_all),
        ] {
            for entry in fs::read_dir(top.join(folder).join(target)).into_iter().flatten().flatten() {
                check(&fs::read(entry.path()).unwrap_or_else(|error| panic!("{error}")));
                count += 1;
            }
        }
    }
    count
}
