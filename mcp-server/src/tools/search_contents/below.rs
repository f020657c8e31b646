//! The search of all files below a directory: they are opened and answered for in the order of the walk, and searched by whoever is free.
//!
//! May touch: `grep`, `walk`. What was done ahead of an answer that is full is as if it had not been.

use std::collections::VecDeque;

use cap_roots::{Error, FileType, Result};

use super::Searching;
use crate::grep::{Ahead, Outcome, Task};
use crate::walk::{Globs, Here, Report, Step, Walking, ends_call};

/// Most files that are open at once.
const AHEAD: usize = 16;

/// A file in its turn.
struct Turn {
    label: String,
    within: u64,
    here: Here,
    file: Opened,
    passed: Passed,
}

enum Opened {
    /// The answer was full before.
    Not,
    Open(cap_roots::File),
    /// By this number, to whoever is free.
    Given(u64),
    Refused(Error),
}

/// What stands before a file, or behind the last one, and is not searched.
#[derive(Clone, Copy, Default)]
struct Passed {
    links: u64,
    special: u64,
    fitted: bool,
}

/// Ends the threads that help, however the search ends.
struct Closing<'a>(&'a Ahead<'a, cap_roots::File>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Searching<'_> {
    pub(super) fn below(&mut self, walking: Walking<'_>, include: Option<&Globs>) -> Result<Report> {
        let (pattern, helpers) = (self.search.pattern().clone(), self.helpers);
        let ahead = Ahead::new(&pattern, self.work);
        std::thread::scope(|scope| {
            let _closing = Closing(&ahead);
            self.in_turn(walking, include, &ahead, || ahead.help(scope, helpers))
        })
    }

    fn in_turn(
        &mut self,
        mut walking: Walking<'_>,
        include: Option<&Globs>,
        ahead: &Ahead<'_, cap_roots::File>,
        start: impl FnOnce(),
    ) -> Result<Report> {
        let mut own = ahead.search();
        let mut turns = VecDeque::new();
        // What is behind the last file, once it is known.
        let mut rest = None;
        let (mut start, mut count) = (Some(start), 0);
        loop {
            let together = if count < self.alone || self.helpers == 0 { 1 } else { AHEAD };
            // Several at once, so that who helps is woken for several.
            if rest.is_none() && turns.len() <= together / 2 {
                let mut given = Vec::new();
                while rest.is_none() && turns.len() < together {
                    let mut passed = Passed::default();
                    let Some(mut turn) = self.next(&mut walking, include, &mut passed)? else {
                        rest = Some(passed);
                        break;
                    };
                    turn.file = match turn.file {
                        Opened::Open(file) if together > 1 => {
                            given.push((count, Task { file, from: turn.within }));
                            Opened::Given(count)
                        }
                        other => other,
                    };
                    count += 1;
                    turns.push_back(turn);
                }
                if !given.is_empty() {
                    start.take().into_iter().for_each(|start| start());
                    ahead.give(given.into_iter());
                }
            }
            let Some(turn) = turns.pop_front() else {
                self.pass(rest.unwrap_or_default());
                return Ok(walking.report());
            };
            self.pass(turn.passed);
            if let Some(cut) = self.full() {
                walking.end_at(turn.here, cut, 0);
                return Ok(walking.report());
            }
            let outcome = match turn.file {
                Opened::Not => Ok(None),
                Opened::Refused(error) => Err(error),
                Opened::Open(file) => self.file(file, &turn.label, turn.within),
                Opened::Given(number) => match ahead.take(number, &mut own) {
                    Outcome::Nothing(searched) => Ok(self.took_note(searched)),
                    Outcome::Open(task) => self.file(task.file, &turn.label, turn.within),
                },
            };
            match outcome {
                Ok(None) => {}
                Ok(Some((cut, line))) => {
                    walking.end_at(turn.here, cut, line);
                    return Ok(walking.report());
                }
                Err(error) if ends_call(error.kind()) => return Err(error),
                Err(error) => self.passed.refused(error.kind()),
            }
        }
    }

    /// The next file, opened; `None` at the end. What is before it is added to `passed`.
    fn next(&mut self, walking: &mut Walking<'_>, include: Option<&Globs>, passed: &mut Passed) -> Result<Option<Turn>> {
        while let Some(step) = walking.next()? {
            let Step::Entry(entry) = step else { continue };
            if entry.is_dir() || include.is_some_and(|globs| !globs.fits(entry.path(), false)) {
                continue;
            }
            passed.fitted = true;
            match entry.entry().file_type() {
                FileType::File => {}
                FileType::Symlink => {
                    passed.links += 1;
                    continue;
                }
                _ => {
                    passed.special += 1;
                    continue;
                }
            }
            let label = self.search.label(walking.label(&entry), || entry.entry().uri());
            // The name may lead to something else by now: it is judged, and opened without waiting.
            let file = match self.full() {
                Some(_) => Opened::Not,
                None => entry.entry().open().map_or_else(Opened::Refused, Opened::Open),
            };
            return Ok(Some(Turn { label, within: entry.within(), here: walking.here(&entry), file, passed: *passed }));
        }
        Ok(None)
    }

    fn pass(&mut self, passed: Passed) {
        self.passed.links += passed.links;
        self.passed.special += passed.special;
        self.fitted |= passed.fitted;
    }
}
