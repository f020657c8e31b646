//! The directory that the path leads through, or one above it, changes places with a link to outside or a directory from there.

use std::fs;
use std::io::Write;

use cap_roots::{Error, Roots};
use cap_roots_oracle::poison::CANARY;

use crate::support::race::{Held, Outcomes, Race, Worker, exchange};
use crate::support::{Way, code};
use crate::{Stage, WAYS};

/// Fewest times that each side of an exchange is met.
const HITS: usize = 100;
/// Fewest operations during which an exchange was made.
const MET: usize = 100;
/// Fewest operations of each race.
const LEAST: usize = 1_000;

struct Swap {
    name: &'static str,
    names: [&'static str; 2],
    /// The directory that is worked in.
    dir: &'static str,
}

const SWAPS: [Swap; 2] = [
    Swap { name: "directory", names: ["a/b", "a/evil"], dir: "a/b" },
    Swap { name: "ancestor", names: ["x", "evil"], dir: "x/y/z" },
];

const LINES: [&str; 2] = ["link a/evil -> ../../outside", "link evil -> $BASE/outside"];

/// What two threads work with, each on names of its own.
struct Scene<'a> {
    roots: &'a Roots,
    dir: &'static str,
    /// The directory that is meant.
    inside: &'a Held,
    number: usize,
}

impl Scene<'_> {
    fn path(&self, name: &str) -> String {
        format!("{}/{name}-{}", self.dir, self.number)
    }

    /// What has that name in the directory that is meant.
    fn real(&self, name: &str) -> std::path::PathBuf {
        self.inside.at(&format!("{name}-{}", self.number))
    }

    fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.real(name)).is_ok()
    }
}

/// Races `operate` on both ways against both exchanges; `at_end` sees what is inside and how often it was done.
fn on_both_sides(
    operation: &str,
    operate: impl Fn(&Scene<'_>, &mut u64) -> Result<(), Error> + Sync,
    at_end: impl Fn(&Held, &Outcomes),
) {
    for (way_name, way) in WAYS {
        for swap in &SWAPS {
            let files = ["file-0", "file-1", "log-0", "log-1"].map(|name| format!("file {}/{name}=", swap.dir));
            let tree = [format!("file {}/tree/d/file=inside", swap.dir), format!("file {}/tree/file=inside", swap.dir)];
            let lines: Vec<&str> = files.iter().chain(&tree).map(String::as_str).chain(LINES).chain(["dir out"]).collect();
            let stage = Stage::new(way, &lines);
            let inside = stage.hold(swap.dir);
            let names = swap.names.map(|name| stage.path(name));
            let name = format!("{operation}, {way_name}, {}", swap.name);
            let race = Race { name, allowed: &[("ok", HITS), ("outside-roots", HITS)], least: LEAST, met: MET };
            let workers = (0..2).map(|number| {
                let scene = Scene { roots: &stage.roots, dir: swap.dir, inside: &inside, number };
                let (operate, mut done) = (&operate, 0);
                Box::new(move || code(operate(&scene, &mut done))) as Worker<'_>
            });
            let outcomes = race.run(
                || exchange(&names),
                workers.collect(),
                |name| {
                    stage.check_outside(name);
                    stage.check_leftovers(name);
                },
            );
            at_end(&inside, &outcomes);
        }
    }
}

fn nothing_more(_: &Held, _: &Outcomes) {}

fn read(path: &std::path::Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn write() {
    let write = |scene: &Scene<'_>, done: &mut u64| {
        let text = format!("inside {done}");
        scene.roots.write(scene.path("file"), &text)?;
        *done += 1;
        assert_eq!(read(&scene.real("file")), text, "it was written elsewhere");
        Ok(())
    };
    on_both_sides("write", write, nothing_more);
}

#[test]
fn create_new() {
    let create = |scene: &Scene<'_>, _: &mut u64| {
        scene.roots.create_new(scene.path("new"))?.write_all(b"inside").unwrap();
        assert_eq!(read(&scene.real("new")), "inside");
        fs::remove_file(scene.real("new")).unwrap();
        Ok(())
    };
    on_both_sides("create_new", create, |inside, _| assert!(fs::metadata(inside.at("new-0")).is_err()));
}

#[test]
fn append() {
    let append = |scene: &Scene<'_>, _: &mut u64| scene.roots.append(scene.path("log"), b"line\n");
    on_both_sides("append", append, |inside, outcomes| {
        let lines: usize = ["log-0", "log-1"].map(|name| read(&inside.at(name)).lines().count()).iter().sum();
        assert_eq!(lines, outcomes["ok"], "a line is lost, or was added by a call that failed");
    });
}

#[test]
fn update() {
    let update = |scene: &Scene<'_>, _: &mut u64| {
        scene.roots.update(scene.path("log"), |mut old| {
            old.push(b'+');
            Ok(old)
        })
    };
    on_both_sides("update", update, |inside, outcomes| {
        let count: usize = ["log-0", "log-1"].map(|name| read(&inside.at(name)).len()).iter().sum();
        assert_eq!(count, outcomes["ok"]);
    });
}

#[test]
fn rename() {
    let rename = |scene: &Scene<'_>, done: &mut u64| {
        let mut ends = ["file", "renamed"];
        if *done % 2 == 1 {
            ends.reverse();
        }
        scene.roots.rename(scene.path(ends[0]), scene.path(ends[1]))?;
        *done += 1;
        assert!(!scene.has(ends[0]) && scene.has(ends[1]));
        Ok(())
    };
    on_both_sides("rename", rename, |inside, _| {
        for number in 0..2 {
            let names = ["file", "renamed"].map(|name| fs::metadata(inside.at(&format!("{name}-{number}"))).is_ok());
            assert_ne!(names[0], names[1], "the file has one of its names");
        }
    });
}

#[test]
fn remove_file() {
    let remove = |scene: &Scene<'_>, _: &mut u64| {
        fs::write(scene.real("file"), "inside").unwrap();
        let outcome = scene.roots.remove_file(scene.path("file"));
        assert_eq!(outcome.is_err(), scene.has("file"));
        outcome
    };
    on_both_sides("remove_file", remove, nothing_more);
}

#[test]
fn remove_dir_all() {
    let remove = |scene: &Scene<'_>, _: &mut u64| {
        fs::create_dir_all(scene.real("p").join("tree/d")).unwrap();
        for name in ["file", "tree/file", "tree/d/file"] {
            fs::write(scene.real("p").join(name), "inside").unwrap();
        }
        let outcome = scene.roots.remove_dir_all(scene.path("p"));
        assert_eq!(outcome.is_err(), scene.has("p"));
        outcome
    };
    on_both_sides("remove_dir_all", remove, nothing_more);
}

#[test]
fn create_dir_all() {
    let create = |scene: &Scene<'_>, _: &mut u64| {
        let path = scene.path("q");
        let outcome = scene.roots.create_dir_all(format!("{path}/r/s"));
        assert_eq!(outcome.is_ok(), scene.has("q"), "all of it or nothing: no name was in the way");
        if outcome.is_ok() {
            assert!(scene.real("q").join("r/s").is_dir());
            fs::remove_dir_all(scene.real("q")).unwrap();
        }
        outcome
    };
    on_both_sides("create_dir_all", create, nothing_more);
}

#[test]
fn copy_file() {
    let copy = |scene: &Scene<'_>, done: &mut u64| {
        if *done == 0 {
            fs::write(scene.real("file"), "inside").unwrap();
        }
        *done += 1;
        // From there to there, from there to a fixed place, and from a fixed place to there.
        let (from, to) = match *done % 3 {
            0 => (scene.path("file"), scene.path("copy")),
            1 => (scene.path("file"), format!("out/copy-{}", scene.number)),
            _ => ("out/file".to_owned(), scene.path("copy")),
        };
        if *done == 1 {
            scene.roots.write("out/file", "inside").unwrap();
        }
        scene.roots.copy(&from, &to)?;
        let copy = if to.starts_with("out") { scene.roots.read_to_string(&to).unwrap() } else { read(&scene.real("copy")) };
        assert_eq!(copy, "inside");
        if to.starts_with("out") {
            scene.roots.remove_file(&to).unwrap()
        } else {
            fs::remove_file(scene.real("copy")).unwrap()
        }
        Ok(())
    };
    on_both_sides("copy of a file", copy, nothing_more);
}

#[test]
fn copy_tree() {
    let copy = |scene: &Scene<'_>, _: &mut u64| {
        let copied = scene.roots.copy(format!("{}/tree", scene.dir), scene.path("copy"))?;
        assert_eq!((copied.files, copied.dirs, copied.skipped), (2, 2, 0));
        for name in ["file", "d/file"] {
            assert_eq!(read(&scene.real("copy").join(name)), "inside");
        }
        fs::remove_dir_all(scene.real("copy")).unwrap();
        Ok(())
    };
    on_both_sides("copy of a tree", copy, nothing_more);
}

#[test]
fn walk() {
    let walk = |scene: &Scene<'_>, _: &mut u64| {
        let mut seen = 0;
        for entry in scene.roots.walk(scene.dir)? {
            // The walk holds its directories: nothing above them matters any more.
            let entry = entry.unwrap();
            assert_ne!(entry.name(), "canary-name", "an outside directory was listed");
            if entry.file_type() == cap_roots::FileType::File {
                assert_ne!(entry.read_to_string().unwrap(), CANARY);
            }
            seen += 1;
        }
        assert_eq!(seen, 8);
        Ok(())
    };
    on_both_sides("walk", walk, nothing_more);
}

#[test]
fn set_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let set = |scene: &Scene<'_>, done: &mut u64| {
        let mode = [0o600, 0o604][usize::from(*done % 2 == 1)];
        scene.roots.set_permissions(scene.path("file"), mode)?;
        *done += 1;
        assert_eq!(fs::metadata(scene.real("file")).unwrap().permissions().mode() & 0o777, mode);
        Ok(())
    };
    on_both_sides("set_permissions", set, nothing_more);
}

/// `..` from a directory that was moved away is still the directory that the path came from: what is outside at the moment has a parent
/// there, which is not ours.
#[test]
fn parent_of_a_directory_from_outside() {
    for (way_name, way) in WAYS {
        let stage = Stage::new(way, &["dir m/real", "file ../deep/real/canary=CANARY-7f3a", "file ../deep/new=CANARY-7f3a"]);
        let before = crate::picture(&stage.tree.base().join("deep"), &[&stage.tree.base().join("deep/real")]);
        let names = [stage.path("m/real"), stage.tree.base().join("deep/real")];
        let inside = stage.hold("m");
        let roots = &stage.roots;
        let worker = |number: usize| {
            let (mut round, inside) = (0, &inside);
            let path = move |name: &str| format!("m/real/../{name}-{number}");
            Box::new(move || {
                round += 1;
                let outcome = match round % 7 {
                    0 => roots.write(path("new"), "inside"),
                    1 => roots.append(path("new"), "+"),
                    2 => roots.copy(path("new"), path("copy")).map(drop),
                    3 => roots.rename(path("copy"), path("moved")),
                    4 => roots.remove_file(path("moved")),
                    5 => roots.create_dir_all(path("p") + "/q"),
                    _ => roots.remove_dir_all(path("p")),
                };
                // All of them find each other's work, so it is one directory that they work in.
                assert_eq!(fs::metadata(inside.at(&format!("new-{number}"))).is_ok(), outcome.is_ok() || round > 1);
                code(outcome)
            }) as Worker<'_>
        };
        let name = format!("parent of an outside directory, {way_name}");
        let race = Race { name, allowed: &[("ok", 3 * HITS)], least: 3 * HITS, met: MET };
        race.run(
            || exchange(&names),
            vec![worker(0), worker(1)],
            |name| {
                let after = crate::picture(&stage.tree.base().join("deep"), &[&stage.tree.base().join("deep/real")]);
                assert_eq!(before, after, "{name}: escaped");
            },
        );
    }
}

/// The control: what most servers do. If this wrote nothing outside, the tests above would prove nothing.
#[test]
fn canonicalize_then_write_escapes() {
    for swap in &SWAPS {
        let file = format!("file {}/file-0=inside", swap.dir);
        let stage = Stage::new(Way::Fast, &[&[file.as_str()], &LINES[..]].concat());
        let root = fs::canonicalize(stage.tree.root()).unwrap();
        let path = root.join(swap.dir).join("file-0");
        let names = swap.names.map(|name| stage.path(name));
        let outside = stage.tree.base().join(if swap.dir == "a/b" { "outside/file-0" } else { "outside/y/z/file-0" });
        let worker = Box::new(move || {
            let Ok(real) = fs::canonicalize(&path) else { return "not-found" };
            if !real.starts_with(&root) {
                return "outside-roots";
            }
            let _ = fs::write(&path, "inside");
            if fs::read_to_string(&outside).unwrap() == CANARY { "ok" } else { "escaped" }
        });
        let allowed = [("ok", 0), ("outside-roots", 0), ("not-found", 0), ("escaped", 1)];
        let race = Race { name: format!("control, {}", swap.name), allowed: &allowed, least: 1, met: 1 };
        race.run(|| exchange(&names), vec![worker], |_| {});
    }
}
