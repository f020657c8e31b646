//! Other threads that search files ahead of an answer. They tell which files have nothing to show; what has is opened and searched again by whoever
//! writes the answer, in its order: so it is the same answer, whoever is how fast.
//!
//! May touch: entries, which are judged and opened as anybody's are, and `work`. Which they are is the business of who calls it.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use cap_roots::{Entry, File, Result};

use super::{Found, Pattern, Search, Searched, Shape};
use crate::work::{self, Work};

/// Most threads that one search has, with that of its call.
const THREADS: usize = 4;

/// How many threads can help on this machine.
pub(crate) fn helpers() -> usize {
    work::processors().min(THREADS) - 1
}

/// What can be opened and searched.
pub(crate) trait Opens: Send {
    type File: Read;
    fn open(&self) -> Result<Self::File>;
}

impl Opens for Entry {
    type File = File;

    fn open(&self) -> Result<File> {
        Entry::open(self)
    }
}

/// A file to search.
#[derive(Debug)]
pub(crate) struct Task<E> {
    pub(crate) entry: E,
    /// Where an earlier search ended.
    pub(crate) from: u64,
}

/// How far a file was searched in which nothing was found. `None`: whoever writes the answer has to open it and see.
pub(crate) type Nothing = Option<Searched>;

struct State<E> {
    /// By the number that each was given, which grows.
    waiting: VecDeque<(u64, Task<E>)>,
    done: BTreeMap<u64, Nothing>,
    /// How many threads have nothing to do.
    idle: usize,
    /// Whoever takes waits for what a helper is at.
    awaited: bool,
}

/// What is to be searched, and what was.
pub(crate) struct Ahead<'a, E> {
    pattern: &'a Pattern,
    work: &'a Work,
    state: Mutex<State<E>>,
    given: Condvar,
    done: Condvar,
    /// Set under the lock of the state.
    closed: AtomicBool,
}

impl<E> std::fmt::Debug for Ahead<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}

impl<'a, E: Opens> Ahead<'a, E> {
    pub(crate) fn new(pattern: &'a Pattern, work: &'a Work) -> Self {
        let state = State { waiting: VecDeque::new(), done: BTreeMap::new(), idle: 0, awaited: false };
        let closed = AtomicBool::new(false);
        Self { pattern, work, state: Mutex::new(state), given: Condvar::new(), done: Condvar::new(), closed }
    }

    fn state(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts `count` threads, which end with [`Ahead::close`].
    pub(crate) fn help<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, count: usize) {
        for _ in 0..count {
            // Without it, others do the work.
            let _ = std::thread::Builder::new().name("search".to_owned()).spawn_scoped(scope, || self.run());
        }
    }

    fn run(&self) {
        let mut search = self.search();
        let mut state = self.state();
        loop {
            if let Some((number, task)) = state.waiting.pop_front() {
                drop(state);
                // A file over which this panics is left to whoever writes the answer, who would wait for it for ever.
                let outcome =
                    catch_unwind(AssertUnwindSafe(|| self.look(&mut search, &task, || !self.closed.load(Ordering::SeqCst))))
                        .unwrap_or_else(|_| {
                            search = self.search();
                            None
                        });
                state = self.state();
                state.done.insert(number, outcome);
                if state.awaited {
                    self.done.notify_one();
                }
            } else if self.closed.load(Ordering::SeqCst) {
                return;
            } else {
                state.idle += 1;
                state = self.given.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }

    /// For [`Ahead::take`].
    pub(crate) fn search(&self) -> Search {
        Search::new(self.pattern.clone(), Shape::Names)
    }

    pub(crate) fn give(&self, tasks: impl Iterator<Item = (u64, Task<E>)>) {
        let mut state = self.state();
        state.waiting.extend(tasks);
        if state.idle > 0 {
            self.given.notify_one();
        }
    }

    pub(crate) fn is_done(&self, number: u64) -> bool {
        self.state().done.contains_key(&number)
    }

    /// What became of the task of this number, which was given. Until it is done, others are.
    pub(crate) fn take(&self, number: u64, search: &mut Search) -> Nothing {
        let mut state = self.state();
        loop {
            if let Some(outcome) = state.done.remove(&number) {
                return outcome;
            }
            match state.waiting.pop_front() {
                Some((other, _)) if other == number => return None,
                Some((other, task)) => {
                    drop(state);
                    // What is awaited may be the last that the answer has room for, if it has something to show.
                    let outcome = self.look(search, &task, || self.state().done.get(&number) != Some(&None));
                    state = self.state();
                    state.done.insert(other, outcome);
                }
                None => {
                    state.awaited = true;
                    state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.awaited = false;
                }
            }
        }
    }

    /// Whether a file has nothing to show. An error is met again, and told, by whoever writes the answer.
    fn look(&self, search: &mut Search, task: &Task<E>, is_wanted: impl Fn() -> bool) -> Nothing {
        let mut found = Found::new(u64::MAX, 1);
        let file = Wanted { file: task.entry.open().ok()?, is_wanted };
        let searched = search.file(file, "", task.from, &mut found, self.work).ok()?;
        let is_through = matches!(searched, Searched::Binary | Searched::Whole(_));
        (is_through && found.matches() == 0).then_some(searched)
    }

    /// Nothing more is given or taken.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        self.closed.store(true, Ordering::SeqCst);
        state.waiting.clear();
        self.given.notify_all();
    }
}

/// A file as long as somebody wants to know of it: the answer must not wait for the end of one that lies behind its own.
struct Wanted<F, W> {
    file: F,
    is_wanted: W,
}

impl<F: Read, W: Fn() -> bool> Read for Wanted<F, W> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if (self.is_wanted)() { self.file.read(into) } else { Err(io::ErrorKind::Other.into()) }
    }
}

#[cfg(test)]
mod tests {
    use cap_roots::ErrorKind;

    use super::*;
    use crate::grep::Meaning;

    struct Numbered(u64);

    impl Opens for Numbered {
        type File = io::Cursor<String>;

        fn open(&self) -> Result<Self::File> {
            Ok(io::Cursor::new(match self.0 % 7 {
                0 => "nothing\n".repeat(20_000) + "hit\n",
                1 => "a\0hit\n".to_owned(),
                2 => return Err(ErrorKind::NotFound.into()),
                _ => "nothing\n".to_owned(),
            }))
        }
    }

    struct Endless(u64, Option<std::sync::mpsc::Receiver<()>>);

    impl Opens for Endless {
        type File = Box<dyn Read>;

        fn open(&self) -> Result<Self::File> {
            if let Some(go) = &self.1 {
                let _ = go.recv();
            }
            Ok(if self.0 == 0 { Box::new(&b"hit\n"[..]) } else { Box::new(io::repeat(b'\n')) })
        }
    }

    /// Catches: an answer that waits for the end of a large file behind its own, which a thread that helps is at, or the call itself.
    #[test]
    fn nobody_goes_on_for_an_answer_that_may_be_full() {
        let meaning = Meaning { regex: false, case_sensitive: true, whole_word: false };
        for is_taken in [false, true] {
            let (pattern, work) = (Pattern::parse("hit", meaning).unwrap(), Work::default());
            let ((told, all), (go, wait)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel());
            std::thread::spawn(move || {
                let ahead = Ahead::new(&pattern, &work);
                std::thread::scope(|scope| {
                    ahead.help(scope, 1);
                    ahead.give([(0, Task { entry: Endless(0, Some(wait)), from: 0 })].into_iter());
                    while !ahead.state().waiting.is_empty() {
                        std::thread::yield_now();
                    }
                    // The one that helps is at the first, and there are two more.
                    ahead.give((1..3).map(|number| (number, Task { entry: Endless(number, None), from: 0 })));
                    if is_taken {
                        let began = || ahead.state().waiting.len() < 2;
                        scope.spawn(move || {
                            while !began() {
                                std::thread::yield_now();
                            }
                            drop(go);
                        });
                    } else {
                        drop(go);
                        while !ahead.is_done(0) || ahead.state().waiting.len() == 2 {
                            std::thread::yield_now();
                        }
                    }
                    assert_eq!(ahead.take(0, &mut ahead.search()), None);
                    ahead.close();
                });
                let _ = told.send(());
            });
            all.recv_timeout(std::time::Duration::from_secs(30)).expect("it waits");
        }
    }

    struct Panics(u64);

    impl Opens for Panics {
        type File = io::Cursor<String>;

        fn open(&self) -> Result<Self::File> {
            let helps = std::thread::current().name() == Some("search");
            assert!(!helps || !self.0.is_multiple_of(3), "as the test wants it");
            Ok(io::Cursor::new("nothing\n".to_owned()))
        }
    }

    /// Catches: a call that waits for ever for a file over which the thread that helped has panicked.
    #[test]
    fn a_panic_of_who_helps_is_the_end_of_one_file() {
        let meaning = Meaning { regex: false, case_sensitive: true, whole_word: false };
        let (pattern, work) = (Pattern::parse("hit", meaning).unwrap(), Work::default());
        let (told, all) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let ahead = Ahead::new(&pattern, &work);
            let left = std::thread::scope(|scope| {
                ahead.help(scope, 1);
                let mut own = ahead.search();
                ahead.give((0..90).map(|number| (number, Task { entry: Panics(number), from: 0 })));
                while !ahead.is_done(89) {
                    std::thread::yield_now();
                }
                let left = (0..90).filter(|number| ahead.take(*number, &mut own).is_none()).collect::<Vec<_>>();
                ahead.close();
                left
            });
            let _ = told.send(left);
        });
        let left = all.recv_timeout(std::time::Duration::from_secs(30)).expect("it waits");
        assert_eq!(left, (0..90).filter(|number| number % 3 == 0).collect::<Vec<_>>());
    }

    /// Catches: an outcome that depends on who was faster, a file that nobody searches, and an error that counts as nothing found.
    #[test]
    fn whoever_helps_the_outcome_is_the_same() {
        let meaning = Meaning { regex: false, case_sensitive: true, whole_word: false };
        let (pattern, work) = (Pattern::parse("hit", meaning).unwrap(), Work::default());
        for helpers in 0..3 {
            let ahead = Ahead::new(&pattern, &work);
            std::thread::scope(|scope| {
                ahead.help(scope, helpers);
                let mut own = ahead.search();
                for burst in 0..50 {
                    let numbers = burst * 10..burst * 10 + 10;
                    ahead.give(numbers.clone().map(|number| (number, Task { entry: Numbered(number), from: 0 })));
                    for number in numbers {
                        match (ahead.take(number, &mut own), number % 7) {
                            // Whoever takes it does it.
                            (None, _) => {}
                            (Some(Searched::Binary), 1) | (Some(Searched::Whole(_)), 3..) => {}
                            (other, _) => panic!("{number}: {other:?}"),
                        }
                    }
                }
                ahead.close();
            });
        }
    }
}
