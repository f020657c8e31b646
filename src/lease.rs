//! The cell that takes authority back, and counts who is still using it.
//!
//! May touch: the error kinds. One word, shared by a set of roots, its clones, what was narrowed from it, and every directory and file
//! opened through them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::ErrorKind;

/// Set once the authority was taken back.
const REVOKED: usize = 1;
/// What one operation under way adds.
const ONE: usize = 2;

/// Shared by everything that one `Roots` handed out. On cache lines of its own: each operation writes to it, and what lies beside it is read by
/// each.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Lease {
    /// [`REVOKED`], and [`ONE`] for each operation under way: in one word, so that whoever enters cannot be overlooked.
    state: AtomicUsize,
    waiting: Mutex<()>,
    quiet: Condvar,
}

impl Lease {
    /// Takes the authority back. Whoever enters later is refused; whoever is inside is refused at the last check.
    pub(crate) fn revoke(&self) {
        self.state.fetch_or(REVOKED, Ordering::SeqCst);
    }

    /// Returns when nothing is under way any more. To be called after [`Lease::revoke`], and not by an operation itself.
    pub(crate) fn wait_until_quiet(&self) {
        let mut guard = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while self.state.load(Ordering::SeqCst) >= ONE {
            guard = self.quiet.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One load. `SeqCst` on both sides: whoever starts after `revoke()` has returned sees it (CHECK-AT-USE).
    pub(crate) fn check(&self) -> Result<(), ErrorKind> {
        if self.state.load(Ordering::SeqCst) & REVOKED != 0 { Err(ErrorKind::Revoked) } else { Ok(()) }
    }

    /// An operation begins. It is counted before it looks, so that a revocation between the two waits for it or is seen by it.
    pub(crate) fn begin(&self) {
        self.state.fetch_add(ONE, Ordering::SeqCst);
    }

    /// An operation ends.
    pub(crate) fn end(&self) {
        // The last one out wakes who waits; under the lock, so that it cannot fall between the look and the wait.
        if self.state.fetch_sub(ONE, Ordering::SeqCst) == ONE | REVOKED {
            let _guard = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            self.quiet.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    #[test]
    fn waiting_ends_with_the_last_one_out() {
        let lease = Lease::default();
        let inside = AtomicBool::new(true);
        lease.begin();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                lease.revoke();
                lease.wait_until_quiet();
                assert!(!inside.load(Ordering::SeqCst), "somebody was inside still");
            });
            while lease.check().is_ok() {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(20));
            inside.store(false, Ordering::SeqCst);
            lease.end();
            waiter.join().unwrap();
        });
        lease.wait_until_quiet();
    }
}
