//! How long a call may go on: until its deadline, or until its client withdraws it.
//!
//! Long loops ask between two steps. A step that blocks in the system (a network mount that hangs) cannot ask; the call is then
//! answered without it, and its thread comes back when the system lets it go.
//!
//! May touch: nothing of the other rooms.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cap_roots::{ErrorKind, Result};

/// How many threads this machine, or this container's share of it, runs at once. Asked for once, before the fence: the share is told in files outside.
pub(crate) fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get))
}

/// Shared by a call and by whoever may stop it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    stopped: Arc<AtomicBool>,
    /// When what can be gone on with later ends by itself.
    late: Option<Instant>,
    /// How many entries were looked at.
    seen: Arc<AtomicU64>,
}

/// Most of what is left for the answer, once a walk has ended by itself.
const ANSWER: Duration = Duration::from_secs(2);

impl Work {
    /// For a call that is answered with `timeout` after `deadline`.
    pub(crate) fn until(deadline: Duration) -> Self {
        let late = Instant::now().checked_add(deadline.saturating_sub(ANSWER.min(deadline / 4)));
        Self { late, ..Self::default() }
    }

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

    /// Whether a walk should end with what it has, so that there is an answer to go on from.
    pub(crate) fn is_late(&self) -> bool {
        self.late.is_some_and(|late| Instant::now() >= late)
    }

    /// Tells how many entries were looked at so far.
    pub(crate) fn saw(&self, entries: u64) {
        self.seen.store(entries, Ordering::Relaxed);
    }

    /// How many those are.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }
}
