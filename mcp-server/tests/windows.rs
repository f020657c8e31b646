//! The server as a program of Windows: paths as its users write them, over the command line and in a session.
//!
//! Catches: a path form of Windows that the server takes for another one, text about the host where there is a refusal, and standard input or
//! output that is read or written as text of the console.

#![cfg(windows)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const SERVER: &str = env!("CARGO_BIN_EXE_cap-roots-mcp");

struct Folder {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base: PathBuf = fs::canonicalize(folder.path()).unwrap().to_str().unwrap().trim_start_matches(r"\\?\").into();
        fs::create_dir_all(base.join(r"ws\sub")).unwrap();
        fs::write(base.join(r"ws\f.txt"), "F\r\nsecond\r\n").unwrap();
        fs::write(base.join("k.txt"), "SECRET").unwrap();
        Self { _folder: folder, base }
    }

    fn text(&self, path: &str) -> String {
        self.base.join(path).to_str().unwrap().to_owned()
    }

    /// Standard output, standard error, exit status.
    fn run(&self, arguments: &[&str]) -> (String, String, i32) {
        let output = Command::new(SERVER).args(arguments).current_dir(&self.base).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr), output.status.code().unwrap())
    }

    fn call(&self, tool: &str, arguments: &Value, directory: &str) -> (String, String, i32) {
        self.run(&["--call", tool, "--args", &arguments.to_string(), directory])
    }
}

#[test]
fn paths_are_taken_in_each_form_and_refused_without_a_word_of_the_host() {
    let folder = Folder::new();
    let ws = folder.text("ws");
    let slashes = ws.replace('\\', "/");
    for directory in [&ws, &slashes, &format!(r"\\?\{ws}"), &"ws".to_owned(), &r".\ws\".to_owned()] {
        for path in [r"f.txt", r"sub\..\f.txt", &format!(r"{ws}\f.txt"), &format!("{slashes}/f.txt"), "root://ws/f.txt"] {
            let (out, err, status) = folder.call("read_text_file", &json!({ "path": path }), directory);
            assert_eq!((out.as_str(), status), ("F\r\nsecond\r\n", 0), "{directory} {path}: {err}");
        }
    }
    for (path, code) in [
        (r"..\k.txt".to_owned(), "outside-roots"),
        (folder.text("k.txt"), "outside-roots"),
        (r"\\cap-roots.invalid\share\k.txt".to_owned(), "outside-roots"),
        (r"\\?\C:\k.txt".to_owned(), "invalid-path"),
        ("NUL".to_owned(), "invalid-path"),
        ("f.txt:stream".to_owned(), "invalid-path"),
        ("C:".to_owned(), "invalid-path"),
    ] {
        for tool in ["read_text_file", "list_directory", "get_file_info"] {
            let (out, err, status) = folder.call(tool, &json!({ "path": path }), "ws");
            assert_eq!((out.as_str(), status), ("", 1), "{tool} {path}");
            assert!(err.starts_with(code), "{path}: {err}");
            assert!(path.starts_with(&ws[..3]) || !err.contains(folder.base.to_str().unwrap()), "{err}");
        }
    }
    let (_, err, status) = folder.run(&["--call", "list_directory", "--args", "{}", "C:"]);
    assert!(status != 0 && err.contains("separator"), "{err}");
}

#[test]
fn a_session_works_on_windows_paths() {
    let folder = Folder::new();
    let mut server = Command::new(SERVER).arg(folder.text("ws")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ask = |method: &str, params: Value| -> Value {
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).unwrap();
        serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap()
    };
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    assert!(ask("initialize", hello)["result"]["serverInfo"]["name"].is_string());
    let mut call = |tool: &str, arguments: Value| {
        let answer = ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        (result["content"][0]["text"].as_str().unwrap_or_default().to_owned(), result["isError"] == json!(true))
    };
    let at = |path: &str| folder.text(&format!(r"ws\{path}"));
    assert_eq!(call("list_allowed_directories", json!({})), (format!("Allowed directories:\n{}", folder.text("ws")), false));
    assert!(!call("create_directory", json!({ "path": at(r"new\deep") })).1);
    assert!(!call("write_file", json!({ "path": at(r"new\deep\n.txt"), "content": "one\ntwo\n" })).1);
    assert!(!call("edit_file", json!({ "path": at(r"new\deep\n.txt"), "edits": [{ "oldText": "two", "newText": "three" }] })).1);
    assert_eq!(fs::read_to_string(at(r"new\deep\n.txt")).unwrap(), "one\nthree\n");
    assert!(!call("move_file", json!({ "source": at("new"), "destination": at("moved") })).1);
    let (found, is_error) = call("search_files", json!({ "path": folder.text("ws"), "pattern": "**/*.txt" }));
    assert!(!is_error && found.contains("n.txt") && found.contains("f.txt") && !found.contains("k.txt"), "{found}");
    let (told, is_error) = call("read_text_file", json!({ "path": folder.text("k.txt") }));
    assert!(is_error && !told.contains("SECRET"), "{told}");
    let (told, is_error) = call("write_file", json!({ "path": at("con.txt"), "content": "x" }));
    assert!(is_error && told.contains("invalid-path"), "{told}");
    drop(input);
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

/// Catches: a system that has less, and is told to be as good as another one.
#[test]
fn the_doctor_says_what_this_system_lacks() {
    let folder = Folder::new();
    let (out, err, status) = folder.run(&["--doctor", "ws"]);
    assert_eq!(status, 0, "{out}{err}");
    for lost in ["calls by handle", "locks on directories", "sync of directories", "mode bits", "SIGHUP", "openat2"] {
        assert!(out.contains(&format!("without {lost}")), "{out}");
    }
    assert!(out.contains("System: windows") && out.contains("with what is said above"), "{out}");
}

#[test]
fn the_audit_log_is_written() {
    let folder = Folder::new();
    let log = folder.text("log.jsonl");
    let (_, err, status) = folder.run(&["--audit", &log, "--call", "read_text_file", "--args", r#"{"path":"f.txt"}"#, "ws"]);
    assert_eq!(status, 0, "{err}");
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{text}");
    assert!(text.contains("f.txt"), "{text}");
    fs::hard_link(&log, folder.base.join("second.jsonl")).unwrap();
    let (_, err, status) = folder.run(&["--audit", &log, "--call", "read_text_file", "--args", r#"{"path":"f.txt"}"#, "ws"]);
    assert!(status != 0 && err.contains("more than one name"), "{err}");
}
