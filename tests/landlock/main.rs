//! The fence of the kernel: code of the process that goes past the library reaches nothing outside, and the library works as without it.
//!
//! Each child is fenced in and then plays the fault, by the standard library alone. With level 0 there is no fence, and everything goes well: that shows
//! that what is refused otherwise is refused by the fence. Older kernels are played by building for their level.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "what a child found, and what is left out, is said")]
#![allow(clippy::disallowed_methods, reason = "plays the fault, by path")]

#[path = "../support/mod.rs"]
mod support;

#[path = "../faults/child.rs"]
#[allow(dead_code, reason = "its operations are used, and not how it ends")]
mod child;
#[path = "../faults/planted.rs"]
mod planted;

mod bug;
mod suite;

use cap_roots::landlock::{self, HIGHEST};
use cap_roots_oracle::needs;
use libtest_mimic::{Arguments, Trial};

/// The environment of a child: which part it plays, where, and with which level of Landlock.
pub(crate) const PART: &str = "CAP_ROOTS_FENCE_PART";
pub(crate) const PLACE: &str = "CAP_ROOTS_FENCE_IN";
pub(crate) const LEVEL: &str = "CAP_ROOTS_FENCE_LEVEL";
pub(crate) const ACCESS: &str = "CAP_ROOTS_FENCE_ACCESS";
pub(crate) const PORTS: &str = "CAP_ROOTS_FENCE_PORTS";

pub(crate) fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

pub(crate) fn level() -> u32 {
    variable(LEVEL).parse().unwrap()
}

fn main() {
    match variable(PART).as_str() {
        "bug" => return bug::play(),
        "suite" => return suite::play(),
        _ => {}
    }
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    let kernel = landlock::kernel().ok();
    // In one line, and not in one for each.
    if needs::landlock(HIGHEST, kernel) {
        for level in 0..=HIGHEST {
            for access in ["list", "read", "write"] {
                trials.push(Trial::test(format!("bug::level {level}, {access}"), move || bug::is_kept_in(level, access)));
            }
        }
        for way in ["fast", "walk"] {
            trials.push(Trial::test(format!("suite::{way}"), move || suite::is_the_same(way)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
