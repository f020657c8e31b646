//! What messages that are not done with may hold of the memory. Who wants more waits.
//!
//! May touch: nothing.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Shared by whoever takes and whoever gives back.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    taken: Mutex<usize>,
    freed: Condvar,
}

impl Budget {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Inner { most, taken: Mutex::new(0), freed: Condvar::new() }))
    }

    /// Waits until there is room for `size`. What is larger than all there is gets it alone.
    pub(super) fn take(&self, size: usize) -> Share {
        let taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |taken: &mut usize| *taken > 0 && size > self.0.most.saturating_sub(*taken);
        let mut taken = self.0.freed.wait_while(taken, is_full).unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_add(size);
        Share { budget: self.clone(), size }
    }
}

/// A part, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Budget,
    size: usize,
}

impl Drop for Share {
    fn drop(&mut self) {
        let inner = &self.budget.0;
        let mut taken = inner.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(self.size);
        drop(taken);
        inner.freed.notify_all();
    }
}
