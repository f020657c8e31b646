//! What a list comes to: its entries judged one by one, then the parts of the operator's set that they select, or the directories opened.
//!
//! May touch: the library's hints and, for a trusted client only, its builder. Blocks on the disk.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_roots::{Access, Builder, Error, ErrorKind, Grant, Hint, Roots};
use serde_json::Value;

use super::Reason;

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

    /// One that cannot be opened beside those before it is left out, and the rest stands.
    fn open(&self, hints: &[(usize, Hint)], refused: &mut Vec<(usize, Error)>) -> Roots {
        let mut paths: Vec<PathBuf> = Vec::new();
        let mut roots = self.nothing.clone();
        for (index, hint) in hints {
            let path = hint.clone().into_trusted_path();
            match self.open_beside(&paths, &path) {
                Ok(opened) => {
                    roots = opened;
                    paths.push(path);
                }
                Err(error) => refused.push((*index, error)),
            }
        }
        roots
    }

    fn open_beside(&self, others: &[PathBuf], path: &PathBuf) -> Result<Roots, Error> {
        if others.len() == TRUSTED {
            return Err(ErrorKind::Limit.into());
        }
        check(path)?;
        others.iter().chain([path]).fold((self.builder)(), |builder, path| builder.grant((self.grant)(path.clone()))).open()
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

/// Refuses what is missing, the top of a disk, the home directory and what lies above it. The library tells by identity which directory is
/// another one or lies in it.
fn check(path: &Path) -> Result<(), Error> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    for kept in home.as_deref().into_iter().chain(path.ancestors().last()) {
        let pair = |asked: bool| {
            let kept = Roots::builder().named("kept", kept, Access::List);
            if asked { kept.named("asked", path, Access::Write).open() } else { kept.open() }
        };
        // A home that cannot be opened is nobody's home.
        if pair(false).is_err() {
            continue;
        }
        let pair = pair(true).map_err(|error| if error.kind() == ErrorKind::InvalidArgument { too_wide() } else { error })?;
        if pair.list().any(|root| root.inside().is_some()) {
            return Err(too_wide());
        }
        if pair.list().any(|root| root.name() == "asked" && root.is_absent()) {
            return Err(ErrorKind::RootAbsent.into());
        }
    }
    Ok(())
}

fn too_wide() -> Error {
    Error::invalid_argument("a client's root may not be the top of a disk, the home directory or a directory above it")
}
