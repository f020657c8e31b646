//! The server's rate by how many requests have no answer yet, over stdio.

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::Effort;
use crate::measure::{Clock, Job, Spread, in_turns};
use crate::plot::{Plot, Scale, lines};

const WINDOWS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const ROUNDS: usize = 21;
/// Requests in a turn.
const TURN: usize = 256;

/// A session with the program.
struct Session {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

/// The program beside this one, if it was built.
fn program() -> Option<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("cap-roots-mcp"));
    std::env::var_os("CAP_ROOTS_MCP").map(PathBuf::from).or_else(beside).filter(|path| path.is_file())
}

impl Session {
    fn start(program: &PathBuf, root: &str) -> Self {
        let mut server =
            Command::new(program).arg(root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
        let mut session = Self { server, input, output, line: String::new() };
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } });
        session.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }).to_string());
        session.answer();
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        session
    }

    fn send(&mut self, message: &str) {
        self.input.write_all(message.as_bytes()).unwrap();
        self.input.write_all(b"\n").unwrap();
    }

    fn answer(&mut self) -> &str {
        self.line.clear();
        assert!(self.output.read_line(&mut self.line).unwrap() > 0, "the server has ended");
        &self.line
    }

    /// A turn of requests, of which at most `window` have no answer yet.
    fn turn(&mut self, requests: &[String], window: usize) {
        let (first, rest) = requests.split_at(window);
        first.iter().for_each(|request| self.send(request));
        for request in rest {
            self.answer();
            self.send(request);
        }
        for _ in first {
            self.answer();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

pub(crate) fn server(effort: Effort) -> Vec<Plot> {
    let Some(program) = program() else {
        println!("\nno server: cargo build --release -p cap-roots-mcp makes it");
        return Vec::new();
    };
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    (0..100).for_each(|index| fs::write(root.join(format!("file{index}.txt")), "a small file\n").unwrap());
    let calls: [(&str, &str, Value); 2] = [
        ("read_text_file, 13 bytes", "read_text_file", json!({ "path": "file7.txt" })),
        ("list_directory, 100 entries", "list_directory", json!({ "path": "." })),
    ];
    let requests = calls.clone().map(|(_, tool, arguments)| {
        let params = json!({ "name": tool, "arguments": arguments });
        let request = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string();
        (1..=TURN).map(request).collect::<Vec<_>>()
    });
    let session = RefCell::new(Session::start(&program, root.to_str().unwrap()));
    for requests in &requests {
        session.borrow_mut().send(&requests[0]);
        let answer: Value = serde_json::from_str(session.borrow_mut().answer()).unwrap();
        assert!(answer["result"]["isError"] != json!(true) && answer["error"].is_null(), "{answer}");
    }
    let mut spreads = Vec::new();
    for requests in &requests {
        let turn = |window: &usize| {
            let (session, window) = (&session, *window);
            Box::new(move || session.borrow_mut().turn(requests, window)) as Job<'_>
        };
        let times = in_turns(WINDOWS.iter().map(turn).collect(), Clock::Wall, effort.rounds(ROUNDS));
        spreads.extend(times.iter().map(|time| Spread { low: 1.0 / time.high, middle: 1.0 / time.middle, high: 1.0 / time.low }));
    }
    vec![Plot {
        file: "server-rate.svg",
        title: "Server over stdio: rate by requests in flight",
        across: ("requests without an answer yet (number)", Scale::Tens),
        up: ("rate, relative to one request at a time", Scale::Even),
        lines: lines(&calls.map(|(name, ..)| name), &WINDOWS, &spreads),
    }]
}
