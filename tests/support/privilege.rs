//! What the calling thread, and those that it starts from then on, may do and have.

use std::collections::BTreeMap;

pub(crate) use cap_roots_oracle::privilege::drop_override;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

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

/// Makes `linkat` answer EPERM, so that a file without a name cannot be given one; `false` where its number is not known here.
pub(crate) fn refuse_links() -> bool {
    const EPERM: u32 = 1;
    let number = match std::env::consts::ARCH {
        "x86_64" => 265,
        "aarch64" | "riscv64" => 37,
        _ => return false,
    };
    let arch: TargetArch = std::env::consts::ARCH.try_into().unwrap();
    let rules = BTreeMap::from([(number, Vec::new())]);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(EPERM), arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
    true
}
