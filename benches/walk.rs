//! Going through 200,000 entries by cap-roots beside what people use without it: `cargo bench --bench walk`,
//! with a part of a title behind `--` for one tree alone.
//!
//! All candidates take turns in one run, on the same tree, once it is in the kernel's memory; what is printed are ratios of each turn to the same turn
//! of [`BASE`]: their median, and the quarter and three quarters of them. Absolute times of a shared machine mean nothing.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, reason = "a bench")]
#![allow(clippy::disallowed_methods, reason = "the ambient baseline")]

use std::ffi::OsStr;
use std::fs;
use std::hint::black_box;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use cap_roots::{Access, FileType, Roots};

const ROUNDS: usize = 11;
/// Directories in directories in directories, and files in each of the last: as sources lie.
const NESTED: [usize; 4] = [10, 10, 100, 19];
/// Few directories with many files: as pictures and mails lie.
const WIDE: [usize; 4] = [10, 20, 1, 1000];

/// What every walk is compared with.
const BASE: &str = "walkdir";

/// How many entries, how many of them directories, and how many bytes their names have: so that nobody leaves anything out.
type Sum = (usize, usize, usize);

type Job<'a> = (&'static str, Box<dyn Fn() -> Sum + 'a>);

fn main() {
    // `cargo test --benches` asks for nothing but that it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    for (place, below) in [("in memory (tmpfs)", "/dev/shm".into()), ("on disk, in the cache", std::env::temp_dir())] {
        for (shape, counts) in [("nested", NESTED), ("wide", WIDE)] {
            let title = format!("{shape}, {place}");
            if !title.contains(&only) {
                continue;
            }
            let folder = tempfile::Builder::new().prefix("cap-roots-walk-").tempdir_in(&below).unwrap();
            let root = fs::canonicalize(folder.path()).unwrap();
            plant(&root, counts);
            measure(&title, jobs(&root));
        }
    }
}

fn plant(root: &Path, [first, second, third, files]: [usize; 4]) {
    for number in 0..first * second * third {
        let (a, b, c) = (number / (second * third), number / third % second, number % third);
        let dir = root.join(format!("package-{a}/module_{b}/{c:03}part"));
        fs::create_dir_all(&dir).unwrap();
        (0..files).for_each(|file| drop(fs::File::create(dir.join(format!("some_file_{file:04}.rs"))).unwrap()));
    }
}

fn measure(title: &str, jobs: Vec<Job<'_>>) {
    let mut times: Vec<Vec<f64>> = jobs.iter().map(|_| Vec::with_capacity(ROUNDS)).collect();
    let expected = jobs[0].1();
    for _ in 0..ROUNDS {
        for ((name, job), times) in jobs.iter().zip(&mut times) {
            let start = Instant::now();
            let sum = job();
            times.push(start.elapsed().as_secs_f64());
            assert_eq!(sum, expected, "{name}");
        }
    }
    let base = times[jobs.iter().position(|(name, _)| *name == BASE).unwrap()].clone();
    println!("\n| {title}: {} entries | median | from | to |\n| --- | --- | --- | --- |", expected.0);
    for ((name, _), times) in jobs.iter().zip(times) {
        let mut ratios: Vec<f64> = times.iter().zip(&base).map(|(time, base)| time / base).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |quarter: usize| ratios[ratios.len() * quarter / 4];
        println!("| {name} | {:.2} | {:.2} | {:.2} |", at(2), at(1), at(3));
    }
}

fn add(sum: &mut Sum, name: &OsStr, is_dir: bool) {
    *sum = (sum.0 + 1, sum.1 + usize::from(is_dir), sum.2 + black_box(name).as_bytes().len());
}

fn jobs(root: &Path) -> Vec<Job<'_>> {
    let open = |builder: cap_roots::Builder| builder.root(root, Access::Read).open().unwrap();
    let free = open(Roots::builder());
    // None of them fits a name of the tree, and each has to be looked at.
    let names = ["env", "git", "ssh", "key", "pem", "secret", "token", "npmrc", "netrc", "htpasswd"];
    let rules = names.iter().flat_map(|name| [format!("**/.{name}"), format!("*.{name}")]);
    let ruled = open(rules.fold(Roots::builder(), |builder, rule| builder.rule(&rule, Access::None)));
    let shared = free.clone();
    let ours = |roots: Roots| {
        move || {
            let mut sum = Sum::default();
            for entry in roots.walk(".").unwrap() {
                let entry = entry.unwrap();
                add(&mut sum, entry.name(), entry.file_type() == FileType::Dir);
            }
            sum
        }
    };
    vec![
        (BASE, Box::new(move || by_walkdir(walkdir::WalkDir::new(root)))),
        ("walkdir, sorted by name", Box::new(move || by_walkdir(walkdir::WalkDir::new(root).sort_by_file_name()))),
        ("cap-roots", Box::new(ours(free))),
        ("cap-roots, 20 rules", Box::new(ours(ruled))),
        ("cap-roots, 2 threads, a walk for each directory at the top", Box::new(move || by_walks(&shared, 2))),
        ("ignore, 2 threads", Box::new(move || by_ignore(root, 2))),
    ]
}

/// Walks that go their ways on several threads, each judged as one would be.
fn by_walks(roots: &Roots, threads: usize) -> Sum {
    let all = Mutex::new(Sum::default());
    let top = Mutex::new(roots.read_dir(".").unwrap());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut share = Share(Sum::default(), &all);
                loop {
                    let Some(entry) = top.lock().unwrap().next() else { return };
                    let entry = entry.unwrap();
                    share.add(entry.name(), entry.file_type() == FileType::Dir);
                    for entry in entry.open_dir().unwrap().walk(".").unwrap() {
                        let entry = entry.unwrap();
                        share.add(entry.name(), entry.file_type() == FileType::Dir);
                    }
                }
            });
        }
    });
    all.into_inner().unwrap()
}

fn by_walkdir(walk: walkdir::WalkDir) -> Sum {
    let mut sum = Sum::default();
    for entry in walk.min_depth(1) {
        let entry = entry.unwrap();
        add(&mut sum, entry.file_name(), entry.file_type().is_dir());
    }
    sum
}

/// What one thread counts; added to what all count when it ends.
struct Share<'a>(Sum, &'a Mutex<Sum>);

impl Share<'_> {
    fn add(&mut self, name: &OsStr, is_dir: bool) {
        add(&mut self.0, name, is_dir);
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut all = self.1.lock().unwrap();
        *all = (all.0 + self.0.0, all.1 + self.0.1, all.2 + self.0.2);
    }
}

fn by_ignore(root: &Path, threads: usize) -> Sum {
    let all = Mutex::new(Sum::default());
    ignore::WalkBuilder::new(root).standard_filters(false).threads(threads).build_parallel().run(|| {
        let mut share = Share(Sum::default(), &all);
        Box::new(move |entry| {
            let entry = entry.unwrap();
            if entry.depth() > 0 {
                share.add(entry.file_name(), entry.file_type().unwrap().is_dir());
            }
            ignore::WalkState::Continue
        })
    });
    all.into_inner().unwrap()
}
