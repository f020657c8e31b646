//! What a list comes to: its entries judged one by one, then the parts of the operator's set that they select, or the directories opened.
//!
//! May touch: the library's hints and, for a trusted client only, its builder. Blocks on the disk.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cap_roots::{Builder, Error, ErrorKind, Fault, Grant, Hint, Roots};
use serde_json::Value;

use super::UnavailableReason as Reason;

/// Most entries of a list: the library takes no more hints.
const ENTRIES: usize = 128;

/// Most directories that are opened for one client.
const TRUSTED: usize = 32;

/// Whose word the roots are.
#[derive(Clone)]
pub(super) enum Source {
    Off(Roots),
    Narrow(Roots),
    Trust(Trust),
}

/// The operator's terms for the directories of a client.
#[derive(Clone)]
pub(super) struct Trust {
    builder: Arc<dyn Fn() -> Builder + Send + Sync>,
    grant: Arc<dyn Fn(PathBuf) -> Grant + Send + Sync>,
    nothing: Roots,
}

impl Trust {
    pub(super) fn new(
        builder: impl Fn() -> Builder + Send + Sync + 'static,
        grant: impl Fn(PathBuf) -> Grant + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        // What the operator wrote is tried out at start, not at the first call.
        let nothing = builder().open()?.narrow([]).into_roots();
        Ok(Self { builder: Arc::new(builder), grant: Arc::new(grant), nothing })
    }

    /// All of them at once; where that fails, one that cannot be opened beside those before it is left out, and the rest stands.
    fn open(&self, hints: &[(usize, Hint)], refused: &mut Vec<(usize, Error)>) -> Roots {
        let mut paths: Vec<(usize, PathBuf)> = Vec::new();
        for (index, hint) in hints {
            let path = hint.clone().into_trusted_path();
            match paths.len() {
                _ if paths.iter().any(|(_, other)| *other == path) => {}
                TRUSTED => refused.push((*index, ErrorKind::Limit.into())),
                _ => paths.push((*index, path)),
            }
        }
        if let Ok(roots) = self.open_all(&paths) {
            return roots;
        }
        let mut roots = self.nothing.clone();
        let mut opened: Vec<(usize, PathBuf)> = Vec::new();
        for entry in paths {
            let index = entry.0;
            opened.push(entry);
            match self.open_all(&opened) {
                Ok(all) => roots = all,
                Err(error) => {
                    opened.pop();
                    refused.push((index, error));
                }
            }
        }
        roots
    }

    /// Each is judged by what was opened: a name may lead elsewhere the next time.
    fn open_all(&self, paths: &[(usize, PathBuf)]) -> Result<Roots, Error> {
        let grants = paths.iter().map(|(_, path)| (self.grant)(path.clone()).unless_granted());
        let roots = grants.fold((self.builder)().named_by_client(), Builder::grant).open()?;
        // A directory that is missing is not waited for: what appears there is nobody's choice.
        if roots.list().any(|root| root.is_absent()) { Err(ErrorKind::RootAbsent.into()) } else { Ok(roots) }
    }
}

/// A client's list, judged entry by entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct List {
    hints: Vec<(usize, Hint)>,
    refused: Vec<(usize, Error)>,
    /// How many entries it had.
    sent: usize,
}

impl List {
    /// From an answer as it came, which is anybody's JSON. One bad entry costs that entry.
    pub(super) fn read(answer: &Value) -> Result<Self, Reason> {
        let entries = answer.get("roots").and_then(Value::as_array).ok_or(Reason::Malformed)?;
        let mut list = Self { hints: Vec::new(), refused: Vec::new(), sent: entries.len() };
        if list.is_too_long() {
            return Ok(list);
        }
        for (index, entry) in entries.iter().enumerate() {
            match entry.get("uri").and_then(Value::as_str).ok_or_else(no_uri).and_then(Hint::parse) {
                Ok(hint) => list.hints.push((index, hint)),
                Err(error) => list.refused.push((index, error)),
            }
        }
        Ok(list)
    }

    fn is_too_long(&self) -> bool {
        self.sent > ENTRIES
    }
}

fn no_uri() -> Error {
    Error::from(ErrorKind::InvalidUri).advise("send a root as an object with a uri")
}

/// What a list selected, and the entries that selected nothing.
#[derive(Clone, Debug)]
pub(super) struct Selected {
    pub(super) roots: Roots,
    pub(super) refused: Vec<(usize, Error)>,
}

impl Selected {
    /// The roots, or why the list that they come from gives none.
    pub(super) fn outcome(&self, list: &List) -> Result<Roots, Reason> {
        match list.sent {
            _ if list.is_too_long() => Err(Reason::TooMany),
            0 => Err(Reason::Empty),
            _ if self.roots.list().next().is_none() => Err(Reason::NoneUsable),
            _ => Ok(self.roots.clone()),
        }
    }

    /// Whether it may be otherwise the next time, although the list is the same.
    pub(super) fn is_for_now(&self) -> bool {
        self.refused.iter().any(|(_, error)| error.fault() == Fault::Environment || error.kind() == ErrorKind::NotFound)
    }
}

impl Source {
    pub(super) fn select(&self, list: &List) -> Selected {
        let mut refused = list.refused.clone();
        let roots = match self {
            Self::Off(roots) => roots.clone(),
            Self::Narrow(roots) => {
                let narrowed = roots.narrow(list.hints.iter().map(|(_, hint)| hint));
                let index = |at: usize| list.hints.get(at).map_or(at, |(index, _)| *index);
                refused.extend(narrowed.refused().iter().map(|(at, error)| (index(*at), error.clone())));
                narrowed.into_roots()
            }
            Self::Trust(trust) => trust.open(&list.hints, &mut refused),
        };
        refused.sort_by_key(|(index, _)| *index);
        Selected { roots, refused }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off(_) => "Off",
            Self::Narrow(_) => "Narrow",
            Self::Trust(_) => "Trust",
        })
    }
}
