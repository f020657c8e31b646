//! One directory for many cases: each case's tree is laid out in it from nothing and taken down again, and what lies beside the root stays.
//!
//! Nothing gets from one case into the next: the root is made anew, and what stays is compared with what it was. A directory in which
//! anything is not as expected is thrown away, and so is one whose case did not come to its end.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, FileType, Stat, Timespec, Timestamps, statat, utimensat};

use crate::poison;
use crate::sequence::disk::{self, Picture};
use crate::tree::Tree;

/// A tree whose root is made anew for each case.
pub struct Ground {
    tree: Tree,
    /// The lines about what lies beside the root.
    beside: Vec<String>,
    /// Each name beside the root, and what it was when it was made.
    kept: Vec<(String, Mark)>,
    /// Whether the next case finds what this one found: at the last look the root was gone, nothing else had changed, and no file had a
    /// second name left anywhere.
    clear: AtomicBool,
}

/// What shows a change of an object: a write, a chmod, and, in a directory, a name that comes or goes. Its time lies in the past, so that
/// a change shows however coarse the clock is. Not the count of names: the other side may give a file that lies outside one inside.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    inode: u64,
    mode: u32,
    size: i64,
    modified: (i64, i64),
}

impl Mark {
    fn of(stat: &Stat) -> Self {
        // Of a directory the size is not the same on every file system after a name has come and gone, and its time tells.
        let size = if is_dir(stat) { 0 } else { stat.st_size };
        let modified = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(-1));
        Self { inode: stat.st_ino, mode: stat.st_mode, size, modified }
    }
}

thread_local! {
    static FREE: RefCell<Vec<Arc<Ground>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work` on the tree that `lines` describe; it ends with taking the tree down and a look at what lies beside it. It gets no further than an error or a panic with the directory that it had.
pub fn with<T>(lines: &[String], work: impl FnOnce(&Arc<Ground>) -> T) -> io::Result<T> {
    let (beside, below): (Vec<&String>, Vec<&String>) = lines.iter().partition(|line| is_beside(line));
    let kept = FREE.with_borrow_mut(Vec::pop).filter(|ground| ground.beside.iter().eq(beside.iter().copied()));
    let ground = match kept {
        Some(ground) => ground,
        None => Arc::new(Ground::new(&beside)?),
    };
    ground.clear.store(false, Ordering::Relaxed);
    ground.tree.lay(below)?;
    let outcome = poison::bounded(|| work(&ground));
    if ground.clear.load(Ordering::Relaxed) {
        FREE.with_borrow_mut(|free| free.push(ground));
    }
    Ok(outcome)
}

fn is_beside(line: &str) -> bool {
    line.split(' ').nth(1).is_some_and(|path| path.starts_with("../"))
}

impl Ground {
    fn new(beside: &[&String]) -> io::Result<Self> {
        let tree = Tree::build(beside)?;
        let mut ground = Self {
            tree,
            beside: beside.iter().map(|line| (*line).clone()).collect(),
            kept: Vec::new(),
            clear: AtomicBool::new(false),
        };
        let names =
            Picture::of(ground.tree.base())?.paths().filter(|path| *path != "ROOT").map(str::to_owned).collect::<Vec<_>>();
        let past = Timespec { tv_sec: 500_000_000, tv_nsec: 0 };
        let past = Timestamps { last_access: past, last_modification: past };
        for name in names {
            utimensat(ground.tree.held(), &name, &past, AtFlags::SYMLINK_NOFOLLOW)?;
            let mark = Mark::of(&statat(ground.tree.held(), &name, AtFlags::SYMLINK_NOFOLLOW)?);
            ground.kept.push((name, mark));
        }
        ground.take_down()?;
        Ok(ground)
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What is below the root, which is gone afterwards.
    pub fn take_down(&self) -> io::Result<Picture> {
        Picture::taken_down(self.tree.held(), "ROOT")
    }

    /// What lies beside the root and is not what it was. Files are held to their content by their size and time.
    pub fn changed_beside(&self) -> io::Result<Vec<String>> {
        let mut changed = Vec::new();
        let mut single = true;
        for (name, mark) in &self.kept {
            match statat(self.tree.held(), name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if Mark::of(&stat) == *mark => single &= is_dir(&stat) || stat.st_nlink == 1,
                now => changed.push(format!("{name} was {mark:?} and is {:?}", now.as_ref().map(Mark::of))),
            }
        }
        let names = disk::names(self.tree.held())?;
        let known = |name: &String| name == "ROOT" || self.kept.iter().any(|(kept, _)| kept == name);
        changed.extend(names.iter().filter(|name| !known(name)).map(|name| format!("{name} was not there")));
        let clear = changed.is_empty() && single && !names.iter().any(|name| name == "ROOT");
        self.clear.store(clear, Ordering::Relaxed);
        Ok(changed)
    }
}

fn is_dir(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequence::generate::Case;
    use crate::sequence::run;
    use std::os::unix::fs::PermissionsExt;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    /// Catches: a directory that keeps something of the case before.
    #[test]
    fn a_tree_is_what_it_would_be_in_a_fresh_directory() {
        let mut state = 7u32;
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        for _ in 0..300 {
            let bytes: Vec<u8> = (0..200).map(|_| byte()).collect();
            run::check_end(&bytes, |builder| builder);
            let case = Case::generate(&(0..60).map(|_| byte()).collect::<Vec<u8>>());
            let fresh = Tree::build(&case.lines).unwrap();
            let shared = |tree: &Tree| Picture::of(tree.base()).unwrap().with_modes(tree.base_text());
            let fresh = shared(&fresh);
            let found = with(&case.lines, |ground| {
                let found = shared(ground.tree());
                ground.take_down().unwrap();
                assert_eq!(ground.changed_beside().unwrap(), Vec::<String>::new());
                found
            });
            assert_eq!(found.unwrap(), fresh, "{case}");
        }
    }

    /// Catches: a change beside the root that is overlooked, or that the next case finds.
    #[test]
    fn what_changes_beside_the_root_is_told_and_thrown_away() {
        let case = lines(&["file ../outside/a=1", "file b=2"]);
        let changes: [fn(&std::path::Path) -> io::Result<()>; 7] = [
            |base| std::fs::write(base.join("outside/a"), "2"),
            |base| std::fs::remove_file(base.join("outside/a")),
            |base| std::fs::write(base.join("outside/new"), ""),
            |base| std::fs::write(base.join("new"), ""),
            |base| std::fs::rename(base.join("outside"), base.join("other")),
            |base| std::fs::set_permissions(base.join("outside/a"), std::fs::Permissions::from_mode(0o600)),
            |base| std::fs::set_permissions(base.join("outside"), std::fs::Permissions::from_mode(0o700)),
        ];
        for (number, change) in changes.iter().enumerate() {
            let told = with(&case, |ground| {
                change(ground.tree().base()).unwrap();
                ground.take_down().unwrap();
                ground.changed_beside().unwrap()
            });
            assert!(!told.unwrap().is_empty(), "change {number}");
            let (told, kept) = with(&case, |ground| {
                let kept = std::fs::read_to_string(ground.tree().base().join("outside/a")).unwrap();
                ground.take_down().unwrap();
                (ground.changed_beside().unwrap(), kept)
            })
            .unwrap();
            assert_eq!((told, kept.as_str()), (Vec::<String>::new(), "1"), "after change {number}");
        }
        // A root that was not taken down is not found again.
        with(&case, |ground| std::fs::write(ground.tree().root().join("left"), "").unwrap()).unwrap();
        let found = with(&case, |ground| Picture::of(&ground.tree().root()).unwrap().lines()).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
