//! The operations, one kind a file. Each takes a permit, resolves it, and makes the result.
//!
//! May touch: `permit`, `resolve`, `change`, and the public result types. `Roots`, `Dir` and `Entry` are thin fronts of these.

pub(crate) mod attributes;
pub(crate) mod copy;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod exchanged;
pub(crate) mod list;
pub(crate) mod make;
pub(crate) mod open;
pub(crate) mod read_link;
pub(crate) mod rehearse;
pub(crate) mod remove;
pub(crate) mod rename;
pub(crate) mod stat;
pub(crate) mod walk;
pub(crate) mod write;

use crate::change;
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::permit::{Permit, Receipt};
use crate::resolve::{Found, Slot, Want, resolve};

pub(crate) use crate::change::tree::NAME_BUDGET as TREE_LIMIT;

/// `resolve` gave something that this `Want` cannot lead to.
pub(crate) fn contradiction() -> Error {
    debug_assert!(false, "resolve answered another question");
    ErrorKind::Io.into()
}

pub(crate) fn io(error: std::io::Error) -> Error {
    Error::from_io(&error)
}

/// The refusal of an open of what had the name a moment ago.
pub(crate) fn vanished(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::NotFound => ErrorKind::Conflict.into(),
        _ => Error::from_open(&error),
    }
}

/// The name that the path leads to; `else_` where it names no entry, but the directory that it starts from or one on the way.
pub(crate) fn slot(permit: Permit, want: Want, else_: ErrorKind) -> Result<(Slot, Receipt)> {
    let (found, receipt) = resolve(permit, want)?;
    match found {
        Found::Slot(slot) => Ok((slot, receipt)),
        Found::Dir(..) => receipt.close(Err(no_entry(else_))),
        _ => receipt.close(Err(contradiction())),
    }
}

fn no_entry(kind: ErrorKind) -> Error {
    match kind {
        ErrorKind::InvalidPath => Error::detailed(kind, Detail::NoEntry),
        kind => kind.into(),
    }
}

/// Makes sure that what is created at the slot will have this name and no other. Nothing is made there for it.
pub(crate) fn check_creatable(slot: &Slot) -> Result<()> {
    if !slot.exact || change::keeps_name(&slot.dir, &slot.name, slot.mounts).map_err(io)? {
        return Ok(());
    }
    Err(ErrorKind::Protected.into())
}
