//! An MCP server with one tool of its own: counts TODO marks in a file. `cargo run -p cap-roots-mcp --example count_todo -- DIR`
#![allow(missing_docs, clippy::print_stderr, reason = "an example")]

use cap_roots::{Access, Roots};
use cap_roots_rmcp::{ToolPath, tool_result};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::{ServiceExt, schemars, tool, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Arguments {
    path: ToolPath,
}

struct Todo(Roots);

#[tool_router(server_handler)]
impl Todo {
    #[tool(description = "Counts the TODO marks in a text file")]
    fn count_todo(&self, Parameters(Arguments { path }): Parameters<Arguments>) -> CallToolResult {
        let count = self.0.read_to_string(&path).map(|text| text.matches("TODO").count());
        tool_result(count.map(|count| CallToolResult::success(vec![ContentBlock::text(count.to_string())])))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).unwrap_or(".".to_owned());
    eprintln!("serving {dir} to an MCP client on standard input; end with Ctrl-D");
    let roots = Roots::builder().root(dir, Access::Read).open()?;
    Todo(roots).serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
