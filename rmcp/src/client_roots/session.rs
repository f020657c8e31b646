//! The era of sessions: a list is asked for by a request, and holds until the client says that it changed.
//!
//! May touch: rmcp's peers and transports. A notice closes first and lets ask later: between the two nothing is held, so nothing stale can
//! be used.
#![allow(deprecated, reason = "roots are deprecated, and served as long as they are part of the protocol")]

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use cap_roots::Roots;
use rmcp::model::{
    ClientNotification, ClientRequest, ClientResult, Extensions, GetExtensions, InitializeRequestParams, JsonRpcMessage,
    ListRootsRequest, ServerRequest,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RequestContext, RoleServer, RxJsonRpcMessage, ServiceError, TxJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{Mutex as Turn, OnceCell, watch};
use tokio::time::{Instant, timeout};

use super::select::{List, Selected};
use super::{LISTS, UnavailableReason as Reason};

/// How long a client that did not answer is taken for silent: its calls fail at once instead of each waiting for the deadline.
const SILENCE: Duration = Duration::from_secs(10);

/// For telling the client that its answer is no longer waited for; if it does not even read, that must not hold the call.
const GRACE: Duration = Duration::from_millis(500);

const NOTICE: &str = "notifications/roots/list_changed";

/// All clients that were asked.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Vec<Entry>>);

struct Entry {
    /// A client is what it said when it initialized: doing that again makes it another one.
    client: Weak<InitializeRequestParams>,
    connection: Option<Arc<Connection>>,
    session: Arc<Session>,
}

impl Sessions {
    /// The session that a call belongs to; none without a handshake.
    pub(super) fn of(self: &Arc<Self>, context: &RequestContext<RoleServer>) -> Option<Arc<Session>> {
        let said = context.peer.peer_info()?;
        let client = Arc::downgrade(&said);
        let connection = self.connection_in(&context.extensions);
        let mut entries = lock(&self.0);
        if let Some(entry) = entries.iter().find(|entry| entry.client.ptr_eq(&client)) {
            return Some(Arc::clone(&entry.session));
        }
        let session = Arc::new(Session::new(&said));
        entries.push(Entry { client, connection, session: Arc::clone(&session) });
        Some(session)
    }

    /// Closes what was held for clients that are gone, or have initialized anew.
    pub(super) fn forget_the_gone(&self) {
        lock(&self.0).retain(|entry| {
            let alive = entry.client.strong_count() > 0;
            if !alive {
                entry.session.close();
            }
            alive
        });
    }

    pub(super) fn close_all(&self) {
        self.close(|_| true);
    }

    /// A notice, as a handler got it. One that was seen on the wire has had its effect; by now newer lists may be in force.
    pub(super) fn changed(self: &Arc<Self>, context: &NotificationContext<RoleServer>) {
        if self.connection_in(&context.extensions).is_some() {
            return;
        }
        let Some(client) = context.peer.peer_info().as_ref().map(Arc::downgrade) else { return };
        self.close(|entry| entry.client.ptr_eq(&client));
    }

    fn close(&self, which: impl Fn(&Entry) -> bool) {
        lock(&self.0).iter().filter(|entry| which(entry)).for_each(|entry| entry.session.close());
    }

    fn connection_in(self: &Arc<Self>, extensions: &Extensions) -> Option<Arc<Connection>> {
        let seen = extensions.get::<Seen>()?;
        seen.0.iter().find(|connection| connection.sessions.ptr_eq(&Arc::downgrade(self))).cloned()
    }
}

/// One client's list.
#[derive(Default)]
pub(super) struct Session {
    /// Whether the client said that it announces changes. One that does not is asked for each call.
    announces: bool,
    state: Mutex<State>,
    /// Held while the client is asked; whoever waits for it shares what comes of that.
    turn: Turn<()>,
}

#[derive(Default)]
struct State {
    /// How often the client took its list back.
    notices: u64,
    /// How often it was asked.
    questions: u64,
    held: Option<Arc<Held>>,
    /// The question that the list is the answer to, or the last one that confirmed it.
    answers: u64,
    /// How often no list came, and why the last time.
    failures: u64,
    failure: Option<Reason>,
    silent_until: Option<Instant>,
}

/// What there had been when a call began: questions sent, and failures.
#[derive(Clone, Copy)]
struct Began {
    questions: u64,
    failures: u64,
}

impl Session {
    fn new(client: &InitializeRequestParams) -> Self {
        let announces = client.capabilities.roots.as_ref().is_some_and(|roots| roots.list_changed == Some(true));
        Self { announces, ..Self::default() }
    }

    /// Takes back what is held. What was asked for before is not taken any more.
    fn close(&self) {
        let mut state = lock(&self.state);
        state.notices += 1;
        state.failure = None;
        state.silent_until = None;
        if let Some(held) = state.held.take() {
            held.close();
        }
    }

    /// What needs no question of a call that began then. A list, from a client that announces no changes only as the answer to a question that
    /// was sent since; a failure that the call has waited for, or of a client that is silent.
    fn known(&self, state: &State, began: Began) -> Option<Result<Arc<Held>, Reason>> {
        if let Some(held) = state.held.as_ref().filter(|_| self.announces || state.answers > began.questions) {
            return Some(Ok(Arc::clone(held)));
        }
        let silent = state.silent_until.is_some_and(|end| Instant::now() < end);
        state.failure.filter(|_| silent || state.failures > began.failures).map(Err)
    }

    /// The list that is in force, from the client if need be, within the time that is `left`.
    pub(super) async fn list(&self, peer: &Peer<RoleServer>, left: &mut Duration) -> Result<Arc<Held>, Reason> {
        let began = {
            let state = lock(&self.state);
            let began = Began { questions: state.questions, failures: state.failures };
            if let Some(known) = self.known(&state, began) {
                return known;
            }
            began
        };
        let _turn = self.turn.lock().await;
        for _ in 0..LISTS {
            let (notices, question) = {
                let mut state = lock(&self.state);
                if let Some(known) = self.known(&state, began) {
                    return known;
                }
                state.questions += 1;
                (state.notices, state.questions)
            };
            let start = Instant::now();
            let answer = ask(peer, *left).await.and_then(|answer| List::read(&answer));
            *left = left.saturating_sub(start.elapsed());
            let mut state = lock(&self.state);
            let overtaken = state.notices != notices;
            match answer {
                // It may be the old list.
                _ if overtaken && !left.is_zero() => {}
                Ok(_) if overtaken => break,
                Ok(list) => return Ok(state.hold(list, question)),
                Err(reason) => return Err(state.fail(reason)),
            }
        }
        Err(lock(&self.state).fail(Reason::Changing))
    }
}

impl State {
    /// The answer to a question. The same list again changes nothing for those who use it.
    fn hold(&mut self, list: List, question: u64) -> Arc<Held> {
        self.answers = question;
        let before = self.held.take();
        let held = match before {
            Some(held) if *held.list == list => held,
            before => {
                if let Some(before) = before {
                    before.close();
                }
                Arc::new(Held::new(list))
            }
        };
        Arc::clone(self.held.insert(held))
    }

    fn fail(&mut self, reason: Reason) -> Reason {
        self.failures += 1;
        self.failure = Some(reason);
        self.silent_until = (reason == Reason::NoAnswer).then(|| Instant::now() + SILENCE);
        reason
    }
}

/// One question. Below rmcp's typed call, which loses the whole list with one bad entry.
async fn ask(peer: &Peer<RoleServer>, left: Duration) -> Result<Value, Reason> {
    let question = ServerRequest::ListRootsRequest(ListRootsRequest::default());
    let exchange =
        async { peer.send_request_with_option(question, PeerRequestOptions::with_timeout(left)).await?.await_response().await };
    match timeout(left.saturating_add(GRACE), exchange).await {
        Err(_) | Ok(Err(ServiceError::Timeout { .. })) => Err(Reason::NoAnswer),
        Ok(Err(_)) => Err(Reason::Failed),
        Ok(Ok(ClientResult::ListRootsResult(list))) => serde_json::to_value(list).map_err(|_| Reason::Fault),
        Ok(Ok(ClientResult::CustomResult(answer))) => Ok(answer.0),
        Ok(Ok(_)) => Err(Reason::Malformed),
    }
}

/// A list that a client sent, until it takes it back.
pub(super) struct Held {
    pub(super) list: Arc<List>,
    /// The directories of a trusted client.
    pub(super) opened: OnceCell<Selected>,
    /// What the sets look at that were made of it.
    closed: Arc<AtomicBool>,
    /// What those look at that still make some.
    withdrawn: watch::Sender<bool>,
}

impl Held {
    fn new(list: List) -> Self {
        Self { list: Arc::new(list), opened: OnceCell::new(), closed: Arc::default(), withdrawn: watch::Sender::new(false) }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Some(opened) = self.opened.get() {
            opened.roots.revoke();
        }
        self.withdrawn.send_replace(true);
    }

    pub(super) fn close_with(&self, roots: &Roots) -> Roots {
        roots.until_cancelled(&self.closed)
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub(super) async fn withdrawn(&self) {
        // The sender is ours, so it cannot be gone.
        let _ = self.withdrawn.subscribe().wait_for(|withdrawn| *withdrawn).await;
    }
}

/// A transport that is watched, on behalf of whom.
struct Connection {
    sessions: Weak<Sessions>,
}

/// Put into each message that came by a watched transport.
#[derive(Clone)]
struct Seen(Vec<Arc<Connection>>);

pub(super) struct Watched<T> {
    transport: T,
    connection: Arc<Connection>,
}

impl<T> Watched<T> {
    pub(super) fn new(transport: T, sessions: &Arc<Sessions>) -> Self {
        Self { transport, connection: Arc::new(Connection { sessions: Arc::downgrade(sessions) }) }
    }

    fn see(&self, message: &mut RxJsonRpcMessage<RoleServer>) {
        // With parameters that are none of its own, or as a request, it means the same.
        let notice = match &*message {
            JsonRpcMessage::Notification(message) => match &message.notification {
                ClientNotification::RootsListChangedNotification(_) => true,
                ClientNotification::CustomNotification(custom) => custom.method == NOTICE,
                _ => false,
            },
            JsonRpcMessage::Request(message) => {
                matches!(&message.request, ClientRequest::CustomRequest(custom) if custom.method == NOTICE)
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => false,
        };
        if notice && let Some(sessions) = self.connection.sessions.upgrade() {
            sessions.close(|entry| entry.connection.as_ref().is_some_and(|known| Arc::ptr_eq(known, &self.connection)));
        }
        let extensions = match message {
            JsonRpcMessage::Request(message) => message.request.extensions_mut(),
            JsonRpcMessage::Notification(message) => message.notification.extensions_mut(),
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => return,
        };
        let mut seen = extensions.get::<Seen>().cloned().unwrap_or(Seen(Vec::new()));
        seen.0.push(Arc::clone(&self.connection));
        extensions.insert(seen);
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Watched<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = self.transport.receive().await?;
        self.see(&mut message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
