//! One line of the wire: a message of the protocol, nothing, or a fault that is answered.
//!
//! May touch: rmcp's messages. What is no message of JSON-RPC ends here; methods and parameters are for the server.

use std::borrow::Cow;

use rmcp::model::{CallToolRequest, ClientRequest, ErrorCode, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde::Deserialize;
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
        Self::invalid(id, "a request with this id has no answer yet, or its call has not ended; each needs an id of its own")
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
    if let Some(message) = call(&value) {
        return Ok(Frame::Message(Box::new(message)));
    }
    match serde_json::from_value(value) {
        Ok(message) => Ok(Frame::Message(Box::new(message))),
        // One that the protocol has no use for: notifications are never answered.
        Err(_) if is_notification => Ok(Frame::Nothing),
        Err(_) => is("the message is neither a request nor a notification nor a response"),
    }
}

/// A call of a tool, read as what it is: reading it as any message tries one kind after the other, each on a copy. What is not plainly such
/// a call is left to that.
fn call(value: &Value) -> Option<Message> {
    let object = value.as_object()?;
    let is_plain = object.len() == 4 && object.get("method")?.as_str()? == "tools/call" && object.contains_key("params");
    // With the version, these are all.
    let id = object.get("id").filter(|_| is_plain)?;
    let id = RequestId::deserialize(id).ok()?;
    let call = CallToolRequest::deserialize(value).ok()?;
    Some(Message::request(ClientRequest::CallToolRequest(call), id))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a call that is another one when it is read by itself: an id, a `_meta` or an argument that is lost or changed, and what the protocol
    /// library reads as something else.
    #[test]
    fn a_call_is_read_as_any_message_is() {
        let ids = ["1", "-7", "\"a\"", "\"1\"", "9007199254740993", "18446744073709551615", "1.0", "1.5", "null", "true"];
        let params = [
            "{\"name\":\"x\"}",
            "{\"name\":\"x\",\"arguments\":{\"a\":[1,-2,1.5,1e300,null,{\"b\":\"\\u00e9\"}]}}",
            "{\"name\":\"x\",\"arguments\":null,\"other\":1}",
            "{\"name\":\"x\",\"arguments\":[]}",
            "{\"name\":\"x\",\"_meta\":{\"progressToken\":5,\"other/key\":{}}}",
            "{\"name\":\"x\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"},\"requestState\":\"s\"}",
            "{\"name\":\"x\",\"_meta\":5}",
            "{\"name\":\"x\",\"_meta\":null}",
            "{\"name\":\"x\",\"inputResponses\":{\"client_roots\":{\"roots\":[{\"uri\":\"file:///a\"}]}}}",
            "{\"name\":\"x\",\"inputResponses\":[]}",
            "{\"name\":5}",
            "{}",
            "[]",
            "null",
        ];
        let mut read_alone = 0;
        for method in ["tools/call", "tools/list", "x"] {
            for id in ids {
                for params in params {
                    for more in ["", ",\"other\":1", ",\"result\":{}", ",\"error\":null"] {
                        let text =
                            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}{more}}}");
                        let value: Value = serde_json::from_str(&text).unwrap();
                        let Some(message) = call(&value) else { continue };
                        read_alone += 1;
                        let any = serde_json::from_value::<Message>(value).unwrap_or_else(|error| panic!("{text}: {error}"));
                        assert_eq!(format!("{message:?}"), format!("{any:?}"), "{text}");
                    }
                }
            }
        }
        // Six ids at least, and each form of good parameters.
        assert!(read_alone >= 5 * 6, "{read_alone}");
    }
}
