//! Requests at work in a session of the era of `initialize`, by their ids.
//!
//! May touch: nothing. Answers find their way by the id: of two requests of one id the first would have none, and hold its place.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;

/// The ids in use, by session.
#[derive(Clone, Debug)]
pub(super) struct AtWork {
    /// Most in one session: a client that goes leaves its calls behind until they end.
    most: usize,
    ids: Arc<Mutex<HashMap<String, HashSet<RequestId>>>>,
}

/// Why a request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    InUse,
    TooMany,
}

/// An id in use. It goes with the request as well as with its answer, so that it lasts as long as the longer of the two.
#[derive(Clone, Debug)]
pub(super) struct Id(#[expect(dead_code, reason = "its end gives the id back")] Arc<Held>);

#[derive(Debug)]
struct Held {
    at_work: AtWork,
    session: String,
    id: RequestId,
}

impl AtWork {
    pub(super) fn new(most: usize) -> Self {
        Self { most, ids: Arc::default() }
    }

    pub(super) fn begin(&self, session: &str, id: &RequestId) -> Result<Id, NotTaken> {
        let mut all = self.lock();
        let ids = all.entry(session.to_owned()).or_default();
        if ids.contains(id) {
            return Err(NotTaken::InUse);
        }
        if ids.len() >= self.most {
            return Err(NotTaken::TooMany);
        }
        ids.insert(id.clone());
        Ok(Id(Arc::new(Held { at_work: self.clone(), session: session.to_owned(), id: id.clone() })))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HashSet<RequestId>>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = self.at_work.lock();
        if let Some(ids) = all.get_mut(&self.session) {
            ids.remove(&self.id);
            if ids.is_empty() {
                all.remove(&self.session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: ids that are shared by sessions, that are given back by one of two holders, or never; sessions that are kept.
    #[test]
    fn an_id_is_in_use_until_the_last_holder_is_gone() {
        let at_work = AtWork::new(2);
        let (one, text) = (RequestId::Number(1), RequestId::String("1".into()));
        let held = at_work.begin("a", &one).unwrap();
        let other = at_work.begin("b", &one).unwrap();
        assert_eq!(at_work.begin("a", &one).unwrap_err(), NotTaken::InUse);
        let second = at_work.begin("a", &text).unwrap();
        assert_eq!(at_work.begin("a", &RequestId::Number(2)).unwrap_err(), NotTaken::TooMany);
        let again = held.clone();
        drop(held);
        assert_eq!(at_work.begin("a", &one).unwrap_err(), NotTaken::InUse);
        drop((again, other));
        let held = at_work.begin("a", &one).unwrap();
        drop((held, second));
        assert!(at_work.lock().is_empty());
    }
}
