//! The rows of `containment`, where the kernel answers ENOSYS to `openat2`.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use support::{Way, privilege, rows};

fn main() {
    privilege::drop_override();
    privilege::hide_openat2();
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, rows::trials(&[("without-openat2", Way::Fast)])).exit();
}
