//! A matcher of rules that tries everything, written from the documentation of rules.

use cap_roots::Access;
use cap_roots::internals::is_reserved;

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
    // To try all ways of many stars would take for ever, and so would all ways in which many single characters are parts of letters.
    let mut known = part.matches('*').count() <= 4 && part.matches(['?', '[']).count() <= 8;
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
    /// Reads a glob, as `tokens` does a part of it.
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
