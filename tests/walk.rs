//! Going through trees, copying and removing them: with few descriptors, by handles, each directory once, and with an end.
//!
//! Catches: a descriptor for each level or entry, a recursion, a walk through links, an unreadable directory that ends everything or is passed over
//! in silence, limits without a mark, entries opened by their paths.

#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use cap_roots::{Access, Copied, Cut, Entry, FileType, Roots, Walk};
use cap_roots_oracle::tree::Tree;
use rustix::process::{Resource, Rlimit, setrlimit};
use support::writing::picture;
use support::{Way, builder, code, privilege, roots};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];
/// Set for a process that works with few descriptors: what it has to do, and in which directory.
const WORK: &str = "CAP_ROOTS_TEST_WORK";
const AT: &str = "CAP_ROOTS_TEST_AT";

const LEVELS: usize = 400;
const WIDE: usize = 10_000;
const DIRS: usize = 100;
const EACH: usize = 100;

/// 20,000 files, and 400 directories one in the other with a file in each, all in `t`.
fn large() -> Tree {
    let tree = Tree::build(["dir t/wide", "dir t/deep"]).unwrap();
    for number in 0..WIDE {
        fs::write(tree.root().join(format!("t/wide/{number}")), "").unwrap();
    }
    for dir in 0..DIRS {
        let at = tree.root().join(format!("t/many/{dir}"));
        fs::create_dir_all(&at).unwrap();
        (0..EACH).for_each(|number| fs::write(at.join(number.to_string()), "1").unwrap());
    }
    let mut at = tree.root().join("t/deep");
    for _ in 0..LEVELS {
        at.push("d");
        fs::create_dir(&at).unwrap();
        fs::write(at.join("f"), "22").unwrap();
    }
    tree
}

const FILES: usize = WIDE + DIRS * EACH + LEVELS;
/// Below `t`: `wide`, `many`, `deep`.
const BELOW: usize = 3 + DIRS + LEVELS;

/// Runs this very test again in a process of its own.
fn with_few_descriptors(test: &str, work: &str, at: &Path) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--include-ignored", "--test-threads=1"])
        .env(WORK, work)
        .env(AT, at)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{work}: {told}{}", String::from_utf8_lossy(&output.stderr));
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn large_and_deep_trees_need_few_descriptors() {
    let test = "large_and_deep_trees_need_few_descriptors";
    let Some(work) = std::env::var_os(WORK) else {
        for way in ["fast", "walk"] {
            let tree = large();
            for work in ["walk", "leak", "copy", "remove"] {
                with_few_descriptors(test, &format!("{way} {work}"), &tree.root());
            }
            assert_eq!(fs::read_dir(tree.root()).unwrap().count(), 0);
        }
        return;
    };
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
    let work = work.into_string().unwrap();
    let (way, work) = work.split_once(' ').unwrap();
    let way = if way == "fast" { Way::Fast } else { Way::Walk };
    let roots = builder(way).named("r", std::env::var_os(AT).unwrap(), Access::Write).open().unwrap();
    let before = descriptors();
    match work {
        "walk" => {
            let mut walk = roots.walk("t").unwrap();
            let (mut files, mut dirs, mut longest) = (0, 0, 0);
            for entry in walk.by_ref() {
                let entry = entry.unwrap();
                longest = longest.max(entry.uri().matches("/d").count());
                if entry.file_type() == FileType::Dir {
                    dirs += 1
                } else {
                    files += 1
                }
                assert!(descriptors() < 50);
            }
            assert_eq!((files, dirs, walk.cut()), (FILES, BELOW, None));
            assert!(longest >= LEVELS);
        }
        "leak" => {
            for steps in [1, 50, 300, 15_000, 21_000] {
                let mut walk = roots.walk("t").unwrap();
                assert_eq!(walk.by_ref().take(steps).filter(|entry| entry.is_err()).count(), 0);
                drop(walk);
                assert_eq!(descriptors(), before, "dropped after {steps}");
            }
        }
        "copy" => {
            let Copied { files, dirs, bytes, skipped, .. } = roots.copy("t", "copied").unwrap();
            let made = [files, dirs, bytes, skipped].map(|count| usize::try_from(count).unwrap());
            assert_eq!(made, [FILES, BELOW + 1, DIRS * EACH + LEVELS * 2, 0]);
            assert_eq!(roots.walk("copied").unwrap().filter(Result::is_ok).count(), FILES + BELOW);
        }
        _ => {
            for tree in ["t", "copied"] {
                roots.remove_dir_all(tree).unwrap();
            }
        }
    }
    assert_eq!(descriptors(), before);
}

fn shown(walk: Walk) -> (Vec<String>, Option<Cut>) {
    let mut walk = walk;
    let mut names: Vec<_> = walk.by_ref().map(|entry| entry.unwrap().uri().replace("root://root/", "")).collect();
    names.sort();
    (names, walk.cut())
}

/// WALK-01: a limit leaves out, and says so; one that is not reached says nothing.
#[test]
fn limits_are_told() {
    let tree = Tree::build(["file a/b/c/d=D", "file a/b/e=E", "file f=F", "dir empty"]).unwrap();
    for way in WAYS {
        let roots = roots(&tree, way);
        let walk = || roots.walk(".").unwrap();
        let all = ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/e", "empty", "f"];
        assert_eq!(shown(walk()), (all.map(String::from).to_vec(), None));
        assert_eq!(shown(walk().max_entries(7)), (all.map(String::from).to_vec(), None), "exactly as many");
        for most in 0..7 {
            let (names, cut) = shown(walk().max_entries(most));
            assert_eq!((names.len(), cut), (most, Some(Cut::Entries)));
        }
        assert_eq!(shown(walk().max_depth(4)).1, None);
        for (depth, count) in [(1, 3), (2, 4), (3, 6)] {
            let (names, cut) = shown(walk().max_depth(depth));
            assert_eq!((names.len(), cut), (count, Some(Cut::Depth)), "{depth}");
        }
        let bytes = all.map(str::len).iter().sum::<usize>() as u64;
        assert_eq!(shown(walk().max_bytes(bytes)).1, None);
        assert_eq!(shown(walk().max_bytes(bytes - 1)).1, Some(Cut::Bytes));
        assert_eq!(shown(walk().max_bytes(0)), (Vec::new(), Some(Cut::Bytes)));
        assert_eq!(shown(roots.walk("a/b/c").unwrap()), (vec!["a/b/c/d".to_owned()], None));
        assert_eq!(code(roots.walk("f")), "not-a-directory");
        assert_eq!(code(roots.walk("none")), "not-found");
    }
}

#[test]
fn a_depth_of_nothing_shows_nothing() {
    let tree = Tree::build(["file a/b=B"]).unwrap();
    assert_eq!(shown(roots(&tree, Way::Fast).walk(".").unwrap().max_depth(0)).0, Vec::<String>::new());
}

#[test]
fn bytes_are_of_the_paths_below_the_directory() {
    let tree = Tree::build(["file long/way/down/a=A", "file long/way/down/b=B"]).unwrap();
    let roots = roots(&tree, Way::Fast);
    let below = roots.within("long/way/down").unwrap().walk(".").unwrap().max_bytes(2);
    assert_eq!(shown(below).1, None);
    assert_eq!(shown(roots.walk("long/way/down").unwrap().max_bytes(2)).1, None);
}

/// OWN-17. Catches: links that are walked, once or without an end.
#[test]
fn each_directory_is_entered_once_and_links_never() {
    let lines =
        ["link l1 -> .", "link l2 -> .", "file d/f=F", "link d/up -> ..", "link d/out -> ../../out", "link abs -> $ROOT/d"];
    let tree = Tree::build(lines.iter().chain(&["file ../out/secret=SECRET", "fifo p", "sock s"])).unwrap();
    for way in WAYS {
        let roots = roots(&tree, way);
        let (names, cut) = shown(roots.walk(".").unwrap());
        assert_eq!(
            (names.as_slice(), cut),
            (["abs", "d", "d/f", "d/out", "d/up", "l1", "l2", "p", "s"].map(String::from).as_slice(), None)
        );
        assert_eq!(shown(roots.walk("l1/l2/").unwrap()).0.len(), 9, "asked for by its name, a link is followed");
        let links = roots.walk(".").unwrap().filter(|entry| entry.as_ref().unwrap().file_type() == FileType::Symlink);
        assert_eq!(links.count(), 5);
        let copied = roots.copy("d", "d2").unwrap();
        assert_eq!((copied.files, copied.dirs, copied.skipped), (1, 1, 2));
        assert_eq!(code(roots.remove_dir_all("d2")), "ok");
    }
    let roots = roots(&tree, Way::Fast);
    roots.create_dir("all").unwrap();
    for name in ["l1", "l2", "d", "abs", "p", "s"] {
        roots.rename(name, format!("all/{name}")).unwrap();
    }
    assert_eq!(roots.copy("all", "all2").unwrap().skipped, 7);
    roots.remove_dir_all("all").unwrap();
    assert_eq!(fs::read_to_string(tree.base().join("out/secret")).unwrap(), "SECRET");
    assert_eq!(shown(roots.walk(".").unwrap()).0, ["all2", "all2/d", "all2/d/f"]);
}

/// WALK-08: one directory that cannot be read is one error, which names it in the caller's words; if it is the one that was asked for, the
/// call fails.
#[test]
fn an_unreadable_directory_is_one_error_and_the_walk_goes_on() {
    privilege::drop_override();
    // Closed, not to be listed, not to be searched.
    for mode in ["000", "300", "400"] {
        let tree =
            Tree::build(["file a/f=F", "file shut/s=S", "file z/f=F", "dir z/shut/x", &format!("mode {mode} shut")]).unwrap();
        for way in WAYS {
            let roots = roots(&tree, way);
            let (entries, errors): (Vec<_>, Vec<_>) = roots.walk(".").unwrap().partition(Result::is_ok);
            let mut names: Vec<_> = entries.into_iter().map(|entry| entry.unwrap().uri().replace("root://root/", "")).collect();
            names.sort();
            assert_eq!(names, ["a", "a/f", "shut", "z", "z/f", "z/shut", "z/shut/x"], "{mode} {way:?}");
            assert_eq!(errors.len(), 1, "{mode} {way:?}");
            let error = errors.into_iter().next().unwrap().unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(told.contains("root://root/shut") && !told.contains(tree.base().to_str().unwrap()), "{told}");
            let before = picture(tree.base(), true);
            for outcome in
                [error.code(), code(roots.walk("shut")), code(roots.copy("shut", "c")), code(roots.remove_dir_all("shut"))]
            {
                assert_eq!(outcome, "os-denied", "{mode} {way:?}");
            }
            assert_eq!(picture(tree.base(), true), before);
        }
    }
}

fn find<'a>(entries: &'a [Entry], end: &str) -> &'a Entry {
    entries.iter().find(|entry| entry.uri().ends_with(end)).unwrap()
}

#[test]
fn entries_of_a_walk_open_through_the_directory_that_they_were_seen_in() {
    for way in WAYS {
        let tree = Tree::build(["file a/b/f=F", "link a/b/l -> f", "link a/b/up -> ../../g", "file g=G", "file ../out/b/f=OUT"])
            .unwrap();
        let roots = roots(&tree, way);
        let entries: Vec<_> = roots.walk(".").unwrap().map(Result::unwrap).collect();
        fs::rename(tree.root().join("a"), tree.base().join("moved")).unwrap();
        symlink("../out", tree.root().join("a")).unwrap();
        assert_eq!(find(&entries, "a/b/f").read_to_string().unwrap(), "F");
        assert_eq!(find(&entries, "a/b/l").read_to_string().unwrap(), "F");
        assert_eq!(find(&entries, "a/b").open_dir().unwrap().read_to_string("f").unwrap(), "F");
        assert_eq!(find(&entries, "a/b/f").metadata().unwrap().len(), 1);
        // By names from the root again, which lead out now.
        assert_eq!(code(find(&entries, "a/b/up").read()), "outside-roots");
        assert_eq!(code(find(&entries, "/a").read_dir()), "outside-roots");
    }
}

/// RACE-02, without a race: a directory is exchanged for a link between being shown and being entered.
#[test]
fn a_directory_that_becomes_a_link_is_not_entered() {
    for way in WAYS {
        let tree = Tree::build(["file d/f=F", "file ../out/secret=OUT"]).unwrap();
        let roots = roots(&tree, way);
        let mut walk = roots.walk(".").unwrap();
        assert_eq!(walk.next().unwrap().unwrap().name(), "d");
        fs::rename(tree.root().join("d"), tree.base().join("moved")).unwrap();
        symlink("../out", tree.root().join("d")).unwrap();
        assert_eq!(walk.map(|entry| entry.unwrap().uri()).collect::<Vec<_>>(), Vec::<String>::new());
        // A removal that finds a link where a directory was takes the link.
        assert_eq!(code(roots.remove_dir_all("d")), "ok");
        assert_eq!(fs::read_to_string(tree.base().join("out/secret")).unwrap(), "OUT");
    }
}

/// A walk of a directory, of a narrowed set and under rules shows what the listing of each directory shows.
#[test]
fn a_walk_shows_what_listings_show() {
    fn list(roots: &Roots, at: &str, found: &mut Vec<String>) {
        for entry in roots.read_dir(at).unwrap().map(Result::unwrap) {
            found.push(entry.uri());
            if entry.file_type() == FileType::Dir {
                list(roots, &entry.uri(), found);
            }
        }
    }
    let tree = Tree::build([
        "file a/.env=S",
        "file a/build/o=O",
        "file a/b/c/f=F",
        "file a/b/build=F",
        "link a/b/l -> c",
        "dir a/list/x",
    ])
    .unwrap();
    for way in WAYS {
        let builder =
            builder(way).named("root", tree.root(), Access::Read).rule(".env", Access::None).rule("build/", Access::None);
        let roots = builder.rule("list", Access::List).rule("/a/b/c/**", Access::None).open().unwrap();
        let mut listed = Vec::new();
        list(&roots, "a", &mut listed);
        listed.sort();
        let sorted = |walk: Walk| {
            let mut uris: Vec<_> = walk.map(|entry| entry.unwrap().uri()).collect();
            uris.sort();
            uris
        };
        assert_eq!(sorted(roots.walk("a").unwrap()), listed);
        assert_eq!(sorted(roots.open_dir("a").unwrap().walk(".").unwrap()), listed);
        assert_eq!(sorted(roots.within("a").unwrap().walk(".").unwrap()), listed);
        assert_eq!(listed.len(), 6, "{listed:?}");
    }
}

/// Catches: the order of the disk, in which nothing can go on where it stopped; a depth that is not the entry's; a directory that is passed over
/// and entered all the same, or opened for it.
#[test]
fn the_order_is_that_of_names_and_a_directory_can_be_passed_over() {
    let tree =
        Tree::build(["file a/b=1", "file a/c/d=1", "file a-b=1", "file Z=1", "dir x/closed", "file x/closed/f=1", "file y=1"])
            .unwrap();
    for way in WAYS {
        let roots = roots(&tree, way);
        let mut walk = roots.walk(".").unwrap();
        let mut seen = Vec::new();
        assert_eq!(walk.depth(), 0);
        while let Some(entry) = walk.next() {
            let entry = entry.unwrap();
            seen.push((walk.depth(), entry.name().to_str().unwrap().to_owned()));
            if entry.name() == "closed" {
                fs::remove_dir_all(tree.root().join("x/closed")).unwrap();
                walk.skip_dir();
            }
        }
        fs::create_dir(tree.root().join("x/closed")).unwrap();
        fs::write(tree.root().join("x/closed/f"), "1").unwrap();
        let seen: Vec<_> = seen.iter().map(|(depth, name)| (*depth, name.as_str())).collect();
        let want = [(1, "Z"), (1, "a"), (2, "b"), (2, "c"), (3, "d"), (1, "a-b"), (1, "x"), (2, "closed"), (1, "y")];
        assert_eq!(seen, want);
    }
}
