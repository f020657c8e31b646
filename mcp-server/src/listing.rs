//! Entries of a directory, and lines of them, up to the limits of an answer.
//!
//! May touch: `context`, `work`.

use std::fmt::{self, Write as _};

use cap_roots::{Entry, Result};

use crate::context::Context;
use crate::work::Work;

/// What a listing leaves out.
#[derive(Default)]
pub(crate) struct LeftOut {
    cut: Option<String>,
    /// How many names the operator's rules hide, of those that were looked at.
    hidden: u64,
}

impl LeftOut {
    /// A sentence on it.
    pub(crate) fn notice(self) -> Option<String> {
        let hidden = match self.hidden {
            0 => None,
            1 => Some("1 name is hidden by rules".to_owned()),
            hidden => Some(format!("{hidden} names are hidden by rules")),
        };
        match (self.cut, hidden) {
            (Some(cut), Some(hidden)) => Some(format!("{cut} {hidden}")),
            (cut, hidden) => cut.or(hidden),
        }
    }
}

/// The entries of a directory by name, and what is missing.
pub(crate) fn entries(context: &Context, work: &Work, path: &str) -> Result<(Vec<Entry>, LeftOut)> {
    let most = context.limits.entries;
    let mut entries = Vec::new();
    let mut left_out = LeftOut::default();
    let mut listed = context.roots.read_dir(path)?;
    for entry in listed.by_ref() {
        work.check()?;
        if entries.len() == most {
            left_out.cut = Some(format!("Cut at the limit of {most} entries; the directory has more."));
            break;
        }
        entries.push(entry.map_err(|error| error.about(context.label(path)))?);
    }
    left_out.hidden = listed.hidden();
    entries.sort_unstable_by(|a, b| a.name().cmp(b.name()));
    Ok((entries, left_out))
}

/// Lines up to the answer's limit of bytes.
pub(crate) struct Listing {
    pub(crate) text: String,
    limit: usize,
    pub(crate) left_out: LeftOut,
}

impl Listing {
    pub(crate) fn new(context: &Context, left_out: LeftOut) -> Self {
        Self { text: String::new(), limit: usize::try_from(context.limits.text_bytes).unwrap_or(usize::MAX), left_out }
    }

    /// Whether there was room for the line.
    pub(crate) fn add(&mut self, line: fmt::Arguments<'_>) -> bool {
        let before = self.text.len();
        // Writing to a text does not fail.
        let _ = self.text.write_fmt(line);
        if self.text.len() + 1 > self.limit {
            self.text.truncate(before);
            self.left_out.cut = Some(format!(
                "Cut at the limit of {} bytes; the directory has more, and what is not shown is not counted.",
                self.limit
            ));
            return false;
        }
        self.text.push('\n');
        true
    }
}
