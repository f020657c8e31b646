//! MCP adapter for [`cap_roots`] on the [`rmcp`] SDK.
//!
//! A refusal belongs into the result of the tool call, where the model can read it and recover, not into a protocol error. This crate
//! makes that result, and the errors of resources, the same for both protocol eras. [`ClientRoots`] hides from a tool's author how each era
//! asks for the roots of a client.
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
//!
//! [`ClientRoots`] is for servers that let clients say where to work: one call in a handler, whatever the era.

mod client_roots;
mod refusal;
mod schema;

pub use client_roots::{CLIENT_ROOTS_KEY, ClientRoots, ForCall, Response, Unavailable, UnavailableReason};
pub use refusal::{CODE_KEY, refusal, resource_error, tool_result};
pub use schema::{ToolDirectory, ToolPath, path_schema};

/// The README's code and the guide's compiles, and what is a whole program runs. Here and not in the library, since it shows this crate as well.
#[cfg(doctest)]
mod shown {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../docs/guide/server-author.md")]
    struct ServerAuthor;
}
