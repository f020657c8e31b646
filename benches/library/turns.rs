//! Candidates that take turns: in each round every one does a batch, so that a machine that is slow for a while is slow for all. What is
//! told are ratios within a round: their median and, in brackets, their quartiles.

use std::time::Instant;

/// What is done again and again.
pub struct Job<'a> {
    pub name: &'static str,
    run: Box<dyn FnMut() + 'a>,
}

impl<'a> Job<'a> {
    pub fn new(name: &'static str, run: impl FnMut() + 'a) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// How often: rounds, and how many times in a row in each.
#[derive(Clone, Copy)]
pub struct Turns {
    pub rounds: usize,
    pub batch: u32,
}

/// The seconds of each candidate's batches, by rounds.
pub struct Times(Vec<(&'static str, Vec<f64>)>);

/// Median and quartiles.
#[derive(Clone, Copy)]
pub struct Spread([f64; 3]);

impl Turns {
    pub fn take(self, mut jobs: Vec<Job<'_>>) -> Times {
        let mut times: Vec<_> = jobs.iter().map(|job| (job.name, vec![0.0; self.rounds])).collect();
        let count = jobs.len();
        for round in 0..self.rounds {
            // Each time another one begins, so that none always comes behind the same.
            for index in (0..count).map(|index| (index + round) % count) {
                let job = &mut jobs[index].run;
                let start = Instant::now();
                (0..self.batch).for_each(|_| job());
                times[index].1[round] = start.elapsed().as_secs_f64();
            }
        }
        Times(times)
    }
}

impl Times {
    fn of(&self, name: &str) -> &[f64] {
        &self.0.iter().find(|(own, _)| *own == name).unwrap_or_else(|| panic!("no candidate {name}")).1
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }

    pub fn ratio(&self, name: &str, base: &str) -> Spread {
        Spread::of(self.of(name).iter().zip(self.of(base)).map(|(own, base)| own / base))
    }

    /// How much of `whole` is what `name` takes longer than `base`.
    pub fn share(&self, name: &str, base: &str, whole: &str) -> Spread {
        let rounds = self.of(name).iter().zip(self.of(base)).zip(self.of(whole));
        Spread::of(rounds.map(|((own, base), whole)| (own - base) / whole))
    }
}

impl Spread {
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        Self([values.len() / 2, values.len() / 4, values.len() * 3 / 4].map(|at| values[at]))
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [median, low, high] = self.0;
        write!(f, "{median:.2} ({low:.2}-{high:.2})")
    }
}

/// A table of Markdown: one column for each measurement, one row for each candidate, as ratios to `base`.
pub fn table(title: &str, base: &str, columns: &[(String, Times)]) {
    println!("\n| {title}, against {base} | {} |", columns.iter().map(|(name, _)| &**name).collect::<Vec<_>>().join(" | "));
    println!("| --- |{}", " --- |".repeat(columns.len()));
    let Some((_, first)) = columns.first() else { return };
    for name in first.names() {
        let cells: Vec<_> = columns.iter().map(|(_, times)| times.ratio(name, base).to_string()).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}
