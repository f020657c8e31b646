//! The clock that deadlines use: it counts while the machine sleeps, and nobody can set it back.
//!
//! May touch: the system's clock.

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
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reading(Duration);

#[cfg(target_os = "linux")]
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
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reading(std::time::Instant, std::time::SystemTime);

#[cfg(not(target_os = "linux"))]
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
}
