//! The inputs of the fuzz targets that need the server, each a test `TARGET::FILE`, and some that are made up: `TARGET::drawn`.
//!
//! Catches, in `edit`: an edit that takes the line ends of its own text, a place that is counted wrongly, a diff that says something else;
//! in `glob_walk`: a glob that fits something else than it says, a walk that shows what is left out, pages that lose or repeat an entry;
//! in `session`: a request without an answer or with two, an answer that holds something of the outside, a session that ends early.
//!
//! `CAP_ROOTS_INPUTS=100000` makes up as many for each target, and `CAP_ROOTS_CORPUS=DIR` replays what lies in `DIR/TARGET` as well.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/xorshift.rs"]
mod xorshift;

use cap_roots_oracle::privilege;
use cap_roots_oracle::regressions::{Check, replays};
use cap_roots_server_oracle::TARGETS;
use libtest_mimic::{Arguments, Trial};
use xorshift::Random;

fn main() {
    let arguments = Arguments::from_args();
    privilege::drop_override();
    let mut trials: Vec<Trial> =
        TARGETS.iter().map(|(target, check)| trial(&format!("{target}::drawn"), || drawn(target, *check))).collect();
    for replay in replays(TARGETS) {
        trials.push(trial(&replay.name.clone(), move || replay.run()));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}

/// The same inputs each time.
fn drawn(target: &str, check: Check) {
    let count = match target {
        "edit" => 5_000,
        "glob_walk" => 2_000,
        "session" => 200,
        _ => panic!("how many inputs are to be made up for {target}?"),
    };
    let count = std::env::var("CAP_ROOTS_INPUTS").map_or(count, |count| count.parse().unwrap());
    let mut random = Random::new(1);
    for _ in 0..count {
        let length = random.below(60);
        let input: Vec<u8> = (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        check(&input);
    }
}
