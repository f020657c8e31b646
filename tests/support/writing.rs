//! The rows of `tests/data/writing.jsonl`: an operation that changes a tree, and exactly what is different after it.
//!
//! Besides the keys of every row: `path2` (the other end), `mode` (octal) and `effects`, the lines that are gone (`- `) and new (`+ `)
//! in a picture of the root's parent. So a change outside the root shows, and so does a temporary file that is left behind.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use cap_roots::{Error, Roots};
use libtest_mimic::Failed;
use rustix::fs::Mode;
use serde_json::Value;

use super::Way;
use super::rows::{set_up, tells_nothing};

/// The effects name modes, which must not depend on who runs the tests.
pub(crate) fn fix_umask() {
    rustix::process::umask(Mode::from_raw_mode(0o022));
}

pub(crate) fn run(row: &Value, set: &[String], way: Way) -> Result<(), Failed> {
    let text = |key: &str| row[key].as_str();
    let (tree, roots) = set_up(row, set, way)?;
    let op = text("op").unwrap();
    let path = tree.expand(text("path").unwrap());
    let path2 = text("path2").map(|path| tree.expand(path));
    let modes = op == "set_permissions";

    let before = picture(tree.base(), modes);
    let outcome = operate(&roots, op, &path, path2.as_deref(), text("mode"));
    let after = picture(tree.base(), modes);

    if let Err(error) = &outcome {
        tells_nothing(error, &tree, &[&path, path2.as_deref().unwrap_or_default()]);
    }
    let code = outcome.as_ref().err().map_or("ok", Error::code);
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    let new = after.difference(&before).map(|line| format!("+ {line}"));
    let effects: BTreeSet<String> = gone.chain(new).collect();
    let wanted = row["effects"].as_array().unwrap().iter();
    let wanted: BTreeSet<String> = wanted.map(|line| tree.expand(line.as_str().unwrap())).collect();
    if text("expect") == Some(code) && effects == wanted {
        return Ok(());
    }
    Err(format!("{row}\n  gave {outcome:?}\n  with {effects:?}").into())
}

fn operate(roots: &Roots, op: &str, path: &str, path2: Option<&str>, mode: Option<&str>) -> Result<(), Error> {
    let to = || path2.unwrap();
    match op {
        "write" => roots.write(path, b"NEW"),
        "update" => roots.update(path, |mut old| {
            old.push(b'+');
            Ok(old)
        }),
        "append" => roots.append(path, b"+"),
        "set_len" => roots.set_len(path, 1),
        "create_new" => roots.create_new(path).map(|mut file| file.write_all(b"NEW").unwrap()),
        "create_dir" => roots.create_dir(path),
        "create_dir_all" => roots.create_dir_all(path),
        "remove_file" => roots.remove_file(path),
        "remove_dir" => roots.remove_dir(path),
        "remove_dir_all" => roots.remove_dir_all(path),
        "rename" => roots.rename(path, to()),
        "rename_replace" => roots.rename_replace(path, to()),
        "copy_replace" => roots.copy_replace(path, to()).map(drop),
        "set_permissions" => roots.set_permissions(path, u32::from_str_radix(mode.unwrap(), 8).unwrap()),
        _ => panic!("no operation {op}"),
    }
}

pub(crate) type Change = fn(&Roots, &str) -> Result<(), Error>;

/// Every way to change the file that a path leads to, or to make one there.
pub(crate) const CHANGES: [(&str, Change); 7] = [
    ("write", |roots, path| roots.write(path, "EVIL")),
    ("update", |roots, path| roots.update(path, |_| Ok(b"EVIL".to_vec()))),
    ("append", |roots, path| roots.append(path, "EVIL")),
    ("set_len", |roots, path| roots.set_len(path, 0)),
    ("copy_replace", |roots, path| roots.copy_replace("a.txt", path).map(drop)),
    ("set_permissions", |roots, path| roots.set_permissions(path, 0o777)),
    ("set_times", |roots, path| roots.set_times(path, None, None)),
];

/// A line for each object below `base`: its path, its type, what it holds, and its mode if asked for.
pub(crate) fn picture(base: &Path, modes: bool) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    add(base, "", modes, &mut lines);
    lines
}

fn add(dir: &Path, prefix: &str, modes: bool, lines: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let (at, metadata) = (entry.path(), entry.metadata().unwrap());
        let path = format!("{prefix}{}", entry.file_name().display());
        let (kind, mode) = (metadata.file_type(), metadata.permissions().mode() & 0o7777);
        if kind.is_symlink() {
            lines.insert(format!("{path} -> {}", fs::read_link(&at).unwrap().display()));
            continue;
        }
        let line = if kind.is_dir() {
            let path = format!("{path}/");
            readable(&at, mode, 0o500, || add(&at, &path, modes, lines));
            path
        } else if kind.is_file() {
            let content = readable(&at, mode, 0o400, || fs::read(&at).unwrap());
            format!("{path} = {}", String::from_utf8_lossy(&content))
        } else if kind.is_fifo() {
            format!("{path} (fifo)")
        } else if kind.is_socket() {
            format!("{path} (socket)")
        } else {
            panic!("{path}: {kind:?}");
        };
        lines.insert(if modes { format!("{line} {mode:03o}") } else { line });
    }
}

/// Also what the row made unreadable is in the picture; it is as unreadable again afterwards.
fn readable<T>(path: &Path, mode: u32, needed: u32, look: impl FnOnce() -> T) -> T {
    if mode & needed == needed {
        return look();
    }
    fs::set_permissions(path, Permissions::from_mode(mode | needed)).unwrap();
    let seen = look();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    seen
}
