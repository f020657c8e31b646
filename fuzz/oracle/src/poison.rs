//! A tree with every kind of object that a path can lead to, and a canary tree beside it that nothing may reach.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use cap_roots::{ErrorKind, Roots};

use crate::tree::Tree;

/// Stands in every file outside the root, and nowhere inside.
pub const CANARY: &str = "CANARY-7f3a";

/// Longer than anything here takes that does not wait for somebody.
const FOR_EVER: Duration = Duration::from_secs(120);

const LINES: &[&str] = &[
    "file ../outside/secret=CANARY-7f3a",
    "file ../outside/dir/canary=CANARY-7f3a",
    "file ../ROOT-old/canary=CANARY-7f3a",
    "file file=inside",
    "file a/b/file=inside",
    "file a/canary=inside",
    "dir dir/in",
    "file dir/in/file=inside",
    "link in -> a/b/file",
    "link up -> ..",
    "link dir/up -> ..",
    "link out -> ../outside/secret",
    "link outside -> ../outside",
    "link abs-out -> $BASE/outside",
    "link abs-in -> $ROOT/a",
    "link a/abs-in -> $ROOT/dir/in/",
    "link dangling -> nothing",
    "link dir/dangling -> ../../outside/nothing",
    "link self -> .",
    "link loop -> loop",
    "link a/loop -> ../dir/loop",
    "link dir/loop -> ../a/loop",
    "link out-and-back -> ../ROOT/file",
    "link proc -> /proc/self/root",
    "fifo fifo",
    "sock a/sock",
    "file cafe\u{301}=inside",
    "file b=inside",
];

/// How many directories deep and how many entries wide the tree goes.
const DEEP: usize = 60;
const WIDE: usize = 300;

/// Builds the tree.
pub fn build() -> io::Result<Tree> {
    use std::os::unix::ffi::OsStrExt;
    let mut lines: Vec<String> = LINES.iter().map(|line| (*line).to_owned()).collect();
    lines.push(format!("file {}file=inside", "deep/".repeat(DEEP)));
    lines.extend((0..WIDE).map(|number| format!("file wide/{number}=inside")));
    let tree = Tree::build(lines)?;
    // A device, where the process may make one.
    let null = rustix::fs::makedev(1, 3);
    let device = tree.root().join("device");
    let _ = rustix::fs::mknodat(
        rustix::fs::CWD,
        &device,
        rustix::fs::FileType::CharacterDevice,
        rustix::fs::Mode::from_raw_mode(0o666),
        null,
    );
    for name in [b"\xff".as_slice(), b"a\x80b", b"line\nbreak", b"\x1b[31m"] {
        std::fs::write(tree.root().join("dir").join(std::ffi::OsStr::from_bytes(name)), "inside")?;
    }
    Ok(tree)
}

/// What lies beside the root: every path with its type, content or link text, and time of change. Taken before and after, it shows
/// whether anything outside was touched.
pub fn outside(tree: &Tree) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut stack = vec![tree.base().to_owned()];
    while let Some(dir) = stack.pop() {
        for entry in std::fs::read_dir(dir)? {
            let (path, metadata) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))?;
            if path == tree.root() {
                continue;
            }
            let content = if metadata.is_file() { std::fs::read_to_string(&path)? } else { String::new() };
            found.push(format!("{} {:?} {content} {:?}", path.display(), metadata.file_type(), metadata.modified()?));
            if metadata.is_dir() {
                stack.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// NO-WAIT for many short pieces of work on one thread: the process is aborted if a single one takes as long as nothing here may.
pub fn bounded<T>(work: impl FnOnce() -> T) -> T {
    static RUNNING: Mutex<BTreeMap<u64, Instant>> = Mutex::new(BTreeMap::new());
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static WATCH: Once = Once::new();
    struct Running(u64);
    impl Drop for Running {
        fn drop(&mut self) {
            RUNNING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
        }
    }
    WATCH.call_once(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(FOR_EVER / 60);
                // Numbers are given out in order: the first one is the oldest.
                let oldest = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).values().next().copied();
                if oldest.is_some_and(|since| since.elapsed() > FOR_EVER) {
                    eprintln!("a call waits for a peer");
                    std::process::abort();
                }
            }
        });
    });
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).insert(number, Instant::now());
    let _running = Running(number);
    work()
}

/// NO-WAIT: panics if `work` takes as long as nothing here may; a call that waits for a peer waits for ever.
pub fn no_wait(work: impl FnOnce() + Send) {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            work();
            let _ = done.send(());
        });
        if ended.recv_timeout(FOR_EVER) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            // The thread cannot be ended from here, and the scope would wait for it.
            eprintln!("a call waits for a peer");
            std::process::abort();
        }
    });
}

/// Tries everything that reads on one path and panics if a byte, a name or a word of what lies outside comes back.
pub fn probe(roots: &Roots, tree: &Tree, path: &str) {
    let base = tree.base().to_string_lossy();
    let check = |text: &str| {
        assert!(!text.contains(CANARY), "outside content by {path:?}: {text}");
        assert!(path.contains(&*base) || !text.contains(&*base), "host path by {path:?}: {text}");
    };
    match roots.read(path) {
        Ok(bytes) => check(&String::from_utf8_lossy(&bytes)),
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Busy, "{path:?}");
            check(&format!("{error} {error:?}"));
        }
    }
    for entry in roots.read_dir(path).into_iter().flatten().flatten() {
        check(&entry.name_text());
        if let Ok(bytes) = entry.read() {
            check(&String::from_utf8_lossy(&bytes));
        }
    }
    if let Ok(text) = roots.read_link(path) {
        check(&text.to_string_lossy());
    }
    let _ = (roots.metadata(path), roots.symlink_metadata(path), roots.exists(path));
    if let Ok(dir) = roots.open_dir(path) {
        check(&format!("{dir:?}"));
        for name in ["..", "up", "outside/secret", "../outside/secret"] {
            if let Ok(bytes) = dir.read(name) {
                check(&String::from_utf8_lossy(&bytes));
            }
        }
    }
}
