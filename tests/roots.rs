//! Grants become roots: names, spellings, nesting, absence, revocation.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use cap_roots::{Access, Event, Observer, Operation, Roots};
use cap_roots_oracle::tree::Tree;
use support::{Way, code, roots};

fn tree() -> Tree {
    Tree::build(["file a/b/c.txt=C", "file a/x=X", "file ../other/y=Y", "link a/up -> ../a/x", "link a/b/far -> ../../a/x"])
        .unwrap()
}

#[test]
fn default_names_are_numbered_in_order_and_given_names_win() {
    let tree = Tree::build(["dir one/My Docs", "dir two/my-docs", "dir three/MY DOCS", "dir four"]).unwrap();
    let at = |path: &str| tree.root().join(path);
    let roots = Roots::builder()
        .root(at("one/My Docs"), Access::Read)
        .root(at("two/my-docs"), Access::Read)
        .named("my-docs-2", at("four"), Access::Read)
        .root(at("three/MY DOCS"), Access::Read)
        .open()
        .unwrap();
    let names: Vec<_> = roots.list().map(|root| root.name().to_owned()).collect();
    assert_eq!(names, ["my-docs", "my-docs-3", "my-docs-2", "my-docs-4"]);
}

#[test]
fn bad_names_and_directories_are_told_by_the_roots_name() {
    let tree = tree();
    let open = |name: &str, path: &str| Roots::builder().named(name, tree.root().join(path), Access::Read).open();
    for name in ["", "A", "a/b", "..", "a b"] {
        let error = open(name, "a").unwrap_err();
        assert_eq!((error.code(), error.root_name()), ("invalid-argument", Some(name)));
    }
    let error = open("file", "a/x").unwrap_err();
    assert_eq!((error.code(), error.root_name()), ("not-a-directory", Some("file")));
    assert!(error.to_string().contains("a root must be a directory"), "{error}");
    assert!(!error.to_string().contains(tree.base().to_str().unwrap()));
    let twice = Roots::builder().named("n", tree.root(), Access::Read).named("n", tree.base(), Access::Read).open();
    assert_eq!(code(twice), "invalid-argument");
}

/// Found by identity, not by text: a link and a path with `..` do not hide it.
#[test]
fn the_same_directory_twice_is_an_error() {
    let tree = tree();
    symlink("ROOT", tree.base().join("alias")).unwrap();
    for second in ["alias", "ROOT/a/..", "ROOT/", "ROOT"] {
        let error = Roots::builder().root(tree.root(), Access::Read).named("s", tree.base().join(second), Access::Read).open();
        let error = error.unwrap_err();
        assert_eq!((error.code(), error.root_name()), ("invalid-argument", Some("s")), "{second}");
        assert!(error.to_string().contains("the same directory as root \"root\""), "{error}");
    }
}

#[test]
fn an_inner_root_with_less_access_is_refused_and_with_more_is_its_own() {
    let tree = tree();
    symlink("ROOT/a/b", tree.base().join("alias")).unwrap();
    for inner in ["ROOT/a", "ROOT/a/b", "alias"] {
        let inner = tree.base().join(inner);
        let error = Roots::builder().root(tree.root(), Access::Write).named("in", &inner, Access::Read).open().unwrap_err();
        assert_eq!((error.code(), error.root_name()), ("invalid-argument", Some("in")));
        let error = Roots::builder().named("in", &inner, Access::List).root(tree.root(), Access::Read).open().unwrap_err();
        assert_eq!(error.root_name(), Some("in"));
        assert!(Roots::builder().root(tree.root(), Access::Read).named("in", &inner, Access::Read).open().is_ok());
        let more = Roots::builder().root(tree.root(), Access::List).named("in", &inner, Access::Read).open().unwrap();
        assert_eq!(code(more.read("root://root/a/b/c.txt")), "not-granted");
    }
    let more = Roots::builder().root(tree.root(), Access::List).named("in", tree.root().join("a"), Access::Read).open().unwrap();
    assert_eq!(more.read_to_string(tree.expand("$ROOT/a/b/c.txt")).unwrap(), "C");
    // Out of the inner root by `..`: the path is the outer root's, and so is the access.
    assert_eq!(code(more.read(tree.expand("$ROOT/a/../a/x"))), "not-granted");
    assert_eq!(code(more.metadata(tree.expand("$ROOT/a/.."))), "ok");
}

#[test]
fn an_absent_root_is_picked_up_and_stops_nothing() {
    let tree = tree();
    for way in [Way::Fast, Way::Walk] {
        let late = tree.base().join("late/deep");
        let roots = support::builder(way).root(tree.root(), Access::Read).named("late", &late, Access::Read).open().unwrap();
        assert_eq!(roots.read_to_string("a/x").unwrap(), "X");
        assert_eq!(code(roots.read("root://late/f")), "root-absent");
        assert_eq!(code(roots.read(late.join("f").to_str().unwrap())), "root-absent");
        assert!(roots.list().nth(1).unwrap().is_absent());
        fs::create_dir_all(&late).unwrap();
        fs::write(late.join("f"), "LATE").unwrap();
        assert_eq!(roots.read_to_string("root://late/f").unwrap(), "LATE");
        assert!(!roots.list().nth(1).unwrap().is_absent());
        // Held from then on: another directory of that name is not it.
        fs::rename(tree.base().join("late"), tree.base().join("moved")).unwrap();
        fs::create_dir_all(&late).unwrap();
        fs::write(late.join("f"), "ANOTHER").unwrap();
        assert_eq!(roots.read_to_string("root://late/f").unwrap(), "LATE");
        fs::remove_dir_all(tree.base().join("late")).unwrap();
        fs::remove_dir_all(tree.base().join("moved")).unwrap();
    }
}

/// Catches: picking an absent root up by its path, so that whoever plants a link there chooses what is served.
#[test]
fn a_planted_link_is_not_an_absent_root() {
    let tree = tree();
    let late = tree.base().join("late");
    let roots = Roots::builder().named("late", late.join("deep"), Access::Read).open().unwrap();
    symlink("other", &late).unwrap();
    fs::create_dir(tree.base().join("other/deep")).unwrap();
    assert_eq!(code(roots.read_dir("root://late/")), "root-absent");
    fs::remove_file(&late).unwrap();
    fs::create_dir(&late).unwrap();
    symlink("../other", late.join("deep")).unwrap();
    assert_eq!(code(roots.read_dir("root://late/")), "root-absent");
}

/// Who may write where an absent root would appear could choose what appears.
#[test]
fn an_absent_root_below_a_writable_one_stays_absent() {
    let tree = tree();
    for (access, want) in [(Access::Write, "root-absent"), (Access::Read, "ok")] {
        let late = tree.root().join("late");
        let roots = Roots::builder().root(tree.root(), access).named("late", &late, Access::Write).open().unwrap();
        fs::create_dir(&late).unwrap();
        assert_eq!(code(roots.read_dir("root://late/")), want, "{access}");
        fs::remove_dir(&late).unwrap();
    }
}

#[test]
fn all_forms_of_a_path_lead_to_the_same_file() {
    let tree = tree();
    for way in [Way::Fast, Way::Walk] {
        let roots = roots(&tree, way);
        for path in
            ["a/x", "./a//x", "a/up", "a/b/../x", "a/b/far", "root://root/a/x", "ROOT://root/a/%78", "$ROOT/a/x", "$ROOT//a/./x"]
        {
            assert_eq!(roots.read_to_string(tree.expand(path)).unwrap(), "X", "{path}");
        }
        assert_eq!(roots.uri(tree.expand("$ROOT/a/x y")).unwrap(), "root://root/a/x%20y");
        assert_eq!(code(roots.uri("/etc")), "outside-roots");
    }
}

#[test]
fn entries_open_through_the_directory_that_was_listed() {
    let tree = tree();
    for way in [Way::Fast, Way::Walk] {
        let roots = roots(&tree, way);
        let entries: Vec<_> = roots.read_dir("a").unwrap().map(Result::unwrap).collect();
        let find = |name: &str| entries.iter().find(|entry| entry.name() == name).unwrap();
        // The directory gets another name, and another one gets its name: the entries are still those that were listed.
        fs::rename(tree.root().join("a"), tree.root().join("z")).unwrap();
        fs::create_dir(tree.root().join("a")).unwrap();
        fs::write(tree.root().join("a/x"), "ANOTHER").unwrap();
        assert_eq!(find("x").read_to_string().unwrap(), "X");
        assert_eq!(find("b").open_dir().unwrap().read_to_string("c.txt").unwrap(), "C");
        assert_eq!(find("x").metadata().unwrap().len(), 1);
        assert_eq!(find("x").uri(), "root://root/a/x");
        // A link is walked from the root, by names, as they are now.
        assert_eq!(find("up").read_to_string().unwrap(), "ANOTHER");
        fs::remove_dir_all(tree.root().join("a")).unwrap();
        fs::rename(tree.root().join("z"), tree.root().join("a")).unwrap();
    }
}

/// A directory is a capability for what is below it: its own floor, also for links and for entries.
#[test]
fn a_directory_is_its_own_floor() {
    let tree = Tree::build([
        "file d/e/x=X",
        "file y=Y",
        "link d/e/up -> ../../y",
        "link d/e/abs -> $ROOT/y",
        "link d/e/abs-in -> $ROOT/d/e/x",
        "link d/e/in -> ../e/x",
        "link d/e/here -> ./x",
    ])
    .unwrap();
    for way in [Way::Fast, Way::Walk] {
        let roots = roots(&tree, way);
        let dir = roots.open_dir("d/e").unwrap();
        assert_eq!(dir.read_to_string("x").unwrap(), "X");
        assert_eq!(dir.read_to_string("here").unwrap(), "X");
        assert_eq!(dir.read_to_string("abs-in").unwrap(), "X");
        for path in ["up", "abs", "in", "..", "../e/x", "/", ""] {
            assert_ne!(code(dir.read(path)), "ok", "{path} {way:?}");
        }
        for entry in dir.entries().unwrap().map(Result::unwrap) {
            let inside = ["x", "here", "abs-in"].contains(&entry.name().to_str().unwrap());
            assert_eq!(code(entry.read()), if inside { "ok" } else { "outside-roots" }, "{:?} {way:?}", entry.name());
        }
        // By the roots themselves the same links lead where they lead.
        for entry in roots.read_dir("d/e").unwrap().map(Result::unwrap) {
            assert_eq!(code(entry.read()), "ok", "{:?} {way:?}", entry.name());
        }
        assert_eq!(roots.open_dir("d").unwrap().open_dir("e").unwrap().uri(), "root://root/d/e");
    }
}

/// CHECK-AT-USE: everything that came from the set ends with it.
#[test]
fn revoking_ends_clones_directories_entries_and_files() {
    let tree = tree();
    let roots = roots(&tree, Way::Fast);
    let (clone, dir, mut file) = (roots.clone(), roots.open_dir("a").unwrap(), roots.open("a/x").unwrap());
    let (entry, mut listing) = (roots.read_dir("a").unwrap().next().unwrap().unwrap(), roots.read_dir("a").unwrap());
    roots.revoke();
    assert_eq!(code(clone.read("a/x")), "revoked");
    assert_eq!(code(clone.metadata("../../etc")), "revoked");
    assert_eq!(code(dir.read("x")), "revoked");
    assert_eq!(code(entry.metadata()), "revoked");
    assert_eq!(code(listing.next().unwrap()), "revoked");
    assert_eq!(code(file.metadata()), "revoked");
    assert_eq!(code(file.read_all(9)), "revoked");
    for error in [file.read(&mut [0]).unwrap_err(), file.seek(SeekFrom::Start(0)).map(|_| ()).unwrap_err()] {
        assert_eq!(error.downcast::<cap_roots::Error>().unwrap().code(), "revoked");
    }
}

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Observer for Log {
    fn observe(&self, event: &Event<'_>) {
        let outcome = event.outcome().map_or_else(|kind| kind.code(), |()| "ok");
        let path = event.path().to_string_lossy();
        self.0.lock().unwrap().push(format!("{} {} {path} {outcome}", event.operation().name(), event.root().unwrap_or("-")));
    }
}

#[test]
fn the_observer_hears_of_each_operation_once() {
    let tree = tree();
    let log = Arc::new(Log::default());
    let roots = Roots::builder().named("r", tree.root(), Access::List).observer(log.clone()).open().unwrap();
    let _ = (roots.metadata("a/x"), roots.read("a/x"), roots.read("/etc/passwd"), roots.exists("a/none"));
    let _ = roots.read_dir("a").unwrap().map(|entry| entry.unwrap().metadata()).collect::<Vec<_>>();
    let log = log.0.lock().unwrap();
    assert_eq!(
        log[..5],
        [
            "metadata r a/x ok",
            "open r a/x not-granted",
            "open - /etc/passwd outside-roots",
            "metadata r a/none not-found",
            "read_dir r a ok",
        ]
    );
    assert_eq!(log.len(), 8);
    assert!(log[5..].iter().all(|line| line.starts_with("symlink_metadata r a/") && line.ends_with(" ok")), "{log:?}");
}

#[test]
fn a_verdict_is_explained_without_touching_the_disk() {
    let tree = tree();
    let roots = Roots::builder().named("r", tree.root(), Access::List).open().unwrap();
    let explained = roots.explain("a/missing", Operation::Open);
    assert_eq!(explained.to_string(), "open needs read; root \"r\" grants list; root://r/a/missing: refused, not-granted");
    assert_eq!(roots.explain("a", Operation::ReadDir).verdict(), Ok(()));
    assert_eq!(roots.explain("/etc", Operation::ReadDir).root(), None);
}

/// OWN-16: more entries than descriptors.
#[test]
fn a_listing_holds_one_descriptor_whatever_its_size() {
    let tree = tree();
    fs::create_dir(tree.root().join("many")).unwrap();
    for number in 0..1_500 {
        fs::write(tree.root().join(format!("many/{number}")), "").unwrap();
    }
    let roots = roots(&tree, Way::Fast);
    let count = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = count();
    let entries: Vec<_> = roots.read_dir("many").unwrap().map(Result::unwrap).collect();
    assert_eq!(entries.len(), 1_500);
    // Other tests of this binary open files meanwhile; 1,500 would show.
    assert!(count() < before + 200);
}
