//! Whose turn it is: places for calls, so many for each root, so that a disk that hangs keeps the calls of its own root only.
//!
//! May touch: nothing of the disk. A root has a few places; long calls get half of them, and calls in several roots half of that, so that
//! there is a place for a short one whatever hangs. A call that needs places in several roots waits for one of them at a time and
//! holds none meanwhile: no two calls can wait for each other.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use cap_roots::Roots;
use rmcp::model::JsonObject;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most places for the calls of one root.
const PLACES: usize = 8;
/// Fewest of them, however many roots there are: a long call and a short one.
const FEWEST: usize = 2;
/// How many there are of all roots together, as long as each gets its fewest.
const TOGETHER: usize = 256;

/// Most paths of one call that are looked at: no tool takes more.
const PATHS: usize = 1_000;

/// How much a call has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Short,
    /// A tree, or a file of any size.
    Long,
}

/// The places of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    lanes: Mutex<HashMap<String, Arc<Lane>>>,
    most_lanes: usize,
    places: usize,
    working: Arc<Semaphore>,
}

/// The places of one root.
#[derive(Debug)]
struct Lane {
    all: Arc<Semaphore>,
    long: Arc<Semaphore>,
    wide: Arc<Semaphore>,
}

/// A call's places, given back when it is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "held, not read")] Arc<Vec<OwnedSemaphorePermit>>);

/// The names of the roots that a call's arguments lead to, by their text: looking at the disk is what the turn is for.
pub(crate) fn roots(roots: &Roots, arguments: &JsonObject) -> BTreeSet<String> {
    let single = ["path", "source", "destination"].into_iter().filter_map(|name| arguments.get(name));
    let several = arguments.get("paths").and_then(Value::as_array).into_iter().flatten().take(PATHS);
    single.chain(several).filter_map(Value::as_str).filter_map(|path| root(roots, path)).collect()
}

/// The name of the root that a path leads to; none where it leads to none.
pub(crate) fn root(roots: &Roots, path: &str) -> Option<String> {
    let uri = roots.uri(path).ok()?;
    uri.strip_prefix("root://")?.split('/').next().map(str::to_owned)
}

impl Turns {
    /// For a server of so many roots.
    pub(crate) fn new(roots: usize) -> Self {
        let lanes = roots.saturating_add(1);
        let places = (TOGETHER / lanes).clamp(FEWEST, PLACES);
        let unnamed = (String::new(), Arc::new(Lane::new(places)));
        Self(Arc::new(Inner {
            lanes: Mutex::new(HashMap::from([unnamed])),
            most_lanes: lanes,
            places,
            working: Arc::new(Semaphore::new(lanes.saturating_mul(places))),
        }))
    }

    /// Most calls that are at work at once: so many threads must there be for them, or a root that hangs would keep those of others.
    pub(crate) fn most(&self) -> usize {
        self.0.most_lanes.saturating_mul(self.0.places)
    }

    /// Waits for places in these roots, by name; a call that names none shares the places of its like.
    pub(crate) async fn take(&self, roots: &BTreeSet<String>, length: Length) -> Turn {
        let lanes = self.lanes(roots);
        let wide = lanes.len() > 1;
        let mut awaited = 0;
        'again: loop {
            let mut held = Vec::new();
            if let Some(lane) = lanes.get(awaited) {
                for places in lane.needed(length, wide) {
                    // Never closed, so there is always one in the end.
                    held.extend(Arc::clone(places).acquire_owned().await);
                }
            }
            for (index, lane) in lanes.iter().enumerate().filter(|(index, _)| *index != awaited) {
                for places in lane.needed(length, wide) {
                    let Ok(place) = Arc::clone(places).try_acquire_owned() else {
                        awaited = index;
                        continue 'again;
                    };
                    held.push(place);
                }
            }
            return Turn(Arc::new(held));
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

    /// Each once, whatever names share it: nobody must wait for himself.
    fn lanes(&self, roots: &BTreeSet<String>) -> Vec<Arc<Lane>> {
        let Inner { lanes, most_lanes, places, .. } = &*self.0;
        let mut lanes = lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut chosen = BTreeSet::new();
        for root in roots {
            // Names that come and go with the roots of a client must not make more lanes than there are threads for.
            let is_new = !lanes.contains_key(root);
            if is_new && lanes.len() >= *most_lanes {
                chosen.insert("");
                continue;
            }
            if is_new {
                lanes.insert(root.clone(), Arc::new(Lane::new(*places)));
            }
            chosen.insert(root);
        }
        if chosen.is_empty() {
            chosen.insert("");
        }
        chosen.into_iter().filter_map(|root| lanes.get(root).cloned()).collect()
    }
}

impl Lane {
    fn new(places: usize) -> Self {
        let part = |divisor: usize| Arc::new(Semaphore::new((places / divisor).max(1)));
        Self { all: part(1), long: part(2), wide: part(4) }
    }

    /// The narrowest first: who waits holds no place that others could use.
    fn needed(&self, length: Length, wide: bool) -> impl Iterator<Item = &Arc<Semaphore>> {
        let long = length == Length::Long || wide;
        [wide.then_some(&self.wide), long.then_some(&self.long), Some(&self.all)].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::time::Duration;

    use super::*;

    fn names(roots: &[&str]) -> BTreeSet<String> {
        roots.iter().map(|&root| root.to_owned()).collect()
    }

    /// The turn, if it is there by now.
    async fn at_once(turn: impl Future<Output = Turn>) -> Option<Turn> {
        tokio::time::timeout(Duration::from_millis(20), turn).await.ok()
    }

    async fn fill(turns: &Turns, roots: &[&str], length: Length) -> Vec<Turn> {
        let mut held = Vec::new();
        while let Some(turn) = at_once(turns.take(&names(roots), length)).await {
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
            let short = fill(&turns, &["a"], Length::Short).await;
            assert!(!wide.is_empty() && !short.is_empty(), "{roots}");
            assert!(short.len() >= turns.0.places / 2 && wide.len() + long.len() <= turns.0.places.div_ceil(2), "{roots}");
            assert_eq!(wide.len() + long.len() + short.len(), turns.0.places, "{roots}");
            for other in [&["b"][..], &[]] {
                assert!(at_once(turns.take(&names(other), Length::Short)).await.is_some(), "{roots} {other:?}");
            }
            // All of them wait for the one that is full, and keep nobody else from the others.
            let waiting: Vec<_> = (0..50)
                .map(|_| {
                    let turns = turns.clone();
                    tokio::spawn(async move { turns.take(&names(&["a", "b"]), Length::Short).await })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert!(at_once(turns.take(&names(&["b"]), Length::Short)).await.is_some(), "{roots}");
            drop((wide, long, short));
            for waits in waiting {
                tokio::time::timeout(Duration::from_secs(10), waits).await.unwrap().unwrap();
            }
        }
    }

    /// Catches: two calls that wait for each other, each with a place that the other one needs.
    #[tokio::test]
    async fn calls_in_several_roots_do_not_wait_for_each_other() {
        let turns = Turns::new(3);
        let calls: Vec<_> = (0..200)
            .map(|number| {
                let turns = turns.clone();
                let roots = names([&["a", "b"][..], &["b", "c"], &["c", "a"], &["a", "b", "c"]][number % 4]);
                tokio::spawn(async move {
                    let turn = turns.take(&roots, if number % 3 == 0 { Length::Long } else { Length::Short }).await;
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
        let many: Vec<_> = (0..40).map(|number| format!("root-{number}")).collect();
        assert!(at_once(turns.take(&many.into_iter().collect(), Length::Long)).await.is_some());
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
