//! Calls that wait for places, in the order of arrival: those that need the same in one line, so that only the first of each has to be looked at.
//!
//! May touch: nothing.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::runtime::Handle;

use super::{Needs, Turn};

/// What a thread does once it is its turn.
pub(super) type Job = Box<dyn FnOnce(&Turn) + Send>;

/// Empty once the call has begun, or was taken back.
type Place = Arc<Mutex<Option<Job>>>;

fn lock(place: &Place) -> MutexGuard<'_, Option<Job>> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call that waits, until this is dropped: what it holds goes with it.
pub(super) struct Waiting {
    place: Place,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let job = lock(&self.place).take();
        drop(job);
    }
}

struct Entry {
    number: u64,
    place: Place,
    runtime: Handle,
    patient_until: Option<Instant>,
}

impl Entry {
    fn is_gone(&self) -> bool {
        lock(&self.place).is_none()
    }
}

#[derive(Default)]
pub(super) struct Queue {
    /// How many there were.
    count: u64,
    /// By what they need; none is empty.
    lines: BTreeMap<Needs, VecDeque<Entry>>,
}

/// The first of a line.
pub(super) struct Head {
    number: u64,
    patient_until: Option<Instant>,
    pub(super) needs: Needs,
}

impl Head {
    /// Whether it can wait for a thread that is at work.
    pub(super) fn is_patient(&self, now: Instant) -> bool {
        self.patient_until.is_some_and(|until| now < until)
    }
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn push(&mut self, needs: Needs, job: Job, runtime: Handle, patient_until: Option<Instant>) -> Waiting {
        let place = Arc::new(Mutex::new(Some(job)));
        self.count += 1;
        let line = self.lines.entry(needs).or_default();
        // Of a root that hangs, nobody else clears the line.
        pass_the_gone(line);
        line.push_back(Entry { number: self.count, place: Arc::clone(&place), runtime, patient_until });
        Waiting { place }
    }

    /// The first of each line; the one that came first is popped first.
    pub(super) fn heads(&mut self) -> BinaryHeap<Head> {
        self.lines.retain(|_, line| {
            pass_the_gone(line);
            !line.is_empty()
        });
        self.lines.iter().filter_map(|(needs, line)| head(needs.clone(), line)).collect()
    }

    /// The first call of that line, unless it was taken back meanwhile.
    pub(super) fn next(&mut self, head: &Head) -> Option<(Job, Handle)> {
        let entry = self.lines.get_mut(&head.needs)?.pop_front()?;
        let job = lock(&entry.place).take()?;
        Some((job, entry.runtime))
    }

    /// The one that is the first of its line now.
    pub(super) fn head_behind(&mut self, before: Head) -> Option<Head> {
        let line = self.lines.get_mut(&before.needs)?;
        pass_the_gone(line);
        let next = head(before.needs.clone(), line);
        if next.is_none() {
            self.lines.remove(&before.needs);
        }
        next
    }
}

fn pass_the_gone(line: &mut VecDeque<Entry>) {
    while line.front().is_some_and(Entry::is_gone) {
        line.pop_front();
    }
}

fn head(needs: Needs, line: &VecDeque<Entry>) -> Option<Head> {
    line.front().map(|entry| Head { number: entry.number, patient_until: entry.patient_until, needs })
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        // The largest is popped first.
        other.number.cmp(&self.number)
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Head {}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.lines.iter().map(|(needs, line)| (needs, line.len()))).finish()
    }
}
