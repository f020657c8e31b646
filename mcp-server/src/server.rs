//! The MCP side: requests in, answers out. Dual era as rmcp serves it: nothing here depends on a session.
//!
//! May touch: `audit`, `context`, `progress`, `resources`, `stdio`, `tools`, `turns`, `weight`, `work`.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use cap_roots::{Error, ErrorKind, Roots};
use cap_roots_rmcp::{ClientRoots, ForCall, tool_result};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};

use crate::audit::Call;
use crate::context::Context;
use crate::progress;
use crate::resources;
use crate::stdio::Slot;
use crate::tools::{self, Offered};
use crate::turns::{Length, Needs, Turns};
use crate::weight::{SMALL, Weighed};
use crate::work::Work;

/// How long a call that was stopped is waited for. What it has changed it has changed, and is not to be answered as if it had not.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

const WHERE: &str = "The tools work on files below the allowed directories, as far as the operator allows it";
const PATHS: &str = "A path is absolute, relative to the first allowed directory, or root://NAME/relative/path. A refusal starts with a code \
    such as not-found or outside-roots and says what to do: do that, and repeat the same call only where it says so.";

fn instructions(offered: &Offered) -> String {
    let shown = if offered.has("list_allowed_directories") { "; list_allowed_directories shows them" } else { "" };
    format!("{WHERE}{shown}. {PATHS}")
}

/// What came of a call: its result or refusal; outside, a fault of the server itself.
pub(crate) type Outcome<T> = Result<cap_roots::Result<T>, ErrorData>;

#[derive(Clone, Debug)]
pub(crate) struct Server {
    context: Context,
    /// Who says what a call works in.
    client: ClientRoots,
    deadline: Duration,
    turns: Turns,
}

impl Server {
    pub(crate) fn new(context: Context, client: ClientRoots, deadline: Duration, turns: Turns) -> Self {
        Self { context, client, deadline, turns }
    }

    /// How long a call may take.
    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// One call in `roots`, until it is done, its client withdraws it, or its time is over.
    async fn run<T: Weighed + Send + 'static>(
        &self,
        roots: Roots,
        needs: Needs,
        request: &RequestContext<RoleServer>,
        call: impl FnOnce(&Context, &Work) -> cap_roots::Result<T> + Send + 'static,
    ) -> Outcome<T> {
        let work = Work::until(self.deadline);
        let stopped = async {
            tokio::select! {
                () = request.ct.cancelled() => ErrorKind::Cancelled,
                () = tokio::time::sleep(self.deadline) => ErrorKind::Timeout,
            }
        };
        let context = Context { roots, ..self.context.clone() };
        let slot = request.extensions.get::<Slot>();
        let working = outcome(self.work(context, work.clone(), needs, slot, call), stopped, || work.stop(), GRACE);
        progress::told(request, &work, working).await
    }

    /// One call on a thread that may block: the disk may take its time, and the threads that read the protocol must not wait for it.
    async fn work<T: Weighed + Send + 'static>(
        &self,
        context: Context,
        work: Work,
        needs: Needs,
        slot: Option<&Slot>,
        call: impl FnOnce(&Context, &Work) -> cap_roots::Result<T> + Send + 'static,
    ) -> Outcome<T> {
        // It may have been stopped while it waited.
        let call = move || work.check().and_then(|()| call(&context, &work));
        let is_large = |outcome: &cap_roots::Result<T>| outcome.as_ref().is_ok_and(|answer| answer.weight() > SMALL);
        let Some((outcome, turn)) = self.turns.run(needs, call, is_large).await else {
            tracing::error!("a call ended abnormally");
            return Err(ErrorData::internal_error("the call ended abnormally", None));
        };
        // Until it is written. What is small is counted for by the request.
        if let (Some(slot), Some(turn)) = (slot, turn) {
            slot.keep(turn);
        }
        Ok(outcome)
    }

    async fn answer_call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
        audit: &Call,
    ) -> Result<CallToolResponse, ErrorData> {
        let roots = match self.client.roots(&context, request.input_responses.as_ref()).await.or_answer() {
            Ok(roots) => audit.watch(roots),
            Err(answer) => return answer,
        };
        let changes = tools::changes_files(&request.name);
        let arguments = request.arguments.as_ref();
        let length = if tools::is_long(&request.name, arguments) { Length::Long } else { Length::Short };
        let needs = Needs::of_call(&roots, arguments, length);
        let call = move |context: &Context, work: &Work| {
            let arguments = request.arguments.unwrap_or_default();
            tools::call(context, work, &request.name, arguments)
        };
        let outcome = self.run(roots, needs, &context, call).await?;
        // The disk may still be at it, and a deletion may have come half-way.
        let advise = |error: Error| match error.kind() {
            ErrorKind::Timeout if changes => error.advise("look at what is there before repeating it: a part may have been done"),
            _ => error,
        };
        Ok(tool_result(outcome.map_err(advise)).into())
    }

    async fn answer_read(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
        audit: &Call,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let roots = match self.client.roots(&context, request.input_responses.as_ref()).await.or_answer() {
            Ok(roots) => audit.watch(roots),
            Err(answer) => return answer,
        };
        let uri = request.uri.clone();
        let needs = Needs::of_resource(&roots, &uri);
        let read = move |context: &Context, work: &Work| resources::read(context, work, &request.uri);
        match self.run(roots, needs, &context, read).await? {
            Ok(contents) => Ok(contents.into()),
            Err(error) => Err(resources::refused(&self.context, &error, &uri)),
        }
    }
}

/// The outcome of `working`. Once `stopped` tells why, `stop` asks it to end; what it has done by then is its answer, and anything else is
/// that it was stopped.
pub(crate) async fn outcome<T>(
    working: impl Future<Output = Outcome<T>>,
    stopped: impl Future<Output = ErrorKind>,
    stop: impl FnOnce(),
    grace: Duration,
) -> Outcome<T> {
    let mut working = pin!(working);
    let why = tokio::select! {
        outcome = &mut working => return outcome,
        why = stopped => why,
    };
    stop();
    match tokio::time::timeout(grace, working).await {
        Ok(Ok(Ok(done))) => Ok(Ok(done)),
        _ => Ok(Err(why.into())),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_server_info(
                Implementation::new("cap-roots-mcp", env!("CARGO_PKG_VERSION")).with_title("cap-roots filesystem server"),
            )
            .with_instructions(instructions(&self.context.offered))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.context.offered.describe()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = match self.context.audit.call(Some(&context.id), &request.name) {
            Ok(call) => call,
            Err(busy) => return Ok(tool_result(Err(busy)).into()),
        };
        // On the heap once: what the protocol library makes of a request is moved several times before it begins.
        let answer = Box::pin(self.answer_call(request, context, &call)).await;
        call.answered(&answer);
        answer
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let roots = match self.client.roots(&context, None).await {
            ForCall::Ready(roots) => roots,
            // A list may not ask. What it shows can be named, and is judged when it is read.
            ForCall::Ask(_) => self.context.roots.clone(),
            _ => self.context.roots.narrow([]).into_roots(),
        };
        resources::list(&self.context.offered, &roots, request.and_then(|request| request.cursor).as_deref())
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        resources::templates(&self.context.offered, request.and_then(|request| request.cursor).as_deref())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let call = match self.context.audit.call(Some(&context.id), "resources/read") {
            Ok(call) => call,
            Err(busy) => return Err(resources::refused(&self.context, &busy, &request.uri)),
        };
        let answer = Box::pin(self.answer_read(request, context, &call)).await;
        call.answered(&answer);
        answer
    }

    /// What is no request of the protocol, though its method is: the parameters are at fault.
    async fn on_custom_request(&self, request: CustomRequest, _: RequestContext<RoleServer>) -> Result<CustomResult, ErrorData> {
        let known = ["tools/call", "tools/list", "resources/read", "resources/list", "resources/templates/list"];
        if known.contains(&request.method.as_str()) {
            return Err(ErrorData::invalid_params(format!("the parameters do not fit {}", request.method), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, cap_roots::escape(&request.method), None))
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.client.list_changed(&context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::CallToolResult;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The answer of a call that is stopped at once and ends `after`, with `own` as its own outcome.
    async fn stopped(after: Duration, own: cap_roots::Result<CallToolResult>) -> cap_roots::Result<CallToolResult> {
        let told = AtomicBool::new(false);
        let working = async {
            tokio::time::sleep(after).await;
            Ok(own)
        };
        let stop = || told.store(true, Ordering::SeqCst);
        let outcome = outcome(working, async { ErrorKind::Timeout }, stop, Duration::from_millis(200)).await.unwrap();
        assert!(told.load(Ordering::SeqCst));
        outcome
    }

    /// Catches: a change that was made and is answered with timeout, so that it is made again.
    #[tokio::test]
    async fn what_was_done_is_answered_as_done() {
        let done = || Ok(CallToolResult::success(Vec::new()));
        let soon = Duration::from_millis(20);
        assert!(stopped(soon, done()).await.is_ok());
        let refused = stopped(soon, Err(ErrorKind::Cancelled.into())).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Timeout);
        let hangs = stopped(Duration::from_secs(60), done()).await.unwrap_err();
        assert_eq!(hangs.kind(), ErrorKind::Timeout);
    }
}
