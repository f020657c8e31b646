//! What a test needs of the machine. Where that is missing, it says so in one line, `skipped: ...`; and it fails where `CAP_ROOTS_NO_SKIPS` is set,
//! so that no claim goes unproved where everything is known to be there.

#![allow(clippy::print_stdout, reason = "what is not shown here is said")]

use std::fs::File;
use std::path::Path;
use std::process::Command;

/// # Panics
/// Where nothing may be left out.
pub fn skipped(why: &str) {
    println!("skipped: {why}");
    assert!(std::env::var_os("CAP_ROOTS_NO_SKIPS").is_none(), "skipped, where nothing may be: {why}");
}

/// The line for what nothing is missing for, and chance or a fast machine kept from being shown.
pub fn not_met(why: &str) {
    println!("skipped: {why}");
}

/// `there` itself, and the line if it is false.
#[must_use]
pub fn or_skipped(there: bool, why: &str) -> bool {
    if !there {
        skipped(why);
    }
    there
}

fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Whether system calls can be watched and made to fail from outside.
#[must_use]
pub fn strace() -> bool {
    or_skipped(works("strace", &["-qq", "-o", "/dev/null", "true"]), "strace is missing, or may not trace here")
}

/// Whether `unshare` gives a mount namespace of our own.
#[must_use]
pub fn mounts() -> bool {
    or_skipped(works("unshare", &["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]), "no mount namespace of our own here")
}

/// Whether the kernel confines an open by itself, and lets this process ask for it.
#[cfg(target_os = "linux")]
#[must_use]
pub fn openat2() -> bool {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
    let opened = rustix::fs::openat2(CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH);
    or_skipped(opened.is_ok(), "openat2 is missing here, and an open takes calls and memory for each name")
}

/// Makes `endless` in a directory, a file that no call reaches the second line of.
///
/// # Panics
/// If no file can be made there.
#[must_use]
pub fn endless(dir: &Path) -> bool {
    let file = File::create(dir.join("endless")).unwrap_or_else(|error| panic!("{error}"));
    or_skipped(file.set_len(8 << 40).is_ok(), "this disk takes no file of 8 TiB")
}

/// Whether the kernel has Landlock of this level or a newer one.
#[must_use]
pub fn landlock(level: u32, kernel: Option<u32>) -> bool {
    or_skipped(kernel.is_some_and(|kernel| kernel >= level), "this kernel has no Landlock, or an older one")
}
