//! The MCP side: requests in, answers out. Dual era as rmcp serves it: nothing here depends on a session.

use std::sync::Arc;
use std::time::Duration;

use cap_roots::{Error, ErrorKind};
use cap_roots_rmcp::{refusal, tool_result};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use tokio::sync::Semaphore;

use crate::tools::{self, Context};
use crate::work::Work;

/// Most calls that are at work at once; further ones wait for their turn.
pub(crate) const CALLS: usize = 16;

const INSTRUCTIONS: &str = "Files below the allowed directories can be listed and read; list_allowed_directories shows them. A path is \
    absolute, relative to the first allowed directory, or root://NAME/relative/path. A refusal starts with a code such as not-found or \
    outside-roots and says what to do; repeating the same call does not help.";

#[derive(Clone, Debug)]
pub(crate) struct Server {
    context: Context,
    deadline: Duration,
    turns: Arc<Semaphore>,
}

impl Server {
    pub(crate) fn new(context: Context, deadline: Duration) -> Self {
        Self { context, deadline, turns: Arc::new(Semaphore::new(CALLS)) }
    }

    /// One call on a thread that may block: the disk may take its time, and the threads that read the protocol must not wait for it.
    async fn work(&self, request: CallToolRequestParams, work: Work) -> Result<CallToolResponse, ErrorData> {
        let closed = |_| ErrorData::internal_error("the server is closing", None);
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(closed)?;
        let context = self.context.clone();
        let call = move || {
            // Given back when the thread comes back, and not when the call was answered.
            let _turn = turn;
            tools::call(&context, &work, &request.name, request.arguments.unwrap_or_default())
        };
        match tokio::task::spawn_blocking(call).await {
            Ok(outcome) => Ok(tool_result(outcome).into()),
            Err(fault) => {
                tracing::error!(%fault, "a tool call ended abnormally");
                Err(ErrorData::internal_error("the call ended abnormally", None))
            }
        }
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
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let work = Work::default();
        let stopped = tokio::select! {
            answer = self.work(request, work.clone()) => return answer,
            () = context.ct.cancelled() => ErrorKind::Cancelled,
            () = tokio::time::sleep(self.deadline) => ErrorKind::Timeout,
        };
        work.stop();
        Ok(refusal(&Error::from(stopped)).into())
    }
}
