//! Whose turn it is: places for calls, so many for each root, so that a disk that hangs keeps the calls of its own root only.
//!
//! May touch: `work`, and nothing of the disk. A root has a few places; long calls get half of them, and calls in several roots half of that, so that
//! there is a place for a short one whatever hangs. A call gets all its places at once or none: it holds none while it waits, and no two
//! calls can wait for each other.
//!
//! A call comes to a thread with its turn. A thread that is done with one goes on with the next: where there are as many at short calls as there
//! are processors, and they get on, a call waits a moment for one of them. Waking one more for it would take longer than the call.

mod waiting;

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cap_roots::Roots;
use rmcp::model::JsonObject;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::work;
use waiting::{Job, Queue, Waiting};

/// Most places for the calls of one root.
const PLACES: usize = 8;
/// Fewest of them, however many roots there are: a long call and a short one.
const FEWEST: usize = 2;
/// How many there are of all roots together, as long as each gets its fewest.
const TOGETHER: usize = 256;
/// The name of no root: for calls that name none.
const UNNAMED: &str = "";

/// How long a call waits for a thread that is at work, before it gets one of its own; and how long threads count as getting on since the last of
/// their calls has ended.
const MOMENT: Duration = Duration::from_millis(1);

/// Most paths of one call that are looked at: no tool takes more.
const PATHS: usize = 1_000;

/// How much a call has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Length {
    Short,
    /// A tree, or a file of any size.
    Long,
}

/// What a call needs before it begins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Needs {
    roots: BTreeSet<String>,
    length: Length,
}

impl Needs {
    /// Of a tool call: the roots that its arguments lead to, by their text. Looking at the disk is what the turn is for.
    pub(crate) fn of_call(roots: &Roots, arguments: Option<&JsonObject>, length: Length) -> Self {
        let argument = |name| arguments.and_then(|arguments| arguments.get(name));
        let single = ["path", "source", "destination"].into_iter().filter_map(argument);
        let several = argument("paths").and_then(Value::as_array).into_iter().flatten().take(PATHS);
        let names = single.chain(several).filter_map(Value::as_str).filter_map(|path| name(roots, path));
        Self { roots: names.collect(), length }
    }

    /// Of a resource.
    pub(crate) fn of_resource(roots: &Roots, uri: &str) -> Self {
        Self { roots: name(roots, uri).into_iter().collect(), length: Length::Short }
    }

    fn is_wide(&self) -> bool {
        self.roots.len() > 1
    }

    fn is_long(&self) -> bool {
        self.length == Length::Long || self.is_wide()
    }
}

/// The name of the root that a path leads to, if it leads to one.
fn name(roots: &Roots, path: &str) -> Option<String> {
    roots.uri(path).ok()?.strip_prefix("root://")?.split('/').next().map(str::to_owned)
}

/// The places of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// What one root has.
    places: usize,
    roots: usize,
    /// How many threads at short calls are enough, as long as they get on.
    enough: usize,
    state: Mutex<State>,
    /// How many threads work.
    working: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    /// By root; none for one that nobody is at work in.
    taken: HashMap<String, Taken>,
    waiting: Queue,
    /// How many threads are at short calls.
    brisk: usize,
    /// When a call has begun or ended, the last time.
    moved: Option<Instant>,
}

/// How many places are taken in a root, and by whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Taken {
    all: usize,
    long: usize,
    wide: usize,
}

/// A call's places, given back when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Turn(Arc<Places>);

#[derive(Debug)]
struct Places {
    turns: Turns,
    /// None once they are given back.
    needs: Option<Needs>,
}

/// A call whose turn it is.
struct Ready {
    turn: Turn,
    is_long: bool,
    job: Job,
    runtime: Handle,
}

impl Turns {
    /// For a server of so many roots.
    pub(crate) fn new(roots: usize) -> Self {
        let enough = work::processors();
        Self::with(roots, enough)
    }

    fn with(roots: usize, enough: usize) -> Self {
        // And for what names none.
        let roots = roots.saturating_add(1);
        let places = (TOGETHER / roots).clamp(FEWEST, PLACES);
        Self(Arc::new(Inner { places, roots, enough, state: Mutex::default(), working: watch::Sender::new(0) }))
    }

    /// Most calls that are at work at once: so many threads must there be for them, or a root that hangs would keep those of others.
    pub(crate) fn most(&self) -> usize {
        self.0.roots.saturating_mul(self.0.places)
    }

    /// What comes of `call` on a thread that may block, once it is its turn; nothing where it panics. Where `keeps` says so of the outcome, the
    /// turn comes with it, and lasts until that is dropped. A call that nobody waits for any more does not begin. Within a runtime.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        needs: Needs,
        call: impl FnOnce() -> T + Send + 'static,
        keeps: impl FnOnce(&T) -> bool + Send + 'static,
    ) -> Option<(T, Option<Turn>)> {
        let (done, mut outcome) = oneshot::channel();
        let job = move |turn: &Turn| {
            let outcome = call();
            let kept = keeps(&outcome).then(|| turn.clone());
            // Nobody waits for it where the call was answered without it.
            let _ = done.send((outcome, kept));
        };
        let waiting = self.begin(needs, Box::new(job));
        // Also behind one that is patient and may be taken back, which nobody else is told of.
        if waiting.is_some() {
            if let Ok(outcome) = timeout(MOMENT, &mut outcome).await {
                return outcome.ok();
            }
            self.start(|turns, state| turns.admit(state, 0));
        }
        outcome.await.ok()
    }

    /// Has a thread begin, or waits for one or for places; until then, the call is taken back by dropping what is returned.
    fn begin(&self, needs: Needs, job: Job) -> Option<Waiting> {
        let mut waiting = None;
        self.start(|turns, state| {
            let now = Instant::now();
            let runtime = Handle::current();
            if state.brisk >= turns.0.enough && state.moved.is_some_and(|moved| now.duration_since(moved) < MOMENT) {
                waiting = Some(state.waiting.push(needs, job, runtime, Some(now + MOMENT)));
                return Vec::new();
            }
            state.moved = Some(now);
            if state.waiting.is_empty()
                && let Some(needs) = turns.reserve(state, &needs)
            {
                return vec![turns.ready(state, needs, job, runtime)];
            }
            waiting = Some(state.waiting.push(needs, job, runtime, None));
            turns.admit(state, 0)
        });
        waiting
    }

    /// Has a thread begin for each of the calls that come of it.
    fn start(&self, admit: impl FnOnce(&Self, &mut State) -> Vec<Ready>) {
        let ready = admit(self, &mut self.state());
        ready.into_iter().for_each(Ready::start);
    }

    /// Waits until no thread works any more.
    pub(crate) async fn idle(&self) {
        // The sender is ours, so it cannot be gone.
        let _ = self.0.working.subscribe().wait_for(|threads| *threads == 0).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self, needs: Needs) -> Turn {
        Turn(Arc::new(Places { turns: self.clone(), needs: Some(needs) }))
    }

    /// Takes the places if all are free; what was taken is to be given back.
    fn reserve(&self, state: &mut State, needs: &Needs) -> Option<Needs> {
        // Names that come and go with the roots of a client must not take more places than there are threads for.
        let others = state.taken.keys().filter(|name| *name != UNNAMED).count();
        let mut left = (self.0.roots - 1).saturating_sub(others);
        let mut roots = BTreeSet::new();
        for root in &needs.roots {
            let is_new = !state.taken.contains_key(root);
            roots.insert(if is_new && left == 0 { UNNAMED.to_owned() } else { root.clone() });
            left -= usize::from(is_new && left > 0);
        }
        if roots.is_empty() {
            roots.insert(UNNAMED.to_owned());
        }
        let needs = Needs { roots, length: needs.length };
        let part = |divisor: usize| (self.0.places / divisor).max(1);
        let is_free = |root| {
            let Taken { all, long, wide } = state.taken.get(root).copied().unwrap_or_default();
            all < part(1) && (!needs.is_long() || long < part(2)) && (!needs.is_wide() || wide < part(4))
        };
        if !needs.roots.iter().all(is_free) {
            return None;
        }
        for root in &needs.roots {
            let taken = state.taken.entry(root.clone()).or_default();
            taken.all += 1;
            taken.long += usize::from(needs.is_long());
            taken.wide += usize::from(needs.is_wide());
        }
        Some(needs)
    }

    /// A call that has its places.
    fn ready(&self, state: &mut State, needs: Needs, job: Job, runtime: Handle) -> Ready {
        let is_long = needs.is_long();
        state.brisk += usize::from(!is_long);
        Ready { turn: self.turn(needs), is_long, job, runtime }
    }

    /// Those of the calls that wait whose turn it is now. `threads` do not have to be woken for it.
    fn admit(&self, state: &mut State, threads: usize) -> Vec<Ready> {
        let mut ready = Vec::new();
        let mut heads = state.waiting.heads();
        if heads.is_empty() {
            return ready;
        }
        let now = Instant::now();
        while let Some(head) = heads.pop() {
            // Who is behind it came later, and needs the same.
            let spare = threads > ready.len() || state.brisk < self.0.enough;
            if !spare && head.is_patient(now) {
                continue;
            }
            let Some(needs) = self.reserve(state, &head.needs) else { continue };
            match state.waiting.next(&head) {
                Some((job, runtime)) => ready.push(self.ready(state, needs, job, runtime)),
                None => state.release(&needs),
            }
            heads.extend(state.waiting.head_behind(head));
        }
        ready
    }
}

impl State {
    fn release(&mut self, needs: &Needs) {
        for root in &needs.roots {
            let Some(taken) = self.taken.get_mut(root) else { continue };
            taken.all -= 1;
            taken.long -= usize::from(needs.is_long());
            taken.wide -= usize::from(needs.is_wide());
            if *taken == Taken::default() {
                self.taken.remove(root);
            }
        }
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let Some(needs) = self.needs.take() else { return };
        self.turns.start(|turns, state| {
            state.release(&needs);
            turns.admit(state, 0)
        });
    }
}

impl Ready {
    /// On a thread that may block.
    fn start(self) {
        let working = Working::of(&self.turn.0.turns);
        let runtime = self.runtime.clone();
        // Its end is told by the outcome of each call.
        drop(runtime.spawn_blocking(move || {
            let _working = working;
            self.work();
        }));
    }

    /// This call, and then one that waits.
    fn work(self) {
        let turns = self.turn.0.turns.clone();
        let mut next = Some(self);
        while let Some(Self { turn, is_long, job, .. }) = next.take() {
            // Whoever waits for the outcome sees that none comes.
            let _ = catch_unwind(AssertUnwindSafe(|| job(&turn)));
            // None where the outcome keeps its places.
            let needs = Arc::into_inner(turn.0).and_then(|mut places| places.needs.take());
            turns.start(|turns, state| {
                state.brisk -= usize::from(!is_long);
                state.moved = Some(Instant::now());
                if let Some(needs) = needs {
                    state.release(&needs);
                }
                let mut ready = turns.admit(state, 1).into_iter();
                next = ready.next();
                ready.collect()
            });
        }
    }
}

/// One of the threads that work.
struct Working(Turns);

impl Working {
    fn of(turns: &Turns) -> Self {
        turns.0.working.send_modify(|threads| *threads += 1);
        Self(turns.clone())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.0.working.send_modify(|threads| *threads = threads.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests;
