//! Hints: what a client sent as its roots. Untrusted, and good for nothing but narrowing (HINTS-NARROW).
//!
//! May touch: `path` to parse, `roots` for the views to choose from, `ops` to find the real names. A hint's text picks parts of what was
//! granted; nothing is ever opened by it.

use std::fmt;
use std::path::PathBuf;

use crate::error::{Error, ErrorKind, Result};
use crate::ops::open;
use crate::path::file_uri;
use crate::path::host::HostPath;
use crate::path::location::Location;
use crate::path::region::Same;
use crate::path::relative::{RelPath, Step};
use crate::path::style::PathStyle;
use crate::roots::{Roots, View};

/// Most hints in one list.
const HINT_LIMIT: usize = 128;

/// A place that a client would like to work in: an entry of its `roots/list`, parsed. It grants nothing.
///
/// ```
/// use cap_roots::{Access, Hint, Roots};
///
/// # let folder = tempfile::tempdir()?;
/// # let base = std::fs::canonicalize(folder.path())?;
/// # let granted = base.join("work");
/// # std::fs::create_dir_all(granted.join("app"))?;
/// # std::fs::write(granted.join("app/a.md"), "text")?;
/// # let sent = [format!("file://{}/app", granted.display()), "file:///etc".to_owned()];
/// let roots = Roots::builder().root(&granted, Access::Read).open()?;
/// let hints: Vec<Hint> = sent.iter().filter_map(|uri| Hint::parse(uri).ok()).collect();   // granted/app, and /etc
/// let narrowed = roots.narrow(&hints);
/// assert_eq!(narrowed.roots().read_to_string("a.md")?, "text");      // granted/app/a.md
/// assert_eq!(narrowed.refused().len(), 1);                            // /etc is not granted, and so selects nothing
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Hint {
    path: HostPath,
}

impl Hint {
    /// Reads a `file://` URI of this platform's form, as a client sends one: `file:///home/me/notes`, on Windows `file:///C:/notes`. Judged on
    /// its raw text after RFC 8089: no host but `localhost`, no query, fragment, backslash, empty or dot segment (also encoded), no encoded
    /// separator; decoded once.
    ///
    /// # Errors
    /// `invalid-uri`, with a reason that does not repeat the text.
    pub fn parse(uri: &str) -> Result<Self> {
        match file_uri::parse(uri, PathStyle::host()) {
            Ok(path) => Ok(Self { path }),
            Err(detail) => Err(Error::detailed(ErrorKind::InvalidUri, detail).advise("send a root as a file:// URI")),
        }
    }

    /// The path, for granting it: only where the operator said that this client's roots are authority. Then it goes to a
    /// [`Builder`](crate::Builder) like a directory that the operator named, and nothing narrows it.
    #[must_use]
    pub fn into_trusted_path(self) -> PathBuf {
        self.path.to_path_buf()
    }
}

/// Without the path, which is a host's.
impl fmt::Debug for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hint").finish_non_exhaustive()
    }
}

/// What is left of a set of roots, and what became of each hint.
#[derive(Clone, Debug)]
#[must_use = "the set that was narrowed stays as it is"]
pub struct Narrowed {
    roots: Roots,
    refused: Vec<(usize, Error)>,
}

impl Narrowed {
    /// The narrowed set. If no hint selected anything, it has no root, and everything answers `no-roots`.
    #[must_use]
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// The same, by value.
    #[must_use]
    pub fn into_roots(self) -> Roots {
        self.roots
    }

    /// The hints that selected nothing, by their index, each with the reason; none repeats a path.
    #[must_use]
    pub fn refused(&self) -> &[(usize, Error)] {
        &self.refused
    }
}

impl Roots {
    /// The parts of this set that hints select; everything else is out of view. For each hint: roots that lie at or below it are selected
    /// whole; where it lies inside a root, the directory that it leads to there, or the one file; and where it lies elsewhere, nothing. Access,
    /// rules, limits and revocation stay those of this set. The order of the hints, and hints that select nothing, make no difference: what is
    /// left stands in the order of this set's roots, and relative paths start at the first directory among it.
    ///
    /// Directories are kept by their real names and looked up from the root at each operation, as with [`Roots::within`]. A file is one name
    /// in its directory: it can be read, written, removed and created again as the grant allows, and nothing else is seen there; while a link or
    /// a directory has that name, it is `outside-roots`.
    ///
    /// A list of more than 128 hints selects nothing.
    pub fn narrow<'a>(&self, hints: impl IntoIterator<Item = &'a Hint>) -> Narrowed {
        let mut selected: Vec<(usize, View)> = Vec::new();
        let mut refused: Vec<(usize, Error)> = Vec::new();
        let mut known: Vec<(&Hint, Option<Error>)> = Vec::new();
        for (index, hint) in hints.into_iter().enumerate() {
            if index == HINT_LIMIT {
                return Narrowed { roots: self.with_views(Vec::new()), refused: vec![(index, ErrorKind::Limit.into())] };
            }
            // Each look costs the disk something, so what is said twice is looked up once.
            let error = match known.iter().find(|(other, _)| *other == hint) {
                Some((_, error)) => error.clone(),
                None => self.select(hint).map(|views| selected.extend(views)).err(),
            };
            refused.extend(error.clone().map(|error| (index, error)));
            known.push((hint, error));
        }
        let key = |(index, view): &(usize, View)| (*index, view.region.path().as_os_str().to_owned());
        selected.sort_by_cached_key(key);
        selected.dedup_by_key(|part| key(part));
        // Only what is a part of the same view can be covered, and few hints lie in one.
        let widest = |parts: &[(usize, View)]| {
            let covered = |view: &View| {
                parts.iter().any(|(_, wide)| wide.region.key() != view.region.key() && wide.region.covers(&view.region))
            };
            parts.iter().map(|(_, view)| view).filter(|view| !covered(view)).cloned().collect::<Vec<_>>()
        };
        let views = selected.chunk_by(|(one, _), (other, _)| one == other).flat_map(widest);
        Narrowed { roots: self.with_views(views.collect()), refused }
    }

    /// The views that one hint selects, by the index of the one that each is a part of.
    fn select(&self, hint: &Hint) -> Result<Vec<(usize, View)>> {
        let whole = |one| {
            let below =
                self.routes().below(&hint.path, one).into_iter().filter_map(|index| Some((index, self.views().get(index)?)));
            let whole = below.filter(|(_, view)| view.lies_in(&hint.path, one));
            let whole: Vec<_> = whole.map(|(index, view)| (index, view.clone())).collect();
            Some(whole).filter(|whole| !whole.is_empty())
        };
        let [as_it_is, in_any_form] = Same::ways(PathStyle::host());
        let mut selected = whole(as_it_is).unwrap_or_default();
        match self.inside(&hint.path) {
            Ok(Some(part)) => selected.push(part),
            // What was selected whole stands.
            _ if !selected.is_empty() => {}
            Err(error) if error.kind() != ErrorKind::OutsideRoots => return Err(error),
            Ok(None) | Err(_) => return whole(in_any_form).ok_or(ErrorKind::OutsideRoots.into()),
        }
        Ok(selected)
    }

    /// The part of one view that a path below it leads to; `None` where it is the whole.
    fn inside(&self, path: &HostPath) -> Result<Option<(usize, View)>> {
        let (view, fit) = self.fit(Location::Host(path.clone()))?;
        if fit.path.is_empty() {
            return Ok(None);
        }
        let region = open::region(self.place(view), fit.path)?;
        Ok(Some((fit.route, View { authority: view.authority.clone(), region })))
    }
}

impl View {
    /// Whether all that it sees is at `path` or below it, by text: by a text with `..` that cannot be told.
    fn lies_in(&self, path: &HostPath, one: Same) -> bool {
        let region: RelPath = self.region.path();
        let spellings = self.authority.root.spellings.iter().map(|spelling| spelling.join(&region));
        spellings.into_iter().filter_map(|own| one.below(&own, path)).any(|rest| rest.steps().all(|step| step != Step::Parent))
    }
}
