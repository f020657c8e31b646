//! Requests that have no answer yet, and what each of them holds.
//!
//! May touch: `turns`, the budget. A request holds its part of the memory until its answer is written, and the turn of its call
//! where the answer is more than that part counts for: for a client that does not read, no more is worked than it has room for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rmcp::model::RequestId;
use tokio::sync::watch;

use super::budget::Share;
use crate::turns::Turn;

/// What a request holds. In its extensions as well, so that it lasts as long as the longer of its call and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Slot(Arc<Held>);

#[derive(Debug)]
struct Held {
    _share: Share,
    turn: Mutex<Option<Turn>>,
}

impl Slot {
    pub(super) fn new(share: Share) -> Self {
        Self(Arc::new(Held { _share: share, turn: Mutex::default() }))
    }

    /// Keeps the turn until the answer is written.
    pub(crate) fn keep(&self, turn: Turn) {
        *lock(&self.0.turn) = Some(turn);
    }
}

#[derive(Debug)]
pub(super) struct Unanswered {
    slots: Mutex<HashMap<RequestId, Slot>>,
    /// Those that were withdrawn while their calls were at work: the protocol library tells answers apart by the id alone, so one of these calls
    /// would answer, and stop, another one that has its id. Between the end of a call and its answer a moment is left, for a client that uses an
    /// id twice, which the protocol forbids.
    withdrawn: Mutex<HashMap<RequestId, Weak<Held>>>,
    count: watch::Sender<usize>,
}

impl Unanswered {
    pub(super) fn new() -> Self {
        Self { slots: Mutex::default(), withdrawn: Mutex::default(), count: watch::Sender::new(0) }
    }

    /// A request that came in; false if one of its id is there, or its call still is.
    #[must_use]
    pub(super) fn begin(&self, id: &RequestId, slot: &Slot) -> bool {
        let mut slots = lock(&self.slots);
        if slots.contains_key(id) || lock(&self.withdrawn).get(id).is_some_and(is_held) {
            return false;
        }
        slots.insert(id.clone(), slot.clone());
        self.count.send_replace(slots.len());
        true
    }

    /// A request that gets no answer any more.
    pub(super) fn withdraw(&self, id: &RequestId) {
        let Some(Slot(held)) = self.end(id) else { return };
        let mut withdrawn = lock(&self.withdrawn);
        // Those that still are have their parts of the memory, so there are few.
        withdrawn.retain(|_, held| is_held(held));
        withdrawn.insert(id.clone(), Arc::downgrade(&held));
        drop(withdrawn);
    }

    /// A request that is answered now.
    pub(super) fn end(&self, id: &RequestId) -> Option<Slot> {
        let mut slots = lock(&self.slots);
        let slot = slots.remove(id);
        self.count.send_replace(slots.len());
        slot
    }

    /// Waits until there are none.
    pub(super) async fn none(&self) {
        // The sender is ours, so it cannot be gone.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

fn is_held(held: &Weak<Held>) -> bool {
    held.strong_count() > 0
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
