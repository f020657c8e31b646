//! The library's lock and its turns, built on loom's primitives: the files of `src/` as they are, in which `std::sync` is this crate's.
//!
//! Nothing in the library knows of it: `std` is another name of this crate here, and holds what the two files ask for.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests use it")]

extern crate self as std;
extern crate std as real;

/// In the place of `std::sync`: what the model checker switches threads at.
pub mod sync {
    pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub use real::sync::PoisonError;

    pub mod atomic {
        pub use loom::sync::atomic::{AtomicUsize, Ordering};
    }
}

pub use real::{cell, collections, ffi, marker};

/// A flag of each of loom's threads, which all run on one of the system's.
pub struct Flag(&'static loom::thread::LocalKey<cell::Cell<bool>>);

impl Flag {
    fn replace(&'static self, value: bool) -> bool {
        self.0.with(|cell| cell.replace(value))
    }

    fn set(&'static self, value: bool) {
        self.replace(value);
    }
}

/// In the place of the standard one, as far as `queue.rs` uses it.
macro_rules! thread_local {
    ($(#[$doc:meta])* static $name:ident: Cell<bool> = const { $first:expr };) => {
        loom::thread_local! { static KEY: Cell<bool> = $first; }
        $(#[$doc])*
        static $name: crate::Flag = crate::Flag(&KEY);
    };
}

mod error {
    #[derive(Debug, PartialEq)]
    pub enum ErrorKind {
        Busy,
        Revoked,
    }

    #[derive(Debug, PartialEq)]
    pub struct Error(#[allow(dead_code, reason = "shown")] ErrorKind);

    impl From<ErrorKind> for Error {
        fn from(kind: ErrorKind) -> Self {
            Self(kind)
        }
    }

    impl Error {
        pub(crate) fn advise(self, _: &'static str) -> Self {
            self
        }
    }
}

mod identity {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub(crate) struct Identity {
        pub(crate) device: u64,
        pub(crate) inode: u64,
    }
}

mod rule {
    pub(crate) fn fold(name: &str) -> crate::real::borrow::Cow<'_, str> {
        name.into()
    }
}

#[path = "../../../src/lease.rs"]
mod lease;

#[path = "../../../src/queue.rs"]
#[allow(dead_code, reason = "what is swept is not modelled")]
mod queue;

/// `lease.rs`, for tests.
#[derive(Debug, Default)]
pub struct Lease(lease::Lease);

impl Lease {
    pub fn revoke(&self) {
        self.0.revoke();
    }

    pub fn wait_until_quiet(&self) {
        self.0.wait_until_quiet();
    }

    pub fn holds(&self) -> bool {
        self.0.check().is_ok()
    }

    pub fn begin(&self) {
        self.0.begin();
    }

    pub fn end(&self) {
        self.0.end();
    }
}

/// `queue.rs`, for tests: names of one directory.
#[derive(Debug, Default)]
pub struct Queue(queue::Queue);

pub struct Turn<'a>(#[allow(dead_code, reason = "held until it is dropped")] queue::Turn<'a>);

impl Queue {
    /// `None` is `busy`.
    pub fn turn(&self, names: &[&str]) -> Option<Turn<'_>> {
        let parent = identity::Identity { device: 1, inode: 2 };
        let keys = names.iter().map(|name| queue::Key::new(parent, ffi::OsStr::new(name)));
        self.0.turn(keys).ok().map(Turn)
    }
}

/// Runs `model` in every interleaving in which a thread is interrupted `bound` times at most (more with `LOOM_MAX_PREEMPTIONS`), and says how
/// many there were: less than `least` would show nothing.
pub fn every_interleaving(name: &str, bound: usize, least: usize, model: impl Fn() + Sync + Send + 'static) {
    let count = real::sync::Arc::new(real::sync::atomic::AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(bound));
    let counted = real::sync::Arc::clone(&count);
    builder.check(move || {
        counted.fetch_add(1, sync::atomic::Ordering::Relaxed);
        model();
    });
    let count = count.load(sync::atomic::Ordering::Relaxed);
    println!("proof: {name}: {count} interleavings");
    assert!(count >= least, "{name}: {count} interleavings only");
}
