//! The fuzz targets' seeds and the inputs that once showed a fault, each a test `TARGET::FILE`; and, cheaply, more of what the targets do.
//!
//! `CAP_ROOTS_CORPUS=DIR` replays what lies in `DIR/TARGET` as well.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "looks where the inputs lie")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cap_roots_oracle::regressions::{TARGETS, Work, trials};
use cap_roots_oracle::seeds::ENCODINGS;
use cap_roots_oracle::{config, decide, location, privilege, read, rules, uri};
use libtest_mimic::{Arguments, Trial};

fn main() {
    let arguments = Arguments::from_args();
    privilege::drop_override();
    let own: [(&str, fn()); 4] = [
        ("every_target_is_replayed", every_target_is_replayed),
        ("short_inputs", short_inputs),
        ("short_uris", short_uris),
        ("drawn_inputs", drawn_inputs),
    ];
    let trial = |name: &str, work: Work| {
        Trial::test(name, move || {
            work();
            Ok(())
        })
    };
    libtest_mimic::run(&arguments, trials(&own, TARGETS, trial)).exit();
}

/// Catches: a target whose inputs no test runs, or whose encoding nobody watches, and a folder of inputs that belongs to none.
fn every_target_is_replayed() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    let bins = manifest.split("[[bin]]").skip(1);
    let all: BTreeSet<String> = bins.map(|bin| bin.split('"').nth(1).unwrap().to_owned()).collect();
    let here: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    // Those of the server are replayed by its own tests.
    let server = ["edit", "glob_walk", "session"].map(str::to_owned).into();
    assert_eq!(all, &here | &server);
    assert_eq!(here, ENCODINGS.iter().map(|encoding| encoding.target.to_owned()).collect());
    for folder in ["corpus", "regressions"] {
        for entry in fs::read_dir(fuzz.join(folder)).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
            let name = entry.file_name().into_string().unwrap();
            assert!(all.contains(&name), "{folder}/{name} belongs to no target");
        }
    }
}

/// Every tree with every path of one and two picks: what the fuzzer starts from.
fn short_inputs() {
    for first in 0..=16 {
        for second in 0..=255 {
            read::check(&[first, second]);
            read::check(&[first, 1, second, second.wrapping_mul(7)]);
        }
    }
}

/// Every URI of a beginning, two segments and an end.
fn short_uris() {
    let heads = [
        "",
        "file:",
        "file:/",
        "file://",
        "file:///",
        "FILE:///",
        "file:////",
        "file://localhost/",
        "file://h/",
        "x:///",
        " file:///",
        "root://ws/",
        "ROOT://",
        "root://ws",
        "root:/ws/",
    ];
    let segments = [
        "", "a", ".", "..", "%2e", "%2E.", "a%2fb", "%00", "%", "%4", "%zz", "%25", "%ff", "C:", "c%3A", "d|", "a b", "\u{e9}",
        "a\\b", "a?", "#", "~", "\t",
    ];
    let ends = ["", "/", "//", " ", "/.", "\n"];
    for head in heads {
        for (first, second) in segments.iter().flat_map(|first| segments.iter().map(move |second| (first, second))) {
            for end in ends {
                uri::check(&format!("{head}{first}{end}"));
                uri::check(&format!("{head}{first}/{second}{end}"));
            }
        }
    }
}

/// The same inputs each time, from a generator of its own (xorshift), with and without the mark of picks.
fn drawn_inputs() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    for round in 0..5_000 {
        let picks: Vec<u8> = std::iter::once(0xff).chain((0..byte() % 48).map(|_| byte() % 64)).collect();
        uri::check_bytes(&picks);
        location::check_bytes(&picks);
        rules::check_bytes(&picks);
        decide::check_bytes(picks.get(1..).unwrap_or_default());
        // Each of these is read several times.
        if round % 8 == 0 {
            config::check_bytes(&picks);
        }
    }
}
