//! A server with a few tools, and a client that is a script: it writes lines and reads lines, so that the order on the wire is exact.

#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cap_roots::{Access, Roots};
use cap_roots_rmcp::{ClientRoots, ForCall, tool_result};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, RunningService, ServerInitializeError};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::Semaphore;

/// Directories `a`, `b`, `ab` in `granted`, and `out` beside it; each with a file `name` that holds the directory's name.
pub(crate) struct Tree {
    _folder: TempDir,
    pub(crate) base: PathBuf,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        for dir in ["granted", "granted/a", "granted/b", "granted/ab", "granted/a/deep", "out", "granted-too"] {
            fs::create_dir(base.join(dir)).unwrap();
            fs::write(base.join(dir).join("name"), dir).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(base.join("out"), base.join("granted/link")).unwrap();
        Self { _folder: folder, base }
    }

    pub(crate) fn uri(&self, dir: &str) -> String {
        uri(&self.base.join(dir))
    }

    pub(crate) fn granted(&self) -> Roots {
        Roots::builder().named("granted", self.base.join("granted"), Access::Read).open().unwrap()
    }
}

pub(crate) fn uri(path: &Path) -> String {
    let path = path.to_str().unwrap().replace('\\', "/");
    format!("file://{}{path}", if path.starts_with('/') { "" } else { "/" })
}

pub(crate) fn list(uris: &[String]) -> Value {
    json!({ "roots": uris.iter().map(|uri| json!({ "uri": uri })).collect::<Vec<_>>() })
}

/// Tools: `read` gives the text of the file `path`; `write` empties it; `list` the URIs of the roots; `hold` waits for a permit of `gate` before it reads.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) client: ClientRoots,
    pub(crate) gate: Arc<Semaphore>,
    /// How many calls know what they have to work in.
    pub(crate) begun: Arc<AtomicUsize>,
    /// Whether the handler passes notices on.
    pub(crate) notices: bool,
}

impl Server {
    pub(crate) fn new(client: &ClientRoots) -> Self {
        Self { client: client.clone(), gate: Arc::new(Semaphore::new(0)), begun: Arc::default(), notices: true }
    }

    /// Waits until another call knows what it has to work in, after what `begin` does.
    pub(crate) async fn one_more<T>(begun: &AtomicUsize, begin: impl Future<Output = T>) {
        let before = begun.load(Ordering::SeqCst);
        begin.await;
        while begun.load(Ordering::SeqCst) == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let outcome = self.client.roots(&context, call.input_responses.as_ref()).await;
        self.begun.fetch_add(1, Ordering::SeqCst);
        let roots = match outcome.or_answer() {
            Ok(roots) => roots,
            Err(answer) => return answer,
        };
        if call.name == "hold" {
            self.gate.acquire().await.unwrap().forget();
        }
        let path = call.arguments.as_ref().and_then(|arguments| arguments.get("path")).and_then(Value::as_str).unwrap_or("name");
        let text = match &*call.name {
            "list" => Ok(roots.list().map(|root| root.uri()).collect::<Vec<_>>().join(" ")),
            "write" => roots.write(path, "").map(|()| "ok".to_owned()),
            _ => roots.read_to_string(path),
        };
        Ok(tool_result(text.map(|text| CallToolResult::success(vec![ContentBlock::text(text)]))).into())
    }

    async fn read_resource(
        &self,
        read: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let outcome: ForCall = self.client.roots(&context, read.input_responses.as_ref()).await;
        let roots = match outcome.or_answer() {
            Ok(roots) => roots,
            Err(answer) => return answer,
        };
        let text = roots.read_to_string(&read.uri).map_err(|error| ErrorData::resource_not_found(error.to_string(), None))?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, read.uri)]).into())
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        if self.notices {
            self.client.list_changed(&context);
        }
    }
}

/// A client that is a script.
pub(crate) struct Wire {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
    id: u64,
    /// How often it was asked for its roots.
    pub(crate) asked: usize,
    /// What came while something else was waited for.
    early: Vec<Value>,
}

pub(crate) enum Kind {
    /// The handler alone sees notices.
    Plain,
    Watched,
}

impl Wire {
    /// Connected to a server, with nothing said.
    pub(crate) fn new(server: Server, kind: &Kind) -> Self {
        let client = server.client.clone();
        match kind {
            Kind::Plain => Self::with(|stream| server.serve(stream)),
            Kind::Watched => Self::with(|stream| server.serve(client.watch(stream))),
        }
    }

    pub(crate) fn with<F>(serve: impl FnOnce(DuplexStream) -> F) -> Self
    where
        F: Future<Output = Result<RunningService<RoleServer, Server>, ServerInitializeError>> + Send + 'static,
    {
        Self::with_room(4 << 20, serve)
    }

    /// With so many bytes that may be under way.
    pub(crate) fn with_room<F>(room: usize, serve: impl FnOnce(DuplexStream) -> F) -> Self
    where
        F: Future<Output = Result<RunningService<RoleServer, Server>, ServerInitializeError>> + Send + 'static,
    {
        let (ours, theirs) = tokio::io::duplex(room);
        let serving = serve(theirs);
        tokio::spawn(async move { serving.await.unwrap().waiting().await.unwrap() });
        let (read, out) = tokio::io::split(ours);
        Self { lines: BufReader::new(read).lines(), out, id: 1000, asked: 0, early: Vec::new() }
    }

    pub(crate) async fn legacy(server: Server, kind: &Kind, capabilities: Value) -> Self {
        let mut wire = Self::new(server, kind);
        wire.initialize(capabilities).await;
        wire
    }

    /// A watched legacy client that offers roots.
    pub(crate) async fn usual(client: &ClientRoots) -> Self {
        Self::legacy(Server::new(client), &Kind::Watched, json!({ "roots": { "listChanged": true } })).await
    }

    pub(crate) async fn initialize(&mut self, capabilities: Value) {
        let info = json!({ "name": "script", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info });
        self.send(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await;
        assert_eq!(self.receive().await["id"], 0);
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_all(&[message]).await;
    }

    /// In one write, so that nothing happens in between.
    pub(crate) async fn send_all(&mut self, messages: &[Value]) {
        let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
        self.out.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn receive(&mut self) -> Value {
        if !self.early.is_empty() {
            return self.early.remove(0);
        }
        self.next().await
    }

    /// The next line from the server but for what ends an exchange that it gave up.
    async fn next(&mut self) -> Value {
        loop {
            let line =
                tokio::time::timeout(Duration::from_secs(30), self.lines.next_line()).await.expect("the server says nothing");
            let line = line.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "roots/list" {
                self.asked += 1;
            }
            if message["method"] != "notifications/cancelled" {
                return message;
            }
        }
    }

    pub(crate) fn call(&mut self, tool: &str, path: &str) -> (u64, Value) {
        self.request("tools/call", json!({ "name": tool, "arguments": { "path": path } }))
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> (u64, Value) {
        self.id += 1;
        (self.id, json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }))
    }

    pub(crate) fn modern(&mut self, method: &str, mut params: Value, capabilities: Value) -> (u64, Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": { "name": "script", "version": "1" },
        });
        self.request(method, params)
    }

    /// The question of the server, by its id.
    pub(crate) async fn question(&mut self) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] == "roots/list" {
                return message["id"].clone();
            }
            self.early.push(message);
        }
    }

    pub(crate) async fn answer(&mut self, question: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": question, "result": result })).await;
    }

    /// The answer to the request of this id.
    pub(crate) async fn reply(&mut self, id: u64) -> Value {
        if let Some(at) = self.early.iter().position(|message| message["id"] == id && message.get("method").is_none()) {
            return self.early.remove(at);
        }
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.early.push(message);
        }
    }

    /// A call that is answered without a question.
    pub(crate) async fn known(&mut self, tool: &str, path: &str) -> String {
        let asked = self.asked;
        let (id, call) = self.call(tool, path);
        self.send(call).await;
        let text = text(&self.reply(id).await);
        assert_eq!(self.asked, asked, "asked again");
        text
    }

    /// A call for which the client is asked once.
    pub(crate) async fn asked(&mut self, tool: &str, path: &str, result: Value) -> String {
        let (id, call) = self.call(tool, path);
        self.send(call).await;
        let question = self.question().await;
        self.answer(&question, result).await;
        text(&self.reply(id).await)
    }

    pub(crate) async fn changed(&mut self) {
        self.send(changed()).await;
    }

    /// A modern call that brings its list.
    pub(crate) async fn brought(&mut self, tool: &str, path: &str, answer: Value) -> String {
        let params = json!({ "name": tool, "arguments": { "path": path }, "inputResponses": { "client_roots": answer } });
        let (id, call) = self.modern("tools/call", params, json!({ "roots": {} }));
        self.send(call).await;
        text(&self.reply(id).await)
    }
}

pub(crate) fn changed() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" })
}

/// What a tool said; for a refusal its code; for anything else the whole.
pub(crate) fn text(reply: &Value) -> String {
    let text = reply["result"]["content"][0]["text"].as_str();
    match (text, reply["result"]["isError"].as_bool()) {
        (Some(_), Some(true)) => reply["result"]["_meta"]["cap-roots/code"].as_str().unwrap().to_owned(),
        (Some(text), _) => text.to_owned(),
        (None, _) => reply.to_string(),
    }
}
