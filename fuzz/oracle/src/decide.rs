//! The decision beside a table that is written by hand, from the documentation of [`Access`], of [`Operation`] and of grants without deletion:
//! `list` is names, types, metadata and the text of links, `read` is content, `write` is whatever creates, changes, renames or removes; where
//! nothing may be deleted, no name is removed or replaced by another one's.

use cap_roots::internals::{Facts, Rules, decide};
use cap_roots::{Access, ErrorKind, Operation};

use crate::generate::Picks;
use crate::rules::{self, Naive};

use Access::{List, None, Read, Write};

/// By the name of an operation, of which new ones come last: what it needs, what at its second end if it has one, and at which end it takes a name away.
const TABLE: &[(&str, Access, Option<Access>, Option<End>)] = &[
    ("open", Read, Option::None, Option::None),
    ("open_dir", List, Option::None, Option::None),
    ("read_dir", List, Option::None, Option::None),
    ("walk", List, Option::None, Option::None),
    ("metadata", List, Option::None, Option::None),
    ("symlink_metadata", List, Option::None, Option::None),
    ("read_link", List, Option::None, Option::None),
    ("within", List, Option::None, Option::None),
    ("write", Write, Option::None, Option::None),
    ("update", Write, Option::None, Option::None),
    ("create_new", Write, Option::None, Option::None),
    ("append", Write, Option::None, Option::None),
    ("set_len", Write, Option::None, Option::None),
    ("create_dir", Write, Option::None, Option::None),
    ("create_dir_all", Write, Option::None, Option::None),
    ("remove_file", Write, Option::None, Some(End::First)),
    ("remove_dir", Write, Option::None, Some(End::First)),
    ("remove_dir_all", Write, Option::None, Some(End::First)),
    ("rename", Write, Some(Write), Option::None),
    ("rename_replace", Write, Some(Write), Some(End::Second)),
    ("copy", Read, Some(Write), Option::None),
    ("copy_replace", Read, Some(Write), Option::None),
    ("set_permissions", Write, Option::None, Option::None),
    ("set_times", Write, Option::None, Option::None),
];

/// One end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    First,
    Second,
}

const ENDS: [End; 2] = [End::First, End::Second];
const LEVELS: [Access; 4] = [None, List, Read, Write];
const STATES: [Result<(), ErrorKind>; 5] =
    [Ok(()), Err(ErrorKind::RootAbsent), Err(ErrorKind::Revoked), Err(ErrorKind::Expired), Err(ErrorKind::Cancelled)];

/// What an operation needs at one of its ends, and whether it takes a name away there; `None` if it has no such end.
fn row(operation: Operation, end: End) -> Option<(Access, bool)> {
    let row = TABLE.iter().find(|row| row.0 == operation.name());
    let (_, first, second, deletes) = row.unwrap_or_else(|| panic!("{} is not in the table", operation.name()));
    let need = if end == End::First { Some(*first) } else { *second };
    Some((need?, *deletes == Some(end)))
}

/// The verdict by the table. A root that was taken back tells nothing of its grant, a grant nothing of rules, and a rule not whether there is
/// anything behind it.
fn verdict(facts: Facts, need: Access, deletes: bool) -> Result<(), ErrorKind> {
    if let Err(gone @ (ErrorKind::Revoked | ErrorKind::Expired | ErrorKind::Cancelled)) = facts.state {
        return Err(gone);
    }
    if facts.access < need || deletes && facts.no_delete {
        return Err(ErrorKind::NotGranted);
    }
    if facts.unruled { facts.state } else { Err(ErrorKind::Protected) }
}

/// Each state, access, operation, end and bound on deletion, in a root where a directory `p` has one ceiling, and a name in it another one, for
/// directories only or not; named with and without a slash. Gives the number of cases.
pub fn every_case() -> usize {
    assert_eq!(TABLE.len(), Operation::ALL.len());
    let mut cases = 0;
    for (upper, lower, dirs_only) in
        LEVELS.iter().flat_map(|upper| LEVELS.iter().flat_map(move |lower| [(upper, lower, false), (upper, lower, true)]))
    {
        let rules = Rules::new([("/p", *upper), (if dirs_only { "/p/x/" } else { "/p/x" }, *lower)]);
        let rules = rules.unwrap_or_else(|error| panic!("{error}"));
        for (operation, end) in Operation::ALL.iter().flat_map(|operation| ENDS.map(|end| (*operation, end))) {
            let Some((need, deletes)) = row(operation, end) else { continue };
            for slash in [false, true] {
                let makes_dir = operation.name().starts_with("create_dir");
                let counts = !dirs_only || slash || makes_dir;
                let own = if counts { (*upper).min(*lower) } else { *upper };
                let typed = if slash { "p/x/" } else { "p/x" };
                let unruled = rules.let_through(typed, operation, end == End::Second).unwrap_or_else(|error| panic!("{error}"));
                let context = format!("{upper} {lower} {dirs_only} {operation:?} {end:?} {typed}");
                assert_eq!(unruled, *upper >= List && own >= need, "{context}");
                for (state, access) in STATES.iter().flat_map(|state| LEVELS.map(|access| (*state, access))) {
                    for no_delete in [false, true] {
                        let facts = Facts { state, access, no_delete, unruled };
                        let ours = decide(facts, operation, end == End::Second);
                        assert_eq!(ours, verdict(facts, need, deletes), "{facts:?} {context}");
                        cases += 1;
                    }
                }
            }
        }
    }
    cases
}

/// What bytes pick.
#[derive(Debug)]
struct Case {
    operation: Operation,
    end: End,
    state: Result<(), ErrorKind>,
    access: Access,
    no_delete: bool,
    globs: Vec<(String, Access)>,
    /// `..` and `.` among the names.
    steps: Vec<String>,
    slash: bool,
}

impl Case {
    fn of(bytes: &[u8]) -> Self {
        let picks = &mut Picks(bytes);
        let (name, ..) = TABLE[picks.byte() % TABLE.len()];
        let operation = Operation::ALL.iter().find(|operation| operation.name() == name);
        let operation = *operation.unwrap_or_else(|| panic!("there is no operation {name}"));
        let end = ENDS[picks.byte() % ENDS.len()];
        let (state, access) = (STATES[picks.byte() % STATES.len()], rules::access(picks));
        let flags = picks.byte();
        let globs = rules::globs(picks);
        let mut steps: Vec<String> = Vec::new();
        for _ in 0..flags / 4 % 4 {
            match picks.byte() % 8 {
                0 => steps.push("..".to_owned()),
                1 => steps.push(".".to_owned()),
                _ => steps.extend(rules::names(picks)),
            }
        }
        Self { operation, end, state, access, no_delete: flags & 2 == 2, globs, steps, slash: flags & 1 == 1 }
    }
}

/// What an input means, as text.
pub(crate) fn print(bytes: &[u8]) -> String {
    format!("{:?}", Case::of(bytes))
}

/// Runs what bytes pick: rules, a typed path, facts and an operation.
pub fn check_bytes(bytes: &[u8]) {
    let case = Case::of(bytes);
    let Case { operation, end, state, access, no_delete, globs, steps, slash } = &case;
    let Some((need, deletes)) = row(*operation, *end) else { return };
    let second = *end == End::Second;
    let typed = steps.join("/") + if *slash { "/" } else { "" };
    let Ok(rules) = Rules::new(globs.iter().map(|(glob, access)| (glob.as_str(), *access))) else { return };
    let Ok(unruled) = rules.let_through(&typed, *operation, second) else { return };
    if let Some(own) = let_through(globs, steps, *operation, need, *slash) {
        assert_eq!(unruled, own, "{typed:?} {case:?}");
    }
    let facts = Facts { state: *state, access: *access, no_delete: *no_delete, unruled };
    assert_eq!(decide(facts, *operation, second), verdict(facts, need, deletes), "{facts:?} {case:?}");
    if decide(facts, *operation, second).is_err() {
        for less in LEVELS.into_iter().filter(|less| less <= access) {
            let facts = Facts { access: less, no_delete: true, ..facts };
            assert!(decide(facts, *operation, second).is_err(), "{facts:?} {case:?}");
        }
    }
}

/// Whether rules let typed names through: every name on the way, as a directory, may at least be listed, and the last one allows what is needed. `..`
/// takes a name back. `None`: only a walk knows, or there is a character of which nothing is known here.
fn let_through(globs: &[(String, Access)], given: &[String], operation: Operation, need: Access, slash: bool) -> Option<bool> {
    let steps: Vec<&str> = given.iter().map(String::as_str).filter(|step| *step != ".").collect();
    let slash = slash || given.last().is_some_and(|last| last == ".");
    let ends_open = slash || steps.last().is_none_or(|last| *last == "..");
    let naive = Naive::new(globs, &steps).ok()??;
    let mut at = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        if *step == ".." {
            at.pop()?;
            continue;
        }
        at.push(number);
        let last = number + 1 == steps.len();
        let dir = !last || slash || operation.name().starts_with("create_dir");
        if naive.is_reserved(number) || naive.ceiling(&at, dir) < if last { need } else { List } {
            return Some(false);
        }
    }
    Some(!ends_open || naive.ceiling(&at, true) >= need)
}
