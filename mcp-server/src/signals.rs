//! Signals that would end the process where something else is meant.
//!
//! A write beyond the limit on the size of files (`ulimit -f`) raises SIGXFSZ, which ends a process that does not expect it. Once somebody
//! listens, the write fails instead, and the call is refused with a code.
//!
//! May touch: `audit`.

use std::io;

use crate::audit::Audit;

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

/// The same where there is no runtime yet.
pub(crate) fn ignore_size_limit_by_itself() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _entered = runtime.enter();
    ignore_size_limit()
}

/// Within a runtime: SIGHUP opens the audit log anew. Without one it ends the process, as always.
#[cfg(unix)]
pub(crate) fn reopen_at_hangup(audit: &Audit) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    if !audit.is_on() {
        return Ok(());
    }
    let (mut hangup, audit) = (signal(SignalKind::hangup())?, audit.clone());
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            audit.reopen();
        }
    });
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn reopen_at_hangup(_: &Audit) -> io::Result<()> {
    Ok(())
}
