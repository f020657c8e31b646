//! The committed seeds still make what they made: a short digest of each one's case, written down beside them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sequence::generate::Case;

/// A case as text.
pub type Print = fn(&[u8]) -> String;

/// How the inputs of a target are read.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    pub target: &'static str,
    pub print: Print,
    /// A byte counts round in lists that may grow, so that committed inputs have to be in their lowest form. The others read texts, or bits and
    /// lists whose length is part of the encoding.
    pub grows: bool,
}

/// Of the targets whose checks are in this crate.
pub const ENCODINGS: &[Encoding] = &[
    Encoding { target: "config", print: crate::config::print, grows: false },
    Encoding { target: "decide", print: crate::decide::print, grows: true },
    Encoding { target: "differential", print: |bytes| after_way(bytes, Case::small), grows: true },
    Encoding { target: "location", print: crate::location::print, grows: false },
    Encoding { target: "race", print: crate::race::print, grows: false },
    Encoding { target: "read", print: crate::read::print, grows: true },
    Encoding { target: "rules", print: crate::rules::print, grows: false },
    Encoding { target: "sequence", print: |bytes| after_way(bytes, Case::generate), grows: true },
    Encoding { target: "uri", print: crate::uri::print, grows: false },
];

/// How long an input is that is worth looking for the shortest form of.
const LONGEST: usize = 512;

fn after_way(bytes: &[u8], case: fn(&[u8]) -> Case) -> String {
    let (first, rest) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    format!("way {}\n{}", first % 2, case(rest))
}

const ADVICE: &str = "The encoding has changed. Lists grow at their ends only, and new choices come after those that are there. If the change \
    is meant, `CAP_ROOTS_REWRITE_SEEDS=1 cargo test --test seeds` (of the server: `-p cap-roots-mcp --test regressions committed`) writes the \
    digests anew; look at what the regressions still show.";

/// # Panics
/// If a committed input of these targets makes another case than the one that is written down, or none is. `CAP_ROOTS_REWRITE_SEEDS` in the
/// environment has them written down anew.
pub fn check_digests(encodings: &[Encoding]) {
    if std::env::var_os("CAP_ROOTS_REWRITE_SEEDS").is_some() {
        rewrite(encodings);
    }
    let (found, recorded) = (digests(encodings), recorded(|target| encodings.iter().any(|encoding| encoding.target == target)));
    for encoding in encodings {
        let of = |name: &&String| target_of(name) == encoding.target;
        assert!(found.keys().filter(of).count() > 10, "the inputs of {} were not found", encoding.target);
    }
    for (name, digest) in &found {
        assert_eq!(recorded.get(name), Some(digest), "{name}: {ADVICE}");
    }
    let gone: Vec<_> = recorded.keys().filter(|name| !found.contains_key(*name)).collect();
    assert!(gone.is_empty(), "written down, and not there: {gone:?}");
}

/// # Panics
/// If a committed input has a byte that counts round a list that may grow: with a longer list it would mean another entry.
pub fn check_lowest(encodings: &[Encoding]) {
    for (encoding, path) in inputs(encodings).into_iter().filter(|(encoding, _)| encoding.grows) {
        let bytes = read(&path);
        assert!(lowest(bytes.clone(), encoding.print) == bytes, "{} is not in its lowest form. {ADVICE}", label(&path));
    }
}

/// Every committed input of these targets, by target and name, with the digest of its case.
fn digests(encodings: &[Encoding]) -> BTreeMap<String, String> {
    let digest =
        |(encoding, path): (Encoding, PathBuf)| (label(&path), format!("{:016x}", digest(&(encoding.print)(&read(&path)))));
    inputs(encodings).into_iter().map(digest).collect()
}

/// What is written down of some targets.
fn recorded(wanted: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let text = fs::read_to_string(record()).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| wanted(target_of(name)));
    lines.map(|(name, digest)| (name.to_owned(), digest.to_owned())).collect()
}

/// Brings each input of lists that may grow into the shortest form that makes the same case, with the lowest bytes, and writes the digests down. A
/// byte that is the index itself, and not one that wraps around, keeps its meaning when a list grows at its end.
fn rewrite(encodings: &[Encoding]) {
    for (encoding, path) in inputs(encodings).into_iter().filter(|(encoding, _)| encoding.grows) {
        fs::write(&path, lowest(read(&path), encoding.print)).unwrap_or_else(|error| panic!("{error}"));
    }
    let mut all = recorded(|target| !encodings.iter().any(|encoding| encoding.target == target));
    all.extend(digests(encodings));
    let mut text = String::new();
    for (name, digest) in all {
        let _ = writeln!(text, "{name} {digest}");
    }
    fs::write(record(), text).unwrap_or_else(|error| panic!("{error}"));
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lowest(mut bytes: Vec<u8>, print: Print) -> Vec<u8> {
    let case = print(&bytes);
    loop {
        let before = bytes.clone();
        while bytes.len() > LONGEST || bytes.split_last().is_some_and(|(_, rest)| print(rest) == case) {
            bytes.pop();
        }
        for index in 0..bytes.len() {
            let old = bytes[index];
            for low in 0..old {
                bytes[index] = low;
                if print(&bytes) == case {
                    break;
                }
                bytes[index] = old;
            }
        }
        // A byte that has become zero at the end is as good as none.
        if bytes == before {
            return bytes;
        }
    }
}

fn inputs(encodings: &[Encoding]) -> Vec<(Encoding, PathBuf)> {
    let mut found = Vec::new();
    for folder in ["corpus", "regressions"] {
        for encoding in encodings {
            for entry in fs::read_dir(top().join(folder).join(encoding.target)).into_iter().flatten().flatten() {
                found.push((*encoding, entry.path()));
            }
        }
    }
    found
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn record() -> PathBuf {
    top().join("corpus").join("digests")
}

/// `corpus/TARGET/NAME`.
fn label(path: &Path) -> String {
    let names: Vec<_> = path.components().rev().take(3).map(|name| name.as_os_str().to_string_lossy()).collect();
    names.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// The target of such a label.
fn target_of(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}

/// FNV-1a: short, the same everywhere, and nobody's to forge.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
