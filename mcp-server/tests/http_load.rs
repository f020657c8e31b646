//! Streamable HTTP: many clients at once, clients that leave, and the end.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use cap_roots_oracle::needs;
use serde_json::{Value, json};
use support::http::{Client, Connection, HANG, Server};
use support::workspace;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Catches: sessions that get into each other's way, and answers that go to another client.
#[test]
fn two_hundred_sessions_each_with_its_own_answers() {
    let (_folder, ws) = workspace();
    for number in 0..200 {
        fs::write(format!("{ws}/{number}.txt"), format!("text {number}")).unwrap();
    }
    let server = Server::start(&[&ws]);
    let mut clients: Vec<_> = (0..200).map(|_| server.client(false)).collect();
    let sessions: HashSet<_> = clients.iter().map(|client| client.session.clone().unwrap()).collect();
    assert_eq!(sessions.len(), 200);
    std::thread::scope(|scope| {
        for (part, clients) in clients.chunks_mut(25).enumerate() {
            scope.spawn(move || {
                for round in 0..3 {
                    for (index, client) in clients.iter_mut().enumerate() {
                        let number = (part * 25 + index + round * 67) % 200;
                        let text = client.call("read_text_file", json!({ "path": format!("{number}.txt") }));
                        assert_eq!(text, format!("text {number}"));
                    }
                }
            });
        }
    });
}

/// Catches: changes of two clients that overtake each other.
#[test]
fn changes_of_several_clients_queue() {
    let (_folder, ws) = workspace();
    let server = Server::start(&[&ws]);
    std::thread::scope(|scope| {
        for modern in [false, true, false, true] {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client(modern);
                for _ in 0..25 {
                    let told = client.call("append_file", json!({ "path": "log.txt", "content": "line\n" }));
                    assert!(told.starts_with("Successfully"), "{told}");
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(format!("{ws}/log.txt")).unwrap(), "line\n".repeat(100));
}

/// Catches: connections without a bound, and places that are not given back.
#[test]
fn more_connections_than_there_is_room_for() {
    let (_folder, ws) = workspace();
    let server = Server::start(&[&ws]);
    let held: Vec<_> = (0..256).map(|_| server.connect()).collect();
    let reply = server.post(&[], HELLO);
    assert_eq!((reply.status, reply.header("retry-after")), (503, "1"), "{reply:?}");
    drop(held);
    let begun = Instant::now();
    while server.post(&[], HELLO).status != 200 {
        assert!(begun.elapsed() < HANG, "places are not given back");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A call that takes as long as it may, of the file that `needs::endless` makes.
fn endless() -> Value {
    json!({ "name": "read_text_file", "arguments": { "path": "endless", "offset": 2 } })
}

/// Such a call of each client, at work.
fn at_work(server: &Server, clients: [&mut Client<'_>; 2]) -> Vec<Connection> {
    let begin = |client: &mut Client<'_>| {
        let mut connection = server.connect();
        connection.write(&client.request("tools/call", endless()));
        connection
    };
    clients.map(begin).into()
}

/// Catches: a call that goes on, and keeps its turn, when its client has gone.
#[test]
fn a_client_that_leaves_takes_its_calls_along() {
    let (_folder, ws) = workspace();
    if !needs::endless(Path::new(&ws)) {
        return;
    }
    let server = Server::start(&["--max-seconds", "600", &ws]);
    let mut client = server.client(true);
    for _ in 0..3 {
        let left: Vec<_> = (0..16)
            .map(|_| {
                let mut connection = server.connect();
                connection.write(&client.request("tools/call", endless()));
                connection
            })
            .collect();
        std::thread::sleep(Duration::from_millis(100));
        drop(left);
    }
    assert_eq!(client.call("read_text_file", json!({ "path": "a.txt" })), "one\ntwo\nthree\n");
}

/// Catches: an end that cuts off a call, waits for a standing stream, takes new connections, or is no success.
#[test]
fn a_signal_ends_it_when_the_calls_at_work_are_answered() {
    let (_folder, ws) = workspace();
    if !needs::endless(Path::new(&ws)) {
        return;
    }
    let server = Server::start(&["--max-seconds", "1", &ws]);
    let (mut legacy, mut modern) = (server.client(false), server.client(true));
    let mut standing = server.connect();
    let session = legacy.session.clone().unwrap();
    standing.write(&server.request("GET", "/mcp", &[("mcp-session-id", &session)], b""));
    assert_eq!(standing.head().unwrap().status, 200);
    let at_work = at_work(&server, [&mut legacy, &mut modern]);
    std::thread::sleep(Duration::from_millis(300));
    server.terminate();
    for mut connection in at_work {
        let reply = connection.reply();
        assert!(reply.status == 200 && reply.body.contains("timeout: "), "{reply:?}");
    }
    while standing.chunk().is_some_and(|part| !part.is_empty()) {}
    let at = server.at;
    let (status, _) = server.ended();
    assert!(status.success(), "{status}");
    assert!(std::net::TcpStream::connect(at).is_err());
}

/// Catches: a second request of an id at work, which leaves one of the two unanswered and its place taken; one id for all sessions.
#[test]
fn an_id_at_work_is_not_taken_again() {
    let (_folder, ws) = workspace();
    if !needs::endless(Path::new(&ws)) {
        return;
    }
    let server = Server::start(&["--max-seconds", "3", &ws]);
    let (one, mut other) = (server.client(false), server.client(false));
    let session = one.session.clone().unwrap();
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": endless() }).to_string();
    let mut at_work = server.connect();
    at_work.write(&server.request("POST", "/mcp", &headers, call.as_bytes()));
    assert_eq!(at_work.head().unwrap().status, 200);
    let begun = Instant::now();
    for _ in 0..70 {
        let reply = server.post(&headers, &call);
        assert_eq!(reply.status, 400, "{reply:?}");
        let answer = &reply.messages()[0];
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)), "{answer}");
    }
    assert_eq!(other.call("read_text_file", json!({ "path": "a.txt" })), "one\ntwo\nthree\n");
    assert!(begun.elapsed() < Duration::from_secs(3));
    let mut answer = Vec::new();
    while let Some(part) = at_work.chunk().filter(|part| !part.is_empty()) {
        answer.extend(part);
    }
    assert!(String::from_utf8(answer).unwrap().contains("timeout: "));
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    assert_eq!(server.post(&headers, ping).status, 200);
}

/// Catches: an end that tells of the calls it has to leave, as if something had gone wrong.
#[test]
fn a_signal_ends_it_without_a_word() {
    let (_folder, ws) = workspace();
    if !needs::endless(Path::new(&ws)) {
        return;
    }
    let server = Server::start(&["--max-seconds", "600", &ws]);
    let _at_work = at_work(&server, [&mut server.client(false), &mut server.client(true)]);
    std::thread::sleep(Duration::from_millis(300));
    let started = server.told();
    server.terminate();
    while std::net::TcpStream::connect(server.at).is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_secs(9));
    assert_eq!(server.told(), started);
    assert!(server.ended().0.success());
}
