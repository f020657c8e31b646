//! The one door (ONE-DOOR): the only file that uses ambient authority, that is, opens by host path.
//!
//! May touch: the operator's paths, at start, and the parents of directories that are held already. Nothing that a caller or a
//! client sent ever gets here.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::error::{Error, ErrorKind, Result};
use crate::identity::Identity;
use crate::resolve::step::{self, Entered, Target};

/// Most links on the way to a file of the operator.
const LINK_LIMIT: usize = 40;

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

/// What is in a file that the operator named, if that is a regular one of at most `limit` bytes. Opened without blocking: a pipe is refused
/// and not waited for.
#[cfg(feature = "config")]
#[expect(clippy::disallowed_methods, reason = "ONE-DOOR: this is the door")]
pub(crate) fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    use std::io::Read;

    use cap_fs_ext::OpenOptionsSyncExt;
    use cap_std::fs::{File, OpenOptions};

    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    let file = File::open_ambient_with(path, &options, ambient_authority())?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// What was passed on the way to a path.
pub(crate) struct Passed {
    pub(crate) all: Vec<Identity>,
    /// How many when the last link was met.
    at_last_link: usize,
}

impl Passed {
    /// The directories that hold the links on the way, and those above them.
    pub(crate) fn into_way_to_last_link(mut self) -> Vec<Identity> {
        self.all.truncate(self.at_last_link);
        self.all
    }
}

/// The identity of each directory that is passed on the way to the operator's `path`: those above, and those that a link on the way is
/// in or leads through. Whoever may write in one of them, or below, could choose what the path means. What it names need not exist.
#[expect(clippy::disallowed_methods, reason = "ONE-DOOR: this is the door")]
pub(crate) fn passed(path: &Path) -> Result<Passed> {
    let io = |error: io::Error| Error::from_io(&error);
    let mut passed = Passed { all: Vec::new(), at_last_link: 0 };
    let mut at: Option<Dir> = None;
    let mut links = 0;
    let mut ahead = parts(&absolute(path).map_err(io)?);
    while let Some(part) = ahead.pop() {
        let dir = match (&part, &at) {
            (Part::Top(top), _) => Dir::open_ambient_dir(top, ambient_authority()).map_err(io)?,
            (_, None) => return Err(ErrorKind::InvalidPath.into()),
            (Part::Up, Some(dir)) => dir.open_parent_dir(ambient_authority()).map_err(io)?,
            (Part::Name(name), Some(dir)) => match step::enter(dir, name) {
                Ok(Entered::Dir(dir)) => dir,
                Ok(Entered::Link(Target::Text(_))) if links == LINK_LIMIT => return Err(ErrorKind::SymlinkLoop.into()),
                Ok(Entered::Link(Target::Text(target))) => {
                    links += 1;
                    passed.at_last_link = passed.all.len();
                    ahead.extend(parts(&target));
                    continue;
                }
                Ok(Entered::Link(Target::Magic)) => return Err(ErrorKind::Unsupported.into()),
                Ok(Entered::Other) if ahead.is_empty() => break,
                Ok(Entered::Other) => return Err(ErrorKind::NotADirectory.into()),
                Err(error) if error.kind() == io::ErrorKind::NotFound && ahead.is_empty() => break,
                Err(error) => return Err(io(error)),
            },
        };
        passed.all.push(Identity::of(&dir).map_err(io)?);
        at = Some(dir);
    }
    Ok(passed)
}

enum Part {
    Top(PathBuf),
    Up,
    Name(OsString),
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut top = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Prefix(_) => top.push(component),
            Component::RootDir => {
                top.push(component);
                parts.push(Part::Top(top.clone()));
            }
            Component::CurDir => {}
            Component::ParentDir => parts.push(Part::Up),
            Component::Normal(name) => parts.push(Part::Name(name.to_owned())),
        }
    }
    parts.reverse();
    parts
}
