//! A session by its raw messages: for answers as they are on the wire, and calls that end in another order than they began.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rmcp::service::ClientLifecycleMode;
use serde_json::{Value, json};

use super::SERVER;

/// For ever, as far as a test can wait.
const HANG: Duration = Duration::from_secs(60);

pub(crate) struct Session {
    server: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
    kept: Vec<Value>,
    modern: bool,
    last: usize,
    /// What the server said of itself.
    pub(crate) info: Value,
}

impl Session {
    pub(crate) fn start(era: &ClientLifecycleMode, arguments: &[&str]) -> Self {
        let mut server = Command::new(SERVER)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = send.send(serde_json::from_str(&line).unwrap());
            }
        });
        let modern = !matches!(era, ClientLifecycleMode::Initialize);
        let mut session =
            Self { input: server.stdin.take(), server, answers, kept: Vec::new(), modern, last: 1_000_000, info: Value::Null };
        if modern {
            session.info = session.ask("server/discover", json!({}));
            return session;
        }
        let client = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        session.info = session.ask("initialize", hello);
        session.send(None, "notifications/initialized", json!({}));
        session
    }

    pub(crate) fn send(&mut self, id: Option<usize>, method: &str, mut params: Value) {
        if self.modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}
            });
        }
        let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if let Some(id) = id {
            message["id"] = id.into();
        }
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The answer to `id`; others are kept.
    pub(crate) fn answer(&mut self, id: usize) -> Value {
        while !self.has_answer(id) {
            self.kept.push(self.answers.recv_timeout(HANG).expect("no answer"));
        }
        let at = self.kept.iter().position(|answer| answer["id"] == id).unwrap();
        self.kept.swap_remove(at)
    }

    pub(crate) fn has_answer(&mut self, id: usize) -> bool {
        self.kept.extend(self.answers.try_iter());
        self.kept.iter().any(|answer| answer["id"] == id)
    }

    /// One request and its answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        self.send(Some(self.last), method, params);
        self.answer(self.last)
    }

    /// The answer to a read. It holds `hidden`, a host path, only where the URI does.
    pub(crate) fn read(&mut self, hidden: &str, uri: &str) -> Value {
        let answer = self.ask("resources/read", json!({ "uri": uri }));
        assert!(uri.contains(hidden) || !answer.to_string().contains(hidden), "{answer}");
        answer
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.modern
    }

    /// JSON-RPC's code for what is not there, in this era.
    pub(crate) fn not_found(&self) -> i64 {
        if self.modern { -32602 } else { -32002 }
    }

    pub(crate) fn end(mut self) {
        self.input = None;
        for _ in 0..HANG.as_millis() / 20 {
            if self.server.try_wait().unwrap().is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.server.kill().unwrap();
        panic!("the server outlives its client");
    }
}

/// What a refused read says: JSON-RPC's code and ours. The data of what is not there is its URI alone.
pub(crate) fn refusal(answer: &Value, uri: &str) -> (i64, String) {
    let error = &answer["error"];
    let code = error["message"].as_str().unwrap_or_else(|| panic!("{answer}")).split(": ").next().unwrap();
    let mut data = json!({ "uri": cap_roots::escape(uri) });
    if !["not-found", "outside-roots", "no-roots"].contains(&code) {
        data["code"] = code.into();
    }
    assert_eq!(error["data"], data, "{answer}");
    (error["code"].as_i64().unwrap(), code.to_owned())
}
