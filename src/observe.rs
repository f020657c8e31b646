//! What the operator may watch: one event for each operation, allowed or refused, and a word before it (TOLD).
//!
//! May touch: `access`, the error kinds, names and paths of roots as text. The one place where detail may go that a caller must not see; an observer belongs to the
//! operator, and its output must not reach the untrusted side.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::Arc;

use crate::access::{End, Operation};
use crate::error::{Error, ErrorKind};
use crate::path::relative::RelPath;
use crate::root::Place;

/// Receives each operation's outcome. Called on the thread of the operation, so it should be quick and must not block.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use cap_roots::{Access, Event, Observer, Roots};
///
/// #[derive(Default)]
/// struct Refusals(Mutex<Vec<&'static str>>);
/// impl Observer for Refusals {
///     fn observe(&self, event: &Event<'_>) {
///         if let Err(kind) = event.outcome() {
///             self.0.lock().unwrap_or_else(|e| e.into_inner()).push(kind.code());
///         }
///     }
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let refusals = Arc::new(Refusals::default());
/// let roots = Roots::builder().root(folder, Access::Read).observer(refusals.clone()).open()?;
/// assert!(roots.read("../secret").is_err());
/// assert_eq!(*refusals.0.lock().unwrap(), ["outside-roots"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observer: Send + Sync {
    /// One operation was allowed and holds its result, or was refused.
    fn observe(&self, event: &Event<'_>);

    /// One operation is about to be judged: nothing was touched yet. If the observer declines, the operation is refused with `busy`, and nothing
    /// is touched at all; so a log that has no room left is never behind what was done. What a set may do is not for an observer to say, since
    /// [`Roots::observed_by`](crate::Roots::observed_by) puts another in its place: that is what access and rules are for.
    ///
    /// For each [`Admission::Admitted`], [`Observer::observe`] is called exactly once, on the same thread, also when the operation ends by a
    /// panic; for what was declined it is not called. An operation with two paths asks once for each, and may be declined at the second: the
    /// event of the first then says `busy`, or what it was refused for already. It must not wait for the end of what is under way
    /// ([`Roots::revoke_and_wait`](crate::Roots::revoke_and_wait)), since this operation is.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use cap_roots::{Access, Admission, Event, Observer, Operation, Roots};
    ///
    /// /// Room for so many lines.
    /// struct Room(AtomicUsize);
    /// impl Observer for Room {
    ///     fn observe(&self, _: &Event<'_>) {}
    ///     fn admit(&self, _: Operation) -> Admission {
    ///         let taken = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(1));
    ///         if taken.is_ok() { Admission::Admitted } else { Admission::Busy }
    ///     }
    /// }
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// let roots = Roots::builder().root(folder, Access::Write).open()?;
    /// let watched = roots.observed_by(Arc::new(Room(1.into())));
    /// watched.write("a.md", "text")?;
    /// assert_eq!(watched.write("b.md", "text").unwrap_err().code(), "busy");
    /// assert!(!roots.exists("b.md")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn admit(&self, operation: Operation) -> Admission {
        let _ = operation;
        Admission::Admitted
    }
}

/// Whether an observer can take one more event now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
#[non_exhaustive]
pub enum Admission {
    /// It can, and waits for it.
    Admitted,
    /// It cannot; later it may.
    Busy,
}

/// One operation and its outcome.
pub struct Event<'a> {
    pub(crate) operation: Operation,
    pub(crate) root: Option<&'a str>,
    pub(crate) end: End,
    pub(crate) path: &'a OsStr,
    pub(crate) outcome: Result<(), ErrorKind>,
    pub(crate) bytes: Option<u64>,
}

impl Event<'_> {
    /// What was to be done.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The root's name, where the path led to one by its text.
    #[must_use]
    pub fn root(&self) -> Option<&str> {
        self.root
    }

    /// The path below the root, as it was asked for; without a root, the caller's text. Untrusted: escape it before it is shown.
    #[must_use]
    pub fn path(&self) -> &OsStr {
        self.path
    }

    /// Whether the path is the second one of an operation with two: where something is renamed or copied to. Each path has its own
    /// event, in any order; what one of them is refused for is the outcome of both.
    #[must_use]
    pub fn is_target(&self) -> bool {
        self.end == End::Target
    }

    /// How many bytes of content were read, written or copied, where the operation handled content and was allowed. Of a file that was opened
    /// it is the size that it had then; what is read or written by the handle afterwards is not counted.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Allowed, or the reason of the refusal.
    ///
    /// # Errors
    /// The kind of the refusal.
    pub fn outcome(&self) -> Result<(), ErrorKind> {
        self.outcome
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("operation", &self.operation.name())
            .field("root", &self.root)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

/// Who watches, if anybody does. Nobody costs nothing.
#[derive(Clone, Default)]
pub(crate) struct Watch(Option<Arc<dyn Observer>>);

/// An event to come: what is known of it beforehand.
pub(crate) struct Coming {
    pub(crate) operation: Operation,
    pub(crate) end: End,
    pub(crate) root: Option<String>,
    pub(crate) path: OsString,
}

/// The observer agreed and waits for the event. It is told once: what is dropped without an outcome (by a panic of the caller's code) is told
/// as `io`, so that whatever was set aside for it is given back.
#[must_use = "the observer waits for the outcome"]
pub(crate) struct Admitted(Option<Box<(Arc<dyn Observer>, Coming)>>);

impl Watch {
    pub(crate) fn by(observer: Option<Arc<dyn Observer>>) -> Self {
        Self(observer)
    }

    /// Asks before anything is done.
    pub(crate) fn admit(&self, operation: Operation, coming: impl FnOnce() -> Coming) -> Result<Admitted, Error> {
        let Some(observer) = &self.0 else { return Ok(Admitted(None)) };
        match observer.admit(operation) {
            Admission::Admitted => Ok(Admitted(Some(Box::new((Arc::clone(observer), coming()))))),
            Admission::Busy => Err(Error::not_recorded()),
        }
    }

    /// What was refused with `error` before it came to a permit. What the caller is to be told: that, or that nobody could take note of it.
    pub(crate) fn refused<const PATHS: usize>(&self, error: Error, coming: impl FnOnce() -> [Coming; PATHS]) -> Error {
        if self.0.is_none() {
            return error;
        }
        let mut all = Vec::with_capacity(PATHS);
        for coming in coming() {
            match self.admit(coming.operation, || coming) {
                Ok(admitted) => all.push(admitted),
                Err(busy) => {
                    all.into_iter().for_each(|admitted: Admitted| admitted.tell(Err(busy.kind()), None));
                    return busy;
                }
            }
        }
        all.into_iter().for_each(|admitted| admitted.tell(Err(error.kind()), None));
        error
    }
}

impl Coming {
    /// By its text, which leads to no root.
    pub(crate) fn text(operation: Operation, end: End, text: &str) -> Self {
        Self { operation, end, root: None, path: text.into() }
    }

    pub(crate) fn at(operation: Operation, end: End, place: &Place, path: &RelPath) -> Self {
        let root = place.root().name.as_str().to_owned();
        Self { operation, end, root: Some(root), path: place.path_from_root(path).as_os_str().to_owned() }
    }
}

impl Admitted {
    pub(crate) fn tell(mut self, outcome: Result<(), ErrorKind>, bytes: Option<u64>) {
        self.end(outcome, bytes);
    }

    fn end(&mut self, outcome: Result<(), ErrorKind>, bytes: Option<u64>) {
        let Some(told) = self.0.take() else { return };
        let (observer, Coming { operation, end, root, path }) = *told;
        let bytes = bytes.filter(|_| outcome.is_ok());
        observer.observe(&Event { operation, root: root.as_deref(), end, path: &path, outcome, bytes });
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.end(Err(ErrorKind::Io), None);
    }
}
