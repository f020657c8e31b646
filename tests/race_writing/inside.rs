//! A directory in a tree changes places with a link to outside while the tree is gone through: copied, walked, removed, made.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use cap_roots::{Error, FileType};
use cap_roots_oracle::poison::CANARY;

use crate::support::code;
use crate::support::race::{Race, Worker, exchange};
use crate::{Stage, WAYS};

const LEAST: usize = 80;
const MET: usize = 40;
/// Directories one in the other, more than there are handles kept for.
const DEEP: &str = "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20";

/// A new tree `name` in the root with a directory `d`, which is deep, and a link `evil` to the outside of the same names. It appears complete.
fn plant(stage: &Stage, name: &str) {
    let fresh = stage.path(&format!("fresh-{name}"));
    fs::create_dir_all(fresh.join("d").join(DEEP)).unwrap();
    for file in ["file", "d/file", "d/1/file", "d/1/2/3/file"].map(str::to_owned).into_iter().chain([format!("d/{DEEP}/file")]) {
        fs::write(fresh.join(file), "inside").unwrap();
    }
    // Narrower than a link's own bits, which are all.
    for dir in ["d", "d/1"] {
        fs::set_permissions(fresh.join(dir), fs::Permissions::from_mode(0o700)).unwrap();
    }
    symlink("../../outside/deep", fresh.join("evil")).unwrap();
    fs::rename(&fresh, stage.path(name)).unwrap();
}

/// Out of the way of whoever swaps names in it, then gone. The standard library goes through it by handles.
fn discard(stage: &Stage, name: &str) {
    let old = stage.path(&format!("old-{name}"));
    if fs::rename(stage.path(name), &old).is_ok() {
        // One exchange may still be under way in it.
        fs::remove_dir_all(&old).or_else(|_| fs::remove_dir_all(&old)).unwrap();
    }
}

fn stage(way: crate::Way) -> Stage {
    let deep = format!("file ../outside/deep/{DEEP}/canary-name={CANARY}");
    let lines = ["file ../outside/deep/canary-name=CANARY-7f3a", "file ../outside/deep/1/canary-name=CANARY-7f3a", &deep];
    Stage::new(way, &lines)
}

fn in_a_tree(
    operation: &str,
    allowed: &[(&'static str, usize)],
    names: [&str; 2],
    operate: impl Fn(&Stage, &str) -> Result<(), Error> + Sync,
) {
    for (way_name, way) in WAYS {
        let stage = stage(way);
        let pairs = ["t-0", "t-1"].map(|tree| names.map(|name| stage.path(tree).join(name)));
        let race =
            Race { name: format!("{operation}, {way_name}, in the tree"), allowed, least: LEAST, met: MET, time: Duration::ZERO };
        let workers = ["t-0", "t-1"].map(|tree| {
            let (stage, operate) = (&stage, &operate);
            Box::new(move || code(operate(stage, tree))) as Worker<'_>
        });
        // Both trees have their turn; where one is not there at the moment, nothing is exchanged.
        race.run(vec![Box::new(|| pairs.iter().filter(|pair| exchange(pair)).count() > 0)], workers.into(), |name| {
            stage.check_outside(name);
            stage.check_leftovers(name);
        });
    }
}

/// Of a tree that changes, a copy may fail, or lack what was not there. What it has is the inside's.
fn copy(stage: &Stage, tree: &str) -> Result<(), Error> {
    if fs::symlink_metadata(stage.path(tree)).is_err() {
        plant(stage, tree);
    }
    let to = format!("copy-{tree}");
    let outcome = stage.roots.copy(tree, &to);
    assert_eq!(outcome.is_ok(), fs::symlink_metadata(stage.path(&to)).is_ok(), "all of it or nothing");
    if outcome.is_ok() {
        for entry in stage.roots.walk(&to).unwrap() {
            let entry = entry.unwrap();
            assert_ne!(entry.name(), "canary-name", "an outside directory was copied");
            match entry.file_type() {
                FileType::File => assert_eq!(entry.read_to_string().unwrap(), "inside"),
                FileType::Dir => {}
                other => panic!("a {other:?} was copied"),
            }
        }
    }
    outcome.map(drop)
}

const COPY: [(&str, usize); 4] = [("ok", 30), ("conflict", 0), ("not-found", 0), ("not-a-directory", 0)];

#[test]
fn copy_of_a_tree() {
    in_a_tree("copy", &COPY, ["d", "evil"], |stage, tree| {
        let outcome = copy(stage, tree);
        discard(stage, &format!("copy-{tree}"));
        outcome
    });
}

#[test]
fn copy_of_a_tree_by_its_middle() {
    in_a_tree("copy, middle", &COPY, ["d/1", "evil"], |stage, tree| {
        let outcome = copy(stage, tree);
        discard(stage, &format!("copy-{tree}"));
        outcome
    });
}

/// The copy of a directory that is private is as private, whatever has its name by the time the copy is complete.
#[test]
fn copy_of_a_tree_keeps_modes() {
    in_a_tree("copy, modes", &COPY, ["d", "evil"], |stage, tree| {
        let outcome = copy(stage, tree);
        // By either name: it was the one or the other when it was listed.
        for name in ["d", "evil"] {
            if let Ok(seen) = fs::symlink_metadata(stage.path(&format!("copy-{tree}")).join(name)) {
                assert_eq!(seen.permissions().mode() & 0o777, 0o700, "the bits of what took its name");
            }
        }
        discard(stage, &format!("copy-{tree}"));
        outcome
    });
}

#[test]
fn walk() {
    for names in [["d", "evil"], ["d/1", "evil"]] {
        in_a_tree("walk", &[("ok", 100)], names, |stage, tree| {
            if fs::symlink_metadata(stage.path(tree)).is_err() {
                plant(stage, tree);
            }
            let mut files = HashSet::new();
            for entry in stage.roots.walk(tree)? {
                let entry = entry?;
                assert_ne!(entry.name(), "canary-name", "an outside directory was listed");
                if entry.file_type() == FileType::File {
                    // The directory is held: its own entries stay what they are.
                    assert_eq!(entry.read_to_string().unwrap(), "inside");
                    assert!(files.insert(entry.uri()), "the same file twice");
                }
            }
            Ok(())
        });
    }
}

const REMOVE: [(&str, usize); 6] =
    [("ok", 30), ("conflict", 0), ("not-found", 0), ("not-a-directory", 0), ("is-a-directory", 0), ("not-empty", 0)];

/// Also where the deepest directories are reached again by names: what has such a name by then is not gone into.
#[test]
fn remove_dir_all() {
    for names in [["d", "evil"], ["d/1", "evil"], ["d/1/2", "evil"]] {
        in_a_tree("remove_dir_all", &REMOVE, names, |stage, tree| {
            plant(stage, tree);
            let outcome = stage.roots.remove_dir_all(tree);
            assert_eq!(outcome.is_err(), fs::symlink_metadata(stage.path(tree)).is_ok());
            discard(stage, tree);
            outcome
        });
    }
}

/// A directory that was just made changes places with a link before the next one is made in it.
#[test]
fn create_dir_all_in_what_was_just_made() {
    let allowed = [("ok", 30), ("conflict", 0), ("outside-roots", 0), ("already-exists", 0)];
    in_a_tree("create_dir_all", &allowed, ["p", "evil"], |stage, tree| {
        plant(stage, tree);
        let outcome = stage.roots.create_dir_all(format!("{tree}/p/q/r/s"));
        discard(stage, tree);
        outcome
    });
}
