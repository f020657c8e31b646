//! What the protocol library reaches by itself: one tool without work, on the transport that comes with it. `tests/clients/compare.py` measures it
//! beside the servers.
#![allow(missing_docs, reason = "an example")]

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServiceExt, schemars, tool, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Arguments {
    #[expect(dead_code, reason = "a call of the other servers brings it")]
    path: String,
}

struct Empty;

#[tool_router(server_handler)]
impl Empty {
    #[tool(description = "Answers with the same text, whatever the path")]
    async fn read_text_file(&self, Parameters(_): Parameters<Arguments>) -> String {
        "A small file.\n".to_owned()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Empty.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
