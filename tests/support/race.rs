//! A thread that exchanges names in a tight loop while others operate, with the outcomes counted, and a picture of what lies outside.

#![allow(clippy::print_stdout, reason = "the counts are the evidence")]
#![allow(clippy::disallowed_methods, reason = "looks at trees by path")]

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};

pub(crate) type Outcomes = BTreeMap<&'static str, usize>;
/// One operation, and what came of it.
pub(crate) type Worker<'a> = Box<dyn FnMut() -> &'static str + Send + 'a>;
/// One exchange; whether there was one.
pub(crate) type Swapper<'a> = Box<dyn FnMut() -> bool + Send + 'a>;

/// What a race came to.
pub(crate) struct Ran {
    pub(crate) outcomes: Outcomes,
    /// Operations during which something was exchanged.
    pub(crate) met: usize,
}

/// A race that has not met the exchange often enough by then, over its time, never will.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Race<'a> {
    pub(crate) name: String,
    /// The outcomes that there may be, each with the fewest times that it must come. Anything else fails.
    pub(crate) allowed: &'a [(&'static str, usize)],
    /// Fewest operations.
    pub(crate) least: usize,
    /// Fewest operations during which something was exchanged.
    pub(crate) met: usize,
    /// It goes on for as long as this, at least.
    pub(crate) time: Duration,
}

impl Race<'_> {
    /// Runs `workers` while `swappers` go on, each on a thread of its own, until enough has happened, or something that may not. `check` comes
    /// before the outcomes are judged: an escape is worse than a wrong code.
    pub(crate) fn run(&self, swappers: Vec<Swapper<'_>>, workers: Vec<Worker<'_>>, check: impl FnOnce(&str)) -> Ran {
        let (stop, swaps, met) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        let outcomes = Mutex::new(Outcomes::new());
        let begin = Instant::now();
        let work = |mut worker: Worker<'_>| {
            loop {
                let before = swaps.load(Ordering::Relaxed);
                let outcome = worker();
                met.fetch_add(usize::from(swaps.load(Ordering::Relaxed) != before), Ordering::Relaxed);
                let mut outcomes = outcomes.lock().unwrap();
                *outcomes.entry(outcome).or_insert(0) += 1;
                let is_over = begin.elapsed() > self.time && self.is_enough(&outcomes, met.load(Ordering::Relaxed));
                if is_over || !self.allows(outcome) || begin.elapsed() > self.time + DEADLINE {
                    return;
                }
            }
        };
        let exchange = |mut swap: Swapper<'_>| {
            while !stop.load(Ordering::Relaxed) {
                swaps.fetch_add(usize::from(swap()), Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            let swappers: Vec<_> = swappers.into_iter().map(|swap| scope.spawn(|| exchange(swap))).collect();
            let workers: Vec<_> = workers.into_iter().map(|worker| scope.spawn(|| work(worker))).collect();
            let ends: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            // However the work ended: a failed assertion must not leave the swappers going.
            stop.store(true, Ordering::Relaxed);
            swappers.into_iter().for_each(|swapper| swapper.join().unwrap());
            ends.into_iter().for_each(|end| end.unwrap());
        });
        let outcomes = outcomes.into_inner().unwrap();
        let (count, swaps, met) = (outcomes.values().sum::<usize>(), swaps.into_inner(), met.into_inner());
        let seconds = begin.elapsed().as_secs_f32();
        println!("{}: {count} operations, {met} met one of {swaps} swaps, {outcomes:?}, {seconds:.1} s", self.name);
        check(&self.name);
        assert!(outcomes.keys().all(|code| self.allows(code)), "{}: {outcomes:?}", self.name);
        assert!(self.is_enough(&outcomes, met), "{}: the race did not happen: {outcomes:?}", self.name);
        Ran { outcomes, met }
    }

    fn allows(&self, code: &str) -> bool {
        self.allowed.iter().any(|(allowed, _)| *allowed == code)
    }

    fn is_enough(&self, outcomes: &Outcomes, met: usize) -> bool {
        let often = |(code, least): &(&'static str, usize)| outcomes.get(code).copied().unwrap_or(0) >= *least;
        met >= self.met && outcomes.values().sum::<usize>() >= self.least && self.allowed.iter().all(often)
    }
}

/// `false` where one of them is missing at the moment.
pub(crate) fn exchange([one, other]: &[PathBuf; 2]) -> bool {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

/// A directory by its handle, wherever it is moved to.
pub(crate) struct Held(OwnedFd);

impl Held {
    pub(crate) fn new(path: &Path) -> Self {
        Self(openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap())
    }

    /// A path through the handle, and not through the names that led to it.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        Path::new("/proc/self/fd").join(self.0.as_raw_fd().to_string()).join(name)
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Everything below `base` but `without`: types, modes, contents or link texts, inodes, times of change.
pub(crate) fn picture(base: &Path, without: &[&Path]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut stack = vec![base.to_owned()];
    while let Some(dir) = stack.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let (path, metadata) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?))).unwrap();
            if without.contains(&&*path) {
                continue;
            }
            let content = if metadata.is_file() {
                fs::read(&path).unwrap_or_else(|error| error.to_string().into_bytes())
            } else if metadata.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                stack.push(path.clone());
                Vec::new()
            };
            let (mode, inode, names) = (metadata.permissions().mode(), metadata.ino(), metadata.nlink());
            let modified = (metadata.mtime(), metadata.mtime_nsec());
            let changed = (metadata.ctime(), metadata.ctime_nsec());
            let content = content.escape_ascii();
            lines.push(format!("{} {mode:o} {inode} {names} {modified:?} {changed:?} {content}", path.display()));
        }
    }
    lines.sort();
    lines
}
