//! The pure decision (PURE-CORE): facts in, verdict out. No I/O, no clock, no lock.
//!
//! May touch: `access`, the error kinds.

use crate::access::{Access, Operation};
use crate::error::ErrorKind;

/// Whether a root can be used at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its directory is held.
    Held,
    /// Its directory is missing.
    Absent,
    /// It was taken back.
    Revoked,
}

/// What the decision may know: a snapshot, taken for one operation and thrown away with it (CHECK-AT-USE).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) state: State,
    pub(crate) access: Access,
}

/// May `operation` be done in a root of these facts?
///
/// The order is part of the contract: a root that was taken back tells neither whether it is there nor what it allowed.
pub(crate) fn decide(facts: Facts, operation: Operation) -> Result<(), ErrorKind> {
    match facts.state {
        State::Revoked => Err(ErrorKind::Revoked),
        _ if facts.access < operation.needs() => Err(ErrorKind::NotGranted),
        State::Absent => Err(ErrorKind::RootAbsent),
        State::Held => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [State; 3] = [State::Held, State::Absent, State::Revoked];
    const LEVELS: [Access; 4] = [Access::None, Access::List, Access::Read, Access::Write];

    #[test]
    fn exhaustive() {
        for state in STATES {
            for access in LEVELS {
                for operation in Operation::ALL {
                    let want = match state {
                        State::Revoked => Err(ErrorKind::Revoked),
                        _ if access < operation.needs() => Err(ErrorKind::NotGranted),
                        State::Absent => Err(ErrorKind::RootAbsent),
                        State::Held => Ok(()),
                    };
                    assert_eq!(decide(Facts { state, access }, *operation), want);
                }
            }
        }
    }

    /// ACCESS-SHRINKS, seen from the verdict: less access never allows more.
    #[test]
    fn less_access_never_allows_more() {
        for operation in Operation::ALL {
            for pair in LEVELS.windows(2) {
                let allowed = |access| decide(Facts { state: State::Held, access }, *operation).is_ok();
                assert!(!allowed(pair[0]) || allowed(pair[1]));
            }
        }
    }
}
