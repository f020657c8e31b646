//! The MCP side: requests in, answers out. Dual era as rmcp serves it: nothing here depends on a session.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};

use crate::tools::{self, Context};

const INSTRUCTIONS: &str = "Files below the allowed directories can be listed and read; list_allowed_directories shows them. A path is \
    absolute, relative to the first allowed directory, or root://NAME/relative/path. A refusal starts with a code such as not-found or \
    outside-roots and says what to do; repeating the same call does not help.";

#[derive(Clone, Debug)]
pub(crate) struct Server {
    context: Context,
}

impl Server {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(
                Implementation::new("cap-roots-mcp", env!("CARGO_PKG_VERSION")).with_title("cap-roots filesystem server"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::offered(&self.context.roots)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let context = self.context.clone();
        // The disk may take its time; the threads that read the protocol must not wait for it.
        let work = move || tools::call(&context, &request.name, request.arguments.unwrap_or_default());
        match tokio::task::spawn_blocking(work).await {
            Ok(outcome) => Ok(cap_roots_rmcp::tool_result(outcome).into()),
            Err(fault) => {
                tracing::error!(%fault, "a tool call ended abnormally");
                Err(ErrorData::internal_error("the call ended abnormally", None))
            }
        }
    }
}
