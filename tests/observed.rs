//! The observer is asked before anything is touched, and told once of all that it agreed to.
//!
//! Catches: an operation that acts without asking, or before; an event that nobody was asked for, a second one, or none (a refusal that
//! forgets one of two ends, a panic in the middle), each of which would lose a record or the room for one.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "looks at the tree by path")]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use cap_roots::{Access, Admission, Entry, Error, ErrorKind, Event, Hint, Observer, Operation, Result, Roots};
use cap_roots_oracle::tree::Tree;
use support::writing::picture;
use support::{Way, builder, code};

/// Agrees to so many operations, and keeps what it was asked and told.
struct Log {
    agrees: usize,
    asked: Mutex<Vec<Operation>>,
    told: Mutex<Vec<String>>,
}

impl Log {
    fn agreeing_to(agrees: usize) -> Arc<Self> {
        Arc::new(Self { agrees, asked: Mutex::default(), told: Mutex::default() })
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

impl Observer for Log {
    fn admit(&self, operation: Operation) -> Admission {
        let mut asked = self.asked.lock().unwrap();
        asked.push(operation);
        if asked.len() <= self.agrees { Admission::Admitted } else { Admission::Busy }
    }

    fn observe(&self, event: &Event<'_>) {
        let outcome = event.outcome().map_or_else(|kind| kind.code(), |()| "ok");
        let (root, path) = (event.root().unwrap_or("-"), event.path().to_string_lossy());
        let (end, bytes) = (if event.is_target() { "to " } else { "" }, event.bytes().map_or(String::new(), |b| format!(" {b}")));
        self.told.lock().unwrap().push(format!("{} {end}{root} {path} {outcome}{bytes}", event.operation().name()));
    }
}

fn tree() -> Tree {
    Tree::build(["file f=12345", "file d/in=1", "dir empty", "link l -> f", "file ../out=OUT"]).unwrap()
}

/// An operation by its name, once through a set and once through a directory of it. `at` is what it is done to.
macro_rules! operate {
    ($on:expr, $operation:expr, $at:expr) => {{
        let (on, at): (_, &dyn Fn(&str) -> String) = ($on, $at);
        match $operation {
            Operation::Open => {
                on.read(at("f")).map(drop).and(on.open(at("f")).map(drop)).and(on.read_to_string(at("f")).map(drop))
            }
            Operation::OpenDir => on.open_dir(at("d")).map(drop),
            Operation::ReadDir => on.read_dir(at("d")).map(drop),
            Operation::Walk => on.walk(at("d")).map(drop),
            Operation::Metadata => on.metadata(at("f")).map(drop).and(on.exists(at("f")).map(drop)),
            Operation::SymlinkMetadata => on.symlink_metadata(at("l")).map(drop),
            Operation::ReadLink => on.read_link(at("l")).map(drop),
            Operation::Write => on.write(at("f"), "NEW"),
            Operation::Update => on.update(at("f"), |_| Ok(b"NEW!".to_vec())),
            Operation::CreateNew => on.create_new(at("new")).map(drop),
            Operation::Append => on.append(at("f"), "67"),
            Operation::SetLen => on.set_len(at("f"), 1),
            Operation::CreateDir => on.create_dir(at("new")),
            Operation::CreateDirAll => on.create_dir_all(at("new/er")),
            Operation::RemoveFile => on.remove_file(at("f")),
            Operation::RemoveDir => on.remove_dir(at("empty")),
            Operation::RemoveDirAll => on.remove_dir_all(at("d")),
            Operation::Rename => on.rename(at("f"), at("new")),
            Operation::RenameReplace => on.rename_replace(at("f"), at("d/in")),
            Operation::Copy => on.copy(at("d"), at("new")).map(drop),
            Operation::CopyReplace => on.copy_replace(at("f"), at("d/in")).map(drop),
            Operation::SetPermissions => on.set_permissions(at("f"), 0o600),
            Operation::SetTimes => on.set_times(at("f"), Some(std::time::UNIX_EPOCH), None),
            other => panic!("no case for {}", other.name()),
        }
    }};
}

fn in_set(roots: &Roots, operation: Operation, at: &dyn Fn(&str) -> String) -> Result<()> {
    match operation {
        Operation::Within => roots.within(at("d")).map(drop),
        operation => operate!(roots, operation, at),
    }
}

fn plain(path: &str) -> String {
    path.to_owned()
}

/// How often it asks: each of these is made of so many operations, or has so many paths.
fn paths(operation: Operation) -> usize {
    match operation {
        Operation::Open => 3,
        Operation::Metadata => 2,
        operation => 1 + usize::from(operation.needs_at_target().is_some()),
    }
}

#[test]
fn what_is_declined_is_not_done() {
    for way in [Way::Fast, Way::Walk] {
        for &operation in Operation::ALL {
            let tree = tree();
            let roots = builder(way).named("r", tree.root(), Access::Write).open().unwrap();
            let before = picture(tree.base(), true);
            // The last one that is asked for is declined.
            let last = if operation.needs_at_target().is_some() { 1 } else { 0 };
            for agrees in 0..=last {
                let log = Log::agreeing_to(agrees);
                let watched = roots.observed_by(log.clone());
                let name = operation.name();
                let error = in_set(&watched, operation, &plain).unwrap_err();
                assert_eq!(error.code(), "busy", "{name}");
                let text = error.to_string();
                assert!(text.starts_with("busy: nothing was done, because no record") && text.contains("try again"), "{text}");
                assert_eq!(picture(tree.base(), true), before, "{name} acted all the same");
                let told = log.told();
                assert_eq!(told.len(), agrees, "{told:?}");
                assert!(told.iter().all(|line| line.ends_with(" busy")), "{told:?}");
                assert!(log.asked.lock().unwrap().iter().all(|asked| *asked == operation));
            }
            // Refused by its text, it waits for its record as well.
            for agrees in 0..=last {
                let log = Log::agreeing_to(agrees);
                let outside = |_: &str| "/etc/hostname".to_owned();
                assert_eq!(code(in_set(&roots.observed_by(log.clone()), operation, &outside)), "busy", "{}", operation.name());
                let asked = if last == 0 { paths(operation) } else { agrees + 1 };
                assert_eq!((log.asked(), log.told().len()), (asked, agrees));
                assert!(log.told().iter().all(|line| line.ends_with(" - /etc/hostname busy")), "{:?}", log.told());
            }
        }
    }
}

#[test]
fn each_operation_asks_and_is_told_of() {
    for &operation in Operation::ALL {
        let name = operation.name();
        let tree = tree();
        let roots = Roots::builder().named("r", tree.root(), Access::Write).open().unwrap();
        let log = Log::agreeing_to(usize::MAX);
        in_set(&roots.observed_by(log.clone()), operation, &plain).unwrap();
        let told = log.told();
        assert_eq!((log.asked(), told.len()), (paths(operation), paths(operation)), "{name}: {told:?}");
        assert!(told.iter().all(|line| line.starts_with(name) && line.contains(" ok")), "{told:?}");
        // By a directory, and by an entry of it, the same observer hears of it.
        if operation != Operation::Within {
            let tree = self::tree();
            let roots = Roots::builder().named("r", tree.root(), Access::Write).open().unwrap();
            let log = Log::agreeing_to(usize::MAX);
            let dir = roots.observed_by(log.clone()).open_dir(".").unwrap();
            operate!(&dir, operation, &plain).unwrap();
            assert_eq!(log.told().len(), 1 + paths(operation), "{name}: {:?}", log.told());
        }
    }
}

/// Every way to be refused, and for two paths at each of them.
#[test]
fn refusals_are_told_once_for_each_path() {
    for access in [Access::List, Access::Read, Access::Write] {
        for &operation in Operation::ALL {
            for from in ["f", "d", "missing", "l", "..", "/etc/hostname", "root://other/x", "secret/x", "d/../..", ""] {
                for to in ["new", "d", "f", "missing/x", "/etc/hostname", "secret/y", "root://o/x"] {
                    let two = operation.needs_at_target().is_some();
                    if !two && to != "new" {
                        continue;
                    }
                    let tree = tree();
                    let other = tree.root().join("empty");
                    let roots = Roots::builder()
                        .named("r", tree.root(), access)
                        .grant(cap_roots::Grant::new(other).name("o").access(Access::Write).no_delete())
                        .rule("secret", Access::None);
                    let roots = roots.open().unwrap();
                    let log = Log::agreeing_to(usize::MAX);
                    let first = std::cell::Cell::new(true);
                    let at = |_: &str| if first.replace(false) || !two { from.to_owned() } else { to.to_owned() };
                    let outcome = in_set(&roots.observed_by(log.clone()), operation, &at);
                    let (asked, told) = (log.asked(), log.told());
                    assert_eq!(asked, told.len(), "{} {from} {to}: {told:?}", operation.name());
                    assert_eq!(asked, paths(operation), "{} {from} {to} {outcome:?}", operation.name());
                    if let (Err(error), true) = (&outcome, two) {
                        assert!(told.iter().all(|line| line.contains(error.code())), "{from} {to} {error}: {told:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn bytes_are_told_where_content_is_handled() {
    let tree = tree();
    let roots = Roots::builder().named("r", tree.root(), Access::Write).read_limit(7).open().unwrap();
    let log = Log::agreeing_to(usize::MAX);
    let roots = roots.observed_by(log.clone());
    roots.open("f").unwrap();
    roots.read("f").unwrap();
    roots.write("f", "123").unwrap();
    roots.append("f", "4567").unwrap();
    roots.update("f", |old| Ok(old[..2].to_vec())).unwrap();
    roots.copy("d", "e").unwrap();
    roots.create_new("g").unwrap();
    assert_eq!(code(roots.write("d", "123")), "is-a-directory");
    assert_eq!(code(roots.update("f", |_| Err(Error::invalid_argument("no")))), "invalid-argument");
    assert_eq!(
        log.told(),
        [
            "open r f ok 5",
            "open r f ok 5",
            "write r f ok 3",
            "append r f ok 4",
            "update r f ok 2",
            "copy to r e ok 1",
            "copy r d ok 1",
            "create_new r g ok",
            "write r d is-a-directory",
            "update r f invalid-argument",
        ]
    );
}

/// Catches: room for a record that is lost with each panic.
#[test]
fn a_panic_is_told_of_as_well() {
    let tree = tree();
    let roots = Roots::builder().named("r", tree.root(), Access::Write).open().unwrap();
    let log = Log::agreeing_to(usize::MAX);
    let roots = roots.observed_by(log.clone());
    let ended = catch_unwind(AssertUnwindSafe(|| roots.update("f", |_| std::panic::resume_unwind(Box::new(())))));
    assert!(ended.is_err());
    assert_eq!(log.told(), ["update r f io"]);
    // Nothing is under way any more.
    roots.revoke_and_wait();
}

/// Catches: an observer of one call that hears of another, or is lost on the way.
#[test]
fn an_observer_is_for_one_set_and_what_comes_from_it() {
    let tree = tree();
    let (own, call) = (Log::agreeing_to(usize::MAX), Log::agreeing_to(usize::MAX));
    let roots = Roots::builder().named("r", tree.root(), Access::Write).observer(own.clone()).open().unwrap();
    let watched = roots.observed_by(call.clone());
    let mut wanted = Vec::new();
    let narrowed = [
        watched.clone(),
        watched.within("d").unwrap(),
        watched.limit(Access::Read),
        watched.without_delete(),
        watched.expiring_in(std::time::Duration::from_secs(60)),
        watched.until_cancelled(&Arc::default()),
        watched.narrow(&[Hint::parse(&format!("file://{}", tree.root().join("d").display())).unwrap()]).into_roots(),
        watched.narrow([]).into_roots(),
    ];
    wanted.extend(["within r d ok", "within r d ok"].map(str::to_owned));
    for (number, roots) in narrowed.iter().enumerate() {
        let path = format!("root://r/none{number}");
        let _ = roots.read(&path);
    }
    let entry: Entry = watched.read_dir("d").unwrap().next().unwrap().unwrap();
    entry.read().unwrap();
    entry.clone().metadata().unwrap();
    watched.walk("d").unwrap().next().unwrap().unwrap().open().unwrap();
    let told = call.told();
    assert_eq!(told.len(), 2 + narrowed.len() + 5, "{told:?}");
    assert_eq!((told[0..2].to_vec(), own.told().len()), (wanted, 0), "{told:?}");
    assert!(told[9].starts_with("open - root://r/none7 no-roots"), "{told:?}");
    roots.read("f").unwrap();
    assert_eq!((own.told(), call.told().len()), (vec!["open r f ok 5".to_owned()], told.len()));
    assert_eq!(Error::not_recorded().kind(), ErrorKind::Busy);
}

/// Catches: a rename whose other end is not in the log, where one of the texts leads nowhere.
#[test]
fn both_paths_are_told_whichever_is_refused() {
    let tree = tree();
    let roots = Roots::builder().named("r", tree.root(), Access::Write).open().unwrap();
    let log = Log::agreeing_to(usize::MAX);
    let roots = roots.observed_by(log.clone());
    let dir = roots.open_dir("d").unwrap();
    assert_eq!(code(roots.rename("f", "/etc/x")), "outside-roots");
    assert_eq!(code(roots.rename("/etc/x", "f")), "outside-roots");
    assert_eq!(code(dir.copy("in", "/etc/x")), "outside-roots");
    assert_eq!(code(dir.copy("", "/etc/x")), "invalid-path");
    assert_eq!(
        log.told()[1..],
        [
            "rename r f outside-roots",
            "rename to - /etc/x outside-roots",
            "rename - /etc/x outside-roots",
            "rename to r f outside-roots",
            "copy r d/in outside-roots",
            "copy to - /etc/x outside-roots",
            "copy -  invalid-path",
            "copy to - /etc/x invalid-path",
        ]
    );
}

/// Catches: a rehearsal that asks for room, or is told as if it had been done.
#[test]
fn a_rehearsal_is_not_told() {
    let tree = tree();
    let roots = Roots::builder().named("r", tree.root(), Access::Read).open().unwrap();
    let log = Log::agreeing_to(0);
    let roots = roots.observed_by(log.clone());
    for &operation in Operation::ALL {
        for path in ["f", "d", "missing", "/etc/x"] {
            assert_ne!(code(roots.rehearse(path, operation).outcome().map_err(Clone::clone)), "busy");
        }
    }
    assert_eq!((log.asked(), log.told().len()), (0, 0));
}
