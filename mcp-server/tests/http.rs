//! Streamable HTTP, over real connections: who is let in, what is taken, and that the calls behind it are those of standard input and output.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test"
)]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::time::Duration;

use serde_json::json;
use support::http::{Server, refused};
use support::workspace;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Catches: an era that is not served, a root that is wider over HTTP, and anything on standard output.
#[test]
fn both_eras_are_served() {
    let (_folder, ws) = workspace();
    let server = Server::start(&[&ws]);
    for modern in [false, true] {
        let mut client = server.client(modern);
        assert_eq!(client.session.is_some(), !modern, "{}", client.info);
        assert!(client.info["result"]["instructions"].as_str().unwrap().contains("root://"), "{}", client.info);
        let tools = client.ask("tools/list", json!({}));
        let named = |name| tools["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name);
        assert!(named("read_text_file") && named("write_file"), "{tools}");
        assert_eq!(client.call("read_text_file", json!({ "path": "a.txt" })), "one\ntwo\nthree\n");
        assert!(client.call("write_file", json!({ "path": "n.txt", "content": "new" })).contains("wrote"));
        assert_eq!(fs::read_to_string(format!("{ws}/n.txt")).unwrap(), "new");
        for path in ["../out/k.txt", "l", "/etc/passwd"] {
            let refused = client.call("read_text_file", json!({ "path": path }));
            assert!(refused.starts_with("outside-roots: ") && !refused.contains("SECRET"), "{refused}");
        }
        let read = client.ask("resources/read", json!({ "uri": "root://ws/a.txt" }));
        assert_eq!(read["result"]["contents"][0]["text"], "one\ntwo\nthree\n", "{read}");
    }
    server.terminate();
    let (status, out) = server.ended();
    assert!(status.success() && out.is_empty(), "{status} {out}");
}

/// Catches: a token that is not asked for (of any method), one that is taken from the address, one of which a part is enough, one that an
/// answer or a log tells; and a start that tells it twice.
#[test]
fn a_token_is_needed_and_never_told_again() {
    let (_folder, ws) = workspace();
    let server = Server::start_with(&[&ws], &[("RUST_LOG", "trace")]);
    let token = server.token.clone().unwrap();
    assert_eq!(token.len(), 43);
    let bearer = |token: &str| format!("Bearer {token}");
    let session = server.client(false).session.unwrap();
    let flipped = token.chars().rev().collect::<String>();
    for header in [
        "-",
        "",
        "Bearer",
        "Bearer ",
        &token,
        &bearer(&token[..42]),
        &bearer(&(token.clone() + "A")),
        &bearer(&flipped),
        &format!("Basic {token}"),
    ] {
        for method in ["POST", "GET", "DELETE", "PUT", "OPTIONS"] {
            let headers = [("authorization", header), ("mcp-session-id", &session)];
            for target in ["/mcp".to_owned(), format!("/mcp?access_token={token}"), format!("/mcp?token={token}")] {
                let reply = server.send(method, &target, &headers, PING.as_bytes());
                assert_eq!(reply.status, 401, "{method} {header}");
                assert!(reply.header("www-authenticate").starts_with("Bearer"), "{reply:?}");
                assert!(!format!("{reply:?}").contains(&token), "{reply:?}");
            }
        }
    }
    let two = server.post(&[("authorization", &bearer(&token)), ("authorization", "Bearer x")], PING);
    assert_eq!(two.status, 401);
    // The session is still there, and so is the right token.
    assert_eq!(server.post(&[("authorization", &format!("bEARER  {token}")), ("mcp-session-id", &session)], PING).status, 200);
    let mut client = server.client(true);
    client.call("read_text_file", json!({ "path": "a.txt" }));
    server.post(&[], "nonsense");
    std::thread::sleep(Duration::from_millis(300));
    let told = server.told();
    assert!(told.contains("TRACE"), "nothing was logged");
    assert_eq!(told.matches(&token).count(), 1);
    assert_ne!(Server::start(&[&ws]).token, server.token);
}

/// Catches: a token of the operator's that is not the one, is told, or is taken from a file that others may use or that a client can reach.
#[test]
fn a_token_from_a_file() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let (folder, ws) = workspace();
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = file("token", "  0123456789abcdefXYZ\n", 0o600);
    let server = Server::start(&["--http-token-file", &good, &ws]);
    assert!(server.token.as_ref().unwrap().contains(&good));
    assert_eq!(server.post(&[("authorization", "Bearer 0123456789abcdefXYZ")], HELLO).status, 200);
    assert_eq!(server.post(&[], HELLO).status, 401);
    assert!(!server.told().contains("0123456789abcdefXYZ"));

    symlink(&good, folder.path().join("link")).unwrap();
    let inside = file("ws/token", "0123456789abcdefXYZ", 0o600);
    symlink(format!("{ws}/token"), folder.path().join("into")).unwrap();
    std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (path, why) in [
        (inside, "(the token file: "),
        (at("into"), "(the token file: "),
        (file("group", "0123456789abcdefXYZ", 0o640), "chmod 600"),
        (file("short", "0123456789abcde", 0o600), "16 characters"),
        (file("two", "0123456789abcdef 0123456789abcdef", 0o600), "16 characters"),
        (file("empty", "", 0o600), "16 characters"),
        (file("long", &"a".repeat(5000), 0o600), "longer than"),
        (at("none"), "does not exist; make it with (umask 077; openssl rand -hex 32 >FILE)"),
        (at("pipe"), "not a regular file"),
        (at("out"), "not a regular file"),
    ] {
        let (out, err, status) = refused(&["--http", "0", "--http-token-file", &path, &ws]);
        assert_eq!((out.as_str(), status, err.lines().count()), ("", 2, 1), "{path}: {err}");
        assert!(err.contains(why) && !err.contains("0123456789abcde"), "{path}: {err}");
    }
    assert_eq!(Server::start(&["--http-token-file", &at("link"), &ws]).post(&[], HELLO).status, 401);
}

/// Catches: a start that looks a name up, listens where others can come, lets them in, or grants what a client names.
#[test]
fn starts_that_are_refused() {
    let (folder, ws) = workspace();
    let config = folder.path().join("c.toml");
    fs::write(
        &config,
        format!("must_end = true\nclient_roots = \"trust\"\n[[root]]\npath = \"{ws}\"\naccess = \"read\"\n[end]\n"),
    )
    .unwrap();
    let taken = Server::start(&[&ws]);
    let taken = taken.at.to_string();
    for (arguments, why) in [
        (&["--http", "0.0.0.0:0"][..], "--http-public"),
        (&["--http", "[::]:0"], "--http-public"),
        (&["--http", "0.0.0.0:0", "--http-no-token"], "--http-public"),
        (&["--http", "0.0.0.0:0", "--http-public", "--http-no-token"], "leave it out, or listen on 127.0.0.1"),
        (&["--http", "example.com:80"], "not looked up"),
        (&["--http", "127.0.0.1"], "port is missing"),
        (&["--http", "0", "--client-roots", "trust"], "never a grant"),
        (&["--http", "0", "--client-roots", "trust-read"], "never a grant"),
        (&["--http", "0", "--config", config.to_str().unwrap()], "never a grant"),
        (&["--http", "0", "--call", "list_allowed_directories"], "does not go with"),
        (&["--http", "0", "--explain", "a"], "does not go with"),
        (&["--http", "0", "--http-no-token", "--http-token-file", "t"], "does not go with"),
        (&["--http", "0", "--http-host", "*.example"], "each host"),
        (&["--http-no-token"], "--http"),
        (&["--http", &taken], "another program does; end it, or give another port, or 0 for a free one"),
        (&["--http", "192.0.2.1:0", "--http-public"], "no address of this machine; give one"),
    ] {
        let arguments = [arguments, &[&ws]].concat();
        let (out, err, status) = refused(&arguments);
        assert_eq!((out.as_str(), status, err.lines().count()), ("", 2, 1), "{arguments:?}: {err}");
        assert!(err.contains(why), "{arguments:?}: {err}");
    }
}

/// Catches: a check of names or origins that is there and not asked; the tables of both are beside them.
#[test]
fn other_names_and_pages_are_refused() {
    let (_folder, ws) = workspace();
    let server = Server::start(&["--http-no-token", "--http-host", "files.example", &ws]);
    assert!(server.token.is_none() && server.told().contains("no token is asked for"), "{}", server.told());
    let port = server.at.port();
    let own = format!("http://localhost:{port}");
    for (headers, status) in [
        (&[("host", "localhost")][..], 200),
        (&[("host", "files.example"), ("origin", "https://files.example")], 200),
        (&[("origin", own.as_str())], 200),
        (&[("host", "evil.example")], 403),
        (&[("host", "-")], 400),
        (&[("origin", "http://evil.example")], 403),
        (&[("origin", "http://localhost:1")], 403),
        (&[("origin", "null")], 403),
    ] {
        let reply = server.post(headers, HELLO);
        assert_eq!(reply.status, status, "{headers:?}: {reply:?}");
        assert!(!reply.headers.keys().any(|name| name.starts_with("access-control")), "{reply:?}");
    }
}

/// Catches: sizes that are not bounded or are bounded too early, kinds that a page of the web may send unasked, faults without an answer, and
/// answers that repeat what was sent.
#[test]
fn what_is_no_message_is_a_clean_error() {
    let (_folder, ws) = workspace();
    let server = Server::start(&[&ws]);
    let call = |length: usize| {
        let mut client = server.client(true);
        client.ask("tools/list", json!({ "pad": "x".repeat(length) }))
    };
    assert!(call((4 << 20) - 1000)["result"]["tools"].is_array());
    let big = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"pad":"{}"}}}}"#, "x".repeat(4 << 20));
    assert_eq!(server.post(&[], &big).status, 413);
    assert_eq!(server.post(&[("content-length", "99999999999999")], "").status, 413);
    let mut chunked = format!("{:x}\r\n", big.len()).into_bytes();
    chunked.extend_from_slice(big.as_bytes());
    let headers = [("content-length", "-"), ("transfer-encoding", "chunked")];
    assert_eq!(server.send("POST", "/mcp", &headers, &chunked).status, 413);
    let (long, many) = ("h".repeat(33 << 10), (0..80).map(|_| ("x-a", "b")).collect::<Vec<_>>());
    assert_eq!(server.post(&[("x-long", &long)], PING).status, 431);
    assert_eq!(server.post(&many, PING).status, 431);

    let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}{}}}", "[".repeat(500), "]".repeat(500));
    for (headers, body, status, code) in [
        (&[("content-type", "text/plain")][..], PING, 415, None),
        (&[("content-type", "-")], PING, 415, None),
        (&[("content-encoding", "gzip")], PING, 415, None),
        (&[("accept", "application/json")], PING, 406, None),
        (&[], "", 400, None),
        (&[], "{\"secret", 400, Some(-32700)),
        (&[], "[]", 400, Some(-32600)),
        (&[], "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", 400, Some(-32600)),
        (&[], "{\"secret\":1}", 400, Some(-32600)),
        (&[], "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", 400, Some(-32600)),
        (&[], deep.as_str(), 400, Some(-32700)),
        (&[], r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, 400, Some(-32600)),
        (&[], PING, 400, None),
    ] {
        let reply = server.post(headers, body);
        assert_eq!(reply.status, status, "{headers:?} {body}: {reply:?}");
        let answered = code.map(|_| reply.messages()[0]["error"]["code"].as_i64().unwrap());
        assert_eq!(answered, code, "{reply:?}");
        // Over HTTP there are no lines.
        assert!(!reply.body.contains("secret") && !reply.body.contains("line"), "{reply:?}");
    }
    // A client that knows neither way is told both.
    let lost = server.post(&[], r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert!(lost.body.contains("send initialize first") && lost.body.contains("MCP-Protocol-Version: 2026-07-28"), "{lost:?}");
    for target in ["/", "/mcp/", "/MCP", "/.well-known/oauth-protected-resource", "/mcp/../x"] {
        assert_eq!(server.send("POST", target, &[("authorization", "-")], PING.as_bytes()).status, 404, "{target}");
    }
    for method in ["PUT", "PATCH", "OPTIONS", "TRACE"] {
        let reply = server.send(method, "/mcp", &[], b"");
        assert_eq!((reply.status, reply.header("allow")), (405, "POST, GET, DELETE"), "{method}");
    }
    assert_eq!(server.client(false).call("read_text_file", json!({ "path": "a.txt" })), "one\ntwo\nthree\n");
}

/// Catches: a session that a guess or a prefix finds, one that outlives its end, one that is taken for a token.
#[test]
fn sessions_belong_to_whoever_was_told_of_them() {
    let (_folder, ws) = workspace();
    let server = Server::start(&[&ws]);
    let client = server.client(false);
    let session = client.session.unwrap();
    for guess in
        [&session[..35], "1", "00000000-0000-4000-8000-000000000000", &session.to_uppercase(), &format!("{session},{session}")]
    {
        for method in ["POST", "GET"] {
            let reply = server.send(method, "/mcp", &[("mcp-session-id", guess)], PING.as_bytes());
            assert_eq!(reply.status, 404, "{method} {guess}: {reply:?}");
        }
        server.send("DELETE", "/mcp", &[("mcp-session-id", guess)], b"");
    }
    for method in ["POST", "GET", "DELETE"] {
        let reply = server.send(method, "/mcp", &[("mcp-session-id", &session), ("authorization", "-")], PING.as_bytes());
        assert_eq!(reply.status, 401);
    }
    assert_eq!(server.post(&[("mcp-session-id", &session)], PING).status, 200);
    assert_eq!(server.send("DELETE", "/mcp", &[("mcp-session-id", &session)], b"").status, 202);
    assert_eq!(server.post(&[("mcp-session-id", &session)], PING).status, 404);
}

/// Catches: a client's roots that count, or are asked for, where its disk may be another one.
#[test]
fn roots_of_clients_count_for_nothing() {
    let (_folder, ws) = workspace();
    let server = Server::start(&["--client-roots", "narrow", &ws]);
    assert!(server.told().contains("count for nothing over HTTP"), "{}", server.told());
    for modern in [false, true] {
        let mut client = server.client_with_roots(modern);
        assert_eq!(client.call("read_text_file", json!({ "path": "a.txt" })), "one\ntwo\nthree\n");
        assert!(client.call("read_text_file", json!({ "path": "../out/k.txt" })).starts_with("outside-roots: "));
    }
}
