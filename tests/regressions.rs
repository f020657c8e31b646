//! The fuzz targets' seeds and the inputs that once showed a fault, without a fuzzer; and, cheaply, more of what the targets do.

#![allow(missing_docs, reason = "a test")]

use cap_roots_oracle::{read, regressions, uri};

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
