//! What is done to one name in a held directory.
//!
//! May touch: held directories, one name in each. On Windows `resolve::joined` stands in its place.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::Dir;

pub(crate) fn create_dir(dir: &Dir, name: &OsStr) -> io::Result<()> {
    dir.create_dir(name)
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
