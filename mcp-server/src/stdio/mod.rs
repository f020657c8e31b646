//! The protocol on standard input and output: one message a line, an answer to each line that is none.
//!
//! May touch: the two streams, each from a thread of its own, so that neither a client that does not write nor one that does not read holds
//! anything else, or the end. What is read and not yet answered, and what is answered and not yet read, is bounded: then reading
//! stops.

mod budget;
pub(crate) mod frame;
mod line;
mod unanswered;
mod unique;
mod writer;

use std::borrow::Cow;
use std::future::Future;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rmcp::model::{
    CancelledNotification, ClientNotification, ClientRequest, GetExtensions, GetMeta, JsonRpcMessage, ProtocolVersion,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::{Notify, mpsc as channel, oneshot};
use tokio::time::Instant;

use budget::Budget;
use frame::{Fault, Frame};
use line::{Line, Lines};
pub(crate) use unanswered::Slot;
use unanswered::Unanswered;
use writer::Outgoing;

/// How much is taken from a client, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Longest message, as JSON.
    message: usize,
    /// Most that requests without an answer may hold.
    unanswered: usize,
    /// What a request is counted for beside its own length: it and its answer, where that is no file's content. A list of the tools is
    /// some 40 KiB.
    overhead: usize,
    /// How long calls may still take once the client has closed its end.
    linger: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { message: 64 << 20, unanswered: 128 << 20, overhead: 64 << 10, linger: Duration::from_secs(5) }
    }
}

/// How much is read at once.
const BLOCK: usize = 1 << 16;
/// How many messages are read ahead of the protocol library, so that neither has to wait for the other at each of them.
const AHEAD: usize = 64;

/// The transport, for rmcp.
pub(crate) struct Stdio {
    incoming: channel::Receiver<Box<RxJsonRpcMessage<RoleServer>>>,
    outgoing: mpsc::Sender<Outgoing>,
    unanswered: Arc<Unanswered>,
    linger: Duration,
    /// When what is at work has to be done: set once the client has closed its end.
    end: Option<Instant>,
    stop: Arc<Notify>,
}

/// The two streams, for whoever sees to the end.
pub(crate) struct Streams {
    outgoing: mpsc::Sender<Outgoing>,
    /// Nothing comes by it; it is closed when the last line is written.
    written: mpsc::Receiver<()>,
    stop: Arc<Notify>,
}

/// Standard input and output as a transport. Within a runtime.
///
/// # Errors
/// Those of the system, where there are no more threads.
pub(crate) fn open(limits: Limits) -> io::Result<(Stdio, Streams)> {
    of(BufReader::with_capacity(BLOCK, io::stdin()), io::stdout(), limits)
}

/// Two streams as a transport. Within a runtime.
///
/// # Errors
/// Those of the system, where there are no more threads.
pub(crate) fn of(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    limits: Limits,
) -> io::Result<(Stdio, Streams)> {
    let (to_read, incoming) = channel::channel(AHEAD);
    let (outgoing, to_write) = mpsc::channel();
    let (writing, written) = mpsc::channel();
    let unanswered = Arc::new(Unanswered::new());
    let stop = Arc::new(Notify::new());
    let mut reader =
        Reader { messages: to_read, faults: outgoing.clone(), unanswered: Arc::clone(&unanswered), limits, begun: false };
    thread::Builder::new().name("stdin".to_owned()).spawn(move || reader.run(input))?;
    let failed = Arc::clone(&stop);
    let write = move || {
        let _writing = writing;
        if let Err(error) = writer::run(&to_write, output) {
            tracing::info!("the client does not read any more: {error}");
            failed.notify_one();
        }
    };
    thread::Builder::new().name("stdout".to_owned()).spawn(write)?;
    let streams = Streams { outgoing: outgoing.clone(), written, stop: Arc::clone(&stop) };
    Ok((Stdio { incoming, outgoing, unanswered, linger: limits.linger, end: None, stop }, streams))
}

impl Streams {
    /// Waits until calls that are at work have to be stopped: the client has been gone for long enough, or does not read any more.
    pub(crate) async fn stopped(&self) {
        self.stop.notified().await;
    }

    /// Waits until all is written that was given to be, at most for `time`. Blocks.
    pub(crate) fn finish(self, time: Duration) {
        let _ = self.outgoing.send(Outgoing::End);
        let _ = self.written.recv_timeout(time);
    }
}

/// The thread that reads.
struct Reader {
    messages: channel::Sender<Box<RxJsonRpcMessage<RoleServer>>>,
    faults: mpsc::Sender<Outgoing>,
    unanswered: Arc<Unanswered>,
    limits: Limits,
    /// Whether the client has begun.
    begun: bool,
}

impl Reader {
    fn run(&mut self, input: impl BufRead) {
        let budget = Budget::new(self.limits.unanswered);
        let mut lines = Lines::new(input, self.limits.message);
        loop {
            let (frame, length) = match lines.next() {
                Ok(None) => return,
                Ok(Some(Line::Whole(line))) => (frame::read(line), line.len()),
                Ok(Some(Line::TooLong)) => (Frame::Fault(Fault::too_long(self.limits.message)), 0),
                Err(error) => {
                    tracing::error!("standard input cannot be read: {error}");
                    return;
                }
            };
            let passed_on = match frame {
                Frame::Nothing => true,
                // The protocol library ends at what it does not expect; nothing is at work yet that this could be about.
                Frame::Message(message) if !self.begin(&message) && !matches!(*message, JsonRpcMessage::Request(_)) => true,
                Frame::Fault(fault) => self.refuse(fault, &budget),
                Frame::Message(message) => self.pass_on(message, length, &budget),
            };
            if !passed_on {
                return;
            }
        }
    }

    /// Whether the client has begun, with this message or before.
    fn begin(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        self.begun = self.begun || matches!(message, JsonRpcMessage::Request(request) if begins(&request.request));
        self.begun
    }

    /// Whether anybody still listens.
    fn refuse(&self, fault: Fault, budget: &Budget) -> bool {
        let share = budget.take(self.limits.overhead);
        self.faults.send(Outgoing::Fault(fault, share)).is_ok()
    }

    fn pass_on(&self, mut message: Box<RxJsonRpcMessage<RoleServer>>, length: usize, budget: &Budget) -> bool {
        match &mut *message {
            JsonRpcMessage::Request(request) => {
                let slot = Slot::new(budget.take(length.saturating_add(self.limits.overhead)));
                if !self.unanswered.begin(&request.id, &slot) {
                    drop(slot);
                    return self.refuse(Fault::in_use(request.id.clone().into_json_value()), budget);
                }
                request.request.extensions_mut().insert(slot);
            }
            // It gets no answer from here on; what its call holds, and its id, it keeps until it ends.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(CancelledNotification { params, .. }) =
                    &notification.notification
                    && let Some(id) = &params.request_id
                {
                    self.unanswered.withdraw(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        self.messages.blocking_send(message).is_ok()
    }
}

/// Whether the protocol library goes on to serve with this request, as it decides itself: others it answers alone.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let is_known = meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
            is_known && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn name() -> Cow<'static, str> {
        "stdio".into()
    }

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (answered, is_answer) = match &message {
            JsonRpcMessage::Response(response) => (Some(&response.id), true),
            JsonRpcMessage::Error(error) => (error.id.as_ref(), true),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => (None, false),
        };
        let slot = answered.and_then(|id| self.unanswered.end(id));
        // Whoever gave an answer has nothing to do when it is written; waking him each time would take longer than writing it.
        let (written, done) = if is_answer { (None, None) } else { Some(oneshot::channel()).unzip() };
        // In the order in which it was called; only the waiting is left for later.
        let sent = self.outgoing.send(Outgoing::Message { message: Box::new(message), slot, written });
        let gone = || io::Error::from(ErrorKind::NotConnected);
        async move {
            sent.map_err(|_| gone())?;
            match done {
                Some(done) => done.await.unwrap_or_else(|_| Err(gone())),
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        // Nothing is lost where this is dropped and begun again: what was taken is returned at once, and the end is remembered.
        let end = match self.end {
            Some(end) => end,
            None => match self.incoming.recv().await {
                Some(message) => return Some(*message),
                None => *self.end.insert(Instant::now() + self.linger),
            },
        };
        // The answers that are owed come first. Whoever stops the calls that take too long ends the wait for them, too.
        let none = pin!(self.unanswered.none());
        if tokio::time::timeout_at(end, none).await.is_err() {
            self.stop.notify_one();
            std::future::pending::<()>().await;
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
