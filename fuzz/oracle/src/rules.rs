//! Laws of rules: the automata beside a naive matcher, which tries everything and is written from the documentation of rules; and "the same is
//! left below" beside an enumeration of the short names below both places.

mod naive;

use cap_roots::Access;
use cap_roots::internals::Rules;

use crate::generate::Picks;
use crate::pieces;
pub use naive::{Glob, Naive, Unreadable};

/// What names of globs are made of.
const OF_GLOBS: &[&str] = &[
    "a",
    "*",
    "?",
    "**",
    "b",
    ".env",
    ".git",
    "[ab]",
    "[!a]",
    "[a-c]",
    "[]]",
    "[a-]",
    "[^b]",
    "[Z-a]",
    "A",
    "ss",
    "\u{df}",
    "\u{e9}",
    "e\u{301}",
    "E\u{301}",
    "\u{17f}",
    "\u{212a}",
    "k",
    "fi",
    "\u{fb01}",
    "\u{1f0}",
    "J\u{30c}",
    "\u{3c2}",
    "\u{3a3}",
    "my x",
    "my\u{a0}x",
    "[\u{df}]",
    "[!s]",
    "[\u{c9}]",
    "-",
    "[*]",
    "[?]",
    ".",
    "[",
    "]",
    "\u{130}",
    "\u{212b}",
    "[b-a]",
    "\\",
    "{",
    "~",
    "!",
    " ",
    ".cap-roots-*.tmp",
    "hooks",
    "x.y",
    "[--a]",
    "[a-b-c]",
];

/// What names are made of.
pub(crate) const OF_NAMES: &[&str] = &[
    "a",
    "b",
    "",
    "A",
    ".env",
    ".git",
    "c",
    "-",
    "]",
    "B",
    "ss",
    "\u{df}",
    "\u{1e9e}",
    "\u{e9}",
    "e\u{301}",
    "E\u{301}",
    "\u{c9}",
    "S",
    "\u{17f}",
    "\u{212a}",
    "k",
    "fi",
    "FI",
    "\u{fb01}",
    "\u{1f0}",
    "J\u{30c}",
    "j\u{30c}",
    "\u{3c2}",
    "\u{3c3}",
    "my x",
    "my\u{a0}x",
    "my\u{202f}x",
    "*",
    "?",
    "z",
    "\u{130}",
    "\u{131}",
    "\u{c5}",
    "a\u{30a}",
    "\u{97f3}",
    "\u{200d}",
    ".cap-roots-",
    ".CAP-ROOTS-",
    ".tmp",
    "x",
    ".",
    " ",
    "hooks",
    ".Git",
    "Hooks",
    "x.y",
    "y",
    "[",
    "^",
    "!",
];

const LEVELS: [Access; 4] = [Access::None, Access::List, Access::Read, Access::Write];

/// An access.
pub(crate) fn access(picks: &mut Picks<'_>) -> Access {
    LEVELS[picks.byte() % 4]
}

/// Up to three globs, each with its ceiling.
pub(crate) fn globs(picks: &mut Picks<'_>) -> Vec<(String, Access)> {
    let glob = |picks: &mut Picks<'_>| {
        let (shape, access) = (picks.byte(), access(picks));
        let part = |picks: &mut Picks<'_>| {
            let two = picks.byte();
            let first = pieces::next(picks, OF_GLOBS);
            if two % 4 == 3 { first.to_owned() + pieces::next(picks, OF_GLOBS) } else { first.to_owned() }
        };
        let parts: Vec<String> = (0..=shape % 4).map(|_| part(picks)).collect();
        let (start, end) = (if shape & 16 == 0 { "" } else { "/" }, if shape & 32 == 0 { "" } else { "/" });
        (format!("{start}{}{end}", parts.join("/")), access)
    };
    (0..=picks.byte() % 3).map(|_| glob(picks)).collect()
}

/// Up to three names.
pub(crate) fn names(picks: &mut Picks<'_>) -> Vec<String> {
    let count = picks.byte();
    let name = |picks: &mut Picks<'_>| {
        let two = picks.byte();
        let first = pieces::next(picks, OF_NAMES);
        let text = if two % 4 == 3 { first.to_owned() + pieces::next(picks, OF_NAMES) } else { first.to_owned() };
        if matches!(&*text, "" | "." | "..") { "b".to_owned() } else { text }
    };
    (0..count % 4).map(|_| name(picks)).collect()
}

/// What bytes stand for.
#[derive(Debug)]
struct Case {
    compared: bool,
    globs: Vec<(String, Access)>,
    one: Vec<String>,
    other: Vec<String>,
}

impl Case {
    /// UTF-8 is a glob and, in the next line, names; what begins with `0xFF` picks globs and two places, and what is asked of them.
    fn of(bytes: &[u8]) -> Option<Self> {
        if let [0xff, picks @ ..] = bytes {
            let picks = &mut Picks(picks);
            return Some(Self { compared: picks.byte() % 2 == 1, globs: globs(picks), one: names(picks), other: names(picks) });
        }
        let text = std::str::from_utf8(bytes).ok()?;
        let (glob, rest) = text.split_once('\n').unwrap_or((text, ""));
        let names = rest.split('/').filter(|name| !matches!(*name, "" | "." | "..") && !name.contains('\0'));
        let one = names.take(6).map(str::to_owned).collect();
        Some(Self { compared: false, globs: vec![(glob.to_owned(), Access::List)], one, other: Vec::new() })
    }
}

/// What an input means.
pub(crate) fn print(bytes: &[u8]) -> String {
    format!("{:?}", Case::of(bytes))
}

/// Runs what bytes stand for.
pub fn check_bytes(bytes: &[u8]) {
    if let Some(Case { compared, globs, one, other }) = Case::of(bytes) {
        if compared { check_two(&globs, &one, &other) } else { check_one(&globs, &one, &other) }
    }
}

/// Both readings of globs; `None` where the oracle knows too little, or neither can read them.
fn read(globs: &[(String, Access)], names: &[&str]) -> Option<(Rules, Naive)> {
    let (ours, naive) = (Rules::new(pairs(globs)), Naive::new(globs, names));
    assert_eq!(ours.is_err(), naive.is_err(), "{globs:?} {:?}", ours.err());
    Some((ours.ok()?, naive.ok()??))
}

fn pairs(globs: &[(String, Access)]) -> impl Iterator<Item = (&str, Access)> {
    globs.iter().map(|(glob, access)| (glob.as_str(), *access))
}

/// Panics if globs cover a name otherwise than the documentation says: in their own root, seen from a root on the way to it, and where their root
/// lies at `above` in another one.
pub fn check_one(globs: &[(String, Access)], at: &[String], above: &[String]) {
    let names: Vec<&str> = at.iter().map(String::as_str).collect();
    let Some((ours, naive)) = read(globs, &names) else { return };
    let numbers: Vec<usize> = (0..names.len()).collect();
    let wanted = (naive.ceiling(&numbers, false), naive.ceiling(&numbers, true));
    assert_eq!(ours.ceilings(&names), wanted, "{globs:?} {names:?}");
    if let [first, rest @ ..] = &names[..]
        && !rest.is_empty()
    {
        assert_eq!(ours.inside(&[first]).ceilings(rest), wanted, "{globs:?} {names:?} seen from the first");
    }
    let above: Vec<&str> = above.iter().map(String::as_str).collect();
    if !above.is_empty() {
        let seen = Rules::above(pairs(globs), &above).map(|rules| rules.ceilings(&[&above[..], &names].concat()));
        assert_eq!(seen.ok(), Some(wanted), "{globs:?} {names:?} seen from above {above:?}");
    }
}

/// Panics if two places count as alike below which globs cover other names.
pub fn check_two(globs: &[(String, Access)], one: &[String], other: &[String]) {
    let mut all: Vec<&str> = one.iter().chain(other).map(String::as_str).collect();
    let first = all.len();
    // What the names of the globs would be, and one that none of them is.
    let witnesses: Vec<String> = globs.iter().flat_map(|(glob, _)| glob.split('/')).map(witness).collect();
    let probes = witnesses.iter().map(String::as_str).filter(|name| !matches!(*name, "" | "." | ".."));
    for probe in probes.take(5).chain(["zz"]) {
        if !all[first..].contains(&probe) {
            all.push(probe);
        }
    }
    let Some((ours, naive)) = read(globs, &all) else { return };
    let (here, there) = all[..first].split_at(one.len());
    let alike = ours.stand_alike(here, &ours, there);
    assert_eq!(alike, ours.stand_alike(there, &ours, here), "{globs:?} {one:?} {other:?}");
    assert!(one != other || alike, "{globs:?} {one:?}");
    // The other way it is stricter than it must be where several globs, or sets, come to the same.
    let plain = |glob: &str| !glob.contains(['*', '?', '[']) && glob.trim_matches('/').split('/').count() <= 2;
    let exact = matches!(globs, [(glob, _)] if plain(glob));
    if alike || exact {
        let (mut here, mut there): (Vec<usize>, Vec<usize>) = ((0..one.len()).collect(), (one.len()..first).collect());
        let same = same_below(&naive, first..all.len(), &mut here, &mut there, 2);
        assert!(!alike || same, "{globs:?} does not cover the same below {one:?} and {other:?}");
        assert!(!exact || alike == same, "{globs:?} {one:?} {other:?}");
    }
}

/// Whether all names below two places, down to `depth`, are covered alike.
fn same_below(
    naive: &Naive,
    probes: std::ops::Range<usize>,
    here: &mut Vec<usize>,
    there: &mut Vec<usize>,
    depth: usize,
) -> bool {
    depth == 0
        || probes.clone().all(|probe| {
            here.push(probe);
            there.push(probe);
            let alike = [false, true].iter().all(|dir| naive.ceiling(here, *dir) == naive.ceiling(there, *dir));
            let same = alike && same_below(naive, probes.clone(), here, there, depth - 1);
            here.pop();
            there.pop();
            same
        })
}

/// A name that a part of a glob fits, mostly.
fn witness(part: &str) -> String {
    let mut name = String::new();
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => {}
            '?' => name.push('a'),
            '[' => {
                name.extend(chars.next().filter(|c| !matches!(c, '!' | '^')));
                chars.by_ref().find(|c| *c == ']');
            }
            c => name.push(c),
        }
    }
    name
}
