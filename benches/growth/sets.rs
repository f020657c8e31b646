//! What a set costs that has many roots.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cap_roots::{Access, Hint, Roots};

use crate::Effort;
use crate::measure::{Clock, Job, Spread, in_turns};
use crate::plot::{Plot, Scale, lines};

const COUNTS: [usize; 7] = [1, 3, 10, 30, 100, 300, 1000];
const ROUNDS: usize = 151;
/// A set of 1,000 is opened once a round.
const OPENINGS: usize = 21;

pub(crate) fn roots(effort: Effort) -> Vec<Plot> {
    let folder = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(folder.path()).unwrap().join("all");
    let places: Vec<PathBuf> = (0..1000).map(|index| base.join(format!("project{index}"))).collect();
    for place in &places {
        fs::create_dir_all(place).unwrap();
        fs::write(place.join("file"), "text").unwrap();
    }
    vec![opens(&places, effort), whole(&base, &places, effort)]
}

fn set(around: Option<&Path>, roots: &[PathBuf], rules: usize) -> Roots {
    let builder = (0..rules).fold(Roots::builder(), |builder, index| builder.rule(format!("secret-{index}"), Access::None));
    let builder = around.into_iter().fold(builder, |builder, path| builder.root(path, Access::Read));
    roots.iter().fold(builder, |builder, path| builder.root(path, Access::Read)).open().unwrap()
}

/// Descriptors are bounded, so a set stays open for its own turns only.
fn opens(places: &[PathBuf], effort: Effort) -> Plot {
    let sets = COUNTS.map(|count| set(None, &places[..count], 0));
    let last = COUNTS
        .map(|count| (places[count - 1].join("file").to_str().unwrap().to_owned(), format!("root://project{}/file", count - 1)));
    let flag = Arc::new(AtomicBool::new(false));
    let mut jobs: Vec<Job<'_>> = Vec::new();
    jobs.extend(sets.iter().map(|set| Box::new(|| drop(black_box(set.open("file").unwrap()))) as Job<'_>));
    jobs.extend(
        sets.iter().zip(&last).map(|(set, (path, _))| Box::new(move || drop(black_box(set.open(path).unwrap()))) as Job<'_>),
    );
    jobs.extend(
        sets.iter().zip(&last).map(|(set, (_, uri))| Box::new(move || drop(black_box(set.open(uri).unwrap()))) as Job<'_>),
    );
    jobs.extend(sets.iter().map(|set| Box::new(|| drop(black_box(set.open("/nowhere/file").unwrap_err()))) as Job<'_>));
    jobs.extend(sets.iter().map(|set| Box::new(|| drop(black_box(set.until_cancelled(&flag)))) as Job<'_>));
    let names = [
        "in the first, relative path",
        "in the last, absolute path",
        "in the last, root:// URI",
        "outside of all, refused",
        "a set for one call (no open)",
    ];
    Plot {
        file: "open-roots.svg",
        title: "Open, type check, close: by roots of the set",
        across: ("roots (number)", Scale::Tens),
        up: ("processor time, relative to one root and a relative path", Scale::Tens),
        lines: lines(&names, &COUNTS, &in_turns(jobs, Clock::Thread, effort.rounds(ROUNDS))),
    }
}

/// What is done for the whole set: time for each root of it.
fn whole(base: &Path, places: &[PathBuf], effort: Effort) -> Plot {
    let hint = |path: &Path| Hint::parse(&format!("file://{}", path.display())).unwrap();
    let sets = COUNTS.map(|count| set(None, &places[..count], 0));
    let (above, each): (Hint, Vec<Hint>) = (hint(base), places.iter().take(128).map(|place| hint(place)).collect());
    let few = COUNTS.map(|count| count.min(each.len()));
    let mut jobs: Vec<Job<'_>> = Vec::new();
    jobs.extend(COUNTS.map(|count| Box::new(move || drop(black_box(set(None, &places[..count], 0)))) as Job<'_>));
    jobs.extend(COUNTS.map(|count| Box::new(move || drop(black_box(set(None, &places[..count], 100)))) as Job<'_>));
    jobs.extend(COUNTS.map(|count| Box::new(move || drop(black_box(set(Some(base), &places[..count], 20)))) as Job<'_>));
    jobs.extend(sets.iter().map(|set| Box::new(|| drop(black_box(set.narrow([&above])))) as Job<'_>));
    jobs.extend(sets.iter().zip(few).map(|(set, few)| {
        let each = &each[..few];
        Box::new(move || drop(black_box(set.narrow(each)))) as Job<'_>
    }));
    let names = [
        "opened side by side",
        "the same with 100 rules",
        "inside another root, 20 rules",
        "narrowed by a hint above all",
        "narrowed by 128 hints, for each hint",
    ];
    let mut spreads = in_turns(jobs, Clock::Thread, effort.rounds(OPENINGS));
    let parts = (0..4).flat_map(|_| COUNTS).chain(few);
    for (spread, parts) in spreads.iter_mut().zip(parts) {
        let each = |time: f64| time / parts as f64;
        *spread = Spread { low: each(spread.low), middle: each(spread.middle), high: each(spread.high) };
    }
    Plot {
        file: "set-roots.svg",
        title: "What is done for a whole set: by its roots",
        across: ("roots (number)", Scale::Tens),
        up: ("processor time for each root, relative to opening one", Scale::Tens),
        lines: lines(&names, &COUNTS, &spreads),
    }
}
