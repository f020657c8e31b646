//! A session by its raw messages: for answers as they are on the wire, and calls that end in another order than they began.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
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
        let mut command = Command::new(SERVER);
        command.args(arguments).stderr(Stdio::inherit());
        Self::of(era, command)
    }

    /// With a server that `command` starts.
    pub(crate) fn of(era: &ClientLifecycleMode, mut command: Command) -> Self {
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
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

    pub(crate) fn send(&mut self, id: Option<usize>, method: &str, params: Value) {
        let message = self.message(id, method, params);
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn message(&self, id: Option<usize>, method: &str, mut params: Value) -> Value {
        if self.modern {
            // Beside what the test itself says there.
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if let Some(id) = id {
            message["id"] = id.into();
        }
        message
    }

    /// The answer to `id`; others are kept.
    pub(crate) fn answer(&mut self, id: usize) -> Value {
        while !self.has_answer(id) {
            self.kept.push(self.answers.recv_timeout(HANG).expect("no answer"));
        }
        let at = self.kept.iter().position(|answer| answer["id"] == id).unwrap();
        self.kept.swap_remove(at)
    }

    /// The answer to `id`, if one comes before the server ends.
    pub(crate) fn answer_if_any(&mut self, id: usize) -> Option<Value> {
        while !self.has_answer(id) {
            self.kept.push(self.answers.recv_timeout(HANG).ok()?);
        }
        Some(self.answer(id))
    }

    /// All that came up to the answer to `id`, in order.
    pub(crate) fn until_answer(&mut self, id: usize) -> Vec<Value> {
        while !self.has_answer(id) {
            self.kept.push(self.answers.recv_timeout(HANG).expect("no answer"));
        }
        std::mem::take(&mut self.kept)
    }

    /// What came that answers nothing.
    pub(crate) fn notifications(&mut self) -> Vec<Value> {
        self.kept.extend(self.answers.try_iter());
        std::mem::take(&mut self.kept)
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

    /// Most memory that the server had so far, in kB, where the system tells.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.id())).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        peak.trim().trim_end_matches(" kB").trim().parse().ok()
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.modern
    }

    /// JSON-RPC's code for what is not there, in this era.
    pub(crate) fn not_found(&self) -> i64 {
        if self.modern { -32602 } else { -32002 }
    }

    /// Bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// A request as a line, with its end.
    pub(crate) fn line(&self, id: usize, method: &str, params: Value) -> String {
        format!("{}\n", self.message(Some(id), method, params))
    }

    /// The next answer, whatever it is to.
    pub(crate) fn next(&mut self) -> Value {
        if self.kept.is_empty() { self.answers.recv_timeout(HANG).expect("no answer") } else { self.kept.remove(0) }
    }

    /// Nothing more is sent.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// SIGTERM or another signal, by name.
    pub(crate) fn signal(&self, name: &str) {
        signal(&self.server, name);
    }

    pub(crate) fn end(mut self) {
        self.close();
        self.wait();
    }

    /// What the server has said on standard error, for who asked for it; once it has ended.
    pub(crate) fn end_and_hear(mut self) -> String {
        let mut errors = self.server.stderr.take().unwrap();
        let told = std::thread::spawn(move || std::io::read_to_string(&mut errors).unwrap());
        self.end();
        told.join().unwrap()
    }

    /// How the server ends by itself.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        wait(&mut self.server)
    }
}

pub(crate) fn signal(server: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &server.id().to_string()]).status().unwrap().success());
}

pub(crate) fn wait(server: &mut Child) -> ExitStatus {
    for _ in 0..HANG.as_millis() / 20 {
        if let Some(status) = server.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    server.kill().unwrap();
    panic!("the server outlives its client");
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
