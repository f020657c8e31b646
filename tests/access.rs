//! Which access each operation needs, at each of its ends, and that narrowing only takes away.
//!
//! Catches: an operation that asks for too little (or for the other end's access), one that is forgotten in the table of needs, a refusal that
//! has an effect, a narrowed set that allows what the set it came from refuses, a handle that outlives its grant.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use cap_roots::{Access, Dir, Error, Grant, Operation, Roots};
use cap_roots_oracle::tree::Tree;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use support::writing::picture;
use support::{code, tree};

type Outcome = Result<(), Error>;
/// An operation, the name it is done with (and the second one), and the call.
type Row<On> = (Operation, &'static str, &'static str, fn(&On, &str, &str) -> Outcome);

/// How every operation is called; the methods are the same on both types.
macro_rules! rows {
    ($on:ty) => {{
        let rows: Vec<Row<$on>> = vec![
            (Operation::Open, "f", "", |on, at, _| on.open(at).map(drop)),
            (Operation::Open, "f", "", |on, at, _| on.read(at).map(drop)),
            (Operation::Open, "f", "", |on, at, _| on.read_to_string(at).map(drop)),
            (Operation::OpenDir, "tree", "", |on, at, _| on.open_dir(at).map(drop)),
            (Operation::ReadDir, "tree", "", |on, at, _| on.read_dir(at)?.try_for_each(|entry| entry.map(drop))),
            (Operation::Walk, "tree", "", |on, at, _| on.walk(at)?.try_for_each(|entry| entry.map(drop))),
            (Operation::Metadata, "f", "", |on, at, _| on.metadata(at).map(drop)),
            (Operation::Metadata, "f", "", |on, at, _| on.exists(at).map(drop)),
            (Operation::SymlinkMetadata, "l", "", |on, at, _| on.symlink_metadata(at).map(drop)),
            (Operation::ReadLink, "l", "", |on, at, _| on.read_link(at).map(drop)),
            (Operation::Write, "f", "", |on, at, _| on.write(at, "NEW")),
            (Operation::Write, "new", "", |on, at, _| on.write(at, "NEW")),
            (Operation::Update, "f", "", |on, at, _| on.update(at, |_| Ok(b"NEW".to_vec()))),
            (Operation::CreateNew, "new", "", |on, at, _| on.create_new(at).map(drop)),
            (Operation::Append, "f", "", |on, at, _| on.append(at, "NEW")),
            (Operation::SetLen, "f", "", |on, at, _| on.set_len(at, 9)),
            (Operation::CreateDir, "new", "", |on, at, _| on.create_dir(at)),
            (Operation::CreateDirAll, "new/er", "", |on, at, _| on.create_dir_all(at)),
            (Operation::RemoveFile, "f", "", |on, at, _| on.remove_file(at)),
            (Operation::RemoveDir, "empty", "", |on, at, _| on.remove_dir(at)),
            (Operation::RemoveDirAll, "tree", "", |on, at, _| on.remove_dir_all(at)),
            (Operation::Rename, "f", "new", |on, from, to| on.rename(from, to)),
            (Operation::RenameReplace, "f", "g", |on, from, to| on.rename_replace(from, to)),
            (Operation::Copy, "f", "new", |on, from, to| on.copy(from, to).map(drop)),
            (Operation::Copy, "tree", "new", |on, from, to| on.copy(from, to).map(drop)),
            (Operation::CopyReplace, "f", "g", |on, from, to| on.copy_replace(from, to).map(drop)),
            (Operation::SetPermissions, "f", "", |on, at, _| on.set_permissions(at, 0o600)),
            (Operation::SetTimes, "f", "", |on, at, _| on.set_times(at, None, Some(SystemTime::UNIX_EPOCH))),
        ];
        rows
    }};
}

fn roots_rows() -> Vec<Row<Roots>> {
    let mut rows = rows!(Roots);
    rows.push((Operation::Within, "tree", "", |on, at, _| on.within(at).map(drop)));
    rows
}

/// What is expected, written down by hand: the least access at each end, and the answer there without deletion.
struct Want {
    name: &'static str,
    ends: &'static [(Access, &'static str)],
}

const fn want(name: &'static str, ends: &'static [(Access, &'static str)]) -> Want {
    Want { name, ends }
}

const WANTS: &[Want] = &[
    want("open", &[(Access::Read, "ok")]),
    want("open_dir", &[(Access::List, "ok")]),
    want("read_dir", &[(Access::List, "ok")]),
    want("walk", &[(Access::List, "ok")]),
    want("metadata", &[(Access::List, "ok")]),
    want("symlink_metadata", &[(Access::List, "ok")]),
    want("read_link", &[(Access::List, "ok")]),
    want("within", &[(Access::List, "ok")]),
    want("write", &[(Access::Write, "ok")]),
    want("update", &[(Access::Write, "ok")]),
    want("create_new", &[(Access::Write, "ok")]),
    want("append", &[(Access::Write, "ok")]),
    want("set_len", &[(Access::Write, "ok")]),
    want("create_dir", &[(Access::Write, "ok")]),
    want("create_dir_all", &[(Access::Write, "ok")]),
    want("remove_file", &[(Access::Write, "not-granted")]),
    want("remove_dir", &[(Access::Write, "not-granted")]),
    want("remove_dir_all", &[(Access::Write, "not-granted")]),
    want("rename", &[(Access::Write, "cross-root"), (Access::Write, "ok")]),
    want("rename_replace", &[(Access::Write, "cross-root"), (Access::Write, "not-granted")]),
    want("copy", &[(Access::Read, "ok"), (Access::Write, "ok")]),
    want("copy_replace", &[(Access::Read, "ok"), (Access::Write, "ok")]),
    want("set_permissions", &[(Access::Write, "ok")]),
    want("set_times", &[(Access::Write, "ok")]),
];

const LEVELS: [Access; 4] = [Access::None, Access::List, Access::Read, Access::Write];

fn wants(operation: Operation) -> &'static [(Access, &'static str)] {
    WANTS.iter().find(|want| want.name == operation.name()).unwrap_or_else(|| panic!("{operation:?} is in no list")).ends
}

/// The answer with `access` at one end, and all that is needed at the other.
fn answer((least, without_delete): (Access, &'static str), access: Access, no_delete: bool) -> &'static str {
    if access < least {
        "not-granted"
    } else if no_delete {
        without_delete
    } else {
        "ok"
    }
}

/// The same things in each of two directories that become roots.
fn two() -> Tree {
    let lines = ["file d/f=F", "file d/g=G", "dir d/empty", "file d/tree/x=X", "link d/l -> f"];
    let other = lines.map(|line| line.replace(" d/", " ../other/d/"));
    Tree::build(lines.iter().map(ToString::to_string).chain(other)).unwrap()
}

/// Everything that is there, with modes and times; a name that came and went shows in its directory's time.
fn disk(base: &Path) -> (BTreeSet<String>, Vec<(i64, i64)>) {
    fn times(at: &Path, found: &mut Vec<(i64, i64)>) {
        let metadata = fs::symlink_metadata(at).unwrap();
        found.push((metadata.mtime(), metadata.mtime_nsec()));
        if metadata.is_dir() {
            let mut paths: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            paths.iter().for_each(|path| times(path, found));
        }
    }
    let mut found = Vec::new();
    times(base, &mut found);
    (picture(base, true), found)
}

/// A set with `limited` in one root and everything in the other, by its grants or narrowed to it.
fn set(tree: &Tree, limited: &str, access: Access, no_delete: bool) -> Roots {
    let grant = |name: &str, path: &Path| {
        let grant = Grant::new(path).name(name);
        if name != limited {
            return grant.access(Access::Write);
        }
        let grant = grant.access(access);
        if no_delete { grant.no_delete() } else { grant }
    };
    let (one, other) = (tree.root(), tree.base().join("other"));
    Roots::builder().grant(grant("one", &one)).grant(grant("other", &other)).open().unwrap()
}

#[track_caller]
fn check(tree: &Tree, case: &str, want: &str, call: impl FnOnce() -> Outcome) {
    let before = disk(tree.base());
    assert_eq!(code(call()), want, "{case}");
    if want != "ok" {
        assert_eq!(disk(tree.base()), before, "{case}: refused, with an effect");
    }
}

#[test]
fn every_operation_is_in_the_tables() {
    let (on_roots, on_dir) = (roots_rows(), rows!(Dir));
    for operation in Operation::ALL {
        let two = wants(*operation).len() == 2;
        assert_eq!(operation.needs_at_target().is_some(), two, "{operation:?}: as many ends as expected");
        assert!(on_roots.iter().any(|row| row.0 == *operation), "{operation:?} is called nowhere on `Roots`");
        let on_dir = on_dir.iter().any(|row| row.0 == *operation);
        assert_eq!(on_dir, *operation != Operation::Within, "{operation:?} on `Dir`");
    }
    assert_eq!(WANTS.len(), Operation::ALL.len());
}

#[test]
fn each_operation_needs_its_access_at_each_end_of_two_roots() {
    for (operation, from, to, call) in roots_rows() {
        for (end, want) in wants(operation).iter().enumerate() {
            for access in LEVELS {
                for no_delete in [false, true] {
                    let tree = two();
                    let roots = set(&tree, ["one", "other"][end], access, no_delete);
                    let (from, to) = (format!("root://one/d/{from}"), format!("root://other/d/{to}"));
                    let case = format!("{operation:?} {from} {to} {end} {access} {no_delete}");
                    check(&tree, &case, answer(*want, access, no_delete), || call(&roots, &from, &to));
                }
            }
        }
    }
}

/// Both ends in one root: the stricter need counts, and a name that only moves is not taken away.
fn in_one_root(operation: Operation, access: Access, no_delete: bool) -> &'static str {
    let answers = wants(operation).iter().map(|want| match answer(*want, access, no_delete) {
        "cross-root" => "ok",
        answer => answer,
    });
    answers.max_by_key(|answer| *answer == "not-granted").unwrap()
}

#[test]
fn each_operation_needs_its_access_in_a_narrowed_set() {
    for (operation, from, to, call) in roots_rows() {
        for access in LEVELS {
            for no_delete in [false, true] {
                let tree = two();
                let roots = Roots::builder().named("one", tree.root(), Access::Write).open().unwrap().limit(access);
                let roots = if no_delete { roots.without_delete() } else { roots };
                let case = format!("{operation:?} {access} {no_delete}");
                let want = in_one_root(operation, access, no_delete);
                check(&tree, &case, want, || call(&roots, &format!("d/{from}"), &format!("d/{to}")));
            }
        }
    }
}

#[test]
fn each_operation_needs_its_access_through_a_directory() {
    for (operation, from, to, call) in rows!(Dir) {
        for access in LEVELS {
            for no_delete in [false, true] {
                for narrowed in [false, true] {
                    let tree = two();
                    let roots = match narrowed {
                        true if no_delete => set(&tree, "", access, false).limit(access).without_delete(),
                        true => set(&tree, "", access, false).limit(access),
                        false => set(&tree, "one", access, no_delete),
                    };
                    let case = format!("{operation:?} {access} {no_delete} {narrowed}");
                    if access < Access::List {
                        assert_eq!(code(roots.open_dir("d")), "not-granted", "{case}");
                        continue;
                    }
                    let dir = roots.open_dir("d").unwrap();
                    check(&tree, &case, in_one_root(operation, access, no_delete), || call(&dir, from, to));
                }
            }
        }
    }
}

/// Catches: a directory or an entry that keeps the access of the set it came from after a limit, or gains by one.
#[test]
fn a_directory_of_a_narrowed_set_stays_narrow() {
    let tree = two();
    let roots = set(&tree, "", Access::Write, false);
    let read = roots.limit(Access::Read).limit(Access::Write);
    assert_eq!(read.list().map(|root| root.access()).collect::<Vec<_>>(), [Access::Read, Access::Read]);
    let dir = read.open_dir("d").unwrap().open_dir("tree").unwrap();
    assert_eq!(code(dir.write("x", "NEW")), "not-granted");
    assert_eq!(dir.read_to_string("x").unwrap(), "X");
    let listed = roots.limit(Access::List);
    for entry in listed.read_dir("d").unwrap().chain(listed.walk("d").unwrap()).map(Result::unwrap) {
        assert_eq!(code(entry.read()), "not-granted", "{:?}", entry.name());
        assert_eq!(code(entry.metadata()), "ok", "{:?}", entry.name());
    }
    // The set that it was narrowed from is as it was, and a file keeps what it was opened with.
    let file = roots.create_new("d/new").unwrap();
    assert_eq!(code(file.set_len(3)), "ok");
    assert_eq!(code(roots.open("d/new").unwrap().set_len(4)), "not-granted");
    assert_eq!(fs::metadata(tree.root().join("d/new")).unwrap().len(), 3);
}

#[derive(Clone, Debug)]
enum Narrow {
    Clone,
    Limit(Access),
    WithoutDelete,
    Within(&'static str),
    Expire(Duration),
    UntilCancelled(bool),
}

impl Narrow {
    fn apply(&self, roots: &Roots) -> Result<Roots, Error> {
        Ok(match self {
            Narrow::Clone => roots.clone(),
            Narrow::Limit(access) => roots.limit(*access),
            Narrow::WithoutDelete => roots.without_delete(),
            Narrow::Within(path) => roots.within(path)?,
            Narrow::Expire(time) => roots.expiring_in(*time),
            Narrow::UntilCancelled(cancelled) => {
                let flag = Arc::new(AtomicBool::new(false));
                let narrowed = roots.until_cancelled(&flag);
                flag.store(*cancelled, Ordering::SeqCst);
                narrowed
            }
        })
    }
}

fn narrowings() -> impl Strategy<Value = Vec<Narrow>> {
    let access = proptest::sample::select(LEVELS.to_vec());
    let within = proptest::sample::select(vec!["root://one/", "root://one/d", "root://one/d/tree", "root://other/d"]);
    let narrow = prop_oneof![
        Just(Narrow::Clone),
        access.prop_map(Narrow::Limit),
        Just(Narrow::WithoutDelete),
        within.prop_map(Narrow::Within),
        proptest::sample::select(vec![Duration::ZERO, Duration::from_secs(3600), Duration::MAX]).prop_map(Narrow::Expire),
        proptest::bool::weighted(0.2).prop_map(Narrow::UntilCancelled),
    ];
    proptest::collection::vec(narrow, 1..5)
}

/// ACCESS-SHRINKS: whatever a set refuses, nothing that was narrowed from it allows.
#[test]
fn narrowing_never_allows_what_the_parent_refuses() {
    let count = roots_rows().len();
    let case = (0..count, proptest::sample::select(LEVELS.to_vec()), any::<bool>(), narrowings());
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&case, |(row, access, no_delete, chain)| {
            let (operation, from, to, call) = roots_rows()[row];
            let mut refused = None;
            for length in 0..=chain.len() {
                let tree = two();
                let roots =
                    chain[..length].iter().try_fold(set(&tree, "one", access, no_delete), |roots, next| next.apply(&roots));
                let (from, to) = (format!("root://one/d/{from}"), format!("root://one/d/{to}"));
                let outcome = code(roots.and_then(|roots| call(&roots, &from, &to)));
                if let Some(parent) = refused {
                    prop_assert_ne!(
                        outcome,
                        "ok",
                        "{:?} by {:?}, where the parent answers {}",
                        operation,
                        &chain[..length],
                        parent
                    );
                }
                if outcome != "ok" {
                    refused = Some(outcome);
                }
            }
            Ok(())
        })
        .unwrap();
}

/// A handle of the operating system can be neither narrowed nor taken back: given out only where nothing is lost but revocation.
#[test]
fn raw_handles_are_given_only_where_they_hold_no_more() {
    let tree = tree();
    let open = |grant: Grant| Roots::builder().grant(grant.name("r")).open().unwrap();
    let write = || Grant::new(tree.root()).access(Access::Write);
    let flag = Arc::new(AtomicBool::new(false));
    let refused = [
        open(Grant::new(tree.root()).access(Access::Read)),
        open(write().no_delete()),
        open(write().rule("elsewhere", Access::Read)),
        open(write().expires_in(Duration::from_secs(3600))),
        open(write()).limit(Access::Read),
        open(write()).without_delete(),
        open(write()).expiring_in(Duration::from_secs(3600)),
        open(write()).until_cancelled(&flag),
        Roots::builder().root(tree.root(), Access::Write).named("in", tree.root().join("a/b"), Access::Read).open().unwrap(),
    ];
    for (number, roots) in refused.into_iter().enumerate() {
        assert_eq!(code(roots.open("a/x").unwrap().into_std_without_revocation()), "not-granted", "{number}");
        assert_eq!(code(roots.open_dir("a").unwrap().into_std_without_revocation()), "not-granted", "{number}");
    }
    let free = open(write());
    assert_eq!(code(free.open_dir("a").unwrap().into_std_without_revocation()), "ok");
    assert_eq!(code(free.limit(Access::Write).open("a/x").unwrap().into_std_without_revocation()), "ok");
    let (file, dir) = (free.open("a/x").unwrap(), free.open_dir("a").unwrap());
    free.revoke();
    assert_eq!(code(file.into_std_without_revocation()), "revoked");
    assert_eq!(code(dir.into_std_without_revocation()), "revoked");
}
