//! The committed seeds still make what they made: a short digest of each one's case, written down beside them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sequence::generate::Case;

/// A case as text.
type Print = fn(&[u8]) -> String;

/// What the inputs of each target with an encoding make. The other targets' inputs are what they say.
const TARGETS: &[(&str, Print)] = &[
    ("differential", |bytes| after_way(bytes, Case::small)),
    ("read", crate::read::print),
    ("sequence", |bytes| after_way(bytes, Case::generate)),
];

/// How long an input is that is worth looking for the shortest form of.
const LONGEST: usize = 512;

fn after_way(bytes: &[u8], case: fn(&[u8]) -> Case) -> String {
    let (first, rest) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    format!("way {}\n{}", first % 2, case(rest))
}

/// Every committed input of these targets, by target and name, with the digest of its case.
pub fn digests() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (print, path) in inputs() {
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{error}"));
        found.insert(label(&path), format!("{:016x}", digest(&print(&bytes))));
    }
    found
}

/// What is written down.
pub fn recorded() -> BTreeMap<String, String> {
    let text = fs::read_to_string(record()).unwrap_or_default();
    text.lines().filter_map(|line| line.split_once(' ')).map(|(name, digest)| (name.to_owned(), digest.to_owned())).collect()
}

/// Brings each input into the shortest form that makes the same case, with the lowest bytes, and writes the digests down. A byte that is the
/// index itself, and not one that wraps around, keeps its meaning when a list grows at its end.
pub fn rewrite() {
    for (print, path) in inputs() {
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{error}"));
        fs::write(path, lowest(bytes, print)).unwrap_or_else(|error| panic!("{error}"));
    }
    let mut text = String::new();
    for (name, digest) in digests() {
        let _ = writeln!(text, "{name} {digest}");
    }
    fs::write(record(), text).unwrap_or_else(|error| panic!("{error}"));
}

/// Whether an input is in that form.
pub fn is_lowest(name: &str) -> bool {
    let of = |(_, path): &(Print, PathBuf)| label(path) == name;
    let Some((print, path)) = inputs().into_iter().find(of) else { return false };
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{error}"));
    lowest(bytes.clone(), print) == bytes
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

fn inputs() -> Vec<(Print, PathBuf)> {
    let mut found = Vec::new();
    for folder in ["corpus", "regressions"] {
        for (target, print) in TARGETS {
            for entry in fs::read_dir(top().join(folder).join(target)).into_iter().flatten().flatten() {
                found.push((*print, entry.path()));
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

/// FNV-1a: short, the same everywhere, and nobody's to forge.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
