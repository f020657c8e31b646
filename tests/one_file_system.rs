//! A root that ends where its mount ends: nothing on another mount is reached, by no operation and by no way; without the option all of it is.
//!
//! Catches: device numbers compared where a mount is asked for, which a bind mount of the same disk shares; a look at the last name alone, or at
//! directories alone; a fast way that crosses what the walk does not; a path that goes in and comes back out; a tree that is gone into, or
//! removed up to the mount; a root that is compared with another one's mount.

// Elsewhere, and so in the code for other systems, nothing tells a bind mount apart; `each_step_asks_of_what_it_opened` is for all.
#![cfg(all(target_os = "linux", not(cap_roots_portable)))]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cap_roots::{Access, Builder, Cut, Error, Hint, Operation, Roots};
use cap_roots_oracle::needs;
use support::{child, code, filter};

const SCRIPT: &str = r#"cd "$CAP_ROOTS_CHILD_IN"
    mkdir -p root/own/d root/own/e root/mem root/same root/in/deep/at root/tree/a root/tree/z
    echo text >root/own/f; echo text >root/own/d/f; echo text >root/plain; echo text >root/file; echo text >root/tree/a/f; echo text >root/tree/file
    mount -t tmpfs none root/mem; mkdir -p root/mem/inner root/mem/d root/mem/e; echo text >root/mem/f; echo text >root/mem/d/f
    for at in mem/inner same in/deep/at tree/z; do mount --bind root/own "root/$at"; done
    for at in file tree/file; do mount --bind root/plain "root/$at"; done
    ln -s mem root/to-mem; ln -s mem/f root/to-f; ln -s "$PWD/root/same" root/abs; ln -s "$PWD/root/same/f" root/abs-f
    ln -s mem/../plain root/back; ln -s ../plain root/mem/out; ln -s file root/to-file
    exec "$@""#;
/// How paths are resolved: `walk` without the fast way, `refused` without the call.
const WAYS: [&str; 3] = ["fast", "walk", "refused"];
const WAY: &str = "CAP_ROOTS_WAY";

/// Runs `part` with the mounts that the script makes, once for each way, or for one alone.
fn mounted(part: &str, ways: &[&str]) {
    if needs::mounts() {
        for way in ways {
            let folder = tempfile::tempdir().unwrap();
            let mut command = child::behind("unshare", &["-rm"], SCRIPT, part, &folder.path().canonicalize().unwrap());
            child::succeed({
                command.env(WAY, way);
                command
            });
        }
    }
}

/// The root, if this process is a child.
fn place() -> Option<PathBuf> {
    let place = child::place()?.join("root");
    if std::env::var(WAY).unwrap() == "refused" {
        filter::deny("openat2=ENOSYS").unwrap();
    }
    Some(place)
}

fn builder() -> Builder {
    if std::env::var(WAY).unwrap() == "walk" { Roots::builder().without_openat2() } else { Roots::builder() }
}

fn open(place: &Path) -> Roots {
    builder().one_file_system().named("root", place, Access::Write).open().unwrap()
}

fn mount(arguments: &[&str]) {
    assert!(Command::new("mount").args(arguments).status().unwrap().success());
}

/// Every name below with its size and time, through mounts.
fn picture(place: &Path) -> String {
    let listed = Command::new("find").arg(place).args(["-printf", "%P %y %s %m %T@\n"]).output().unwrap();
    String::from_utf8(listed.stdout).unwrap()
}

type Act = (&'static str, fn(&Roots, &str) -> Result<(), Error>);

/// What a path leads to is used: a last link is followed.
const ON_FILE: [Act; 12] = [
    ("open", |roots, path| roots.open(path).map(drop)),
    ("read", |roots, path| roots.read(path).map(drop)),
    ("metadata", |roots, path| roots.metadata(path).map(drop)),
    ("exists", |roots, path| roots.exists(path).map(drop)),
    ("within", |roots, path| roots.within(path).map(drop)),
    ("copy", |roots, path| roots.copy(path, "own/copy").map(drop)),
    ("append", |roots, path| roots.append(path, "+")),
    ("set_len", |roots, path| roots.set_len(path, 1)),
    ("set_permissions", |roots, path| roots.set_permissions(path, 0o600)),
    ("set_times", |roots, path| roots.set_times(path, None, Some(std::time::SystemTime::UNIX_EPOCH))),
    ("copy_replace to it", |roots, path| roots.copy_replace("plain", path).map(drop)),
    ("update", |roots, path| roots.update(path, |_| Ok(b"new".to_vec()))),
];

/// What has the name is used, or the name itself.
const ON_NAME: [Act; 9] = [
    ("symlink_metadata", |roots, path| roots.symlink_metadata(path).map(drop)),
    ("write", |roots, path| roots.write(path, "new")),
    ("create_new", |roots, path| roots.create_new(path).map(drop)),
    ("copy to it", |roots, path| roots.copy("plain", path).map(drop)),
    ("create_dir", |roots, path| roots.create_dir(path)),
    ("rename to it", |roots, path| roots.rename("own/e", path)),
    ("rename_replace to it", |roots, path| roots.rename_replace("plain", path)),
    ("rename", |roots, path| roots.rename(path, "own/renamed")),
    ("remove_file", |roots, path| roots.remove_file(path)),
];

const ON_DIR: [Act; 9] = [
    ("open_dir", |roots, path| roots.open_dir(path).map(drop)),
    ("read_dir", |roots, path| roots.read_dir(path).map(drop)),
    ("walk", |roots, path| roots.walk(path).map(drop)),
    ("metadata", |roots, path| roots.metadata(path).map(drop)),
    ("within", |roots, path| roots.within(path).map(drop)),
    ("copy", |roots, path| roots.copy(path, "own/copy").map(drop)),
    ("create_dir_all below", |roots, path| roots.create_dir_all(format!("{path}/new/er"))),
    ("set_permissions", |roots, path| roots.set_permissions(path, 0o755)),
    ("set_times", |roots, path| roots.set_times(path, None, Some(std::time::SystemTime::UNIX_EPOCH))),
];

const ON_DIR_NAME: [Act; 6] = [
    ("symlink_metadata", |roots, path| roots.symlink_metadata(path).map(drop)),
    ("rename", |roots, path| roots.rename(path, "own/renamed")),
    ("create_dir", |roots, path| roots.create_dir(path)),
    ("create_dir_all", |roots, path| roots.create_dir_all(path)),
    ("remove_dir", |roots, path| roots.remove_dir(path)),
    ("remove_dir_all", |roots, path| roots.remove_dir_all(path)),
];

/// Names on other mounts, and paths that lead there through links.
const FILES: [&str; 9] =
    ["mem/f", "mem/d/f", "mem/inner/f", "mem/inner/d/f", "same/f", "same/d/f", "in/deep/at/f", "file", "tree/file"];
const LINKS_TO_FILES: [&str; 7] =
    ["to-f", "to-file", "abs-f", "back", "mem/../plain", "same/../plain", "in/deep/at/../../../plain"];
const THROUGH_LINKS: [&str; 4] = ["to-mem/f", "abs/f", "abs/d/f", "to-mem/inner/f"];
const DIRS: [&str; 7] = ["mem", "same", "in/deep/at", "mem/d", "mem/inner", "same/d", "tree/z"];
const LINKS_TO_DIRS: [&str; 5] = ["to-mem", "abs", "to-mem/inner", "mem/..", "same/../in"];
const NAMES: [&str; 4] = ["mem/new", "same/new", "in/deep/at/new", "abs/new"];

fn each(mut act: impl FnMut(&Act, &str)) {
    let sets: [(&[Act], &[&[&str]]); 4] = [
        (&ON_FILE, &[&FILES, &LINKS_TO_FILES, &THROUGH_LINKS]),
        (&ON_NAME, &[&FILES, &THROUGH_LINKS, &NAMES]),
        (&ON_DIR, &[&DIRS, &LINKS_TO_DIRS]),
        (&ON_DIR_NAME, &[&DIRS]),
    ];
    for (acts, paths) in sets {
        for path in paths.iter().copied().flatten() {
            acts.iter().for_each(|one| act(one, path));
        }
    }
}

#[test]
fn nothing_on_another_mount_is_reached() {
    mounted("reaches_nothing", &WAYS);
}

#[test]
#[ignore = "the part of a child process"]
fn reaches_nothing() {
    let Some(place) = place() else { return };
    let roots = open(&place);
    let before = picture(&place);
    let mut reached = Vec::new();
    each(|(name, act), path| {
        let code = code(act(&roots, path));
        if code != "outside-roots" {
            reached.push(format!("{name} {path}: {code}"));
        }
    });
    // A file on the way is not told from a directory there.
    for path in ["file/x", "file/", "mem/f/", "mem/missing", "same/missing/x"] {
        reached.extend((code(roots.metadata(path)) != "outside-roots").then(|| path.to_owned()));
    }
    assert_eq!(reached, [""; 0]);
    assert_eq!(picture(&place), before);
    let told = roots.read("same/f").unwrap_err().to_string();
    assert_eq!(
        told,
        "outside-roots: \"same/f\" is not inside an allowed directory, or a link in it leads out: another mount begins there, and this \
         root ends where its own does; use a path on the root's own file system, or ask the operator"
    );
    // What is on the root's own mount is as always, links themselves among it.
    for path in ["own/f", "plain", "in/deep/../../plain", "tree/a/f"] {
        assert_eq!(roots.read_to_string(path).unwrap(), "text\n", "{path}");
    }
    assert_eq!(roots.read_link("to-mem").unwrap(), Path::new("mem"));
    roots.symlink_metadata("to-f").unwrap();
    roots.rename("to-f", "own/to-f").unwrap();
    roots.remove_file("own/to-f").unwrap();
    roots.write("own/new", "new").unwrap();
    roots.set_permissions("own/new", 0o600).unwrap();
    roots.copy("own", "copied").unwrap();
    roots.remove_dir_all("copied").unwrap();
}

/// A rehearsal ends as the operation would.
#[test]
fn a_rehearsal_tells_the_same() {
    mounted("rehearses", &["fast", "walk"]);
}

#[test]
#[ignore = "the part of a child process"]
fn rehearses() {
    let Some(place) = place() else { return };
    let roots = open(&place);
    for (paths, operations) in [
        (&FILES[..], &[Operation::Open, Operation::Write, Operation::Append, Operation::RemoveFile, Operation::SetTimes][..]),
        (&DIRS, &[Operation::OpenDir, Operation::Walk, Operation::RemoveDir, Operation::RemoveDirAll, Operation::CreateDir]),
        (&["tree"], &[Operation::RemoveDirAll]),
    ] {
        for (path, operation) in paths.iter().flat_map(|path| operations.iter().map(move |operation| (path, *operation))) {
            let rehearsal = roots.rehearse(path, operation);
            assert_eq!(rehearsal.outcome().err().map(Error::code), Some("outside-roots"), "{operation:?} {path}");
        }
    }
}

/// The control: without the option the same is reached, so that it is the option that refuses.
#[test]
fn without_the_option_mounts_are_crossed() {
    mounted("crosses", &WAYS);
}

#[test]
#[ignore = "the part of a child process"]
fn crosses() {
    let Some(place) = place() else { return };
    let roots = builder().named("root", &place, Access::Write).open().unwrap();
    for path in FILES.iter().chain(&LINKS_TO_FILES).chain(&THROUGH_LINKS) {
        assert_eq!(roots.read_to_string(path).unwrap(), "text\n", "{path}");
    }
    for path in DIRS.iter().chain(&LINKS_TO_DIRS) {
        assert_eq!(code(roots.read_dir(path)), "ok", "{path}");
    }
    roots.walk(".").unwrap().map(|entry| entry.unwrap().uri()).find(|uri| uri == "root://root/mem/d/f").unwrap();
    each(|(name, act), path| assert_ne!(code(act(&roots, path)), "outside-roots", "{name} {path}"));
}

/// Catches: entries that are hidden or opened, a walk that goes in, a copy that takes along what is not the root's or says nothing of it.
#[test]
fn trees_end_at_mounts() {
    mounted("goes_through_trees", &WAYS);
}

#[test]
#[ignore = "the part of a child process"]
fn goes_through_trees() {
    let Some(place) = place() else { return };
    let roots = open(&place);
    let entries: Vec<_> = roots.read_dir(".").unwrap().map(Result::unwrap).collect();
    for name in ["mem", "same", "file", "to-f"] {
        let entry = entries.iter().find(|entry| entry.name() == name).unwrap();
        let codes = [code(entry.open()), code(entry.open_dir()), code(entry.read_dir()), code(entry.read())];
        assert_eq!(codes, ["outside-roots"; 4], "{name}");
        assert_eq!(code(entry.metadata()), if name == "to-f" { "ok" } else { "outside-roots" }, "{name}");
    }
    let mut walk = roots.walk(".").unwrap();
    let seen: Vec<_> = walk.by_ref().map(|entry| entry.unwrap().uri().replace("root://root/", "")).collect();
    assert_eq!((walk.cut(), walk.other_mounts()), (None::<Cut>, 4));
    for mount in ["mem", "same", "in/deep/at", "tree/z"] {
        let inside = seen.iter().filter(|path| path.starts_with(&format!("{mount}/"))).count();
        assert!(seen.iter().any(|path| path == mount) && inside == 0, "{mount}: {seen:?}");
    }
    assert!(["own/d/f", "tree/a/f", "tree/file"].iter().all(|own| seen.iter().any(|path| path == own)), "{seen:?}");

    let copied = roots.copy("tree", "copied").unwrap();
    assert_eq!((copied.files, copied.dirs, copied.skipped), (1, 2, 2));
    assert!(!place.join("copied/z").exists() && !place.join("copied/file").exists());

    // A directory first, a file alone, a mount deep below.
    for tree in ["tree", "in"] {
        let before = picture(&place);
        assert_eq!(code(roots.remove_dir_all(tree)), "outside-roots", "{tree}");
        assert_eq!(picture(&place), before, "{tree}");
    }
    assert!(Command::new("umount").arg(place.join("tree/z")).status().unwrap().success());
    let before = picture(&place);
    assert_eq!(code(roots.remove_dir_all("tree")), "outside-roots");
    assert_eq!(picture(&place), before);
    assert!(Command::new("umount").arg(place.join("tree/file")).status().unwrap().success());
    roots.remove_dir_all("tree").unwrap();
}

/// Catches: the option that is lost on the way from a set to what is made of it.
#[test]
fn what_is_made_of_a_set_ends_there_too() {
    mounted("narrows", &WAYS);
}

#[test]
#[ignore = "the part of a child process"]
fn narrows() {
    let Some(place) = place() else { return };
    let roots = open(&place);
    let within = roots.within("in").unwrap();
    assert_eq!(code(within.read("deep/at/f")), "outside-roots");
    assert_eq!(code(roots.open_dir("in/deep").unwrap().read("at/f")), "outside-roots");
    assert_eq!(code(roots.limit(Access::Read).without_delete().read("same/f")), "outside-roots");
    let hint = |path: &str| Hint::parse(&format!("file://{}/{path}", place.display())).unwrap();
    let hinted = roots.narrow(&[hint("in")]).roots().clone();
    assert_eq!(code(hinted.read("root://root/in/deep/at/f")), "outside-roots");
    let listed = roots.read_dir("in/deep").unwrap().next().unwrap().unwrap();
    assert_eq!(code(listed.open_dir()), "outside-roots");
    // A handle of the system would go further.
    assert_eq!(code(roots.open_dir("own").unwrap().into_std_without_revocation()), "not-granted");
}

/// Catches: a mount that is told once and remembered.
#[test]
fn mounts_count_from_the_moment_that_they_are_there() {
    mounted("mounts_later", &WAYS);
}

#[test]
#[ignore = "the part of a child process"]
fn mounts_later() {
    let Some(place) = place() else { return };
    let at = |name: &str| place.join(name).into_os_string().into_string().unwrap();
    let late = builder().one_file_system().named("late", place.join("late/root"), Access::Write);
    let (roots, late) = (open(&place), late.open().unwrap());
    let (dir, entry) = (roots.open_dir("own").unwrap(), roots.open_dir("own/d").unwrap());
    let within = roots.within("own/d").unwrap();
    mount(&["--bind", &at("tree/a"), &at("own/d")]);
    assert_eq!(code(within.read("root://root/own/d/f")), "outside-roots");
    assert_eq!((code(roots.read("own/d/f")), code(dir.read("d/f"))), ("outside-roots", "outside-roots"));
    // What is open already is the root's own.
    assert_eq!(entry.read_to_string("f").unwrap(), "text\n");
    // Between the look at a file and its replacement.
    let update = roots.update("plain", |_| {
        mount(&["--bind", &at("own/f"), &at("plain")]);
        Ok(b"new".to_vec())
    });
    assert_eq!((code(update), fs::read_to_string(at("own/f")).unwrap()), ("outside-roots", "text\n".to_owned()));

    // A root that is missing is on whichever mount it is found.
    assert_eq!(code(late.read("f")), "root-absent");
    fs::create_dir(place.join("late")).unwrap();
    mount(&["-t", "tmpfs", "none", &at("late")]);
    fs::create_dir_all(place.join("late/root/sub")).unwrap();
    fs::write(place.join("late/root/f"), "late").unwrap();
    mount(&["--bind", &at("own"), &at("late/root/sub")]);
    assert_eq!((late.read_to_string("f").unwrap(), code(late.read("sub/f"))), ("late".to_owned(), "outside-roots"));
}

/// Catches: one mount for all roots.
#[test]
fn a_root_on_another_mount_is_a_root_of_its_own() {
    mounted("is_nested", &WAYS);
}

#[test]
#[ignore = "the part of a child process"]
fn is_nested() {
    let Some(place) = place() else { return };
    let roots = builder().one_file_system().named("root", &place, Access::Read).named("mem", place.join("mem"), Access::Write);
    let roots = roots.open().unwrap();
    assert_eq!(roots.read_to_string("root://mem/f").unwrap(), "text\n");
    assert_eq!(roots.read_to_string(place.join("mem/f").to_str().unwrap()).unwrap(), "text\n");
    assert_eq!(code(roots.read("root://root/mem/f")), "outside-roots");
    assert_eq!(code(roots.read("root://mem/inner/f")), "outside-roots");
}

/// Catches: a mount that is not refused where the kernel tells only the device, or nothing at all that is told there.
#[test]
fn without_the_number_of_the_mount_the_device_counts() {
    mounted("goes_by_device", &["fast", "walk", "refused"]);
}

#[test]
#[ignore = "the part of a child process"]
fn goes_by_device() {
    let Some(place) = place() else { return };
    filter::deny("statx=ENOSYS").unwrap();
    let roots = open(&place);
    assert_eq!(code(roots.read("mem/f")), "outside-roots");
    assert_eq!(code(roots.remove_dir("mem")), "outside-roots");
    assert_eq!(roots.read_to_string("own/f").unwrap(), "text\n");
}
