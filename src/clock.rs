//! The clock that deadlines use: it counts while the machine sleeps, and nobody can set it back. And a cheap one, for what was seen a moment ago.
//!
//! May touch: the system's clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A moment on that clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline(Reading);

impl Deadline {
    /// `None`: so far off that it never comes.
    pub(crate) fn after(time: Duration) -> Option<Self> {
        Reading::now().later(time).map(Self)
    }

    pub(crate) fn has_passed(self) -> bool {
        Reading::now().has_reached(self.0)
    }

    pub(crate) fn time_left(self) -> Duration {
        self.0.since(Reading::now())
    }

    /// The earlier of two: authority only shrinks.
    pub(crate) fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

/// `CLOCK_BOOTTIME` (clock_gettime(2)): monotonic, and goes on during suspend.
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reading(Duration);

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
impl Reading {
    fn now() -> Self {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Self(Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0)))
    }

    fn later(self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Self)
    }

    fn has_reached(self, deadline: Self) -> bool {
        self >= deadline
    }

    fn since(self, now: Self) -> Duration {
        self.0.saturating_sub(now.0)
    }
}

/// Elsewhere two clocks, and whichever gets there first: the monotonic one may stand still during suspend, the other may be set.
#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reading(std::time::Instant, std::time::SystemTime);

#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
impl Reading {
    fn now() -> Self {
        Self(std::time::Instant::now(), std::time::SystemTime::now())
    }

    fn later(self, time: Duration) -> Option<Self> {
        Some(Self(self.0.checked_add(time)?, self.1.checked_add(time)?))
    }

    fn has_reached(self, deadline: Self) -> bool {
        self.0 >= deadline.0 || self.1 >= deadline.1
    }

    fn since(self, now: Self) -> Duration {
        let by_the_other = self.1.duration_since(now.1).unwrap_or_default();
        self.0.saturating_duration_since(now.0).min(by_the_other)
    }
}

/// When something was last seen to be so, for those whom it is enough that it was so a moment ago.
#[derive(Debug, Default)]
pub(crate) struct LastSeen(AtomicU64);

/// What counts as a moment ago, in nanoseconds. The clock's own steps come to it: 1 to 10 ms.
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
const MOMENT: u64 = 5_000_000;

impl LastSeen {
    /// Looks, and remembers if it is so. If it is not, nobody relies on an earlier look any more.
    pub(crate) fn look(&self, is_so: impl FnOnce() -> bool) -> bool {
        // The clock before the look: what comes between the two makes it older, not younger.
        let now = coarse_now();
        let is_so = is_so();
        self.0.store(now.filter(|_| is_so).unwrap_or(0), Ordering::Relaxed);
        is_so
    }

    /// As [`LastSeen::look`], unless it was seen a moment ago.
    pub(crate) fn look_if_old(&self, is_so: impl FnOnce() -> bool) -> bool {
        self.is_recent() || self.look(is_so)
    }

    #[cfg(all(target_os = "linux", not(cap_roots_portable)))]
    fn is_recent(&self) -> bool {
        let seen = self.0.load(Ordering::Relaxed);
        seen != 0 && coarse_now().is_some_and(|now| now.saturating_sub(seen) < MOMENT)
    }

    #[cfg(any(not(target_os = "linux"), cap_roots_portable))]
    fn is_recent(&self) -> bool {
        false
    }
}

/// `CLOCK_MONOTONIC_COARSE` (clock_gettime(2)) in nanoseconds: read without a system call.
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
fn coarse_now() -> Option<u64> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    u64::try_from(now.tv_sec).ok()?.checked_mul(1_000_000_000)?.checked_add(u64::try_from(now.tv_nsec).ok()?)
}

/// No clock that is cheap enough is known there.
#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
fn coarse_now() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_has_passed_and_later_has_not() {
        assert!(Deadline::after(Duration::ZERO).unwrap().has_passed());
        let (hour, day) = (Deadline::after(Duration::from_secs(3600)), Deadline::after(Duration::from_secs(86400)));
        assert!(!hour.unwrap().has_passed());
        assert_eq!(Deadline::earlier(day, hour), hour);
        assert_eq!(Deadline::earlier(None, hour), hour);
        assert_eq!(Deadline::after(Duration::MAX), None);
        assert!((3590..=3600).contains(&hour.unwrap().time_left().as_secs()));
        assert_eq!(Deadline::after(Duration::ZERO).unwrap().time_left(), Duration::ZERO);
    }

    /// Catches: a look that is relied on for ever, one that went badly and is, and an earlier one that outlives it.
    #[test]
    fn what_was_seen_counts_for_a_moment() {
        use std::cell::Cell;
        let (seen, looks) = (LastSeen::default(), Cell::new(0));
        let look = |is_so| {
            move |looks: &Cell<u32>| {
                looks.set(looks.get() + 1);
                is_so
            }
        };
        assert!(!seen.look_if_old(|| look(false)(&looks)));
        assert!(!seen.look_if_old(|| look(false)(&looks)));
        assert_eq!(looks.get(), 2, "what was not so is looked at again");
        assert!(seen.look(|| look(true)(&looks)));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!seen.look_if_old(|| look(false)(&looks)), "after a moment it is looked at again");
        assert!(seen.look(|| look(true)(&looks)));
        assert!(!seen.look(|| look(false)(&looks)));
        assert!(!seen.look_if_old(|| look(false)(&looks)), "a later look went badly");
        assert_eq!(looks.get(), 7);
    }
}
