//! One name against one name of a pattern: `*`, `?` and sets, compared by full case folding.
//!
//! May touch: nothing. No I/O (PURE-CORE).

use std::borrow::Cow;
use std::ffi::OsStr;

use unicase::UniCase;
use unicode_normalization::UnicodeNormalization;

/// What names of temporary files begin and end with. No caller can name, list or create one.
pub(crate) const RESERVED_START: &str = ".cap-roots-";
pub(crate) const RESERVED_END: &str = ".tmp";

/// `name` as it is compared: canonical caseless matching (Unicode 3.13, D145), composed.
pub(crate) fn fold(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        return if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(name.to_ascii_lowercase())
        } else {
            Cow::Borrowed(name)
        };
    }
    let decomposed: String = name.nfd().collect();
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

/// Whether some disk takes the name for another one: by folding (beyond ASCII case, which rules fold themselves), by short aliases, or by
/// trimming. Below a root with rules such a name counts only where the parent's listing holds exactly these bytes.
pub(crate) fn may_alias(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.iter().any(|byte| !byte.is_ascii() || *byte == b'~') || bytes.ends_with(b".") || bytes.ends_with(b" ")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// `**`: any number of names.
    Depth,
    Name(Vec<Token>),
}

/// The tokens of one name of a pattern; `None` for a bracket that is not closed or holds nothing.
pub(super) fn tokens(name: &str) -> Option<Vec<Token>> {
    let mut out = Vec::new();
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(match c {
            '*' => Token::Any,
            '?' => Token::One,
            '[' => {
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
                                last => ranges.push((first, last)),
                            }
                        }
                        only => ranges.push((only, only)),
                    }
                }
                Token::Set { negated, ranges }
            }
            c => Token::Char(c),
        });
    }
    Some(out)
}

/// Glob matching with one mark to go back to: the last `*` may take one character more.
pub(super) fn matches(tokens: &[Token], name: &[char]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(c) = name.get(read) {
        let fits = match tokens.get(at) {
            Some(Token::Any) => {
                star = Some((at, read));
                at += 1;
                continue;
            }
            Some(Token::One) => true,
            Some(Token::Char(own)) => own == c,
            Some(Token::Set { negated, ranges }) => ranges.iter().any(|(low, high)| low <= c && c <= high) != *negated,
            None => false,
        };
        if fits {
            (at, read) = (at + 1, read + 1);
        } else if let Some((back, from)) = star {
            star = Some((back, from + 1));
            (at, read) = (back + 1, from + 1);
        } else {
            return false;
        }
    }
    tokens.get(at..).is_some_and(|rest| rest.iter().all(|token| *token == Token::Any))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(glob: &str, name: &str) -> bool {
        let folded: Vec<char> = fold(name).chars().collect();
        matches(&tokens(&fold(glob)).unwrap(), &folded)
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
            ("[]]", "]"),
            ("[a-]", "-"),
            ("[*]", "*"),
            ("**", "x"),
        ] {
            assert!(fits(glob, name), "{glob} {name}");
        }
        for (glob, name) in
            [("*.md", "md"), ("?", "ab"), ("?", ""), ("[a-c]x", "dx"), ("[!a-c]x", "ax"), ("[*]", "a"), ("a", "ab")]
        {
            assert!(!fits(glob, name), "{glob} {name}");
        }
        for glob in ["[", "[]", "[!", "a[b", "[a-"] {
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
        ] {
            assert!(fits(glob, name), "{glob} {name}");
        }
    }

    #[test]
    fn a_star_does_not_take_for_ever() {
        assert!(!fits(&"*a".repeat(60), &"a".repeat(59).replace('a', "ab")));
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

    #[test]
    fn names_that_a_disk_may_take_for_others() {
        for name in ["GIT~1", ".env.", ".env ", "caf\u{e9}", "\u{200c}x"] {
            assert!(may_alias(OsStr::new(name)), "{name}");
        }
        assert!(!may_alias(OsStr::new(".Env")));
    }
}
