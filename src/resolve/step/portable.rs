//! One name by what every system has: it is looked at, opened, and what was opened is looked at. Built for Linux too where
//! `cap_roots_portable` is set, so that the tests run it (`tests/faults/run --portable`).
//!
//! May touch: one held directory and one name at a time.

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::OpenOptions;

use crate::error::is_link_met;
use crate::identity::Identity;
use crate::path::style::PathStyle;

use super::*;

/// As above; here a look and an opening are two calls, which a busy neighbour comes between more often.
const RETRIES: usize = 64;

/// No system here tells more to all who ask.
pub(crate) fn mount_of(dir: &Dir) -> io::Result<Mount> {
    device_of(&dir.dir_metadata()?)
}

fn device_of(metadata: &Metadata) -> io::Result<Mount> {
    Ok(Mount::Device(Identity::from(metadata).device))
}

/// Streams, devices and names that would be trimmed are no names of a directory. What a caller typed was judged before; links and
/// listings have them.
fn plain(name: &OsStr) -> io::Result<&OsStr> {
    PathStyle::host().check_os_name(name)?;
    Ok(name)
}

pub(crate) fn create_file(dir: &Dir, name: &OsStr) -> io::Result<std::fs::File> {
    let name = plain(name)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).follow(FollowSymlinks::No);
    uninterrupted(|| dir.open_with(name, &options)).map(cap_std::fs::File::into_std)
}

pub(super) fn open_to_write(dir: &Dir, name: &OsStr, append: bool, mounts: Mounts) -> io::Result<std::fs::File> {
    let name = plain(name)?;
    let mut options = OpenOptions::new();
    options.write(true).append(append).follow(FollowSymlinks::No).nonblock(true);
    let file = uninterrupted(|| dir.open_with(name, &options))?.into_std();
    mounts.check(|| device_of(&Metadata::from_file(&file)?))?;
    Ok(file)
}

pub(crate) fn enter(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Entered> {
    let name = plain(name)?;
    for _ in 0..RETRIES {
        let refusal = match dir.open_dir_nofollow(name) {
            Ok(dir) => {
                mounts.check(|| mount_of(&dir))?;
                return Ok(Entered::Dir(dir));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
            Err(error) => error,
        };
        let seen = see(dir, name, mounts)?;
        if let Some(target) = seen.link {
            return Ok(Entered::Link(target));
        }
        if !seen.metadata.is_dir() {
            return Ok(Entered::Other);
        }
        if !is_of_another_kind(&refusal) {
            return Err(refusal);
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Whether the name was another kind of thing than what it was opened as, so that it has to be looked at once more.
fn is_of_another_kind(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory) || is_link_met(error)
}

/// The search permission that a system asks for before it takes `..` from a directory.
#[cfg(unix)]
pub(crate) fn reenter(dir: &Dir) -> io::Result<()> {
    dir.symlink_metadata(".").map(drop)
}

/// Only what may be searched is opened there.
#[cfg(not(unix))]
pub(crate) fn reenter(_: &Dir) -> io::Result<()> {
    Ok(())
}

/// By the name in statfs(2).
#[cfg(target_os = "freebsd")]
pub(crate) fn on_kernel_file_system(file: &std::fs::File) -> io::Result<bool> {
    const MADE_UP: [&[u8]; 6] = [b"procfs", b"linprocfs", b"linsysfs", b"devfs", b"fdescfs", b"mqueuefs"];
    let name = rustix::fs::fstatfs(file)?.f_fstypename;
    let name = name.iter().map(|byte| byte.to_ne_bytes()[0]).take_while(|byte| *byte != 0);
    Ok(MADE_UP.iter().any(|known| known.iter().copied().eq(name.clone())))
}

#[cfg(not(target_os = "freebsd"))]
pub(crate) fn on_kernel_file_system(_: &std::fs::File) -> io::Result<bool> {
    Ok(true)
}

pub(crate) fn open(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Opened> {
    let name = plain(name)?;
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    for _ in 0..RETRIES {
        // Looked at first: a device may act when it is opened, and there it would be opened by its name alone.
        let seen = see(dir, name, mounts)?;
        if let Some(target) = seen.link {
            return Ok(Opened::Link(target));
        }
        if !seen.metadata.is_file() {
            return Ok(Opened::Other(seen.metadata));
        }
        match dir.open_with(name, &options) {
            Ok(file) => {
                let file = file.into_std();
                let metadata = Metadata::from_file(&file)?;
                mounts.check(|| device_of(&metadata))?;
                return Ok(Opened::File(file, metadata));
            }
            Err(error) if is_of_another_kind(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// By the name itself, since reading a directory needs no search permission on it.
#[cfg(unix)]
pub(crate) fn open_dir_at(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Option<std::fs::File>> {
    if !see(dir, name, mounts)?.metadata.is_dir() {
        return Ok(None);
    }
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    match dir.open_with(name, &options).map(cap_std::fs::File::into_std) {
        Ok(file) => {
            let metadata = Metadata::from_file(&file)?;
            mounts.check(|| device_of(&metadata))?;
            Ok(metadata.is_dir().then_some(file))
        }
        Err(error) if is_of_another_kind(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
pub(crate) fn open_dir_at(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Option<std::fs::File>> {
    match enter(dir, name, mounts)? {
        Entered::Dir(dir) => open_dir(&dir).map(Some),
        Entered::Link(_) | Entered::Other => Ok(None),
    }
}

pub(crate) fn open_to_list(dir: &Dir) -> io::Result<Dir> {
    dir.try_clone()
}

pub(crate) fn enter_to_list(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Option<(Dir, Facts)>> {
    let Entered::Dir(dir) = enter(dir, name, mounts)? else { return Ok(None) };
    let metadata = Facts::from_cap_std(&dir.dir_metadata()?);
    Ok(Some((dir, metadata)))
}

pub(crate) fn see(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Seen> {
    let name = plain(name)?;
    for _ in 0..RETRIES {
        let metadata = dir.symlink_metadata(name)?;
        mounts.check(|| device_of(&metadata))?;
        if !metadata.is_symlink() {
            return Ok(Seen { metadata, link: None });
        }
        if let Ok(text) = dir.read_link_contents(name) {
            return Ok(Seen { metadata, link: Some(Target::Text(text)) });
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}
