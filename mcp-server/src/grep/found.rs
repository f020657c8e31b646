//! What was found, as lines of an answer: `LABEL:LINE:TEXT` for a match, `LABEL-LINE-TEXT` for a line around one, `--` between lines that do
//! not follow each other.
//!
//! May touch: nothing. A line of a file is in an answer once, and lines around a match only with it.

use std::io;

use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::pattern::Pattern;
use super::snippet::{LEAST, SHOWN, snippet, without_part};

/// What is shown of a file with matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Its matching lines, and so many lines before and behind each.
    Lines { context: usize },
    /// Its name.
    Names,
}

impl Shape {
    pub(super) fn context(self) -> usize {
        match self {
            Self::Lines { context } => context,
            Self::Names => 0,
        }
    }
}

/// Why nothing more was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The most matches are there.
    Matches,
    /// The next lines have no room.
    Bytes,
}

/// The lines of an answer, of all its files.
#[derive(Debug)]
pub(crate) struct Found {
    text: String,
    bytes: usize,
    /// How many matches may still come.
    left: usize,
    matches: usize,
    escaped: usize,
    full: Option<Full>,
}

impl Found {
    /// For an answer of `bytes` bytes and `matches` matches.
    pub(crate) fn new(bytes: u64, matches: usize) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self { text: String::new(), bytes, left: matches, matches: 0, escaped: 0, full: None }
    }

    /// The lines, without the end of the last one.
    pub(crate) fn text(&self) -> &str {
        self.text.trim_end_matches('\n')
    }

    pub(crate) fn matches(&self) -> usize {
        self.matches
    }

    /// How many of the lines show something otherwise than it is.
    pub(crate) fn escaped(&self) -> usize {
        self.escaped
    }

    pub(crate) fn full(&self) -> Option<Full> {
        self.full.or((self.left == 0).then_some(Full::Matches))
    }

    /// Whether there was room. The first lines of an answer are always taken, so that the next page gets on.
    fn add(&mut self, lines: &str) -> bool {
        if !self.text.is_empty() && self.text.len() + lines.len() > self.bytes {
            self.full = Some(Full::Bytes);
            return false;
        }
        self.text.push_str(lines);
        true
    }
}

/// Where a search goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) line: u64,
    /// How many lines from there on are in an answer already; the first of them matches.
    pub(super) told: u64,
}

impl Next {
    /// There are fewer lines around a match.
    const TOLD: u64 = 64;

    /// As one number, which grows as the search gets on. 0 is the beginning.
    pub(super) fn from(number: u64) -> Self {
        Self { line: (number / Self::TOLD).max(1), told: if number < Self::TOLD { 0 } else { number % Self::TOLD } }
    }

    pub(super) fn number(self) -> u64 {
        self.line.saturating_mul(Self::TOLD).saturating_add(self.told.min(Self::TOLD - 1))
    }
}

/// A label that a line can begin with. A name such as `a.md:3:x` would be taken for a line of another file: it is shown as its URI, with `:` and
/// `-` escaped before the digits.
pub(super) fn unmistakable(label: String, uri: impl FnOnce() -> String, shape: Shape) -> String {
    let forges = |text: &str, mark: char| {
        let mut parts = text.split(mark).skip(1);
        parts.any(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if shape == Shape::Names || !(forges(&label, ':') || shape.context() > 0 && forges(&label, '-')) {
        return label;
    }
    let uri = uri();
    // The root's name is the operator's, and has no escapes.
    let names = uri.match_indices('/').nth(2).map_or(uri.len(), |(at, _)| at);
    let (root, names) = uri.split_at_checked(names).unwrap_or((&uri, ""));
    let mut shown = root.to_owned();
    let mut rest = names.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '-' if rest.peek().is_some_and(char::is_ascii_digit) => shown.push_str("%2D"),
            ':' => shown.push_str("%3A"),
            other => shown.push(other),
        }
    }
    shown
}

/// A line that is kept until its match comes.
struct Before {
    text: String,
    line: u64,
    escaped: bool,
}

/// What the searcher tells of one file.
pub(super) struct Lines<'a> {
    pattern: &'a Pattern,
    shape: Shape,
    label: &'a str,
    /// What is searched was decoded.
    decoded: bool,
    /// How many lines stand before the first that is searched.
    base: u64,
    before: Vec<Before>,
    /// The line that was shown last.
    last: Option<u64>,
    /// The last match, and how many lines behind it were shown.
    group: Option<u64>,
    behind: usize,
    /// Lines up to this one are in an earlier answer.
    told: u64,
    stopped: bool,
    found: &'a mut Found,
}

impl<'a> Lines<'a> {
    pub(super) fn new(
        pattern: &'a Pattern,
        shape: Shape,
        label: &'a str,
        (base, told): (u64, u64),
        found: &'a mut Found,
    ) -> Self {
        let last = (told > base).then_some(told);
        Self {
            pattern,
            shape,
            label,
            decoded: false,
            base,
            before: Vec::new(),
            last,
            group: None,
            behind: 0,
            told,
            stopped: false,
            found,
        }
    }

    pub(super) fn decoded(self, decoded: bool) -> Self {
        Self { decoded, ..self }
    }

    /// Whether the rest of the file is for the next answer.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Where the next answer begins: at the first line that was not shown, or, where lines behind a match are missing, at the match, which the
    /// next answer passes over with the `told` lines that are in this one.
    pub(super) fn next(&self) -> Next {
        let line = self.last.unwrap_or(self.base).saturating_add(1);
        match self.group {
            Some(group) if self.behind < self.shape.context() => Next { line: group, told: line.saturating_sub(group) },
            _ => Next { line, told: 0 },
        }
    }

    fn stop(&mut self) -> io::Result<bool> {
        self.stopped = true;
        Ok(false)
    }

    /// One line as it is shown, with its end.
    fn shown(&self, line: u64, bytes: &[u8], matches: bool) -> (String, bool) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        // A line that was searched in part ends anywhere.
        let bytes = if bytes.len() >= self.pattern.line { without_part(bytes) } else { bytes };
        let found = if matches { self.pattern.matcher.find(bytes).ok().flatten() } else { None };
        let found = found.map_or(0..0, |found| found.start()..found.end());
        // A small answer has room for a small part of a line.
        let most = SHOWN.min((self.found.bytes / 4).max(LEAST));
        let snippet = snippet(bytes, &found, most, self.decoded);
        let mark = if matches { ':' } else { '-' };
        (format!("{}{mark}{line}{mark}{}\n", self.label, snippet.text), snippet.escaped)
    }

    /// Whether lines that are left out stand between the last line of the answer and `line`.
    fn is_apart(&self, line: u64) -> bool {
        self.shape.context() > 0 && !self.found.text.is_empty() && self.last.is_none_or(|last| last + 1 != line)
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        if self.found.left == 0 {
            return self.stop();
        }
        if self.shape == Shape::Names {
            if !self.found.add(&format!("{}\n", self.label)) {
                return self.stop();
            }
            (self.found.matches, self.found.left) = (self.found.matches + 1, self.found.left - 1);
            return Ok(false);
        }
        let line = self.base + matched.line_number().unwrap_or_default();
        if line <= self.told {
            (self.group, self.behind) = (Some(line), usize::try_from(self.told - line).unwrap_or(usize::MAX));
            return Ok(true);
        }
        let (text, escaped) = self.shown(line, matched.bytes(), true);
        let before = std::mem::take(&mut self.before);
        let first = before.first().map_or(line, |before| before.line);
        let mut lines = if self.is_apart(first) { "--\n".to_owned() } else { String::new() };
        lines.extend(before.iter().map(|before| before.text.as_str()));
        lines.push_str(&text);
        let mut shows = before.iter().filter(|before| before.escaped).count() + usize::from(escaped);
        if self.found.text.is_empty() && lines.len() > self.found.bytes {
            (lines, shows) = (text, usize::from(escaped));
        }
        if !self.found.add(&lines) {
            return self.stop();
        }
        self.found.escaped += shows;
        (self.found.matches, self.found.left) = (self.found.matches + 1, self.found.left - 1);
        (self.last, self.group, self.behind) = (Some(line), Some(line), 0);
        // Only another match is more than was asked for: what is left of the file may have none.
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let line = self.base + context.line_number().unwrap_or_default();
        if line <= self.told {
            return Ok(true);
        }
        let (text, escaped) = self.shown(line, context.bytes(), false);
        if *context.kind() == SinkContextKind::Before {
            self.before.push(Before { text, line, escaped });
            return Ok(true);
        }
        if !self.found.add(&text) {
            return self.stop();
        }
        self.found.escaped += usize::from(escaped);
        self.last = Some(line);
        self.behind += 1;
        Ok(true)
    }
}
