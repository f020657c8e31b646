//! The server over streamable HTTP (`--http`): who may come in, how much of everything, and how it ends.
//!
//! May touch: `server`, `settings`. Answers of the protocol are the protocol library's; `gate` decides what gets there.

mod address;
mod at_work;
mod bounds;
mod gate;
mod names;
mod patient;
mod reply;
mod sessions;
mod start;
#[cfg(test)]
mod tests;
mod token;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

pub(crate) use address::Address;
use bounds::{Bounds, HEAD_BYTES, HEADERS};
use gate::Gate;
pub(crate) use names::Name;
use names::Names;
use patient::Patient;
use reply::Refused;
pub(crate) use start::{Access, Terms};
use token::Token;

use crate::server::Server;

/// How long connections may take to close after that.
const CLOSE: Duration = Duration::from_secs(1);

/// How far the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Serves,
    Finishes,
}

/// A socket that listens, and the token that is asked for.
pub(crate) struct Bound {
    listener: std::net::TcpListener,
    token: Option<Token>,
}

impl Bound {
    /// Outside of a runtime; or the line that says why it cannot be.
    pub(crate) fn of(terms: &Terms) -> Result<Self, String> {
        let at = terms.address.socket();
        let cannot = |error: io::Error| {
            let mend = match error.kind() {
                io::ErrorKind::AddrInUse => "another program does; end it, or give another port, or 0 for a free one",
                io::ErrorKind::AddrNotAvailable => "it is no address of this machine; give one that is, such as 127.0.0.1",
                io::ErrorKind::PermissionDenied => "ports below 1024 need a permission; give a higher one, or 0 for a free one",
                _ => return format!("the server cannot listen on {at}: {error}; give another address or port"),
            };
            format!("the server cannot listen on {at}: {mend}")
        };
        let token = terms.token()?;
        // A runtime without a thread of its own.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(cannot)?;
        let listener = runtime.block_on(TcpListener::bind(at)).and_then(TcpListener::into_std).map_err(cannot)?;
        Ok(Self { listener, token })
    }
}

/// Serves until it is `stopped`; or the line that says why it cannot.
pub(crate) async fn serve(
    terms: &Terms,
    Bound { listener, token }: Bound,
    server: Server,
    stopped: impl Future<Output = ()>,
) -> Result<(), String> {
    let cannot = |error: io::Error| format!("the socket cannot be used: {error}; start the server anew");
    let listener = TcpListener::from_std(listener).map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    let gate = Arc::new(Gate::new(Names::new(bound.ip(), terms.names.clone()), token.clone(), server, Bounds::USUAL));
    let (stage, stages) = watch::channel(Stage::Serves);
    // Whoever does not listen to standard error has the token from a file.
    let _ = terms.announce(bound, token.as_ref());
    tokio::select! {
        () = accept(listener, &gate, &stages, Bounds::USUAL) => {}
        () = stopped => {}
    }
    gate.close();
    let _ = stage.send(Stage::Finishes);
    drop(stages);
    finish(&gate, &stage, Bounds::USUAL).await;
    Ok(())
}

async fn finish(gate: &Gate, stage: &watch::Sender<Stage>, bounds: Bounds) {
    let _ = tokio::time::timeout(bounds.finish, gate.finished()).await;
    gate.end();
    let _ = tokio::time::timeout(CLOSE, stage.closed()).await;
}

/// Takes connections for ever.
async fn accept(listener: TcpListener, gate: &Arc<Gate>, stages: &watch::Receiver<Stage>, bounds: Bounds) {
    let (places, away) = (Arc::new(Semaphore::new(bounds.connections)), Arc::new(Semaphore::new(bounds.turned_away)));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Of one connection, or of all (no descriptors left): the next one may be better, after a moment.
                tracing::debug!(%error, "a connection could not be taken");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let (gate, stages) = (Arc::clone(gate), stages.clone());
            tokio::spawn(async move {
                connection(stream, gate, stages, bounds).await;
                drop(place);
            });
        } else if let Ok(turn) = Arc::clone(&away).try_acquire_owned() {
            tokio::spawn(async move {
                let _ = tokio::time::timeout(CLOSE, turn_away(stream)).await;
                drop(turn);
            });
        }
    }
}

/// One connection, until its client or the server ends it.
async fn connection(stream: TcpStream, gate: Arc<Gate>, mut stages: watch::Receiver<Stage>, bounds: Bounds) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let gate = Arc::clone(&gate);
        async move { Ok::<_, Infallible>(gate.answer(request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head_time)
        .max_header_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(Patient::new(stream, bounds.patience)), service);
    let mut served = std::pin::pin!(served);
    let stops = async { stages.wait_for(|stage| *stage == Stage::Finishes).await.map(drop) };
    let outcome = tokio::select! {
        outcome = &mut served => outcome,
        _ = stops => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Says that there is no room. What the client has sent is taken, since an answer to unread bytes may be lost.
async fn turn_away(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(&Refused::Busy.bytes()).await?;
    stream.shutdown().await?;
    let mut left = [0; 1024];
    while stream.read(&mut left).await? > 0 {}
    Ok(())
}
