//! The one door (ONE-DOOR): the only file that uses ambient authority, that is, opens by host path.
//!
//! May touch: the operator's paths, at start, and the parents of directories that are held already. Nothing that a caller or a
//! client sent ever gets here.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::identity::Identity;

/// A directory that the operator named, opened.
pub(crate) struct Found {
    pub(crate) dir: Dir,
    pub(crate) identity: Identity,
    /// The directory that it is in, and its name there; none for a top directory.
    pub(crate) at: Option<(Dir, OsString)>,
    /// The path with every link resolved, at the moment of opening.
    pub(crate) canonical: PathBuf,
}

/// What is left of a directory that is not there: the nearest ancestor that is, and the names missing below it.
pub(crate) struct Missing {
    pub(crate) ancestor: Found,
    pub(crate) names: Vec<OsString>,
}

/// The home directory of whoever runs the program.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// The operator's path made absolute: `~/` expanded (clients start servers without a shell), the working directory put in front.
pub(crate) fn absolute(path: &Path) -> io::Result<PathBuf> {
    let expanded = path.strip_prefix("~").ok().and_then(|rest| Some(home()?.join(rest)));
    std::path::absolute(expanded.as_deref().unwrap_or(path))
}

/// Opens the directory that the operator named. Links are resolved here, once: retargeting one later has no effect.
#[expect(clippy::disallowed_methods, reason = "ONE-DOOR: this is the door")]
pub(crate) fn open(path: &Path) -> io::Result<Found> {
    let canonical = std::fs::canonicalize(path)?;
    let dir = Dir::open_ambient_dir(&canonical, ambient_authority())?;
    let identity = Identity::of(&dir)?;
    let at = canonical.file_name().and_then(|name| Some((dir.open_parent_dir(ambient_authority()).ok()?, name.to_owned())));
    Ok(Found { dir, identity, at, canonical })
}

/// Opens the nearest ancestor of a path that is missing. The missing names are kept as text and later opened one by one below it,
/// never following a link, so that nobody can choose where the root will be by planting one.
pub(crate) fn open_nearest_ancestor(path: &Path) -> io::Result<Missing> {
    let mut names = Vec::new();
    let mut at = path;
    loop {
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        names.insert(0, name.to_owned());
        at = parent;
        match open(at) {
            Ok(ancestor) => return Ok(Missing { ancestor, names }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

/// The identities of the directories above `dir`, nearest first: by `..` from the held handle, so that text plays no part.
#[expect(clippy::disallowed_methods, reason = "ONE-DOOR: this is the door")]
pub(crate) fn ancestors(dir: &Dir) -> io::Result<Vec<Identity>> {
    let mut chain = Vec::new();
    let mut below = Identity::of(dir)?;
    let mut at = dir.open_parent_dir(ambient_authority())?;
    loop {
        let identity = Identity::of(&at)?;
        if identity == below {
            return Ok(chain);
        }
        chain.push(identity);
        below = identity;
        at = at.open_parent_dir(ambient_authority())?;
    }
}
