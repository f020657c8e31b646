//! The fuzz targets' seeds and the inputs that once showed a fault, without a fuzzer; and, cheaply, more of what the targets do.

#![allow(missing_docs, reason = "a test")]

use cap_roots_oracle::{config, decide, location, read, regressions, rules, uri};

#[test]
fn committed_inputs_are_replayed() {
    assert!(regressions::replay() >= 10, "the inputs were not found");
}

/// Every tree with every path of one and two picks: what the fuzzer starts from.
#[test]
fn short_inputs() {
    for first in 0..=16 {
        for second in 0..=255 {
            read::check(&[first, second]);
            read::check(&[first, 1, second, second.wrapping_mul(7)]);
        }
    }
}

/// Every URI of a beginning, two segments and an end.
#[test]
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
#[test]
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
