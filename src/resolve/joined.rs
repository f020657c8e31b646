//! Names in held directories by path, where Windows is asked by path alone: listing, making and removing directories, removing files,
//! renaming and linking. These are the calls that the table of SECURITY.md names (HANDLE-ONLY).
//!
//! May touch: the path of a held directory, as the system tells it at that moment, and one name in it. Held directories are open without
//! `FILE_SHARE_DELETE`, so neither they nor those above them are moved meanwhile; one that is empty can be made a junction all the same, which
//! is looked for each time, and not in the moment after. The path is verbatim (`\\?\`): otherwise the system would trim names, take some for
//! devices, and take that of a share for a relative one.

#![expect(clippy::disallowed_methods, reason = "HANDLE-ONLY: what has no call by handle on Windows")]

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::windows::fs::FileTypeExt as _;
use std::path::{Component, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _};

use crate::path::style::PathStyle;

/// Where a held directory is.
pub(crate) fn path_of(dir: &Dir) -> io::Result<PathBuf> {
    const FILE_ATTRIBUTE_REPARSE_POINT: u32 = 0x400;
    if dir.dir_metadata()?.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0 {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    let path = winx::file::get_file_path(&dir.try_clone()?.into_std_file())?;
    match path.components().next() {
        Some(Component::Prefix(prefix)) if prefix.kind().is_verbatim() => Ok(path),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn path_at(dir: &Dir, name: &OsStr) -> io::Result<PathBuf> {
    PathStyle::Windows.check_os_name(name)?;
    path_of(dir).map(|path| path.join(name))
}

pub(crate) fn list(dir: &Dir) -> io::Result<fs::ReadDir> {
    fs::read_dir(path_of(dir)?)
}

pub(crate) fn create_dir(dir: &Dir, name: &OsStr) -> io::Result<()> {
    fs::create_dir(path_at(dir, name)?)
}

/// There are no bits to set: who may look into the directory may look into this one.
pub(crate) fn create_private_dir(dir: &Dir, name: &OsStr) -> io::Result<()> {
    create_dir(dir, name)
}

pub(crate) fn remove_dir(dir: &Dir, name: &OsStr) -> io::Result<()> {
    fs::remove_dir(path_at(dir, name)?)
}

/// A file or a link, of whichever kind.
pub(crate) fn remove_file(dir: &Dir, name: &OsStr) -> io::Result<()> {
    let path = path_at(dir, name)?;
    if fs::symlink_metadata(&path)?.file_type().is_symlink_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }
}

/// Replaces what is there.
pub(crate) fn rename_over(from_dir: &Dir, from: &OsStr, to_dir: &Dir, to: &OsStr) -> io::Result<()> {
    let (from, to) = (path_at(from_dir, from)?, path_at(to_dir, to)?);
    // The target's directory is held, so the system would call a source above it busy.
    if to != from && to.starts_with(&from) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    fs::rename(from, to)
}

/// As long as this is held nobody can keep the file from being removed; who does so already is met here.
pub(crate) fn hold_to_remove(dir: &Dir, name: &OsStr) -> io::Result<cap_std::fs::File> {
    /// `DELETE`, of the standard access rights.
    const DELETE: u32 = 0x0001_0000;
    let mut options = OpenOptions::new();
    options.access_mode(DELETE).follow(FollowSymlinks::No);
    dir.open_with(name, &options)
}

pub(crate) fn hard_link(from_dir: &Dir, from: &OsStr, to_dir: &Dir, to: &OsStr) -> io::Result<()> {
    fs::hard_link(path_at(from_dir, from)?, path_at(to_dir, to)?)
}
