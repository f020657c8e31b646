//! A look at the pure parts, for this project's own tests and fuzz targets (feature `internals`). No part of the API: any release may change it.
//!
//! May touch: `path`, `rule`, `decide`, the error type. No I/O. Text and facts go in, plain data comes out: nothing here opens, grants, or gives
//! a permit, so nothing here leads around one.

use std::ffi::{OsStr, OsString};

use crate::access::{Access, End, Operation};
use crate::decide;
use crate::error::{Error, ErrorKind, Result};
use crate::path::location::Location;
use crate::path::relative::{RelPath, Step};
use crate::path::style::PathStyle;
use crate::path::uri::{self, RootName};
use crate::rule;

/// Whose lexical rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Style {
    /// Of Unix.
    Unix,
    /// Of Windows.
    Windows,
}

/// What a path argument says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// `host`, `home`, `relative` or `named`.
    pub form: &'static str,
    /// What the steps start from: an anchor such as `/`, a root's name, or nothing.
    pub start: String,
    /// The names in order, and `..` where one is a step up.
    pub steps: Vec<OsString>,
    /// Whether it has to be a directory.
    pub directory: bool,
    /// The steps as a `root://` URI, of the root `root` where none is named.
    pub uri: String,
}

/// Reads a path argument.
///
/// # Errors
/// `invalid-path` and `invalid-uri`, as every operation answers them.
pub fn place(text: &str, style: Style) -> Result<Place> {
    let style = match style {
        Style::Unix => PathStyle::Unix,
        Style::Windows => PathStyle::Windows,
    };
    let (form, start, path) = match &Location::parse(text, style)? {
        Location::Host(path) => ("host", path.anchor_text(), path.names().clone()),
        Location::Home(path) => ("home", String::new(), path.clone()),
        Location::Relative(path) => ("relative", String::new(), path.clone()),
        Location::Named(name, path) => ("named", name.as_str().to_owned(), path.clone()),
    };
    let step = |step| match step {
        Step::Parent => OsString::from(".."),
        Step::Name(name) => name.to_owned(),
    };
    let named = RootName::parse(if form == "named" { &start } else { "root" });
    let uri = named.map(|name| uri::write(&name, &path)).unwrap_or_default();
    Ok(Place { form, start, steps: path.steps().map(step).collect(), directory: path.must_be_dir(), uri })
}

/// Whether some disk takes the name for another one, so that it counts only as a listing has it.
#[must_use]
pub fn may_alias(name: &OsStr) -> bool {
    rule::may_alias(name)
}

/// Whether it is a name of temporary files.
#[must_use]
pub fn is_reserved(name: &OsStr) -> bool {
    rule::is_reserved(name)
}

/// The rules that hold in a root.
#[derive(Clone, Debug)]
pub struct Rules(rule::Rules);

impl Rules {
    /// Reads globs, each with its ceiling.
    ///
    /// # Errors
    /// `invalid-argument` for the first glob that cannot be read.
    pub fn new<'a>(rules: impl IntoIterator<Item = (&'a str, Access)>) -> Result<Self> {
        Ok(Self(rule::Rules::new(read(rules)?, Access::Write)))
    }

    /// The rules of a root that lies at `names` in another one, as they hold in that one; those that would be too long are left out.
    ///
    /// # Errors
    /// As [`Rules::new`].
    pub fn above<'a>(rules: impl IntoIterator<Item = (&'a str, Access)>, names: &[&str]) -> Result<Self> {
        let names = relative(names);
        let rules = read(rules)?;
        let seen = rules.iter().filter_map(|rule| rule.seen_from_above(&names));
        Ok(Self(rule::Rules::new(seen, Access::Write)))
    }

    /// As they hold in a root that lies at `names`.
    #[must_use]
    pub fn inside(&self, names: &[&str]) -> Self {
        let (rules, ceiling) = self.0.seen_from_inside(&relative(names));
        Self(rule::Rules::new(rules, ceiling))
    }

    /// The most that they leave of a name: if it is neither a directory nor a link, and if it is one.
    #[must_use]
    pub fn ceilings(&self, names: &[&str]) -> (Access, Access) {
        let level = self.0.level(&relative(names));
        (level.ceiling(false), level.ceiling(true))
    }

    /// Whether a directory may go from `names` to `others`, in a root of other rules.
    #[must_use]
    pub fn stand_alike(&self, names: &[&str], other: &Self, others: &[&str]) -> bool {
        let (own, others) = (self.0.level(&relative(names)), other.0.level(&relative(others)));
        self.0.stand_alike(&own, &other.0, &others)
    }

    /// Whether they let through what a caller typed, as far as text tells.
    ///
    /// # Errors
    /// `invalid-path` for a text that is no relative path on Unix.
    pub fn let_through(&self, text: &str, operation: Operation, target: bool) -> Result<bool> {
        let path = RelPath::parse(text, PathStyle::Unix).map_err(|detail| Error::detailed(ErrorKind::InvalidPath, detail))?;
        let need = operation.needs_at(end(target));
        Ok(self.0.judge_text(self.0.top(), &path, need, operation.makes_dir()).is_some())
    }
}

fn read<'a>(rules: impl IntoIterator<Item = (&'a str, Access)>) -> Result<Vec<rule::Rule>> {
    let rule =
        |(glob, access)| rule::Rule::parse(glob, access).map_err(|detail| Error::detailed(ErrorKind::InvalidArgument, detail));
    rules.into_iter().map(rule).collect()
}

fn relative(names: &[&str]) -> RelPath {
    let mut path = RelPath::default();
    names.iter().for_each(|name| path.push_name(OsStr::new(name)));
    path
}

/// What the decision may know.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Why the root cannot be used: `root-absent`, `revoked`, `expired`, `cancelled`; or it can.
    pub state: std::result::Result<(), ErrorKind>,
    /// What was granted.
    pub access: Access,
    /// Whether names may not be taken away.
    pub no_delete: bool,
    /// Whether the rules let the typed names through.
    pub unruled: bool,
}

/// The verdict on one end of an operation.
///
/// # Errors
/// Why it is refused.
pub fn decide(facts: Facts, operation: Operation, target: bool) -> std::result::Result<(), ErrorKind> {
    let state = match facts.state {
        Ok(()) => decide::State::Held,
        Err(ErrorKind::RootAbsent) => decide::State::Absent,
        Err(ErrorKind::Expired) => decide::State::Expired,
        Err(ErrorKind::Cancelled) => decide::State::Cancelled,
        Err(_) => decide::State::Revoked,
    };
    let Facts { access, no_delete, unruled, .. } = facts;
    decide::decide(decide::Facts { state, access, no_delete, unruled }, operation, end(target))
}

fn end(target: bool) -> End {
    if target { End::Target } else { End::Source }
}
