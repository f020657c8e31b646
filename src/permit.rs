//! The proof that one operation on one path was allowed.
//!
//! May touch: `decide`, `root`, `rule`. A permit is made here and nowhere else, holds the very path that was judged (so nothing else can be
//! opened with it), is neither `Clone` nor `Copy`, and is consumed by `resolve`, which gives a receipt for it. The observer is asked before
//! anything is judged, and hears of each permit once: when it is refused, or when its receipt is handed in with the operation's outcome.

use crate::access::{End, Operation};
use crate::authority::{Authority, UnderWay};
use crate::decide::{Facts, decide};
use crate::error::{Error, ErrorKind};
use crate::observe::{Admitted, Coming};
use crate::path::relative::RelPath;
use crate::root::Place;
use crate::rule::Level;

#[must_use = "a permit is only good for being used"]
pub(crate) struct Permit {
    place: Place,
    path: RelPath,
    operation: Operation,
    end: End,
    /// What the rules say of the last typed name.
    #[cfg_attr(any(not(target_os = "linux"), cap_roots_portable), allow(dead_code, reason = "asked by the fast way"))]
    level: Option<Level>,
    under_way: UnderWay,
    // Behind `under_way`, so that a panic ends that first: an observer may itself wait for the end of everything.
    admitted: Admitted,
}

/// What is left of a permit that was used.
#[must_use = "the observer waits for the outcome"]
pub(crate) struct Receipt {
    permit: Permit,
    /// The last check was passed, and what it allowed may have happened.
    committed: bool,
    /// How much content was read or written.
    bytes: Option<u64>,
}

impl Permit {
    /// Decides on an operation with one path.
    pub(crate) fn issue(place: Place, path: RelPath, operation: Operation) -> Result<Self, Error> {
        // Counted before the first look, so that whoever waits for the end of everything waits for this.
        let under_way = place.authority.begin();
        Self::issue_at(place, path, operation, End::Source, under_way)
    }

    /// Decides on the other end of an operation with two.
    pub(crate) fn issue_target(&mut self, place: Place, path: RelPath) -> Result<Self, Error> {
        let under_way = self.under_way.share();
        Self::issue_at(place, path, self.operation, End::Target, under_way)
    }

    /// There is no other way to get a permit. The observer has room for it first (TOLD); then text alone is judged, before anything is looked
    /// at, so that a refusal does not tell what exists (SILENT-OUTSIDE).
    fn issue_at(place: Place, path: RelPath, operation: Operation, end: End, under_way: UnderWay) -> Result<Self, Error> {
        let admitted = place.authority.watch.admit(operation, || Coming::at(operation, end, &place, &path))?;
        let level = place.root().rules.judge_text(&place.start_level(), &path, operation.needs_at(end), operation.makes_dir());
        let facts = Facts {
            state: place.authority.state_for(operation),
            access: place.authority.access(),
            no_delete: place.authority.no_delete(),
            unruled: level.is_some(),
        };
        let permit = Self { place, path, operation, end, level, under_way, admitted };
        match decide(facts, operation, end) {
            Ok(()) => Ok(permit),
            Err(kind) => permit.spend().close(Err(kind.into())),
        }
    }

    /// Ends it unused: its operation was refused with `error` at its other end.
    pub(crate) fn give_up(self, error: &Error) {
        let _ = self.spend().close::<()>(Err(error.clone()));
    }

    pub(crate) fn spend(self) -> Receipt {
        Receipt { permit: self, committed: false, bytes: None }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn path(&self) -> &RelPath {
        &self.path
    }

    pub(crate) fn operation(&self) -> Operation {
        self.operation
    }

    /// What the operation needs of whatever the path leads to.
    pub(crate) fn need(&self) -> crate::access::Access {
        self.operation.needs_at(self.end)
    }

    /// Whether what the path leads to will be a directory.
    pub(crate) fn makes_dir(&self) -> bool {
        self.operation.makes_dir()
    }

    /// What the rules say of the last typed name, as far as text tells.
    #[cfg_attr(any(not(target_os = "linux"), cap_roots_portable), allow(dead_code, reason = "asked by the fast way"))]
    pub(crate) fn level(&self) -> Option<&Level> {
        self.level.as_ref()
    }
}

impl Receipt {
    pub(crate) fn authority(&self) -> &Authority {
        &self.permit.place.authority
    }

    pub(crate) fn place(&self) -> &Place {
        &self.permit.place
    }

    pub(crate) fn permit(&self) -> &Permit {
        &self.permit
    }

    /// The last check before something is changed. What happens after it has happened, even if the authority ends meanwhile.
    pub(crate) fn commit(&mut self) -> Result<(), Error> {
        self.authority().check()?;
        self.committed = true;
        Ok(())
    }

    /// How much content it is about: for the observer.
    pub(crate) fn count(&mut self, bytes: impl TryInto<u64>) {
        self.bytes = bytes.try_into().ok();
    }

    /// The end of an operation whose other end has passed the last check for both.
    pub(crate) fn close_committed<T>(mut self, outcome: Result<T, Error>) -> Result<T, Error> {
        self.committed = true;
        self.close(outcome)
    }

    /// The last check of an operation that changed nothing; then the observer is told, and the outcome handed on. Whatever `revoke()` did
    /// not see coming is dropped here, unused.
    pub(crate) fn close<T>(self, outcome: Result<T, Error>) -> Result<T, Error> {
        self.close_with(outcome, |done, _| done)
    }

    /// The same for what goes on under the authority that it was opened with.
    pub(crate) fn close_with<T, U>(
        self,
        outcome: Result<T, Error>,
        hand_out: impl FnOnce(T, Authority) -> U,
    ) -> Result<U, Error> {
        let Self { permit: Permit { place, under_way, admitted, .. }, committed, bytes } = self;
        let outcome = match place.authority.check() {
            Err(kind) if !committed => Err(kind.into()),
            _ if missed(&outcome) && !place.root().is_present() => Err(ErrorKind::RootAbsent.into()),
            _ => outcome,
        };
        // An observer may itself wait for the end of everything.
        drop(under_way);
        admitted.tell(outcome.as_ref().map(|_| ()).map_err(Error::kind), bytes);
        outcome.map(|done| hand_out(done, place.authority))
    }
}

/// Nothing was found: the root's fault, and not the path's, if the root is gone.
fn missed<T>(outcome: &Result<T, Error>) -> bool {
    outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::access::Access;
    use crate::path::style::PathStyle;
    use crate::{Event, Observer, Roots};

    #[derive(Default)]
    struct Log(Mutex<Vec<String>>);

    impl Observer for Log {
        fn observe(&self, event: &Event<'_>) {
            let outcome = event.outcome().map_or_else(ErrorKind::code, |()| "ok");
            self.0.lock().unwrap().push(format!("{} {outcome} {:?}", event.operation().name(), event.bytes()));
        }
    }

    struct Case {
        #[cfg_attr(not(unix), allow(dead_code, reason = "kept for its end"))]
        folder: tempfile::TempDir,
        roots: Roots,
        log: Arc<Log>,
    }

    impl Case {
        fn new() -> Self {
            let (folder, log) = (tempfile::tempdir().unwrap(), Arc::new(Log::default()));
            let builder = Roots::builder().root(folder.path(), Access::Write).rule("d/", Access::None).observer(log.clone());
            Self { folder, roots: builder.open().unwrap(), log }
        }

        fn permit(&self, path: &str, operation: Operation) -> Result<Permit, Error> {
            Permit::issue(self.roots.place_of_first(), RelPath::parse(path, PathStyle::Unix).unwrap(), operation)
        }

        fn told(&self) -> String {
            self.log.0.lock().unwrap().join(", ")
        }
    }

    /// Catches: a permit for less than its operation does, or for another kind of thing.
    #[test]
    fn a_permit_says_what_it_is_for() {
        let case = Case::new();
        let asked = |operation| {
            let permit = case.permit("d", operation).map_err(|error| error.code())?;
            Ok((permit.need(), permit.makes_dir(), permit.level().map(|level| level.as_file)))
        };
        assert_eq!(asked(Operation::Open), Ok((Access::Read, false, Some(Access::Write))));
        assert_eq!(asked(Operation::CreateDir), Err("protected"), "it will be a directory, which the rule is for");
        assert!(case.permit("e", Operation::CreateDir).unwrap().makes_dir());
    }

    /// Catches: a last check that is none, one that takes back what has happened, and an observer that is not told, or of something else.
    #[test]
    fn the_last_check_decides_and_is_told() {
        let case = Case::new();
        let receipt = |bytes: u64| {
            let mut receipt = case.permit("f", Operation::Append).unwrap().spend();
            receipt.count(bytes);
            receipt
        };
        let (mut early, late, mut counted) = (receipt(1), receipt(2), receipt(3));
        early.commit().unwrap();
        case.permit("g", Operation::Append).unwrap().give_up(&ErrorKind::CrossRoot.into());
        assert_eq!(receipt(4).close(Ok(())).map_err(|error| error.kind()), Ok(()));
        case.roots.revoke();
        assert_eq!(counted.commit().map_err(|error| error.kind()), Err(ErrorKind::Revoked));
        let closed = [early, late, counted].map(|receipt| receipt.close(Ok(())).map_err(|error| error.kind()));
        assert_eq!(closed, [Ok(()), Err(ErrorKind::Revoked), Err(ErrorKind::Revoked)]);
        let told = ["append cross-root None", "append ok Some(4)", "append ok Some(1)", "append revoked", "append revoked"];
        let log = case.told();
        let lines: Vec<_> = log.split(", ").collect();
        assert!(lines.len() == told.len() && lines.iter().zip(told).all(|(line, start)| line.starts_with(start)), "{log}");
    }

    /// Catches: a path that is said to be missing where the whole root is, and a root that is blamed for anything else.
    // On Windows the directory of a root cannot be removed.
    #[cfg(unix)]
    #[test]
    fn what_a_root_that_is_gone_answers() {
        let case = Case::new();
        let closed = |kind: ErrorKind| {
            let receipt = case.permit("f", Operation::Open).unwrap().spend();
            move || receipt.close::<()>(Err(kind.into())).map_err(|error| error.kind())
        };
        assert_eq!(closed(ErrorKind::NotFound)(), Err(ErrorKind::NotFound));
        let (missed, other) = (closed(ErrorKind::NotFound), closed(ErrorKind::SpecialFile));
        std::fs::remove_dir_all(case.folder.path()).unwrap();
        assert_eq!((missed(), other()), (Err(ErrorKind::RootAbsent), Err(ErrorKind::SpecialFile)));
    }
}
