//! What is done to one name in a held directory.
//!
//! May touch: held directories, one name in each. On Windows `resolve::joined` stands in its place.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::{Dir, DirBuilder};

pub(crate) fn create_dir(dir: &Dir, name: &OsStr) -> io::Result<()> {
    dir.create_dir(name)
}

/// For the process's own user alone.
pub(crate) fn create_private_dir(dir: &Dir, name: &OsStr) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
    dir.create_dir_with(name, &builder)
}

pub(crate) fn remove_dir(dir: &Dir, name: &OsStr) -> io::Result<()> {
    dir.remove_dir(name)
}

pub(crate) fn remove_file(dir: &Dir, name: &OsStr) -> io::Result<()> {
    dir.remove_file(name)
}

/// Replaces what is there.
pub(crate) fn rename_over(from_dir: &Dir, from: &OsStr, to_dir: &Dir, to: &OsStr) -> io::Result<()> {
    from_dir.rename(from, to_dir, to)
}

pub(crate) fn hard_link(from_dir: &Dir, from: &OsStr, to_dir: &Dir, to: &OsStr) -> io::Result<()> {
    from_dir.hard_link(from, to_dir, to)
}
