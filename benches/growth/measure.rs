//! Taking turns.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A median, and where the middle half of what was measured lies.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) middle: f64,
    pub(crate) high: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
        Self { low: at(1), middle: at(2), high: at(3) }
    }

    /// Of something that does not vary.
    pub(crate) fn exactly(value: f64) -> Self {
        Self { low: value, middle: value, high: value }
    }
}

/// Which time counts.
#[derive(Clone, Copy)]
pub(crate) enum Clock {
    /// What the processor spends on this thread, in the kernel too. A machine that has other work as well takes a long job away more often than a
    /// short one, and that is no growth.
    Thread,
    /// For what other processes do.
    Wall,
}

impl Clock {
    fn time(self, mut work: impl FnMut()) -> Duration {
        match self {
            Self::Wall => {
                let start = Instant::now();
                work();
                start.elapsed()
            }
            Self::Thread => {
                let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
                let start = now();
                work();
                now() - start
            }
        }
    }
}

/// What is measured.
pub(crate) type Job<'a> = Box<dyn FnMut() + 'a>;

/// How long a batch takes, roughly.
const BATCH_SECONDS: f64 = 400e-6;

/// What is done once in a turn.
const LONG_SECONDS: f64 = 10e-3;

/// The time of each job as a ratio to the median of the first.
pub(crate) fn in_turns(mut jobs: Vec<Job<'_>>, clock: Clock, rounds: usize) -> Vec<Spread> {
    let time = |job: &mut Job<'_>, count: u32| {
        // What others left in the processor's memory is not this job's.
        if count > 1 {
            job();
        }
        clock.time(|| (0..count).for_each(|_| job())).as_secs_f64() / f64::from(count)
    };
    let batch = |job: &mut Job<'_>| {
        let once = (0..3).map(|_| time(job, 1)).fold(f64::INFINITY, f64::min);
        let least = if once < LONG_SECONDS { 2.0 } else { 1.0 };
        (BATCH_SECONDS / once).clamp(least, 1000.0) as u32
    };
    let batches: Vec<u32> = jobs.iter_mut().map(batch).collect();
    let mut times: Vec<Vec<f64>> = jobs.iter().map(|_| Vec::with_capacity(rounds)).collect();
    for _ in 0..rounds {
        for ((job, count), times) in jobs.iter_mut().zip(&batches).zip(&mut times) {
            times.push(time(job, *count));
        }
    }
    let spreads: Vec<Spread> = times.into_iter().map(Spread::of).collect();
    let base = spreads[0].middle;
    spreads
        .iter()
        .map(|Spread { low, middle, high }| Spread { low: low / base, middle: middle / base, high: high / base })
        .collect()
}
