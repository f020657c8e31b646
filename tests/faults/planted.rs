//! The tree that the operations work on, and what it looks like.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use cap_roots_oracle::tree::Tree;

use crate::child::{TIME, content};

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
