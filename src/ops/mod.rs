//! The operations, one a file. Each takes a permit, resolves it, and makes the result.
//!
//! May touch: `permit`, `resolve`, and the public result types. `Roots`, `Dir` and `Entry` are thin fronts of these.

pub(crate) mod list;
pub(crate) mod open;
pub(crate) mod read_link;
pub(crate) mod stat;

use crate::error::Error;

/// `resolve` gave something that this `Want` cannot lead to.
pub(crate) fn contradiction() -> Error {
    debug_assert!(false, "resolve answered another question");
    crate::error::ErrorKind::Io.into()
}
