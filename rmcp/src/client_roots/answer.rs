//! What a call gets: roots, a question to the client, or a reason why there are none.
//!
//! May touch: `refusal`. The texts say what to do and hold nothing that a client sent.
#![allow(deprecated, reason = "roots are deprecated, and served as long as they are part of the protocol")]

use cap_roots::{Error, ErrorKind, Roots};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, InputRequest, InputRequests, InputRequiredResult, ListRootsRequest,
    ReadResourceResponse,
};

use super::CLIENT_ROOTS_KEY;
use crate::{refusal, resource_error};

/// What one call gets from [`ClientRoots::roots`](super::ClientRoots::roots). It may grow with the protocol: match with a wildcard arm that
/// serves nothing, or use [`ForCall::or_answer`].
#[derive(Clone, Debug)]
#[must_use = "a question has to reach the client"]
#[non_exhaustive]
pub enum ForCall {
    /// What it may work in.
    Ready(Roots),
    /// To be returned as it is: the client is asked, and calls again with its answer.
    Ask(Box<InputRequiredResult>),
    /// There is nothing for it to work in.
    Unavailable(Unavailable),
}

impl ForCall {
    pub(super) fn ask() -> Self {
        let question = InputRequest::ListRoots(ListRootsRequest::default());
        let questions = InputRequests::from([(CLIENT_ROOTS_KEY.to_owned(), question)]);
        Self::Ask(Box::new(InputRequiredResult::from_input_requests(questions)))
    }

    /// The roots, or what the handler has to return as they stand: a question or a refusal, in the form of the request's kind and era.
    ///
    /// # Errors
    /// The answer, which is a success in the protocol's terms where it is a question or a tool's refusal.
    pub fn or_answer<A: Response>(self) -> Result<Roots, Result<A, ErrorData>> {
        match self {
            Self::Ready(roots) => Ok(roots),
            Self::Ask(question) => Err(Ok((*question).into())),
            Self::Unavailable(unavailable) => Err(A::unavailable(&unavailable)),
        }
    }
}

/// Answers that may be a question: of `tools/call` and `resources/read`.
pub trait Response: From<InputRequiredResult> + sealed::Sealed {
    /// The refusal, as this kind of request is refused.
    ///
    /// # Errors
    /// Where that is an error of the protocol.
    fn unavailable(unavailable: &Unavailable) -> Result<Self, ErrorData>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for rmcp::model::CallToolResponse {}
    impl Sealed for rmcp::model::ReadResourceResponse {}
}

impl Response for CallToolResponse {
    fn unavailable(unavailable: &Unavailable) -> Result<Self, ErrorData> {
        if unavailable.is_protocol_error() { Err(unavailable.error_data()) } else { Ok(unavailable.tool_result().into()) }
    }
}

impl Response for ReadResourceResponse {
    fn unavailable(unavailable: &Unavailable) -> Result<Self, ErrorData> {
        Err(unavailable.error_data())
    }
}

/// Why a call has nothing to work in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable {
    reason: UnavailableReason,
    modern: bool,
}

impl Unavailable {
    pub(super) fn new(reason: UnavailableReason, modern: bool) -> Self {
        Self { reason, modern }
    }

    /// Why.
    #[must_use]
    pub fn reason(self) -> UnavailableReason {
        self.reason
    }

    /// As a refusal of the library: `cancelled` where the call was withdrawn, `timeout` where the disk is slow, `revoked`, otherwise `no-roots`.
    #[must_use]
    pub fn error(self) -> Error {
        self.reason.error()
    }

    /// As the result of a tool.
    #[must_use]
    pub fn tool_result(self) -> CallToolResult {
        refusal(&self.error())
    }

    /// As an error of the protocol: `-32021` for a modern client without the capability that is required, otherwise that of a resource by
    /// [`resource_error`].
    #[must_use]
    pub fn error_data(self) -> ErrorData {
        if self.is_protocol_error() {
            return ErrorData::missing_required_client_capability(ClientCapabilities::builder().enable_roots().build());
        }
        resource_error(&self.error(), None)
    }

    /// The code is defined from 2026-07-28 on; an earlier client learns more from a tool's refusal.
    fn is_protocol_error(self) -> bool {
        self.modern && self.reason == UnavailableReason::Required
    }
}

/// Why there are no roots for a call. The set grows; match with a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnavailableReason {
    /// The client offers no roots, and nothing else was granted.
    NotOffered,
    /// The client offers no roots, and the server requires that it does.
    Required,
    /// Roots are not taken over HTTP, and nothing else was granted.
    Http,
    /// The client did not answer within the deadline.
    NoAnswer,
    /// The client answered with an error, or cannot be asked.
    Failed,
    /// The client's answer holds no list.
    Malformed,
    /// The client's list is empty.
    Empty,
    /// The client's list has more than 128 entries.
    TooMany,
    /// No entry of the list leads to a directory that may be used.
    NoneUsable,
    /// The client took back each list before it could be used.
    Changing,
    /// The host did not agree.
    Declined,
    /// The call was withdrawn.
    Cancelled,
    /// The disk did not answer in time.
    Slow,
    /// The operator has taken back what was granted.
    Revoked,
    /// This program failed.
    Fault,
}

impl UnavailableReason {
    fn error(self) -> Error {
        let advice = match self {
            Self::Cancelled => return ErrorKind::Cancelled.into(),
            Self::Revoked => return ErrorKind::Revoked.into(),
            Self::Slow => return Error::from(ErrorKind::Timeout).advise("look after the disk that the client's roots are on"),
            Self::NotOffered => "this server works in the roots of its client, and this client offers none",
            Self::Required => "this server needs the roots of its client, and this client does not have that capability",
            Self::Http => "roots of clients are not taken over HTTP; ask the operator to name a directory at start",
            Self::NoAnswer => "the client was asked for its roots and did not answer in time; try again later",
            Self::Failed => {
                "the client offers roots, but could not say which; see to the client, or ask the operator to do without"
            }
            Self::Malformed => "the client was asked for its roots and sent no list of them; see to the client",
            Self::Empty => "the client's list of roots is empty; open a directory in the client",
            Self::TooMany => "the client sent more roots than the limit of 128; open fewer directories in the client",
            Self::NoneUsable => "no root of the client is in an allowed directory; open one that is in the client",
            Self::Changing => "the client keeps changing its roots; try again in a moment",
            Self::Declined => "the roots of the client were not agreed to; ask the user",
            Self::Fault => "the server failed to look at the client's roots; try again",
        };
        Error::from(ErrorKind::NoRoots).advise(advice)
    }
}
