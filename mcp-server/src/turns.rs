//! Whose turn it is: places for calls, so many for each root, so that a disk that hangs keeps the calls of its own root only.
//!
//! May touch: nothing of the disk. A root has a few places; long calls get half of them, and calls in several roots half of that, so that
//! there is a place for a short one whatever hangs. A call gets all its places at once or none: it holds none while it waits, and no two
//! calls can wait for each other.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_roots::Roots;
use rmcp::model::JsonObject;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Most places for the calls of one root.
const PLACES: usize = 8;
/// Fewest of them, however many roots there are: a long call and a short one.
const FEWEST: usize = 2;
/// How many there are of all roots together, as long as each gets its fewest.
const TOGETHER: usize = 256;
/// The name of no root: for calls that name none.
const UNNAMED: &str = "";

/// Most paths of one call that are looked at: no tool takes more.
const PATHS: usize = 1_000;

/// How much a call has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Short,
    /// A tree, or a file of any size.
    Long,
}

/// What a call needs before it begins.
#[derive(Clone, Debug)]
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
    state: Mutex<State>,
    working: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct State {
    /// By root; none for one that nobody is at work in.
    taken: HashMap<String, Taken>,
    /// In the order of arrival.
    waiting: VecDeque<Waiting>,
}

/// How many places are taken in a root, and by whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Taken {
    all: usize,
    long: usize,
    wide: usize,
}

#[derive(Debug)]
struct Waiting {
    needs: Needs,
    give: oneshot::Sender<Turn>,
}

/// A call's places, given back when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "held, not read")] Arc<Places>);

#[derive(Debug)]
struct Places {
    turns: Turns,
    needs: Needs,
}

impl Turns {
    /// For a server of so many roots.
    pub(crate) fn new(roots: usize) -> Self {
        // And for what names none.
        let roots = roots.saturating_add(1);
        let places = (TOGETHER / roots).clamp(FEWEST, PLACES);
        let working = Arc::new(Semaphore::new(roots.saturating_mul(places)));
        Self(Arc::new(Inner { places, roots, state: Mutex::default(), working }))
    }

    /// Most calls that are at work at once: so many threads must there be for them, or a root that hangs would keep those of others.
    pub(crate) fn most(&self) -> usize {
        self.0.roots.saturating_mul(self.0.places)
    }

    /// Waits for its places.
    pub(crate) async fn take(&self, needs: Needs) -> Turn {
        loop {
            let given = {
                let mut state = self.state();
                if let Some(needs) = self.reserve(&mut state, &needs) {
                    return self.turn(needs);
                }
                let (give, given) = oneshot::channel();
                state.waiting.push_back(Waiting { needs: needs.clone(), give });
                given
            };
            if let Ok(turn) = given.await {
                return turn;
            }
        }
    }

    /// Held by a thread for as long as it works.
    pub(crate) async fn begin(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0.working).acquire_owned().await.ok()
    }

    /// Waits until no thread works any more.
    pub(crate) async fn idle(&self) {
        let all = u32::try_from(self.most()).unwrap_or(u32::MAX);
        let _ = self.0.working.acquire_many(all).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self, needs: Needs) -> Turn {
        Turn(Arc::new(Places { turns: self.clone(), needs }))
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

    /// Gives places back, and on to those who wait for them.
    fn give_back(&self, needs: &Needs) {
        let mut given = Vec::new();
        {
            let mut state = self.state();
            for root in &needs.roots {
                let Some(taken) = state.taken.get_mut(root) else { continue };
                taken.all -= 1;
                taken.long -= usize::from(needs.is_long());
                taken.wide -= usize::from(needs.is_wide());
                if *taken == Taken::default() {
                    state.taken.remove(root);
                }
            }
            for waiting in std::mem::take(&mut state.waiting) {
                if waiting.give.is_closed() {
                    continue;
                }
                match self.reserve(&mut state, &waiting.needs) {
                    Some(needs) => given.push((waiting.give, self.turn(needs))),
                    None => state.waiting.push_back(waiting),
                }
            }
        }
        for (give, turn) in given {
            // Whoever has gone meanwhile gives it back by that; nothing is locked here.
            drop(give.send(turn));
        }
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        self.turns.give_back(&self.needs);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::time::Duration;

    use super::*;

    fn needs(roots: &[&str], length: Length) -> Needs {
        Needs { roots: roots.iter().map(|&root| root.to_owned()).collect(), length }
    }

    fn short(roots: &[&str]) -> Needs {
        needs(roots, Length::Short)
    }

    /// The turn, if it is there by now.
    async fn at_once(turn: impl Future<Output = Turn>) -> Option<Turn> {
        tokio::time::timeout(Duration::from_millis(20), turn).await.ok()
    }

    async fn fill(turns: &Turns, roots: &[&str], length: Length) -> Vec<Turn> {
        let mut held = Vec::new();
        while let Some(turn) = at_once(turns.take(needs(roots, length))).await {
            held.push(turn);
        }
        held
    }

    /// Catches: one pool of places for all roots, places that long calls fill up, and calls in two roots that fill up both.
    #[tokio::test]
    async fn a_root_that_hangs_keeps_its_own_calls_only() {
        for roots in [1, 2, 31, 100, 1000] {
            let turns = Turns::new(roots);
            let wide = fill(&turns, &["a", "b"], Length::Short).await;
            let long = fill(&turns, &["a"], Length::Long).await;
            let quick = fill(&turns, &["a"], Length::Short).await;
            assert!(!wide.is_empty() && !quick.is_empty(), "{roots}");
            assert!(quick.len() >= turns.0.places / 2 && wide.len() + long.len() <= turns.0.places.div_ceil(2), "{roots}");
            assert_eq!(wide.len() + long.len() + quick.len(), turns.0.places, "{roots}");
            for other in [&["b"][..], &[]] {
                assert!(at_once(turns.take(short(other))).await.is_some(), "{roots} {other:?}");
            }
            // All of them wait for the one that is full, and keep nobody else from the others.
            let waiting: Vec<_> = (0..50)
                .map(|_| {
                    let turns = turns.clone();
                    tokio::spawn(async move { turns.take(short(&["a", "b"])).await })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert!(at_once(turns.take(short(&["b"]))).await.is_some(), "{roots}");
            drop((wide, long, quick));
            for waits in waiting {
                tokio::time::timeout(Duration::from_secs(10), waits).await.unwrap().unwrap();
            }
        }
    }

    /// Catches: a place that goes to a call that was withdrawn while it waited, and is lost with it.
    #[tokio::test]
    async fn who_is_gone_takes_no_place() {
        let turns = Turns::new(1);
        let held = fill(&turns, &["a"], Length::Short).await;
        assert!(at_once(turns.take(short(&["a"]))).await.is_none());
        drop(held);
        assert_eq!(fill(&turns, &["a"], Length::Short).await.len(), PLACES);
    }

    /// Catches: two calls that wait for each other, each with a place that the other one needs.
    #[tokio::test]
    async fn calls_in_several_roots_do_not_wait_for_each_other() {
        let turns = Turns::new(3);
        let calls: Vec<_> = (0..200)
            .map(|number| {
                let turns = turns.clone();
                let roots = [&["a", "b"][..], &["b", "c"], &["c", "a"], &["a", "b", "c"]][number % 4];
                tokio::spawn(async move {
                    let turn = turns.take(needs(roots, if number % 3 == 0 { Length::Long } else { Length::Short })).await;
                    tokio::task::yield_now().await;
                    drop(turn);
                })
            })
            .collect();
        for call in calls {
            tokio::time::timeout(Duration::from_secs(10), call).await.unwrap().unwrap();
        }
    }

    /// Catches: more places than threads, so that a root that hangs has the threads of another one, and a call that waits for itself.
    #[tokio::test]
    async fn there_are_never_more_calls_than_threads() {
        let turns = Turns::new(2);
        let mut held = Vec::new();
        for number in 0..40 {
            let root = format!("root-{number}");
            held.extend(fill(&turns, &[&root], Length::Short).await);
        }
        held.extend(fill(&turns, &[], Length::Short).await);
        assert_eq!(held.len(), turns.most());
        drop(held);
        let many = Needs { roots: (0..40).map(|number| format!("root-{number}")).collect(), length: Length::Long };
        assert!(at_once(turns.take(many)).await.is_some());
        assert_eq!(turns.state().taken.len(), 0);
    }

    /// Catches: an end that does not wait for the threads that still change something.
    #[tokio::test]
    async fn idle_is_when_nobody_works() {
        let turns = Turns::new(1);
        let working = turns.begin().await;
        assert!(tokio::time::timeout(Duration::from_millis(20), turns.idle()).await.is_err());
        drop(working);
        tokio::time::timeout(Duration::from_secs(10), turns.idle()).await.unwrap();
    }
}
