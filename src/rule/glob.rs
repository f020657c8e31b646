//! One name against one name of a pattern: `*`, `?` and sets, compared by full case folding.
//!
//! May touch: nothing. No I/O (PURE-CORE).

use std::borrow::Cow;
use std::ffi::OsStr;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use unicase::UniCase;
use unicode_normalization::UnicodeNormalization;

use crate::path::style::is_no_break_space as is_space;

/// What names of temporary files begin and end with. No caller can name, list or create one.
pub(crate) const RESERVED_START: &str = ".cap-roots-";
pub(crate) const RESERVED_END: &str = ".tmp";

/// `name` as it is compared: canonical caseless matching (Unicode 3.13, D145), composed, with no-break spaces as spaces: a name that is
/// looked for is found by these, too.
pub(crate) fn fold(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        return if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(name.to_ascii_lowercase())
        } else {
            Cow::Borrowed(name)
        };
    }
    let decomposed: String = name.nfd().map(|c| if is_space(c) { ' ' } else { c }).collect();
    Cow::Owned(UniCase::unicode(decomposed).to_folded_case().nfc().collect())
}

/// Whether this is the name of a temporary file of ours, in any spelling that a disk may take for one.
pub(crate) fn is_reserved(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    if bytes.first() != Some(&b'.') {
        return false;
    }
    let text = name.to_string_lossy();
    let folded = fold(text.trim_end_matches(['.', ' ']));
    folded.starts_with(RESERVED_START) && folded.ends_with(RESERVED_END)
}

/// Whether Windows may take the name for a temporary file's: what its 8.3 aliases begin and end with.
pub(crate) fn may_be_short_for_reserved(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let is_at = |at: Option<&[u8]>, text: &[u8]| at.is_some_and(|at| at.eq_ignore_ascii_case(text));
    let end = bytes.len().saturating_sub(RESERVED_END.len());
    bytes.contains(&b'~') && is_at(bytes.get(..2), b"ca") && is_at(bytes.get(end..), RESERVED_END.as_bytes())
}

/// Whether some disk takes the name for another one: by folding (beyond ASCII case, which rules fold themselves), by short aliases, by
/// streams of files, or by trimming. Below a root with rules such a name counts only where the parent's listing holds exactly these bytes.
pub(crate) fn may_alias(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.iter().any(|byte| !byte.is_ascii() || matches!(byte, b'~' | b':')) || bytes.ends_with(b".") || bytes.ends_with(b" ")
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Token {
    /// `*`
    Any,
    /// `?`
    One,
    Char(char),
    /// `[a-z]`, `[!a-z]`
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// `**`: any number of names.
    Depth,
    Name(Arc<[Token]>),
}

/// The tokens of one name of a pattern; `None` for a bracket that is not closed, holds nothing, or a range that goes backwards.
pub(super) fn tokens(name: &str) -> Option<Vec<Token>> {
    let mut out = Vec::new();
    let mut plain = String::new();
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let token = match c {
            '*' => Token::Any,
            '?' => Token::One,
            '[' => set(&mut chars)?,
            c => {
                plain.push(c);
                continue;
            }
        };
        // Folded as a whole, since a character may fold with the one before it.
        out.extend(literal(&std::mem::take(&mut plain)));
        out.push(token);
    }
    out.extend(literal(&plain));
    Some(out)
}

/// The tokens that stand for a text and nothing else.
pub(super) fn literal(text: &str) -> impl Iterator<Item = Token> {
    compared(text).into_iter().map(Token::Char)
}

/// What follows an opening bracket. Ranges stay as they were written: folded, their ends could change places.
fn set(chars: &mut Peekable<Chars<'_>>) -> Option<Token> {
    let negated = chars.next_if(|c| matches!(c, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    loop {
        match chars.next()? {
            ']' if !ranges.is_empty() => break,
            first if chars.peek() == Some(&'-') => {
                chars.next();
                match chars.next()? {
                    // A hyphen before the end is one.
                    ']' => {
                        ranges.extend([(first, first), ('-', '-')]);
                        break;
                    }
                    last if last < first => return None,
                    last => ranges.push((first, last)),
                }
            }
            only => ranges.push((only, only)),
        }
    }
    Some(Token::Set { negated, ranges })
}

/// The characters that are compared: folded as [`fold`] does, decomposed.
fn compared(text: &str) -> Vec<char> {
    if text.is_ascii() {
        return text.chars().map(|c| c.to_ascii_lowercase()).collect();
    }
    fold(text).nfd().collect()
}

/// A name as patterns see it.
pub(super) struct Name {
    chars: Vec<char>,
    /// Where a character of the name begins in `chars`: where it ends there, and the character.
    whole: Vec<Option<(usize, char)>>,
    /// The same name where folding it as a whole gives other characters than folding each.
    other: Option<Box<Name>>,
}

impl Name {
    pub(super) fn new(name: &str) -> Self {
        if name.is_ascii() {
            // Composed already, and each folds to one.
            let whole = name.chars().enumerate().map(|(index, c)| Some((index + 1, c))).collect();
            return Self { chars: compared(name), whole, other: None };
        }
        let mut read = Self { chars: Vec::new(), whole: Vec::new(), other: None };
        for c in name.nfc() {
            let start = read.chars.len();
            read.chars.extend(compared(c.encode_utf8(&mut [0; 4])));
            read.whole.resize(read.chars.len(), None);
            if let Some(whole) = read.whole.get_mut(start) {
                *whole = Some((read.chars.len(), c));
            }
        }
        let chars = compared(name);
        if chars != read.chars {
            let whole = chars.iter().enumerate().map(|(index, c)| Some((index + 1, *c))).collect();
            read.other = Some(Box::new(Self { chars, whole, other: None }));
        }
        read
    }

    /// `?` and sets stand for one character, and for one of those that it folds to: whichever fits.
    pub(super) fn matches(&self, tokens: &[Token]) -> bool {
        let mut at = vec![false; self.chars.len() + 1];
        if let Some(first) = at.first_mut() {
            *first = true;
        }
        for token in tokens {
            at = self.step(token, &at);
        }
        at.last() == Some(&true) || self.other.as_ref().is_some_and(|other| other.matches(tokens))
    }

    /// Where a token leads from all the places where a match may stand.
    fn step(&self, token: &Token, at: &[bool]) -> Vec<bool> {
        if *token == Token::Any {
            // From the first such place on, every one.
            let first = at.iter().position(|here| *here).unwrap_or(at.len());
            return (0..at.len()).map(|index| index >= first).collect();
        }
        let mut next = vec![false; at.len()];
        for ((index, c), whole) in self.chars.iter().enumerate().zip(&self.whole) {
            if at.get(index) != Some(&true) {
                continue;
            }
            if token.fits(*c) {
                next.iter_mut().skip(index + 1).take(1).for_each(|place| *place = true);
            }
            if let Some((end, c)) = whole
                && !matches!(token, Token::Char(_))
                && token.fits(*c)
            {
                next.iter_mut().skip(*end).take(1).for_each(|place| *place = true);
            }
        }
        next
    }
}

/// The same for a name whose characters are bytes, each of which stands for itself: without memory, and going back to the last `*` only.
pub(super) fn matches_ascii(tokens: &[Token], name: &[u8]) -> bool {
    let (mut tokens, mut left) = (tokens, name);
    let mut star: Option<(&[Token], &[u8])> = None;
    loop {
        match (tokens.split_first(), left.split_first()) {
            (None, None) => return true,
            (Some((Token::Any, behind)), _) => {
                star = Some((behind, left));
                tokens = behind;
                continue;
            }
            (Some((token, behind)), Some((byte, rest))) if token.fits_ascii(*byte) => {
                (tokens, left) = (behind, rest);
                continue;
            }
            _ => {}
        }
        // The last star takes one more.
        let Some((behind, from)) = star else { return false };
        let Some((_, rest)) = from.split_first() else { return false };
        star = Some((behind, rest));
        (tokens, left) = (behind, rest);
    }
}

impl Token {
    fn fits_ascii(&self, byte: u8) -> bool {
        let c = char::from(byte);
        self.fits(c.to_ascii_lowercase()) || !matches!(self, Token::Char(_)) && self.fits(c)
    }

    fn fits(&self, c: char) -> bool {
        let alike = |mapped: &mut dyn Iterator<Item = char>| mapped.next().filter(|_| mapped.next().is_none());
        match self {
            Token::Any | Token::One => true,
            Token::Char(own) => *own == c,
            Token::Set { negated, ranges } => {
                let cases = [Some(c), alike(&mut c.to_lowercase()), alike(&mut c.to_uppercase())];
                let holds = |c: &char| ranges.iter().any(|(low, high)| low <= c && c <= high);
                cases.iter().flatten().any(holds) != *negated
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(glob: &str, name: &str) -> bool {
        Name::new(name).matches(&tokens(glob).unwrap())
    }

    #[test]
    fn globs_of_one_name() {
        for (glob, name) in [
            ("*", ".env"),
            ("*.md", "a.b.md"),
            ("a*b*c", "a-b-b-c"),
            ("?b", "ab"),
            ("[a-c]x", "Bx"),
            ("[!a-c]x", "dx"),
            ("[b-b]x", "bx"),
            ("[]]", "]"),
            ("[a-]", "-"),
            ("[*]", "*"),
            ("**", "x"),
            // Marks above and below, which each character alone has in another order than the whole name.
            ("\u{e9}\u{316}", "e\u{301}\u{316}"),
            ("e\u{301}\u{316}", "E\u{316}\u{301}"),
        ] {
            assert!(fits(glob, name), "{glob} {name}");
        }
        for (glob, name) in
            [("*.md", "md"), ("?", "ab"), ("?", ""), ("[a-c]x", "dx"), ("[!a-c]x", "ax"), ("[*]", "a"), ("a", "ab")]
        {
            assert!(!fits(glob, name), "{glob} {name}");
        }
        for glob in ["[", "[]", "[!", "a[b", "[a-", "[z-a]"] {
            assert_eq!(tokens(glob), None, "{glob}");
        }
    }

    /// Catches: ASCII case only, simple case folding, and comparing before composing.
    #[test]
    fn names_are_compared_as_people_read_them() {
        for (glob, name) in [
            (".env", ".ENV"),
            ("secret", "\u{17f}ecret"),
            ("strasse", "STRA\u{df}E"),
            ("caf\u{e9}", "CAFE\u{301}"),
            ("\u{3c3}", "\u{3c2}"),
            ("k", "\u{212a}"),
            ("fi", "\u{fb01}"),
            ("my secret", "my\u{a0}secret"),
            ("my\u{202f}secret", "MY SECRET"),
            ("?.key", "\u{df}.key"),
            ("[\u{df}].key", "\u{df}.key"),
            ("s?ra?e", "STRA\u{df}E"),
            ("stra??e", "stra\u{df}e"),
            ("caf?", "cafe\u{301}"),
            ("[Z-a]", "z"),
            ("[A-z]", "m"),
            ("j\u{30c}", "\u{1f0}"),
            ("\u{1f0}", "J\u{30c}"),
        ] {
            assert!(fits(glob, name), "{glob} {name}");
        }
    }

    #[test]
    fn a_star_does_not_take_for_ever() {
        assert!(!fits(&"*a".repeat(60), &"ab".repeat(59)));
    }

    #[test]
    fn reserved_names_in_every_spelling() {
        for name in [".cap-roots-1.tmp", ".CAP-ROOTS-1.TMP", ".cap-root\u{17f}-1.tmp", ".cap-roots-1.tmp.", ".cap-roots-1.tmp  "]
        {
            assert!(is_reserved(OsStr::new(name)), "{name}");
        }
        for name in ["cap-roots-1.tmp", ".cap-roots-1", ".cap-roots", "a.cap-roots-1.tmp"] {
            assert!(!is_reserved(OsStr::new(name)), "{name}");
        }
    }

    /// Catches: a temporary file that is reached by its alias where no rule asks for the listing.
    #[test]
    fn aliases_of_reserved_names() {
        for name in ["CAP-RO~1.TMP", "cap-ro~12.tmp", "CA1F3B~1.TMP"] {
            assert!(may_be_short_for_reserved(OsStr::new(name)), "{name}");
        }
        for name in ["cap-roots.tmp", "CAP-RO~1.TXT", "PROGRA~1", "~.tmp", "ca"] {
            assert!(!may_be_short_for_reserved(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn names_that_a_disk_may_take_for_others() {
        for name in ["GIT~1", ".env.", ".env ", "caf\u{e9}", "\u{200c}x"] {
            assert!(may_alias(OsStr::new(name)), "{name}");
        }
        assert!(!may_alias(OsStr::new(".Env")));
    }
}
