//! Laws of rules: the automata beside a naive matcher, which tries everything and is written from the documentation of rules; and "the same is
//! left below" beside an enumeration of the short names below both places.

use cap_roots::Access;
use cap_roots::internals::{Rules, is_reserved};

use crate::generate::Picks;
use crate::pieces;

/// One character of a name: itself, and the characters that it folds to, decomposed.
struct Letter {
    whole: char,
    folded: Vec<char>,
}

enum Token {
    Any,
    One,
    Letter(char),
    /// Whether it is negated, and its ranges.
    Set(bool, Vec<(char, char)>),
}

enum Part {
    Depth,
    Name(Vec<Token>),
}

/// No glob.
#[derive(Debug)]
pub struct Unreadable;

/// A glob with its ceiling.
pub struct Glob {
    parts: Vec<Part>,
    /// Ends in `/**`: what is below is meant.
    inside: bool,
    dirs_only: bool,
    access: Access,
}

/// Marks of the letters below. They keep their order.
const MARKS: [char; 4] = ['\u{301}', '\u{307}', '\u{30a}', '\u{30c}'];

/// What a character folds to (Unicode, full case folding of the decomposed text): of those that the lists below hold. `None`: of no other is
/// anything known here.
fn folded(c: char) -> Option<Vec<char>> {
    Some(match c {
        c if c.is_ascii() => vec![c.to_ascii_lowercase()],
        '\u{df}' | '\u{1e9e}' => vec!['s', 's'],
        '\u{17f}' => vec!['s'],
        '\u{fb01}' => vec!['f', 'i'],
        '\u{e9}' | '\u{c9}' => vec!['e', '\u{301}'],
        '\u{1f0}' => vec!['j', '\u{30c}'],
        '\u{e5}' | '\u{c5}' => vec!['a', '\u{30a}'],
        '\u{130}' => vec!['i', '\u{307}'],
        '\u{3c2}' | '\u{3c3}' | '\u{3a3}' => vec!['\u{3c3}'],
        '\u{a0}' | '\u{202f}' => vec![' '],
        '\u{212a}' => vec!['k'],
        '\u{212b}' => vec!['a', '\u{30a}'],
        '\u{131}' | '\u{97f3}' | '\u{200d}' => vec![c],
        mark if MARKS.contains(&mark) => vec![c],
        _ => return None,
    })
}

/// A text composed, as far as the lists below need it.
fn composed(text: &str) -> String {
    let pairs = [
        ("e\u{301}", "\u{e9}"),
        ("E\u{301}", "\u{c9}"),
        ("j\u{30c}", "\u{1f0}"),
        ("a\u{30a}", "\u{e5}"),
        ("A\u{30a}", "\u{c5}"),
        ("\u{212b}", "\u{c5}"),
        ("\u{212a}", "K"),
    ];
    pairs.iter().fold(text.to_owned(), |text, (pair, one)| if text.is_ascii() { text } else { text.replace(pair, one) })
}

/// The letters of a name; `None` if one is not in the table, or has a mark with which it may be another one.
fn letters(name: &str) -> Option<Vec<Letter>> {
    let name = composed(name);
    let strange = name.replace("J\u{30c}", "").contains(MARKS);
    let letter = |whole| Some(Letter { whole, folded: folded(whole).filter(|_| !strange)? });
    name.chars().map(letter).collect()
}

/// A set's inside: ranges, and hyphens where they can be no range.
fn ranges(inside: &[char]) -> Option<Vec<(char, char)>> {
    let mut ranges = Vec::new();
    let mut rest = inside;
    while let Some((low, after)) = rest.split_first() {
        let (high, after) = if let ['-', high, after @ ..] = after { (high, after) } else { (low, after) };
        if low > high {
            return None;
        }
        ranges.push((*low, *high));
        rest = after;
    }
    Some(ranges)
}

/// `Err`: it cannot be read. `Ok(None)`: it can, but has a character of which nothing is known here.
fn tokens(part: &str) -> Result<Option<Vec<Token>>, Unreadable> {
    let chars: Vec<char> = part.chars().collect();
    let mut tokens = Vec::new();
    // To try all ways of many stars would take for ever.
    let mut known = part.matches('*').count() <= 4;
    let mut rest = &chars[..];
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            '*' => tokens.push(Token::Any),
            '?' => tokens.push(Token::One),
            '[' => {
                let negated = matches!(rest, ['!' | '^', ..]);
                let set = &rest[usize::from(negated)..];
                // The first character is in the set, whatever it is.
                let end = set.iter().skip(1).position(|c| *c == ']').ok_or(Unreadable)? + 1;
                tokens.push(Token::Set(negated, ranges(&set[..end]).ok_or(Unreadable)?));
                rest = &set[end + 1..];
            }
            c => match folded(*c) {
                Some(letters) => tokens.extend(letters.into_iter().map(Token::Letter)),
                None => known = false,
            },
        }
    }
    Ok(known.then_some(tokens))
}

impl Glob {
    /// Reads a glob, as [`tokens`] does a part of it.
    pub fn parse(glob: &str, access: Access) -> Result<Option<Self>, Unreadable> {
        let odd = |c: char| c.is_control() || "\\{}".contains(c);
        if glob.len() > 4095 || glob.contains(odd) || glob.trim() != glob || glob.starts_with('!') {
            return Err(Unreadable);
        }
        if glob == "~" || glob.starts_with("~/") {
            return Err(Unreadable);
        }
        let body = glob.strip_suffix('/').unwrap_or(glob);
        let mut names: Vec<&str> = body.strip_prefix('/').unwrap_or(body).split('/').collect();
        if names.iter().any(|name| matches!(*name, "" | "." | "..") || *name != "**" && name.contains("**")) {
            return Err(Unreadable);
        }
        if !body.contains('/') {
            names.insert(0, "**");
        }
        let inside = names.last() == Some(&"**");
        names.dedup_by(|a, b| *a == "**" && *b == "**");
        if inside {
            names.pop();
        }
        let mut parts = Vec::new();
        let mut known = true;
        for name in &names {
            match (*name, tokens(name)?) {
                ("**", _) => parts.push(Part::Depth),
                (_, Some(tokens)) => parts.push(Part::Name(tokens)),
                (_, None) => known = false,
            }
        }
        if names.len() > 62 {
            return Err(Unreadable);
        }
        // What is below a directory is there for the directory alone, so nothing is left to be told apart.
        let dirs_only = glob.ends_with('/') && !inside;
        Ok(known.then_some(Self { parts, inside, dirs_only, access }))
    }

    /// The most that it leaves of a name. `hits`: which of its parts fits which name.
    fn leaves(&self, hits: &[Vec<bool>], names: &[usize], dir: bool) -> Access {
        let fits = |end: usize| fits(&self.parts, hits, &names[..end]);
        if self.inside {
            return match () {
                () if (0..names.len()).any(fits) => self.access,
                () if fits(names.len()) => self.access.max(Access::Read),
                () => Access::Write,
            };
        }
        let counts = |end: &usize| !self.dirs_only || dir || *end < names.len();
        if (0..=names.len()).filter(counts).any(fits) { self.access } else { Access::Write }
    }
}

/// Whether the parts are used up by exactly these names.
fn fits(parts: &[Part], hits: &[Vec<bool>], names: &[usize]) -> bool {
    match (parts, names) {
        ([], _) => names.is_empty(),
        ([Part::Depth, rest @ ..], _) => (0..=names.len()).any(|skip| fits(rest, &hits[1..], &names[skip..])),
        (_, []) => false,
        ([_, rest @ ..], [name, names @ ..]) => hits[0][*name] && fits(rest, &hits[1..], names),
    }
}

/// Whether the tokens are used up by exactly these letters, of the first of which `from` folded characters are used up.
fn spells(tokens: &[Token], letters: &[Letter], from: usize) -> bool {
    if let [letter, rest @ ..] = letters
        && from == letter.folded.len()
    {
        return spells(tokens, rest, 0);
    }
    let Some((token, rest)) = tokens.split_first() else { return letters.is_empty() };
    if let Token::Any = token
        && spells(rest, letters, from)
    {
        return true;
    }
    let [letter, others @ ..] = letters else { return false };
    // A token takes a folded character, or, if it names none, a whole one.
    let one = match token {
        Token::Any => return spells(tokens, letters, from + 1),
        Token::One => true,
        Token::Letter(own) => letter.folded[from] == *own,
        Token::Set(negated, ranges) => holds(ranges, letter.folded[from]) != *negated,
    };
    let whole = match token {
        Token::One => from == 0,
        Token::Set(negated, ranges) => from == 0 && holds(ranges, letter.whole) != *negated,
        _ => false,
    };
    one && spells(rest, letters, from + 1) || whole && spells(rest, others, 0)
}

/// Whether a set holds a letter in either case.
fn holds(ranges: &[(char, char)], letter: char) -> bool {
    let alone = |mut cases: Box<dyn Iterator<Item = char>>| cases.next().filter(|_| cases.next().is_none());
    let cases = [Some(letter), alone(Box::new(letter.to_lowercase())), alone(Box::new(letter.to_uppercase()))];
    cases.into_iter().flatten().any(|c| ranges.iter().any(|(low, high)| (low..=high).contains(&&c)))
}

/// Globs, and which of their parts fits which of some names.
pub struct Naive {
    globs: Vec<(Glob, Vec<Vec<bool>>)>,
    /// By name: whether it is one of temporary files.
    reserved: Vec<bool>,
}

impl Naive {
    /// `None`: a name or a glob has a character of which nothing is known here. `Err`: a glob cannot be read.
    pub fn new(globs: &[(String, Access)], names: &[&str]) -> Result<Option<Self>, Unreadable> {
        let parsed: Vec<_> = globs.iter().map(|(glob, access)| Glob::parse(glob, *access)).collect::<Result<_, Unreadable>>()?;
        let Some(letters) = names.iter().map(|name| letters(name)).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let mut read = Vec::new();
        for glob in parsed {
            let Some(glob) = glob else { return Ok(None) };
            let hits = glob.parts.iter().map(|part| match part {
                Part::Depth => Vec::new(),
                Part::Name(tokens) => letters.iter().map(|letters| spells(tokens, letters, 0)).collect(),
            });
            let hits = hits.collect();
            read.push((glob, hits));
        }
        let reserved = names.iter().map(|name| is_temporary(name)).collect();
        Ok(Some(Self { globs: read, reserved }))
    }

    /// The most that all leave of the name at the end of these (by their numbers): the strictest holds.
    pub fn ceiling(&self, names: &[usize], dir: bool) -> Access {
        self.globs.iter().map(|(glob, hits)| glob.leaves(hits, names, dir)).min().unwrap_or(Access::Write)
    }

    /// Whether the crate keeps a name (by its number) for itself.
    pub fn is_reserved(&self, name: usize) -> bool {
        self.reserved[name]
    }
}

/// Whether a name is one of temporary files, in any spelling that a disk may take for one.
fn is_temporary(name: &str) -> bool {
    let text: String = name.trim_end_matches(['.', ' ']).chars().filter_map(folded).flatten().collect();
    let temporary = text.starts_with(".cap-roots-") && text.ends_with(".tmp");
    assert_eq!(is_reserved(name.as_ref()), temporary, "{name:?}");
    temporary
}

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

/// Runs what bytes stand for: UTF-8 is a glob and, in the next line, names; what begins with `0xFF` picks globs and two places, and what is asked
/// of them.
pub fn check_bytes(bytes: &[u8]) {
    if let [0xff, picks @ ..] = bytes {
        let picks = &mut Picks(picks);
        let (compared, globs, one, other) = (picks.byte() % 2 == 1, globs(picks), names(picks), names(picks));
        if compared { check_two(&globs, &one, &other) } else { check_one(&globs, &one, &other) }
    } else if let Ok(text) = std::str::from_utf8(bytes) {
        let (glob, rest) = text.split_once('\n').unwrap_or((text, ""));
        let names = rest.split('/').filter(|name| !matches!(*name, "" | "." | "..") && !name.contains('\0'));
        check_one(&[(glob.to_owned(), Access::List)], &names.take(6).map(str::to_owned).collect::<Vec<_>>(), &[]);
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
