//! ONE-MOUTH: no text of any public type tells the root's host path. Catches: a derived `Debug` (`std::fs::File` prints its path), an
//! error that passes the system's text on.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fmt::Debug;

use cap_roots::{Access, ErrorKind, Operation, Roots};
use cap_roots_oracle::{poison, vocabulary};
use support::{Way, roots};

#[test]
fn debug_of_every_public_type() {
    let tree = poison::build().unwrap();
    let base = tree.base().to_str().unwrap().to_owned();
    let check = |value: &dyn Debug| {
        for text in [format!("{value:?}"), format!("{value:#?}")] {
            assert!(!text.contains(&base), "{text}");
        }
    };
    check(&Roots::builder().root(tree.root(), Access::Read));
    let roots = roots(&tree, Way::Fast);
    check(&roots);
    check(&roots.list().collect::<Vec<_>>());
    check(&roots.explain(tree.root().join("x").to_str().unwrap(), Operation::Open));
    check(&roots.open("file").unwrap());
    check(&roots.open_dir("a").unwrap());
    check(&roots.metadata("file").unwrap());
    check(&roots.read_dir(".").unwrap());
    roots.read_dir(".").unwrap().for_each(|entry| check(&entry.unwrap()));
    for name in ["abs-in", "abs-out", "out", "proc", "loop", "missing"] {
        check(&roots.read_link(name));
        check(&roots.open(name));
        check(&roots.open_dir(name));
    }
    let absent = Roots::builder().root(tree.root().join("absent"), Access::Read).open().unwrap();
    check(&absent);
    check(&absent.read("a"));
    check(&Roots::builder().root(tree.root().join("file"), Access::Read).open());
    check(&Roots::builder().root(tree.root(), Access::Read).named("again", tree.root(), Access::Read).open());
}

/// Every path of one and two components from the vocabulary, asked in every way: nothing from outside, no host path.
#[test]
fn nothing_of_the_outside_comes_back() {
    let tree = poison::build().unwrap();
    let before = poison::outside(&tree).unwrap();
    poison::no_wait(|| {
        for way in [Way::Fast, Way::Walk] {
            let roots = roots(&tree, way);
            for first in vocabulary::COMPONENTS {
                poison::probe(&roots, &tree, first);
                for second in vocabulary::COMPONENTS {
                    poison::probe(&roots, &tree, &format!("{first}/{second}"));
                }
            }
        }
    });
    assert_eq!(poison::outside(&tree).unwrap(), before);
}

#[test]
fn a_hidden_host_path_is_not_repeated_either() {
    let tree = poison::build().unwrap();
    let roots = Roots::builder().root(tree.root(), Access::Read).hide_host_paths(true).open().unwrap();
    let base = tree.base().to_str().unwrap();
    for path in ["missing", "out", "../outside", "a/canary/x"] {
        let error = roots.read(tree.root().join(path).to_str().unwrap()).unwrap_err();
        assert!(!error.to_string().contains(base), "{error}");
        let error = roots.read(path).unwrap_err();
        assert!(error.to_string().contains(path), "{error}");
    }
    assert_eq!(roots.read(format!("{base}/outside/secret")).unwrap_err().kind(), ErrorKind::OutsideRoots);
}
