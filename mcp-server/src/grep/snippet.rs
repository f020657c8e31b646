//! A line as it is shown: cut around its match, on characters, with a mark where something is left out.
//!
//! May touch: nothing. Bytes that are no UTF-8 are shown as `\xNN`, and characters that some reader takes for the end of a line as `\u{N}`, so
//! that no file can forge lines of an answer. Both are told, since a line may hold such text itself.

use std::fmt::Write;
use std::ops::Range;

/// Most bytes of a line that are shown.
pub(crate) const SHOWN: usize = 400;
/// Fewest, however small an answer has to be: a match is of no use without its beginning.
pub(crate) const LEAST: usize = 16;

/// A part of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snippet {
    pub(crate) text: String,
    /// Whether something in it is shown otherwise than it is.
    pub(crate) escaped: bool,
}

/// `line` as it can be shown, with at most `most` of its bytes, from a little before `found` on: the beginning of the match is always in it.
/// In decoded text U+FFFD stands for what could not be decoded, and is escaped as well.
pub(crate) fn snippet(line: &[u8], found: &Range<usize>, most: usize, decoded: bool) -> Snippet {
    let most = most.max(LEAST);
    let (from, to) = if line.len() <= most { (0, line.len()) } else { window(line, found, most) };
    let mut text = String::new();
    if from > 0 {
        let _ = write!(text, "[{from} bytes…] ");
    }
    let escaped = push(&mut text, line.get(from..to).unwrap_or_default(), decoded);
    if to < line.len() {
        let _ = write!(text, " […{} bytes]", line.len() - to);
    }
    Snippet { text, escaped }
}

/// Which part of a line that is too long is shown. The whole match where it fits, with about as much before it as behind it.
fn window(line: &[u8], found: &Range<usize>, most: usize) -> (usize, usize) {
    let start = found.start.min(line.len());
    let length = found.end.saturating_sub(start).min(most);
    let from = start.saturating_sub((most - length) / 2).min(line.len() - most);
    let from = from.min(start);
    let to = (from + most).min(line.len());
    (boundary(line, from), boundary(line, to))
}

/// The start of the character that `at` is in. Bytes that are no character are cut anywhere.
fn boundary(line: &[u8], at: usize) -> usize {
    let continues = |at: usize| line.get(at).is_some_and(|byte| (0x80..0xc0).contains(byte));
    (at.saturating_sub(3)..=at).rev().find(|at| !continues(*at)).unwrap_or(at)
}

/// `bytes` without a character at their end that was cut off in it.
pub(crate) fn without_part(bytes: &[u8]) -> &[u8] {
    let from = bytes.len().saturating_sub(3);
    let tail = bytes.get(from..).unwrap_or_default();
    let Some(begins) = tail.iter().rposition(|byte| *byte >= 0xc0) else { return bytes };
    match std::str::from_utf8(tail.get(begins..).unwrap_or_default()) {
        Err(error) if error.error_len().is_none() => bytes.get(..from + begins).unwrap_or_default(),
        _ => bytes,
    }
}

/// Whether some of it had to be escaped.
fn push(text: &mut String, bytes: &[u8], decoded: bool) -> bool {
    let mut escaped = false;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if ends_lines(c) || (decoded && c == '\u{fffd}') {
                text.extend(c.escape_unicode());
                escaped = true;
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02X}");
            escaped = true;
        }
    }
    escaped
}

/// What Unicode or some language's idea of lines breaks them at.
fn ends_lines(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(line: &str, found: Range<usize>, most: usize) -> String {
        snippet(line.as_bytes(), &found, most, false).text
    }

    /// UNI-04. Catches: a cut at a byte, which splits the quote at one of these lengths.
    #[test]
    fn a_curly_quote_near_the_cut_stays_whole() {
        for before in 0..40 {
            let line = format!("{}“needle”{}", "x".repeat(before), "é".repeat(100));
            let at = line.find("needle").unwrap();
            let shown = text(&line, at..at + 6, 32);
            assert!(shown.contains("needle") && !shown.contains("\\x"), "{before}: {shown}");
        }
    }

    #[test]
    fn what_is_left_out_is_told() {
        assert_eq!(text("short", 0..5, 400), "short");
        let line = format!("{}needle{}", "a".repeat(100), "b".repeat(100));
        assert_eq!(text(&line, 100..106, 16), "[95 bytes…] aaaaaneedlebbbbb […95 bytes]");
        assert_eq!(text(&line, 0..1, 16), "aaaaaaaaaaaaaaaa […190 bytes]");
        assert_eq!(text(&line, 205..206, 16), "[190 bytes…] bbbbbbbbbbbbbbbb");
        let shown = snippet("a\rb:1:x\u{2028}c\td".as_bytes(), &(0..1), 400, false);
        assert_eq!((shown.text.as_str(), shown.escaped), ("a\\u{d}b:1:x\\u{2028}c\td", true));
        let shown = snippet(b"a\xb0\xa1z", &(0..1), 400, false);
        assert_eq!((shown.text.as_str(), shown.escaped), ("a\\xB0\\xA1z", true));
    }

    #[test]
    fn what_could_not_be_decoded_is_told_from_the_character_itself() {
        let line = "a\u{fffd}";
        assert_eq!(snippet(line.as_bytes(), &(0..1), 400, false), Snippet { text: line.to_owned(), escaped: false });
        assert_eq!(snippet(line.as_bytes(), &(0..1), 400, true), Snippet { text: "a\\u{fffd}".to_owned(), escaped: true });
    }

    #[test]
    fn a_character_that_was_cut_off_is_left_out() {
        let whole = "aé€😀".as_bytes();
        for (length, want) in [(1, 1), (2, 1), (3, 3), (4, 3), (5, 3), (6, 6), (7, 6), (8, 6), (9, 6), (10, 10)] {
            assert_eq!(without_part(&whole[..length]), &whole[..want], "{length}");
        }
        assert_eq!(without_part(b"a\xff"), b"a\xff");
        assert_eq!(without_part(b""), b"");
    }

    proptest! {
        /// Catches: a window that begins behind the match, that splits a character, or that grows with the line.
        #[test]
        fn the_beginning_of_the_match_is_shown(line in "[a-z“é音😀 ]{1,300}", start: usize, length in 0usize..60, most in 0usize..120) {
            let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
            let start = starts[start % starts.len()];
            let end = (start + length..=line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len());
            let shown = snippet(line.as_bytes(), &(start..end), most, false);
            prop_assert!(!shown.escaped);
            let first = line.get(start..).and_then(|rest| rest.chars().next()).unwrap();
            let (from, to) = if line.len() <= most.max(LEAST) { (0, line.len()) } else { window(line.as_bytes(), &(start..end), most.max(LEAST)) };
            prop_assert!(from <= start && to >= start + first.len_utf8());
            prop_assert!(shown.text.contains(line.get(from..to).unwrap()));
            prop_assert!(to - from <= most.max(LEAST) + 3 && shown.text.len() <= most.max(LEAST) + 43);
        }

        /// Whatever bytes there are: bounded, and no panic.
        #[test]
        fn any_bytes_can_be_shown(line in proptest::collection::vec(any::<u8>(), 0..300), start in 0usize..400, length in 0usize..400, most in 0usize..120) {
            let shown = snippet(&line, &(start..start + length), most, false);
            prop_assert!(shown.text.len() <= 6 * (most.max(LEAST) + 3) + 40 && shown.text.lines().count() <= 1);
        }
    }
}
