//! Calls that take as long as they are let: the others go on, withdrawn ones end, and the server ends with its client.

#![cfg(unix)]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use support::SERVER;

/// For ever, as far as this test can wait.
const HANG: Duration = Duration::from_secs(60);

struct Session {
    server: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
}

impl Session {
    /// A server on a file that no call reaches the second line of. `None` where the disk takes no such file.
    fn start(arguments: &[&str], dir: &std::path::Path) -> Option<Self> {
        std::fs::File::create(dir.join("endless")).unwrap().set_len(8 << 40).ok()?;
        std::fs::write(dir.join("small"), "small").unwrap();
        let mut server = Command::new(SERVER)
            .args(arguments)
            .arg(dir)
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
        Some(Self { input: server.stdin.take(), server, answers })
    }

    fn send(&mut self, id: Option<usize>, method: &str, mut params: Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}
        });
        let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if let Some(id) = id {
            message["id"] = id.into();
        }
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn call(&mut self, id: usize, tool: &str, arguments: Value) {
        self.send(Some(id), "tools/call", json!({ "name": tool, "arguments": arguments }));
    }

    fn read(&mut self, id: usize, arguments: Value) {
        self.call(id, "read_text_file", arguments);
    }

    /// The answer to `id`; others are passed over.
    fn answer(&self, id: usize) -> Value {
        loop {
            let answer = self.answers.recv_timeout(HANG).expect("no answer");
            if answer["id"] == id {
                return answer;
            }
        }
    }

    fn end(mut self) {
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

/// Catches: calls on the threads that the protocol's own input and output need.
#[test]
fn slow_calls_stop_neither_the_others_nor_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut session) = Session::start(&["--max-seconds", "600"], folder.path()) else {
        println!("skipped: this disk takes no file of 8 TiB");
        return;
    };
    for id in 1..=15 {
        session.read(id, json!({ "path": "endless", "offset": 2 }));
    }
    session.read(100, json!({ "path": "small" }));
    assert_eq!(session.answer(100)["result"]["content"][0]["text"], "small");
    for id in 16..=40 {
        session.read(id, json!({ "path": "endless", "offset": 2 }));
    }
    session.send(Some(101), "tools/list", json!({}));
    assert_eq!(session.answer(101)["result"]["tools"].as_array().unwrap().len(), 16);
    // Withdrawn, they give their turns back.
    for id in 1..=40 {
        session.send(None, "notifications/cancelled", json!({ "requestId": id }));
    }
    session.read(102, json!({ "path": "small" }));
    assert_eq!(session.answer(102)["result"]["content"][0]["text"], "small");
    for id in 41..=80 {
        session.read(id, json!({ "path": "endless", "offset": 2 }));
    }
    session.end();
}

#[test]
fn a_call_over_its_time_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut session) = Session::start(&["--max-seconds", "1"], folder.path()) else {
        println!("skipped: this disk takes no file of 8 TiB");
        return;
    };
    for id in 1..=20 {
        session.read(id, json!({ "path": "endless", "offset": 2 }));
    }
    let answer = session.answer(1);
    assert_eq!(answer["result"]["_meta"]["cap-roots/code"], "timeout", "{answer}");
    session.read(21, json!({ "path": "small" }));
    assert_eq!(session.answer(21)["result"]["content"][0]["text"], "small");
    session.end();
}

/// Catches: a change that is made after its call was answered with timeout.
#[test]
fn a_change_over_its_time_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut session) = Session::start(&["--max-seconds", "1"], folder.path()) else {
        println!("skipped: this disk takes no file of 8 TiB");
        return;
    };
    let file = folder.path().join("large");
    let before = "a line of text\n".repeat(1 << 20);
    std::fs::write(&file, &before).unwrap();
    let edits: Vec<Value> = (0..10_000)
        .map(|number| {
            let word = |number| if number == 0 { "a line".to_owned() } else { format!("line {number} of") };
            json!({ "oldText": word(number), "newText": word(number + 1), "replaceAll": true })
        })
        .collect();
    session.call(1, "edit_file", json!({ "path": "large", "edits": edits }));
    let answer = session.answer(1);
    assert_eq!(answer["result"]["_meta"]["cap-roots/code"], "timeout", "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("look at what is there"), "{answer}");
    // In the queue behind the stopped one, so that it has ended when this is answered.
    session.call(2, "append_file", json!({ "path": "large", "content": "end" }));
    assert!(session.answer(2)["result"]["content"][0]["text"].as_str().unwrap().starts_with("Successfully"));
    assert!(std::fs::read_to_string(&file).unwrap() == before + "end");
    session.end();
}

/// Catches: a copy that goes on after its call was withdrawn, and what it has made so far staying behind.
#[test]
fn a_withdrawn_copy_ends() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut session) = Session::start(&["--max-seconds", "600"], folder.path()) else {
        println!("skipped: this disk takes no file of 8 TiB");
        return;
    };
    std::fs::File::create(folder.path().join("large")).unwrap().set_len(4 << 30).unwrap();
    session.call(1, "copy_file", json!({ "source": "large", "destination": "copy" }));
    std::thread::sleep(Duration::from_millis(50));
    session.call(2, "list_directory", json!({ "path": "." }));
    if session.answer(2)["result"]["content"][0]["text"].as_str().unwrap().contains("[FILE] copy\n") {
        println!("skipped: this disk copies 4 GiB at once");
        return session.end();
    }
    session.send(None, "notifications/cancelled", json!({ "requestId": 1 }));
    // In the queue behind the copy.
    session.call(3, "append_file", json!({ "path": "copy", "content": "free" }));
    let answer = session.answer(3);
    assert_eq!(answer["result"]["content"][0]["text"], "Successfully appended to copy");
    assert_eq!(std::fs::metadata(folder.path().join("copy")).unwrap().len(), 4);
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["copy", "endless", "large", "small"]);
    session.end();
}
