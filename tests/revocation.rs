//! Taking authority back while it is used, running out of it, and giving a call up.
//!
//! Catches: a check that is made before the revocation and used after it, handles and narrowed sets that outlive it, a wait that does not wait,
//! work that goes on after its deadline or after its caller has gone.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use cap_roots::{Access, Error, Event, Grant, Observer, Roots};
use cap_roots_oracle::tree::Tree;
use support::code;
use support::writing::picture;

fn tree() -> Tree {
    let lines: Vec<String> = (0..40).map(|number| format!("file d/{number}/f=TEXT")).chain(["file x=X".to_owned()]).collect();
    Tree::build(lines).unwrap()
}

fn open(tree: &Tree) -> Roots {
    Roots::builder().named("r", tree.root(), Access::Write).open().unwrap()
}

/// The code that an error of a file's call wraps.
fn inner<T>(outcome: std::io::Result<T>) -> &'static str {
    match outcome {
        Ok(_) => "ok",
        Err(error) => error.downcast::<Error>().unwrap().code(),
    }
}

type Work = fn(&Roots, usize) -> Result<(), Error>;

/// What the threads do, each with names of its own.
const WORK: [Work; 7] = [
    |roots, _| roots.read("x").map(drop),
    |roots, me| roots.write(format!("w{me}"), "TEXT"),
    |roots, me| roots.append(format!("a{me}"), "TEXT"),
    |roots, me| {
        roots.create_dir_all(format!("m{me}/n"))?;
        roots.remove_dir_all(format!("m{me}"))
    },
    |roots, me| roots.rename("x", format!("y{me}")).or_else(|_| roots.rename(format!("y{me}"), "x")).or_else(gone),
    |roots, _| roots.walk("d")?.try_for_each(|entry| entry?.metadata().map(drop)),
    |roots, me| roots.copy_replace("d/1/f", format!("c{me}")).map(drop),
];

/// Others rename the same file.
fn gone(error: Error) -> Result<(), Error> {
    if ["not-found", "already-exists"].contains(&error.code()) { Ok(()) } else { Err(error) }
}

/// Threads that work on clones and narrowed sets until one of them is refused; meanwhile `revoke`. What began after it has returned has
/// to fail, and so has the first use of any handle.
fn hammer(tree: &Tree, revoke: impl FnOnce(&Roots)) {
    let roots = open(tree);
    let (revoked, busy) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for (me, work) in WORK.into_iter().enumerate() {
            let (roots, revoked, busy) = (if me % 2 == 0 { roots.clone() } else { roots.limit(Access::Write) }, &revoked, &busy);
            scope.spawn(move || {
                loop {
                    let after = revoked.load(Ordering::SeqCst);
                    let outcome = work(&roots, me);
                    busy.fetch_add(1, Ordering::Relaxed);
                    match outcome {
                        Ok(()) => assert!(!after, "{me}: an operation that began after revoke() has returned"),
                        Err(error) if error.code() == "revoked" => return,
                        // `x` is renamed to and fro by one of them.
                        Err(error) => assert!(me == 0 && error.code() == "not-found", "{me}: {error}"),
                    }
                }
            });
        }
        for me in 0..2 {
            let (roots, revoked) = (roots.clone(), &revoked);
            scope.spawn(move || {
                let mut number = 0;
                loop {
                    number += 1;
                    let file = if me == 0 { roots.open("d/1/f") } else { roots.create_new(format!("n{number}")) };
                    let after = revoked.load(Ordering::SeqCst);
                    match file {
                        Ok(mut file) => {
                            let used = inner(if me == 0 { file.read(&mut [0]) } else { file.write(b"TEXT") });
                            assert!(!after || used == "revoked", "a handle that was used after revoke(): {used}");
                        }
                        Err(error) => return assert_eq!(error.code(), "revoked"),
                    }
                }
            });
        }
        while busy.load(Ordering::Relaxed) < 50 {
            thread::yield_now();
        }
        revoke(&roots);
        revoked.store(true, Ordering::SeqCst);
    });
}

#[test]
fn nothing_begins_after_revoke_has_returned() {
    for round in 0..6 {
        let tree = tree();
        hammer(&tree, |roots| match round % 3 {
            0 => roots.revoke(),
            1 => roots.limit(Access::List).within("d").unwrap().revoke(),
            _ => roots.clone().revoke(),
        });
    }
}

#[test]
fn nothing_is_under_way_after_revoke_and_wait() {
    for round in 0..6 {
        let tree = tree();
        hammer(&tree, |roots| {
            match round % 2 {
                0 => roots.revoke_and_wait(),
                _ => roots.without_delete().revoke_and_wait(),
            }
            let now = picture(tree.base(), true);
            thread::sleep(Duration::from_millis(50));
            assert!(picture(tree.base(), true) == now, "something was changed after the wait");
        });
    }
}

/// A file counts call by call: a loop of writes stops, and what it wrote is all there when the wait is over.
#[test]
fn a_file_that_is_being_written_stops() {
    for _ in 0..5 {
        let tree = tree();
        let roots = open(&tree);
        let mut file = roots.create_new("log").unwrap();
        let writer = thread::spawn(move || {
            let chunk = vec![b'x'; 1 << 16];
            loop {
                match file.write(&chunk) {
                    Ok(_) if file.stream_position().is_ok_and(|at| at > 1 << 26) => {
                        file.seek(SeekFrom::Start(0)).map(drop).unwrap_or(())
                    }
                    Ok(_) => {}
                    Err(error) => return error.downcast::<Error>().unwrap().code(),
                }
            }
        });
        while fs::metadata(tree.root().join("log")).unwrap().len() == 0 {
            thread::yield_now();
        }
        roots.revoke_and_wait();
        let seen =
            || fs::metadata(tree.root().join("log")).map(|metadata| (metadata.len(), metadata.modified().unwrap())).unwrap();
        let now = seen();
        thread::sleep(Duration::from_millis(20));
        assert_eq!(seen(), now);
        assert_eq!(writer.join().unwrap(), "revoked");
    }
}

/// The same for a call that reads the rest of a file.
#[test]
fn a_file_that_is_being_read_whole_is_waited_for() {
    let tree = tree();
    fs::File::create(tree.root().join("big")).unwrap().set_len(1 << 28).unwrap();
    let roots = open(&tree);
    let mut file = roots.open("big").unwrap();
    let (begun, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            begun.store(true, Ordering::SeqCst);
            assert_eq!(code(file.read_all(1 << 30)), "revoked");
            ended.store(true, Ordering::SeqCst);
        });
        while !begun.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(20));
        roots.revoke_and_wait();
        // What is left for a call that has been waited for is to return.
        thread::sleep(Duration::from_millis(5));
        assert!(ended.load(Ordering::SeqCst), "a call of an opened file was under way");
    });
}

/// In the middle of a change, where a change can be stopped: the old content stays, and nothing is left beside it.
#[test]
fn an_update_that_loses_its_authority_changes_nothing() {
    let tree = tree();
    let before = picture(tree.base(), true);
    let flag = Arc::new(AtomicBool::new(false));
    let (roots, other) = (open(&tree), open(&tree));
    let cancelled = roots.until_cancelled(&flag).update("x", |_| {
        flag.store(true, Ordering::SeqCst);
        Ok(b"NEW".to_vec())
    });
    assert_eq!(code(cancelled), "cancelled");
    let expired = roots.expiring_in(Duration::from_millis(20)).update("x", |_| {
        thread::sleep(Duration::from_millis(40));
        Ok(b"NEW".to_vec())
    });
    assert_eq!(code(expired), "expired");
    let revoked = other.clone().update("x", |_| {
        other.revoke();
        Ok(b"NEW".to_vec())
    });
    assert_eq!(code(revoked), "revoked");
    assert_eq!(picture(tree.base(), true), before);
    assert_eq!(code(roots.update("x", |_| Ok(b"NEW".to_vec()))), "ok", "the set that it was narrowed from goes on");
}

#[test]
fn what_has_expired_answers_so_everywhere() {
    let tree = tree();
    let short = Duration::from_millis(300);
    let whole = open(&tree);
    let sets: [&dyn Fn() -> Roots; 3] = [
        &|| Roots::builder().grant(Grant::new(tree.root()).access(Access::Write).expires_in(short)).open().unwrap(),
        &|| whole.expiring_in(short).expiring_in(Duration::from_secs(3600)),
        &|| whole.expiring_in(Duration::from_secs(3600)).limit(Access::Write).expiring_in(short).within(".").unwrap(),
    ];
    for set in sets {
        let roots = set();
        let mut read = roots.open("x").unwrap();
        let mut made = roots.create_new("made").unwrap();
        let (dir, mut listing, mut walk) = (roots.open_dir(".").unwrap(), roots.read_dir(".").unwrap(), roots.walk(".").unwrap());
        let entry = roots.read_dir(".").unwrap().next().unwrap().unwrap();
        assert_eq!((inner(read.read(&mut [0])), inner(made.write(b"x"))), ("ok", "ok"));
        thread::sleep(short);
        assert_eq!((inner(read.read(&mut [0])), inner(made.write(b"x"))), ("expired", "expired"));
        assert_eq!((inner(made.flush()), inner(read.seek(SeekFrom::Start(0)))), ("expired", "expired"));
        for outcome in [code(made.set_len(0)), code(made.sync_all()), code(read.metadata()), code(read.read_all(9))] {
            assert_eq!(outcome, "expired");
        }
        for outcome in [code(roots.read("x")), code(roots.write("new", "")), code(roots.metadata("missing"))] {
            assert_eq!(outcome, "expired");
        }
        assert_eq!((code(dir.metadata(".")), code(entry.metadata())), ("expired", "expired"));
        assert_eq!((code(listing.next().unwrap()), code(walk.next().unwrap())), ("expired", "expired"));
        assert!(listing.next().is_none() && walk.next().is_none());
        whole.remove_file("made").unwrap();
    }
    assert_eq!(code(whole.read("x")), "ok");
}

/// A tree that takes a while.
fn long() -> Tree {
    let tree = Tree::build(["file x=X"]).unwrap();
    for number in 0..4_000 {
        let dir = tree.root().join(format!("t/{}", number % 50));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(number.to_string()), "TEXT").unwrap();
    }
    tree
}

#[test]
fn a_cancelled_walk_ends_with_one_error() {
    let tree = long();
    let (roots, flag) = (open(&tree), Arc::new(AtomicBool::new(false)));
    let mut walk = roots.until_cancelled(&flag).walk(".").unwrap();
    assert_eq!(walk.by_ref().take(100).map(code).filter(|code| *code == "ok").count(), 100);
    flag.store(true, Ordering::SeqCst);
    assert_eq!(walk.map(code).collect::<Vec<_>>(), ["cancelled"]);
    assert_eq!(roots.walk(".").unwrap().count(), 4_052);
}

#[test]
fn a_cancelled_copy_leaves_nothing_and_a_cancelled_removal_the_rest() {
    let tree = long();
    let before = picture(&tree.root(), true);
    let roots = open(&tree);
    let stop_once = |seen: &(dyn Fn() -> bool + Sync), work: &(dyn Fn(&Roots) -> Result<(), Error> + Sync)| {
        let flag = Arc::new(AtomicBool::new(false));
        let narrowed = roots.until_cancelled(&flag);
        thread::scope(|scope| {
            let worker = scope.spawn(|| code(work(&narrowed)));
            while !seen() && !worker.is_finished() {
                thread::yield_now();
            }
            flag.store(true, Ordering::SeqCst);
            worker.join().unwrap()
        })
    };
    let begun = || fs::read_dir(tree.root()).unwrap().count() > 2;
    assert_eq!(stop_once(&begun, &|roots| roots.copy("t", "copied").map(drop)), "cancelled");
    assert_eq!(picture(&tree.root(), true), before);
    let begun = || {
        let left = |number: usize| fs::read_dir(tree.root().join(format!("t/{number}"))).is_ok_and(|dir| dir.count() == 80);
        !(0..50).all(left)
    };
    assert_eq!(stop_once(&begun, &|roots| roots.remove_dir_all("t")), "cancelled");
    assert!(!picture(&tree.root(), true).is_superset(&before) && tree.root().join("t").is_dir());
    assert_eq!(code(roots.remove_dir_all("t")), "ok");
}

/// Ends everything at the first event, from within the operation that it is about.
#[derive(Default)]
struct Ender(Mutex<Option<Roots>>);

impl Observer for Ender {
    fn observe(&self, _: &Event<'_>) {
        let roots = self.0.lock().unwrap().take();
        if let Some(roots) = roots {
            roots.revoke_and_wait();
        }
    }
}

fn ended_by_its_observer(work: fn(&Roots)) -> bool {
    let tree = tree();
    let ender = Arc::new(Ender::default());
    let roots = Roots::builder().named("r", tree.root(), Access::Write).observer(ender.clone()).open().unwrap();
    *ender.0.lock().unwrap() = Some(roots.clone());
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        work(&roots);
        let _ = sender.send(code(roots.read("x")));
    });
    receiver.recv_timeout(Duration::from_secs(5)) == Ok("revoked")
}

#[test]
fn an_observer_may_end_everything_and_wait() {
    let work: [fn(&Roots); 8] = [
        |roots| drop(roots.read("x")),
        |roots| drop(roots.write("x", "NEW")),
        |roots| drop(roots.create_new("new")),
        |roots| drop(roots.remove_dir_all("d")),
        |roots| drop(roots.walk(".")),
        |roots| drop(roots.within("d")),
        |roots| drop(roots.read("missing")),
        |roots| drop(roots.read("/etc/hostname")),
    ];
    for (number, work) in work.into_iter().enumerate() {
        assert!(ended_by_its_observer(work), "{number} waits for itself");
    }
}

#[test]
fn an_observer_may_end_operations_with_two_ends() {
    let work: [fn(&Roots); 5] = [
        |roots| drop(roots.rename("x", "y")),
        |roots| drop(roots.copy("x", "y")),
        |roots| drop(roots.copy_replace("x", "y")),
        |roots| drop(roots.rename("missing", "y")),
        |roots| drop(roots.copy("x", ".cap-roots-0.tmp")),
    ];
    let waits: Vec<_> = work.into_iter().map(|work| thread::spawn(move || !ended_by_its_observer(work))).collect();
    let waits: Vec<_> = waits.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(waits, [false; 5], "these wait for themselves");
}
