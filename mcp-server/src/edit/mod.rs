//! Edits of a text: literal replacement, one edit after the other, all or none.
//!
//! No input and no output. `find` finds what is replaced, `miss` says why nothing was found, `diff` shows what changed.
//!
//! Line endings and a byte order mark stay as the file has them: they are neither what an edit is matched by nor what it changes.
//!
//! May touch: `work`.

mod diff;
mod find;
mod miss;

use std::borrow::Cow;
use std::fmt;

use cap_roots::{Error, Result};

pub(crate) use diff::unified_diff;

use crate::work::Work;
use find::{Breaks, Search};

/// The byte order mark.
const MARK: char = '\u{feff}';
/// Most line numbers in a refusal.
const LINES_NAMED: usize = 10;

/// One replacement. Without `all`, `old` must fit in one place, overlapping ones counted; with it, every place is replaced, from left
/// to right and without overlap, whatever its line endings. What an edit put in is matched by later edits only.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) all: bool,
}

/// Which edit a message is about. Nothing where there is only one.
#[derive(Clone, Copy)]
struct Which {
    number: usize,
    count: usize,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count > 1 { write!(f, "edit {} of {}: ", self.number, self.count) } else { Ok(()) }
    }
}

/// What edits made of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) text: String,
    /// The numbers, from 1, of edits that fit and changed nothing.
    pub(crate) idle: Vec<usize>,
}

/// `text` after all of `edits`, or the refusal of the first that fails. What each edit leaves may have at most `limit` bytes.
pub(crate) fn apply(text: &str, edits: &[Edit], limit: usize, work: &Work) -> Result<Edited> {
    let mut now = Cow::Borrowed(text);
    let mut idle = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        work.check()?;
        let next = one(&now, edit, Which { number: index + 1, count: edits.len() }, limit, work)?;
        // The same text again, or one that differs in what stays as the file has it: harmless, and no reason to give up the others.
        if next == now {
            idle.push(index + 1);
        }
        now = Cow::Owned(next);
    }
    Ok(Edited { text: now.into_owned(), idle })
}

fn one(text: &str, edit: &Edit, which: Which, limit: usize, work: &Work) -> Result<String> {
    if edit.old.is_empty() {
        return Err(Error::invalid_argument(format!("{which}the old text is empty")).advise(
            "give text that is in the file; to insert, give a line next to the place, and give it again in the new text",
        ));
    }
    // Old text that was copied with the mark matches it; any other begins behind it.
    let marked = text.starts_with(MARK);
    let body = if edit.old.starts_with(MARK) { text } else { text.strip_prefix(MARK).unwrap_or(text) };
    let search = Search::new(body, &edit.old, edit.all);
    check_places(&search, body, edit, which)?;

    let head = text.get(..text.len() - body.len()).unwrap_or_default();
    let mut out = String::from(head);
    let mut breaks = Breaks::new(body);
    let mut done = 0;
    for span in search.spans() {
        work.check()?;
        out.push_str(body.get(done..span.start).unwrap_or_default());
        breaks.push_fitted(&mut out, &edit.new, span.clone());
        done = span.end;
        if out.len() > limit {
            break;
        }
    }
    out.push_str(body.get(done..).unwrap_or_default());
    if marked && !out.starts_with(MARK) {
        out.insert(0, MARK);
    }
    if out.len() > limit {
        return Err(Error::too_large(u64::try_from(limit).unwrap_or(u64::MAX)).advise("make the new text smaller"));
    }
    Ok(out)
}

/// Refuses what fits nowhere, or in several places where one was meant.
fn check_places(search: &Search<'_>, body: &str, edit: &Edit, which: Which) -> Result<()> {
    let count = search.spans().take(if edit.all { 1 } else { usize::MAX }).count();
    let after = if which.number > 1 { " (in the text that the edits before it left)" } else { "" };
    match count {
        0 => Err(Error::no_match(format!("{which}{}{after}", miss::explain(body, &edit.old)))),
        _ if edit.all => Ok(()),
        1 if search.overlaps() => {
            let lines = lines_of(body, search);
            Err(Error::ambiguous(format!("{which}the old text fits in places that overlap, from line {lines} on{after}"))
                .advise("give more of the text around the place"))
        }
        1 => Ok(()),
        _ => {
            let (lines, more) = (lines_of(body, search), count.saturating_sub(LINES_NAMED));
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Err(Error::ambiguous(format!("{which}the old text fits in {count} places, in lines {lines}{more}{after}"))
                .advise("give more of the text around the place, or replace all of them"))
        }
    }
}

/// The lines where the first places begin.
fn lines_of(body: &str, search: &Search<'_>) -> String {
    let (mut line, mut at) = (1, 0);
    let numbers = search.spans().take(LINES_NAMED).map(|span| {
        line += memchr::memchr_iter(b'\n', body.as_bytes().get(at..span.start).unwrap_or_default()).count();
        at = span.start;
        line.to_string()
    });
    numbers.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
