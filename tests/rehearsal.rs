//! An operation that is rehearsed ends as it would if it were done, and does nothing.
//!
//! Catches: a rehearsal that promises what is then refused, or refuses what is then done; one that leaves something on the disk; one that an
//! observer takes for the operation; the wrong way of resolution.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]
#![cfg(unix)]

use std::sync::{Arc, Mutex};

use cap_roots::{Access, Builder, Event, FileType, Observer, Operation, Resolver, Result, Roots};
use cap_roots_oracle::tree::Tree;

const TREE: [&str; 15] = [
    "file a=text",
    "file d/f=x",
    "file d/.env=secret",
    "dir e",
    "file p/q/r=1",
    "link in -> a",
    "link dirlink -> d",
    "link out -> ../x",
    "link dangling -> nothing",
    "link loop -> loop",
    "link abs -> $ROOT/d",
    "link secret -> d/.env",
    "fifo pipe",
    "file h=linked",
    "hard k = h",
];

const PATHS: [&str; 33] = [
    "a",
    "d",
    "d/f",
    "d/.env",
    "e",
    "p",
    "p/q/r",
    "in",
    "dirlink",
    "dirlink/f",
    "out",
    "dangling",
    "loop",
    "abs",
    "abs/f",
    "secret",
    "pipe",
    "new",
    "no/new",
    "d/../a",
    ".",
    "..",
    "a/",
    "e/",
    "h",
    "new/deep/er",
    "d/.env/n",
    "new/",
    "in/",
    "dirlink/",
    "dangling/",
    "secret/",
    "h/",
];

fn act(roots: &Roots, path: &str, operation: Operation) -> Result<()> {
    match operation {
        Operation::Open => roots.open(path).map(drop),
        Operation::OpenDir => roots.open_dir(path).map(drop),
        Operation::ReadDir => roots.read_dir(path).map(drop),
        Operation::Walk => roots.walk(path).map(drop),
        Operation::Metadata => roots.metadata(path).map(drop),
        Operation::SymlinkMetadata => roots.symlink_metadata(path).map(drop),
        Operation::ReadLink => roots.read_link(path).map(drop),
        Operation::Within => roots.within(path).map(drop),
        Operation::Write => roots.write(path, "w"),
        Operation::Update => roots.update(path, Ok),
        Operation::CreateNew => roots.create_new(path).map(drop),
        Operation::Append => roots.append(path, "+"),
        Operation::CreateDir => roots.create_dir(path),
        Operation::CreateDirAll => roots.create_dir_all(path),
        Operation::RemoveFile => roots.remove_file(path),
        Operation::RemoveDirAll => roots.remove_dir_all(path),
        Operation::RemoveDir => roots.remove_dir(path),
        Operation::SetPermissions => roots.set_permissions(path, 0o700),
        Operation::SetLen => roots.set_len(path, 1),
        Operation::SetTimes => roots.set_times(path, Some(std::time::UNIX_EPOCH), None),
        _ => panic!("{operation:?}"),
    }
}

/// Those with one path.
fn operations() -> impl Iterator<Item = Operation> {
    Operation::ALL.iter().copied().filter(|operation| operation.needs_at_target().is_none())
}

fn grants(builder: Builder, tree: &Tree, ruled: bool) -> Builder {
    let builder = builder.named("r", tree.root(), Access::Write);
    if ruled { builder.rule(".env", Access::None).rule("p/q/", Access::Read) } else { builder }
}

#[test]
fn a_rehearsal_ends_as_the_operation_does() {
    let mut compared = 0;
    for (ruled, walk) in [(false, false), (true, false), (false, true), (true, true)] {
        for operation in operations() {
            for path in PATHS {
                let tree = Tree::build(TREE).unwrap();
                let builder = if walk { Roots::builder().without_openat2() } else { Roots::builder() };
                let roots = grants(builder, &tree, ruled).open().unwrap();
                let before = state(&tree);
                let rehearsed = roots.rehearse(path, operation);
                assert_eq!(state(&tree), before, "{operation:?} {path}");
                let said = rehearsed.outcome().map_err(|error| error.kind());
                let done = act(&roots, path, operation).map_err(|error| error.kind());
                assert_eq!(said, done, "{operation:?} {path}, ruled {ruled}, walk {walk}");
                if walk {
                    assert_ne!(rehearsed.resolver(), Some(Resolver::OneCall));
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 2_500, "{compared}");
}

#[derive(Default)]
struct Log(Mutex<Vec<&'static str>>);

impl Observer for Log {
    fn observe(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(event.operation().name());
    }
}

#[test]
fn an_observer_hears_of_what_is_done_and_of_nothing_else() {
    let tree = Tree::build(TREE).unwrap();
    let log = Arc::new(Log::default());
    let roots = grants(Roots::builder().observer(log.clone()), &tree, true).open().unwrap();
    for operation in Operation::ALL {
        for path in PATHS {
            let _ = roots.rehearse(path, *operation);
        }
    }
    assert_eq!(*log.0.lock().unwrap(), [""; 0]);
    roots.read("a").unwrap();
    assert_eq!(*log.0.lock().unwrap(), ["open"]);
}

/// Catches: a rule that is named although another one decides, or by another spelling than the operator's.
#[test]
fn the_rule_that_decides_is_named() {
    let tree = Tree::build(TREE).unwrap();
    let roots = grants(Roots::builder(), &tree, true).rule("d=read", Access::Read).rule("d", Access::Read).open().unwrap();
    for (path, operation, rule) in [
        ("d/.env", Operation::Open, Some(".env=none")),
        ("d/.ENV", Operation::Open, Some(".env=none")),
        ("d/f", Operation::Write, Some("d=read")),
        ("d/f", Operation::Open, None),
        ("secret", Operation::Open, Some(".env=none")),
        ("abs/f", Operation::Write, Some("d=read")),
        ("p/q/r", Operation::Write, Some("p/q/=read")),
        ("a", Operation::Write, None),
    ] {
        let rehearsed = roots.rehearse(path, operation);
        assert_eq!(rehearsed.deciding_rule(), rule, "{path} {rehearsed:?}");
        assert_eq!(rehearsed.outcome().is_err(), rule.is_some(), "{path}");
    }
}

/// Catches: a rule that is named only where something lies behind it.
#[test]
fn the_rule_that_is_met_does_not_tell_what_lies_behind_it() {
    let tree =
        Tree::build(["file d/.env/f=secret", "link there -> d/.env/f", "link dir -> d/.env", "link not -> d/.env/g"]).unwrap();
    let roots = grants(Roots::builder(), &tree, true).open().unwrap();
    for path in ["there", "not", "dir/f", "dir/g", "dir/f/x", "d/../dir/../f"] {
        for operation in [Operation::Open, Operation::Metadata, Operation::Write] {
            assert_eq!(roots.rehearse(path, operation).deciding_rule(), Some(".env=none"), "{path} {operation:?}");
        }
    }
}

/// Catches: an answer about what was taken back while it was looked for.
#[test]
fn nothing_is_told_once_the_grant_has_ended() {
    let tree = Tree::build(["dir d"]).unwrap();
    for number in 0..20_000 {
        std::fs::write(tree.root().join(format!("d/{number}")), "").unwrap();
    }
    let roots = grants(Roots::builder(), &tree, false).open().unwrap();
    // All names are read, in search of another form of this one; that takes longer than the grant lasts.
    let rehearsed = roots.expiring_in(std::time::Duration::from_millis(2)).rehearse("d/\u{e9}", Operation::Open);
    assert_eq!(rehearsed.outcome().unwrap_err().code(), "expired");
    assert_eq!(rehearsed.leads_to(), None);
}

#[cfg(target_os = "linux")]
#[test]
fn the_way_of_resolution_is_the_one_that_answered() {
    let tree = Tree::build(TREE).unwrap();
    for (ruled, path, way) in [
        (false, "d/f", Resolver::OneCall),
        (false, "in", Resolver::OneCall),
        (false, "abs/f", Resolver::Walk),
        (true, "d/f", Resolver::OneCall),
        (true, "in", Resolver::Walk),
        (true, "d/../a", Resolver::Walk),
    ] {
        let roots = grants(Roots::builder(), &tree, ruled).open().unwrap();
        let rehearsed = roots.rehearse(path, Operation::Open);
        assert_eq!((rehearsed.resolver(), rehearsed.leads_to()), (Some(way), Some(FileType::File)), "{path}");
    }
}

/// All that is below the root: names with content, or where links lead.
fn state(tree: &Tree) -> Vec<String> {
    let (mut found, mut dirs) = (Vec::new(), vec![tree.root()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let metadata = std::fs::symlink_metadata(&path).unwrap();
            let content =
                if metadata.is_file() { std::fs::read_to_string(&path).unwrap() } else { format!("{:?}", metadata.file_type()) };
            found.push(format!("{} {content} {:?}", path.display(), metadata.modified().unwrap()));
            if metadata.is_dir() {
                dirs.push(path);
            }
        }
    }
    found.sort();
    found
}
