//! The one door (ONE-DOOR): the only file that uses ambient authority, that is, opens by host path.
//!
//! May touch: the operator's paths, at start, the parents of directories that are held already, and the kernel's lists of this process's
//! threads and open files. Nothing that a caller or a client sent ever gets here.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::error::{Error, ErrorKind, Result};
use crate::identity::Identity;
use crate::resolve::mounts::Mounts;
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
    /// No link was on the way, as the kernel says; otherwise that is not known.
    pub(crate) straight: bool,
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
    if is_half_absolute(path) {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    let expanded = path.strip_prefix("~").ok().and_then(|rest| Some(home()?.join(rest)));
    std::path::absolute(expanded.as_deref().unwrap_or(path))
}

/// `C:` and `C:x`: the directory where the system stands on that drive, which is nobody's intention.
fn is_half_absolute(path: &Path) -> bool {
    matches!(path.components().next(), Some(Component::Prefix(_))) && !path.has_root()
}

/// Opens the directory that the operator named. Links are resolved here, once: retargeting one later has no effect.
#[expect(clippy::disallowed_methods, reason = "ONE-DOOR: this is the door")]
pub(crate) fn open(path: &Path) -> io::Result<Found> {
    let (dir, canonical, straight) = match open_straight(path) {
        Some(dir) => (dir, path.components().collect(), true),
        None => {
            let canonical = real_path(path)?;
            (Dir::open_ambient_dir(&canonical, ambient_authority())?, canonical, false)
        }
    };
    let identity = Identity::of(&dir)?;
    let at = canonical.file_name().and_then(|name| Some((parent_of(&dir).ok()?, name.to_owned())));
    Ok(Found { dir, identity, at, canonical, straight })
}

#[expect(clippy::disallowed_methods, reason = "ONE-DOOR: this is the door")]
fn real_path(path: &Path) -> io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        // realpath(3) asks for `faccessat2` on its way, and gives the EPERM of a filter that does not know it for the answer. What is open
        // tells its path by itself.
        #[cfg(target_os = "linux")]
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            use std::os::fd::AsRawFd as _;
            let dir = Dir::open_ambient_dir(path, ambient_authority())?;
            std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()))
        }
        outcome => outcome,
    }
}

/// The directory of an absolute path that is its real one already, where the kernel says so in one call (openat2(2)): nobody can put a link
/// in the way between a look and the opening.
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
fn open_straight(path: &Path) -> Option<Dir> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    if !path.is_absolute() || path.components().any(|component| component == Component::ParentDir) {
        return None;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    opened.ok().map(|fd| Dir::from_std_file(fd.into()))
}

#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
fn open_straight(_: &Path) -> Option<Dir> {
    None
}

/// The directory above a held one; of a top directory, itself.
#[cfg(not(windows))]
#[expect(clippy::disallowed_methods, reason = "ONE-DOOR: this is the door")]
fn parent_of(dir: &Dir) -> io::Result<Dir> {
    dir.open_parent_dir(ambient_authority())
}

/// By its path, which stays as long as it is held.
#[cfg(windows)]
#[expect(clippy::disallowed_methods, reason = "ONE-DOOR: this is the door")]
fn parent_of(dir: &Dir) -> io::Result<Dir> {
    let path = crate::resolve::joined::path_of(dir)?;
    Dir::open_ambient_dir(path.parent().unwrap_or(&path), ambient_authority())
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

/// The identities of the directories above one that was opened, nearest first: by `..` from held handles, so that text plays no part.
pub(crate) fn ancestors(found: &Found) -> io::Result<Vec<Identity>> {
    let mut chain = Vec::new();
    let mut below = found.identity;
    let parent;
    let nearest = match &found.at {
        Some((held, _)) => held,
        None => {
            parent = parent_of(&found.dir)?;
            &parent
        }
    };
    let mut higher: Option<Dir> = None;
    loop {
        let at = higher.as_ref().unwrap_or(nearest);
        let identity = Identity::of(at)?;
        // The top directory is its own parent.
        if identity == below {
            return Ok(chain);
        }
        chain.push(identity);
        below = identity;
        higher = Some(parent_of(at)?);
    }
}

/// How many threads this process has; `None` where that cannot be told.
#[cfg(feature = "landlock")]
#[expect(clippy::disallowed_methods, reason = "ONE-DOOR: this is the door")]
pub(crate) fn threads() -> Option<usize> {
    std::fs::read_dir("/proc/self/task").ok().map(Iterator::count).filter(|count| *count > 0)
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
            (Part::Up, Some(dir)) => parent_of(dir).map_err(io)?,
            (Part::Name(name), Some(dir)) => match step::enter(dir, name, Mounts::Any) {
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

    use super::*;

    /// Catches: a link that is overlooked on the way or at the end, and a path that is shown in another form than its real one.
    #[test]
    fn a_straight_way_has_no_link_and_is_the_real_path() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        std::fs::write(base.join("file"), "").unwrap();
        std::os::unix::fs::symlink("a", base.join("on_the_way")).unwrap();
        std::os::unix::fs::symlink("a/b", base.join("at_the_end")).unwrap();
        // Where the kernel lacks the call, it is never said.
        let may_say_so = openat2(CWD, ".", OFlags::PATH, Mode::empty(), ResolveFlags::NO_SYMLINKS).is_ok();
        for (path, straight) in [
            ("a/b", may_say_so),
            ("a//./b/", may_say_so),
            ("a/../a/b", false),
            ("on_the_way/b", false),
            ("at_the_end", false),
            ("at_the_end/", false),
            ("on_the_way/../a/b", false),
        ] {
            let found = open(&base.join(path)).unwrap();
            let real = found.canonical.to_str() == base.join("a/b").to_str();
            assert_eq!((found.straight, real), (straight, true), "{path}: {:?}", found.canonical);
            assert_eq!(found.identity, open(&base.join("on_the_way/b")).unwrap().identity, "{path}");
        }
        let refused = |path: &str| open(&base.join(path)).err().map(|error| error.kind());
        assert_eq!(refused("missing"), Some(io::ErrorKind::NotFound));
        assert_eq!(refused("file"), Some(io::ErrorKind::NotADirectory));
        assert_eq!(refused("file/x"), Some(io::ErrorKind::NotADirectory));
    }
}
