//! System calls that the kernel refuses, by a filter (seccomp) that the calling thread and what it starts cannot take off again.

use std::collections::BTreeMap;

use libc::{EINVAL, ENOENT, ENOSYS, EOPNOTSUPP, EPERM};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// A call, or a use of one that can be told by its flags: the name, the number, and the argument with the bits that it must have.
type Call = (&'static str, libc::c_long, Option<(u8, u64)>);

/// `O_TMPFILE` of the kernel, which has `O_DIRECTORY` in it; some C libraries say it another way.
const TMPFILE: u64 = libc::O_TMPFILE.unsigned_abs() as u64;

const CALLS: [Call; 16] = [
    ("openat2", libc::SYS_openat2, None),
    ("renameat2", libc::SYS_renameat2, None),
    // What file systems refuse that cannot tell whether a name is taken.
    ("renameat2/noreplace", libc::SYS_renameat2, Some((4, libc::RENAME_NOREPLACE as u64))),
    ("openat/tmpfile", libc::SYS_openat, Some((2, TMPFILE))),
    ("linkat", libc::SYS_linkat, None),
    ("linkat/empty", libc::SYS_linkat, Some((4, libc::AT_EMPTY_PATH.unsigned_abs() as u64))),
    ("statx", libc::SYS_statx, None),
    ("faccessat2", libc::SYS_faccessat2, None),
    ("copy_file_range", libc::SYS_copy_file_range, None),
    ("sendfile", libc::SYS_sendfile, None),
    ("splice", libc::SYS_splice, None),
    ("close_range", libc::SYS_close_range, None),
    ("flock", libc::SYS_flock, None),
    ("fstatfs", libc::SYS_fstatfs, None),
    ("landlock_create_ruleset", libc::SYS_landlock_create_ruleset, None),
    ("landlock_restrict_self", libc::SYS_landlock_restrict_self, None),
];

const ERRORS: [(&str, i32); 5] =
    [("ENOSYS", ENOSYS), ("EPERM", EPERM), ("EINVAL", EINVAL), ("ENOENT", ENOENT), ("EOPNOTSUPP", EOPNOTSUPP)];

/// Applies `CALL=ERROR` of a list that commas separate, as `openat2=ENOSYS,linkat/empty=EPERM`. Some: why it cannot be done.
pub(crate) fn deny(list: &str) -> Result<(), String> {
    let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(|_| "no filters for this processor".to_owned())?;
    let mut by_error: BTreeMap<i32, BTreeMap<i64, Vec<SeccompRule>>> = BTreeMap::new();
    for item in list.split(',') {
        let (call, error) = item.split_once('=').ok_or_else(|| format!("{item}: no `=`"))?;
        let (_, number, flags) = CALLS.iter().find(|known| known.0 == call).ok_or_else(|| format!("{call}: not known here"))?;
        let (_, error) = ERRORS.iter().find(|known| known.0 == error).ok_or_else(|| format!("{error}: not known here"))?;
        let rules = by_error.entry(*error).or_default().entry(*number).or_default();
        if let Some((argument, bits)) = flags {
            let has_bits =
                SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(*bits), *bits).unwrap();
            rules.push(SeccompRule::new(vec![has_bits]).unwrap());
        }
    }
    for (error, rules) in by_error {
        let refuse = SeccompAction::Errno(error.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).map_err(|error| error.to_string())?;
        let program: BpfProgram = filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
        // Takes the right to more privileges away first, without which nobody but root may filter.
        seccompiler::apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}
