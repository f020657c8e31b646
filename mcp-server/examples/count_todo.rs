//! An MCP server with one tool of its own: counts TODO marks under a path. `cargo run -p cap-roots-mcp --example count_todo -- DIR`
#![allow(missing_docs, clippy::print_stderr, reason = "an example")]

use cap_roots::{Access, Entry, FileType, Result, Roots};
use cap_roots_rmcp::{ClientRoots, ToolPath, tool_result};
use rmcp::handler::server::{tool::InputResponses, wrapper::Parameters};
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServiceExt, schemars, tool, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Arguments {
    path: ToolPath,
}

struct Todo(ClientRoots);

#[tool_router(server_handler)]
impl Todo {
    #[tool(description = "Counts the TODO marks in a text file, or in all text files below a directory")]
    async fn count_todo(
        &self,
        Parameters(Arguments { path }): Parameters<Arguments>,
        InputResponses(responses): InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // What the operator granted, narrowed to what the client has open, in whichever era of the protocol it speaks.
        let roots = match self.0.roots(&context, responses.as_ref()).await.or_answer() {
            Ok(roots) => roots,
            Err(answer) => return answer,
        };
        let counted = tokio::task::spawn_blocking(move || count(&roots, &path)).await;
        let counted = counted.map_err(|_| ErrorData::internal_error("the count ended abnormally", None))?;
        Ok(tool_result(counted.map(|count| CallToolResult::success(vec![ContentBlock::text(count.to_string())]))).into())
    }
}

/// The path can be anything that a model says: each open is judged, and what leads outside is refused.
fn count(roots: &Roots, path: &ToolPath) -> Result<usize> {
    let marks = |text: String| text.matches("TODO").count();
    if !roots.metadata(path)?.is_dir() {
        return roots.read_to_string(path).map(marks);
    }
    let is_file = |entry: &Result<Entry>| entry.as_ref().map_or(true, |entry| entry.file_type() == FileType::File);
    // What is no text, or behind a rule, has no mark that counts; a tree that cannot be walked is an error.
    roots.walk(path)?.filter(is_file).map(|file| Ok(file?.read_to_string().map_or(0, marks))).sum()
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).unwrap_or(".".to_owned());
    eprintln!("serving {dir} to an MCP client on standard input; end with Ctrl-D");
    let client = ClientRoots::narrow(Roots::builder().root(dir, Access::Read).open()?);
    let transport = client.watch(rmcp::transport::stdio());
    Todo(client).serve(transport).await?.waiting().await?;
    Ok(())
}
