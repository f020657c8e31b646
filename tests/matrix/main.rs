//! Ways to write a name x kind of target x ways to write a link's text x operation, each beside the plain call on the same tree: results
//! and the whole tree afterwards are the same, except where a rule of `rules` says what comes instead; each of those is met.
//!
//! Catches: any operation that follows a link too many or too few, takes a slash or a dot as something else than the system does, answers
//! another code, changes more or less, or leaves something behind; and any deliberate difference that is none any more.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "the counts are the evidence")]
#![allow(clippy::disallowed_methods, reason = "the plain calls are the other side")]

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod names;
mod places;
mod rules;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Once;

use calls::{CALLS, Call};
use cap_roots::Roots;
use cap_roots_oracle::tree::Tree;
use places::Place;
use rules::{Cell, Expect, RULES, Rule, TEXTS, Written};
use support::writing::{fix_umask, picture};
use support::{Way, privilege, roots};

/// Every how manieth cell is done, of those that read and of those that change; `CAP_ROOTS_MATRIX=1` in the environment asks for all.
const EVERY: [usize; 2] = [11, 41];

/// The same tree twice.
struct Pair {
    ours: Tree,
    roots: Roots,
    plain: Tree,
    before: BTreeSet<String>,
}

impl Pair {
    fn new(place: &Place, way: Way) -> Self {
        let [ours, plain] = [(), ()].map(|()| Tree::build(&place.lines).unwrap());
        let (roots, before) = (roots(&ours, way), seen(&ours));
        Self { ours, roots, plain, before }
    }
}

fn seen(tree: &Tree) -> BTreeSet<String> {
    let base = tree.base().to_str().unwrap();
    picture(tree.base(), true).into_iter().map(|line| line.replace(base, "$BASE")).collect()
}

#[derive(Default)]
struct Count {
    cells: u64,
    same: u64,
    /// Cells that a rule is for, and those of them in which it makes a difference.
    rules: BTreeMap<&'static str, u64>,
    needed: BTreeMap<&'static str, u64>,
    wrong: BTreeMap<String, Vec<String>>,
}

/// Nothing here outlives the machine, so the syncs of what is written may be for nothing: in memory they are.
fn work_in_memory() {
    static ONCE: Once = Once::new();
    let memory = Path::new("/dev/shm");
    if memory.is_dir() && std::env::var_os("TMPDIR").is_none() {
        ONCE.call_once(|| tempfile::env::override_temp_dir(memory).unwrap());
    }
}

fn all(way: Way) {
    work_in_memory();
    fix_umask();
    privilege::drop_override();
    let every = std::env::var("CAP_ROOTS_MATRIX").map_or(EVERY, |asked| [asked.parse().unwrap(); 2]);
    let mut count = Count::default();
    let of_x: Vec<String> = names::OF_X.iter().map(|name| (*name).to_owned()).collect();
    let any: Vec<String> = of_x.iter().cloned().chain(names::others()).collect();
    for (p, place) in places::places(names::odd_files()).iter().enumerate() {
        let mut pair = None;
        for (n, name) in if p < 2 { &any } else { &of_x }.iter().enumerate() {
            // The other names are tried in two places only, and so a greater part of them.
            let part = if n < of_x.len() { 1 } else { 4 };
            for (c, call) in CALLS.iter().enumerate() {
                if (p * 31 + n * 7 + c * 3).is_multiple_of((every[usize::from(call.changes)] / part).max(1)) {
                    let at_work = pair.take().unwrap_or_else(|| Pair::new(place, way));
                    pair = one(at_work, place, name, call, &mut count);
                }
            }
        }
        // What only reads is looked after once.
        if let Some(pair) = pair {
            assert_eq!(seen(&pair.ours), pair.before, "{}: something that reads has changed it", place.label);
        }
    }
    tell(&count);
}

/// Gives the pair back if it is as it was.
fn one(pair: Pair, place: &Place, name: &str, call: &Call, count: &mut Count) -> Option<Pair> {
    let root = pair.plain.root();
    let (written, mut met) = rules::written(&pair.plain.expand(name), &root);
    let mut instead = None;
    let (plain, done) = match &written {
        Written::Refused(code) => ((*code).to_owned(), false),
        Written::Below(path) => {
            let cell = Cell::new(call, &root, path);
            let rule = RULES.iter().find_map(|rule| (rule.judge)(&cell).map(|expect| (rule.name, expect)));
            let (plain, done) = expected(&cell, rule.as_ref().map_or(&Expect::Plain, |(_, expect)| expect));
            if let Some((rule, _)) = rule {
                met.push(rule);
                *count.needed.entry(rule).or_default() += u64::from(done);
                instead = (!done && rule != rules::OUTSIDE).then_some((rule, cell));
            }
            (plain, done)
        }
    };
    let plain = plain.replace(pair.plain.base().to_str().unwrap(), "$BASE");

    let outcome = (call.ours)(&pair.roots, &pair.ours.expand(name));
    let ours = outcome.map_or_else(|error| error.code().to_owned(), |answer| format!("ok {answer}"));
    let ours = ours.replace(pair.ours.base().to_str().unwrap(), "$BASE");

    let mut wrong = if ours == plain { String::new() } else { format!("{plain:?}, but {ours:?}") };
    let mut as_it_was = true;
    if call.changes {
        let (is, plain_is) = (seen(&pair.ours), done.then(|| seen(&pair.plain)));
        let wanted = plain_is.as_ref().unwrap_or(&pair.before);
        if is != *wanted {
            let differs = |one: &BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>();
            wrong += &format!(" with {:?}, but {:?}", differs(wanted, &is), differs(&is, wanted));
        }
        as_it_was = is == pair.before && *wanted == pair.before;
    }
    count.cells += 1;
    count.same += u64::from(met.is_empty());
    for rule in &met {
        *count.rules.entry(rule).or_default() += 1;
    }
    if !wrong.is_empty() {
        let class = |text: &str| text.split(' ').next().unwrap().to_owned();
        let group = format!("{}: {met:?}: {} / {}", call.name, class(&plain), class(&ours));
        count.wrong.entry(group).or_default().push(format!("{name:?} in {}: {wrong}", place.label));
    }
    // Whether the rule is of any use: what is refused by it, the plain call would have answered otherwise.
    if let Some((rule, cell)) = instead {
        as_it_was &= !call.changes;
        if expected(&cell, &Expect::Plain).0 != plain {
            *count.needed.entry(rule).or_default() += 1;
        }
    }
    as_it_was.then_some(pair)
}

/// What is expected, and whether it was done on the plain tree.
fn expected(cell: &Cell<'_>, expect: &Expect) -> (String, bool) {
    let root = cell.root.to_str().unwrap();
    let path = format!("{root}/{}", cell.path);
    match expect {
        Expect::Refused(code) => return ((*code).to_owned(), false),
        Expect::RefusedAsLook(otherwise) => {
            let looked = std::fs::metadata(path).map_or_else(|error| code(&error), |_| *otherwise);
            return (looked.to_owned(), false);
        }
        Expect::PlainOnItsOwn(file) => {
            let beside = cell.root.with_file_name("being-copied");
            std::fs::copy(file, &beside).unwrap();
            std::fs::rename(beside, file).unwrap();
        }
        Expect::Plain => {}
    }
    let outcome = (cell.call.plain)(root, &path);
    (outcome.map_or_else(|error| code(&error).to_owned(), |answer| format!("ok {answer}")), true)
}

/// Our code for what the plain call answers.
fn code(error: &std::io::Error) -> &'static str {
    use rustix::io::Errno;
    match Errno::from_io_error(error).unwrap() {
        Errno::NOENT => "not-found",
        Errno::NOTDIR => "not-a-directory",
        Errno::ISDIR => "is-a-directory",
        Errno::EXIST => "already-exists",
        Errno::NOTEMPTY => "not-empty",
        Errno::LOOP => "symlink-loop",
        Errno::ACCESS | Errno::PERM => "os-denied",
        Errno::INVAL => "invalid-argument",
        Errno::NAMETOOLONG => "invalid-path",
        Errno::NXIO => "special-file",
        Errno::BUSY => "busy",
        _ => panic!("{error}"),
    }
}

fn tell(count: &Count) {
    println!("proof: matrix: {} cells by one way, {} exactly as the plain call", count.cells, count.same);
    let of = |counts: &BTreeMap<&str, u64>, name| counts.get(name).copied().unwrap_or_default();
    for (name, reason) in TEXTS {
        println!("  {:6} {name}: {reason}", of(&count.rules, name));
    }
    for Rule { name, reason, .. } in &RULES {
        println!("  {:6} {name}: {reason}; makes a difference in {}", of(&count.rules, name), of(&count.needed, name));
    }
    let wrong: usize = count.wrong.values().map(Vec::len).sum();
    for (group, cells) in &count.wrong {
        println!("{} x {group}", cells.len());
        for cell in cells.iter().take(6) {
            println!("    {cell}");
        }
    }
    assert_eq!(wrong, 0, "cells are not as expected");
    for (name, _) in TEXTS {
        assert!(of(&count.rules, name) > 0, "no cell is met by: {name}");
    }
    for Rule { name, .. } in &RULES {
        let counts = if *name == rules::OUTSIDE { &count.rules } else { &count.needed };
        assert!(of(counts, name) > 0, "makes no difference: {name}");
    }
}

#[test]
fn by_the_fast_way() {
    all(Way::Fast);
}

#[test]
fn by_the_guarded_walk() {
    all(Way::Walk);
}

#[test]
fn without_openat2() {
    privilege::hide_openat2();
    all(Way::Fast);
}
