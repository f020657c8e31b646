//! The host's word before a list takes effect, and what was said before.
//!
//! May touch: what can be told of a root.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use cap_roots::{Access, Error, RootInfo, Roots};
use tokio::sync::Mutex as Turn;

/// How many lists are remembered.
pub(super) const REMEMBERED: usize = 64;

type Ask = dyn Fn(Vec<RootInfo>) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync;

#[derive(Clone)]
pub(super) struct Consent {
    ask: Arc<Ask>,
    said: Arc<Shown<bool>>,
    /// Held while the host thinks: it is not asked twice about one list, nor about two at once.
    turn: Arc<Turn<()>>,
}

impl Consent {
    pub(super) fn new<F, Answer>(hook: F) -> Self
    where
        F: Fn(Vec<RootInfo>) -> Answer + Send + Sync + 'static,
        Answer: Future<Output = bool> + Send + 'static,
    {
        Self { ask: Arc::new(move |exposed| Box::pin(hook(exposed))), said: Arc::default(), turn: Arc::default() }
    }

    /// Whether the host agrees to what `roots` exposes. What it has said already is not waited for.
    pub(super) async fn given(&self, roots: &Roots) -> bool {
        let key = Key::of(roots, &[]);
        if let Some(said) = self.said.get(&key) {
            return said;
        }
        let _turn = self.turn.lock().await;
        if let Some(said) = self.said.get(&key) {
            return said;
        }
        let answer = (self.ask)(roots.list().collect()).await;
        self.said.put(key, answer);
        answer
    }
}

/// A directory by where it really is, or a file, and what may be done with it.
type Exposed = (PathBuf, bool, Access, bool);

/// What a set exposes, and what was refused of the list behind it. Kept whole: two lists that only look alike must not share an answer.
#[derive(PartialEq, Eq)]
pub(super) struct Key {
    exposed: Vec<Exposed>,
    refused: Vec<(usize, &'static str)>,
}

impl Key {
    fn of(roots: &Roots, refused: &[(usize, Error)]) -> Self {
        let exposed = roots.list().map(|root| (root.real_path(), root.is_file(), root.access(), root.may_delete())).collect();
        Self { exposed, refused: refused.iter().map(|(index, error)| (*index, error.code())).collect() }
    }
}

/// Lists with what was said of them; the oldest is forgotten.
pub(super) struct Shown<T>(Mutex<VecDeque<(Key, T)>>);

impl<T> Default for Shown<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Copy> Shown<T> {
    fn get(&self, key: &Key) -> Option<T> {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.iter().find(|(known, _)| known == key).map(|(_, said)| *said)
    }

    fn put(&self, key: Key, said: T) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() == REMEMBERED {
            shown.pop_front();
        }
        shown.push_back((key, said));
    }
}

impl Shown<()> {
    /// Whether this is shown for the first time.
    pub(super) fn first(&self, roots: &Roots, refused: &[(usize, Error)]) -> bool {
        let key = Key::of(roots, refused);
        let first = self.get(&key).is_none();
        if first {
            self.put(key, ());
        }
        first
    }
}

impl fmt::Debug for Consent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Consent")
    }
}
