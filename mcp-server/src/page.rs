//! Pages of a text file: whole, first lines, last lines, or lines from a number on.
//!
//! Memory is bounded by the answer's limit plus one block, whatever the size of the file. A page never splits a character; text that
//! is not UTF-8 is refused. Lines end at `\n`; the end of the last line of a page is not part of it (`\n`, and a `\r` before it).
//!
//! May touch: `work`.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use cap_roots::{Error, ErrorKind, File, Result};

use crate::work::Work;

const BLOCK: usize = 64 * 1024;

/// What part of a file is wanted. Numbers are lines, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Head(u64),
    Tail(u64),
    Lines { offset: u64, limit: Option<u64> },
}

/// A page, and what its reader should know.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) text: String,
    /// A sentence on what is missing and how to get it.
    pub(crate) notice: Option<String>,
}

/// Reads `part` of `file`, at most `limit` bytes.
pub(crate) fn read(file: File, part: Part, limit: u64, work: &Work) -> Result<Page> {
    match part {
        Part::Whole => whole(file, limit),
        Part::Head(lines) => forward(file, 1, Some(lines), limit, false, work),
        Part::Lines { offset, limit: lines } => forward(file, offset, lines, limit, true, work),
        Part::Tail(lines) => tail(file, lines, limit, work),
    }
    .map_err(|error| match error.kind() {
        ErrorKind::NotUtf8 => error.advise("read it with read_media_file"),
        _ => error,
    })
}

fn whole(mut file: File, limit: u64) -> Result<Page> {
    let bytes = file.read_all(limit).map_err(|error| match error.kind() {
        ErrorKind::TooLarge => {
            error.advise("read a page of it with offset and limit (lines from 1), or its ends with head or tail")
        }
        _ => error,
    })?;
    Ok(Page { text: text(bytes)?, notice: None })
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| ErrorKind::NotUtf8.into())
}

pub(crate) fn io(error: std::io::Error) -> Error {
    // The file's own refusals (revoked) travel inside an io::Error.
    error.downcast::<Error>().unwrap_or_else(|error| match error.kind() {
        std::io::ErrorKind::OutOfMemory => ErrorKind::Limit.into(),
        _ => ErrorKind::Io.into(),
    })
}

/// Lines from `offset` on. `tell`: say where the next page starts even where the caller asked for no more.
fn forward(file: File, offset: u64, lines: Option<u64>, limit: u64, tell: bool, work: &Work) -> Result<Page> {
    let mut reader = BufReader::with_capacity(BLOCK, file);
    let mut line = 1;
    while line < offset {
        let (bytes, ends) = skip_line(&mut reader, work)?;
        if bytes == 0 {
            let count = line - 1;
            return Ok(Page {
                text: String::new(),
                notice: Some(format!("The file has {count} lines; there is none at {offset}.")),
            });
        }
        line += 1;
        if !ends {
            break;
        }
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut page = Vec::new();
    let mut left = lines.unwrap_or(u64::MAX);
    let mut notice = None;
    while left > 0 {
        work.check()?;
        let before = page.len();
        // One byte more than fits tells whether it fits; two more line ends do not count.
        let room = u64::try_from(limit.saturating_add(3).saturating_sub(before)).unwrap_or(u64::MAX);
        let read = (&mut reader).take(room).read_until(b'\n', &mut page).map_err(io)?;
        if read == 0 {
            if before == 0 && offset > 1 {
                notice = Some(format!("The file has {} lines; there is none at {offset}.", line - 1));
            }
            break;
        }
        if without_end(&page).len() > limit {
            notice = Some(cut(&mut page, before, limit, line));
            break;
        }
        left -= 1;
        line += 1;
    }
    if notice.is_none() && left == 0 && tell && !reader.fill_buf().map_err(io)?.is_empty() {
        notice = Some(format!("More lines follow; go on with offset {line}."));
    }
    let end = without_end(&page).len();
    page.truncate(end);
    Ok(Page { text: text(page)?, notice })
}

/// The page is full within line `line`, which starts at byte `start` of it.
fn cut(page: &mut Vec<u8>, start: usize, limit: usize, line: u64) -> String {
    if start > 0 {
        page.truncate(start);
        return format!("Cut at the limit of {limit} bytes; go on with offset {line}.");
    }
    page.truncate(limit);
    if let Err(error) = std::str::from_utf8(page)
        && error.error_len().is_none()
    {
        // A character that the cut goes through. Bytes that are no character stay, and have the page refused.
        page.truncate(error.valid_up_to());
    }
    format!(
        "Line {line} alone is longer than the limit of {limit} bytes: this is its beginning. The line after it has offset {}.",
        line.saturating_add(1)
    )
}

/// `page` without the end of its last line.
fn without_end(page: &[u8]) -> &[u8] {
    match page.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => page,
    }
}

/// Passes over one line. Gives how many bytes it had, and whether it ended with a line end.
fn skip_line(reader: &mut BufReader<File>, work: &Work) -> Result<(u64, bool)> {
    let mut passed = 0;
    loop {
        work.check()?;
        let block = reader.fill_buf().map_err(io)?;
        if block.is_empty() {
            return Ok((passed, false));
        }
        let end = memchr::memchr(b'\n', block);
        let used = end.map_or(block.len(), |at| at + 1);
        reader.consume(used);
        passed += u64::try_from(used).unwrap_or(u64::MAX);
        if end.is_some() {
            return Ok((passed, true));
        }
    }
}

/// The last lines, read from the end in blocks.
fn tail(mut file: File, lines: u64, limit: u64, work: &Work) -> Result<Page> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut at = file.seek(SeekFrom::End(0)).map_err(io)?;
    // Read from the end, so put together backwards.
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let (mut read, mut ends) = (0usize, 0u64);
    // One line end more than lines: the one before the first of them, where there is one. One at the very end begins no line.
    while at > 0 && ends <= lines && read <= limit.saturating_add(BLOCK) {
        work.check()?;
        let size = at.min(BLOCK as u64);
        at -= size;
        file.seek(SeekFrom::Start(at)).map_err(io)?;
        let mut block = Vec::with_capacity(BLOCK);
        (&mut file).take(size).read_to_end(&mut block).map_err(io)?;
        let counted = if blocks.is_empty() { block.strip_suffix(b"\n").unwrap_or(&block) } else { &block };
        ends = ends.saturating_add(u64::try_from(memchr::memchr_iter(b'\n', counted).count()).unwrap_or(u64::MAX));
        read = read.saturating_add(block.len());
        blocks.push(block);
    }
    blocks.reverse();
    let mut page = blocks.concat();
    let body = page.strip_suffix(b"\n").unwrap_or(&page);
    let nth = usize::try_from(lines - 1).unwrap_or(usize::MAX);
    if let Some(before) = memchr::memrchr_iter(b'\n', body).nth(nth) {
        page.drain(..=before);
    }
    let end = without_end(&page).len();
    page.truncate(end);
    let mut notice = None;
    if page.len() > limit {
        let overflow = page.len() - limit;
        // From the first line that begins within the limit; a last line that is longer than the limit keeps its end.
        let from = memchr::memchr(b'\n', page.get(overflow - 1..).unwrap_or_default()).map(|at| overflow + at);
        let from = from.unwrap_or_else(|| overflow + continuation(&page, overflow));
        page.drain(..from);
        notice = Some(format!("Cut at the limit of {limit} bytes: these are the last lines that fit."));
    }
    Ok(Page { text: text(page)?, notice })
}

/// How many bytes from `at` on belong to a character that begins before it.
fn continuation(page: &[u8], at: usize) -> usize {
    let before = page.get(at.saturating_sub(3)..at).unwrap_or_default();
    let Some(back) = before.iter().rev().position(|byte| *byte >= 0xc0) else { return 0 };
    let begin = at - back - 1;
    let length = match page.get(begin) {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        _ => 2,
    };
    // Only a whole character is passed over. Bytes that are none stay, and have the page refused.
    let whole = page.get(begin..begin + length).is_some_and(|bytes| std::str::from_utf8(bytes).is_ok());
    if whole { (begin + length).saturating_sub(at) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_roots::{Access, Roots};

    fn page(content: &[u8], part: Part, limit: u64) -> Result<Page> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), content).unwrap();
        let roots = Roots::builder().root(folder.path(), Access::Read).open().unwrap();
        read(roots.open("f").unwrap(), part, limit, &Work::default())
    }

    fn text_of(content: &str, part: Part) -> String {
        page(content.as_bytes(), part, 1 << 20).unwrap().text
    }

    #[test]
    fn heads_and_tails_count_lines() {
        for content in ["a\nb\nc\n", "a\nb\nc"] {
            assert_eq!(text_of(content, Part::Head(2)), "a\nb");
            assert_eq!(text_of(content, Part::Tail(2)), "b\nc");
            assert_eq!(text_of(content, Part::Tail(1)), "c");
            assert_eq!(text_of(content, Part::Head(9)), "a\nb\nc");
            assert_eq!(text_of(content, Part::Tail(9)), "a\nb\nc");
            assert_eq!(text_of(content, Part::Lines { offset: 2, limit: Some(1) }), "b");
            assert_eq!(text_of(content, Part::Whole), content);
        }
        assert_eq!(text_of("a\r\nb\r\n", Part::Head(2)), "a\r\nb");
        assert_eq!(text_of("a\n\n", Part::Tail(1)), "");
        assert_eq!(text_of("a\n\n", Part::Tail(2)), "a\n");
        assert_eq!(text_of("", Part::Tail(1)), "");
    }

    #[test]
    fn pages_say_how_to_go_on() {
        let notice = |part, limit| page(b"one\ntwo\nthree\n", part, limit).unwrap().notice;
        assert_eq!(notice(Part::Lines { offset: 1, limit: Some(2) }, 99).unwrap(), "More lines follow; go on with offset 3.");
        assert_eq!(notice(Part::Lines { offset: 2, limit: Some(2) }, 99), None);
        assert_eq!(
            notice(Part::Lines { offset: 1, limit: None }, 8).unwrap(),
            "Cut at the limit of 8 bytes; go on with offset 3."
        );
        assert_eq!(notice(Part::Lines { offset: 4, limit: None }, 99).unwrap(), "The file has 3 lines; there is none at 4.");
        assert_eq!(notice(Part::Lines { offset: 9, limit: None }, 99).unwrap(), "The file has 3 lines; there is none at 9.");
        assert_eq!(
            page(b"a\nb", Part::Lines { offset: 3, limit: None }, 99).unwrap().notice.unwrap(),
            "The file has 2 lines; there is none at 3."
        );
        assert_eq!(notice(Part::Head(1), 99), None);
    }

    /// Pages put together give the file back, at every limit.
    #[test]
    fn pages_lose_nothing() {
        let content = "é\nüü\n\nlonger line 音\nx";
        for limit in 18..40 {
            let (mut all, mut offset) = (Vec::new(), 1);
            while offset <= 5 {
                let page = page(content.as_bytes(), Part::Lines { offset, limit: None }, limit).unwrap();
                offset += u64::try_from(page.text.split('\n').count()).unwrap();
                all.push(page.text);
            }
            assert_eq!(all.join("\n"), content, "{limit}");
        }
    }

    #[test]
    fn a_character_is_never_split() {
        let line = "ab€€€€".repeat(3);
        for limit in 1..40 {
            for part in [Part::Head(1), Part::Tail(1)] {
                let page = page(line.as_bytes(), part, limit).unwrap();
                assert!(page.text.len() <= usize::try_from(limit).unwrap() && !page.text.contains('\u{fffd}'));
                assert!(line.starts_with(&page.text) || line.ends_with(&page.text));
            }
        }
        // At a block's edge, where a reader that decodes blocks one by one breaks it.
        let content = format!("{}€\nend", "x".repeat(BLOCK - 1));
        assert!(text_of(&content, Part::Head(1)).ends_with("x€"));
        let content = format!("€{}\n", "x".repeat(BLOCK - 3));
        assert!(text_of(&content, Part::Tail(1)).starts_with("€x"));
    }

    #[test]
    fn line_ends_are_exact() {
        assert_eq!(text_of("abc\r", Part::Head(1)), "abc\r");
        assert_eq!(text_of("abc\r\n", Part::Tail(1)), "abc");
        let tail = |limit| page(b"aaaaaa\nb\nc\n", Part::Tail(3), limit).unwrap();
        assert_eq!(tail(3).text, "b\nc");
        assert_eq!(tail(2).text, "c");
        assert_eq!((tail(10).text.as_str(), tail(10).notice), ("aaaaaa\nb\nc", None));
    }

    /// Catches: bytes that are no character, taken off with the cut.
    #[test]
    fn the_cut_hides_no_bad_byte() {
        for limit in 4..7 {
            assert_eq!(page(b"abc\xffdefgh", Part::Head(1), limit).unwrap_err().kind(), ErrorKind::NotUtf8, "{limit}");
            let tail = page(b"abc\xff\x80\x80\x80def", Part::Tail(1), limit);
            assert_eq!(tail.unwrap_err().kind(), ErrorKind::NotUtf8, "{limit}");
        }
    }

    /// A tail of many blocks, whose lines go over their edges.
    #[test]
    fn a_long_tail_is_whole() {
        let lines: Vec<String> = (0..40_000).map(|number| format!("line {number} {}", "é".repeat(number % 7))).collect();
        let content = lines.join("\n");
        for count in [1, 7, 9_999, 39_999, 40_000, 50_000] {
            let from = lines.len().saturating_sub(count);
            assert_eq!(text_of(&content, Part::Tail(count as u64)), lines[from..].join("\n"), "{count}");
        }
    }

    #[test]
    fn a_call_that_was_stopped_ends() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), "a\nb\nc\n").unwrap();
        let roots = Roots::builder().root(folder.path(), Access::Read).open().unwrap();
        let work = Work::default();
        work.stop();
        for part in [Part::Head(1), Part::Tail(1), Part::Lines { offset: 2, limit: None }] {
            assert_eq!(read(roots.open("f").unwrap(), part, 99, &work).unwrap_err().kind(), ErrorKind::Cancelled);
        }
    }

    #[test]
    fn what_is_not_utf8_is_refused() {
        for part in [Part::Whole, Part::Head(1), Part::Tail(1), Part::Lines { offset: 1, limit: None }] {
            assert_eq!(page(b"\xb0\xa1\n", part, 99).unwrap_err().kind(), ErrorKind::NotUtf8);
        }
        assert_eq!(page(b"\xb0\xa1\nok\n", Part::Lines { offset: 2, limit: None }, 99).unwrap().text, "ok");
    }

    #[test]
    fn a_whole_file_over_the_limit_names_the_way_out() {
        let error = page(b"12345", Part::Whole, 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.to_string().contains("offset and limit"), "{error}");
    }
}
