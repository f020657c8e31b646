//! The search of one opened file for lines that match, into an answer that many files share.
//!
//! May touch: `page`, the file's handle, `work`. Which files are opened is the business of who calls it.

mod ahead;
mod found;
mod pattern;
mod snippet;
mod source;

use std::io::Read;

use cap_roots::{Error, ErrorKind, Result};
use grep_matcher::LineTerminator;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};

pub(crate) use ahead::{Ahead, Task, helpers};
pub(crate) use found::{Found, Full, Shape};
pub(crate) use pattern::{LENGTH as PATTERN, Meaning, Pattern};
pub(crate) use source::Facts;

use crate::page;
use crate::work::Work;
use found::{Lines, Next};
use source::{LINE, Source};

/// How far one file was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Searched {
    /// It is not text.
    Binary,
    /// To its end.
    Whole(Facts),
    /// The answer is full, or it is time to pause. The search goes on there: a number for [`Search::file`], which is not 0.
    To { next: u64, facts: Facts },
}

/// A search, for as many files as there are.
#[derive(Debug)]
pub(crate) struct Search {
    pattern: Pattern,
    shape: Shape,
    searcher: Searcher,
    /// What files are read into, one after the other.
    block: Vec<u8>,
}

impl Search {
    pub(crate) fn new(pattern: Pattern, shape: Shape) -> Self {
        let context = shape.context();
        // A line, those around it that are kept with it, and the next block.
        let heap = context.saturating_add(3).saturating_mul(LINE + 1);
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(heap))
            .memory_map(MmapChoice::never())
            // Both are the source's business, which sees the whole file and not only blocks of it.
            .binary_detection(BinaryDetection::none())
            .bom_sniffing(false)
            .build();
        Self { pattern, shape, searcher, block: Vec::new() }
    }

    pub(crate) fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Most bytes of one line that are searched.
    pub(crate) fn line(&self) -> usize {
        self.pattern.line
    }

    /// What a file is called in lines: by `label`, or by its URI where a line would look as if it were another file's.
    pub(crate) fn label(&self, label: String, uri: impl FnOnce() -> String) -> String {
        found::unmistakable(label, uri, self.shape)
    }

    /// Searches `file` from the beginning (0) or from where an earlier search ended, and adds what is found to `found`, where it is called `label`.
    ///
    /// # Errors
    /// `cancelled`, `revoked`, `expired`, `io`; what was found before stays.
    pub(crate) fn file(&mut self, file: impl Read, label: &str, from: u64, found: &mut Found, work: &Work) -> Result<Searched> {
        let source = Source::of(file, self.pattern.line, work, &mut self.block)?;
        let Some(mut source) = source else { return Ok(Searched::Binary) };
        let context = u64::try_from(self.shape.context()).unwrap_or(u64::MAX);
        let from = Next::from(from);
        let told = if from.told > 0 { from.line.saturating_add(from.told - 1) } else { 0 };
        source.begin(from.line.saturating_sub(1), context)?;
        let mut lines =
            Lines::new(&self.pattern, self.shape, label, (source.lines(), told), found).decoded(source.facts().decoded);
        work.check()?;
        let from_the_top = from.line == 1 && told == 0;
        let outcome = match from_the_top.then(|| source.whole()).flatten() {
            // Nothing of it has to be copied or counted for the sake of what follows.
            Some(text) => self.searcher.search_slice(&self.pattern.matcher, text, &mut lines),
            None => self.searcher.search_reader(&self.pattern.matcher, &mut source, &mut lines),
        };
        let (stopped, next) = (lines.stopped(), lines.next());
        let facts = source.facts();
        match outcome {
            Ok(()) if stopped => Ok(Searched::To { next: next.number(), facts }),
            Ok(()) => Ok(Searched::Whole(facts)),
            Err(_) if source.is_paused() => {
                // So that lines before the next match are still there to be shown with it. None of them matches.
                let line = source.lines().saturating_add(1).saturating_sub(context);
                let next = if next.told == 0 { Next { line: line.max(next.line), ..next } } else { next };
                Ok(Searched::To { next: next.number(), facts })
            }
            Err(error) => Err(unwrapped(error)),
        }
    }
}

/// The searcher's own limit is above what its source gives at once.
fn unwrapped(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::Other if error.get_ref().is_none_or(|inner| !inner.is::<Error>()) => ErrorKind::Limit.into(),
        _ => page::io(error),
    }
}

#[cfg(test)]
mod tests;
