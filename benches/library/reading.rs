//! Opening a file, and reading one whole.

use std::fs;
use std::hint::black_box;
use std::io::Read;
use std::os::fd::OwnedFd;

use cap_roots::Roots;
use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};

use crate::filter;
use crate::setting::{DEPTHS, Setting, cap_dir, checked, free, of, path, ruled};
use crate::turns::{Job, Times, Turns, table};

const STD: &str = "std::fs on the absolute path";
const RAW: &str = "openat2 and fstat by hand";
const OURS: &str = "cap-roots";
const RULED: &str = "cap-roots with 20 rules";
const WALK: &str = "cap-roots without openat2";
const CAP_STD: &str = "cap-std, no type check";
const RACY: &str = "canonicalize, compare, open (can be raced)";

const TURNS: Turns = Turns { rounds: 601, batch: 50 };

pub fn with_openat2(wanted: &dyn Fn(&str) -> bool) {
    let setting = Setting::new();
    let title = "open, type check, close";
    if wanted(title) {
        let columns = columns(|depth| TURNS.take(opens(&setting, &path(depth))));
        table(title, RAW, &columns);
        table(title, STD, &columns);
        println!("\n| what 20 rules add, as a share of the open | {} |", depths());
        println!("| --- | --- | --- | --- |");
        let shares: Vec<_> = columns.iter().map(|(_, times)| times.share(RULED, OURS, RULED).to_string()).collect();
        println!("| {RULED} | {} |", shares.join(" | "));
    }
    let title = "read 4 KiB whole";
    if wanted(title) {
        table(title, STD, &columns(|depth| TURNS.take(reads(&setting, &path(depth)))));
    }
}

/// Where the kernel has no openat2: every candidate goes name by name.
pub fn without_openat2(wanted: &dyn Fn(&str) -> bool) {
    let (title, base) = ("open without openat2", "cap-std, no type check");
    if !wanted(title) {
        return;
    }
    if let Err(why) = filter::deny("openat2=ENOSYS") {
        println!("\n{title}: not measured, {why}");
        return;
    }
    let setting = Setting::new();
    let root = &setting.root;
    let jobs = |path: &str| {
        let (path, absolute) = (path.to_owned(), root.join(path));
        let (free, ruled, dir) = (free(root), ruled(root), cap_dir(root));
        let at = [(); 3].map(|()| path.clone());
        let [one, other, third] = at;
        vec![
            Job::new(STD, move || drop(black_box(fs::File::open(&absolute).unwrap()))),
            Job::new(CAP_STD, move || drop(black_box(dir.open(&one).unwrap()))),
            Job::new(OURS, move || drop(black_box(free.open(&*other).unwrap()))),
            Job::new(RULED, move || drop(black_box(ruled.open(&*third).unwrap()))),
        ]
    };
    table(title, base, &columns(|depth| TURNS.take(jobs(&path(depth)))));
}

fn columns(measure: impl Fn(usize) -> Times) -> Vec<(String, Times)> {
    DEPTHS.iter().map(|depth| (format!("depth {depth}"), measure(*depth))).collect()
}

fn depths() -> String {
    DEPTHS.map(|depth| format!("depth {depth}")).join(" | ")
}

fn opens<'a>(setting: &'a Setting, path: &'a str) -> Vec<Job<'a>> {
    let root = &*setting.root;
    let absolute = root.join(path);
    let (free, ruled, walk) = (free(root), ruled(root), of(root, Roots::builder().without_openat2()));
    let dir = cap_dir(root);
    let held = fs::File::open(root).unwrap();
    let canonical = absolute.clone();
    vec![
        Job::new(STD, move || drop(black_box(fs::File::open(&absolute).unwrap()))),
        Job::new(RAW, move || drop(black_box(by_hand(&held, path)))),
        Job::new(OURS, move || drop(black_box(free.open(path).unwrap()))),
        Job::new(RULED, move || drop(black_box(ruled.open(path).unwrap()))),
        Job::new(WALK, move || drop(black_box(walk.open(path).unwrap()))),
        Job::new(CAP_STD, move || drop(black_box(dir.open(path).unwrap()))),
        Job::new(RACY, move || drop(black_box(checked(root, &canonical)))),
    ]
}

/// The kernel's confined open and the look at what was opened: what a safe open costs at least.
pub fn by_hand(held: &fs::File, path: &str) -> OwnedFd {
    let fd = openat2(held, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH).unwrap();
    black_box(fstat(&fd).unwrap());
    fd
}

fn reads<'a>(setting: &'a Setting, path: &'a str) -> Vec<Job<'a>> {
    let root = &*setting.root;
    let absolute = root.join(path);
    let (free, ruled, walk) = (free(root), ruled(root), of(root, Roots::builder().without_openat2()));
    let dir = cap_dir(root);
    let canonical = absolute.clone();
    vec![
        Job::new(STD, move || drop(black_box(fs::read(&absolute).unwrap()))),
        Job::new(OURS, move || drop(black_box(free.read(path).unwrap()))),
        Job::new(RULED, move || drop(black_box(ruled.read(path).unwrap()))),
        Job::new(WALK, move || drop(black_box(walk.read(path).unwrap()))),
        Job::new("cap-std", move || drop(black_box(dir.read(path).unwrap()))),
        Job::new(RACY, move || {
            let mut bytes = Vec::new();
            checked(root, &canonical).read_to_end(&mut bytes).unwrap();
            black_box(bytes);
        }),
    ]
}
