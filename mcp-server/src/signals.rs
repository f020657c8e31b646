//! Signals that would end the process where an error is meant.
//!
//! A write beyond the limit on the size of files (`ulimit -f`) raises SIGXFSZ, which ends a process that does not expect it. Once somebody
//! listens, the write fails instead, and the call is refused with a code.

use std::io;

#[cfg(unix)]
const SIGXFSZ: i32 = if cfg!(any(target_arch = "mips", target_arch = "mips64")) { 31 } else { 25 };

/// Within a runtime. The listener stays for the life of the process.
#[cfg(unix)]
pub(crate) fn ignore_size_limit() -> io::Result<()> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(SIGXFSZ)).map(drop)
}

#[cfg(not(unix))]
pub(crate) fn ignore_size_limit() -> io::Result<()> {
    Ok(())
}
