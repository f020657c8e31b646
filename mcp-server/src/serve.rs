//! The server at work: roots and settings to a transport, until the client leaves.
//!
//! May touch: `client_roots`, `context`, `fence`, `http`, `server`, `settings`, `shutdown`, `signals`, `start`, `stdio`, `turns`.

use std::io::{self, IsTerminal};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cap_roots::config::ClientRoots as ClientRootsMode;
use cap_roots_rmcp::ClientRoots;
use rmcp::ServiceExt;
use rmcp::service::{RoleServer, ServerInitializeError};
use rmcp::transport::Transport;

use crate::context::Context;
use crate::fence::Raised;
use crate::http::Bound;
use crate::server::Server;
use crate::settings::Settings;
use crate::stdio::{self, Limits, Stdio, Streams};
use crate::turns::Turns;
use crate::{client_roots, fail, http, shutdown, signals, start};

/// How long threads that are still at work may take to end once the protocol is over, and how long a client may take to read its last answers.
const GRACE: Duration = Duration::from_secs(2);

pub(crate) fn serve(context: Context, settings: &Arc<Settings>, bound: Option<Bound>, fence: &Raised) -> io::Result<ExitCode> {
    let client = match client_roots::client_roots(settings, context.roots.clone(), &context.audit) {
        Ok(client) => client,
        Err(error) => return Ok(fail(&error.to_string())),
    };
    if context.roots.list().next().is_none() && !settings.trusts_clients() {
        tracing::warn!("no directory was given, so every call answers no-roots; start the server as cap-roots-mcp DIR");
    }
    if settings.http.is_some() && settings.client_roots != ClientRootsMode::Off {
        tracing::warn!("the roots of clients count for nothing over HTTP: they name directories of the client's machine");
    }
    let by_hand = if settings.http.is_some() { io::stderr().is_terminal() } else { io::stdin().is_terminal() };
    if by_hand {
        start::hint(&context, settings, fence)?;
    }
    let deadline = Duration::from_secs(settings.seconds);
    let turns = Turns::new(client_roots::count(settings, &context.roots));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(turns.most() + ClientRoots::THREADS)
        .enable_all()
        .build()?;
    {
        let _entered = runtime.enter();
        signals::ignore_size_limit()?;
        signals::reopen_at_hangup(&context.audit)?;
    }
    let ended = runtime.block_on(async {
        let server = Server::new(context, client.clone(), deadline, turns.clone());
        if let (Some(terms), Some(bound)) = (&settings.http, bound) {
            let served = http::serve(terms, bound, server, shutdown::asked()).await;
            let _ = tokio::time::timeout(GRACE, turns.idle()).await;
            return Ok(served.map_or_else(|line| fail(&line), |()| ExitCode::SUCCESS));
        }
        over(stdio::open(Limits::default())?, server, &client, &turns, shutdown::asked()).await.map(|()| ExitCode::SUCCESS)
    });
    // A thread that the system does not let go must not hold the end.
    runtime.shutdown_background();
    ended
}

/// Serves one client over two streams, until it has left or the end is `asked` for.
pub(crate) async fn over(
    (transport, streams): (Stdio, Streams),
    server: Server,
    client: &ClientRoots,
    turns: &Turns,
    asked: impl Future<Output = ()>,
) -> io::Result<()> {
    let watched = client.watch(transport);
    let stopped = async {
        tokio::select! {
            () = asked => (),
            () = streams.stopped() => (),
        }
    };
    let ended = until(stopped, server, watched).await;
    // What is stopped takes away what it has begun; only then the process may end.
    let _ = tokio::time::timeout(GRACE, turns.idle()).await;
    streams.finish(GRACE);
    ended
}

/// Serves until the client has left, or until it is `stopped`: then calls that are at work are told to end, and answered.
async fn until(
    stopped: impl Future<Output = ()>,
    server: Server,
    transport: impl Transport<RoleServer, Error = io::Error> + 'static,
) -> io::Result<()> {
    let mut stopped = pin!(stopped);
    let begun = tokio::select! {
        begun = server.serve(transport) => begun,
        () = &mut stopped => return Ok(()),
    };
    let running = match begun {
        Ok(running) => running,
        // A client that leaves before it has said anything is no fault.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
            return Err(io::Error::other("the client began with something else than a request of the protocol"));
        }
        Err(error) => return Err(io::Error::other(error)),
    };
    let stop = running.cancellation_token();
    let mut done = pin!(running.waiting());
    let done = tokio::select! {
        done = &mut done => done,
        () = stopped => {
            stop.cancel();
            done.await
        }
    };
    done.map(drop).map_err(io::Error::other)
}
