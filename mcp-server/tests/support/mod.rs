//! A server started for a test, and clients of it.

#![allow(dead_code, reason = "each test binary uses a part")]

pub(crate) mod http;
pub(crate) mod roots;
pub(crate) mod wire;
pub(crate) mod xorshift;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use rmcp::model::{CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RoleClient, RunningService, Service, serve_client_with_lifecycle};
use rmcp::transport::TokioChildProcess;
use serde_json::Value;

pub(crate) const SERVER: &str = env!("CARGO_BIN_EXE_cap-roots-mcp");

pub(crate) type Client = RunningService<RoleClient, ClientConfig>;

/// Both eras of the protocol.
pub(crate) fn eras() -> [ClientLifecycleMode; 2] {
    [ClientLifecycleMode::Initialize, ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }]
}

pub(crate) async fn client(era: ClientLifecycleMode, arguments: &[&str]) -> Client {
    let mut command = tokio::process::Command::new(SERVER);
    command.args(arguments);
    let config = ClientConfig::new(ClientCapabilities::default(), Implementation::new("test", "1"));
    serve_client_with_lifecycle(config, TokioChildProcess::new(command).unwrap(), era).await.unwrap()
}

pub(crate) async fn call<H: Service<RoleClient>>(
    client: &RunningService<RoleClient, H>,
    tool: &str,
    arguments: Value,
) -> CallToolResult {
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.as_object().unwrap().clone());
    let deadline = std::time::Duration::from_secs(60);
    tokio::time::timeout(deadline, client.call_tool(request)).await.expect("no answer").unwrap()
}

/// Several calls that are all sent before the first is answered; the answers in the order of the calls.
pub(crate) async fn calls(client: &Client, calls: Vec<(&str, Value)>) -> Vec<CallToolResult> {
    let asked: Vec<_> = calls
        .into_iter()
        .map(|(tool, arguments)| {
            let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.as_object().unwrap().clone());
            let peer = client.peer().clone();
            tokio::spawn(async move { peer.call_tool(request).await.unwrap() })
        })
        .collect();
    let mut answers = Vec::new();
    for asked in asked {
        answers.push(asked.await.unwrap());
    }
    answers
}

/// The names of the tools that are offered.
pub(crate) async fn offered(client: &Client) -> Vec<String> {
    client.list_all_tools().await.unwrap().into_iter().map(|tool| tool.name.into_owned()).collect()
}

/// The first text block.
pub(crate) fn text(result: &CallToolResult) -> &str {
    result.content.first().and_then(|block| block.as_text()).map_or("", |text| &text.text)
}

/// The code of a refusal, from `_meta`; the text starts with it.
pub(crate) fn code(result: &CallToolResult) -> Option<String> {
    let code = result.meta.as_ref()?.0.get("cap-roots/code")?.as_str()?.to_owned();
    assert_eq!(result.is_error, Some(true));
    assert!(text(result).starts_with(&format!("{code}: ")), "{}", text(result));
    Some(code)
}

/// A directory `ws` to serve, with links in and out, beside `out`, which is not served.
pub(crate) fn workspace() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    let ws = base.join("ws");
    fs::create_dir_all(ws.join("sub/deeper")).unwrap();
    fs::create_dir(base.join("out")).unwrap();
    fs::write(base.join("out/k.txt"), "SECRET").unwrap();
    fs::write(ws.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    fs::write(ws.join("sub/b.md"), "b").unwrap();
    symlink(ws.join("sub"), ws.join("abs")).unwrap();
    symlink("../out/k.txt", ws.join("l")).unwrap();
    (folder, ws.to_str().unwrap().to_owned())
}

/// What is around the directory of [`workspace`]: a path that no answer may tell.
pub(crate) fn base(ws: &str) -> &str {
    ws.strip_suffix("/ws").unwrap()
}

/// All that is below a directory: names with content, or where links lead.
pub(crate) fn tree(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap();
        if kind.is_dir() {
            found.push(format!("{}/", path.display()));
            found.extend(tree(&path));
        } else if kind.is_symlink() {
            found.push(format!("{} -> {}", path.display(), fs::read_link(&path).unwrap().display()));
        } else {
            found.push(format!("{} {:?}", path.display(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// One run of the program: standard output, standard error, status.
pub(crate) fn run(dir: &Path, arguments: &[&str]) -> (String, String, i32) {
    let output = Command::new(SERVER).current_dir(dir).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}
