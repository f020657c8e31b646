//! Rows about containment gathered from the best-tested path libraries, by the fast way and by the guarded walk.
//!
//! Each row catches an implementation that follows the last link, cleans `..` by text, keeps a slash behind a link, or opens what it
//! only checked; see the rows' ids.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use support::{Way, privilege, rows};

fn main() {
    privilege::drop_override();
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, rows::trials(&[("fast", Way::Fast), ("walk", Way::Walk)])).exit();
}
