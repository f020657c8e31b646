//! Taking turns.

use std::time::Instant;

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

/// What is measured.
pub(crate) type Job<'a> = Box<dyn FnMut() + 'a>;

/// How long a batch takes, roughly.
const BATCH_SECONDS: f64 = 400e-6;

/// The time of each job as a ratio to that of the first in the same round.
pub(crate) fn in_turns(mut jobs: Vec<Job<'_>>, rounds: usize) -> Vec<Spread> {
    let time = |job: &mut Job<'_>, count: u32| {
        let start = Instant::now();
        (0..count).for_each(|_| job());
        start.elapsed().as_secs_f64() / f64::from(count)
    };
    let batch = |job: &mut Job<'_>| {
        let once = (0..3).map(|_| time(job, 1)).fold(f64::INFINITY, f64::min);
        (BATCH_SECONDS / once).clamp(1.0, 1000.0) as u32
    };
    let batches: Vec<u32> = jobs.iter_mut().map(batch).collect();
    let mut ratios: Vec<Vec<f64>> = jobs.iter().map(|_| Vec::with_capacity(rounds)).collect();
    for _ in 0..rounds {
        let times: Vec<f64> = jobs.iter_mut().zip(&batches).map(|(job, count)| time(job, *count)).collect();
        for (ratios, time) in ratios.iter_mut().zip(&times) {
            ratios.push(time / times[0]);
        }
    }
    ratios.into_iter().map(Spread::of).collect()
}
