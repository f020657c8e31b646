//! The server at work: roots and settings to a transport, until the client leaves.

use std::io::{self, IsTerminal};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cap_roots_rmcp::ClientRoots;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio;

use crate::context::Context;
use crate::server::{self, Server};
use crate::settings::Settings;
use crate::{client_roots, fail, shutdown, signals, start};

/// Threads for the protocol's own input and output, beside those of the calls and of their clients' roots: what hangs must not stop the others'
/// answers.
const IO_THREADS: usize = 8;
/// Longest message that is taken, as JSON. A longer one is dropped by the protocol library, without an answer.
const MESSAGE_BYTES: usize = 64 << 20;
/// How long threads that are still at work may take to end once the client has gone and the protocol library has waited for answers.
const GRACE: Duration = Duration::from_secs(2);

pub(crate) fn serve(context: Context, settings: &Arc<Settings>) -> io::Result<ExitCode> {
    let client = match client_roots::client_roots(settings, context.roots.clone()) {
        Ok(client) => client,
        Err(error) => return Ok(fail(&error.to_string())),
    };
    if context.roots.list().next().is_none() && !settings.trusts_clients() {
        tracing::warn!("no directory was given, so every call answers no-roots; start the server as cap-roots-mcp DIR");
    }
    if io::stdin().is_terminal() {
        start::hint(&context, settings)?;
    }
    let deadline = Duration::from_secs(settings.seconds);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(server::CALLS + ClientRoots::THREADS + IO_THREADS)
        .enable_all()
        .build()?;
    {
        let _entered = runtime.enter();
        signals::ignore_size_limit()?;
    }
    let ended = runtime.block_on(async {
        let (input, output) = stdio();
        let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES);
        let transport = client.watch(transport);
        let mut asked = pin!(shutdown::asked());
        let begun = tokio::select! {
            begun = Server::new(context, client, deadline).serve(transport) => begun,
            () = &mut asked => return Ok(()),
        };
        match begun {
            Ok(running) => {
                let running_on = running.cancellation_token();
                let mut done = pin!(running.waiting());
                let done = tokio::select! {
                    done = &mut done => done,
                    () = asked => {
                        // Calls that are at work are stopped, and answered.
                        running_on.cancel();
                        done.await
                    }
                };
                done.map(drop).map_err(io::Error::other)
            }
            // A client that leaves before it has said anything is no fault.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
                Err(io::Error::other("the client began with something else than a request of the protocol"))
            }
            Err(error) => Err(io::Error::other(error)),
        }
    });
    runtime.shutdown_timeout(GRACE);
    ended.map(|()| ExitCode::SUCCESS)
}
