//! Lines of bounded length from a stream that may hold longer ones.
//!
//! May touch: the stream. A line that is too long is passed over as it comes, so that it costs no memory.

use std::io::{self, BufRead, ErrorKind};
use std::thread;
use std::time::Duration;

/// Room that is kept from one line to the next.
const KEPT: usize = 1 << 16;
/// How often a descriptor that somebody has set not to wait is looked at.
const AGAIN: Duration = Duration::from_millis(5);

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    TooLong,
}

pub(super) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    most: usize,
}

impl<R: BufRead> Lines<R> {
    /// Of at most `most` bytes each, without their ends.
    pub(super) fn new(input: R, most: usize) -> Self {
        Self { input, line: Vec::new(), most }
    }

    /// The next line, waiting for it. The last one needs no end.
    ///
    /// # Errors
    /// Those of the stream.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        let mut too_long = false;
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    thread::sleep(AGAIN);
                    continue;
                }
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                let nothing = self.line.is_empty() && !too_long;
                return Ok((!nothing).then(|| self.found(too_long)));
            }
            let end = memchr::memchr(b'\n', available);
            let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
            too_long |= part.len() > self.most - self.line.len();
            if too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(self.found(too_long)));
            }
        }
    }

    fn found(&self, too_long: bool) -> Line<'_> {
        if too_long { Line::TooLong } else { Line::Whole(&self.line) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    /// The lines of `text` as it comes in pieces of `size`; `None` for one that is too long.
    fn lines(text: &[u8], size: usize) -> Vec<Option<String>> {
        let mut lines = Lines::new(BufReader::with_capacity(size, text), 4);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(match line {
                Line::Whole(line) => Some(String::from_utf8(line.to_vec()).unwrap()),
                Line::TooLong => None,
            });
        }
        all
    }

    /// Catches: a last line that is lost without its end, an end that counts as a byte of the line, a rest of a long line that is a line.
    #[test]
    fn lines_are_whole_or_too_long() {
        for size in 1..12 {
            let of = |text: &str| lines(text.as_bytes(), size);
            let whole = |text: &str| Some(text.to_owned());
            assert_eq!(of(""), []);
            assert_eq!(of("ab"), [whole("ab")]);
            assert_eq!(of("ab\n\nabcd\n"), [whole("ab"), whole(""), whole("abcd")]);
            assert_eq!(of("abcde\nab"), [None, whole("ab")]);
            assert_eq!(of("abcdefghij\nabcd\nabcde"), [None, whole("abcd"), None]);
        }
    }

    /// As much as there is memory, and more.
    struct Endless(u64);

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = into.len().min(usize::try_from(self.0).unwrap());
            self.0 -= count as u64;
            into[..count].fill(b'x');
            Ok(count)
        }
    }

    /// Catches: a long line that is kept until its end is there.
    #[test]
    fn a_long_line_takes_no_room() {
        let input = BufReader::with_capacity(1 << 20, Endless(1 << 30)).chain(&b"\nab"[..]);
        let mut lines = Lines::new(input, 1 << 16);
        assert_eq!(lines.next().unwrap(), Some(Line::TooLong));
        assert_eq!(lines.line.capacity(), 0);
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"ab")));
        assert_eq!(lines.next().unwrap(), None);
    }
}
