//! Turns of changes, in every interleaving of two to four threads.
//!
//! Catches: two at once with one name, a word to the one who cannot go on, names taken in an order that lets two wait for each other, a turn
//! that is kept, and lines that are forgotten while somebody stands in them.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use cap_roots_loom::{Queue, every_interleaving};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

#[derive(Default)]
struct Shared {
    queue: Queue,
    /// What is done with each of two names: not counted, so that two who do it at once lose one.
    changes: [AtomicUsize; 2],
}

const NAMES: [&str; 2] = ["a", "b"];

impl Shared {
    /// One change of `names`.
    fn change(&self, names: &[usize]) {
        let spelled: Vec<&str> = names.iter().map(|name| NAMES[*name]).collect();
        let turn = self.queue.turn(&spelled).unwrap();
        assert!(self.queue.turn(&["c"]).is_none(), "a second turn could wait for the first");
        for name in [0, 1].into_iter().filter(|name| names.contains(name)) {
            let before = self.changes[name].load(Ordering::Relaxed);
            self.changes[name].store(before + 1, Ordering::Relaxed);
        }
        drop(turn);
    }
}

/// Each of `all` in a thread of its own, the last one in this. Everybody gets a turn, and no change is lost.
fn everybody(name: &str, least: usize, all: &'static [&'static [usize]]) {
    every_interleaving(name, if all.len() > 3 { 2 } else { 4 }, least, move || {
        let shared = Arc::new(Shared::default());
        let (last, others) = all.split_last().unwrap();
        let others: Vec<_> = others
            .iter()
            .map(|names| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.change(names))
            })
            .collect();
        shared.change(last);
        others.into_iter().for_each(|other| other.join().unwrap());
        let done = [0, 1].map(|name| all.iter().filter(|names| names.contains(&name)).count());
        assert_eq!([0, 1].map(|name| shared.changes[name].load(Ordering::Relaxed)), done, "a change was lost");
    });
}

#[test]
fn one_name_is_one_line() {
    everybody("three changes of one name", 500, &[&[0], &[0], &[0]]);
}

#[test]
fn two_names_in_either_order_do_not_wait_for_each_other() {
    everybody("two renames, to and fro", 15, &[&[0, 1], &[1, 0]]);
}

#[test]
fn the_word_reaches_who_can_go_on() {
    everybody("a rename and three changes", 1000, &[&[0, 1], &[0], &[1], &[1, 0]]);
}

/// A name that is given twice, as by a rename onto itself, is one; and who had a turn can have the next one.
#[test]
fn nobody_waits_for_their_own_turn() {
    every_interleaving("one that comes twice and another", 4, 15, || {
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        let other = thread::spawn(move || other.change(&[0]));
        shared.change(&[0, 0]);
        shared.change(&[0]);
        other.join().unwrap();
        assert_eq!(shared.changes[0].load(Ordering::Relaxed), 3);
    });
}
