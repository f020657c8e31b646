//! What a walk did not show, and how to go on: sentences behind the answer.
//!
//! May touch: the library's walk.

use std::collections::BTreeSet;

use cap_roots::{ErrorKind, Walk};

/// Why a walk ended before the end, or went no deeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The answer has as many entries as it may.
    Entries(usize),
    /// The answer is as long as it may be.
    Bytes(u64),
    /// The answer has as much as the call asked for.
    Asked(u64),
    /// The time of the call is nearly over.
    Time,
    /// The library goes through no more names in one walk.
    Names,
}

impl Cut {
    /// One word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Cut::Entries(_) | Cut::Names => "entries",
            Cut::Bytes(_) => "bytes",
            Cut::Asked(_) => "asked",
            Cut::Time => "time",
        }
    }

    fn sentence(self) -> String {
        match self {
            Cut::Entries(limit) => format!("Cut at the limit of {limit} entries"),
            Cut::Bytes(limit) => format!("Cut at the limit of {limit} bytes"),
            Cut::Asked(limit) => format!("Cut after {limit} as asked"),
            Cut::Time => "Cut because the time of the call is nearly over".to_owned(),
            Cut::Names => "Cut because there are too many names".to_owned(),
        }
    }
}

/// Why an entry was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Excluded,
    Ignored,
    Gitignore,
}

/// What is missing from an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    cut: Option<Cut>,
    cursor: Option<String>,
    /// Directories deeper than this were not gone into.
    depth: Option<usize>,
    excluded: u64,
    ignored: u64,
    gitignored: u64,
    hidden: u64,
    other_mounts: u64,
    unreadable: u64,
    codes: BTreeSet<&'static str>,
    gitignores: u64,
}

impl Report {
    pub(super) fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    pub(super) fn cut(&mut self, cut: Cut) {
        self.cut.get_or_insert(cut);
    }

    /// The library's walk is at its end.
    pub(super) fn ended(&mut self, walk: &Walk) {
        if walk.cut().is_some_and(|cut| cut != cap_roots::Cut::Depth) {
            self.cut(Cut::Names);
        }
    }

    /// A directory at the limit of `depth` is not gone into.
    pub(super) fn too_deep(&mut self, depth: usize) {
        self.depth = Some(depth);
    }

    pub(super) fn unreadable(&mut self, kind: ErrorKind) {
        self.unreadable += 1;
        self.codes.insert(kind.code());
    }

    pub(super) fn left_out(&mut self, why: Why) {
        match why {
            Why::Excluded => self.excluded += 1,
            Why::Ignored => self.ignored += 1,
            Why::Gitignore => self.gitignored += 1,
        }
    }

    pub(super) fn hidden(&mut self, count: u64) {
        self.hidden = count;
    }

    pub(super) fn other_mounts(&mut self, count: u64) {
        self.other_mounts = count;
    }

    pub(super) fn gitignores(&mut self, unread: u64) {
        self.gitignores = unread;
    }

    pub(super) fn goes_on(&mut self, cursor: Option<String>) {
        self.cursor = cursor;
    }

    /// Why it ended, and the cursor for what is missing.
    pub(crate) fn why_cut(&self) -> Option<(Cut, Option<&str>)> {
        self.cut.map(|cut| (cut, self.cursor.as_deref()))
    }

    /// Sentences on what is missing, the most important one first; `more` is the tool's own.
    pub(crate) fn notice(&self, more: Option<String>) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(cut) = self.cut {
            let how = match (&self.cursor, cut) {
                (Some(cursor), _) => format!("to go on, repeat the call with \"cursor\": \"{cursor}\""),
                (None, Cut::Asked(_)) => "for more, raise maxResults".to_owned(),
                (None, _) => "name a directory further down, or leave more out with excludePatterns".to_owned(),
            };
            parts.push(format!("{}; {how}.", cut.sentence()));
        }
        parts.extend(more);
        if let Some(depth) = self.depth {
            parts.push(format!("Not gone deeper than {depth}; name a directory further down as path."));
        }
        let many = |count: u64, one: &str, many: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {many}") };
        let counted = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}.", many(count, "name is", "names are")));
        if self.unreadable > 0 {
            let codes: Vec<_> = self.codes.iter().copied().collect();
            parts.push(format!(
                "{} not be read ({}).",
                many(self.unreadable, "directory could", "directories could"),
                codes.join(", ")
            ));
        }
        if self.gitignores > 0 {
            parts.push(format!("{} not be read whole.", many(self.gitignores, ".gitignore could", ".gitignore files could")));
        }
        if self.other_mounts > 0 {
            parts.push(format!(
                "{} on another mount and not gone into.",
                many(self.other_mounts, "directory lies", "directories lie")
            ));
        }
        parts.extend(counted(self.excluded, "left out by excludePatterns"));
        parts.extend(counted(self.ignored, "left out by the operator's ignore list"));
        parts.extend(counted(self.gitignored, "left out by .gitignore"));
        parts.extend(counted(self.hidden, "hidden by rules"));
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}
