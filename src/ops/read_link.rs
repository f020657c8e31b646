//! The text of a link, where it may be shown.
//!
//! May touch: `permit`, `resolve`.

use std::path::PathBuf;

use crate::access::Operation;
use crate::error::Result;
use crate::ops::contradiction;
use crate::path::relative::RelPath;
use crate::permit::Permit;
use crate::resolve::{Found, Want, resolve};
use crate::root::Place;

pub(crate) fn read_link(place: Place, path: RelPath) -> Result<PathBuf> {
    let (found, receipt) = resolve(Permit::issue(place, path, Operation::ReadLink)?, Want::LinkText)?;
    receipt.close(match found {
        Found::Link { text, .. } => Ok(text),
        _ => Err(contradiction()),
    })
}
