//! Generated trees and paths against the model of POSIX resolution, by each way of resolving.
//!
//! Catches: any difference between the kernel's answer, the walk's and the documented one: a resolver that follows the last link, takes
//! `..` by text, counts links differently, forgets a slash, or answers another code.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use cap_roots::Access;
use cap_roots_oracle::agree;
use cap_roots_oracle::generate::{self, Picks};
use cap_roots_oracle::model::Model;
use cap_roots_oracle::tree::Tree;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::panic::AssertUnwindSafe;
use support::{Way, privilege, roots};

/// `PROPTEST_CASES` in the environment asks for another number.
const TREES: u32 = 300;
const OBJECTS: usize = 24;

fn against_the_model(way: Way) {
    // Closed directories stop nobody who may pass by permission bits.
    privilege::drop_override();
    let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
    let case = (bytes(OBJECTS * 8), proptest::collection::vec(bytes(10), 40));
    let given = Config { failure_persistence: None, ..Config::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { given.cases } else { TREES };
    let config = Config { cases, ..given };
    TestRunner::new(config)
        .run(&case, |(tree, paths)| {
            let lines = generate::tree(&mut Picks(&tree), OBJECTS);
            let tree = Tree::build(&lines).unwrap();
            let root = tree.root().to_str().unwrap().to_owned();
            let base = tree.base().to_str().unwrap();
            let model = Model::reading(&lines, base);
            let roots = roots(&tree, way);
            for picks in &paths {
                let (text, _) = generate::path(&mut Picks(picks), &root);
                let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| agree::check(&roots, &model, 0, base, &text)));
                prop_assert!(outcome.is_ok(), "{text:?} in {lines:#?}");
            }
            Ok(())
        })
        .unwrap();
}

/// A `Dir` reaches what its root reaches below it, the same bytes, and nothing else, as the model has it; and less access reaches less.
#[test]
fn narrowing_never_reaches_more() {
    privilege::drop_override();
    let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
    let case = (bytes(OBJECTS * 8), proptest::collection::vec((bytes(6), bytes(10)), 40));
    let config = Config { failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&case, |(tree, paths)| {
            let lines = generate::tree(&mut Picks(&tree), OBJECTS);
            let tree = Tree::build(&lines).unwrap();
            let root = tree.root().to_str().unwrap().to_owned();
            let base = tree.base().to_str().unwrap();
            for way in [Way::Fast, Way::Walk] {
                let roots = roots(&tree, way);
                let (mut model, mut views) = (Model::reading(&lines, base), 1);
                let names_only = support::builder(way).named("root", &root, Access::List).open().unwrap();
                for (dir, path) in &paths {
                    let (_, dir) = generate::path(&mut Picks(dir), &root);
                    let (_, path) = generate::path(&mut Picks(path), &root);
                    prop_assert!(names_only.read(&path).is_err());
                    let opened = roots.open_dir(&dir);
                    let code = opened.as_ref().err().map(cap_roots::Error::code);
                    prop_assert_eq!(code, model.hold(0, &dir).err(), "open_dir of {:?} in {:#?}", dir, &lines);
                    let Ok(narrow) = opened else { continue };
                    let check = || agree::check(&narrow, &model, views, base, &path);
                    let outcome = std::panic::catch_unwind(AssertUnwindSafe(check));
                    prop_assert!(outcome.is_ok(), "{dir:?} then {path:?} in {lines:#?}");
                    views += 1;
                    let Ok(bytes) = narrow.read(&path) else { continue };
                    let wide = roots.read(format!("{dir}/{path}"));
                    prop_assert!(wide.as_ref() == Ok(&bytes), "{dir:?} then {path:?}: {bytes:?}, but {wide:?} in {lines:#?}");
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn agrees_by_the_fast_way() {
    against_the_model(Way::Fast);
}

#[test]
fn agrees_by_the_guarded_walk() {
    against_the_model(Way::Walk);
}

#[test]
fn agrees_without_openat2() {
    privilege::hide_openat2();
    against_the_model(Way::Fast);
}
