//! Each system call of each operation fails, alone or from then on: the refusal says what it was, and there is the old tree or the new one.
//!
//! Catches: a kernel's lack of a call that is told as a failure; an error that is swallowed, or told as something else; a part of a file; a
//! temporary name, a descriptor or a turn that is not given back; data lost or doubled by a call that is interrupted or does less than asked.
//!
//! A sample; `CAP_ROOTS_FAULTS=all` tries every call with every error on each way, and a number one in so many of them.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "the counts are the evidence")]
#![allow(clippy::disallowed_methods, reason = "looks at the tree by path")]

#[path = "../support/mod.rs"]
mod support;

mod child;
mod inject;
mod laws;
mod planted;
mod short;

use cap_roots::{Access, Roots};
use cap_roots_oracle::needs;
use std::sync::atomic::Ordering;

use libtest_mimic::{Arguments, Failed, Trial};

/// The ways on which the operations go: the fast one, the walk, and where the kernel or the disk lacks something already.
const WAYS: [&str; 5] = ["fast", "walk", NAMED, "without linkat/empty=ENOENT", WITHOUT_RENAMEAT2];
const NAMED: &str = "without openat/tmpfile=EOPNOTSUPP";
const WITHOUT_RENAMEAT2: &str = "without renameat2=ENOSYS";

/// What a wrong implementation would do wrong, or one did: way, operation, call, errors.
const KNOWN: [(&str, &str, &str, &[&str]); 25] = [
    // The kernel's confined open: absent, or asked in vain.
    ("fast", "read", "openat2", &["ENOSYS", "EPERM", "EAGAIN", "EMFILE"]),
    ("fast", "write over", "openat2", &["ENOSYS", "EPERM", "EAGAIN", "EINTR"]),
    // A failed listing would give a file a second name, or hide it.
    ("fast", "write in another form", "getdents64", &["EIO", "EMFILE"]),
    ("fast", "read in another form", "getdents64", &["EIO"]),
    ("fast", "read in another form", "openat", &["EMFILE"]),
    // Renames that replace nothing, where that call is not known.
    ("fast", "rename a file", "renameat2", &["ENOSYS", "EPERM"]),
    ("fast", "rename a directory", "renameat2", &["ENOSYS", "EPERM"]),
    ("fast", "rename a link", "renameat2", &["ENOSYS", "EPERM", "EIO"]),
    (NAMED, "write anew", "renameat2", &["ENOSYS", "EPERM"]),
    (WITHOUT_RENAMEAT2, "rename a file", "unlinkat", &["EIO", "EPERM"]),
    // Interrupted before anything was read.
    ("fast", "read a link", "readlinkat", &["EINTR"]),
    ("walk", "read a link", "readlinkat", &["EINTR"]),
    ("fast", "read a link", "fstatfs", &["EINTR"]),
    // A look whether a directory may be changed.
    ("fast", "remove a tree", "faccessat2", &["ENOSYS", "EPERM", "EMFILE"]),
    // Temporary names that cannot be looked at, or are locked by somebody else.
    (NAMED, "write over", "openat", &["EMFILE", "EIO"]),
    (NAMED, "write over", "statx", &["EMFILE"]),
    (NAMED, "write over", "flock", &["EAGAIN"]),
    ("fast", "copy a tree", "openat", &["EMFILE"]),
    ("fast", "copy a tree", "flock", &["EAGAIN"]),
    // What has to be on the disk.
    ("fast", "write over", "fsync", &["EIO", "ENOSPC"]),
    ("fast", "write over", "write", &["EIO", "ENOSPC", "EINTR"]),
    ("fast", "append", "write", &["EIO", "ENOSPC", "EINTR"]),
    ("fast", "append anew", "write", &["ENOSPC"]),
    ("fast", "append anew", "statx", &["EIO"]),
    ("fast", "copy a file", "copy_file_range", &["ENOSYS", "EPERM", "EINTR", "ENOSPC"]),
];

/// One in so many cases is tried; `None`: some operations of the fast way alone.
fn stride() -> Option<usize> {
    match std::env::var("CAP_ROOTS_FAULTS").as_deref() {
        Ok("all") => Some(1),
        Ok(number) => Some(number.parse().unwrap()),
        Err(_) => None,
    }
}

fn swept() -> Vec<Trial> {
    let mut trials = Vec::new();
    for way in if stride().is_some() { &WAYS[..] } else { &WAYS[..1] } {
        for (operation, _) in child::OPERATIONS {
            let hold = move || laws::hold(way, operation, stride().unwrap_or(240));
            trials.push(Trial::test(format!("{way}::{operation}"), hold));
        }
    }
    trials
}

/// A file that the kernel makes up, in a root that is not the kernel's, where the system does not tell which disk it is on.
fn unknown_disk() -> Result<(), Failed> {
    let read = || {
        let roots = Roots::builder().named("top", "/", Access::Read).open().unwrap();
        support::code(roots.read("proc/self/status"))
    };
    assert_eq!(read(), "special-file");
    // In a thread of its own, which keeps the filter.
    let filtered = std::thread::spawn(move || {
        support::filter::deny("fstatfs=EPERM").unwrap();
        read()
    });
    assert_eq!(filtered.join().unwrap(), "os-denied");
    Ok(())
}

fn main() {
    child::run();
    let arguments = Arguments::from_args();
    let mut trials = short::trials();
    trials.push(Trial::test("closed::a file on a disk that is not told", unknown_disk));
    let traces = needs::strace();
    if traces {
        for (way, operation, call, errors) in KNOWN {
            let hold = move || laws::hold_for(way, operation, call, errors);
            trials.push(Trial::test(format!("known::{operation}, {call}, {way}"), hold));
        }
        trials.extend(swept());
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if traces {
        println!("proof: faults: {} operations with a system call that fails", laws::INJECTED.load(Ordering::Relaxed));
    }
    conclusion.exit();
}
