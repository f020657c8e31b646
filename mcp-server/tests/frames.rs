//! The wire itself: lines that are no messages, long ones, many at once, and how the server ends.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cap_roots_oracle::needs;
use serde_json::{Value, json};
use support::wire::{Session, signal, wait};
use support::{SERVER, eras};

/// Lines, and what each is answered with: a code, and the id where it can be told.
fn faults() -> Vec<(Vec<u8>, i64, Value)> {
    let (parse, invalid) = (-32700, -32600);
    let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}", "[".repeat(100_000));
    let text = |text: &str| text.as_bytes().to_vec();
    let mut all: Vec<_> = [
        ("{", parse, Value::Null),
        ("no JSON", parse, Value::Null),
        ("\"\\ud800\"", parse, Value::Null),
        ("1e999", parse, Value::Null),
        ("{} {}", parse, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\u{0}", parse, Value::Null),
        (&deep, parse, Value::Null),
        ("5", invalid, Value::Null),
        ("null", invalid, Value::Null),
        ("\"ping\"", invalid, Value::Null),
        ("[]", invalid, Value::Null),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", invalid, Value::Null),
        ("{}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\"}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"x\"}", invalid, json!("x")),
        ("{\"id\":1,\"method\":\"ping\"}", invalid, json!(1)),
        ("{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}", invalid, json!("a")),
        ("{\"jsonrpc\":2.0,\"id\":-7,\"method\":\"ping\"}", invalid, json!(-7)),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", invalid, json!(1)),
        ("{\"jsonrpc\":\"2.0\",\"method\":5}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":5}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":\"y\"}", invalid, json!(1)),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", invalid, Value::Null),
        // A number that is read as another one.
        ("{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"ping\"}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":-1e20,\"method\":5}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":2.0,\"method\":5}", invalid, json!(2.0)),
        ("{\"jsonrpc\":\"2.0\",\"id\":18446744073709551615,\"method\":\"ping\"}", invalid, json!(u64::MAX)),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/list\"}", invalid, json!(1)),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":[{\"b\":1,\"b\":2}]}}", invalid, json!(1)),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}", invalid, json!(1)),
        // An id of ours, which may be that of another request where the client reads it.
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":1,\"message\":\"\"}}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":5}", invalid, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"result\":{}}", invalid, Value::Null),
    ]
    .map(|(line, code, id)| (text(line), code, id))
    .into();
    all.push((b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec(), parse, Value::Null));
    all.push((b"\xff\xfe{\0}\0".to_vec(), parse, Value::Null));
    all
}

/// Catches: a line that is dropped, so that its sender waits for ever; an id that is made up; a fault that ends the session.
#[test]
fn every_line_that_is_no_message_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    for era in eras() {
        let mut session = Session::start(&era, &[folder.path().to_str().unwrap()]);
        for (line, code, id) in faults() {
            let shown = String::from_utf8_lossy(&line[..line.len().min(90)]).into_owned();
            session.raw(&[&line[..], b"\n"].concat());
            let answer = session.next();
            assert_eq!((&answer["jsonrpc"], &answer["error"]["code"]), (&json!("2.0"), &json!(code)), "{shown}: {answer}");
            assert_eq!(answer.as_object().unwrap().get("id"), Some(&id), "{shown}: {answer}");
            assert!(answer["error"]["message"].as_str().is_some_and(|message| message.len() > 10), "{answer}");
            assert!(session.ask("tools/list", json!({}))["result"].is_object(), "{shown}");
        }
        session.end();
    }
}

/// Catches: an answer to what asks for none, which a peer of the same kind would answer again, and again; lines that are sound and refused.
#[test]
fn what_needs_no_answer_gets_none() {
    let folder = tempfile::tempdir().unwrap();
    for era in eras() {
        let mut session = Session::start(&era, &[folder.path().to_str().unwrap()]);
        for line in [
            "",
            "\r",
            "  \t ",
            "\u{feff}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"$/no/such\",\"params\":[]}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":77,\"error\":{\"code\":1,\"message\":\"\"}}",
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}",
        ] {
            session.raw(format!("{line}\n").as_bytes());
            let request = session.line(5, "tools/list", json!({}));
            session.raw(format!("\u{feff} {}\r\n", request.trim_end()).as_bytes());
            assert_eq!(session.next()["id"], 5, "{line:?}");
        }
        session.end();
    }
}

/// Catches: a fault before the handshake that ends the session or is not answered; a first line that is the last; an end that does not wait for
/// what is still to be written.
#[test]
fn faults_are_answered_before_the_handshake() {
    let (mut server, _) = start(&[]);
    // Answers for more than a pipe, whose reader is late.
    let lines = "{\n".repeat(2_000);
    server.stdin.take().unwrap().write_all(format!("\n{lines}[]").as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let output = server.wait_with_output().unwrap();
    let answers: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<_> = answers.iter().map(|answer| answer["error"]["code"].as_i64().unwrap()).collect();
    assert_eq!((codes.len(), codes[0], codes[1_999], codes[2_000]), (2_001, -32700, -32700, -32600));
    assert_eq!(output.status.code(), Some(0));
}

/// Catches: a notification or a stray response that ends the server because no request came before it, or only one that begins nothing.
#[test]
fn what_comes_before_the_first_request_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let meta =
        json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let ask = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let stray = [
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":77,\"error\":{\"code\":1,\"message\":\"\"}}",
    ]
    .join("\n");
    let unknown =
        json!({ "io.modelcontextprotocol/protocolVersion": "1999-01-01", "io.modelcontextprotocol/clientCapabilities": {} });
    for before in [
        None,
        Some(ask("ping", json!({}))),
        Some(ask("server/discover", json!({ "_meta": meta }))),
        Some(ask("tools/list", json!({}))),
        Some(ask("tools/list", json!({ "_meta": unknown }))),
    ] {
        for last in [ask("initialize", hello.clone()), ask("tools/list", json!({ "_meta": meta }))] {
            let (mut server, _) = start(&[dir]);
            let mut input = server.stdin.take().unwrap();
            let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
            let mut answers = Vec::new();
            for line in before.iter().chain([&last]) {
                writeln!(input, "{stray}\n{line}").unwrap();
                answers.push(lines.next().unwrap_or_else(|| panic!("{before:?}: no answer to {line}")).unwrap());
            }
            assert!(answers.last().unwrap().contains("\"result\""), "{answers:?}");
            drop(input);
            assert!(lines.next().is_none() && server.wait().unwrap().success(), "{before:?}");
        }
    }
}

/// Catches: a limit below what clients send, and a longer line that is kept, dropped, or taken for several.
#[test]
fn long_lines_are_taken_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::start(&eras()[1], &[folder.path().to_str().unwrap()]);
    let content = "x".repeat(16 << 20);
    let line = session.line(1, "tools/call", json!({ "name": "write_file", "arguments": { "path": "n", "content": content } }));
    session.raw(line.as_bytes());
    let answer = session.answer(1);
    assert_eq!(answer["result"]["content"][0]["text"], "Successfully wrote to n", "{answer}");
    assert_eq!(fs::metadata(folder.path().join("n")).unwrap().len(), 16 << 20);
    let line = session.line(2, "ping", json!({ "x": "x".repeat(64 << 20) }));
    session.raw(line.as_bytes());
    let answer = session.next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)));
    assert_eq!(answer["error"]["message"], "the message is too long; the limit is 67108864 bytes");
    assert!(session.ask("tools/list", json!({}))["result"].is_object());
    session.end();
}

/// Catches: requests that are lost, or answered twice, where many are there at once; an id that comes back as another kind.
#[test]
fn a_thousand_requests_at_once_have_an_answer_each() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "text").unwrap();
    for era in eras() {
        let mut session = Session::start(&era, &[folder.path().to_str().unwrap()]);
        let read = json!({ "name": "read_text_file", "arguments": { "path": "a" } });
        let write = |id: usize| json!({ "name": "append_file", "arguments": { "path": "b", "content": format!("{id}\n") } });
        let lines: String = (0..1_000)
            .map(|id| match id % 4 {
                0 => session.line(id, "tools/list", json!({})),
                1 => session.line(id, "tools/call", write(id)),
                2 => session.line(id, "tools/call", read.clone()).replace(&format!("\"id\":{id}"), &format!("\"id\":\"s{id}\"")),
                _ => session.line(id, "tools/call", read.clone()),
            })
            .collect();
        session.raw(lines.as_bytes());
        let mut ids: Vec<String> = (0..1_000).map(|_| session.next()["id"].to_string()).collect();
        ids.sort();
        let mut want: Vec<String> =
            (0..1_000).map(|id| if id % 4 == 2 { format!("\"s{id}\"") } else { id.to_string() }).collect();
        want.sort();
        assert_eq!(ids, want);
        assert_eq!(fs::read_to_string(folder.path().join("b")).unwrap().lines().count(), 250);
        fs::remove_file(folder.path().join("b")).unwrap();
        session.end();
    }
}

fn start(arguments: &[&str]) -> (Child, u32) {
    let server = Command::new(SERVER).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let id = server.id();
    (server, id)
}

fn request(id: usize, method: &str, mut params: Value) -> String {
    params["_meta"] =
        json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Catches: answers that are kept without bound for a client that writes and does not read.
#[test]
fn a_client_that_does_not_read_is_held_back() {
    const ALL: usize = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let (mut server, _) = start(&[folder.path().to_str().unwrap()]);
    let mut input = server.stdin.take().unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let writer = std::thread::spawn(move || {
        for id in 0..ALL {
            input.write_all(request(id, "resources/templates/list", json!({})).as_bytes()).unwrap();
            count.store(id + 1, Ordering::SeqCst);
        }
    });
    let mut before = usize::MAX;
    while before != sent.load(Ordering::SeqCst) {
        before = sent.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_secs(2));
    }
    assert!(before < ALL, "all were taken");
    // Nothing is lost by it.
    let answers = BufReader::new(server.stdout.take().unwrap()).lines().count();
    writer.join().unwrap();
    assert_eq!((answers, wait(&mut server).code()), (ALL, Some(0)));
}

/// Catches: a last request that has no end of line and no answer, and an end of input that takes the answers with it.
#[test]
fn what_was_asked_before_the_end_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("large"), vec![b'x'; 1 << 20]).unwrap();
    for era in eras() {
        let mut session = Session::start(&era, &[folder.path().to_str().unwrap()]);
        for id in 1..=20 {
            let copy = json!({ "source": "large", "destination": format!("copy-{id}") });
            session.send(Some(id), "tools/call", json!({ "name": "copy_file", "arguments": copy }));
        }
        let last = session.line(21, "tools/list", json!({}));
        session.raw(last.trim_end().as_bytes());
        session.close();
        for id in 1..=21 {
            let answer = session.answer(id);
            assert!(answer["result"].is_object() && answer["result"]["isError"] != true, "{answer}");
        }
        assert_eq!(session.wait().code(), Some(0));
        assert_eq!(names(folder.path()).len(), 21);
        (1..=20).for_each(|id| fs::remove_file(folder.path().join(format!("copy-{id}"))).unwrap());
    }
}

/// Catches: a call that holds the end for as long as it likes, or has no answer when it is stopped.
#[test]
fn what_does_not_end_is_stopped_and_answered() {
    let folder = tempfile::tempdir().unwrap();
    if !needs::endless(folder.path()) {
        return;
    }
    for how in ["end", "-TERM", "-INT"] {
        let mut session = Session::start(&eras()[1], &["--max-seconds", "600", folder.path().to_str().unwrap()]);
        for id in 1..=20 {
            let read = json!({ "path": "endless", "offset": 2 });
            session.send(Some(id), "tools/call", json!({ "name": "read_text_file", "arguments": read }));
        }
        session.ask("tools/list", json!({}));
        if how == "end" {
            session.close()
        } else {
            session.signal(how)
        }
        for id in 1..=20 {
            let answer = session.answer(id);
            assert_eq!(answer["result"]["_meta"]["cap-roots/code"], "cancelled", "{how}: {answer}");
        }
        assert_eq!(session.wait().code(), Some(0), "{how}");
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Catches: an end by a signal that leaves half a file, a hidden one, or a call without its answer.
#[test]
fn a_signal_leaves_whole_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let content = "0123456789abcdef".repeat(1 << 14);
    for (round, after) in [0, 5, 20, 60, 150].into_iter().enumerate() {
        let dir = folder.path().join(round.to_string());
        fs::create_dir_all(dir.join("tree")).unwrap();
        fs::write(dir.join("large"), vec![b'x'; 64 << 20]).unwrap();
        (0..2_000).for_each(|file| fs::write(dir.join(format!("tree/{file}")), "x").unwrap());
        let mut session = Session::start(&eras()[round % 2], &[dir.to_str().unwrap()]);
        let mut last = 0;
        let mut call = |session: &mut Session, tool: &str, arguments: Value| {
            last += 1;
            session.send(Some(last), "tools/call", json!({ "name": tool, "arguments": arguments }));
        };
        call(&mut session, "delete_directory", json!({ "path": "tree", "recursive": true }));
        call(&mut session, "copy_file", json!({ "source": "large", "destination": "copy" }));
        for file in 0..40 {
            call(&mut session, "write_file", json!({ "path": format!("new-{file}"), "content": content }));
        }
        std::thread::sleep(Duration::from_millis(after));
        session.signal("-TERM");
        let answered: Vec<_> = (1..=last).map(|id| (id, session.answer_if_any(id))).collect();
        assert_eq!(session.wait().code(), Some(0));
        for name in names(&dir) {
            let length = fs::symlink_metadata(dir.join(&name)).unwrap().len();
            let whole = match name.as_str() {
                "large" | "copy" => 64 << 20,
                "tree" => length,
                _ => content.len() as u64,
            };
            assert_eq!(length, whole, "{after} ms: {name}");
            assert!(!name.starts_with('.'), "{after} ms: {name}");
        }
        // What was answered as done is there.
        for (id, answer) in answered.into_iter().filter_map(|(id, answer)| Some((id, answer?))).filter(|(id, _)| *id > 2) {
            let done = answer["result"]["isError"] != true && answer["result"].is_object();
            assert_eq!(dir.join(format!("new-{}", id - 3)).exists(), done, "{after} ms: {answer}");
        }
    }
}

/// Catches: a second signal that is waited on like the first.
#[test]
fn a_second_signal_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for (name, status) in [("-TERM", 143), ("-INT", 130)] {
        let (mut server, _) = start(&[folder.path().to_str().unwrap()]);
        // More than a pipe holds, so that the last answers wait for a reader.
        let requests: String = (0..100).map(|id| request(id, "tools/list", json!({}))).collect();
        server.stdin.as_mut().unwrap().write_all(requests.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        signal(&server, name);
        std::thread::sleep(Duration::from_millis(500));
        assert!(server.try_wait().unwrap().is_none(), "the answers had a reader");
        signal(&server, name);
        assert_eq!(wait(&mut server).code(), Some(status));
    }
}
