//! How long a call may go on: until its deadline, or until its client withdraws it.
//!
//! Long loops ask between two steps. A step that blocks in the system (a network mount that hangs) cannot ask; the call is then
//! answered without it, and its thread comes back when the system lets it go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_roots::{ErrorKind, Result};

/// Shared by a call and by whoever may stop it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    stopped: Arc<AtomicBool>,
}

impl Work {
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// What the roots of this call look at, so that a deletion or a copy stops with it.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.stopped
    }

    /// An error once the call was stopped. Nobody reads it: whoever stopped the call answers for it.
    pub(crate) fn check(&self) -> Result<()> {
        if self.stopped.load(Ordering::SeqCst) { Err(ErrorKind::Cancelled.into()) } else { Ok(()) }
    }
}
