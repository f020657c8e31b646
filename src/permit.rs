//! The proof that one operation on one path was allowed.
//!
//! May touch: `decide`, `root`. A permit is made here and nowhere else, holds the very path that was judged (so nothing else can be
//! opened with it), is neither `Clone` nor `Copy`, and is consumed by `resolve`, which gives a receipt for it. The observer hears of each
//! permit once: when it is refused, or when its receipt is handed in with the operation's outcome.

use crate::access::Operation;
use crate::decide::decide;
use crate::error::{Error, ErrorKind};
use crate::observe::Event;
use crate::path::relative::RelPath;
use crate::root::{Floor, Place};

#[must_use = "a permit is only good for being used"]
pub(crate) struct Permit {
    place: Place,
    path: RelPath,
    operation: Operation,
}

/// What is left of a permit that was used.
#[must_use = "the observer waits for the outcome"]
pub(crate) struct Receipt(Permit);

impl Permit {
    /// Decides; there is no other way to get a permit.
    pub(crate) fn issue(place: Place, path: RelPath, operation: Operation) -> Result<Self, Error> {
        let permit = Self { place, path, operation };
        match decide(permit.place.root.facts(), operation) {
            Ok(()) => Ok(permit),
            Err(kind) => permit.spend().close(Err(kind.into())),
        }
    }

    pub(crate) fn spend(self) -> Receipt {
        Receipt(self)
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn path(&self) -> &RelPath {
        &self.path
    }
}

impl Receipt {
    /// The last check, when the operation is complete; then the observer is told, and the outcome handed on. Whatever `revoke()` did
    /// not see coming is dropped here, unused.
    pub(crate) fn close<T>(self, outcome: Result<T, Error>) -> Result<T, Error> {
        let Permit { place, path, operation } = self.0;
        let root = &place.root;
        // A directory that was removed holds nothing: that is the root's fault, and not the path's.
        let on_root = matches!(place.floor, Floor::Root) && path.is_empty();
        let missed = outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let outcome = match root.shared.lease.check() {
            Err(kind) => Err(kind.into()),
            Ok(()) if (on_root || missed) && root.is_gone() => Err(ErrorKind::RootAbsent.into()),
            Ok(()) => outcome,
        };
        if root.shared.observer.is_some() {
            root.shared.observe(&Event {
                operation,
                root: Some(root.name.as_str()),
                path: place.path_from_root(&path).as_os_str(),
                outcome: outcome.as_ref().map(|_| ()).map_err(Error::kind),
            });
        }
        outcome
    }
}
