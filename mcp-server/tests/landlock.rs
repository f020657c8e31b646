//! `--landlock`: the fence of the kernel around the server. What it keeps away from code that goes past the library is tried in the library's tests; here, that
//! it stands around each thread of each way of serving, where it is said to, and that nothing that the server does meets it.
//!
//! A pipe that is to be renamed tells: the library does it, and the kernel refuses it to a process that is fenced in.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

#[path = "../../tests/support/filter.rs"]
mod filter;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cap_roots::landlock;
use cap_roots_oracle::needs;
use serde_json::{Value, json};
use support::http::Server;
use support::wire::Session;
use support::{SERVER, eras, run};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for dir in ["ws/sub", "log"] {
            fs::create_dir_all(folder.path().join(dir)).unwrap();
        }
        fs::write(folder.path().join("ws/a.txt"), "one").unwrap();
        assert!(Command::new("mkfifo").arg(folder.path().join("ws/pipe")).status().unwrap().success());
        Self(folder)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn run(&self, arguments: &[&str]) -> (String, String, i32) {
        run(self.0.path(), arguments)
    }
}

const MOVE: [&str; 4] = ["--call", "move_file", "--args", r#"{"source":"pipe","destination":"other"}"#];

/// What `--call` says to the move of a pipe.
fn moved(place: &Place, options: &[&str]) -> (bool, String) {
    let (out, err, status) = place.run(&[options, &MOVE, &["ws"]].concat());
    assert!(out.is_empty() || err.is_empty() || status == 0, "{out}{err}");
    (status == 0, err)
}

fn fences_here() -> bool {
    needs::landlock(landlock::FULL, landlock::kernel().ok())
}

/// A session of the tools that change something, by `call`; the last answer is that to the move of a pipe.
fn session(mut call: impl FnMut(&str, Value) -> String) -> String {
    for (tool, arguments, answer) in [
        ("write_file", json!({ "path": "sub/n.txt", "content": "one\ntwo\n" }), "Successfully wrote"),
        ("edit_file", json!({ "path": "sub/n.txt", "edits": [{ "oldText": "two", "newText": "three" }] }), "+three"),
        ("append_file", json!({ "path": "sub/n.txt", "content": "four\n" }), "ppended"),
        ("create_directory", json!({ "path": "new/deep" }), "Successfully created"),
        ("move_file", json!({ "source": "sub/n.txt", "destination": "new/deep/n.txt" }), "Successfully moved"),
        ("copy_file", json!({ "source": "new", "destination": "copied" }), "opied"),
        ("search_file_contents", json!({ "path": ".", "pattern": "three" }), "copied/deep/n.txt"),
        ("directory_tree", json!({ "path": "." }), "n.txt"),
        ("delete_directory", json!({ "path": "copied", "recursive": true }), "eleted"),
        ("delete_file", json!({ "path": "new/deep/n.txt" }), "eleted"),
        ("read_text_file", json!({ "path": "a.txt" }), "one"),
    ] {
        let told = call(tool, arguments);
        assert!(told.contains(answer) && !told.contains("os-denied"), "{tool}: {told}");
    }
    call("move_file", json!({ "source": "pipe", "destination": "other" }))
}

fn needs_privileges() -> bool {
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let here = own.contains("NoNewPrivs:\t0");
    if !here {
        needs::skipped("this process can get no privileges itself (NoNewPrivs), so a fence does not show by that");
    }
    here
}

/// No thread of it can ever get more privileges.
fn threads_are_fenced(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().map(|entry| entry.unwrap().path().join("status"));
    let told: Vec<_> = threads.filter_map(|status| fs::read_to_string(status).ok()).collect();
    assert!(told.len() > 2, "threads of the transport");
    told.iter().all(|status| status.contains("NoNewPrivs:\t1"))
}

/// Catches: a fence that is not raised, or around the first thread alone; one that keeps the server from what a tool does; one by default that the
/// operator has switched off.
#[test]
fn each_way_of_serving_is_fenced_in() {
    if !fences_here() {
        return;
    }
    for (options, fenced) in [(&[][..], true), (&["--landlock", "require"], true), (&["--landlock", "off"], false)] {
        let (done, err) = moved(&Place::new(), options);
        assert!(done != fenced && err.contains("os-denied") == fenced, "{options:?} {err}");
        for era in eras() {
            let place = Place::new();
            let mut command = Command::new(SERVER);
            command.args(options).arg("--audit").arg(place.at("log/audit")).arg(place.at("ws")).stderr(Stdio::inherit());
            let mut client = Session::of(&era, command);
            let last = session(|tool, arguments| {
                let answer = client.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
                answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
            });
            assert_eq!(last.starts_with("os-denied: "), fenced, "{last}");
            client.end();
            let log = fs::read_to_string(place.at("log/audit")).unwrap();
            // Of each call the decision and the answer, and those of the calls behind the first move.
            assert!(log.contains("move_file") && log.contains("read_text_file") && log.contains("delete_directory"), "{log}");
        }
        let place = Place::new();
        let (audit, ws) = (place.at("log/audit"), place.at("ws"));
        let server = Server::start(&[options, &["--audit", audit.to_str().unwrap(), ws.to_str().unwrap()]].concat());
        for modern in [true, false] {
            let mut client = server.client(modern);
            if modern {
                assert_eq!(session(|tool, arguments| client.call(tool, arguments)).starts_with("os-denied: "), fenced);
                fs::create_dir_all(place.at("ws/sub")).unwrap();
            } else {
                assert!(client.call("write_file", json!({ "path": "b.txt", "content": "b" })).contains("Successfully"));
            }
        }
        // Where the test itself can get no privileges, nothing that it starts tells.
        if needs_privileges() {
            assert_eq!(threads_are_fenced(server.pid()), fenced);
        }
        server.terminate();
        server.ended();
    }
}

/// With system calls that the kernel refuses to whatever the thread starts; `None` where it takes no filter.
fn without(calls: &'static str, options: &'static [&'static str]) -> Option<(bool, String)> {
    let filtered = std::thread::spawn(move || is_filtered(calls).then(|| moved(&Place::new(), options)));
    filtered.join().unwrap()
}

/// Whether the kernel takes a filter for this thread.
fn is_filtered(calls: &str) -> bool {
    let taken = filter::deny(calls);
    if let Err(error) = &taken {
        needs::skipped(&format!("the kernel takes no filter (seccomp) here: {error}"));
    }
    taken.is_ok()
}

/// Catches: `require` that starts with less than it requires, or says nothing of what to do; `auto` that does not start on an older kernel, or where
/// a filter lets Landlock be asked for and not be used.
#[test]
fn less_than_required_is_no_start() {
    const REQUIRE: &[&str] = &["--landlock", "require"];
    for (calls, why) in [
        ("landlock_create_ruleset=ENOSYS", "this kernel has no Landlock"),
        ("landlock_create_ruleset=EPERM", "this kernel has no Landlock"),
        ("landlock_create_ruleset=EOPNOTSUPP", "was started without it"),
        ("landlock_restrict_self=EPERM", "the kernel does not take the fence"),
    ] {
        if calls.starts_with("landlock_restrict") && !fences_here() {
            continue;
        }
        let Some((done, err)) = without(calls, REQUIRE) else { return };
        assert!(!done && err.lines().count() == 1 && err.starts_with("cap-roots-mcp: unsupported: "), "{calls}: {err}");
        assert!(err.contains(why) && err.contains("--landlock auto"), "{calls}: {err}");
        let Some((done, err)) = without(calls, &[]) else { return };
        assert!(done && !err.contains("os-denied"), "{calls}: {err}");
    }
}

/// Catches: clients whose word is a grant, beside a fence that nothing can be added to; one that is left out in silence, or although directories
/// were named.
#[test]
fn trust_and_the_fence_exclude_each_other() {
    let place = Place::new();
    let config = place.at("c.toml");
    fs::write(&config, "must_end = true\nlandlock = \"require\"\n[end]\n").unwrap();
    let config = config.to_str().unwrap();
    for options in [
        &["--landlock", "require", "--client-roots", "trust"][..],
        &["--landlock", "require", "--client-roots", "trust-read", "ws"],
        &["--config", config, "--client-roots", "trust"],
    ] {
        let (out, err, status) = place.run(options);
        assert_eq!((out.as_str(), status, err.lines().count()), ("", 2, 1), "{options:?} {err}");
        assert!(err.contains("leave out trust"), "{err}");
    }
    let told = |options: &[&str]| {
        let mut command = Command::new(SERVER);
        let output = command.current_dir(place.0.path()).args(options).stdin(Stdio::null()).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let warns = |options: &[&str]| told(options).contains("the kernel does not fence this process in");
    assert!(warns(&["--client-roots", "trust"]) && warns(&["--config", config, "--landlock", "auto", "--client-roots", "trust"]));
    assert!(!warns(&["--client-roots", "trust", "ws"]) && !warns(&["--client-roots", "trust", "--landlock", "off"]));
    if fences_here() {
        assert!(!moved(&place, &["--client-roots", "trust"]).0, "directories were named");
    }
}

/// Catches: a directory that is promised for later and cannot be opened then; a log that opens the home directory, or what is served, in silence.
#[test]
fn what_the_fence_changes_is_told() {
    if !fences_here() {
        return;
    }
    let place = Place::new();
    let call = ["--call", "read_text_file", "--args", r#"{"path":"root://gone/x"}"#];
    for (options, end) in [(&[][..], "the server was started anew"), (&["--landlock", "off"], "until it is there\n")] {
        let (_, err, status) = place.run(&[options, &call, &["ws", "gone"]].concat());
        assert!(status == 1 && err.contains(end), "{err}");
        assert_eq!(err.contains("to start the program anew"), options.is_empty(), "{err}");
        // As the server will be for which it is asked.
        let (_, err, _) = place.run(&[options, &["--explain", "x"], &["ws", "gone"]].concat());
        assert!(err.contains(end), "{err}");
    }
    let list = ["--call", "list_directory", "--args", r#"{"path":"."}"#];
    for (file, wide) in [("log/audit", false), ("audit", true)] {
        let (_, err, status) = place.run(&[&["--audit", file], &list[..], &["ws"]].concat());
        assert!(status == 0 && err.contains("holds more than logs") == wide, "{file}: {err}");
    }
}

/// Catches: a report that says of another kernel's fence what this one does, or that all is well where `require` would not start.
#[test]
fn the_doctor_asks_the_kernel() {
    let place = Place::new();
    let doctor = |options: &[&str]| {
        let (out, err, status) = place.run(&[&["--doctor"], options, &["ws"]].concat());
        assert_eq!(err, "");
        (out.split_whitespace().collect::<Vec<_>>().join(" "), status)
    };
    if fences_here() {
        let (out, status) = doctor(&["--landlock", "require"]);
        let level = landlock::kernel().unwrap().min(landlock::HIGHEST);
        assert!(
            status == 0 && out.contains("Landlock full asked") && out.contains(&format!("Landlock, level {level}: ")),
            "{out}"
        );
    }
    // What the operator took away is no word about the kernel.
    for (options, why) in [(&["--landlock", "off"][..], "it is switched off"), (&["--client-roots", "trust"], "opened later")] {
        let directories: &[&str] = if options.contains(&"trust") { &[] } else { &["ws"] };
        let (out, _, status) = place.run(&[&["--doctor"], options, directories].concat());
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            status == 0 && out.contains("Landlock not used") && out.contains(why) && !out.contains("keeps this process"),
            "{out}"
        );
    }
    let filtered = std::thread::scope(|scope| {
        let without = scope
            .spawn(|| is_filtered("landlock_create_ruleset=ENOSYS").then(|| (doctor(&[]), doctor(&["--landlock", "require"]))));
        without.join().unwrap()
    });
    let Some(((out, status), (required, refused))) = filtered else { return };
    assert!(
        status == 0 && out.contains("Landlock no asked") && out.contains("no fence by the kernel: this kernel has no"),
        "{out}"
    );
    assert!(refused == 1 && required.contains("cannot be served with --landlock require"), "{required}");
    assert!(Path::new(&place.at("ws/pipe")).exists());
}
