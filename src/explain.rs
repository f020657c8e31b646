//! The public verdict: how an operation would be judged, and why.
//!
//! May touch: the vocabulary, and the name, access and rules of a root.

use std::fmt;

use crate::access::{Access, Operation};
use crate::error::{Error, ErrorKind};
use crate::metadata::FileType;
use crate::path::relative::RelPath;
use crate::path::uri;
use crate::root::Place;

/// How an operation on a path would be judged. Holds no host path.
#[derive(Clone, PartialEq, Eq)]
pub struct Explanation {
    operation: Operation,
    root: Option<(String, Access)>,
    uri: Option<String>,
    rules: Vec<String>,
    /// The strictest of them, if it allows less than is needed.
    deciding: Option<String>,
    verdict: Result<(), ErrorKind>,
}

impl Explanation {
    pub(crate) fn unlocated(operation: Operation, kind: ErrorKind) -> Self {
        Self { operation, root: None, uri: None, rules: Vec::new(), deciding: None, verdict: Err(kind) }
    }

    pub(crate) fn located(
        operation: Operation,
        place: &Place,
        path: &RelPath,
        rules: Vec<(String, Access)>,
        verdict: Result<(), ErrorKind>,
    ) -> Self {
        let name = &place.root().name;
        let strictest = rules.iter().min_by_key(|(_, left)| *left).filter(|(_, left)| *left < operation.needs());
        Self {
            operation,
            root: Some((name.as_str().to_owned(), place.authority.access())),
            uri: Some(uri::write(name, &place.path_from_root(path))),
            deciding: strictest.map(|(rule, _)| rule.clone()),
            rules: rules.into_iter().map(|(rule, _)| rule).collect(),
            verdict,
        }
    }

    /// The rules that match the path or a directory above it, as they were given.
    #[must_use]
    pub fn rules(&self) -> &[String] {
        &self.rules
    }

    /// The rule that refuses it, as it was given: of several the strictest.
    #[must_use]
    pub fn deciding_rule(&self) -> Option<&str> {
        self.deciding.as_deref()
    }

    /// The operation in question.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The name of the root that the path's text leads to.
    #[must_use]
    pub fn root(&self) -> Option<&str> {
        self.root.as_ref().map(|(name, _)| name.as_str())
    }

    /// The access of that root.
    #[must_use]
    pub fn access(&self) -> Option<Access> {
        self.root.as_ref().map(|(_, access)| *access)
    }

    /// The path as a `root://` URI.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        self.uri.as_deref()
    }

    /// Allowed, or why not.
    ///
    /// # Errors
    /// The kind that the operation would be refused with.
    pub fn verdict(&self) -> Result<(), ErrorKind> {
        self.verdict
    }
}

impl fmt::Display for Explanation {
    /// One line: `open needs read; root "ws" grants write: the grant suffices`. Where links lead is not looked at.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} needs {}; ", self.operation.name(), self.operation.needs())?;
        if let Some((name, access)) = &self.root {
            write!(f, "root {name:?} grants {access}")?;
            for rule in &self.rules {
                write!(f, ", rule {rule:?} matches")?;
            }
            f.write_str(": ")?;
        }
        match self.verdict {
            Ok(()) => f.write_str("the grant suffices"),
            Err(kind) => write!(f, "refused, {}", kind.code()),
        }
    }
}

impl fmt::Debug for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Explanation({self})")
    }
}

/// Which of the two ways of resolution gave the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolver {
    /// One `openat2(2)`, confined by the kernel.
    OneCall,
    /// One name after the other, each from a held directory.
    Walk,
}

impl fmt::Display for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneCall => "openat2, one call that the kernel confines",
            Self::Walk => "guarded walk, one name at a time",
        })
    }
}

/// How far an operation would get, found out on the disk and without doing it: see [`Roots::rehearse`](crate::Roots::rehearse). Names the
/// operator's rules, so it is for the operator.
#[derive(Clone)]
pub struct Rehearsal {
    pub(crate) explanation: Explanation,
    pub(crate) resolver: Option<Resolver>,
    pub(crate) leads_to: Option<FileType>,
    /// The rule that was met on the way of links.
    pub(crate) rule_met: Option<String>,
    pub(crate) outcome: crate::error::Result<()>,
}

impl Rehearsal {
    /// The verdict by the text.
    #[must_use]
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// Which way of resolution gave the answer; none where nothing was resolved, since the verdict was a refusal.
    #[must_use]
    pub fn resolver(&self) -> Option<Resolver> {
        self.resolver
    }

    /// What the path leads to, if anything is there.
    #[must_use]
    pub fn leads_to(&self) -> Option<FileType> {
        self.leads_to
    }

    /// The rule that refuses it, by the typed names or by those that a link leads to.
    #[must_use]
    pub fn deciding_rule(&self) -> Option<&str> {
        self.explanation.deciding_rule().or(self.rule_met.as_deref())
    }

    /// Whether the operation would be refused, as far as can be told without doing it.
    ///
    /// # Errors
    /// What it would be refused with.
    pub fn outcome(&self) -> Result<(), &Error> {
        self.outcome.as_ref().copied()
    }
}

impl fmt::Debug for Rehearsal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rehearsal({}, {:?})", self.explanation, self.leads_to)
    }
}
