//! What may be shown: escaping and cutting of text that somebody else wrote.
//!
//! May touch: nothing. Used by `error` and by names from disk.

/// Longest spelling that is repeated in an error, in characters.
pub(crate) const ECHO_LIMIT: usize = 200;
/// Longest message of a tool's author, in characters.
pub(crate) const MESSAGE_LIMIT: usize = 400;

/// Whether `c` would change how the text around it looks, or not be seen at all: control characters, line and paragraph separators,
/// bidirectional controls (UAX #9 section 2), zero-width and tag characters.
pub(crate) fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
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

/// `text` escaped and between double quotes, so that its end is plain to see.
pub(crate) fn quoted(text: &str) -> String {
    let inner = escaped(text, ECHO_LIMIT).replace('"', "\\\"");
    format!("\"{inner}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_left_alone() {
        assert_eq!(quoted("docs/Übersicht 音.md"), "\"docs/Übersicht 音.md\"");
    }

    #[test]
    fn deceptive_text_is_spelled_out() {
        assert_eq!(escaped("a\u{202e}b\u{7f}\u{200b}", 99), r"a\u{202e}b\u{7f}\u{200b}");
    }

    #[test]
    fn the_cut_counts_characters() {
        assert_eq!(escaped("äöüß", 2), "äö…");
        assert_eq!(escaped("äö", 2), "äö");
    }
}
