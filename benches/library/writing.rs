//! Replacing a file whole, durably.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, fchmod, fstat, fsync, linkat, openat, openat2, renameat};

use crate::setting::{SIZE, free, ruled};
use crate::turns::{Job, Turns, table};

const HAND: &str = "the same by hand";

pub fn replacing(wanted: &dyn Fn(&str) -> bool) {
    let title = "replace a file of 4 KiB, synced";
    if !wanted(title) {
        return;
    }
    let disk = tempfile::tempdir().unwrap();
    let turns = Turns { rounds: 101, batch: 1 };
    let mut columns = vec![("on disk".to_owned(), turns.take(jobs(disk.path())))];
    // Where a sync costs nothing, only the calls are left.
    if let Ok(memory) = tempfile::tempdir_in("/dev/shm") {
        columns.push(("in memory".to_owned(), Turns { rounds: 301, batch: 20 }.take(jobs(memory.path()))));
    }
    table(title, HAND, &columns);
}

fn jobs(folder: &Path) -> Vec<Job<'static>> {
    let roots = fs::canonicalize(folder).unwrap();
    let contents = vec![b'x'; SIZE];
    let at = |name: &str| -> PathBuf {
        let root = roots.join(name);
        fs::create_dir_all(root.join("d")).unwrap();
        fs::write(root.join("d/file"), "old").unwrap();
        root
    };
    let (free, ruled) = (free(&at("free")), ruled(&at("ruled")));
    let (hand, std) = (fs::File::open(at("hand")).unwrap(), at("std").join("d/file"));
    let [one, two, three] = [(); 3].map(|()| contents.clone());
    vec![
        Job::new(HAND, move || by_hand(&hand, &one)),
        Job::new("cap-roots", move || free.write("d/file", &two).unwrap()),
        Job::new("cap-roots with 20 rules", move || ruled.write("d/file", &three).unwrap()),
        Job::new("std::fs::write (neither atomic nor synced)", move || fs::write(&std, &contents).unwrap()),
    ]
}

/// As durable: the content is synced under no name, takes the mode of the old file, replaces it by a rename, and the directory is synced.
fn by_hand(root: &fs::File, contents: &[u8]) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir: OwnedFd = openat2(root, "d", flags, Mode::empty(), ResolveFlags::BENEATH).unwrap();
    let old = openat(&dir, "file", OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let mode = Mode::from_raw_mode(fstat(&old).unwrap().st_mode & 0o777);
    let new = openat(&dir, ".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).unwrap();
    let mut left = contents;
    while !left.is_empty() {
        left = &left[rustix::io::write(&new, left).unwrap()..];
    }
    fchmod(&new, mode).unwrap();
    fsync(&new).unwrap();
    linkat(&new, "", &dir, ".by-hand.tmp", AtFlags::EMPTY_PATH).unwrap();
    renameat(&dir, ".by-hand.tmp", &dir, "file").unwrap();
    fsync(&dir).unwrap();
}
