//! Other threads that search files ahead of an answer. They tell which files have nothing to show; what has is searched again by whoever writes the
//! answer, in its order: so it is the same answer, whoever is how fast.
//!
//! May touch: opened files, `work`. Which files are opened, and in which order, is the business of who calls it.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Seek};
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use super::{Found, Pattern, Search, Searched, Shape};
use crate::work::Work;

/// Most threads that one search has, with that of its call.
const THREADS: usize = 4;

/// How many threads can help on this machine.
pub(crate) fn helpers() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS) - 1
}

/// A file to search, from where an earlier search ended.
#[derive(Debug)]
pub(crate) struct Task<F> {
    pub(crate) file: F,
    pub(crate) from: u64,
}

/// What became of a task.
#[derive(Debug)]
pub(crate) enum Outcome<F> {
    /// Searched, and nothing was found.
    Nothing(Searched),
    /// To be searched from its beginning, by whoever writes the answer.
    Open(Task<F>),
}

struct State<F> {
    /// By the number that each was given, which grows.
    waiting: VecDeque<(u64, Task<F>)>,
    done: BTreeMap<u64, Outcome<F>>,
    idle: usize,
    closed: bool,
}

/// What is to be searched, and what was.
pub(crate) struct Ahead<'a, F> {
    pattern: &'a Pattern,
    work: &'a Work,
    state: Mutex<State<F>>,
    changed: Condvar,
}

impl<F> std::fmt::Debug for Ahead<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}

impl<'a, F: Read + Seek + Send> Ahead<'a, F> {
    pub(crate) fn new(pattern: &'a Pattern, work: &'a Work) -> Self {
        let state = State { waiting: VecDeque::new(), done: BTreeMap::new(), idle: 0, closed: false };
        Self { pattern, work, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State<F>>) -> MutexGuard<'s, State<F>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
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
                let outcome = look(&mut search, task, self.work);
                state = self.state();
                state.done.insert(number, outcome);
                self.changed.notify_all();
            } else if state.closed {
                return;
            } else {
                state.idle += 1;
                state = self.wait(state);
                state.idle -= 1;
            }
        }
    }

    /// For [`Ahead::take`].
    pub(crate) fn search(&self) -> Search {
        Search::new(self.pattern.clone(), Shape::Names)
    }

    pub(crate) fn give(&self, tasks: impl Iterator<Item = (u64, Task<F>)>) {
        let mut state = self.state();
        state.waiting.extend(tasks);
        if state.idle > 0 {
            self.changed.notify_all();
        }
    }

    /// What became of the task of this number, which was given. Until it is done, others are.
    pub(crate) fn take(&self, number: u64, search: &mut Search) -> Outcome<F> {
        let mut state = self.state();
        loop {
            if let Some(outcome) = state.done.remove(&number) {
                return outcome;
            }
            match state.waiting.pop_front() {
                Some((other, task)) if other == number => return Outcome::Open(task),
                Some((other, task)) => {
                    drop(state);
                    let outcome = look(search, task, self.work);
                    state = self.state();
                    state.done.insert(other, outcome);
                }
                None => state = self.wait(state),
            }
        }
    }

    /// Nothing more is given or taken.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.waiting.clear();
        self.changed.notify_all();
    }
}

/// Whether a file has anything to show.
fn look<F: Read + Seek>(search: &mut Search, mut task: Task<F>, work: &Work) -> Outcome<F> {
    let mut found = Found::new(u64::MAX, 1);
    let searched = search.file(&mut task.file, "", task.from, &mut found, work);
    match searched {
        Ok(searched @ (Searched::Binary | Searched::Whole(_))) if found.matches() == 0 => Outcome::Nothing(searched),
        // An error is met again, and told, by the search that follows.
        _ => {
            let _ = task.file.rewind();
            Outcome::Open(task)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::grep::Meaning;

    /// Catches: an answer that depends on who was faster, a file that nobody searches, a file that is searched on from where a helper left it.
    #[test]
    fn whoever_helps_the_outcome_is_the_same() {
        let meaning = Meaning { regex: false, case_sensitive: true, whole_word: false };
        let (pattern, work) = (Pattern::parse("hit", meaning).unwrap(), Work::default());
        let content = |number: u64| match number % 7 {
            0 => "nothing\n".repeat(20_000) + "hit\n",
            1 => "a\0hit\n".to_owned(),
            2 => "caf\u{e9}".to_owned(),
            _ => "nothing\n".to_owned(),
        };
        for helpers in 0..3 {
            let ahead = Ahead::new(&pattern, &work);
            std::thread::scope(|scope| {
                ahead.help(scope, helpers);
                let mut own = ahead.search();
                for burst in 0..50 {
                    let numbers = burst * 10..burst * 10 + 10;
                    ahead.give(numbers.clone().map(|number| (number, Task { file: Cursor::new(content(number)), from: 0 })));
                    for number in numbers {
                        match ahead.take(number, &mut own) {
                            Outcome::Nothing(searched) => {
                                assert_ne!(number % 7, 0);
                                assert_eq!(searched == Searched::Binary, number % 7 == 1);
                            }
                            Outcome::Open(mut task) => {
                                let mut text = String::new();
                                task.file.read_to_string(&mut text).unwrap();
                                assert_eq!(text, content(number), "from its beginning");
                            }
                        }
                    }
                }
                ahead.close();
            });
        }
    }
}
