//! Grants become roots: names, spellings, nesting, absence, revocation.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use cap_roots::{Access, Event, Grant, Observer, Operation, Roots};
use cap_roots_oracle::tree::Tree;
use support::{Way, code, tree};

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
    assert!(error.to_string().ends_with("is not a directory: it is a file; name a directory"), "{error}");
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

/// Catches: an inner grant that the outer one's name walks around, and one that takes the outer one's access.
#[test]
fn an_inner_root_with_less_access_is_a_rule_and_with_more_is_its_own() {
    let tree = tree();
    symlink("ROOT/a/b", tree.base().join("alias")).unwrap();
    for inner in ["ROOT/a", "ROOT/a/b", "alias"] {
        let inner = tree.base().join(inner);
        for swapped in [false, true] {
            let outer = |builder: cap_roots::Builder| builder.root(tree.root(), Access::Write);
            let less = |builder: cap_roots::Builder| builder.named("in", &inner, Access::List);
            let roots = if swapped { outer(less(Roots::builder())) } else { less(outer(Roots::builder())) }.open().unwrap();
            assert_eq!(code(roots.read("root://root/a/b/c.txt")), "protected", "{swapped}");
            assert_eq!(code(roots.metadata("root://root/a/b/c.txt")), "ok");
            assert_eq!(code(roots.rename("root://root/a", "root://root/z")), "protected");
            let info = roots.list().find(|root| root.name() == "in").unwrap();
            assert_eq!(info.inside(), Some("root"));
        }
        let more = Roots::builder().root(tree.root(), Access::List).named("in", &inner, Access::Read).open().unwrap();
        assert_eq!(code(more.read("root://root/a/b/c.txt")), "not-granted");
        assert_eq!(more.list().nth(1).unwrap().inside(), None);
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

/// A directory is a capability for what is below it: its own floor, also for links and for entries.
/// CHECK-AT-USE: everything that came from the set ends with it.
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
    assert_eq!(explained.to_string(), "open needs read; root \"r\" grants list: refused, not-granted");
    assert_eq!(roots.explain("a", Operation::ReadDir).verdict(), Ok(()));
    assert_eq!(roots.explain("/etc", Operation::ReadDir).root(), None);
}

/// OWN-16: more entries than descriptors.
/// Catches: routing by a folded text although another root's text fits to the letter.
#[test]
fn roots_that_only_their_unicode_form_tells_apart() {
    let tree = Tree::build([
        "file my docs/f=first",
        "file my\u{a0}docs/f=second",
        "file e\u{301}/f=nfd",
        "file \u{e9}/f=nfc",
        "link my docs/l -> $ROOT/my\u{a0}docs/f",
    ])
    .unwrap();
    let at = |path: &str| tree.root().join(path);
    let read = |roots: &Roots, path: &str| roots.read_to_string(at(path).to_str().unwrap());
    for (one, other) in [("my docs", "my\u{a0}docs"), ("e\u{301}", "\u{e9}")] {
        let both = Roots::builder().root(at(one), Access::Read).root(at(other), Access::Read).open().unwrap();
        for dir in [one, other] {
            let path = format!("{dir}/f");
            assert_eq!(read(&both, &path).unwrap(), fs::read_to_string(at(&path)).unwrap(), "{path}");
        }
    }
    let first = Roots::builder().root(at("my docs"), Access::Read).open().unwrap();
    assert_eq!(code(read(&first, "my\u{a0}docs/f")), "outside-roots");
    assert_eq!(code(read(&first, "my docs/l")), "outside-roots", "a link's text is meant to the byte");
}

/// Catches: the depth of a link counted from the text of the path that its directory was listed by.
#[test]
fn directories_are_observed_and_redacted_as_roots_are() {
    let tree = tree();
    let log = Arc::new(Log::default());
    let builder = Roots::builder().named("r", tree.root(), Access::Read).hide_host_paths(true).read_limit(0);
    let roots = builder.observer(log.clone()).open().unwrap();
    let dir = roots.open_dir("a").unwrap();
    for path in ["/etc/passwd", "~/x", ""] {
        let error = dir.read(path).unwrap_err();
        assert!(path.is_empty() || !error.to_string().contains(path), "{error}");
    }
    assert!(dir.read("none").unwrap_err().to_string().contains("\"none\""));
    // An operation that fails after its handle was opened has failed.
    assert_eq!(code(roots.read("a/x")), "too-large");
    let log = log.0.lock().unwrap();
    assert_eq!(
        log[..],
        [
            "open_dir r a ok",
            "open - /etc/passwd outside-roots",
            "open - ~/x outside-roots",
            "open -  invalid-path",
            "open r a/none not-found",
            "open r a/x too-large",
        ]
    );
}

/// Absent roots are compared by the names that are missing below the same directory.
#[test]
fn absent_roots_are_checked_as_present_ones_are() {
    let tree = tree();
    let at = |path: &str| tree.base().join(path);
    let open = |inner: &str, access| {
        Roots::builder()
            .named("high", at("later"), Access::Read)
            .named("other", at(inner), access)
            .open()
            .map_err(|error| error.to_string())
    };
    assert!(open("later", Access::Read).unwrap_err().contains("the same directory as root \"high\""));
    assert!(open("ROOT/../later", Access::Read).unwrap_err().contains("the same directory as root \"high\""));
    let inside = |inner, access| open(inner, access).unwrap().list().nth(1).unwrap().inside().map(str::to_owned);
    assert_eq!(inside("later/in", Access::List).as_deref(), Some("high"));
    assert_eq!(inside("later/in", Access::Read), None);
    assert_eq!(inside("later2", Access::List), None);
    let roots = open("later/in", Access::List).unwrap();
    assert_eq!(code(roots.read("root://high/in/f")), "protected", "a rule on a place that is not there yet");
}

/// A root that was there and was removed stays absent, whatever takes its name.
#[test]
fn a_removed_root_is_absent() {
    let tree = tree();
    for way in [Way::Fast, Way::Walk] {
        let dir = tree.base().join("gone");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("f"), "").unwrap();
        let roots = support::builder(way).root(&dir, Access::Read).open().unwrap();
        let opened = roots.open_dir(".").unwrap();
        assert_eq!(code(roots.read("f")), "ok");
        fs::remove_dir_all(&dir).unwrap();
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("f"), "").unwrap();
        assert!(roots.list().next().unwrap().is_absent());
        let on_root = [code(roots.read_dir(".")), code(roots.metadata(".")), code(roots.open_dir("."))];
        for outcome in [code(roots.read("f")), code(roots.metadata("f")), code(opened.read("f"))].into_iter().chain(on_root) {
            assert_eq!(outcome, "root-absent", "{way:?}");
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}

/// While an inner root is missing, its place is the outer one's; and what appears is known by both of its spellings.
#[test]
fn a_missing_root_hides_nothing_and_has_both_spellings() {
    let tree = Tree::build(["dir real", "link link -> real"]).unwrap();
    let at = |path: &str| tree.root().join(path);
    let late = at("link/late");
    let roots = Roots::builder().named("outer", tree.root(), Access::Write).named("late", &late, Access::Write).open().unwrap();
    fs::create_dir(at("real/late")).unwrap();
    fs::write(at("real/late/f"), "F").unwrap();
    // Whoever may write there could choose what appears, so the inner root stays absent and the outer one serves the place.
    assert_eq!(code(roots.read("root://late/f")), "root-absent");
    assert_eq!(roots.read_to_string(at("real/late/f").to_str().unwrap()).unwrap(), "F");
    fs::remove_dir_all(at("real/late")).unwrap();
    let alone = Roots::builder().named("late", &late, Access::Read).open().unwrap();
    fs::create_dir(at("real/late")).unwrap();
    fs::write(at("real/late/f"), "F").unwrap();
    for path in ["link/late/f", "real/late/f"] {
        assert_eq!(alone.read_to_string(at(path).to_str().unwrap()).unwrap(), "F", "{path}");
    }
}

/// Catches: a directory that is shown by a text that is then not taken back, since nobody can tell by text where `..` leads.
#[test]
fn a_root_given_with_dot_dot_is_known_by_the_path_that_is_shown() {
    let tree = tree();
    let base = fs::canonicalize(tree.base()).unwrap();
    let roots = Roots::builder().root(tree.root().join("a/b/../../../ROOT/a"), Access::Read).open().unwrap();
    let shown = roots.list().next().unwrap().host_path();
    assert_eq!(shown, base.join("ROOT/a"));
    assert_eq!(roots.read_to_string(shown.join("x").to_str().unwrap()).unwrap(), "X");
}

/// A link in a root that may be written chooses where another root is when that is opened anew: it is told, and not taken from a client.
#[test]
fn a_root_that_is_named_through_another_one_is_told() {
    let tree =
        Tree::build(["dir ws/real", "dir other", "link ws/current -> real", "link by -> ws", "link plain -> other"]).unwrap();
    let at = |path: &str| tree.root().join(path);
    let through = |path: &str, access: Access| {
        let builder = || Roots::builder().named("ws", at("ws"), access).named("x", at(path), Access::Read);
        let told = builder().open().unwrap().list().nth(1).unwrap().named_through().map(str::to_owned);
        (told, code(builder().named_by_client().open()))
    };
    let ws = || Some("ws".to_owned());
    for (path, access, told, taken) in [
        ("ws/current", Access::Write, ws(), "invalid-argument"),
        ("by/current", Access::Write, ws(), "invalid-argument"),
        ("ws/real", Access::Write, None, "ok"),
        ("ws/current", Access::Read, None, "ok"),
        ("plain", Access::Write, None, "ok"),
        ("by/real", Access::Write, None, "ok"),
    ] {
        assert_eq!(through(path, access), (told, taken), "{path} {access}");
    }
    let real = Roots::builder().root(at("ws/current"), Access::Read).open().unwrap().list().next().unwrap().real_path();
    assert_eq!(real, fs::canonicalize(at("ws/real")).unwrap());
    let top = Roots::builder().root("/", Access::Read);
    assert_eq!(
        (code(top.open()), code(Roots::builder().root("/", Access::Read).named_by_client().open())),
        ("ok", "invalid-argument")
    );
}

/// Catches: a directory that is granted twice, once with more; a grant that is lost and not told.
#[test]
fn a_grant_gives_way_to_the_one_before_it() {
    let tree = tree();
    let grant = |access| Grant::new(tree.root()).access(access);
    for (first, second) in [(Access::Read, Access::Write), (Access::Write, Access::Read)] {
        let roots = Roots::builder().grant(grant(first)).grant(grant(second).name("n").unless_granted()).open().unwrap();
        let left: Vec<_> = roots.list().map(|root| (root.name().to_owned(), root.access())).collect();
        assert_eq!(left, [("root".to_owned(), first)]);
        let told: Vec<_> = roots.list().map(|root| (root.position(), root.instead_of().to_vec())).collect();
        assert_eq!(told, [(0, vec![1])]);
        assert_eq!(code(Roots::builder().grant(grant(first)).grant(grant(second).name("n")).open()), "invalid-argument");
    }
    // Another directory of the same name stays.
    let roots = Roots::builder()
        .root(tree.root(), Access::Read)
        .grant(Grant::new(tree.root().join("a")).unless_granted())
        .open()
        .unwrap();
    assert_eq!(roots.list().count(), 2);
}
