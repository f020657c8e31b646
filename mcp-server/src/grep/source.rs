//! An opened file as the text that is searched: in blocks, until its call is stopped, with bounded lines.
//!
//! May touch: `page`, the file's handle, `work`. UTF-16 with a byte order mark is decoded, a UTF-8 byte order mark is left off; any other bytes
//! stay as they are. Memory is one block, whatever the file.

use std::io::{self, Cursor, Read};

use cap_roots::{ErrorKind, Result};
use encoding_rs_io::{DecodeReaderBytes, DecodeReaderBytesBuilder};

use crate::page;
use crate::work::Work;

const BLOCK: usize = 64 * 1024;

/// Most bytes of one line that are searched, by any pattern. A line has to be in memory as a whole.
pub(crate) const LINE: usize = 1 << 20;

/// What turned up while a file was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// It was UTF-16.
    pub(crate) decoded: bool,
    /// It has bytes that are not UTF-8.
    pub(crate) not_utf8: bool,
    /// A NUL stands behind the first block: from there on it is no text.
    pub(crate) ends_binary: bool,
    /// How many lines are longer than what is searched of one.
    pub(crate) long_lines: u64,
}

/// What was read to see that it is UTF-16 stands before it again.
type Decoder<R> = DecodeReaderBytes<io::Chain<Cursor<Vec<u8>>, R>, Vec<u8>>;

/// What is behind the block.
enum Rest<R> {
    Plain(R),
    Decoded(Box<Decoder<R>>),
}

/// The text of a file.
pub(crate) struct Source<'a, R> {
    rest: Rest<R>,
    work: &'a Work,
    block: &'a mut Vec<u8>,
    /// Nothing is behind the block.
    ended: bool,
    /// What of the block is still to be given.
    at: usize,
    end: usize,
    /// How long the line is that is being given, so far; more than `most` is not given.
    line: usize,
    most: usize,
    /// How many lines were given as a whole, or passed over.
    lines: u64,
    utf8: Utf8,
    facts: Facts,
    /// It is not paused before so many lines were given, so that each page gets on.
    least: u64,
    paused: bool,
}

impl<R> std::fmt::Debug for Source<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("lines", &self.lines).field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl<'a, R: Read> Source<'a, R> {
    /// The text of `file`, at most `most` bytes of each line; `None` if it is binary: a NUL in its first block, and no byte order mark of UTF-16.
    /// `block`: what another one was read into, or nothing.
    ///
    /// # Errors
    /// `revoked`, `expired`, `io`.
    pub(crate) fn of(mut file: R, most: usize, work: &'a Work, block: &'a mut Vec<u8>) -> Result<Option<Self>> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        block.resize(BLOCK, 0);
        let mut end = 0;
        let mut ended = false;
        while !ended && end < BLOCK {
            match read(&mut file, block.get_mut(end..).unwrap_or_default()).map_err(page::io)? {
                0 => ended = true,
                more => end += more,
            }
        }
        let head = block.get(..end).unwrap_or_default();
        // Of UTF-32 the mark begins as that of UTF-16 does.
        if head.starts_with(b"\xff\xfe\0\0") {
            return Ok(None);
        }
        let decoded = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
        if !decoded && memchr::memchr(0, head).is_some() {
            return Ok(None);
        }
        let mut utf8 = Utf8::default();
        let (rest, at, end) = if decoded {
            let all = Cursor::new(head.to_vec()).chain(file);
            ended = false;
            (Rest::Decoded(Box::new(DecodeReaderBytesBuilder::new().strip_bom(true).build(all))), 0, 0)
        } else {
            let at = if head.starts_with(MARK) { MARK.len() } else { 0 };
            utf8.feed(head.get(at..).unwrap_or_default());
            (Rest::Plain(file), at, end)
        };
        let facts = Facts { decoded, ..Facts::default() };
        Ok(Some(Self { rest, work, block, ended, at, end, line: 0, most, lines: 0, utf8, facts, least: 0, paused: false }))
    }

    /// The whole text, where it is in memory already and no line of it is too long. For whoever has read nothing of it.
    pub(crate) fn whole(&mut self) -> Option<&[u8]> {
        if !self.ended || self.end - self.at > self.most {
            return None;
        }
        self.utf8.end();
        self.block.get(self.at..self.end)
    }

    /// What turned up so far.
    pub(crate) fn facts(&self) -> Facts {
        Facts { not_utf8: self.utf8.bad, ..self.facts }
    }

    /// How many lines were given as a whole, or passed over.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Whether the last read failed because it is time to pause.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Passes over `count` lines, or what there is. It is paused neither in them nor in the `least` that follow, so that each page of a long
    /// search gets on.
    ///
    /// # Errors
    /// `cancelled`, `revoked`, `expired`, `io`.
    pub(crate) fn begin(&mut self, count: u64, least: u64) -> Result<()> {
        while self.lines < count {
            if self.at == self.end && !self.fill().map_err(page::io)? {
                break;
            }
            let block = self.block.get(self.at..self.end).unwrap_or_default();
            let wanted = usize::try_from(count - self.lines - 1).unwrap_or(usize::MAX);
            match memchr::memchr_iter(b'\n', block).nth(wanted) {
                Some(end) => (self.at, self.lines) = (self.at + end + 1, count),
                None => {
                    self.lines += count_lines(block);
                    self.at = self.end;
                }
            }
        }
        self.least = self.lines.saturating_add(least);
        Ok(())
    }

    /// Reads the next block; whether there is one.
    fn fill(&mut self) -> io::Result<bool> {
        self.work.check()?;
        (self.at, self.end) = (0, 0);
        if self.facts.ends_binary {
            return Ok(false);
        }
        let mut read = match &mut self.rest {
            _ if self.ended => 0,
            Rest::Plain(file) => read(file, self.block)?,
            Rest::Decoded(text) => read(text, self.block)?,
        };
        if let Some(nul) = memchr::memchr(0, self.block.get(..read).unwrap_or_default()) {
            self.facts.ends_binary = true;
            read = nul;
        }
        self.end = read;
        let block = self.block.get(..read).unwrap_or_default();
        if read > 0 {
            self.utf8.feed(block)
        } else if !self.facts.ends_binary {
            self.utf8.end()
        }
        Ok(read > 0)
    }
}

impl<R: Read> Read for Source<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // Asked for more, whoever searches is through with all whole lines that it was given.
        if self.lines > self.least && self.work.is_late() {
            self.paused = true;
            return Err(cap_roots::Error::from(ErrorKind::Timeout).into());
        }
        // Each line and what is read with its end is searched in one go, which nobody can stop.
        self.work.check()?;
        let most = into.len().min(self.most);
        let into = into.get_mut(..most).unwrap_or_default();
        let mut given = 0;
        while given == 0 && !into.is_empty() {
            if self.at == self.end && !self.fill()? {
                return Ok(0);
            }
            let block = self.block.get(self.at..self.end).unwrap_or_default();
            let block = block.get(..into.len().min(block.len())).unwrap_or_default();
            let used;
            if self.line + block.len() <= self.most {
                // No line of it can be too long.
                (used, given) = (block.len(), block.len());
                self.lines += count_lines(block);
                self.line = memchr::memrchr(b'\n', block).map_or(self.line + block.len(), |end| block.len() - end - 1);
                into.get_mut(..given).unwrap_or_default().copy_from_slice(block);
            } else {
                // One line, or a part of one.
                let end = memchr::memchr(b'\n', block);
                used = end.map_or(block.len(), |end| end + 1);
                let text = end.unwrap_or(block.len());
                let room = self.most.saturating_sub(self.line);
                if self.line <= self.most && text > room {
                    self.facts.long_lines += 1;
                }
                let kept = block.get(..text.min(room)).unwrap_or_default();
                into.get_mut(..kept.len()).unwrap_or_default().copy_from_slice(kept);
                given = kept.len();
                self.line = (self.line + text).min(self.most + 1);
                if end.is_some() {
                    if let Some(last) = into.get_mut(given) {
                        *last = b'\n';
                    }
                    given += 1;
                    self.lines += 1;
                    self.line = 0;
                }
            }
            self.at += used;
        }
        Ok(given)
    }
}

/// What there is at once, whatever signals come between.
fn read(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

fn count_lines(block: &[u8]) -> u64 {
    u64::try_from(memchr::memchr_iter(b'\n', block).count()).unwrap_or(u64::MAX)
}

/// Whether what was seen in pieces is UTF-8.
#[derive(Debug, Default)]
struct Utf8 {
    /// The beginning of a character that the last piece ended in.
    begun: Vec<u8>,
    bad: bool,
}

impl Utf8 {
    fn feed(&mut self, mut piece: &[u8]) {
        while !self.bad && !self.begun.is_empty() {
            let Some((next, rest)) = piece.split_first() else { return };
            self.begun.push(*next);
            piece = rest;
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) => self.bad = error.error_len().is_some(),
            }
        }
        if self.bad {
            return;
        }
        if let Err(error) = std::str::from_utf8(piece) {
            self.bad = error.error_len().is_some();
            self.begun = piece.get(error.valid_up_to()..).unwrap_or_default().iter().take(3).copied().collect();
        }
    }

    fn end(&mut self) {
        self.bad |= !self.begun.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives at most so many bytes at once.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(into.len());
            self.0.read(&mut into[..size])
        }
    }

    fn all(bytes: &[u8]) -> (Vec<u8>, u64, Facts) {
        let (work, mut block) = (Work::default(), Vec::new());
        let mut source = Source::of(Slow(bytes, 7000), LINE, &work, &mut block).unwrap().expect("text");
        let mut text = Vec::new();
        source.read_to_end(&mut text).unwrap();
        (text, source.lines(), source.facts())
    }

    fn utf16(text: &str, little: bool) -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
    }

    #[test]
    fn marks_are_left_off_and_utf16_is_decoded() {
        assert_eq!(all("\u{feff}a\nb".as_bytes()), (b"a\nb".to_vec(), 1, Facts::default()));
        for little in [true, false] {
            let (text, lines, facts) = all(&utf16("é音😀\nb\n", little));
            assert_eq!((text, lines), ("é音😀\nb\n".as_bytes().to_vec(), 2));
            assert!(facts.decoded && !facts.not_utf8);
        }
    }

    /// Catches: a NUL that is looked for in the first bytes only, or not in them; and UTF-16 taken for binary.
    #[test]
    fn binary_is_told() {
        let work = Work::default();
        let mut late = vec![b'a'; BLOCK];
        late[BLOCK - 1] = 0;
        assert!(Source::of(&late[..], LINE, &work, &mut Vec::new()).unwrap().is_none());
        let utf32: Vec<u8> = "\u{feff}needle".chars().flat_map(|character| u32::from(character).to_le_bytes()).collect();
        assert!(Source::of(&utf32[..], LINE, &work, &mut Vec::new()).unwrap().is_none());
        let mut later = "line\n".repeat(BLOCK).into_bytes();
        later[BLOCK + 7] = 0;
        let (text, _, facts) = all(&later);
        assert!(facts.ends_binary && text == later[..BLOCK + 7]);
    }

    /// Catches: a character at the edge of a block taken for bytes that are none.
    #[test]
    fn what_is_not_utf8_is_told() {
        for shift in 0..4 {
            let text = format!("{}{}", "x".repeat(shift), "😀".repeat(BLOCK));
            assert!(!all(text.as_bytes()).2.not_utf8);
            let cut = &text.as_bytes()[..text.len() - 1];
            assert!(all(cut).2.not_utf8);
            assert!(all(&[text.as_bytes(), b"\xb0", text.as_bytes()].concat()).2.not_utf8);
        }
    }

    proptest! {
        /// Catches: a check of pieces that is another than the check of the whole.
        #[test]
        fn pieces_are_checked_as_the_whole(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(0xe2u8), Just(0x82), Just(0xac), Just(0xf0), Just(0x9f)], 0..12), text in "[é€😀a]{0,6}", cut in 0usize..40, other in 0usize..40) {
            let whole = [text.as_bytes(), &bytes].concat();
            let (cut, other) = (cut.min(whole.len()), other.min(whole.len()));
            let (cut, other) = (cut.min(other), cut.max(other));
            let mut utf8 = Utf8::default();
            for piece in [&whole[..cut], &whole[cut..other], &whole[other..]] {
                utf8.feed(piece);
            }
            utf8.end();
            prop_assert_eq!(utf8.bad, std::str::from_utf8(&whole).is_err());
        }
    }

    /// Catches: a line without end that is held in memory, and lines behind a long one that are lost or counted wrongly.
    #[test]
    fn long_lines_are_cut_and_the_next_ones_kept() {
        for length in [LINE - 1, LINE, LINE + 1, LINE + BLOCK, 3 * LINE + 5] {
            let content = format!("first\n{}\nlast\n{}", "x".repeat(length), "y".repeat(length));
            let (text, lines, facts) = all(content.as_bytes());
            let kept = length.min(LINE);
            assert_eq!(text.len(), 6 + kept + 1 + 5 + kept, "{length}");
            assert_eq!((lines, facts.long_lines), (3, if length > LINE { 2 } else { 0 }), "{length}");
            assert!(text[6 + kept..].starts_with(b"\nlast\ny"), "{length}");
        }
    }

    #[test]
    fn lines_are_passed_over() {
        let content: String = (1..=50_000).map(|number| format!("line {number}\n")).collect();
        let work = Work::default();
        for (count, next) in
            [(0, "line 1\n"), (1, "line 2\n"), (9_999, "line 10000\n"), (49_999, "line 50000\n"), (50_000, ""), (60_000, "")]
        {
            let mut block = Vec::new();
            let mut source = Source::of(content.as_bytes(), LINE, &work, &mut block).unwrap().unwrap();
            source.begin(count, 0).unwrap();
            let mut text = String::new();
            source.read_to_string(&mut text).unwrap();
            assert!(text.starts_with(next) && text.is_empty() == next.is_empty(), "{count}");
            assert_eq!(source.lines(), 50_000, "{count}");
        }
    }

    /// Catches: a search that only ends with its file.
    #[test]
    fn a_stopped_call_reads_no_further() {
        let work = Work::default();
        let mut block = Vec::new();
        let mut source = Source::of(io::repeat(b'a'), LINE, &work, &mut block).unwrap().unwrap();
        let mut into = [0; 100];
        assert!(source.read(&mut into).unwrap() > 0);
        work.stop();
        let ended = std::iter::repeat_with(|| source.read(&mut into)).take(100_000).find_map(std::result::Result::err);
        assert_eq!(page::io(ended.expect("went on")).kind(), ErrorKind::Cancelled);
        assert_eq!(source.begin(1, 0).unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
