//! Revocation, in every interleaving of two or three threads.
//!
//! Catches: an operation that looks before it is counted, a look that does not see what was taken back before, a wait that ends while somebody
//! is at work, a wait that nobody ends since the word came between its look and its sleep, and work that whoever has waited does not see.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use cap_roots_loom::{Lease, every_interleaving};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;

const IDLE: usize = 0;
const AT_WORK: usize = 1;
const DONE: usize = 2;

#[derive(Default)]
struct Shared {
    lease: Lease,
    /// `revoke()` has returned.
    revoked: AtomicBool,
    /// What each operation has done. Relaxed, so that only the lease can make it seen.
    work: [AtomicUsize; 2],
}

impl Shared {
    /// As permits do it: counted, judged, done, judged again.
    fn operation(&self, me: usize) {
        self.lease.begin();
        self.judged(me);
        self.lease.end();
    }

    fn judged(&self, me: usize) {
        let after = self.revoked.load(Ordering::Acquire);
        if self.lease.holds() {
            assert!(!after, "an operation that began after revoke() has returned");
            self.work[me].store(AT_WORK, Ordering::Relaxed);
            let after = self.revoked.load(Ordering::Acquire);
            assert!(!(after && self.lease.holds()), "a last check that was passed after revoke() has returned");
            self.work[me].store(DONE, Ordering::Relaxed);
        }
    }

    fn revoke(&self) {
        self.lease.revoke();
        self.revoked.store(true, Ordering::Release);
    }

    fn revoke_and_wait(&self) -> [usize; 2] {
        self.revoke();
        self.lease.wait_until_quiet();
        let seen = self.seen();
        assert!(!seen.contains(&AT_WORK), "somebody was inside still: {seen:?}");
        seen
    }

    fn seen(&self) -> [usize; 2] {
        [0, 1].map(|me| self.work[me].load(Ordering::Relaxed))
    }
}

/// Starts `work` in a thread of its own.
fn spawn<T: 'static>(shared: &Arc<Shared>, work: impl FnOnce(&Shared) -> T + 'static) -> thread::JoinHandle<T> {
    let shared = Arc::clone(shared);
    thread::spawn(move || work(&shared))
}

#[test]
fn nothing_begins_in_any_interleaving() {
    every_interleaving("two operations and a revocation", 3, 100, || {
        let shared = Arc::new(Shared::default());
        let others = [0, 1].map(|me| spawn(&shared, move |shared| shared.operation(me)));
        shared.revoke();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(!shared.lease.holds());
    });
}

#[test]
fn quiet_is_quiet_and_stays_so() {
    every_interleaving("two operations and a wait", 3, 100, || {
        let shared = Arc::new(Shared::default());
        let others = [0, 1].map(|me| spawn(&shared, move |shared| shared.operation(me)));
        let seen = shared.revoke_and_wait();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.seen(), seen, "somebody went to work after it was quiet");
        shared.lease.wait_until_quiet();
    });
}

#[test]
fn all_who_wait_are_woken() {
    every_interleaving("an operation and two waits", 3, 100, || {
        let shared = Arc::new(Shared::default());
        let waits = [(); 2].map(|()| spawn(&shared, Shared::revoke_and_wait));
        shared.operation(0);
        waits.into_iter().for_each(|wait| assert!([IDLE, DONE].contains(&wait.join().unwrap()[0])));
    });
}

/// Whoever has begun twice, as a copy inside an operation does, is waited for twice.
#[test]
fn one_after_the_other_is_counted() {
    every_interleaving("an operation after another and a wait", 3, 100, || {
        let shared = Arc::new(Shared::default());
        let other = spawn(&shared, |shared| {
            shared.lease.begin();
            shared.operation(0);
            shared.judged(1);
            shared.lease.end();
        });
        let seen = shared.revoke_and_wait();
        other.join().unwrap();
        assert_eq!(shared.seen(), seen);
    });
}

/// The model sees what it is there to see: whoever looks before being counted can be overlooked.
#[test]
#[should_panic(expected = "somebody")]
fn control_a_look_before_the_count_is_found() {
    every_interleaving("control", 3, 1, || {
        let shared = Arc::new(Shared::default());
        let other = spawn(&shared, |shared| {
            if shared.lease.holds() {
                shared.lease.begin();
                shared.work[0].store(AT_WORK, Ordering::Relaxed);
                shared.work[0].store(DONE, Ordering::Relaxed);
                shared.lease.end();
            }
        });
        let seen = shared.revoke_and_wait();
        other.join().unwrap();
        assert_eq!(shared.seen(), seen, "somebody went to work after it was quiet");
    });
}
