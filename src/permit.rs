//! The proof that one operation on one path was allowed.
//!
//! May touch: `decide`, `root`. A permit is made here and nowhere else, holds the very path that was judged (so nothing else can be
//! opened with it), is neither `Clone` nor `Copy`, and is consumed by `resolve`.

use crate::access::Operation;
use crate::decide::decide;
use crate::error::Error;
use crate::observe::Event;
use crate::path::relative::RelPath;
use crate::root::Place;

#[must_use = "a permit is only good for being used"]
pub(crate) struct Permit {
    place: Place,
    path: RelPath,
    operation: Operation,
}

impl Permit {
    /// Decides; there is no other way to get a permit.
    pub(crate) fn issue(place: Place, path: RelPath, operation: Operation) -> Result<Self, Error> {
        let permit = Self { place, path, operation };
        if let Err(kind) = decide(permit.place.root.facts(), operation) {
            permit.report::<()>(Err(kind.into()))?;
        }
        Ok(permit)
    }

    /// Tells the observer how it ended, and hands the outcome on.
    pub(crate) fn report<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        let root = &self.place.root;
        if let Some(observer) = &root.shared.observer {
            observer.observe(&Event {
                operation: self.operation,
                root: Some(root.name.as_str()),
                path: self.place.path_from_root(&self.path).as_os_str(),
                outcome: outcome.as_ref().map(|_| ()).map_err(Error::kind),
            });
        }
        outcome
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn path(&self) -> &RelPath {
        &self.path
    }
}
