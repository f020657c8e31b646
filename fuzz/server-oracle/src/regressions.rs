//! The seeds of the targets, and inputs that once showed a fault, replayed without a fuzzer.

use std::fs;
use std::path::Path;

/// Runs every committed input of one target, and gives their number: those under `regressions/`, and the seeds.
pub fn replay(target: &str, check: fn(&[u8])) -> usize {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut count = 0;
    for folder in ["regressions", "corpus"] {
        for entry in fs::read_dir(top.join(folder).join(target)).into_iter().flatten().flatten() {
            check(&fs::read(entry.path()).unwrap_or_else(|error| panic!("{error}")));
            count += 1;
        }
    }
    count
}
