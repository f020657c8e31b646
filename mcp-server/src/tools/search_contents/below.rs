//! The search of all files below a directory: they are answered for in the order of the walk, and searched by whoever is free.
//!
//! May touch: `grep`, `walk`. What was done ahead of an answer that is full is as if it had not been.

use std::collections::VecDeque;

use cap_roots::{Entry, FileType, Result};

use super::Searching;
use crate::grep::{Ahead, Task};
use crate::walk::{Globs, Here, Report, Step, Walking, ends_call};

/// How far the walk goes ahead of the answer, in files.
const AHEAD: usize = 128;
/// The same in directories: each is held by its files.
const DIRECTORIES: u64 = 16;
/// How many files are there before those who help are told of them.
const TOGETHER: usize = 32;

/// A file in its turn.
struct Turn {
    label: String,
    within: u64,
    here: Here,
    entry: Entry,
    /// The number by which others know it, where it was given to whoever is free.
    given: Option<u64>,
    /// Files of one directory that follow each other have the same.
    directory: u64,
    passed: Passed,
}

/// What stands before a file, or behind the last one, and is not searched.
#[derive(Clone, Copy, Default)]
struct Passed {
    links: u64,
    special: u64,
    fitted: bool,
}

/// Ends the threads that help, however the search ends.
struct Closing<'a>(&'a Ahead<'a, Entry>);

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
        ahead: &Ahead<'_, Entry>,
        start: impl FnOnce(),
    ) -> Result<Report> {
        let mut own = ahead.search();
        let mut turns: VecDeque<Turn> = VecDeque::new();
        // What is behind the last file, once it is known.
        let mut rest = None;
        let (mut start, mut count) = (Some(start), 0);
        loop {
            let helped = count >= self.alone && self.helpers > 0;
            let (most, together) = if helped { (AHEAD, TOGETHER) } else { (1, 1) };
            let has_room = rest.is_none() && turns.len() + together <= most && directories(&turns) < DIRECTORIES;
            if has_room {
                let mut given = Vec::new();
                let full = turns.len() + together;
                while turns.len() < full && directories(&turns) < DIRECTORIES {
                    let mut passed = Passed::default();
                    let Some(mut turn) = self.next(&mut walking, include, &mut passed)? else {
                        rest = Some(passed);
                        break;
                    };
                    turn.directory = directory(turns.back(), &turn);
                    if helped {
                        turn.given = Some(count);
                        given.push((count, Task { entry: turn.entry.clone(), from: turn.within }));
                    }
                    count += 1;
                    turns.push_back(turn);
                }
                if !given.is_empty() {
                    start.take().into_iter().for_each(|start| start());
                    ahead.give(given.into_iter());
                }
            }
            // While others are at work, there is always more to find.
            if has_room && turns.front().and_then(|turn| turn.given).is_some_and(|number| !ahead.is_done(number)) {
                continue;
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
            let outcome = match turn.given.and_then(|number| ahead.take(number, &mut own)) {
                Some(searched) => Ok(self.took_note(searched)),
                // The name may lead to something else by now: it is judged, and opened without waiting.
                None => turn.entry.open().and_then(|file| self.file(file, &turn.label, turn.within)),
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

    /// The next file; `None` at the end. What is before it is added to `passed`.
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
            let (within, here) = (entry.within(), walking.here(&entry));
            let entry = entry.entry().clone();
            return Ok(Some(Turn { label, within, here, entry, given: None, directory: 0, passed: *passed }));
        }
        Ok(None)
    }

    fn pass(&mut self, passed: Passed) {
        self.passed.links += passed.links;
        self.passed.special += passed.special;
        self.fitted |= passed.fitted;
    }
}

/// In how many directories these files lie.
fn directories(turns: &VecDeque<Turn>) -> u64 {
    let (first, last) = (turns.front().map(|turn| turn.directory), turns.back().map(|turn| turn.directory));
    first.zip(last).map_or(0, |(first, last)| last - first + 1)
}

/// Its directory, as a number: one more than that of the file before it, unless they lie in the same.
fn directory(before: Option<&Turn>, turn: &Turn) -> u64 {
    before.map_or(0, |before| before.directory + u64::from(before.here.directory() != turn.here.directory()))
}
