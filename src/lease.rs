//! The cell that takes authority back.
//!
//! May touch: the error kinds. One atomic, shared by a set of roots, its clones, and every directory and file opened through them.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::ErrorKind;

/// Shared by everything that one `Roots` handed out.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    revoked: AtomicBool,
}

impl Lease {
    pub(crate) fn revoke(&self) {
        self.revoked.store(true, Ordering::SeqCst);
    }

    /// Asked before each operation is decided, again once it holds its result, and on each call of an opened file (CHECK-AT-USE).
    /// `SeqCst` on both sides: whoever starts after `revoke()` has returned sees it.
    pub(crate) fn check(&self) -> Result<(), ErrorKind> {
        if self.revoked.load(Ordering::SeqCst) { Err(ErrorKind::Revoked) } else { Ok(()) }
    }
}
