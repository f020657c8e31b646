//! The audit log: what is in it, and that nothing is done that is not.
//!
//! Catches: a decision or a call that is not recorded, or twice; a line that somebody else's name breaks or forges; a change that is made though it
//! cannot be recorded; lines that are lost by a full disk, a rotation or the end; a log that clients could reach.

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

#[path = "../support/mod.rs"]
mod support;

mod end;
mod full;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::wire::Session;
use support::{SERVER, eras, run};

/// Directories `ws`, which is served, and `log`.
struct Place {
    folder: tempfile::TempDir,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("ws")).unwrap();
    fs::create_dir(folder.path().join("log")).unwrap();
    fs::write(folder.path().join("ws/a.txt"), "text").unwrap();
    Place { folder }
}

impl Place {
    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A server on `ws` that writes `log/audit`.
    fn command(&self) -> Command {
        let mut command = Command::new(SERVER);
        command.arg("--audit").arg(self.at("log/audit")).arg(self.at("ws"));
        command
    }

    fn start(&self) -> Session {
        Session::of(&eras()[1], self.command())
    }

    fn lines(&self) -> Vec<Value> {
        lines(&self.at("log/audit"))
    }
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}")))
        .collect()
}

fn tool(session: &mut Session, id: usize, tool: &str, arguments: Value) {
    session.send(Some(id), "tools/call", json!({ "name": tool, "arguments": arguments }));
}

fn write(session: &mut Session, id: usize, path: &str) {
    tool(session, id, "write_file", json!({ "path": path, "content": "text" }));
}

fn code(answer: &Value) -> Option<&str> {
    answer["result"]["_meta"]["cap-roots/code"].as_str()
}

/// A line in short, without what differs from run to run.
fn short(line: &Value) -> String {
    let text = |key: &str| line.get(key).map_or(String::new(), |value| value.as_str().map_or(value.to_string(), str::to_owned));
    let keys = ["event", "tool", "operation", "end", "root", "path", "verdict", "code"];
    let mut words: Vec<_> = keys.iter().map(|key| text(key)).filter(|word| !word.is_empty()).collect();
    if line["event"] == "decision" {
        words.push(text("bytes"));
    }
    words.join(" ")
}

/// Every kind of call in both eras: each decision once, in the order of what was done, and the answer behind it.
#[test]
fn a_session_is_recorded() {
    for era in eras() {
        let place = place();
        let mut session = Session::of(&era, place.command());
        let calls = [
            ("write_file", json!({ "path": "b.txt", "content": "12345" })),
            ("read_text_file", json!({ "path": "b.txt" })),
            ("read_text_file", json!({ "path": "../secret" })),
            ("read_text_file", json!({ "path": "none" })),
            ("edit_file", json!({ "path": "b.txt", "edits": [{ "oldText": "1", "newText": "" }] })),
            ("append_file", json!({ "path": "b.txt", "content": "67" })),
            ("move_file", json!({ "source": "b.txt", "destination": "c.txt" })),
            ("move_file", json!({ "source": "c.txt", "destination": "/etc/x" })),
            ("copy_file", json!({ "source": "c.txt", "destination": "d.txt" })),
            ("write_file", json!({ "path": ".git/config", "content": "x" })),
            ("delete_file", json!({ "path": "d.txt" })),
            ("search_file_contents", json!({ "path": ".", "pattern": "no such text", "include": ["c.txt"] })),
            ("search_file_contents", json!({ "path": "c.txt", "pattern": "no such text" })),
            ("read_text_file", json!({})),
            ("no_such_tool", json!({})),
        ];
        let mut sizes = Vec::new();
        for (id, (name, arguments)) in calls.iter().enumerate() {
            tool(&mut session, id, name, arguments.clone());
            sizes.push(session.answer(id)["result"].to_string().len());
        }
        let read = session.ask("resources/read", json!({ "uri": "root://ws/c.txt" }));
        assert_eq!(read["result"]["contents"][0]["text"], "234567");
        assert_eq!(session.ask("resources/read", json!({ "uri": "root://ws/none" }))["error"]["code"], session.not_found());
        let session_is_modern = session.is_modern();
        session.end();

        let lines = place.lines();
        let first = &lines[0];
        assert_eq!((&first["event"], &first["version"]), (&json!("start"), &json!(env!("CARGO_PKG_VERSION"))));
        let served = json!([{ "name": "ws", "host_path": place.at("ws"), "access": "write", "delete": true }]);
        assert_eq!(first["roots"], served);
        let told: Vec<_> = lines.iter().map(short).collect();
        assert_eq!(
            told[1..],
            [
                "decision write_file write ws b.txt allowed null 5",
                "answer write_file null",
                "decision read_text_file open ws b.txt allowed null 5",
                "answer read_text_file null",
                "decision read_text_file open ws ../secret refused outside-roots null",
                "answer read_text_file outside-roots",
                "decision read_text_file open ws none refused not-found null",
                "answer read_text_file not-found",
                "decision edit_file update ws b.txt allowed null 4",
                "answer edit_file null",
                "decision append_file append ws b.txt allowed null 2",
                "answer append_file null",
                "decision move_file rename to ws c.txt allowed null null",
                "decision move_file rename from ws b.txt allowed null null",
                "answer move_file null",
                "decision move_file rename from ws c.txt refused outside-roots null",
                "decision move_file rename to null /etc/x refused outside-roots null",
                "answer move_file outside-roots",
                "decision copy_file copy to ws d.txt allowed null 6",
                "decision copy_file copy from ws c.txt allowed null 6",
                "answer copy_file null",
                "decision write_file write ws .git/config refused protected null",
                "answer write_file protected",
                "decision delete_file remove_file ws d.txt allowed null null",
                "answer delete_file null",
                "decision search_file_contents metadata ws . allowed null null",
                "decision search_file_contents walk ws . allowed null null",
                "decision search_file_contents open ws c.txt allowed null 6",
                "answer search_file_contents null",
                "decision search_file_contents metadata ws c.txt allowed null null",
                "decision search_file_contents open ws c.txt allowed null 6",
                "answer search_file_contents null",
                "answer read_text_file invalid-argument",
                "answer no_such_tool invalid-argument",
                "decision resources/read open ws c.txt allowed null 6",
                "answer resources/read null",
                "decision resources/read open ws none refused not-found null",
                "answer resources/read not-found",
                "stop",
            ]
        );
        let mut before = String::new();
        for line in &lines {
            let time = line["time"].as_str().unwrap().to_owned();
            assert!(time.len() == 24 && time.ends_with('Z') && time >= before, "{time}");
            assert_eq!(line["pid"], lines[0]["pid"]);
            before = time;
        }
        for (id, size) in sizes.into_iter().enumerate() {
            let of_call: Vec<_> = lines.iter().filter(|line| line["request"] == id).collect();
            let answer = of_call.last().unwrap();
            // The older era leaves a field out on the wire.
            let size = size + if session_is_modern { 0 } else { ",\"resultType\":\"complete\"".len() };
            assert_eq!((&answer["event"], answer["bytes"].as_u64()), (&json!("answer"), Some(size as u64)), "{answer}");
            assert!(of_call.iter().all(|line| line["tool"] == answer["tool"] && line["call"] == answer["call"]));
            assert_eq!(lines.iter().filter(|line| line["call"] == answer["call"]).count(), of_call.len());
        }
    }
}

/// Two servers with one file, each with many calls at once.
#[test]
fn calls_at_once_are_told_apart() {
    let place = place();
    let mut sessions = [place.start(), place.start()];
    for id in 0..150 {
        for (number, session) in sessions.iter_mut().enumerate() {
            write(session, id, &format!("s{number}-{id}"));
        }
    }
    for session in &mut sessions {
        (0..150).for_each(|id| assert_eq!(code(&session.answer(id)), None));
    }
    sessions.into_iter().for_each(Session::end);
    let mut calls: BTreeMap<(u64, u64), Vec<String>> = BTreeMap::new();
    for line in place.lines().iter().filter(|line| line.get("request").is_some()) {
        let key = (line["pid"].as_u64().unwrap(), line["request"].as_u64().unwrap());
        calls.entry(key).or_default().push(line.get("path").unwrap_or(&line["event"]).as_str().unwrap().to_owned());
    }
    assert_eq!(calls.len(), 300);
    let mut paths: Vec<_> = calls
        .into_iter()
        .map(|((_, id), told)| {
            assert!(told.len() == 2 && told[0].ends_with(&format!("-{id}")) && told[1] == "answer", "{told:?}");
            told[0].clone()
        })
        .collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 300);
}

/// Names that are no text, break lines, or speak to terminals: reversible, and taken as they stand there. Longer ones are cut with a mark.
#[test]
fn names_are_escaped_reversibly_and_capped() {
    let place = place();
    let mut session = place.start();
    let name = "a%0Ab%22%1B[31m%FF%C2%9B%E2%80%AE%25%5C%3F ü";
    write(&mut session, 1, &format!("root://ws/{name}"));
    assert_eq!(code(&session.answer(1)), None);
    let long = "x".repeat(10_000);
    write(&mut session, 2, &long);
    assert_eq!(code(&session.answer(2)), Some("invalid-path"));
    let deep = format!("{}new", "d/../".repeat(400));
    write(&mut session, 3, &deep);
    session.answer(3);
    tool(&mut session, 4, &"t\n".repeat(5_000), json!({}));
    session.answer(4);
    session.send(None, "notifications/cancelled", json!({}));
    let text = fs::read_to_string(place.at("log/audit")).unwrap();
    assert!(!text.contains(|c: char| c.is_control() && c != '\n') && !text.contains('\u{202e}'));
    assert!(text.lines().all(|line| line.len() < 2_000));
    let decision = |id: u64| place.lines().into_iter().find(|line| line["request"] == id && line["event"] == "decision").unwrap();
    assert_eq!(decision(1)["path"], name.replace("%22", "\""));
    assert_eq!(decision(1).get("path_bytes"), None);
    // What stands there is a path for every tool.
    tool(&mut session, 5, "read_text_file", json!({ "path": format!("root://ws/{}", decision(1)["path"].as_str().unwrap()) }));
    assert_eq!(session.answer(5)["result"]["content"][0]["text"], "text");
    assert_eq!((decision(2)["path"].as_str().unwrap().len(), &decision(2)["path_bytes"]), (1024, &json!(10_000)));
    assert_eq!((decision(3)["path"].as_str().unwrap(), &decision(3)["path_bytes"]), (&deep[..1024], &json!(deep.len())));
    session.end();
    let answer = place.lines().into_iter().find(|line| line["request"] == 4).unwrap();
    assert!(answer["tool"].as_str().unwrap().starts_with("t%0At%0A") && answer["tool_bytes"] == 10_000, "{answer}");
}

/// A log in a directory that is served, behind a link, or of the wrong kind; each is one clear line, and nothing is made.
#[test]
fn what_is_no_place_for_a_log_ends_the_start() {
    let place = place();
    std::os::unix::fs::symlink(place.at("ws"), place.at("link")).unwrap();
    std::os::unix::fs::symlink("elsewhere", place.at("log/link")).unwrap();
    std::os::unix::fs::symlink(place.at("ws/a.txt"), place.at("log/inside")).unwrap();
    fs::hard_link(place.at("ws/a.txt"), place.at("log/second")).unwrap();
    assert!(Command::new("mkfifo").arg(place.at("log/pipe")).status().unwrap().success());
    fs::create_dir(place.at("ws/in")).unwrap();
    for (file, part) in [
        ("ws/new", "lies in it"),
        ("ws/in/new", "lies in it"),
        ("link/new", "lies in it"),
        ("log/inside", "lies in it"),
        ("log/link", "symbolic link"),
        ("log/second", "more than one name"),
        ("log/pipe", "pipe"),
        ("log/", "directory"),
        ("log", "directory"),
        ("missing/new", "its directory cannot be opened"),
        ("/dev/full", "device"),
    ] {
        let begun = Instant::now();
        for call in [&["--call", "list_directory", "--args", "{\"path\":\".\"}"][..], &[]] {
            let (out, err, status) = run(place.folder.path(), &[call, &["--audit", file, "ws"]].concat());
            assert_eq!((out.as_str(), status, err.lines().count()), ("", 2, 1), "{file}: {err}");
            assert!(err.contains(part) && err.contains(file.trim_end_matches('/')), "{file}: {err}");
        }
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
    assert!(!place.at("ws/new").exists() && !place.at("ws/in/new").exists() && !place.at("log/elsewhere").exists());
    assert_eq!(fs::read_to_string(place.at("ws/a.txt")).unwrap(), "text");
    // An explanation is not a client's doing.
    let (_, _, status) = run(place.folder.path(), &["--audit", "log/new", "--explain", "a.txt", "ws"]);
    assert!(status == 0 && !place.at("log/new").exists());
}

/// By the file's key, relative to the file; the command line wins.
#[test]
fn the_configuration_names_it_as_well() {
    let place = place();
    fs::create_dir(place.at("etc")).unwrap();
    fs::write(place.at("etc/c.toml"), "audit = \"../log/of-file\"\n[[root]]\npath = \"../ws\"\naccess = \"read\"\n").unwrap();
    let call = ["--config", "etc/c.toml", "--call", "read_text_file", "--args", "{\"path\":\"a.txt\"}"];
    assert_eq!(run(place.folder.path(), &call).2, 0);
    assert_eq!(lines(&place.at("log/of-file")).len(), 4);
    assert_eq!(run(place.folder.path(), &[&call[..], &["--audit", "log/of-line"]].concat()).2, 0);
    assert_eq!((lines(&place.at("log/of-line")).len(), lines(&place.at("log/of-file")).len()), (4, 4));
    fs::write(place.at("etc/c.toml"), "audit = \"../ws/log\"\n[[root]]\npath = \"../ws\"\naccess = \"read\"\n").unwrap();
    assert_eq!(run(place.folder.path(), &call).2, 2);
}

/// LEAK: at the default level a session with refusals says nothing on standard error; in both formats an event is one line.
#[test]
fn logs_tell_no_path_and_forge_no_line() {
    let place = place();
    for format in ["text", "json"] {
        let logs = |level: Option<&str>| {
            let mut command = place.command();
            command.args(["--log-format", format]).stderr(Stdio::piped());
            level.map(|level| command.env("RUST_LOG", level));
            let mut session = Session::of(&eras()[1], command);
            for (id, path) in ["../FORGED", "/etc/FORGED", "none\nERROR FORGED\u{1b}[31m", "a.txt"].into_iter().enumerate() {
                tool(&mut session, id, "read_text_file", json!({ "path": path }));
                session.answer(id);
            }
            session.ask("resources/read", json!({ "uri": "FORGED\n\u{202e}" }));
            tool(&mut session, 9, "FORGED\nERROR FORGED", json!({}));
            session.answer(9);
            session.end_and_hear()
        };
        let quiet = logs(None);
        assert_eq!(quiet, "", "{format}");
        let all = logs(Some("trace"));
        assert!(all.contains("FORGED") && !all.contains(|c: char| c.is_control() && c != '\n') && !all.contains('\u{202e}'));
        for line in all.lines() {
            match format {
                "json" => assert!(serde_json::from_str::<Value>(line).unwrap()["level"].is_string(), "{line}"),
                _ => assert!(line.starts_with("20"), "{line}"),
            }
        }
    }
}
