//! What an open costs, counted: memory and system calls. How long it takes is the bench's matter.

#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]
#![allow(clippy::print_stdout, reason = "the counts are the evidence")]

use std::fs;
use std::process::Command;

use cap_roots::{Access, Roots};
use cap_roots_oracle::needs;

const PATH: &str = "d1/d2/d3/file";
/// The opens that are counted.
const OPENS: usize = 50;
/// Set for the process that is watched: the directory.
const WATCHED: &str = "CAP_ROOTS_WATCHED_OPENS";

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("d1/d2/d3")).unwrap();
    fs::write(folder.path().join(PATH), "text").unwrap();
    folder
}

fn roots(at: &std::path::Path, rules: usize) -> Roots {
    let rule = |number: usize| match number % 3 {
        0 => format!("**/secret{number}/**"),
        1 => format!("**/*.s{number}"),
        _ => format!("/d{number}/name"),
    };
    let builder = (0..rules).fold(Roots::builder(), |builder, number| builder.rule(rule(number), Access::None));
    builder.root(at, Access::Read).open().unwrap()
}

/// Catches: a path that is copied on its way, and rules that are judged with memory of their own for each name.
#[test]
fn an_open_allocates_once() {
    if !needs::openat2() {
        return;
    }
    let folder = tree();
    for rules in [0, 20] {
        let roots = roots(folder.path(), rules);
        roots.open(PATH).unwrap();
        let counted = allocation_counter::measure(|| drop(roots.open(PATH).unwrap()));
        assert_eq!(counted.count_total, 1, "the names of the path, with {rules} rules");
        let counted = allocation_counter::measure(|| drop(roots.read(PATH).unwrap()));
        assert_eq!(counted.count_total, 2, "and the content, with {rules} rules");
        println!("proof: with {rules} rules an open allocates once, and a read of a whole file twice");
    }
}

/// Catches: a call for each name, a look at the root before each open, a type that is looked at twice.
#[test]
fn an_open_is_three_system_calls() {
    if let Some(at) = std::env::var_os(WATCHED) {
        return watched(at.as_ref());
    }
    if !needs::strace() || !needs::openat2() {
        return;
    }
    let folder = tree();
    let trace = folder.path().join("trace");
    let itself = std::env::current_exe().unwrap();
    let strace = Command::new("strace")
        .args(["-f", "-e", "trace=%file,%desc", "-o"])
        .arg(&trace)
        .arg(itself)
        .args(["--exact", "an_open_is_three_system_calls", "--test-threads", "1"])
        .env(WATCHED, folder.path())
        .output();
    let output = strace.unwrap();
    let trace = fs::read_to_string(&trace).unwrap();
    let call = |line: &str| line.split_once(' ').and_then(|(_, call)| Some(call.trim_start().split_once('(')?.0.to_owned()));
    let is_mark = |line: &&str| line.contains("no such root");
    // Between the two marks.
    let between: Vec<&str> = trace.lines().skip_while(|line| !is_mark(line)).skip(1).take_while(|line| !is_mark(line)).collect();
    let mut calls: Vec<String> = between.iter().filter_map(|line| call(line)).collect();
    assert!(!calls.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    // For reading, a root is looked at every few milliseconds and not at each open.
    let all = calls.len();
    calls.retain(|call| call != "newfstatat" && call != "fstatat64");
    let looks = all - calls.len();
    // Asked by the standard library of a program with debug assertions, before it closes.
    calls.retain(|call| !cfg!(debug_assertions) || call != "fcntl");
    assert!(looks < OPENS, "the root was looked at {looks} times");
    let expected: Vec<&str> = ["openat2", "fstat", "close"].repeat(OPENS);
    assert_eq!(calls, expected);
    println!("proof: {OPENS} opens and closes in {} system calls, beside {looks} looks at the root", calls.len());
}

fn watched(at: &std::path::Path) {
    let roots = roots(at, 0);
    roots.open(PATH).unwrap();
    // Something that nothing else asks for.
    let mark = || assert!(fs::metadata("/no such root").is_err());
    mark();
    for _ in 0..OPENS {
        roots.open(PATH).unwrap();
    }
    mark();
}
