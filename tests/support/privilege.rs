//! What the calling thread, and those that it starts from then on, may do and have.

pub(crate) use cap_roots_oracle::privilege::drop_override;

use super::filter;

/// Makes `openat2` answer ENOSYS, as kernels before 5.6 do.
pub(crate) fn hide_openat2() {
    filter::deny("openat2=ENOSYS").unwrap();
    let refused = rustix::fs::openat2(
        rustix::fs::CWD,
        ".",
        rustix::fs::OFlags::PATH,
        rustix::fs::Mode::empty(),
        rustix::fs::ResolveFlags::empty(),
    );
    assert_eq!(refused.unwrap_err(), rustix::io::Errno::NOSYS, "the filter does not work");
}

/// Makes `linkat` answer EPERM, so that a file without a name cannot be given one.
pub(crate) fn refuse_links() {
    filter::deny("linkat=EPERM").unwrap();
}
