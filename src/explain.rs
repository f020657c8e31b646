//! The public verdict: how an operation would be judged, and why.
//!
//! May touch: the vocabulary, and the name, access and rules of a root.

use std::fmt;

use crate::access::{Access, Operation};
use crate::error::ErrorKind;
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
    verdict: Result<(), ErrorKind>,
}

impl Explanation {
    pub(crate) fn unlocated(operation: Operation, kind: ErrorKind) -> Self {
        Self { operation, root: None, uri: None, rules: Vec::new(), verdict: Err(kind) }
    }

    pub(crate) fn located(
        operation: Operation,
        place: &Place,
        path: &RelPath,
        rules: Vec<String>,
        verdict: Result<(), ErrorKind>,
    ) -> Self {
        let name = &place.root().name;
        Self {
            operation,
            root: Some((name.as_str().to_owned(), place.authority.access())),
            uri: Some(uri::write(name, &place.path_from_root(path))),
            rules,
            verdict,
        }
    }

    /// The rules that match the path or a directory above it, as they were given.
    #[must_use]
    pub fn rules(&self) -> &[String] {
        &self.rules
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
