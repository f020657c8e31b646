//! Each system call of each operation fails, alone or from then on: the refusal says what it was, and there is the old tree or the new one.
//!
//! Catches: a kernel's lack of a call that is told as a failure; an error that is swallowed, or told as something else; a part of a file; a
//! temporary name, a descriptor or a turn that is not given back; data lost or doubled by a call that is interrupted or does less than asked.
//!
//! A sample; `CAP_ROOTS_FAULTS=all` tries every call with every error.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "the counts are the evidence")]
#![allow(clippy::disallowed_methods, reason = "looks at the tree by path")]

#[path = "../support/mod.rs"]
mod support;

mod child;
mod inject;
mod laws;
mod short;

use libtest_mimic::{Arguments, Trial};

/// How many of the cases are tried, one in so many.
fn stride() -> usize {
    match std::env::var("CAP_ROOTS_FAULTS") {
        Ok(all) if all == "all" => 1,
        Ok(number) => number.parse().unwrap(),
        Err(_) => 40,
    }
}

/// The ways on which the operations go: the fast one, the walk, and where the kernel or the disk lacks something already.
const WAYS: [&str; 5] =
    ["fast", "walk", "without openat/tmpfile=EOPNOTSUPP", "without linkat/empty=ENOENT", "without renameat2=ENOSYS"];

fn main() {
    child::run();
    let arguments = Arguments::from_args();
    let mut trials = short::trials();
    if inject::is_there() {
        for (number, way) in WAYS.into_iter().enumerate() {
            for (operation, _) in child::OPERATIONS {
                trials.push(Trial::test(format!("{way}::{operation}"), move || laws::hold(way, operation, stride(), number)));
            }
        }
    } else {
        println!("skipped: strace is missing, or may not trace here");
    }
    libtest_mimic::run(&arguments, trials).exit();
}
