//! Turns: whoever changes the same name of the same directory goes one after the other, in the order in which they came.
//!
//! May touch: identities. One queue serves a set of roots and all that was narrowed from it; other processes are met by the comparison
//! before a rename, not here.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind};
use crate::identity::Identity;
use crate::rule::fold;

thread_local! {
    /// Whether this thread has a turn.
    static HAS_TURN: Cell<bool> = const { Cell::new(false) };
}

/// Directories remembered as swept; beyond that they are swept again.
const SWEPT_LIMIT: usize = 4096;

/// A name in a directory. Folded: two spellings of one name wait for each other, on every disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    parent: Identity,
    name: String,
}

impl Key {
    pub(crate) fn new(parent: Identity, name: &OsStr) -> Self {
        Self { parent, name: fold(&name.to_string_lossy()).into_owned() }
    }
}

/// Numbers as at a counter: the next one to be handed out, and the one that is served.
#[derive(Debug, Default)]
struct Line {
    next: u64,
    served: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    lines: Mutex<HashMap<Key, Line>>,
    moved: Condvar,
    /// Directories whose leftovers were looked for.
    swept: Mutex<HashSet<Identity>>,
}

/// The turn of one change; the next one's comes when it is dropped.
#[must_use = "the turn ends when it is dropped"]
pub(crate) struct Turn<'a> {
    queue: &'a Queue,
    keys: Vec<Key>,
}

impl Queue {
    /// Waits for the turn at all `keys`. They are taken in one order by everybody, so that no two wait for each other. `busy` for whoever
    /// has a turn already, such as the closure of an update: it could wait for itself.
    pub(crate) fn turn(&self, keys: impl IntoIterator<Item = Key>) -> Result<Turn<'_>, Error> {
        if HAS_TURN.replace(true) {
            return Err(Error::from(ErrorKind::Busy).advise("change nothing else while an update of a file is being made"));
        }
        let mut keys: Vec<Key> = keys.into_iter().collect();
        keys.sort();
        keys.dedup();
        let mut lines = self.lock();
        for key in &keys {
            let line = lines.entry(key.clone()).or_default();
            let number = line.next;
            line.next += 1;
            while lines.get(key).is_some_and(|line| line.served != number) {
                lines = self.moved.wait(lines).unwrap_or_else(PoisonError::into_inner);
            }
        }
        drop(lines);
        Ok(Turn { queue: self, keys })
    }

    /// Whether this is the first time that something is written in the directory.
    pub(crate) fn is_first_in(&self, dir: Identity) -> bool {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.len() >= SWEPT_LIMIT {
            swept.clear();
        }
        swept.insert(dir)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        HAS_TURN.set(false);
        let mut lines = self.queue.lock();
        for key in &self.keys {
            if let Some(line) = lines.get_mut(key) {
                line.served += 1;
                if line.served == line.next {
                    lines.remove(key);
                }
            }
        }
        drop(lines);
        self.queue.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn key(name: &str) -> Key {
        Key::new(Identity { device: 1, inode: 2 }, OsStr::new(name))
    }

    /// Catches: a lock that lets the last one in first, and spellings that do not wait for each other.
    #[test]
    fn turns_come_in_order() {
        let (queue, order) = (Queue::default(), Mutex::new(Vec::new()));
        let first = queue.turn([key("a"), key("b")]).unwrap();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (queue, order) = (&queue, &order);
                scope.spawn(move || {
                    let _turn = queue.turn([key(if number % 2 == 0 { "A" } else { "a" })]).unwrap();
                    order.lock().unwrap().push(number);
                });
                // Until it stands in line.
                while queue.lock().get(&key("a")).unwrap().next != number + 2 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            assert_eq!(queue.turn([key("c")]).err().map(|error| error.kind()), Some(ErrorKind::Busy));
            std::thread::sleep(Duration::from_millis(5));
            assert!(order.lock().unwrap().is_empty(), "it is somebody else's turn");
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), (0..8).collect::<Vec<_>>());
        assert!(queue.lock().is_empty(), "lines that nobody stands in are forgotten");
    }
}
