//! Leftovers: temporary files of a process that ended before it could remove them.
//!
//! May touch: one held directory. Looked for only where something is being written, once per directory and process, and removed only where
//! nobody holds the lock.

use std::ffi::OsStr;
use std::fs::TryLockError;
use std::io;

use cap_std::fs::{Dir, Metadata};

use crate::change::{remove_file, tree};
use crate::identity::Identity;
use crate::resolve::mounts::Mounts;
use crate::resolve::{names, step};
use crate::rule::{RESERVED_END, RESERVED_START};

/// Removes what was left in `dir`. What cannot be removed stays: it is in nobody's way.
pub(crate) fn sweep(dir: &Dir, mounts: Mounts) {
    let Ok(names) = names::list(dir) else { return };
    let names = names.filter_map(Result::ok).filter(|name| is_ours(name));
    for name in names.collect::<Vec<_>>() {
        let _ = sweep_one(dir, &name, mounts);
    }
}

/// Names of the very form that [`reserved_name`](super::temp::reserved_name) gives; others that are reserved are somebody else's.
fn is_ours(name: &OsStr) -> bool {
    let number = name.to_str().and_then(|name| name.strip_prefix(RESERVED_START)?.strip_suffix(RESERVED_END));
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn sweep_one(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<()> {
    let metadata = step::see(dir, name, mounts)?.metadata;
    if metadata.is_dir() {
        let Some(handle) = step::open_dir_at(dir, name, mounts)? else { return Ok(()) };
        if !cfg!(windows) && is_free(&handle) && Identity::from(&Metadata::from_file(&handle)?) == Identity::from(&metadata) {
            tree::remove_unjudged(dir, name, mounts)?;
        }
    } else if metadata.is_file() {
        let (file, opened) = step::open_for_change(dir, name, false, mounts)?;
        // The lock is on what was opened, so what has the name now must be that.
        if is_free(&file) && Identity::from(&step::see(dir, name, mounts)?.metadata) == Identity::from(&opened) {
            remove_file(dir, name)?;
        }
    }
    Ok(())
}

fn is_free(file: &std::fs::File) -> bool {
    match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}
