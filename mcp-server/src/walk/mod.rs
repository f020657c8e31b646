//! Going through a tree for a tool: what is left out, where it ends, and how a caller goes on behind that.
//!
//! May touch: `context`, `work`, `arguments`. Nothing is opened but directories that are gone into, each by the library, and what a
//! tool opens of what it is shown.

mod ask;
mod cursor;
mod exclude;
mod gitignore;
mod glob;
mod label;
mod report;
#[cfg(test)]
pub(crate) mod tests;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use cap_roots::{Entry, Error, ErrorKind, FileType, Result, Walk};

pub(crate) use ask::{Ask, properties};
pub(crate) use cursor::Cursors;
pub(crate) use exclude::{COMMON, Ignored};
pub(crate) use glob::{Anchor, Globs};
pub(crate) use report::{Cut, Report};

use crate::context::Context;
use crate::work::Work;
use cursor::Mark;
use exclude::Leave;
use gitignore::Gitignores;
use label::Label;

/// One step of a walk.
#[derive(Debug)]
pub(crate) enum Step {
    Entry(Found),
    /// The directory that was shown last cannot be read. It is counted; the walk goes on behind it.
    Unreadable,
}

/// An entry that is not left out.
#[derive(Debug)]
pub(crate) struct Found {
    entry: Entry,
    path: OsString,
    depth: usize,
    /// All names of the path are plain text.
    plain: bool,
    within: u64,
}

impl Found {
    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Below the directory that is walked, with slashes, to the byte.
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// How many names the path has.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn is_dir(&self) -> bool {
        self.entry.file_type() == FileType::Dir
    }

    /// How much of this entry an earlier call has answered, in the tool's own measure: what it gave to [`Walking::end_at`].
    pub(crate) fn within(&self) -> u64 {
        self.within
    }
}

/// Where a walk stood when it showed an entry, so that whoever has let it go on can end it there.
#[derive(Debug)]
pub(crate) struct Here {
    path: OsString,
    mark: Option<Mark>,
    report: Report,
}

impl Here {
    /// The directory that the entry is in, below the start.
    pub(crate) fn directory(&self) -> Option<&Path> {
        Path::new(&self.path).parent()
    }
}

/// A name on the way to the entry that was shown last.
#[derive(Debug, Default)]
struct Above {
    text: String,
    /// Below the start, up to and with the name.
    path: OsString,
    /// It and all names above it are plain text.
    plain: bool,
}

/// A walk below a caller's path. What was shown counts as answered when the next step is asked for.
pub(crate) struct Walking<'a> {
    context: &'a Context,
    work: &'a Work,
    ask: Ask<'a>,
    walk: Walk,
    label: Label,
    gitignores: Option<Gitignores>,
    /// The names down to the entry that was looked at last; behind `depth`, those of earlier ones, whose memory is used again.
    above: Vec<Above>,
    depth: usize,
    /// Where an earlier call ended.
    behind: Option<Mark>,
    /// The last entry that was answered.
    mark: Option<Mark>,
    report: Report,
    /// The report is whole: the walk was ended where it had been before.
    ended: bool,
    seen: u64,
    last_is_dir: bool,
}

impl<'a> Walking<'a> {
    /// # Errors
    /// As [`Roots::walk`](cap_roots::Roots::walk) for the directory itself; `stale-cursor`.
    pub(crate) fn start(context: &'a Context, work: &'a Work, ask: Ask<'a>) -> Result<Self> {
        let behind = ask.behind(context)?;
        let walk = context.roots.walk(ask.path()).map_err(|error| match error.kind() {
            ErrorKind::NotADirectory => error.advise("name a directory; a file is read, or its parent walked"),
            _ => error,
        })?;
        let label = Label::of(context, ask.path(), ask.gitignore() || !context.walks.ignored.is_empty())?;
        let gitignores = if ask.gitignore() { Some(Gitignores::above(context, work, &label)?) } else { None };
        let walk = walk.max_depth(ask.depth());
        Ok(Self {
            context,
            work,
            walk,
            label,
            gitignores,
            above: Vec::new(),
            depth: 0,
            mark: behind.clone(),
            behind,
            report: Report::default(),
            ended: false,
            seen: 0,
            last_is_dir: false,
            ask,
        })
    }

    /// The next entry that is not left out; `None` at the end, or where the time of the call is nearly over.
    ///
    /// # Errors
    /// `cancelled`; `timeout` where the time is nearly over and nothing was shown or left out; `revoked` and `expired` where the authority ended meanwhile.
    pub(crate) fn next(&mut self) -> Result<Option<Step>> {
        self.answered();
        loop {
            self.work.check()?;
            if self.report.is_cut() {
                return Ok(None);
            }
            // What an earlier call answered is passed over in the time that is left: this one has to get on.
            if self.behind.is_none() && self.work.is_late() {
                // It would be an answer of nothing, and a way back to it.
                if self.mark.is_none() {
                    let advice = "name a directory further down, or leave more out with excludePatterns";
                    let late = Error::from(ErrorKind::Timeout).about(self.context.label(self.ask.path()));
                    return Err(late.advise(advice));
                }
                self.report.cut(Cut::Time);
                return Ok(None);
            }
            let entry = match self.walk.next() {
                None => {
                    self.report.ended(&self.walk);
                    return Ok(None);
                }
                Some(Err(error)) if is_over(error.kind()) => return Err(error.about(self.context.label(self.ask.path()))),
                Some(Err(error)) => {
                    self.report.unreadable(error.kind());
                    if self.last_is_dir {
                        self.last_is_dir = false;
                        return Ok(Some(Step::Unreadable));
                    }
                    continue;
                }
                Some(Ok(entry)) => entry,
            };
            self.seen += 1;
            self.work.saw(self.seen);
            if let Some(found) = self.judge(entry)? {
                return Ok(Some(Step::Entry(found)));
            }
        }
    }

    /// Whether an entry is shown. What is left out is not opened.
    fn judge(&mut self, entry: Entry) -> Result<Option<Found>> {
        let depth = self.walk.depth();
        let is_dir = entry.file_type() == FileType::Dir;
        self.last_is_dir = false;
        self.place(&entry, depth);
        let path = self.last().map(|last| last.path.clone()).unwrap_or_default();
        let (before, within) = match &self.behind {
            Some(behind) if behind.is_at(&path) && behind.within > 0 => (false, behind.within),
            Some(behind) if behind.is_behind(&path) => {
                // Everything in it was answered as well, unless the mark lies in it.
                if is_dir && !behind.is_in(&path) {
                    self.walk.skip_dir();
                    return Ok(None);
                }
                (true, 0)
            }
            _ => (false, 0),
        };
        if before && !is_dir {
            return Ok(None);
        }
        if !before {
            self.behind = None;
        }
        let leave = self.leave(&entry, Path::new(&path), depth, is_dir)?;
        match leave {
            Leave::Out(why) => {
                if is_dir {
                    self.walk.skip_dir();
                }
                if !before {
                    self.report.left_out(why);
                    self.answered();
                }
                return Ok(None);
            }
            Leave::Content if is_dir => self.walk.skip_dir(),
            Leave::Content | Leave::In => {}
        }
        if is_dir && let Some(gitignores) = &mut self.gitignores {
            gitignores.stands_before(&entry, depth);
        }
        if before {
            return Ok(None);
        }
        self.last_is_dir = is_dir;
        if is_dir && leave == Leave::In && depth >= self.ask.depth() {
            self.report.too_deep(depth);
        }
        let plain = self.last().is_some_and(|last| last.plain);
        Ok(Some(Found { entry, path, depth, plain, within }))
    }

    fn leave(&mut self, entry: &Entry, path: &Path, depth: usize, is_dir: bool) -> Result<Leave> {
        let leave = self.ask.excludes().judge(path, is_dir);
        if matches!(leave, Leave::Out(_)) {
            return Ok(leave);
        }
        // What the call leaves out in a directory is no reason to show the directory.
        if self.context.walks.ignored.leaves_out(self.label.names(), path, is_dir) {
            return Ok(Leave::Out(report::Why::Ignored));
        }
        let listed = match &mut self.gitignores {
            Some(gitignores) => gitignores.judge(self.work, entry.name(), path, depth, is_dir)?,
            None => Leave::In,
        };
        Ok(if listed == Leave::In { leave } else { listed })
    }

    /// Takes note of where the entry lies.
    fn place(&mut self, entry: &Entry, depth: usize) {
        self.depth = depth;
        if self.above.len() < depth {
            self.above.resize_with(depth, Above::default);
        }
        let Some((last, above)) = self.above.get_mut(..depth).and_then(<[_]>::split_last_mut) else { return };
        last.path.clear();
        if let Some(parent) = above.last() {
            last.path.push(&parent.path);
            last.path.push("/");
        }
        last.path.push(entry.name());
        let text = entry.name_text();
        last.plain = matches!(text, Cow::Borrowed(_)) && above.last().is_none_or(|parent| parent.plain);
        last.text.clear();
        last.text.push_str(&text);
    }

    /// The entry that was looked at last.
    fn last(&self) -> Option<&Above> {
        self.above.get(self.depth.checked_sub(1)?)
    }

    /// What was shown or left out is done with.
    fn answered(&mut self) {
        // Before the mark of an earlier call, that one stays.
        if !self.report.is_cut()
            && self.behind.is_none()
            && let Some(last) = self.depth.checked_sub(1).and_then(|index| self.above.get(index))
        {
            match &mut self.mark {
                Some(mark) => mark.move_to(&last.path),
                None => self.mark = Some(Mark::at(&last.path, 0)),
            }
        }
    }

    /// The name of the entry that was shown last, or of a directory on the way to it, `depth` names below the start, as text.
    pub(crate) fn name(&self, depth: usize) -> &str {
        let above = self.above.get(..self.depth).unwrap_or_default();
        depth.checked_sub(1).and_then(|index| above.get(index)).map_or("", |above| &above.text)
    }

    /// The path in the caller's own form, as any tool takes it.
    pub(crate) fn label(&self, found: &Found) -> String {
        self.label.of_entry(found)
    }

    /// Whether a directory lies as deep as the walk goes, so that it is not gone into.
    pub(crate) fn is_deepest(&self, found: &Found) -> bool {
        found.depth >= self.ask.depth()
    }

    /// How long a cursor may be that leads behind an entry like the last one.
    pub(crate) fn cursor_bytes(&self) -> usize {
        let last = self.last().map_or(0, |last| last.path.len());
        let mark = self.mark.as_ref().map_or(0, Mark::len);
        2 * last.max(mark) + cursor::OVERHEAD
    }

    /// Ends before the entry that was shown last: a further call begins with it.
    pub(crate) fn end(&mut self, cut: Cut) {
        self.report.cut(cut);
    }

    /// Where it stands, having shown `found`.
    pub(crate) fn here(&self, found: &Found) -> Here {
        Here { path: found.path.clone(), mark: self.mark.clone(), report: self.so_far() }
    }

    /// Ends where it stood, as if it had not gone on: a further call begins with the entry that was shown there, and is told `within`; 0 where it was not
    /// begun.
    pub(crate) fn end_at(&mut self, here: Here, cut: Cut, within: u64) {
        self.mark = if within > 0 { Some(Mark::at(&here.path, within)) } else { here.mark };
        self.report = here.report;
        self.report.cut(cut);
        self.ended = true;
    }

    fn so_far(&self) -> Report {
        let mut report = self.report.clone();
        report.hidden(self.walk.hidden());
        report.other_mounts(self.walk.other_mounts());
        if let Some(gitignores) = &self.gitignores {
            report.gitignores(gitignores.unread());
        }
        report
    }

    /// What is missing, and how to go on.
    pub(crate) fn report(mut self) -> Report {
        if !self.ended {
            self.report = self.so_far();
        }
        // A mark that was not got behind would lead there again.
        if self.report.is_cut() && self.behind.is_none() {
            self.report.goes_on(self.mark.as_ref().and_then(|mark| self.ask.cursor_at(self.context, mark)));
        }
        self.report
    }
}

/// Whether nothing below can be reached any more, and not only one directory.
pub(crate) fn is_over(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Revoked | ErrorKind::Expired | ErrorKind::Cancelled | ErrorKind::RootAbsent | ErrorKind::NoRoots)
}

/// Whether an operation that was refused so ends the call, and is not passed over. `busy`: a log that has no room for it has none for the next
/// one, and the answer would lack all that was not looked at.
pub(crate) fn ends_call(kind: ErrorKind) -> bool {
    kind == ErrorKind::Busy || is_over(kind)
}
