//! Inputs that once showed a fault, replayed without a fuzzer.

use std::fs;
use std::path::Path;

/// Runs every committed input of every target, and gives their number: those under `regressions/`, and the seeds.
pub fn replay() -> usize {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut count = 0;
    for folder in ["regressions", "corpus"] {
        for (target, check) in [
            ("location", (|bytes| text(bytes, crate::location::check)) as fn(&[u8])),
            ("file_uri", |bytes| text(bytes, crate::file_uri::check)),
            ("read", crate::read::check),
            ("race", crate::race::check),
            ("sequence", crate::sequence::run::check_both),
        ] {
            for entry in fs::read_dir(top.join(folder).join(target)).into_iter().flatten().flatten() {
                check(&fs::read(entry.path()).unwrap_or_else(|error| panic!("{error}")));
                count += 1;
            }
        }
    }
    count
}

fn text(bytes: &[u8], check: fn(&str)) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
    }
}
