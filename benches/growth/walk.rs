//! Walks of trees, from 1,000 entries on.
//!
//! Files are further names of one, on a file system in memory where there is one: a million of them takes some hundred megabytes. Memory and
//! descriptors are counted in a process of its own for each walk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cap_roots::{Access, FileType, Roots};

use crate::Effort;
use crate::measure::{Clock, Job, Spread, in_turns};
use crate::plot::{Line, Plot, Scale, lines};

/// The first argument of a process that walks and tells.
pub(crate) const CHILD: &str = "walk-and-tell";

const COUNTS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
const ROUNDS: usize = 9;

/// Makes a tree of so many entries.
type Maker = fn(&Path, usize);
type Walker = fn(&Path, &mut dyn FnMut());
const WALKERS: [(&str, Walker); 2] = [("cap-roots", held), ("std::fs", plain)];

pub(crate) fn walk(effort: Effort) -> Vec<Plot> {
    let memory = PathBuf::from("/dev/shm");
    let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = tempfile::Builder::new().prefix("cap-roots-growth-").tempdir_in(place).unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    let counts = if effort.quick { &COUNTS[..2] } else { &COUNTS[..] };
    let shapes: [(&str, Maker); 2] = [("tree", tree), ("one directory", flat)];
    let made: Vec<(&str, Vec<PathBuf>)> = shapes
        .iter()
        .map(|(shape, make)| {
            let at = |count: &usize| {
                let at = base.join(format!("{shape} {count}"));
                make(&at, *count);
                at
            };
            (*shape, counts.iter().map(at).collect())
        })
        .collect();
    // The base comes first: a plain walk of the smallest tree.
    let each: Vec<(String, &PathBuf, Walker)> = [1, 0]
        .into_iter()
        .flat_map(|walker| made.iter().map(move |(shape, trees)| (WALKERS[walker], shape, trees)))
        .flat_map(|((who, walker), shape, trees)| trees.iter().map(move |tree| (format!("{who}, {shape}"), tree, walker)))
        .collect();
    let jobs = each.iter().map(|(_, tree, walker)| Box::new(move || walker(tree, &mut || ())) as Job<'_>).collect();
    let mut spreads = in_turns(jobs, Clock::Thread, effort.rounds(ROUNDS));
    for (spread, count) in spreads.iter_mut().zip(counts.iter().cycle()) {
        let each = |time: f64| time * counts[0] as f64 / *count as f64;
        *spread = Spread { low: each(spread.low), middle: each(spread.middle), high: each(spread.high) };
    }
    let mut names: Vec<&str> = each.iter().map(|(name, ..)| name.as_str()).collect();
    names.dedup();
    let told = |index: usize| -> Vec<Line> {
        let of = |who: &str, shape: &str, trees: &Vec<PathBuf>| {
            let points = counts.iter().zip(trees).map(|(count, tree)| (*count as f64, Spread::exactly(child(who, tree)[index])));
            (format!("{who}, {shape}"), points.collect())
        };
        WALKERS.iter().flat_map(|(who, _)| made.iter().map(move |(shape, trees)| of(who, shape, trees))).collect()
    };
    let across = ("entries (number)", Scale::Tens);
    vec![
        Plot {
            file: "walk-time.svg",
            title: "Walk, names and types: time for each entry",
            across,
            up: ("processor time, relative to std::fs and 1,000", Scale::Even),
            lines: lines(&names, counts, &spreads),
        },
        Plot {
            file: "walk-memory.svg",
            title: "Walk: memory",
            across,
            up: ("memory that it took at most (KiB)", Scale::Tens),
            lines: told(0),
        },
        Plot {
            file: "walk-descriptors.svg",
            title: "Walk: descriptors",
            across,
            up: ("descriptors open at most (number)", Scale::Even),
            lines: told(1),
        },
    ]
}

/// Directories of 90 files and ten directories each, until there are `count` entries.
fn tree(at: &Path, count: usize) {
    let mut left = count;
    let mut ahead = std::collections::VecDeque::from([at.to_owned()]);
    fs::create_dir(at).unwrap();
    let file = at.with_extension("file");
    fs::write(&file, "").unwrap();
    while left > 0 {
        let dir = ahead.pop_front().unwrap();
        for index in 0..left.min(100) {
            let path = dir.join(format!("entry{index}"));
            if index < 10 {
                fs::create_dir(&path).unwrap();
                ahead.push_back(path);
            } else {
                fs::hard_link(&file, path).unwrap();
            }
        }
        left = left.saturating_sub(100);
    }
}

fn flat(at: &Path, count: usize) {
    fs::create_dir(at).unwrap();
    let file = at.with_extension("file");
    fs::write(&file, "").unwrap();
    (0..count).for_each(|index| fs::hard_link(&file, at.join(format!("entry{index}"))).unwrap());
}

fn held(tree: &Path, each: &mut dyn FnMut()) {
    let roots = Roots::builder().root(tree, Access::List).open().unwrap();
    let mut dirs = 0;
    for entry in roots.walk(".").unwrap() {
        dirs += usize::from(entry.unwrap().file_type() == FileType::Dir);
        each();
    }
    std::hint::black_box(dirs);
}

/// As it is done by hand: a stack of directories, paths for each.
fn plain(tree: &Path, each: &mut dyn FnMut()) {
    let mut ahead = vec![tree.to_owned()];
    while let Some(dir) = ahead.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                ahead.push(path);
            } else {
                std::hint::black_box(path);
            }
            each();
        }
    }
}

/// Memory in KiB and descriptors, above what the process had before.
fn child(who: &str, tree: &Path) -> [f64; 2] {
    let told = Command::new(std::env::current_exe().unwrap()).arg(CHILD).arg(who).arg(tree).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told = String::from_utf8(told.stdout).unwrap();
    let mut numbers = told.split_whitespace().map(|number| number.parse().unwrap());
    [numbers.next().unwrap(), numbers.next().unwrap()]
}

pub(crate) fn as_child(who: &str, tree: &str) {
    let (_, walker) = WALKERS.iter().find(|(name, _)| *name == who).unwrap();
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    let memory = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim_end_matches("kB").trim().parse::<u64>().unwrap()
    };
    let before = (memory(), open());
    let (mut seen, mut most) = (0, 0);
    walker(Path::new(tree), &mut || {
        // Often enough to see every directory of a tree.
        if seen % 50 == 0 {
            most = most.max(open());
        }
        seen += 1;
    });
    println!("{} {}", memory() - before.0, most - before.1);
}
