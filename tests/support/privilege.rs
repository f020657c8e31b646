//! Tests run as an ordinary user would, also where they are started by root, and on request as on a kernel without `openat2`.
//!
//! Both take effect on the calling thread and on those that it starts from then on.

use std::collections::BTreeMap;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

/// Gives up the right to pass by permission bits. Without it, rows about unreadable files would test nothing as root.
pub(crate) fn drop_override() {
    let over = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    let mut sets = capabilities(None).unwrap();
    sets.effective -= over;
    sets.permitted -= over;
    set_capabilities(None, sets).unwrap();
}

/// Makes `openat2` answer ENOSYS, as kernels before 5.6 do.
pub(crate) fn hide_openat2() {
    const OPENAT2: i64 = 437;
    const ENOSYS: u32 = 38;
    let arch: TargetArch = std::env::consts::ARCH.try_into().unwrap();
    let rules = BTreeMap::from([(OPENAT2, Vec::new())]);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(ENOSYS), arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
    let refused = rustix::fs::openat2(
        rustix::fs::CWD,
        ".",
        rustix::fs::OFlags::PATH,
        rustix::fs::Mode::empty(),
        rustix::fs::ResolveFlags::empty(),
    );
    assert_eq!(refused.unwrap_err(), rustix::io::Errno::NOSYS, "the filter does not work");
}
