//! What may be shown: escaping and cutting of text that somebody else wrote.
//!
//! May touch: nothing. Used by `error` and by names from disk.

/// Longest spelling that is repeated in an error, in characters.
pub(crate) const ECHO_LIMIT: usize = 200;
/// Longest message of a tool's author, in characters.
pub(crate) const MESSAGE_LIMIT: usize = 400;

/// Whether `c` would change how the text around it looks, or not be seen at all: control characters, line and paragraph separators,
/// bidirectional controls (UAX #9 section 2), and what Unicode calls Default_Ignorable_Code_Point: zero-width characters, fillers,
/// variation selectors, tags.
pub(crate) fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a name can be shown as it is: nothing deceptive, no space at its ends or in runs (which could forge a column of a listing),
/// and no other meaning in a path argument (`~`, the scheme of a URI).
pub(crate) fn is_plain_name(name: &str) -> bool {
    // Nearly every name: without a space and without what only Unicode knows.
    if name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return name != "~" && !name.ends_with(':');
    }
    let spaces = |pair: (char, char)| pair.0.is_whitespace() && pair.1.is_whitespace();
    name != "~"
        && !name.ends_with(':')
        && name.trim() == name
        && !name.contains(is_deceptive)
        && !name.chars().zip(name.chars().skip(1)).any(spaces)
}

/// `text` as it may be shown to anybody: control, bidirectional and invisible characters as `\u{..}`, cut after 4,095 characters. For
/// answers that repeat what a caller or a file system wrote.
///
/// ```
/// assert_eq!(cap_roots::escape("a\nb"), r"a\u{a}b");
/// ```
#[must_use]
pub fn escape(text: &str) -> String {
    escaped(text, crate::path::PATH_LIMIT)
}

/// `text` with deceptive characters as `\u{..}`, cut after `limit` characters of the original.
pub(crate) fn escaped(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit));
    let mut rest = text.chars();
    for c in rest.by_ref().take(limit) {
        if is_deceptive(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    if rest.next().is_some() {
        out.push('…');
    }
    out
}

/// `text` escaped and between double quotes. A quote inside is escaped as well, so that the end is plain to see.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text, ECHO_LIMIT).replace('"', r"\u{22}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_left_alone() {
        assert_eq!(quoted(r#"a\"; b"#), r#""a\\u{22}; b""#);
        assert_eq!(quoted("docs/Übersicht 音.md"), "\"docs/Übersicht 音.md\"");
    }

    #[test]
    fn deceptive_text_is_spelled_out() {
        for c in ['\u{200d}', '\u{ad}', '\u{3164}', '\u{e0101}', '\u{fe0f}', '\u{85}'] {
            assert!(is_deceptive(c), "{c:?}");
        }
        assert_eq!(escaped("a\u{202e}b\u{7f}\u{200b}", 99), r"a\u{202e}b\u{7f}\u{200b}");
    }

    #[test]
    fn names_that_are_shown_otherwise() {
        for name in ["~", "file:", "root:", "a ", " a", "a  b", "a\u{3000} b", "a\u{2800}", "a\nb"] {
            assert!(!is_plain_name(name), "{name:?}");
        }
        for name in ["a b", "a:b", "~a", "Übersicht 音.md", "shot 1\u{202f}PM.png"] {
            assert!(is_plain_name(name), "{name:?}");
        }
    }

    #[test]
    fn the_cut_counts_characters() {
        assert_eq!(escaped("äöüß", 2), "äö…");
        assert_eq!(escaped("äö", 2), "äö");
    }
}
