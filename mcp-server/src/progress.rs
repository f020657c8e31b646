//! Progress of a long call, for a client that gave a token: how many entries were looked at, now and then, and never after the answer.
//!
//! May touch: `work`, the peer of the request.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};

use crate::work::Work;

/// Often enough to be seen to move, and few messages however fast the disk is.
const EVERY: Duration = Duration::from_millis(250);

/// The outcome of `working`, whose progress is told meanwhile.
pub(crate) async fn told<T>(request: &RequestContext<RoleServer>, work: &Work, working: impl Future<Output = T>) -> T {
    let Some(token) = request.meta.get_progress_token() else { return working.await };
    let mut working = pin!(working);
    let mut told = 0;
    loop {
        tokio::select! {
            biased;
            outcome = &mut working => return outcome,
            () = tokio::time::sleep(EVERY) => {}
        }
        let seen = work.seen();
        if seen <= told {
            continue;
        }
        told = seen;
        #[expect(clippy::cast_precision_loss, reason = "the protocol counts in floating point")]
        let progress =
            ProgressNotificationParam::new(token.clone(), seen as f64).with_message(format!("{seen} entries looked at"));
        let mut sent = pin!(request.peer.notify_progress(progress));
        // A client that does not read must not keep its call from being withdrawn; but what is on its way goes out before the answer.
        tokio::select! {
            outcome = &mut working => {
                let _ = sent.await;
                return outcome;
            }
            _ = &mut sent => {}
        }
    }
}
