//! The audit log: what is in it, and that nothing is done that is not.
//!
//! Catches: a decision or a call that is not recorded, or twice; a line that somebody else's name breaks or forges; a change that is made though it
//! cannot be recorded; lines that are lost by a full disk, a rotation or the end; a log that clients could reach.

#![cfg(unix)]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test"
)]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

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
            assert!(of_call.iter().all(|line| line["tool"] == answer["tool"]));
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

/// The disk takes nothing more: nothing is changed, until it does.
fn goes_busy_and_on(place: &Place, session: &mut Session, free: impl FnOnce(&Session)) {
    let mut done = 0;
    let busy = loop {
        write(session, done, &format!("f{done}"));
        let answer = session.answer(done);
        match code(&answer) {
            None => done += 1,
            Some(code) => {
                assert_eq!(code, "busy", "{answer}");
                let text = answer["result"]["content"][0]["text"].as_str().unwrap();
                assert!(text.contains("no record of it can be made now; try again in a moment"), "{text}");
                break done;
            }
        }
        assert!(done < 20_000, "the disk is never full");
    };
    let changes = [
        ("write_file", json!({ "path": "new", "content": "x" })),
        ("write_file", json!({ "path": "a.txt", "content": "x" })),
        ("append_file", json!({ "path": "a.txt", "content": "x" })),
        ("edit_file", json!({ "path": "a.txt", "edits": [{ "oldText": "t", "newText": "x" }] })),
        ("move_file", json!({ "source": "a.txt", "destination": "new" })),
        ("copy_file", json!({ "source": "a.txt", "destination": "new" })),
        ("delete_file", json!({ "path": "a.txt" })),
        ("create_directory", json!({ "path": "new/er" })),
        ("read_text_file", json!({ "path": "a.txt" })),
        ("read_text_file", json!({ "path": "/etc/hostname" })),
        ("list_allowed_directories", json!({})),
    ];
    for (number, (name, arguments)) in changes.into_iter().enumerate() {
        tool(session, 50_000 + number, name, arguments);
        assert_eq!(code(&session.answer(50_000 + number)), Some("busy"), "{name}");
    }
    let read = session.ask("resources/read", json!({ "uri": "root://ws/a.txt" }));
    assert!(read["error"]["message"].as_str().unwrap().starts_with("busy: "), "{read}");
    assert_eq!(fs::read_to_string(place.at("ws/a.txt")).unwrap(), "text");
    assert_eq!(fs::read_dir(place.at("ws")).unwrap().count(), 1 + busy, "what was answered with busy was not done");
    free(session);
    let begun = Instant::now();
    let mut id = 60_000;
    loop {
        write(session, id, "later");
        if code(&session.answer(id)).is_none() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not go on");
        std::thread::sleep(Duration::from_millis(20));
        id += 1;
    }
    write(session, 70_000, "last");
    assert_eq!(code(&session.answer(70_000)), None);
}

/// Each file that is there is in the log, in whole lines; and how many calls were declined.
fn complete(place: &Place, files: &[&str]) {
    let all: Vec<_> = files.iter().flat_map(|file| lines(&place.at(file))).collect();
    let mut written: Vec<_> =
        all.iter().filter(|line| line["verdict"] == "allowed").map(|line| line["path"].as_str().unwrap()).collect();
    written.sort_unstable();
    let mut there: Vec<_> =
        fs::read_dir(place.at("ws")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.retain(|name| name != "a.txt");
    there.sort_unstable();
    assert_eq!(written, there);
    let declined: u64 = all.iter().filter(|line| line["event"] == "declined").map(|line| line["count"].as_u64().unwrap()).sum();
    assert!(declined >= 12, "{declined}");
    assert_eq!(all.last().unwrap()["event"], "stop");
}

/// A file that may not grow, until it is rotated.
#[test]
fn a_size_limit_stops_everything_until_the_file_is_rotated() {
    let place = place();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 32; exec \"$@\"", "sh", SERVER, "--audit"]).arg(place.at("log/audit")).arg(place.at("ws"));
    let mut session = Session::of(&eras()[1], {
        command.stderr(Stdio::piped());
        command
    });
    goes_busy_and_on(&place, &mut session, |session| {
        fs::rename(place.at("log/audit"), place.at("log/audit.1")).unwrap();
        session.signal("-HUP");
    });
    let told = session.end_and_hear();
    assert_eq!(told.lines().filter(|line| line.contains("the audit log cannot be written")).count(), 1, "{told}");
    assert_eq!(told.lines().filter(|line| line.contains("written again")).count(), 1, "{told}");
    complete(&place, &["log/audit.1", "log/audit"]);
    // At the limit already: an error, and no signal.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 0; exec \"$@\"", "sh", SERVER, "--audit", "log/audit", "ws"]).current_dir(place.folder.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_full_disk_stops_everything_until_there_is_room() {
    let works = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        println!("skipped: no mount namespace of our own here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=256k none \"$AUDIT_DISK\"; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-ec", script, "sh"]).arg(std::env::current_exe().unwrap()).env("AUDIT_DISK", folder.path());
    let output = command.args(["--exact", "fills_the_disk", "--ignored", "--nocapture"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "the part of a child process"]
fn fills_the_disk() {
    let Some(disk) = std::env::var_os("AUDIT_DISK").map(PathBuf::from) else { return };
    let place = place();
    fs::remove_dir(place.at("log")).unwrap();
    std::os::unix::fs::symlink(&disk, place.at("log")).unwrap();
    fs::write(disk.join("ballast"), vec![0; 128 << 10]).unwrap();
    let mut session = place.start();
    goes_busy_and_on(&place, &mut session, |_| fs::remove_file(disk.join("ballast")).unwrap());
    session.end();
    complete(&place, &["log/audit"]);
}

/// Rotated again and again while calls come: each line is in one of the files.
#[test]
fn a_rotation_loses_no_line() {
    let place = place();
    let mut session = place.start();
    let (mut asked, mut files) = (0, Vec::new());
    for round in 0..10 {
        for _ in 0..40 {
            write(&mut session, asked, &format!("f{asked}"));
            asked += 1;
        }
        // In the middle of them.
        let file = format!("log/audit.{round}");
        fs::rename(place.at("log/audit"), place.at(&file)).unwrap();
        session.signal("-HUP");
        files.push(file);
        let begun = Instant::now();
        while !place.at("log/audit").exists() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it is not opened anew");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    (0..asked).for_each(|id| assert_eq!(code(&session.answer(id)), None));
    session.end();
    files.push("log/audit".to_owned());
    let mut told = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let lines = lines(&place.at(file));
        assert_eq!(lines[0]["event"], if number == 0 { "start" } else { "reopen" }, "{file}");
        assert_eq!(lines[0]["roots"][0]["name"], "ws");
        told.extend(
            lines
                .into_iter()
                .filter(|line| line.get("request").is_some())
                .map(|line| (line["request"].as_u64().unwrap(), line["event"].to_string())),
        );
    }
    told.sort();
    let wanted: Vec<_> =
        (0..asked as u64).flat_map(|id| [(id, "\"answer\"".to_owned()), (id, "\"decision\"".to_owned())]).collect();
    assert_eq!(told, wanted);
}

/// Catches: an end that leaves lines behind, be it asked for by the client or by a signal.
#[test]
fn the_end_leaves_no_line_behind() {
    ends_complete(Session::end);
}

#[test]
fn nor_does_an_end_by_a_signal() {
    for signal in ["-TERM", "-INT"] {
        ends_complete(|mut session| {
            session.signal(signal);
            session.wait();
        });
    }
}

/// What was done is in the log, with its answer; what was not begun any more is not there.
fn ends_complete(end: impl FnOnce(Session)) {
    let place = place();
    let mut session = place.start();
    (0..200).for_each(|id| write(&mut session, id, &format!("f{id}")));
    session.answer(50);
    end(session);
    let lines = place.lines();
    assert_eq!(lines.last().unwrap()["event"], "stop");
    let requests = |key: &str, value: &str| -> Vec<u64> {
        let mut found: Vec<_> =
            lines.iter().filter(|line| line[key] == value).map(|line| line["request"].as_u64().unwrap()).collect();
        found.sort_unstable();
        found
    };
    let (allowed, answered) = (requests("verdict", "allowed"), requests("event", "answer"));
    let mut there: Vec<u64> = fs::read_dir(place.at("ws"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().unwrap().strip_prefix('f').map(|id| id.parse().unwrap()))
        .collect();
    there.sort_unstable();
    assert_eq!(allowed, there);
    assert!(allowed.len() > 10 && allowed.iter().all(|id| answered.contains(id)));
    assert!(answered.windows(2).all(|pair| pair[0] < pair[1]), "a call is answered twice");
}

/// Killed, it leaves whole lines, and one at most that is not; and goes on behind it.
#[test]
fn killed_in_the_middle() {
    let place = place();
    for round in 0..5 {
        let mut session = place.start();
        (0..200).for_each(|id| write(&mut session, id, &format!("f{round}-{id}")));
        session.answer(20 * round);
        session.signal("-KILL");
        session.wait();
    }
    let text = fs::read_to_string(place.at("log/audit")).unwrap();
    let torn = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).count();
    assert!(torn <= 5, "{torn}");
    assert_eq!(text.matches("\"event\":\"start\"").count(), 5);
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
