//! One line of the wire: a message of the protocol, nothing, or a fault that is answered.
//!
//! May touch: rmcp's messages. What is no message of JSON-RPC ends here; methods and parameters are for the server.

use std::borrow::Cow;

use rmcp::model::ErrorCode;
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde_json::{Map, Value, json};

use super::unique;

/// Some programs begin a text with it, and RFC 8259 section 8.1 lets a reader pass over it.
const BYTE_ORDER_MARK: &str = "\u{feff}";

pub(crate) type Message = RxJsonRpcMessage<RoleServer>;

/// What is on a line.
#[derive(Debug)]
pub(crate) enum Frame {
    Message(Box<Message>),
    Nothing,
    Fault(Fault),
}

/// What a line is answered with that is no message.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault {
    code: ErrorCode,
    /// That of the request, or `null` where it cannot be told (JSON-RPC 2.0, section 5).
    id: Value,
    message: Cow<'static, str>,
}

impl Fault {
    fn parse(message: &'static str) -> Self {
        Self { code: ErrorCode::PARSE_ERROR, id: Value::Null, message: message.into() }
    }

    fn invalid(id: Value, message: &'static str) -> Self {
        Self { code: ErrorCode::INVALID_REQUEST, id, message: message.into() }
    }

    /// Of a line over the limit.
    pub(super) fn too_long(limit: usize) -> Self {
        let message = format!("the message is too long; the limit is {limit} bytes").into();
        Self { code: ErrorCode::INVALID_REQUEST, id: Value::Null, message }
    }

    /// Of a request while another one of its id has no answer yet: of two answers nobody could tell which is whose.
    pub(crate) fn in_use(id: Value) -> Self {
        Self::invalid(id, "a request with this id has no answer yet; each needs an id of its own")
    }

    /// As a message, without the end of its line.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.id, "error": { "code": self.code, "message": self.message } })
    }
}

/// Reads a line, which is without its end.
pub(crate) fn read(line: &[u8]) -> Frame {
    let Ok(text) = std::str::from_utf8(line) else {
        return Frame::Fault(Fault::parse("the message is not UTF-8"));
    };
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if text.trim_ascii().is_empty() {
        return Frame::Nothing;
    }
    let Ok((value, twice)) = unique::read(text) else {
        return Frame::Fault(Fault::parse("the message is not JSON, or is nested too deeply"));
    };
    message(value, twice).unwrap_or_else(Frame::Fault)
}

fn message(value: Value, twice: bool) -> Result<Frame, Fault> {
    let object = match &value {
        Value::Object(object) => object,
        Value::Array(_) => {
            return Err(Fault::invalid(Value::Null, "batches are not taken; send each message by itself"));
        }
        _ => return Err(Fault::invalid(Value::Null, "the message is not a JSON object")),
    };
    let id = asked_by(object);
    let is = |message| Err(Fault::invalid(id.clone(), message));
    if twice {
        return is("a name is there twice in one object");
    }
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return is("the member \"jsonrpc\" must be \"2.0\"");
    }
    let mut is_notification = false;
    if let Some(method) = object.get("method") {
        if !method.is_string() {
            return is("the member \"method\" must be a string");
        }
        if object.contains_key("id") && id.is_null() {
            return is("the member \"id\" must be a string or an integer");
        }
        if object.get("params").is_some_and(|params| !(params.is_object() || params.is_array() || params.is_null())) {
            return is("the member \"params\" must be an object");
        }
        is_notification = !["id", "result", "error"].iter().any(|member| object.contains_key(*member));
    }
    match serde_json::from_value(value) {
        Ok(message) => Ok(Frame::Message(Box::new(message))),
        // One that the protocol has no use for: notifications are never answered.
        Err(_) if is_notification => Ok(Frame::Nothing),
        Err(_) => is("the message is neither a request nor a notification nor a response"),
    }
}

/// Whether it can be said again as it was: a number that is no whole one, or too large, would be another one.
fn is_id(id: &Value) -> bool {
    /// From here on, neighbours are the same to readers that know floating point alone.
    const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    let is_whole = |number: f64| number.fract() == 0.0 && number.abs() < EXACT;
    id.is_string() || id.is_i64() || id.is_u64() || id.as_f64().is_some_and(is_whole)
}

/// The id that a fault is answered with. That of a response is an id of ours, and means another request where the client reads it.
fn asked_by(object: &Map<String, Value>) -> Value {
    let answers = !object.contains_key("method") && (object.contains_key("result") || object.contains_key("error"));
    object.get("id").filter(|id| !answers && is_id(id)).cloned().unwrap_or_default()
}
