//! A bounded queue of lines: room is taken before anything is done, and filled with what came of it.
//!
//! May touch: a sink, on a thread of its own. Whoever holds a [`Place`] can be sure that its line is kept; where no place is to be had, nothing
//! may be done.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::record::Line;

/// How long the disk may take nothing before calls wait no longer for room. While it takes lines, though slower than they come, they wait.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long until a disk that refused is tried again.
const RETRY: Duration = Duration::from_millis(200);
/// How long lines are gathered before they are written: a call of many operations makes few writes, and not one for each.
const GATHER: Duration = Duration::from_millis(1);
/// Most bytes that are written at once.
const BATCH: usize = 256 << 10;

/// Where lines go.
pub(super) trait Sink: Send {
    /// All of it, or nothing: what was begun is taken back.
    fn write(&mut self, lines: &[u8]) -> io::Result<()>;
    /// From now on to what has the name now. Fails with everything as it was.
    fn reopen(&mut self) -> io::Result<()>;
    /// The first line of a file.
    fn header(&self, event: &str) -> Vec<u8>;
    /// Whatever was written is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

#[derive(Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    /// Lines that are not there yet.
    places: usize,
    /// Lines that are being written.
    writing: usize,
    /// Batches that were written, for whoever waits to see whether anything moves.
    written: u64,
    /// Calls and operations that found no room, since the last line that told of them.
    declined: u64,
    /// The writer waits for lines.
    idle: bool,
    /// The disk refuses, or has taken nothing for as long as is waited: nobody waits for it.
    stuck: bool,
    reopen: bool,
    /// No more places; the writer ends when those that were given are filled, or then.
    until: Option<Instant>,
    ended: bool,
}

pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    capacity: usize,
    patience: Duration,
}

impl Queue {
    /// A queue for at most `capacity` lines, and the thread that empties it.
    pub(super) fn start(capacity: usize, sink: impl Sink + 'static) -> io::Result<Arc<Self>> {
        Self::with_patience(capacity, PATIENCE, sink)
    }

    fn with_patience(capacity: usize, patience: Duration, mut sink: impl Sink + 'static) -> io::Result<Arc<Self>> {
        let queue = Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), capacity, patience });
        let served = Arc::clone(&queue);
        std::thread::Builder::new().name("audit".to_owned()).spawn(move || served.serve(&mut sink))?;
        Ok(queue)
    }

    /// Poisoned by a panic elsewhere, it is still sound: nothing in here can be half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Room for one line. Waits for a moment where only the rate is too high; a disk that refuses is not waited for.
    pub(super) fn reserve(self: &Arc<Self>) -> Option<Place> {
        let mut state = self.state();
        let mut patient = Instant::now() + self.patience;
        let mut seen = state.written;
        loop {
            let room = state.lines.len() + state.places + state.writing < self.capacity;
            if state.stuck || state.until.is_some() {
                state.declined += 1;
                return None;
            }
            if room {
                state.places += 1;
                return Some(Place { queue: Arc::clone(self), line: None });
            }
            if state.written != seen {
                seen = state.written;
                patient = Instant::now() + self.patience;
            }
            let Some(left) = patient.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                tracing::error!("the audit log takes no more lines: calls are answered with busy until it does");
                state.stuck = true;
                continue;
            };
            state = self.wait(state, left);
        }
    }

    /// Asks for the file by its name anew; what is queued goes to it or to the one before.
    #[cfg_attr(not(unix), allow(dead_code, reason = "asked for by a signal"))]
    pub(super) fn reopen(&self) {
        self.state().reopen = true;
        self.changed.notify_all();
    }

    /// Takes no more, and waits until all that was begun is written, but no longer than `grace`. How many lines are missing.
    pub(super) fn stop(&self, grace: Duration) -> usize {
        let mut state = self.state();
        let until = *state.until.get_or_insert(Instant::now() + grace);
        self.changed.notify_all();
        // The writer keeps to the time by itself; a disk that hangs keeps the writer.
        while !state.ended && Instant::now() < until + RETRY {
            state = self.wait(state, RETRY);
        }
        state.lines.len() + state.places + state.writing
    }

    fn serve(&self, sink: &mut impl Sink) {
        let mut head = Vec::new();
        while let Some((mut batch, count)) = self.next(sink, &mut head) {
            head.append(&mut batch);
            let told = self.write(sink, &mut head);
            let mut state = self.state();
            if told {
                head.clear();
                state.writing -= count;
                state.written += 1;
                state.stuck = false;
                self.changed.notify_all();
            } else {
                state.ended = true;
                self.changed.notify_all();
                return;
            }
        }
        // Behind everything, where there is time left for it.
        let mut line = Line::new("stop");
        line.number("unfinished", u64::try_from(self.state().places).ok());
        let _ = sink.write(&line.end()).and_then(|()| sink.sync());
        self.state().ended = true;
        self.changed.notify_all();
    }

    /// What is to be written next, or nothing more. `head` is what stands at the beginning of a new file.
    fn next(&self, sink: &mut impl Sink, head: &mut Vec<u8>) -> Option<(Vec<u8>, usize)> {
        let mut state = self.state();
        loop {
            if std::mem::take(&mut state.reopen) {
                drop(state);
                reopen(sink, head);
                state = self.state();
                continue;
            }
            if !state.lines.is_empty() || !head.is_empty() {
                break;
            }
            match state.until {
                None => {
                    state.idle = true;
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.idle = false;
                    if !state.lines.is_empty() {
                        drop(state);
                        std::thread::sleep(GATHER);
                        state = self.state();
                    }
                }
                Some(until) => match until.checked_duration_since(Instant::now()) {
                    Some(left) if state.places > 0 => state = self.wait(state, left),
                    _ => return None,
                },
            }
        }
        let mut batch = Vec::new();
        let mut count = 0;
        while batch.len() < BATCH
            && let Some(mut line) = state.lines.pop_front()
        {
            batch.append(&mut line);
            count += 1;
        }
        state.writing = count;
        let declined = std::mem::take(&mut state.declined);
        if declined > 0 {
            let mut line = Line::new("declined");
            line.number("count", Some(declined));
            batch.extend(line.end());
        }
        Some((batch, count))
    }

    /// Until the disk has taken it, or the end does not wait any longer.
    fn write(&self, sink: &mut impl Sink, lines: &mut Vec<u8>) -> bool {
        let mut refused = false;
        loop {
            match sink.write(lines) {
                Ok(()) => {
                    if refused {
                        tracing::warn!("the audit log is written again; calls go on");
                    }
                    return true;
                }
                Err(error) if !refused => {
                    refused = true;
                    tracing::error!("the audit log cannot be written ({error}): calls are answered with busy until it can");
                }
                Err(_) => {}
            }
            let mut state = self.state();
            state.stuck = true;
            self.changed.notify_all();
            let again = Instant::now() + RETRY;
            while let Some(left) = again.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                if state.until.is_some_and(|until| Instant::now() >= until) {
                    return false;
                }
                // A new file may be on another disk.
                if std::mem::take(&mut state.reopen) {
                    drop(state);
                    let mut head = Vec::new();
                    reopen(sink, &mut head);
                    head.append(lines);
                    *lines = head;
                    break;
                }
                state = self.wait(state, left);
            }
        }
    }
}

fn reopen(sink: &mut impl Sink, head: &mut Vec<u8>) {
    match sink.reopen() {
        Ok(()) => head.extend(sink.header("reopen")),
        Err(error) => tracing::error!("the audit log cannot be opened anew ({error}): the file that was open is written on"),
    }
}

/// Room for one line. Given up unused, it is free again.
#[must_use = "the line that it was taken for is missing"]
pub(super) struct Place {
    queue: Arc<Queue>,
    line: Option<Vec<u8>>,
}

impl Place {
    pub(super) fn fill(mut self, line: Vec<u8>) {
        self.line = Some(line);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.places -= 1;
        let given_up = self.line.is_none();
        state.lines.extend(self.line.take());
        // Nothing is left that the disk could be asked to take.
        if state.lines.is_empty() && state.writing == 0 {
            state.stuck = false;
        }
        // Who waits for room waits for the writer, or for a place that was given up; the end waits for places.
        let awaited = given_up || state.idle || state.until.is_some();
        drop(state);
        if awaited {
            self.queue.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests;
