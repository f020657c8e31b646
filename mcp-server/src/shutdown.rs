//! The end that is asked for, by SIGTERM or SIGINT: clean the first time, at once the second.
//!
//! May touch: the process's signals. What ends cleanly, and how long that may take, is for whoever serves.

use std::io;

/// What a process that was ended by a signal is known by, with the signal's number added.
const BY_SIGNAL: i32 = 128;

/// Returns once the process was asked to end. From then on a further signal ends it at once, for as long as the runtime is there: whoever asks
/// twice does not want to wait. Within a runtime.
pub(crate) async fn asked() {
    match Signals::listen() {
        Ok(mut signals) => {
            signals.next().await;
            tracing::info!("asked to end; what is at work is stopped");
            tokio::spawn(async move { std::process::exit(BY_SIGNAL + signals.next().await) });
        }
        Err(error) => {
            // The system then ends the process by itself, which leaves files whole too.
            tracing::warn!("signals cannot be listened for: {error}");
            std::future::pending().await
        }
    }
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The number of the next one.
    async fn next(&mut self) -> i32 {
        use tokio::signal::unix::SignalKind;
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> i32 {
        const INTERRUPT: i32 = 2;
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        INTERRUPT
    }
}
