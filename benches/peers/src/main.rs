//! Opening through cap-roots beside other libraries that confine paths: `cargo run --release --manifest-path benches/peers/Cargo.toml`.
//!
//! Each is used as its documentation shows, and made to refuse what is no regular file where it can.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::indexing_slicing, reason = "a bench")]
#![allow(unreachable_pub, dead_code, reason = "modules that are shared")]

use std::fs;
use std::hint::black_box;
use std::path::Path;

use path_jail::guard::{FdJail, OpenOptions};
use pathrs::flags::OpenFlags;
use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};
use strict_path::PathBoundary;

#[path = "../../library/setting.rs"]
mod setting;
#[path = "../../library/turns.rs"]
mod turns;

use setting::{DEPTHS, Setting, checked, free, path, ruled};
use turns::{Job, Times, Turns, table};

const OURS: &str = "cap-roots";
const RULED: &str = "cap-roots with 20 rules";
const GUARD: &str = "path_jail guard, regular files only";
const PATHRS: &str = "pathrs open_subpath, no type check";
const STRICT: &str = "strict-path (can be raced)";
const RACY: &str = "canonicalize, compare, open (can be raced)";

fn main() {
    let setting = Setting::new();
    let turns = Turns { rounds: 401, batch: 50 };
    let measured = |depth: &usize| (format!("depth {depth}"), turns.take(jobs(&setting.root, &path(*depth))));
    let columns: Vec<(String, Times)> = DEPTHS.iter().map(measured).collect();
    table("open, close", "std::fs on the absolute path", &columns);
    println!("\n| cap-roots, against | {} |", DEPTHS.map(|depth| format!("depth {depth}")).join(" | "));
    println!("| --- |{}", " --- |".repeat(DEPTHS.len()));
    for ours in [OURS, RULED] {
        for peer in [GUARD, PATHRS, STRICT, RACY] {
            let cells: Vec<_> = columns.iter().map(|(_, times)| times.ratio(ours, peer).to_string()).collect();
            println!("| {}{peer} | {} |", if ours == RULED { "with 20 rules: " } else { "" }, cells.join(" | "));
        }
    }
}

fn jobs<'a>(root: &'a Path, path: &'a str) -> Vec<Job<'a>> {
    let absolute = root.join(path);
    let canonical = absolute.clone();
    let (free, ruled) = (free(root), ruled(root));
    let held = fs::File::open(root).unwrap();
    let jail = FdJail::new(root).unwrap();
    let inner = pathrs::Root::open(root).unwrap();
    let strict: PathBoundary<()> = PathBoundary::try_new(root).unwrap();
    vec![
        Job::new("std::fs on the absolute path", move || drop(black_box(fs::File::open(&absolute).unwrap()))),
        Job::new("openat2 and fstat by hand", move || {
            let fd = openat2(&held, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH).unwrap();
            black_box(fstat(&fd).unwrap());
            drop(black_box(fd));
        }),
        Job::new(OURS, move || drop(black_box(free.open(path).unwrap()))),
        Job::new(RULED, move || drop(black_box(ruled.open(path).unwrap()))),
        Job::new(GUARD, move || {
            drop(black_box(jail.open(path, OpenOptions::new().read(true).require_regular_file(true)).unwrap()));
        }),
        Job::new(PATHRS, move || drop(black_box(inner.open_subpath(path, OpenFlags::O_RDONLY).unwrap()))),
        Job::new(STRICT, move || drop(black_box(strict.strict_join(path).unwrap().open_file().unwrap()))),
        Job::new(RACY, move || drop(black_box(checked(root, &canonical)))),
    ]
}
