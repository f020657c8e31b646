//! What holds whatever fails.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Failed;

use crate::child::{ended, refusal};
use crate::inject::{self, Fault};
use crate::planted::{picture, tree};

/// How many operations were run with a system call that fails.
pub(crate) static INJECTED: AtomicUsize = AtomicUsize::new(0);

const ERRORS: [&str; 8] = ["ENOSYS", "EPERM", "EACCES", "EIO", "ENOSPC", "EMFILE", "EINTR", "EAGAIN"];

/// What another way does as well: its lack is no failure.
fn is_optional(fault: &Fault) -> bool {
    let Fault { call, number, error, storm } = fault;
    let (error, storm, number) = (*error, *storm, *number);
    match call.as_str() {
        // Made again.
        "readlinkat" | "fstatfs" => error == "EINTR",
        "openat2" => matches!(error, "ENOSYS" | "EPERM" | "EAGAIN" | "EINTR") && !(storm && error == "EINTR"),
        // Asked once in a process whether it is there, by us or by the library below.
        "renameat2" | "copy_file_range" | "faccessat2" => matches!(error, "ENOSYS" | "EPERM") && storm && number == 1,
        // Locks keep others away as far as they go.
        "flock" => !(storm && error == "EAGAIN"),
        _ => false,
    }
}

/// What did not come to the disk is told, whatever is seen of it.
fn is_to_be_told(fault: &Fault) -> bool {
    fault.call == "fsync" && fault.error != "EINTR"
}

/// The refusals that say what the system said.
fn says(error: &str) -> &'static [&'static str] {
    match error {
        "ENOSYS" => &["unsupported"],
        "EPERM" | "EACCES" => &["os-denied"],
        "EIO" | "EINTR" => &["io"],
        "ENOSPC" => &["no-space"],
        "EMFILE" => &["limit"],
        "EAGAIN" => &["busy"],
        _ => &[],
    }
}

/// A directory that may not be listed shows no other form of a name.
fn is_second(operation: &str, fault: &Fault) -> bool {
    operation.ends_with("another form") && matches!(fault.error, "EACCES" | "EPERM") && matches!(&*fault.call, "openat" | "fcntl")
}

fn is_hidden(operation: &str, fault: &Fault, outcome: &str) -> bool {
    is_second(operation, fault) && outcome == "not-found"
}

/// What is done step by step and says so.
fn is_part(operation: &str, old: &[String], new: &[String], now: &[String]) -> bool {
    match operation {
        // Directories, the upper ones first; names of the tree, the lower ones first.
        "create directories" => old.iter().all(|line| now.contains(line)) && now.iter().all(|line| new.contains(line)),
        "remove a tree" => new.iter().all(|line| now.contains(line)) && now.iter().all(|line| old.contains(line)),
        _ => false,
    }
}

/// Renamed by a second name, while nothing can be removed any more, neither the first one nor the second.
fn is_kept(operation: &str, fault: &Fault, old: &[String], new: &[String], now: &[String]) -> bool {
    let names =
        |lines: &[String]| lines.iter().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect::<BTreeSet<_>>();
    let both: BTreeSet<_> = names(old).union(&names(new)).cloned().collect();
    operation == "rename a file" && fault.call == "unlinkat" && fault.storm && names(now) == both
}

/// An operation on one way, and what it does where nothing fails.
pub(crate) struct Case {
    way: &'static str,
    operation: &'static str,
    answer: String,
    calls: Vec<(String, usize)>,
    old: Vec<String>,
    new: Vec<String>,
}

impl Case {
    pub(crate) fn new(way: &'static str, operation: &'static str) -> Self {
        let tree = tree();
        let old = picture(tree.base()).0;
        let (calls, answer) = inject::calls(tree.base(), operation, way);
        let (new, left) = picture(tree.base());
        assert_eq!(left, 0, "left behind without a fault");
        Self { way, operation, answer, calls, old, new }
    }

    /// Each call with each error, once and from then on.
    fn faults(&self) -> impl Iterator<Item = Fault> {
        let with = |call: &str, number, error| [false, true].map(|storm| Fault { call: call.to_owned(), number, error, storm });
        self.calls.iter().flat_map(move |(call, number)| ERRORS.into_iter().flat_map(move |error| with(call, *number, error)))
    }

    /// How it ends with one fault, and whether that is within the law.
    fn outcome(&self, fault: &Fault) -> (&'static str, Result<(), String>) {
        INJECTED.fetch_add(1, Ordering::Relaxed);
        let Self { way, operation, old, new, .. } = self;
        let tree = tree();
        let (status, told) = inject::run(fault, tree.base(), operation, way, &self.answer);
        let (now, left) = picture(tree.base());
        let outcome = match status.and_then(|status| status.code()) {
            Some(0) => "ok",
            Some(ended::WRONG_ANSWER) => "ANOTHER ANSWER",
            Some(ended::LEAK) => "A DESCRIPTOR IS LEFT OPEN",
            Some(ended::USELESS) => "NOT BEGUN",
            Some(ended::UNUSABLE) => "UNUSABLE AFTERWARDS",
            Some(end) => refusal(end).unwrap_or("NO END OF OURS"),
            None => "NO END",
        };
        let made = now.iter().filter(|line| !old.contains(line)).count();
        let state = match () {
            () if now == *old && now == *new => "same",
            () if now == *old => "old",
            () if now == *new => "new",
            () if is_second(operation, fault) && made == 1 => "new",
            () if is_part(operation, old, new, &now) || is_kept(operation, fault, old, new, &now) => "part",
            () => "TORN",
        };
        let lawful = match outcome {
            "ok" => matches!(state, "same" | "new") && !is_to_be_told(fault),
            code => {
                (says(fault.error).contains(&code) || is_hidden(operation, fault, code)) && !is_optional(fault) && state != "TORN"
            }
        };
        // Who cannot remove anything any more leaves what it began with.
        if lawful && (left == 0 || fault.call == "unlinkat" || fault.storm) {
            return (outcome, Ok(()));
        }
        let differs = now.iter().filter(|line| !old.contains(line)).chain(old.iter().filter(|line| !now.contains(line)));
        let differs: Vec<_> = differs.map(String::as_str).collect();
        (outcome, Err(format!("{way}, {operation}: {fault:?}: {outcome}, {state}, {left} left\n{told}{}\n", differs.join("\n"))))
    }
}

fn judge(case: &Case, faults: impl Iterator<Item = Fault>) -> Result<(), Failed> {
    let (mut counts, mut wrong) = (BTreeMap::<String, usize>::new(), String::new());
    for fault in faults {
        let (outcome, judged) = case.outcome(&fault);
        *counts.entry(format!("{} {outcome}", fault.error)).or_default() += 1;
        wrong += judged.err().as_deref().unwrap_or_default();
    }
    println!("{}, {}: {counts:?}", case.way, case.operation);
    assert!(!counts.is_empty(), "nothing was tried");
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

/// One in `stride` of everything, another part for each operation.
pub(crate) fn hold(way: &'static str, operation: &'static str, stride: usize) -> Result<(), Failed> {
    let case = Case::new(way, operation);
    // Also of an operation with few calls some are tried.
    let offset = (way.len() + operation.len() * 7) % stride.min(case.faults().count().max(1));
    judge(&case, case.faults().skip(offset).step_by(stride))
}

/// These errors of this call, wherever the operation makes it.
pub(crate) fn hold_for(way: &'static str, operation: &'static str, call: &str, errors: &[&str]) -> Result<(), Failed> {
    let case = Case::new(way, operation);
    judge(&case, case.faults().filter(|fault| fault.call == call && errors.contains(&fault.error)))
}
