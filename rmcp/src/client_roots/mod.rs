//! Client roots in both protocol eras: hints that narrow what the operator granted, or, where the operator says so, grants.
//!
//! May touch: `refusal` for texts, the library through its public face. The protocol has deprecated roots: this folder, its `mod` line and
//! its tests are all that goes when it drops them. Nothing that a client sent is ever repeated in a text or a log.
//!
//! Up to 2025-11-25 a server asks with a request of its own: `session` keeps one list a connection until the client takes it back. From
//! 2026-07-28 on it answers a call with a question, and the call comes again with the list: nothing is kept, and no `requestState` is
//! needed, since the call itself says all.

mod answer;
mod consent;
mod select;
mod session;

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cap_roots::{Builder, Error, Grant, Result, RootInfo, Roots};
use http::request::Parts;
use rmcp::model::InputResponses;
use rmcp::service::{NotificationContext, RequestContext, RoleServer};
use rmcp::transport::{IntoTransport, Transport};

use answer::UnavailableReason as Reason;
pub use answer::{ForCall, Response, Unavailable, UnavailableReason};
use consent::{Consent, Shown};
use select::{List, Selected, Source, Trust};
use session::{Sessions, Watched};
use tokio::sync::{OnceCell, Semaphore};

/// The key of the question among the `inputRequests` of a call.
pub const CLIENT_ROOTS_KEY: &str = "client_roots";

/// How long a client is waited for, in the era in which it is asked by a request.
const DEADLINE: Duration = Duration::from_secs(5);

/// How long the disk is waited for, unless it is said otherwise.
const DISK: Duration = Duration::from_secs(30);

/// How many lists are taken for one call, if the client takes each of them back.
const LISTS: usize = 8;

/// What a server does with the roots that its clients send. One for a server; cheap to clone.
///
/// ```
/// use cap_roots::{Access, Roots};
/// use cap_roots_rmcp::{ClientRoots, tool_result};
/// use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock};
/// use rmcp::service::{NotificationContext, RequestContext, RoleServer};
/// use rmcp::{ErrorData, ServerHandler};
///
/// struct Server {
///     client: ClientRoots,
/// }
///
/// impl ServerHandler for Server {
///     async fn call_tool(
///         &self,
///         call: CallToolRequestParams,
///         context: RequestContext<RoleServer>,
///     ) -> Result<CallToolResponse, ErrorData> {
///         let roots = match self.client.roots(&context, call.input_responses.as_ref()).await.or_answer() {
///             Ok(roots) => roots,
///             Err(answer) => return answer,          // the client is asked first, or has nothing to offer
///         };
///         let text = tokio::task::spawn_blocking(move || roots.read_to_string("README.md")).await;
///         let text = text.map_err(|_| ErrorData::internal_error("the call ended abnormally", None))?;
///         Ok(tool_result(text.map(|text| CallToolResult::success(vec![ContentBlock::text(text)]))).into())
///     }
///
///     async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
///         self.client.list_changed(&context);
///     }
/// }
///
/// # let folder = tempfile::tempdir()?;
/// let roots = Roots::builder().root(folder.path(), Access::Read).open()?;
/// let client = ClientRoots::narrow(roots);
/// let transport = client.watch(rmcp::transport::stdio());     // sees a change before the calls behind it
/// let server = Server { client };                             // server.serve(transport).await?.waiting().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ClientRoots {
    settings: Arc<Settings>,
    sessions: Arc<Sessions>,
    looking: Arc<Semaphore>,
    revoked: Arc<AtomicBool>,
}

#[derive(Clone)]
struct Settings {
    source: Source,
    required: bool,
    over_http: bool,
    deadline: Duration,
    disk: Duration,
    consent: Option<Consent>,
    observer: Option<Arc<Observer>>,
}

type Tell = dyn Fn(&Roots, &[(usize, Error)]) + Send + Sync;

/// Who is told what became of a list, and what was told.
struct Observer {
    tell: Box<Tell>,
    told: Shown<()>,
}

impl ClientRoots {
    /// Most threads that look up lists: they may block, on a mount that hangs for as long as that does.
    pub const THREADS: usize = 4;

    /// What the operator granted stands, and no client is asked.
    #[must_use]
    pub fn off(roots: Roots) -> Self {
        Self::of(Source::Off(roots))
    }

    /// A client's roots narrow what the operator granted, and never add to it ([`Roots::narrow`]). A client that does not offer roots gets
    /// all of `roots`; one that does gets what they select, and where that is nothing, nothing.
    #[must_use]
    pub fn narrow(roots: Roots) -> Self {
        Self::of(Source::Narrow(roots))
    }

    /// The operator says that a client's roots are the grants: each is what `grant` makes of its path, opened by what `builder` returns; access,
    /// deletion and expiry belong to the one, the operator's rules to the other. A client that does not offer roots gets nothing.
    ///
    /// Not opened are what [`Builder::named_by_client`] refuses (the top of a disk, the home directory, what lies above it, and what is named through
    /// a link in another of the roots), files, what is missing, and more than 32. `builder` and `grant` are called for each opening, so an
    /// end of the grant counts from there; [`ClientRoots::revoke`] ends all. In the era of sessions a list is opened once, and revoked when the client takes it back; in the modern one
    /// it is opened for each call.
    ///
    /// # Errors
    /// Those of [`Builder::open`] for what `builder` returns.
    pub fn trust(
        builder: impl Fn() -> Builder + Send + Sync + 'static,
        grant: impl Fn(PathBuf) -> Grant + Send + Sync + 'static,
    ) -> Result<Self> {
        Trust::new(builder, grant).map(|trust| Self::of(Source::Trust(trust)))
    }

    fn of(source: Source) -> Self {
        let settings =
            Settings { source, required: false, over_http: false, deadline: DEADLINE, disk: DISK, consent: None, observer: None };
        Self {
            settings: Arc::new(settings),
            sessions: Arc::default(),
            looking: Arc::new(Semaphore::new(Self::THREADS)),
            revoked: Arc::default(),
        }
    }

    /// What is known of clients stays: a transport may be watched for it already.
    fn set(self, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::clone(&self.settings);
        change(&mut settings);
        Self { settings: Arc::new(settings), ..self }
    }

    /// Refuses clients that do not offer roots: with the protocol's error `-32021` in the modern era, with a tool error before.
    #[must_use]
    pub fn required(self) -> Self {
        self.set(|settings| settings.required = true)
    }

    /// Asks the host before a list takes effect: `hook` is told what would be exposed, and until it says yes nothing is. Its answer, also a no,
    /// holds for that list for good, whoever sends it; 64 lists are remembered. It is asked about one list at a time, and dropped if the call
    /// is withdrawn or the list taken back.
    #[must_use]
    pub fn consent<F, Answer>(self, hook: F) -> Self
    where
        F: Fn(Vec<RootInfo>) -> Answer + Send + Sync + 'static,
        Answer: Future<Output = bool> + Send + 'static,
    {
        self.set(|settings| settings.consent = Some(Consent::new(hook)))
    }

    /// Tells the operator's side what became of a list: the roots that are in force, and the entries that were refused, by their index. Told
    /// once for each list, also if calls or clients repeat it. `hook` must not block.
    #[must_use]
    pub fn observe(self, hook: impl Fn(&Roots, &[(usize, Error)]) + Send + Sync + 'static) -> Self {
        let observer = Observer { tell: Box::new(hook), told: Shown::default() };
        self.set(|settings| settings.observer = Some(Arc::new(observer)))
    }

    /// How long a client is waited for where it is asked by a request; 5 seconds by default. One that did not answer is not asked again for
    /// 10 seconds, unless it says that its roots changed.
    #[must_use]
    pub fn deadline(self, time: Duration) -> Self {
        self.set(|settings| settings.deadline = time)
    }

    /// How long the disk is waited for, where the entries of a list are looked up; 30 seconds by default. A mount that hangs keeps its thread for
    /// longer ([`ClientRoots::THREADS`]).
    #[must_use]
    pub fn disk_deadline(self, time: Duration) -> Self {
        self.set(|settings| settings.disk = time)
    }

    /// Takes roots from clients over HTTP too. A `file:` URI names the client's disk, so this is right only where that is the server's;
    /// otherwise, and by default, clients over HTTP are served as if they offered no roots and none were required.
    #[must_use]
    pub fn over_http(self) -> Self {
        self.set(|settings| settings.over_http = true)
    }

    /// The roots for one call: the one thing that a handler asks. `responses` are the `input_responses` of the request's parameters.
    ///
    /// Good for `tools/call` and `resources/read`, which may answer with a question. It may wait: for the client up to the
    /// [deadline](ClientRoots::deadline), for the disk up to the [other](ClientRoots::disk_deadline), for [consent](ClientRoots::consent); a call that is withdrawn ends the wait.
    pub async fn roots(&self, context: &RequestContext<RoleServer>, responses: Option<&InputResponses>) -> ForCall {
        let Settings { source, required, over_http, .. } = &*self.settings;
        let modern = context.protocol_version().is_some_and(|version| !version.has_initialize());
        let unavailable = |reason| ForCall::Unavailable(Unavailable::new(reason, modern));
        let without = |reason| match source {
            Source::Off(roots) | Source::Narrow(roots) => ForCall::Ready(roots.clone()),
            Source::Trust(_) => unavailable(reason),
        };
        if matches!(source, Source::Off(_)) {
            return without(Reason::NotOffered);
        }
        self.sessions.forget_the_gone();
        if self.revoked.load(Ordering::SeqCst) {
            return unavailable(Reason::Revoked);
        }
        if !over_http && context.extensions.get::<Parts>().is_some() {
            return without(Reason::Http);
        }
        if context.client_capabilities().is_none_or(|offered| offered.roots.is_none()) {
            return if *required { unavailable(Reason::Required) } else { without(Reason::NotOffered) };
        }
        let outcome = if modern {
            let Some(answer) = responses.and_then(|responses| responses.get(CLIENT_ROOTS_KEY)) else { return ForCall::ask() };
            match List::read(answer) {
                Ok(list) => until_withdrawn(context, self.take(&Arc::new(list), None)).await,
                Err(reason) => Err(reason),
            }
        } else {
            until_withdrawn(context, self.of_session(context)).await
        };
        outcome.map_or_else(unavailable, |roots| ForCall::Ready(roots.until_cancelled(&self.revoked)))
    }

    /// Takes back all that was granted, for good: calls at work end, and no later one gets anything, whatever its client sends. Of roots that the
    /// operator granted it is [`Roots::revoke`].
    pub fn revoke(&self) {
        if let Source::Off(roots) | Source::Narrow(roots) = &self.settings.source {
            roots.revoke();
        }
        self.revoked.store(true, Ordering::SeqCst);
        self.sessions.close_all();
    }

    /// For [`ServerHandler::on_roots_list_changed`](rmcp::ServerHandler::on_roots_list_changed): what the client sent is closed, also for calls
    /// that are at work, and it is asked again at its next call. rmcp runs this beside the calls that come behind the notice; only
    /// [`ClientRoots::watch`] is in time for them, and one of the two is needed. Both may be used together. In the modern era there is no such
    /// notice, and one is ignored.
    pub fn list_changed(&self, context: &NotificationContext<RoleServer>) {
        self.sessions.changed(context);
    }

    /// Wraps a transport, so that a change of roots is seen in the order of the wire: no call that comes behind it is served by what was
    /// taken back. For transports that are given to `serve`, such as stdio.
    pub fn watch<T, E, A>(&self, transport: T) -> impl Transport<RoleServer, Error = E> + 'static + use<T, E, A>
    where
        T: IntoTransport<RoleServer, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        Watched::new(transport.into_transport(), &self.sessions)
    }

    async fn of_session(&self, context: &RequestContext<RoleServer>) -> Result<Roots, Reason> {
        let session = self.sessions.of(context).ok_or(Reason::Failed)?;
        let mut left = self.settings.deadline;
        for _ in 0..LISTS {
            let held = session.list(&context.peer, &mut left).await?;
            let outcome = tokio::select! {
                biased;
                () = held.withdrawn() => continue,
                outcome = self.take(&held.list, Some(&held.opened)) => outcome,
            };
            // Whoever takes it back later closes what was handed out.
            let outcome = outcome.map(|roots| held.close_with(&roots));
            if !held.is_withdrawn() {
                return outcome;
            }
        }
        Err(Reason::Changing)
    }

    /// What a list comes to now: the disk may have changed since it came. What was opened by it is opened once.
    async fn take(&self, list: &Arc<List>, opened: Option<&OnceCell<Selected>>) -> Result<Roots, Reason> {
        let source = self.settings.source.clone();
        let opened = opened.filter(|_| matches!(source, Source::Trust(_)));
        let select = || async {
            let list = Arc::clone(list);
            let looked = async {
                let turn = Arc::clone(&self.looking).acquire_owned().await.map_err(|_| Reason::Fault)?;
                let look = move || {
                    // Given back when the thread comes back, and not when nobody waits for it any more.
                    let _turn = turn;
                    source.select(&list)
                };
                tokio::task::spawn_blocking(look).await.map_err(|_| Reason::Fault)
            };
            tokio::time::timeout(self.settings.disk, looked).await.unwrap_or(Err(Reason::Slow))
        };
        let selected = match opened.and_then(OnceCell::get) {
            Some(selected) => selected.clone(),
            None => select().await?,
        };
        if let Some(opened) = opened.filter(|_| !selected.is_for_now()) {
            // Whoever was first has set it; both are the same list.
            let _ = opened.set(selected.clone());
        }
        let outcome = selected.outcome(list);
        if let (Ok(roots), Some(consent)) = (&outcome, &self.settings.consent)
            && !consent.given(roots).await
        {
            return Err(Reason::Declined);
        }
        if let Some(Observer { tell, told }) = self.settings.observer.as_deref()
            && told.first(&selected.roots, &selected.refused)
        {
            tell(&selected.roots, &selected.refused);
        }
        outcome
    }
}

async fn until_withdrawn<T>(
    context: &RequestContext<RoleServer>,
    work: impl Future<Output = Result<T, Reason>>,
) -> Result<T, Reason> {
    tokio::select! {
        biased;
        () = context.ct.cancelled() => Err(Reason::Cancelled),
        outcome = work => outcome,
    }
}

impl fmt::Debug for ClientRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientRoots").field("source", &self.settings.source).finish_non_exhaustive()
    }
}
