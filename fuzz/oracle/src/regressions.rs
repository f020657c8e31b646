//! Inputs as tests of their own names: the seeds, the inputs that once showed a fault, and a corpus that is kept elsewhere.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

/// Panics if an input shows a fault.
pub type Check = fn(&[u8]);

/// The targets whose checks are in this crate, each checked by every way.
pub const TARGETS: &[(&str, Check)] = &[
    ("location", crate::location::check_bytes),
    ("uri", crate::uri::check_bytes),
    ("rules", crate::rules::check_bytes),
    ("decide", crate::decide::check_bytes),
    ("config", crate::config::check_bytes),
    ("read", crate::read::check),
    ("race", crate::race::check),
    ("sequence", crate::sequence::run::check_both),
    ("differential", crate::differential::check_all),
];

/// So few inputs of a target mean that they were not found.
const LEAST: usize = 10;

/// Inputs that are run as one test.
struct Replay {
    name: String,
    check: Check,
    files: Vec<PathBuf>,
}

impl Replay {
    /// Panics if one of them shows a fault.
    fn run(&self) {
        for file in &self.files {
            let input = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.check)(&input))) {
                eprintln!("the input is {}", file.display());
                resume_unwind(panic);
            }
        }
    }
}

/// What a test does.
pub type Work = Box<dyn FnOnce() + Send>;

/// The tests of a program: its own, and the inputs of its targets. `trial` makes one, out of its name and what it does.
///
/// # Panics
/// Where an input breaks what its target promises, and where a target has none.
pub fn trials<T>(own: &[(&str, fn())], targets: &[(&str, Check)], trial: impl Fn(&str, Work) -> T) -> Vec<T> {
    let own = own.iter().map(|(name, test)| trial(name, Box::new(*test)));
    own.chain(replays(targets).into_iter().map(|replay| trial(&replay.name.clone(), Box::new(move || replay.run())))).collect()
}

/// `TARGET::FILE` for each committed input, in `corpus` and in `regressions`; and `TARGET::CAP_ROOTS_CORPUS` for all that lie in the folder
/// of that name below the one that this variable names.
///
/// # Panics
/// If the inputs of a target are not there, or none in the folder that the variable names.
fn replays(targets: &[(&str, Check)]) -> Vec<Replay> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut replays = Vec::new();
    for (target, check) in targets {
        let before = replays.len();
        for file in ["regressions", "corpus"].iter().flat_map(|folder| files(&top.join(folder).join(target))) {
            let name = format!("{target}::{}", file.file_name().unwrap_or_default().to_string_lossy());
            replays.push(Replay { name, check: *check, files: vec![file] });
        }
        assert!(replays.len() - before >= LEAST, "the inputs of {target} were not found");
    }
    if let Some(corpus) = std::env::var_os("CAP_ROOTS_CORPUS").map(PathBuf::from) {
        let before = replays.len();
        for (target, check) in targets {
            let files = files(&corpus.join(target));
            if !files.is_empty() {
                replays.push(Replay { name: format!("{target}::CAP_ROOTS_CORPUS"), check: *check, files });
            }
        }
        assert!(replays.len() > before, "there are no inputs in {}", corpus.display());
    }
    replays
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}
