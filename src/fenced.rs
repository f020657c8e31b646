//! Whether the kernel has fenced this process in, for those who would open something new.
//!
//! May touch: nothing. Set once, by `landlock`; no fence is taken off again.

use std::sync::atomic::{AtomicBool, Ordering};

static FENCED: AtomicBool = AtomicBool::new(false);

/// Directories that were not held then cannot be used any more.
pub(crate) fn is() -> bool {
    FENCED.load(Ordering::SeqCst)
}

#[cfg(all(feature = "landlock", target_os = "linux"))]
pub(crate) fn set() {
    FENCED.store(true, Ordering::SeqCst);
}
