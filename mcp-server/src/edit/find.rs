//! Where the old text of an edit is, and the line endings that its new text gets.
//!
//! A match never takes one half of a `\r\n`. Text is matched literally first; where that fails, with `\r\n` and `\n` taken as the same.
//!
//! May touch: nothing of the other rooms.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem, memrchr};

/// Stands in no text.
const PAIR: u8 = 0xff;

/// `text` with every `\r\n` as one byte.
fn with_pairs_as(byte: u8, text: &str) -> Cow<'_, [u8]> {
    let text = text.as_bytes();
    let mut pairs = memmem::find_iter(text, b"\r\n").peekable();
    if pairs.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut done) = (Vec::with_capacity(text.len()), 0);
    for at in pairs {
        out.extend_from_slice(text.get(done..at).unwrap_or_default());
        out.push(byte);
        done = at + 2;
    }
    out.extend_from_slice(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// A text and what is looked for in it, both with each pair as one byte, so that no place has one half of it.
pub(super) struct Search<'a> {
    body: &'a str,
    hay: Cow<'a, [u8]>,
    needle: Cow<'a, [u8]>,
}

impl<'a> Search<'a> {
    /// `old` is not empty. `any`: places of every line ending are meant, so none is preferred.
    pub(super) fn new(body: &'a str, old: &'a str, any: bool) -> Self {
        let of = |byte| Self { body, hay: with_pairs_as(byte, body), needle: with_pairs_as(byte, old) };
        if !old.contains('\n') && !old.ends_with('\r') {
            // It fits between line ends, whatever they are.
            return Self { body, hay: Cow::Borrowed(body.as_bytes()), needle: Cow::Borrowed(old.as_bytes()) };
        }
        let literal = of(PAIR);
        if !any && memmem::find(&literal.hay, &literal.needle).is_some() { literal } else { of(b'\n') }
    }

    /// The places from left to right, without overlap.
    pub(super) fn spans(&self) -> impl Iterator<Item = Range<usize>> {
        let (hay, needle) = (&*self.hay, &*self.needle);
        let mut pairs = match self.hay {
            Cow::Borrowed(_) => None,
            Cow::Owned(_) => Some(memmem::find_iter(self.body.as_bytes(), b"\r\n").peekable()),
        };
        let mut passed = 0;
        // From a place in `hay` to the one in `body`; asked in rising order.
        let mut place = move |at: usize| {
            if let Some(pairs) = &mut pairs {
                while pairs.next_if(|pair| pair - passed < at).is_some() {
                    passed += 1;
                }
            }
            at + passed
        };
        memmem::find_iter(hay, needle).map(move |at| place(at)..place(at + needle.len()))
    }

    /// Whether another place begins within the first one.
    pub(super) fn overlaps(&self) -> bool {
        let (hay, needle) = (&*self.hay, &*self.needle);
        let Some(first) = memmem::find(hay, needle) else { return false };
        let end = (first + 2 * needle.len()).saturating_sub(1).min(hay.len());
        hay.get(first + 1..end).is_some_and(|rest| memmem::find(rest, needle).is_some())
    }
}

/// The line endings around the places of a text, asked for from left to right.
pub(super) struct Breaks<'a> {
    body: &'a str,
    /// The first line end from the place on.
    next: Option<usize>,
}

impl<'a> Breaks<'a> {
    pub(super) fn new(body: &'a str) -> Self {
        Self { body, next: memchr(b'\n', body.as_bytes()) }
    }

    /// Puts `new` at the end of `out`, with the line endings of `span` one by one (the last goes for all that follow), or that of its
    /// line where it has none. A text without line ends gets them as they were given.
    pub(super) fn push_fitted(&mut self, out: &mut String, new: &str, span: Range<usize>) {
        if !new.contains('\n') {
            out.push_str(new);
            return;
        }
        let around = self.around(span.end);
        let inside = memchr_iter(b'\n', self.body.as_bytes().get(span.clone()).unwrap_or_default());
        let mut inside = inside.map(|at| self.is_pair(span.start + at)).peekable();
        let mut pair = if inside.peek().is_some() { None } else { around };
        if pair.is_none() && inside.peek().is_none() {
            out.push_str(new);
            return;
        }
        for line in new.split_inclusive('\n') {
            let Some(content) = line.strip_suffix('\n') else {
                out.push_str(line);
                break;
            };
            pair = inside.next().or(pair);
            // A further `\r` in front would make a pair of what is to be a plain end.
            out.push_str(if pair == Some(true) {
                content.strip_suffix('\r').unwrap_or(content)
            } else {
                content.trim_end_matches('\r')
            });
            out.push_str(if pair == Some(true) { "\r\n" } else { "\n" });
        }
    }

    /// Whether the line of `at` ends with a pair; the line before, where it has no end. Nothing in a text of one line.
    fn around(&mut self, at: usize) -> Option<bool> {
        let bytes = self.body.as_bytes();
        if self.next.is_some_and(|next| next < at) {
            self.next = memchr(b'\n', bytes.get(at..).unwrap_or_default()).map(|next| at + next);
        }
        self.next.or_else(|| memrchr(b'\n', bytes)).map(|at| self.is_pair(at))
    }

    fn is_pair(&self, at: usize) -> bool {
        at > 0 && self.body.as_bytes().get(at - 1) == Some(&b'\r')
    }
}
