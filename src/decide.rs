//! The pure decision (PURE-CORE): facts in, verdict out. No I/O, no clock, no lock.
//!
//! May touch: `access`, the error kinds.

use crate::access::{Access, End, Operation};
use crate::error::ErrorKind;

/// Whether a root can be used at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its directory is held, and where it was found.
    Held,
    /// Its directory is missing.
    Absent,
    /// It was taken back.
    Revoked,
    /// Its time has run out.
    Expired,
    /// The caller has withdrawn.
    Cancelled,
}

/// What the decision may know: a snapshot, taken for one operation and thrown away with it (CHECK-AT-USE).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) state: State,
    pub(crate) access: Access,
    /// Names may not be taken away.
    pub(crate) no_delete: bool,
    /// Whether the rules let the typed names through.
    pub(crate) unruled: bool,
}

/// May `operation` be done at this end, in a root of these facts?
///
/// The order is part of the contract: a root that was taken back tells neither whether it is there nor what it allowed, and what a rule
/// protects is protected whether or not it exists.
pub(crate) fn decide(facts: Facts, operation: Operation, end: End) -> Result<(), ErrorKind> {
    match facts.state {
        State::Revoked => Err(ErrorKind::Revoked),
        State::Expired => Err(ErrorKind::Expired),
        State::Cancelled => Err(ErrorKind::Cancelled),
        _ if facts.access < operation.needs_at(end) => Err(ErrorKind::NotGranted),
        _ if facts.no_delete && operation.deletes_at() == Some(end) => Err(ErrorKind::NotGranted),
        _ if !facts.unruled => Err(ErrorKind::Protected),
        State::Absent => Err(ErrorKind::RootAbsent),
        State::Held => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [State; 5] = [State::Held, State::Absent, State::Revoked, State::Expired, State::Cancelled];
    const LEVELS: [Access; 4] = [Access::None, Access::List, Access::Read, Access::Write];

    /// Every combination, as `(facts, operation, end)`.
    fn all() -> impl Iterator<Item = (Facts, Operation, End)> {
        let facts = STATES.into_iter().flat_map(|state| {
            LEVELS.into_iter().flat_map(move |access| {
                [(false, false), (false, true), (true, false), (true, true)].map(|(no_delete, unruled)| Facts {
                    state,
                    access,
                    no_delete,
                    unruled,
                })
            })
        });
        facts.flat_map(|facts| {
            let ends = |operation: &Operation| match operation.needs_at_target() {
                Some(_) => vec![(*operation, End::Source), (*operation, End::Target)],
                None => vec![(*operation, End::Source)],
            };
            Operation::ALL.iter().flat_map(ends).map(move |(operation, end)| (facts, operation, end))
        })
    }

    #[test]
    fn allowed_is_what_nothing_forbids() {
        for (facts, operation, end) in all() {
            let deletes = operation.deletes_at() == Some(end);
            let enough = facts.access >= operation.needs_at(end) && !(facts.no_delete && deletes);
            let allowed = facts.state == State::Held && enough && facts.unruled;
            assert_eq!(decide(facts, operation, end).is_ok(), allowed, "{facts:?} {operation:?} {end:?}");
        }
    }

    /// ACCESS-SHRINKS, seen from the verdict: less never allows more.
    #[test]
    fn less_access_never_allows_more() {
        for (facts, operation, end) in all().filter(|(facts, operation, end)| decide(*facts, *operation, *end).is_err()) {
            for access in LEVELS.into_iter().filter(|access| *access <= facts.access) {
                assert!(decide(Facts { access, ..facts }, operation, end).is_err());
                assert!(decide(Facts { access, no_delete: true, ..facts }, operation, end).is_err());
                assert!(decide(Facts { access, unruled: false, ..facts }, operation, end).is_err());
            }
        }
    }

    /// Catches: a code that tells of a root that was taken back, or of a ruled name, whether it is there.
    #[test]
    fn refusals_tell_no_more_than_they_must() {
        let facts = |state, unruled| Facts { state, access: Access::Read, no_delete: false, unruled };
        let verdict = |facts| decide(facts, Operation::Open, End::Source);
        assert_eq!(verdict(facts(State::Revoked, false)), Err(ErrorKind::Revoked));
        assert_eq!(verdict(facts(State::Absent, false)), Err(ErrorKind::Protected));
        assert_eq!(verdict(facts(State::Absent, true)), Err(ErrorKind::RootAbsent));
    }
}
