//! What the operator may watch: one event for each operation, allowed or refused.
//!
//! May touch: `access`, the error kinds. The one place where detail may go that a caller must not see; an observer belongs to the
//! operator, and its output must not reach the untrusted side.

use std::ffi::OsStr;
use std::fmt;

use crate::access::Operation;
use crate::error::ErrorKind;

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
}

/// One operation and its outcome.
pub struct Event<'a> {
    pub(crate) operation: Operation,
    pub(crate) root: Option<&'a str>,
    pub(crate) path: &'a OsStr,
    pub(crate) outcome: Result<(), ErrorKind>,
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
