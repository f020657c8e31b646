//! A name asked for in another Unicode form than the disk has it.
//!
//! May touch: one held directory's listing. Containment plays no part: the answer is a name of that directory, opened like any other.

use std::ffi::{OsStr, OsString};
use std::io;

use cap_std::fs::Dir;

use crate::path::style::folded;
use crate::resolve::names;

/// Most entries that are looked at for one name.
const ENTRY_LIMIT: usize = 10_000;

/// The names in a directory that look like the one asked for.
pub(super) enum Fold {
    Nothing,
    One(OsString),
    Several,
}

/// Looks for `name` (not there byte for byte) among the names of `dir` in folded form. A directory that this process may not list, or that
/// is too large to be searched, has nothing. Any other failure is one: taken for nothing, it would give a file a second name.
pub(super) fn find(dir: &Dir, name: &OsStr) -> io::Result<Fold> {
    let Some(name) = name.to_str() else { return Ok(Fold::Nothing) };
    let names = match names::list(dir) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Fold::Nothing),
        names => names?,
    };
    let wanted = folded(name);
    let mut found = Fold::Nothing;
    for (number, entry) in names.enumerate() {
        let entry = entry?;
        if number == ENTRY_LIMIT {
            return Ok(Fold::Nothing);
        }
        let Some(text) = entry.to_str() else { continue };
        if folded(text) == wanted {
            found = match found {
                Fold::Nothing => Fold::One(entry),
                Fold::One(_) | Fold::Several => Fold::Several,
            };
        }
    }
    Ok(found)
}
