//! What is answered before, or instead of, an answer of the protocol: short, and nothing of the request or the host in it.
//!
//! May touch: `stdio`.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::http::{HeaderName, HeaderValue, StatusCode, header};
use hyper::{Method, Response};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};

use super::at_work::Id;
use crate::stdio::frame::Fault;

/// A body, and what it holds until its end.
pub(crate) struct Held {
    body: BoxBody<Bytes, Infallible>,
    /// When it ends although nothing more has come, so that what has no answer holds nothing for ever.
    end: Option<Pin<Box<Sleep>>>,
    _holds: Holds,
}

/// The turn of a request, and its id.
#[derive(Default)]
#[expect(dead_code, reason = "their end gives them back")]
pub(crate) struct Holds {
    pub(super) turn: Option<OwnedSemaphorePermit>,
    pub(super) id: Option<Id>,
}

impl Held {
    pub(crate) fn new(body: BoxBody<Bytes, Infallible>, holds: Holds) -> Self {
        Self { body, end: None, _holds: holds }
    }

    /// Ends it after this time where nothing more is there.
    pub(crate) fn within(mut self, time: Duration) -> Self {
        self.end = Some(Box::pin(sleep(time)));
        self
    }
}

impl Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // What is there comes first: a client may read slowly.
        match (Pin::new(&mut self.body).poll_frame(cx), &mut self.end) {
            (Poll::Pending, Some(end)) => end.as_mut().poll(cx).map(|()| None),
            (polled, _) => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Why a request is not answered by the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    HostMalformed,
    Host,
    Origin,
    Path,
    TokenMissing,
    TokenWrong,
    Method,
    ContentType,
    ContentCoding,
    TooLarge,
    TooSlow,
    /// The body broke off.
    Broken,
    NotAMessage,
    /// Neither in a session nor by the protocol that has none.
    NoSession,
    Busy,
    Sessions,
    Stopping,
    /// No answer came of it.
    Late,
}

/// How long whoever finds no room should wait, in seconds.
const RETRY: &str = "1";

impl Refused {
    fn text(self) -> (StatusCode, &'static str) {
        match self {
            Self::HostMalformed => (StatusCode::BAD_REQUEST, "the Host header is missing, malformed or there twice"),
            Self::Host => (
                StatusCode::FORBIDDEN,
                "the Host header names another server; the operator allows further names with --http-host",
            ),
            Self::Origin => (StatusCode::FORBIDDEN, "requests from this Origin are not taken"),
            Self::Path => (StatusCode::NOT_FOUND, "nothing is here; the endpoint is /mcp"),
            Self::TokenMissing => (StatusCode::UNAUTHORIZED, "a token is needed, as the header Authorization: Bearer TOKEN"),
            Self::TokenWrong => (StatusCode::UNAUTHORIZED, "the token is not the one of this server"),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "the methods are POST, GET and DELETE"),
            Self::ContentType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "the Content-Type has to be application/json"),
            Self::ContentCoding => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body has to come without Content-Encoding"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "the message is longer than this server takes"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "the message did not come in time"),
            Self::Broken => (StatusCode::BAD_REQUEST, "the message broke off"),
            Self::NotAMessage => (StatusCode::BAD_REQUEST, "the message is none of the protocol"),
            Self::NoSession => (
                StatusCode::BAD_REQUEST,
                "this message belongs to no session; send initialize first and its Mcp-Session-Id from then on, or, without sessions, \
                 MCP-Protocol-Version: 2026-07-28",
            ),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "too many requests are at work"),
            Self::Sessions => (StatusCode::SERVICE_UNAVAILABLE, "too many sessions are open"),
            Self::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"),
            Self::Late => (StatusCode::GATEWAY_TIMEOUT, "the message had no answer in time"),
        }
    }

    fn header(self) -> Option<(HeaderName, &'static str)> {
        Some(match self {
            Self::TokenMissing => (header::WWW_AUTHENTICATE, "Bearer"),
            Self::TokenWrong => (header::WWW_AUTHENTICATE, "Bearer error=\"invalid_token\""),
            Self::Method => (header::ALLOW, "POST, GET, DELETE"),
            Self::Busy | Self::Sessions | Self::Stopping => (header::RETRY_AFTER, RETRY),
            _ => return None,
        })
    }

    /// Whether the rest of the request is not worth reading.
    fn closes(self) -> bool {
        matches!(self, Self::TooLarge | Self::TooSlow | Self::Broken | Self::Stopping)
    }

    pub(crate) fn response(self) -> Response<Held> {
        let (status, text) = self.text();
        let mut response = whole("text/plain; charset=utf-8", format!("{text}\n"));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        if let Some((name, value)) = self.header() {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if self.closes() {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// The same for a connection that is turned away unread.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let (status, text) = self.text();
        let header = self.header().map(|(name, value)| format!("{name}: {value}\r\n")).unwrap_or_default();
        let length = text.len() + 1;
        format!(
            "HTTP/1.1 {status}\r\n{header}content-type: text/plain; charset=utf-8\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{text}\n"
        )
        .into_bytes()
    }
}

/// A body that is there at once.
fn whole(kind: &'static str, text: String) -> Response<Held> {
    let mut response = Response::new(Held::new(Full::from(text).boxed(), Holds::default()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The answer to what is no message, as the protocol has it.
pub(crate) fn fault(fault: &Fault) -> Response<Held> {
    let mut response = whole("application/json", fault.to_json().to_string());
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

/// The answer to what needs none.
pub(crate) fn taken() -> Response<Held> {
    let mut response = Response::new(Held::new(Full::default().boxed(), Holds::default()));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// The methods that there are.
pub(crate) fn is_known(method: &Method) -> bool {
    [Method::POST, Method::GET, Method::DELETE].contains(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Never;

    impl Body for Never {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }

    /// Catches: a body that nobody ends and that holds its place for ever, and one that is cut off although its answer is there.
    #[tokio::test(start_paused = true)]
    async fn a_body_without_an_answer_ends() {
        let time = Duration::from_secs(5);
        let mut body = Held::new(Never.boxed(), Holds::default()).within(time);
        let mut late = Held::new(Full::from("answer").boxed(), Holds::default()).within(time);
        assert!(tokio::time::timeout(Duration::from_secs(4), body.frame()).await.is_err());
        assert!(tokio::time::timeout(Duration::from_secs(4), body.frame()).await.unwrap().is_none());
        assert!(late.frame().await.is_some());
    }
}
