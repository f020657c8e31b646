//! Opening and reading through cap-roots beside what people use without it: `cargo bench --bench read`.
//!
//! All candidates take turns in one run, so that a machine that is slow for a while is slow for all; what is printed are medians of
//! batches as ratios to `std::fs` on the absolute path. Absolute times of a shared machine mean nothing.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, reason = "a bench")]
#![allow(clippy::disallowed_methods, reason = "the ambient baseline")]

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cap_roots::{Access, Roots};
use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};

const DEPTHS: [usize; 3] = [1, 4, 8];
const BATCH: u32 = 100;
const ROUNDS: usize = 301;
const SIZE: usize = 4096;

type Job<'a> = (&'static str, Box<dyn FnMut() + 'a>);

type Ratios = Vec<(&'static str, f64)>;

/// What every open is compared with.
const BASE: &str = "std::fs on the absolute path";

fn main() {
    // `cargo test --benches` asks for nothing but that it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let path = |depth: usize| (1..depth).map(|level| format!("d{level}/")).collect::<String>() + "file";
    for depth in DEPTHS {
        let file = root.join(path(depth));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, vec![b'x'; SIZE]).unwrap();
    }
    let mut tables: BTreeMap<&str, Vec<(usize, Ratios)>> = BTreeMap::new();
    for depth in DEPTHS {
        tables.entry("open, type check, close").or_default().push((depth, measure(opens(&root, &path(depth)))));
        tables.entry("read 4 KiB whole").or_default().push((depth, measure(reads(&root, &path(depth)))));
    }
    for (title, columns) in tables {
        println!("\n| {title} | {} |", columns.iter().map(|(depth, _)| format!("depth {depth}")).collect::<Vec<_>>().join(" | "));
        println!("| --- |{}", " --- |".repeat(columns.len()));
        for (row, (name, _)) in columns[0].1.iter().enumerate() {
            let ratios: Vec<_> = columns.iter().map(|(_, rows)| format!("{:.2}", rows[row].1)).collect();
            println!("| {name} | {} |", ratios.join(" | "));
        }
    }
}

/// The median of each job's batches, as a ratio to that of [`BASE`].
fn measure(mut jobs: Vec<Job<'_>>) -> Ratios {
    let mut times: Vec<Vec<f64>> = jobs.iter().map(|_| Vec::with_capacity(ROUNDS)).collect();
    for _ in 0..ROUNDS {
        for ((_, job), times) in jobs.iter_mut().zip(&mut times) {
            let start = Instant::now();
            (0..BATCH).for_each(|_| job());
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let medians: Vec<f64> = times.iter_mut().map(median).collect();
    let base = medians[jobs.iter().position(|(name, _)| *name == BASE).unwrap()];
    jobs.iter().zip(medians).map(|((name, _), median)| (*name, median / base)).collect()
}

fn opens<'a>(root: &'a Path, path: &'a str) -> Vec<Job<'a>> {
    let absolute = root.join(path);
    let (roots, walk) = both(root);
    let dir = cap_dir(root);
    let held = fs::File::open(root).unwrap();
    let canonical = absolute.clone();
    vec![
        (BASE, Box::new(move || drop(black_box(fs::File::open(&absolute).unwrap())))),
        (
            "openat2 and fstat, by hand",
            Box::new(move || {
                let fd = openat2(&held, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH).unwrap();
                black_box(fstat(&fd).unwrap());
            }),
        ),
        ("cap-roots", Box::new(move || drop(black_box(roots.open(path).unwrap())))),
        ("cap-roots without openat2", Box::new(move || drop(black_box(walk.open(path).unwrap())))),
        ("cap-std, no type check", Box::new(move || drop(black_box(dir.open(path).unwrap())))),
        ("canonicalize, check, open (can be raced)", Box::new(move || drop(black_box(checked(root, &canonical))))),
    ]
}

fn reads<'a>(root: &'a Path, path: &'a str) -> Vec<Job<'a>> {
    let absolute = root.join(path);
    let (roots, walk) = both(root);
    let dir = cap_dir(root);
    let canonical = absolute.clone();
    vec![
        (BASE, Box::new(move || drop(black_box(fs::read(&absolute).unwrap())))),
        ("cap-roots", Box::new(move || drop(black_box(roots.read(path).unwrap())))),
        ("cap-roots without openat2", Box::new(move || drop(black_box(walk.read(path).unwrap())))),
        ("cap-std", Box::new(move || drop(black_box(dir.read(path).unwrap())))),
        (
            "canonicalize, check, read (can be raced)",
            Box::new(move || {
                let mut bytes = Vec::new();
                checked(root, &canonical).read_to_end(&mut bytes).unwrap();
                black_box(bytes);
            }),
        ),
    ]
}

fn both(root: &Path) -> (Roots, Roots) {
    let open = |builder: cap_roots::Builder| builder.root(root, Access::Read).open().unwrap();
    (open(Roots::builder()), open(Roots::builder().without_openat2()))
}

fn cap_dir(root: &Path) -> cap_std::fs::Dir {
    cap_std::fs::Dir::open_ambient_dir(root, cap_std::ambient_authority()).unwrap()
}

fn checked(root: &Path, path: &PathBuf) -> fs::File {
    let real = fs::canonicalize(path).unwrap();
    assert!(real.starts_with(root));
    fs::File::open(real).unwrap()
}
