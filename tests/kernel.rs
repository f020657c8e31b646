//! The walk beside the kernel: in generated trees, and in the poison tree, what the walk opens is the object that the kernel's own confined
//! open finds; and all ways of resolving do the same to the same tree.
//!
//! Catches: a walk that follows a last link too many or too few, takes `..` by text, forgets a slash, or stops at another link than the
//! kernel; an operation that does something else where there is no `openat2`.

#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::panic::AssertUnwindSafe;

use cap_roots::Roots;
use cap_roots_oracle::generate::{self, Picks};
use cap_roots_oracle::kernel::{self, Kernel};
use cap_roots_oracle::tree::Tree;
use cap_roots_oracle::{differential, read, without};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use support::{Way, privilege, roots};

/// `PROPTEST_CASES` in the environment asks for another number.
fn config(cases: u32) -> Config {
    let given = Config { failure_persistence: None, ..Config::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { given.cases } else { cases };
    Config { cases, max_shrink_iters: 1_500, ..given }
}

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..most)
}

fn beside_the_kernel(way: Way, ask: fn(Box<dyn FnOnce() + Send>)) {
    const OBJECTS: usize = 24;
    privilege::drop_override();
    let case = (bytes(OBJECTS * 8), proptest::collection::vec(bytes(8), 40));
    TestRunner::new(config(150))
        .run(&case, |(tree, paths)| {
            let lines = generate::tree(&mut Picks(&tree), OBJECTS);
            let tree = Tree::build(&lines).unwrap();
            let kernel = Kernel::of(&tree.root(), kernel::has_absolute_links(&lines)).unwrap();
            let root = tree.root().to_str().unwrap().to_owned();
            let roots: Roots = roots(&tree, way);
            let paths = paths.iter().map(|picks| generate::path(&mut Picks(picks), &root));
            let asked: Vec<_> = paths.map(|(text, path)| (kernel.find(&path), text)).collect();
            let check = move || asked.iter().for_each(|(said, text)| kernel::check(&roots, said, text));
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| ask(Box::new(check))));
            prop_assert!(outcome.is_ok(), "in {lines:#?}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_guarded_walk_opens_what_the_kernel_finds() {
    beside_the_kernel(Way::Walk, |check| check());
}

#[test]
fn without_openat2_it_is_the_same() {
    beside_the_kernel(Way::Fast, without::openat2);
}

/// Every tree by each way, with every path of one pick and some of two. The first of the trees is the poison tree.
#[test]
fn short_paths_by_each_way() {
    for first in 0..48 {
        for second in 0..=255 {
            read::check(&[first, second]);
            if second % 4 == 0 {
                read::check(&[first, second, second.wrapping_mul(7).wrapping_add(first)]);
            }
        }
    }
}

#[test]
fn the_ways_do_the_same() {
    let mut runner = TestRunner::new(config(600));
    let outcome = runner.run(&bytes(90), |bytes| {
        let outcome = std::panic::catch_unwind(|| differential::check(&bytes));
        prop_assert!(outcome.is_ok());
        Ok(())
    });
    outcome.unwrap();
}
