//! The program as people and scripts use it: options, exit states, standard output and standard error.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use cap_roots_oracle::needs;
use serde_json::json;
use support::wire::{self, Session};
use support::{SERVER, eras, run};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("ws")).unwrap();
    fs::write(folder.path().join("ws/a.txt"), "text").unwrap();
    fs::write(folder.path().join("k.txt"), "SECRET").unwrap();
    folder
}

#[test]
fn one_call_without_a_client() {
    let folder = folder();
    let call = |tool, arguments| run(folder.path(), &["--call", tool, "--args", arguments, "ws"]);
    assert_eq!(call("list_directory", r#"{"path":"."}"#), ("[FILE] a.txt\n".into(), String::new(), 0));
    assert_eq!(call("read_text_file", r#"{"path":"a.txt"}"#), ("text\n".into(), String::new(), 0));
    let (out, err, status) = call("read_text_file", r#"{"path":"../k.txt"}"#);
    assert_eq!((out.as_str(), status), ("", 1));
    assert!(err.starts_with("outside-roots: \"../k.txt\" "), "{err}");
    for (tool, arguments) in [("nonsense", "{}"), ("read_text_file", "{}"), ("read_text_file", "["), ("read_text_file", "[]")] {
        let (out, err, status) = call(tool, arguments);
        assert_eq!((out.as_str(), status), ("", 2), "{tool} {arguments}");
        assert!(err.starts_with("invalid-argument: ") && err.lines().count() == 1, "{err}");
    }
    // What is there and not allowed is a refusal, and not misuse.
    let refused = |arguments: &[&str], option| {
        let (out, err, status) = run(folder.path(), arguments);
        assert_eq!((out.as_str(), status), ("", 1), "{err}");
        assert!(err.starts_with("not-granted: ") && err.contains(option) && err.lines().count() == 1, "{err}");
    };
    refused(&["--call", "write_file", "--args", r#"{"path":"n","content":"x"}"#, "--ro", "ws"], "--rw DIR");
    refused(&["--call", "delete_file", "--args", r#"{"path":"a.txt"}"#, "--no-delete", "ws"], "--no-delete");
    let wrote = call("write_file", r#"{"path":"n","content":"x"}"#);
    assert_eq!(wrote, ("Successfully wrote to n\n".into(), String::new(), 0));
    assert_eq!(run(folder.path(), &["--args", "{}", "ws"]).2, 2);
    assert_eq!(run(folder.path(), &["--nonsense"]).2, 2);
}

/// Catches: a call by hand that goes on over its time, or has the status of an answer then.
#[test]
fn one_call_ends_in_time() {
    let folder = folder();
    if !needs::endless(&folder.path().join("ws")) {
        return;
    }
    let arguments = ["--max-seconds", "1", "--call", "read_text_file", "--args", r#"{"path":"endless","offset":2}"#, "ws"];
    let (out, err, status) = run(folder.path(), &arguments);
    assert_eq!((out.as_str(), status), ("", 1));
    assert!(err.starts_with("timeout: "), "{err}");
    // Asked to end, it does.
    let mut called = Command::new(SERVER)
        .args(["--max-seconds", "600"])
        .args(&arguments[2..])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    wire::signal(&called, "-TERM");
    assert_eq!(wire::wait(&mut called).code(), Some(1));
    let mut err = String::new();
    called.stderr.unwrap().read_to_string(&mut err).unwrap();
    assert!(err.starts_with("cancelled: "), "{err}");
}

/// Catches: a dash that is taken for JSON, and what is no object taken for none.
#[test]
fn arguments_come_by_standard_input() {
    let folder = folder();
    for (input, status) in
        [(&br#"{"path":"a.txt"}"#[..], 0), (b"{\"path\":\n\"a.txt\"}\n", 0), (b"", 2), (b"[]", 2), (b"{\"path\":\"\xff\"}", 2)]
    {
        let mut called = Command::new(SERVER)
            .args(["--call", "read_text_file", "--args", "-", "ws"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        called.stdin.take().unwrap().write_all(input).unwrap();
        let output = called.wait_with_output().unwrap();
        assert_eq!((output.stdout == b"text\n", output.status.code()), (status == 0, Some(status)), "{input:?}");
    }
}

/// ROOTS-07: a directory that is missing at start is told, and served from when it is there, unless the kernel fences the process in; one whose time is over is not told as allowed.
#[test]
fn roots_come_and_go_while_the_server_runs() {
    let folder = folder();
    let file = folder.path().join("roots.toml");
    let root = |name: &str, more: &str| format!("[[root]]\npath = \"{name}\"\nname = \"{name}\"\naccess = \"read\"\n{more}\n");
    fs::write(&file, [root("ws", ""), root("later", ""), root("short", "expires = \"1s\"")].concat()).unwrap();
    fs::create_dir(folder.path().join("short")).unwrap();
    for era in eras() {
        let mut session = Session::start(&era, &["--landlock", "off", "--hide-host-paths", "--config", file.to_str().unwrap()]);
        let mut call = |tool: &str, arguments| {
            let answer = session.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
            let texts =
                answer["result"]["content"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap().to_owned());
            (texts.collect::<Vec<_>>().join("\n"), answer["result"]["_meta"]["cap-roots/code"].clone())
        };
        std::thread::sleep(std::time::Duration::from_millis(1_200));
        let (listed, _) = call("list_allowed_directories", json!({}));
        let want = "Allowed directories:\nroot://ws/\n[Missing now: root://later/; Expired, until the operator grants them again: root://short/]";
        assert_eq!(listed, want);
        assert_eq!(call("list_directory", json!({ "path": "root://later/" })).1, "root-absent");
        assert_eq!(call("list_directory", json!({ "path": "root://short/" })).1, "expired");
        fs::create_dir(folder.path().join("later")).unwrap();
        fs::write(folder.path().join("later/file"), "here").unwrap();
        assert_eq!(call("read_text_file", json!({ "path": "root://later/file" })).0, "here");
        assert!(call("list_allowed_directories", json!({})).0.contains("\nroot://later/\n["));
        fs::remove_dir_all(folder.path().join("later")).unwrap();
        assert_eq!(call("read_text_file", json!({ "path": "root://later/file" })).1, "root-absent");
        session.end();
    }
}

#[test]
fn a_path_is_explained() {
    let folder = folder();
    let (out, _, status) = run(folder.path(), &["--explain", "a.txt", "--ro", "docs=ws"]);
    assert_eq!(status, 0);
    for part in [
        "root      docs at ",
        "access read",
        "path      root://docs/a.txt",
        "open needs read",
        "write needs write; root \"docs\" grants read: refused, not-granted",
        "the grant suffices",
        "resolver  ",
        "outcome   can be opened",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let (out, _, status) = run(folder.path(), &["--explain", "/etc/passwd", "ws"]);
    assert_eq!(status, 1);
    assert!(out.contains("root      none") && out.contains("outside-roots"), "{out}");
}

/// ROOTS-07, ROOTS-09: a missing directory does not stop the others; none at all is one clear line.
#[test]
fn missing_directories() {
    let folder = folder();
    let (out, err, status) = run(folder.path(), &["--call", "list_allowed_directories", "ws", "unplugged"]);
    assert_eq!((out.lines().count(), status), (2, 0));
    assert!(err.contains("unplugged is missing"), "{err}");
    // A name that is none by the rule of names, which makes it a path.
    let (_, err, _) = run(folder.path(), &["--call", "list_allowed_directories", "ws", "--ro", "Docs=ws"]);
    assert!(err.contains("if \"Docs\" was meant as a name"), "{err}");
    let (_, err, _) = run(folder.path(), &["--call", "list_allowed_directories", "ws", "a/b=c"]);
    assert!(err.contains("is missing") && !err.contains("meant"), "{err}");
    let (out, err, status) = run(folder.path(), &["unplugged"]);
    assert_eq!((out.as_str(), status), ("", 2));
    assert!(err.contains("root-absent: none of the directories exists: ") && err.contains("unplugged"), "{err}");
    let (_, err, status) = run(folder.path(), &["ws/a.txt"]);
    assert_eq!(status, 2);
    assert!(err.contains("not-a-directory") && err.contains("ws/a.txt") && err.lines().count() == 1, "{err}");
}

/// PROTO-01, PROTO-02, OWN-19: nothing but messages on standard output, whatever the log level.
#[test]
fn standard_output_carries_messages_only() {
    let folder = folder();
    let mut server = Command::new(SERVER)
        .args(["ws", "unplugged"])
        .env("RUST_LOG", "trace")
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta}}}}}"#).unwrap();
    let name = r#""name":"list_directory","arguments":{"path":"nowhere"}"#;
    writeln!(input, r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{{name},"_meta":{meta}}}}}"#).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    drop(input);
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    for line in lines.lines() {
        assert_eq!(serde_json::from_str::<serde_json::Value>(line).unwrap()["jsonrpc"], "2.0");
    }
    assert!(!output.stderr.is_empty());
}

/// Catches: a start that says nothing of a directory whose place a client may choose, and a path that forges a line.
#[test]
fn what_the_operator_should_know_is_told_on_its_own_line() {
    let folder = folder();
    std::os::unix::fs::symlink(".", folder.path().join("ws/link")).unwrap();
    fs::create_dir(folder.path().join("ws/in")).unwrap();
    std::os::unix::fs::symlink("in", folder.path().join("ws/current")).unwrap();
    let call = ["--call", "list_allowed_directories"];
    for (dirs, told) in [(["ws", "ws/current"], true), (["ws", "ws/in"], false), (["--ro=ws", "ws/current"], false)] {
        let (_, err, status) = run(folder.path(), &[&call[..], &dirs].concat());
        assert_eq!((err.contains("is named through a link in root \"ws\""), status), (told, 0), "{err}");
    }
    let (_, err, status) = run(folder.path(), &["no\nforged: line\u{1b}[31m", "--call", "list_allowed_directories"]);
    assert_eq!(status, 2);
    assert!(!err.lines().any(|line| line.starts_with("forged")) && !err.contains('\u{1b}'), "{err:?}");
}

/// A method that is known, with parameters that are not: they are at fault, and not the method (JSON-RPC 2.0, section 5.1).
#[test]
fn parameters_are_told_from_methods() {
    let folder = folder();
    let ws = folder.path().join("ws");
    for era in eras() {
        let mut session = Session::start(&era, &[ws.to_str().unwrap()]);
        for (method, params, code) in [
            ("tools/call", json!({}), -32602),
            ("tools/call", json!({ "name": "read_text_file", "arguments": [] }), -32602),
            ("resources/read", json!({}), -32602),
            ("resources/read", json!({ "uri": 5 }), -32602),
            ("resources/subscribe", json!({ "uri": "root://ws/" }), -32601),
            ("no/such", json!({}), -32601),
        ] {
            assert_eq!(session.ask(method, params.clone())["error"]["code"], code, "{method} {params}");
        }
        session.end();
    }
}

#[test]
fn help_is_a_manual() {
    let (help, _, status) = run(std::path::Path::new("."), &["--help"]);
    assert_eq!(status, 0);
    for part in [
        "DIR",
        "--rw",
        "--ro",
        "--rule",
        "--protect",
        "--no-delete",
        "--one-file-system",
        "delete_directory",
        "--hide-host-paths",
        "--call",
        "--args",
        "--explain",
        "--op",
        "--doctor",
        "--color",
        "--tools",
        "--disable-tools",
        "--max-text-bytes",
        "--http",
        "--http-token-file",
        "--http-no-token",
        "--http-public",
        "--http-host",
        "--max-depth",
        "--ignore",
        "--ignore-common",
        "--gitignore",
        "directory_tree",
        "search_files",
        "--audit",
        "--log-format",
        "Examples:",
        "root://NAME/",
    ] {
        assert!(help.contains(part), "{part}");
    }
}

/// Catches: a long answer cut where it is read slowly through a pipe that its other end has set not to wait.
#[test]
fn what_reads_slowly_through_a_pipe_that_does_not_wait_gets_all() {
    use rustix::fs::{OFlags, fcntl_setfl};
    let folder = tempfile::tempdir().unwrap();
    let text = "A line of some length, to fill what a pipe holds.\n".repeat(10_000);
    fs::write(folder.path().join("long"), &text).unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    let mut child = Command::new(SERVER)
        .args(["--call", "read_text_file", "--args", r#"{"path":"long"}"#])
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut got, mut part) = (Vec::new(), vec![0; 100_000]);
    loop {
        std::thread::sleep(std::time::Duration::from_millis(20));
        match reader.read(&mut part).unwrap() {
            0 => break,
            read => got.extend_from_slice(&part[..read]),
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!((got.len(), got == text.as_bytes()), (text.len(), true));
}
