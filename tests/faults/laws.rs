//! What holds whatever fails.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use cap_roots_oracle::tree::Tree;
use libtest_mimic::Failed;

use crate::child::{TIME, content, ended, refusal};
use crate::inject::{self, Fault};

const ERRORS: [&str; 8] = ["ENOSYS", "EPERM", "EACCES", "EIO", "ENOSPC", "EMFILE", "EINTR", "EAGAIN"];

pub(crate) fn tree() -> Tree {
    let lines = ["dir dir", "dir empty", "file tree/one=1", "file tree/in/two=2", "link dir/up -> ../dir", "file ../outside/x=X"];
    let tree = Tree::build(lines).unwrap();
    fs::write(tree.root().join("dir/file"), content(0)).unwrap();
    fs::write(tree.root().join("dir/cafe\u{301}"), content(0)).unwrap();
    fs::set_permissions(tree.root().join("dir/file"), fs::Permissions::from_mode(0o640)).unwrap();
    tree
}

/// Every name with what it is, also outside the root; the second part are names of ours that were left behind.
pub(crate) fn picture(place: &Path) -> (Vec<String>, usize) {
    let (mut lines, mut left) = (Vec::new(), 0);
    let mut stack = vec![place.to_owned()];
    while let Some(at) = stack.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_string_lossy().starts_with(".cap-roots-") {
                left += 1;
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(place).unwrap().display().to_string();
            let timed = metadata.modified().unwrap() == UNIX_EPOCH + TIME;
            let what = if metadata.is_dir() {
                stack.push(path);
                "a directory".to_owned()
            } else if metadata.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else {
                let bytes = fs::read(&path).unwrap();
                let sum = bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
                format!("{} bytes {sum} names {}", bytes.len(), metadata.nlink())
            };
            lines.push(format!("{name} {:o} {timed} {what}", metadata.mode()));
        }
    }
    lines.sort();
    (lines, left)
}

/// What another way does as well: its lack is no failure.
fn is_optional(call: &str, error: &str, storm: bool) -> bool {
    match call {
        "openat2" => matches!(error, "ENOSYS" | "EPERM" | "EAGAIN" | "EINTR") && !(storm && error == "EINTR"),
        "renameat2" | "copy_file_range" | "faccessat2" => matches!(error, "ENOSYS" | "EPERM") && storm,
        // Locks keep others away as far as they go.
        "flock" => !(storm && error == "EAGAIN"),
        _ => false,
    }
}

/// The refusals that say what the system said.
fn says(error: &str) -> &'static [&'static str] {
    match error {
        "ENOSYS" => &["unsupported"],
        "EPERM" | "EACCES" => &["os-denied"],
        "EIO" | "EINTR" => &["io"],
        "ENOSPC" => &["no-space"],
        "EMFILE" => &["limit"],
        "EAGAIN" => &["busy"],
        _ => &[],
    }
}

/// A directory that may not be listed shows no other form of a name.
fn is_second(operation: &str, fault: &Fault) -> bool {
    operation.ends_with("another form") && matches!(fault.error, "EACCES" | "EPERM") && matches!(&*fault.call, "openat" | "fcntl")
}

fn is_hidden(operation: &str, fault: &Fault, outcome: &str) -> bool {
    is_second(operation, fault) && outcome == "not-found"
}

/// What is done step by step and says so.
fn is_part(operation: &str, old: &[String], new: &[String], now: &[String]) -> bool {
    match operation {
        // Directories, the upper ones first; names of the tree, the lower ones first.
        "create directories" => old.iter().all(|line| now.contains(line)) && now.iter().all(|line| new.contains(line)),
        "remove a tree" => new.iter().all(|line| now.contains(line)) && now.iter().all(|line| old.contains(line)),
        _ => false,
    }
}

pub(crate) fn hold(way: &str, operation: &str, stride: usize, offset: usize) -> Result<(), Failed> {
    let first = tree();
    let old = picture(first.base()).0;
    let (calls, answer) = inject::calls(first.base(), operation, way);
    let (new, left) = picture(first.base());
    assert_eq!(left, 0, "left behind without a fault");
    let mut cases = Vec::new();
    for (call, number) in calls {
        for error in ERRORS {
            cases.extend([false, true].map(|storm| Fault { call: call.clone(), number, error, storm }));
        }
    }
    // Another part of them for each operation.
    let offset = (offset + operation.len() * 7) % stride;
    let (mut counts, mut wrong) = (BTreeMap::<String, usize>::new(), Vec::new());
    for fault in cases.into_iter().skip(offset).step_by(stride) {
        let tree = tree();
        let (status, told) = inject::run(&fault, tree.base(), operation, way, &answer);
        let (now, left) = picture(tree.base());
        let end = status.and_then(|status| status.code());
        let outcome = match end {
            Some(0) => "ok",
            Some(ended::WRONG_ANSWER) => "ANOTHER ANSWER",
            Some(ended::LEAK) => "A DESCRIPTOR IS LEFT OPEN",
            Some(ended::USELESS) => "NOT BEGUN",
            Some(ended::UNUSABLE) => "UNUSABLE AFTERWARDS",
            Some(end) => refusal(end).unwrap_or("NO END OF OURS"),
            None => "NO END",
        };
        *counts.entry(format!("{} {outcome}", fault.error)).or_default() += 1;
        let state = match () {
            () if now == old && now == new => "same",
            () if now == old => "old",
            () if now == new => "new",
            () if is_second(operation, &fault) && now.iter().filter(|line| !old.contains(line)).count() == 1 => "new",
            () if is_part(operation, &old, &new, &now) => "part",
            () => "TORN",
        };
        let known = outcome == "ok" || cap_roots::ErrorKind::ALL.iter().any(|kind| kind.code() == outcome);
        let lawful = known
            && state != "TORN"
            && (outcome != "ok" || matches!(state, "same" | "new"))
            && (outcome == "ok" || says(fault.error).contains(&outcome) || is_hidden(operation, &fault, outcome))
            && (outcome == "ok" || !is_optional(&fault.call, fault.error, fault.storm))
            && (left == 0 || fault.call == "unlinkat" || fault.storm);
        if !lawful || std::env::var_os("CAP_ROOTS_FAULTS_SHOW").is_some() {
            let mark = if lawful { "fine" } else { "WRONG" };
            wrong.push(format!("{mark}: {way}, {operation}: {fault:?}: {outcome}, {state}, {left} left\n{told}"));
            if state == "TORN" {
                let lines = now.iter().filter(|line| !old.contains(line)).map(|line| format!("  now {line}"));
                let gone = old.iter().filter(|line| !now.contains(line)).map(|line| format!("  old {line}"));
                wrong.push(lines.chain(gone).collect::<Vec<_>>().join("\n"));
            }
        }
    }
    println!("{way}, {operation}: {counts:?}");
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("").into()) }
}
