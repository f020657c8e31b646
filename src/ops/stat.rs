//! Metadata and existence.
//!
//! May touch: `permit`, `resolve`.

use crate::access::Operation;
use crate::error::{ErrorKind, Result};
use crate::metadata::Metadata;
use crate::ops::contradiction;
use crate::path::relative::RelPath;
use crate::permit::Permit;
use crate::resolve::{Found, Want, resolve};
use crate::root::Place;

pub(crate) fn metadata(place: Place, path: RelPath) -> Result<Metadata> {
    answer(Permit::issue(place, path, Operation::Metadata)?, Want::Metadata)
}

pub(crate) fn symlink_metadata(place: Place, path: RelPath) -> Result<Metadata> {
    answer(Permit::issue(place, path, Operation::SymlinkMetadata)?, Want::OwnMetadata)
}

pub(crate) fn exists(place: Place, path: RelPath) -> Result<bool> {
    match metadata(place, path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn answer(permit: Permit, want: Want) -> Result<Metadata> {
    let (found, receipt) = resolve(permit, want)?;
    receipt.close(match found {
        Found::Metadata(metadata) => Ok(metadata),
        _ => Err(contradiction()),
    })
}
