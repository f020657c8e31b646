//! Other threads that search files ahead of an answer. They tell which files have nothing to show; what has is opened and searched again by whoever
//! writes the answer, in its order: so it is the same answer, whoever is how fast.
//!
//! May touch: entries, which are judged and opened as anybody's are, and `work`. Which they are is the business of who calls it.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
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
    closed: bool,
}

/// What is to be searched, and what was.
pub(crate) struct Ahead<'a, E> {
    pattern: &'a Pattern,
    work: &'a Work,
    state: Mutex<State<E>>,
    given: Condvar,
    done: Condvar,
}

impl<E> std::fmt::Debug for Ahead<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}

impl<'a, E: Opens> Ahead<'a, E> {
    pub(crate) fn new(pattern: &'a Pattern, work: &'a Work) -> Self {
        let state = State { waiting: VecDeque::new(), done: BTreeMap::new(), idle: 0, awaited: false, closed: false };
        Self { pattern, work, state: Mutex::new(state), given: Condvar::new(), done: Condvar::new() }
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
                let outcome = look(&mut search, &task, self.work);
                state = self.state();
                state.done.insert(number, outcome);
                if state.awaited {
                    self.done.notify_one();
                }
            } else if state.closed {
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
                    let outcome = look(search, &task, self.work);
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

    /// Nothing more is given or taken.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.waiting.clear();
        self.given.notify_all();
    }
}

/// Whether a file has nothing to show. An error is met again, and told, by whoever writes the answer.
fn look<E: Opens>(search: &mut Search, task: &Task<E>, work: &Work) -> Nothing {
    let mut found = Found::new(u64::MAX, 1);
    let searched = search.file(task.entry.open().ok()?, "", task.from, &mut found, work).ok()?;
    let is_through = matches!(searched, Searched::Binary | Searched::Whole(_));
    (is_through && found.matches() == 0).then_some(searched)
}

#[cfg(test)]
mod tests {
    use cap_roots::ErrorKind;

    use super::*;
    use crate::grep::Meaning;

    struct Numbered(u64);

    impl Opens for Numbered {
        type File = std::io::Cursor<String>;

        fn open(&self) -> Result<Self::File> {
            Ok(std::io::Cursor::new(match self.0 % 7 {
                0 => "nothing\n".repeat(20_000) + "hit\n",
                1 => "a\0hit\n".to_owned(),
                2 => return Err(ErrorKind::NotFound.into()),
                _ => "nothing\n".to_owned(),
            }))
        }
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
