//! What the raw cap-std answers to each row of `tests/data`, with `openat2` blocked: one line a row, `id`, outcome and effects.
//!
//! Built once with each of two versions; `run` compares. Our crate is not in it, since it could not be linked with the bad version.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, OpenOptions, Permissions, PermissionsExt};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use serde_json::Value;

#[path = "../../fuzz/oracle/src/privilege.rs"]
#[allow(dead_code, missing_docs)]
mod privilege;
#[path = "../../fuzz/oracle/src/tree.rs"]
#[allow(dead_code, missing_docs)]
mod tree;

use tree::Tree;

/// A row that takes longer is looked at again when all others are done: a pipe waits for its other end.
const A_MOMENT: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(2);

fn main() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    privilege::drop_override();
    hide_openat2();
    let mut late = Vec::new();
    for data in [include_str!("../data/reading.jsonl"), include_str!("../data/writing.jsonl")] {
        let mut trees: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in data.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let name = row["tree"].as_str().unwrap().to_owned();
            match row["set"].as_array() {
                Some(set) => {
                    trees.insert(name, set.iter().map(|line| line.as_str().unwrap().to_owned()).collect());
                }
                None => late.extend(AtWork::start(row, &trees[&name]).wait(A_MOMENT)),
            }
        }
    }
    let end = Instant::now() + PATIENCE;
    for row in late {
        if let Some(row) = row.wait(end.saturating_duration_since(Instant::now())) {
            row.tell("blocks");
        }
    }
    // A row that hangs is still at it.
    std::process::exit(0);
}

fn hide_openat2() {
    const OPENAT2: i64 = 437;
    const ENOSYS: u32 = 38;
    let arch: TargetArch = std::env::consts::ARCH.try_into().unwrap();
    let rules = BTreeMap::from([(OPENAT2, Vec::new())]);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(ENOSYS), arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
    let (flags, none) = (rustix::fs::OFlags::PATH, rustix::fs::Mode::empty());
    let refused = rustix::fs::openat2(rustix::fs::CWD, ".", flags, none, rustix::fs::ResolveFlags::empty());
    assert_eq!(refused.unwrap_err(), rustix::io::Errno::NOSYS, "the filter does not work");
}

struct AtWork {
    id: String,
    tree: Arc<Tree>,
    before: BTreeSet<String>,
    told: mpsc::Receiver<std::io::Result<String>>,
}

impl AtWork {
    fn start(row: Value, set: &[String]) -> Self {
        let tree = Arc::new(Tree::build(set).unwrap());
        let before = picture(tree.base());
        let (teller, told) = mpsc::channel();
        let id = row["id"].as_str().unwrap().to_owned();
        let at = Arc::clone(&tree);
        std::thread::spawn(move || {
            let root = at.root().join(row["root"].as_str().unwrap_or("."));
            let root = Dir::open_ambient_dir(root, cap_std::ambient_authority()).unwrap();
            let text = |key: &str| at.expand(row[key].as_str().unwrap_or_default());
            let _ = teller.send(operate(&root, &text("op"), &text("path"), &text("path2"), row["mode"].as_str()));
        });
        Self { id, tree, before, told }
    }

    /// Tells the outcome, or gives back what is not done yet.
    fn wait(self, patience: Duration) -> Option<Self> {
        match self.told.recv_timeout(patience) {
            Ok(Ok(reads)) => self.tell(&format!("ok {reads:?}")),
            Ok(Err(error)) => self.tell(&format!("refused {:?}", error.kind())),
            Err(mpsc::RecvTimeoutError::Timeout) => return Some(self),
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{} ended without an outcome", self.id),
        }
        None
    }

    fn tell(&self, outcome: &str) {
        let after = picture(self.tree.base());
        let gone = self.before.difference(&after).map(|line| format!("- {line}"));
        let new = after.difference(&self.before).map(|line| format!("+ {line}"));
        let effects: Vec<String> = gone.chain(new).collect();
        let line = format!("{}\t{outcome}\t{effects:?}", self.id);
        println!("{}", line.replace(self.tree.base().to_str().unwrap(), "$BASE"));
    }
}

fn operate(root: &Dir, op: &str, path: &str, path2: &str, mode: Option<&str>) -> std::io::Result<String> {
    let done = |outcome: std::io::Result<()>| outcome.map(|()| String::new());
    match op {
        "open" => root.open(path).and_then(|mut file| {
            let mut text = String::new();
            file.read_to_string(&mut text).map(|_| text)
        }),
        "metadata" => root.metadata(path).map(|metadata| format!("{:?}", metadata.file_type())),
        "symlink_metadata" => root.symlink_metadata(path).map(|metadata| format!("{:?}", metadata.file_type())),
        "open_dir" => names(root.open_dir(path)?.entries()?),
        "read_dir" => names(root.read_dir(path)?),
        "read_link" => root.read_link(path).map(|text| text.display().to_string()),
        "canonicalize" => root.canonicalize(path).map(|path| path.display().to_string()),
        "exists" => root.try_exists(path).map(|exists| exists.to_string()),
        "write" => done(root.write(path, "NEW")),
        "update" => root.read(path).and_then(|old| done(root.write(path, [old, b"+".to_vec()].concat()))),
        "append" => {
            done(root.open_with(path, OpenOptions::new().append(true).create(true)).and_then(|mut file| file.write_all(b"+")))
        }
        "set_len" => done(root.open_with(path, OpenOptions::new().write(true)).and_then(|file| file.set_len(1))),
        "create_new" => done(
            root.open_with(path, OpenOptions::new().write(true).create_new(true)).and_then(|mut file| file.write_all(b"NEW")),
        ),
        "create_dir" => done(root.create_dir(path)),
        "create_dir_all" => done(root.create_dir_all(path)),
        "remove_file" => done(root.remove_file(path)),
        "remove_dir" => done(root.remove_dir(path)),
        "remove_dir_all" => done(root.remove_dir_all(path)),
        "rename" | "rename_replace" => done(root.rename(path, root, path2)),
        "copy_replace" => root.copy(path, root, path2).map(|count| count.to_string()),
        "hard_link" => done(root.hard_link(path, root, path2)),
        "symlink" => done(root.symlink(path2, path)),
        "set_permissions" => {
            let mode = u32::from_str_radix(mode.unwrap(), 8).unwrap();
            done(root.set_permissions(path, Permissions::from_mode(mode)))
        }
        _ => panic!("no operation {op}"),
    }
}

fn names(entries: cap_std::fs::ReadDir) -> std::io::Result<String> {
    let mut names = entries.map(|entry| Ok(entry?.file_name().display().to_string())).collect::<std::io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names.join(","))
}

/// A line for each object below `base`. What the row closed stays closed, and is not looked into.
fn picture(base: &Path) -> BTreeSet<String> {
    let (mut lines, mut left) = (BTreeSet::new(), vec![base.to_path_buf()]);
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(metadata) = entry.metadata() else { continue };
            let kind = metadata.file_type();
            let holds = if kind.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if kind.is_fifo() || kind.is_socket() {
                String::new()
            } else {
                fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
            };
            let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
            lines.insert(format!("{} {mode:o} {holds}", path.strip_prefix(base).unwrap().display()));
            if kind.is_dir() {
                left.push(path);
            }
        }
    }
    lines
}
