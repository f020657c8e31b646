//! When the disk is full, a file may not grow, nothing may be written, descriptors run out, or a source changes while it is copied: the
//! refusal says which, what was there is whole, and nothing is left behind.
//!
//! Catches: a file that is cut before its new content fits; temporary files and half trees left behind; half an appended line; `io` for what
//! has a name; a copy that follows a growing file for ever.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "what is skipped is said")]
#![allow(clippy::disallowed_methods, reason = "looks at the tree by path")]

#[path = "../support/mod.rs"]
mod support;

mod changing;
mod denied;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cap_roots::{Access, Error, Roots};
use cap_roots_oracle::needs;
use rustix::process::{Resource, Rlimit, setrlimit};
use support::{child, code};

const BIG: usize = 2 << 20;

fn open(place: &Path) -> Roots {
    Roots::builder().named("root", place, Access::Write).open().unwrap()
}

/// Every name below with its mode and content, but for directories' own times: what must be as it was.
fn picture(place: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode();
        let (len, sum) = match fs::read(&path) {
            Ok(bytes) => (bytes.len(), bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))),
            Err(_) => (0, 0),
        };
        lines.push(format!("{} {mode:o} {len} {sum}", path.display()));
        if metadata.is_dir() && fs::read_dir(&path).is_ok() {
            lines.extend(picture(&path));
        }
    }
    lines.sort();
    lines
}

/// An operation with its name.
type Change<'a> = (&'static str, &'a dyn Fn(&Roots) -> Result<(), Error>);

/// Each of these gives `code`, and changes nothing.
fn all_refused(place: &Path, wanted: &str, operations: &[Change<'_>]) {
    let roots = open(place);
    for (name, operation) in operations {
        let before = picture(place);
        let outcome = code(operation(&roots));
        println!("{name}: {outcome}");
        assert_eq!(outcome, wanted, "{name}");
        assert_eq!(picture(place), before, "{name}");
    }
}

#[test]
fn a_full_disk() {
    if needs::mounts() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"mount -t tmpfs -o size=1m,nr_inodes=64 none "$CAP_ROOTS_CHILD_IN"; exec "$@""#;
        print!("{}", child::succeed(child::behind("unshare", &["-rm"], script, "fills_the_disk", folder.path())));
    }
}

#[test]
#[ignore = "the part of a child process"]
fn fills_the_disk() {
    let Some(place) = child::place() else { return };
    fs::write(place.join("old"), vec![b'o'; 100_000]).unwrap();
    fs::write(place.join("log"), "line\n".repeat(1_000)).unwrap();
    fs::create_dir_all(place.join("tree/d")).unwrap();
    fs::write(place.join("tree/small"), "small").unwrap();
    fs::write(place.join("tree/d/half"), vec![b'h'; 600_000]).unwrap();
    let big = vec![b'n'; BIG];
    all_refused(
        &place,
        "no-space",
        &[
            ("write over", &|roots| roots.write("old", &big)),
            ("write anew", &|roots| roots.write("new", &big)),
            ("update", &|roots| roots.update("old", |_| Ok(vec![b'n'; BIG]))),
            ("append", &|roots| roots.append("log", &big)),
            ("copy of a file", &|roots| roots.copy("tree/d/half", "copy").map(drop)),
            ("copy over a file", &|roots| roots.copy_replace("tree/d/half", "old").map(drop)),
            ("copy of a tree", &|roots| roots.copy("tree", "copy").map(drop)),
        ],
    );
    // What is left of the disk is as good as before.
    let roots = open(&place);
    roots.write("old", vec![b'p'; 100_000]).unwrap();
    assert_eq!(fs::read(place.join("old")).unwrap(), vec![b'p'; 100_000]);

    // No object more, though there is room in files.
    let mut count = 0;
    while File::create_new(place.join(format!("ballast-{count}"))).is_ok() {
        count += 1;
    }
    all_refused(
        &place,
        "no-space",
        &[
            ("write over, no inode", &|roots| roots.write("old", "new")),
            ("write anew, no inode", &|roots| roots.write("new", "new")),
            ("update, no inode", &|roots| roots.update("old", |_| Ok(b"new".to_vec()))),
            ("create_new, no inode", &|roots| roots.create_new("new").map(drop)),
            ("append anew, no inode", &|roots| roots.append("new", "new")),
            ("create_dir, no inode", &|roots| roots.create_dir("new")),
            ("create_dir_all, no inode", &|roots| roots.create_dir_all("new/b/c")),
            ("copy of a file, no inode", &|roots| roots.copy("tree/small", "copy").map(drop)),
            ("copy of a tree, no inode", &|roots| roots.copy("tree", "copy").map(drop)),
        ],
    );
    // One directory fits, and what is below it does not.
    fs::remove_file(place.join("ballast-0")).unwrap();
    all_refused(&place, "no-space", &[("copy of a tree, one inode", &|roots| roots.copy("tree", "copy").map(drop))]);
}

#[test]
fn an_append_that_does_not_fit_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    limited("appends_over_the_limit", folder.path());
}

/// The script makes the limit of one MiB, and going over it an error instead of a signal.
fn limited(part: &str, place: &Path) {
    let script = r#"trap '' XFSZ; ulimit -f 2048; exec "$@""#;
    let mut command = child::behind("env", &[], script, part, place);
    command.env("RUST_BACKTRACE", "0");
    print!("{}", child::succeed(command));
}

#[test]
#[ignore = "the part of a child process"]
fn appends_over_the_limit() {
    let Some(place) = child::place() else { return };
    all_refused(&place, "too-large", &[("append anew", &|roots| roots.append("new", vec![b'n'; BIG]))]);
}

#[test]
fn a_file_size_limit() {
    let folder = tempfile::tempdir().unwrap();
    // Larger than the child may write.
    fs::create_dir_all(folder.path().join("tree/d")).unwrap();
    fs::write(folder.path().join("tree/d/big"), vec![b'b'; BIG]).unwrap();
    limited("goes_over_the_limit", folder.path());
}

#[test]
#[ignore = "the part of a child process"]
fn goes_over_the_limit() {
    let Some(place) = child::place() else { return };
    fs::write(place.join("old"), vec![b'o'; 100_000]).unwrap();
    let big = vec![b'n'; BIG];
    all_refused(
        &place,
        "too-large",
        &[
            ("write over", &|roots| roots.write("old", &big)),
            ("write anew", &|roots| roots.write("new", &big)),
            ("update", &|roots| roots.update("old", |_| Ok(vec![b'n'; BIG]))),
            ("append", &|roots| roots.append("old", &big)),
            ("set_len", &|roots| roots.set_len("old", BIG as u64)),
            ("copy of a file", &|roots| roots.copy("tree/d/big", "copy").map(drop)),
            ("copy over a file", &|roots| roots.copy_replace("tree/d/big", "old").map(drop)),
            ("copy of a tree", &|roots| roots.copy("tree", "copy").map(drop)),
        ],
    );
}

/// Everything that changes something, in a directory with `file`, `dir`, `tree/file` and, in `sub`, room to work in.
fn changes() -> Vec<Change<'static>> {
    vec![
        ("write over", &|roots| roots.write("file", "new")),
        ("write anew", &|roots| roots.write("new", "new")),
        ("update", &|roots| roots.update("file", |_| Ok(b"new".to_vec()))),
        ("create_new", &|roots| roots.create_new("new").map(drop)),
        ("append anew", &|roots| roots.append("new", "new")),
        ("create_dir", &|roots| roots.create_dir("new")),
        ("create_dir_all", &|roots| roots.create_dir_all("new/b")),
        ("remove_file", &|roots| roots.remove_file("file")),
        ("remove_dir", &|roots| roots.remove_dir("dir")),
        ("remove_dir_all", &|roots| roots.remove_dir_all("dir")),
        ("rename", &|roots| roots.rename("file", "new")),
        ("rename_replace", &|roots| roots.rename_replace("file", "other")),
        ("copy of a file", &|roots| roots.copy("file", "new").map(drop)),
        ("copy over a file", &|roots| roots.copy_replace("other", "file").map(drop)),
        ("copy of a tree", &|roots| roots.copy("tree", "new").map(drop)),
    ]
}

fn names(place: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn furnish(place: &Path) {
    for dir in ["dir", "tree"] {
        fs::create_dir_all(place.join(dir)).unwrap();
    }
    for file in ["file", "other", "tree/file"] {
        fs::write(place.join(file), file).unwrap();
    }
}

#[test]
fn a_read_only_mount() {
    if needs::mounts() {
        let folder = tempfile::tempdir().unwrap();
        furnish(folder.path());
        // As a bind mount of a file system of our own: another's flags may be locked.
        let script = r#"p="$CAP_ROOTS_CHILD_IN"; mount -t tmpfs none /mnt; cp -a "$p/." /mnt
            mount --bind /mnt "$p"; mount -o remount,ro,bind "$p"; exec "$@""#;
        print!("{}", child::succeed(child::behind("unshare", &["-rm"], script, "writes_to_a_read_only_mount", folder.path())));
    }
}

#[test]
#[ignore = "the part of a child process"]
fn writes_to_a_read_only_mount() {
    let Some(place) = child::place() else { return };
    let mut operations = changes();
    let in_place: &[Change<'_>] = &[
        ("append", &|roots| roots.append("file", "new")),
        ("set_len", &|roots| roots.set_len("file", 1)),
        ("set_permissions", &|roots| roots.set_permissions("file", 0o600)),
        ("set_times", &|roots| roots.set_times("file", None, Some(std::time::SystemTime::UNIX_EPOCH))),
        ("remove_dir_all, full", &|roots| roots.remove_dir_all("tree")),
    ];
    operations.extend_from_slice(in_place);
    all_refused(&place, "os-denied", &operations);
    assert_eq!(open(&place).read_to_string("file").unwrap(), "file");
}

#[test]
fn a_descriptor_limit() {
    let folder = tempfile::tempdir().unwrap();
    print!("{}", child::succeed(child::command("runs_out_of_descriptors", folder.path())));
}

#[test]
fn a_descriptor_limit_for_a_tree() {
    let folder = tempfile::tempdir().unwrap();
    print!("{}", child::succeed(child::command("runs_out_of_descriptors_with_a_tree", folder.path())));
}

type Operation = fn(&Roots) -> Result<(), Error>;

#[test]
#[ignore = "the part of a child process"]
fn runs_out_of_descriptors() {
    let Some(place) = child::place() else { return };
    let operations: [(&str, Operation); 9] = [
        ("write over", |roots| roots.write("file", "new")),
        ("write anew", |roots| roots.write("new", "new")),
        ("update", |roots| roots.update("file", |_| Ok(b"new".to_vec()))),
        ("create_new", |roots| roots.create_new("new").map(drop)),
        ("append", |roots| roots.append("file", "new")),
        ("create_dir_all", |roots| roots.create_dir_all("new")),
        ("remove_dir_all", |roots| roots.remove_dir_all("tree")),
        ("rename", |roots| roots.rename("file", "new")),
        ("copy of a file", |roots| roots.copy("file", "new").map(drop)),
    ];
    run_out_of_descriptors(&place, &operations);
}

#[test]
#[ignore = "the part of a child process"]
fn runs_out_of_descriptors_with_a_tree() {
    let Some(place) = child::place() else { return };
    run_out_of_descriptors(&place, &[("copy of a tree", |roots| roots.copy("tree", "new").map(drop))]);
}

/// With every number of free descriptors, from none to enough: an operation is done, whole, or it is `limit` and changed nothing.
fn run_out_of_descriptors(place: &Path, operations: &[(&str, Operation)]) {
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
    let mut faults = Vec::new();
    for (name, operation) in operations {
        let (mut limits, mut done) = (0, 0);
        for free in 0..24 {
            furnish(place);
            fs::create_dir_all(place.join("tree/private")).unwrap();
            fs::set_permissions(place.join("tree/private"), fs::Permissions::from_mode(0o700)).unwrap();
            let roots = open(place);
            let before = picture(place);
            let mut ballast: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
            ballast.truncate(ballast.len() - free);
            let outcome = code(operation(&roots));
            drop(ballast);
            let private = fs::metadata(place.join("new/private")).map(|metadata| metadata.permissions().mode() & 0o777);
            match outcome {
                "ok" => done += 1,
                "limit" => limits += 1,
                other => faults.push(format!("{name} with {free} descriptors: {other}")),
            }
            // Removing a tree is not atomic: it may have stopped in the middle.
            if outcome != "ok" && *name != "remove_dir_all" && picture(place) != before {
                faults.push(format!("{name} with {free} descriptors: {outcome}, and {:?}", names(place)));
            }
            if private.is_ok_and(|mode| mode != 0o700) {
                faults.push(format!("{name} with {free} descriptors: {outcome}, and what was private is not"));
            }
            for name in names(place) {
                let _ = fs::remove_dir_all(place.join(&name)).or_else(|_| fs::remove_file(place.join(&name)));
            }
        }
        println!("{name}: {limits} times limit, {done} times done");
        assert!(limits > 0 && done > 0, "{name}");
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
