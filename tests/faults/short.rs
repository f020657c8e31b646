//! Reads and writes that do half of what they are asked for, or are interrupted: all that moves content goes through the C library, so it can
//! be put in between there. What opens, lists and looks does not, and has no halves but for listings, which come in parts anyway.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cap_roots_oracle::needs;
use libtest_mimic::{Failed, Trial};

use crate::planted::{picture, tree};
use crate::{WAYS, child, inject};

/// What moves content.
const OPERATIONS: [&str; 12] = [
    "read",
    "open and read",
    "read in another form",
    "write over",
    "write anew",
    "write in another form",
    "update",
    "append",
    "append anew",
    "copy a file",
    "copy over",
    "copy a tree",
];

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |way: &'static str| Trial::test(format!("short::{way}"), move || all(way));
    // Where the kernel copies nothing by itself as well, so that the content goes through this process.
    WAYS.into_iter().chain(["without copy_file_range=ENOSYS,sendfile=EINVAL,splice=EINVAL"]).map(trial).collect()
}

/// Built by the compiler driver that links Rust programs as well.
fn library(folder: &Path) -> Option<PathBuf> {
    let library = folder.join("short.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/short.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl").status();
    built.is_ok_and(|status| status.success()).then_some(library)
}

fn all(way: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = library(folder.path()) else {
        needs::skipped("there is no C compiler");
        return Ok(());
    };
    let mut calls = 0;
    for operation in OPERATIONS {
        let (plain, short) = (tree(), tree());
        let told = folder.path().join("told");
        let end = inject::plain(plain.base(), operation, way).env(child::TELL, &told).output().unwrap();
        assert!(end.status.success(), "{operation}: {}", end.status);
        let answer = fs::read_to_string(&told).unwrap();
        let end =
            inject::plain(short.base(), operation, way).env(child::ANSWER, answer).env("LD_PRELOAD", &library).output().unwrap();
        let text = String::from_utf8_lossy(&end.stderr).into_owned();
        assert!(end.status.success(), "{operation}: {}, {text}", end.status);
        let here: usize = text.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
        assert!(here > 0, "{operation}: nothing went through it: {text}");
        calls += here;
        assert_eq!(picture(short.base()), picture(plain.base()), "{operation}");
    }
    println!("{way}: {calls} calls, each half or interrupted");
    Ok(())
}
