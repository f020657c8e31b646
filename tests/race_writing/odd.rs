//! What the matrix of exchanges does not have: `..` from a directory that comes from outside, and a file that can be changed by its name alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use crate::support::race::{Race, Worker, exchange};
use crate::support::{code, privilege};
use crate::{Stage, WAYS};

/// Fewest operations during which an exchange was made.
const MET: usize = 100;
/// Fewest times that they succeed.
const HITS: usize = 300;

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
        let race = Race { name, allowed: &[("ok", HITS)], least: HITS, met: MET, time: Duration::ZERO };
        race.run(vec![Box::new(|| exchange(&names))], vec![worker(0), worker(1)], |name| {
            let after = crate::picture(&stage.tree.base().join("deep"), &[&stage.tree.base().join("deep/real")]);
            assert_eq!(before, after, "{name}: escaped");
        });
    }
}

/// What cannot be opened is changed by its name, which must not lead on.
#[test]
fn set_permissions_of_what_cannot_be_opened() {
    privilege::drop_override();
    for (way_name, way) in WAYS {
        let stage = Stage::new(way, &["dir f"]);
        let names = [stage.path("f/name"), stage.path("f/evil")];
        fs::write(&names[0], "inside").unwrap();
        fs::set_permissions(&names[0], fs::Permissions::from_mode(0o000)).unwrap();
        symlink("../../outside/file", &names[1]).unwrap();
        let worker: Worker<'_> = Box::new(|| code(stage.roots.set_permissions("f/name", 0)));
        // Busy: exchanged between all tries of one call, as on a machine where each has to wait for its turn.
        let allowed = [("ok", HITS), ("outside-roots", HITS), ("conflict", 0), ("busy", 0)];
        let name = format!("set_permissions, closed, {way_name}");
        let race = Race { name, allowed: &allowed, least: 0, met: MET, time: Duration::ZERO };
        race.run(vec![Box::new(|| exchange(&names))], vec![worker], |name| stage.check_outside(name));
    }
}
