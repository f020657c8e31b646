//! Refusals as MCP has them: in a tool's result, or as the error of another request.
//!
//! May touch: the error type of the library, the models of the SDK. Text comes from the library alone.

use cap_roots::{Error, ErrorKind, Fault, Result};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value};

/// The key in `_meta` under which a refusal's code stands.
pub const CODE_KEY: &str = "cap-roots/code";

/// The result of a tool call that may have been refused.
#[must_use]
pub fn tool_result(outcome: Result<CallToolResult>) -> CallToolResult {
    outcome.unwrap_or_else(|error| refusal(&error))
}

/// A refusal as a tool result: `isError`, the error's text (safe for the caller, see [`Error`]), and its code in `_meta`.
#[must_use]
pub fn refusal(error: &Error) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(error.to_string())]);
    result.meta = Some(MetaObject(Map::from_iter([(CODE_KEY.to_owned(), Value::from(error.code()))])));
    result
}

/// A refusal as the error of a request about resources, which has no result to put it in: the error's text, which begins with its code,
/// as the message. `uri` is what the caller typed, where the request named one that may be repeated; it is escaped.
///
/// What is not there, what is outside, and what no root is called are one JSON-RPC code: resource not found, -32002, with `{"uri": ...}`
/// as the data. `rmcp` turns it into -32602 for peers of 2026-07-28, so this must be the error of a [`ServerHandler`](rmcp::ServerHandler)
/// method. Any other fault of the input is -32602, the rest -32603, with `{"code": ..., "uri": ...}`. Clients of that revision tell what
/// is not there from other faults by its data, which has nothing but the URI.
///
/// ```
/// use cap_roots::{Error, ErrorKind};
/// use cap_roots_rmcp::resource_error;
///
/// let uri = "root://docs/a.md";
/// let error = resource_error(&Error::from(ErrorKind::NotFound).about(uri), Some(uri));
/// assert_eq!(error.data, Some(serde_json::json!({ "uri": uri })));
/// assert!(error.message.starts_with("not-found: "));
/// ```
#[must_use]
pub fn resource_error(error: &Error, uri: Option<&str>) -> ErrorData {
    let message = error.to_string();
    let uri = uri.map(|uri| ("uri".to_owned(), Value::from(cap_roots::escape(uri))));
    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::OutsideRoots | ErrorKind::NoRoots) {
        return ErrorData::resource_not_found(message, uri.map(|uri| Map::from_iter([uri]).into()));
    }
    let code = ("code".to_owned(), Value::from(error.code()));
    let data = Some(Map::from_iter([code].into_iter().chain(uri)).into());
    match error.fault() {
        Fault::Input => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_refusal_has_its_code_in_text_and_meta() {
        for kind in ErrorKind::ALL {
            let result = serde_json::to_value(refusal(&Error::from(*kind).about("a"))).unwrap();
            assert_eq!(result["isError"], true);
            assert_eq!(result["_meta"][CODE_KEY], kind.code());
            assert!(result["content"][0]["text"].as_str().unwrap().starts_with(kind.code()));
            assert!(result.get("structuredContent").is_none());
        }
    }

    /// Catches: codes of our own, codes that tell what is outside from what is not there, and data by which clients of 2026-07-28 do not
    /// know it for that.
    #[test]
    fn errors_of_resources_have_three_codes() {
        let not_found = ["not-found", "outside-roots", "no-roots"];
        let environment =
            ["root-absent", "limit", "conflict", "busy", "timeout", "cancelled", "no-space", "os-denied", "unsupported", "io"];
        for kind in ErrorKind::ALL {
            let error = serde_json::to_value(resource_error(&Error::from(*kind).about("a\u{202e}"), Some("a\u{202e}"))).unwrap();
            let want = match kind.code() {
                code if not_found.contains(&code) => -32002,
                code if environment.contains(&code) => -32603,
                _ => -32602,
            };
            assert_eq!(error["code"], want, "{kind:?}");
            let mut data = json!({ "code": kind.code(), "uri": r"a\u{202e}" });
            if want == -32002 {
                data.as_object_mut().unwrap().remove("code");
            }
            assert_eq!(error["data"], data);
            assert!(error["message"].as_str().unwrap().starts_with(&format!("{}: ", kind.code())));
        }
        let error = resource_error(&ErrorKind::StaleCursor.into(), None);
        assert_eq!(error.data, Some(json!({ "code": "stale-cursor" })));
        assert_eq!(resource_error(&ErrorKind::NoRoots.into(), None).data, None);
    }
}
