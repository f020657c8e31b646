//! The one way in: what is asked of every request before the protocol library sees it.
//!
//! The order: by which name, where, by whom, how, and only then a body is read. Whoever has no token learns nothing and costs little.
//!
//! May touch: `server`, `stdio`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::http::{HeaderMap, HeaderValue, StatusCode, header};
use hyper::{Method, Request, Response};
use rmcp::model::ClientRequest;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;

use super::at_work::{AtWork, NotTaken};
use super::bounds::{Bounds, MESSAGE_BYTES};
use super::names::Names;
use super::reply::{self, Held, Holds, Refused};
use super::sessions::Sessions;
use super::token::{Claim, Token};
use crate::server::Server;
use crate::stdio::frame::{self, Fault, Frame, Message};

/// The path of the endpoint.
pub(crate) const PATH: &str = "/mcp";
const SESSION_ID: &str = "mcp-session-id";

pub(crate) struct Gate {
    names: Names,
    /// None where the operator wants none.
    token: Option<Token>,
    sessions: Sessions,
    bounds: Bounds,
    messages: Arc<Semaphore>,
    at_work: AtWork,
    /// How long a message may go without an answer.
    patience: Duration,
    streams: Arc<Semaphore>,
    stopping: AtomicBool,
    service: StreamableHttpService<Server, LocalSessionManager>,
}

impl Gate {
    pub(crate) fn new(names: Names, token: Option<Token>, server: Server, bounds: Bounds) -> Self {
        let sessions = Sessions::new(bounds.sessions, bounds.quiet);
        let patience = server.deadline().saturating_add(bounds.late);
        // Names and sizes were judged before.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_max_request_body_bytes(MESSAGE_BYTES);
        let service = StreamableHttpService::new(move || Ok(server.clone()), sessions.manager(), config);
        Self {
            names,
            token,
            sessions,
            bounds,
            messages: Arc::new(Semaphore::new(bounds.messages)),
            at_work: AtWork::new(bounds.messages),
            patience,
            streams: Arc::new(Semaphore::new(bounds.streams)),
            stopping: AtomicBool::new(false),
            service,
        }
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<Held> {
        let (mut head, body) = request.into_parts();
        match self.admit(&mut head) {
            Ok(()) if head.method == Method::POST => self.message(head, body).await,
            Ok(()) => self.other(head).await,
            Err(refused) => Err(refused),
        }
        .unwrap_or_else(Refused::response)
    }

    /// No message is taken from now on.
    pub(crate) fn close(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Until every message that was taken is answered.
    pub(crate) async fn finished(&self) {
        let all = u32::try_from(self.bounds.messages).unwrap_or(u32::MAX);
        let _ = self.messages.acquire_many(all).await;
    }

    /// How many messages are held.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.bounds.messages - self.messages.available_permits()
    }

    /// Ends what is left: sessions, standing streams, calls.
    pub(crate) fn end(&self) {
        self.service.config.cancellation_token.cancel();
    }

    fn admit(&self, head: &mut Parts) -> Result<(), Refused> {
        self.names.judge(head)?;
        // Clients ask at well-known places for the way to a token: nothing is there, and a refusal would not say so.
        if head.uri.path() != PATH {
            return Err(Refused::Path);
        }
        if let Some(token) = &self.token {
            match token.claim(&head.headers) {
                Claim::Right => {}
                Claim::Wrong => return Err(Refused::TokenWrong),
                Claim::None => return Err(Refused::TokenMissing),
            }
        }
        // It has done its work, and goes no further: not into logs, nor to handlers.
        head.headers.remove(header::AUTHORIZATION);
        if !reply::is_known(&head.method) {
            return Err(Refused::Method);
        }
        self.is_open()
    }

    fn is_open(&self) -> Result<(), Refused> {
        if self.stopping.load(Ordering::SeqCst) { Err(Refused::Stopping) } else { Ok(()) }
    }

    async fn message(&self, mut head: Parts, body: Incoming) -> Result<Response<Held>, Refused> {
        is_plain_json(&head.headers)?;
        let turn = tokio::time::timeout(self.bounds.turn, Arc::clone(&self.messages).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(Refused::Busy) };
        // It waited, and none is taken any more.
        self.is_open()?;
        let body = read(&head.headers, body, self.bounds.message_time).await?;
        let message = match frame::read(&body) {
            Frame::Message(message) => message,
            Frame::Nothing if body.trim_ascii().is_empty() => return Err(Refused::NotAMessage),
            // A notification that the protocol has no use for.
            Frame::Nothing => return Ok(reply::taken()),
            Frame::Fault(fault) => return Ok(reply::fault(&fault)),
        };
        let session = head.headers.get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let mut id = None;
        let room = match &session {
            Some(session) => {
                if let Message::Request(request) = &*message {
                    id = match self.at_work.begin(session, &request.id) {
                        Ok(id) => Some(id),
                        Err(NotTaken::InUse) => return Ok(reply::fault(&Fault::in_use(request.id.clone().into_json_value()))),
                        Err(NotTaken::TooMany) => return Err(Refused::Busy),
                    };
                }
                self.sessions.ask(session).await;
                None
            }
            None if opens(&message) => Some(self.sessions.room().await.ok_or(Refused::Sessions)?),
            None => None,
        };
        let first = session.is_none() && !opens(&message);
        drop(message);
        // The library passes it on with the request.
        if let Some(id) = &id {
            head.extensions.insert(id.clone());
        }
        let answered = self.service.handle(Request::from_parts(head, Full::new(body)));
        let response = tokio::time::timeout(self.patience, answered).await.map_err(|_| Refused::Late)?;
        if let (Some(room), Some(id)) = (room, response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok())) {
            room.take(id);
        }
        match response.status() {
            // The kind of the body was judged, so the library means what is in it.
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Err(Refused::NotAMessage),
            StatusCode::INTERNAL_SERVER_ERROR if self.stopping.load(Ordering::SeqCst) => Err(Refused::Stopping),
            // Faults of the protocol are told in JSON.
            StatusCode::BAD_REQUEST if first && !response.headers().contains_key(header::CONTENT_TYPE) => Err(Refused::NoSession),
            status => {
                if status == StatusCode::INTERNAL_SERVER_ERROR {
                    tracing::error!("a message was answered with an internal error");
                }
                Ok(held(response, Holds { turn: Some(turn), id }).map(|body| body.within(self.patience)))
            }
        }
    }

    /// The streams of a session, and its end.
    async fn other(&self, head: Parts) -> Result<Response<Held>, Refused> {
        let turn = if head.method == Method::GET {
            Some(Arc::clone(&self.streams).try_acquire_owned().map_err(|_| Refused::Busy)?)
        } else {
            None
        };
        if let Some(session) = head.headers.get(SESSION_ID).and_then(|id| id.to_str().ok()) {
            self.sessions.ask(session).await;
        }
        Ok(held(self.service.handle(Request::from_parts(head, Full::<Bytes>::default())).await, Holds { turn, id: None }))
    }
}

fn held(response: Response<BoxBody<Bytes, std::convert::Infallible>>, holds: Holds) -> Response<Held> {
    response.map(|body| Held::new(body, holds))
}

/// Whether a message asks for a session.
fn opens(message: &Message) -> bool {
    matches!(message, Message::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_)))
}

fn is_plain_json(headers: &HeaderMap) -> Result<(), Refused> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(Refused::ContentType);
    }
    let plain = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(header::CONTENT_ENCODING).iter().all(plain) { Ok(()) } else { Err(Refused::ContentCoding) }
}

/// The whole body, within its bounds.
async fn read(headers: &HeaderMap, body: Incoming, time: Duration) -> Result<Bytes, Refused> {
    let told = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|length| length > MESSAGE_BYTES as u64) {
        return Err(Refused::TooLarge);
    }
    let read = Limited::new(body, MESSAGE_BYTES).collect();
    match tokio::time::timeout(time, read).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refused::TooLarge),
        Ok(Err(_)) => Err(Refused::Broken),
        Err(_) => Err(Refused::TooSlow),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_bodies() {
        let kind = |headers: &[(&'static str, &str)]| {
            is_plain_json(&headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect())
        };
        assert_eq!(kind(&[("content-type", "Application/JSON; charset=utf-8")]), Ok(()));
        for wrong in ["text/plain", "application/jsonp", "text/plain;application/json", ""] {
            assert_eq!(kind(&[("content-type", wrong)]), Err(Refused::ContentType), "{wrong}");
        }
        assert_eq!(kind(&[("content-type", "application/json"), ("content-encoding", "gzip")]), Err(Refused::ContentCoding));
    }
}
