//! MCP adapter for [`cap_roots`] on the [`rmcp`] SDK.
//!
//! A refusal belongs into the result of the tool call, where the model can read it and recover, not into a protocol error. This crate
//! makes that result, the same in both protocol eras. Client roots, resources and consent will have their rooms here.
//!
//! ```
//! use cap_roots::{Access, Roots};
//! use cap_roots_rmcp::tool_result;
//! use rmcp::model::{CallToolResult, ContentBlock};
//!
//! fn count_lines(roots: &Roots, path: &str) -> CallToolResult {
//!     tool_result(roots.read_to_string(path).map(|text| {
//!         CallToolResult::success(vec![ContentBlock::text(text.lines().count().to_string())])
//!     }))
//! }
//!
//! # let folder = tempfile::tempdir()?;
//! let roots = Roots::builder().root(folder.path(), Access::Read).open()?;
//! let result = count_lines(&roots, "../../etc/passwd");
//! assert_eq!(result.is_error, Some(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use cap_roots::{Error, Result};
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

#[cfg(test)]
mod tests {
    use super::*;
    use cap_roots::ErrorKind;

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
}
