//! What is wrong with a configuration, and where.
//!
//! May touch: `text` for escaping. For the operator's eyes alone: unlike [`Error`](crate::Error) it may name the file.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::text;

/// Longest piece of the file that is repeated, in characters: secrets may lie near.
const PIECE: usize = 40;

/// A configuration that cannot be used. `Display` gives one line, `FILE:LINE:COLUMN: what; what to do`, for the operator: it may hold the
/// path of the file, keys, and the beginning of a bad value.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    file: Option<PathBuf>,
    place: Option<Place>,
    what: String,
}

/// A place in the file, shown as `LINE:COLUMN`. Both are counted from 1 on, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    line: usize,
    column: usize,
}

impl Place {
    /// That of byte `offset` of `text`.
    pub(super) fn of(text: &str, offset: usize) -> Self {
        let mut place = Place { line: 1, column: 1 };
        for (_, c) in text.char_indices().take_while(|(at, _)| *at < offset) {
            place =
                if c == '\n' { Place { line: place.line + 1, column: 1 } } else { Place { column: place.column + 1, ..place } };
        }
        place
    }

    /// The line in the file, from 1 on.
    #[must_use]
    pub fn line(self) -> usize {
        self.line
    }

    /// The column in that line, in characters, from 1 on.
    #[must_use]
    pub fn column(self) -> usize {
        self.column
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl ConfigError {
    /// About the file as a whole.
    pub(super) fn whole(what: impl Into<String>) -> Self {
        Self { file: None, place: None, what: what.into() }
    }

    /// About what is at byte `offset` of `text`.
    pub(super) fn at(text: &str, offset: usize, what: impl Into<String>) -> Self {
        Self { file: None, place: Some(Place::of(text, offset)), what: what.into() }
    }

    pub(super) fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    /// The line in the file, from 1 on; `None` where the file as a whole is meant.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.place.map(|place| place.line)
    }

    /// The column in that line, in characters, from 1 on.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.place.map(|place| place.column)
    }
}

/// A piece of the file as it may be repeated: its first line, escaped and cut.
pub(super) fn piece(text: &str) -> String {
    let first = text.lines().next().unwrap_or("");
    let cut = if first.len() < text.trim_end().len() { "…" } else { "" };
    text::escaped(first, PIECE) + cut
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => f.write_str(&text::escape(&file.to_string_lossy()))?,
            None => f.write_str("configuration")?,
        }
        if let Some(place) = self.place {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigError({self})")
    }
}

impl std::error::Error for ConfigError {}
