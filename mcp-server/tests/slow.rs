//! Calls that take as long as they are let: the others go on, withdrawn ones end, and the server ends with its client.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::io::Read as _;
use std::time::Duration;

use cap_roots_oracle::needs;
use serde_json::{Value, json};
use support::eras;
use support::wire::{Session, signal, wait};

/// A server on a file that no call reaches the second line of. `None` where the disk takes no such file.
fn start(arguments: &[&str], dir: &std::path::Path, more: &[&str]) -> Option<Session> {
    if !needs::endless(dir) {
        return None;
    }
    std::fs::write(dir.join("small"), "small").unwrap();
    let arguments = [arguments, &[dir.to_str().unwrap()], more].concat();
    Some(Session::start(&eras()[1], &arguments))
}

fn call(session: &mut Session, id: usize, tool: &str, arguments: Value) {
    session.send(Some(id), "tools/call", json!({ "name": tool, "arguments": arguments }));
}

fn read(session: &mut Session, id: usize, arguments: Value) {
    call(session, id, "read_text_file", arguments);
}

/// Edits that take longer than a test, of a file that they are for.
fn edits(file: &std::path::Path) -> (String, Vec<Value>) {
    let before = "a line of text\n".repeat(1 << 20);
    std::fs::write(file, &before).unwrap();
    let edits = (0..300)
        .map(|number| {
            let word = |number| if number == 0 { "a line".to_owned() } else { format!("line {number} of") };
            json!({ "oldText": word(number), "newText": word(number + 1), "replaceAll": true })
        })
        .collect();
    (before, edits)
}

/// Catches: calls on the threads that the protocol's own input and output need, and long calls that leave no place for short ones.
#[test]
fn slow_calls_stop_neither_the_others_nor_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut session) = start(&["--max-seconds", "600"], folder.path(), &[]) else { return };
    for id in 1..=15 {
        read(&mut session, id, json!({ "path": "endless", "offset": 2 }));
    }
    read(&mut session, 100, json!({ "path": "small" }));
    assert_eq!(session.answer(100)["result"]["content"][0]["text"], "small");
    for id in 16..=40 {
        read(&mut session, id, json!({ "path": "endless", "offset": 2 }));
    }
    session.send(Some(101), "tools/list", json!({}));
    assert_eq!(session.answer(101)["result"]["tools"].as_array().unwrap().len(), 19);
    // Withdrawn, they give their turns back.
    for id in 1..=40 {
        session.send(None, "notifications/cancelled", json!({ "requestId": id }));
    }
    read(&mut session, 102, json!({ "path": "small", "offset": 1 }));
    assert_eq!(session.answer(102)["result"]["content"][0]["text"], "small");
    for id in 41..=80 {
        read(&mut session, id, json!({ "path": "endless", "offset": 2 }));
    }
    session.end();
}

#[test]
fn a_call_over_its_time_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut session) = start(&["--max-seconds", "1"], folder.path(), &[]) else { return };
    for id in 1..=20 {
        read(&mut session, id, json!({ "path": "endless", "offset": 2 }));
    }
    let answer = session.answer(1);
    assert_eq!(answer["result"]["_meta"]["cap-roots/code"], "timeout", "{answer}");
    read(&mut session, 21, json!({ "path": "small" }));
    assert_eq!(session.answer(21)["result"]["content"][0]["text"], "small");
    session.end();
}

/// Catches: a change that is made after its call was answered with timeout.
#[test]
fn a_change_over_its_time_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut session) = start(&["--max-seconds", "1"], folder.path(), &[]) else { return };
    let file = folder.path().join("large");
    let (before, edits) = edits(&file);
    call(&mut session, 1, "edit_file", json!({ "path": "large", "edits": edits }));
    let answer = session.answer(1);
    assert_eq!(answer["result"]["_meta"]["cap-roots/code"], "timeout", "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("look at what is there"), "{answer}");
    // In the queue behind the stopped one, so that it has ended when this is answered.
    call(&mut session, 2, "append_file", json!({ "path": "large", "content": "end" }));
    assert!(session.answer(2)["result"]["content"][0]["text"].as_str().unwrap().starts_with("Successfully"));
    assert!(std::fs::read_to_string(&file).unwrap() == before + "end");
    session.end();
}

/// Catches: a copy that goes on after its call was withdrawn, and what it has made so far staying behind.
#[test]
fn a_withdrawn_copy_ends() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut session) = start(&["--max-seconds", "600"], folder.path(), &[]) else { return };
    std::fs::File::create(folder.path().join("large")).unwrap().set_len(4 << 30).unwrap();
    call(&mut session, 1, "copy_file", json!({ "source": "large", "destination": "copy" }));
    std::thread::sleep(Duration::from_millis(50));
    call(&mut session, 2, "list_directory", json!({ "path": "." }));
    if session.answer(2)["result"]["content"][0]["text"].as_str().unwrap().contains("[FILE] copy\n") {
        needs::skipped("this disk copies 4 GiB at once");
        return session.end();
    }
    session.send(None, "notifications/cancelled", json!({ "requestId": 1 }));
    // In the queue behind the copy.
    call(&mut session, 3, "append_file", json!({ "path": "copy", "content": "free" }));
    let answer = session.answer(3);
    assert_eq!(answer["result"]["content"][0]["text"], "Successfully appended to copy");
    assert_eq!(std::fs::metadata(folder.path().join("copy")).unwrap().len(), 4);
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["copy", "endless", "large", "small"]);
    session.end();
}

/// Catches: resources that are read beside the turns of the tools, or on the threads of the protocol.
#[test]
fn resources_wait_for_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut session) = start(&["--max-seconds", "600"], folder.path(), &[]) else { return };
    let root = session.ask("resources/list", json!({}))["result"]["resources"][0]["uri"].as_str().unwrap().to_owned();
    // More than there are turns, and a moment to take them. One works, and the others wait for its file.
    let (_, edits) = edits(&folder.path().join("large"));
    for id in 1..=16 {
        call(&mut session, id, "edit_file", json!({ "path": "large", "edits": edits }));
    }
    std::thread::sleep(Duration::from_millis(300));
    let uri = format!("{root}small");
    for id in 41..=60 {
        session.send(Some(id), "resources/read", json!({ "uri": uri }));
    }
    assert!(session.ask("resources/list", json!({}))["result"]["resources"].is_array());
    assert!(session.ask("resources/templates/list", json!({}))["result"].is_object());
    std::thread::sleep(Duration::from_millis(300));
    assert!((41..=60).all(|id| !session.has_answer(id)), "read without a turn");
    // Withdrawn while it waits, it takes no turn with it.
    for id in 1..=41 {
        session.send(None, "notifications/cancelled", json!({ "requestId": id }));
    }
    for id in 42..=60 {
        assert_eq!(session.answer(id)["result"]["contents"][0]["text"], "small");
    }
    session.end();
}

/// Catches: one pool of turns or threads for all roots, so that a disk that hangs stops the calls on the others.
#[test]
fn a_root_that_hangs_stops_no_other() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(other.path().join("b"), "other").unwrap();
    let more = format!("--rw=other={}", other.path().display());
    let Some(mut session) = start(&["--max-seconds", "600"], folder.path(), &[&more]) else { return };
    let (_, edits) = edits(&folder.path().join("large"));
    for id in 1..=30 {
        match id % 3 {
            0 => read(&mut session, id, json!({ "path": "endless", "offset": 2 })),
            1 => call(&mut session, id, "edit_file", json!({ "path": "large", "edits": edits })),
            _ => call(&mut session, id, "copy_file", json!({ "source": "large", "destination": "root://other/copy" })),
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    read(&mut session, 100, json!({ "path": "root://other/b" }));
    assert_eq!(session.answer(100)["result"]["content"][0]["text"], "other");
    read(&mut session, 101, json!({ "path": "root://other/b", "offset": 1 }));
    assert_eq!(session.answer(101)["result"]["content"][0]["text"], "other");
    call(&mut session, 102, "list_allowed_directories", json!({}));
    assert_eq!(session.answer(102)["result"]["content"][0]["text"].as_str().unwrap().lines().count(), 3);
    let uri = session.ask("resources/read", json!({ "uri": "root://other/b" }));
    assert_eq!(uri["result"]["contents"][0]["text"], "other", "{uri}");
    assert!((1..=30).filter(|id| id % 3 == 1).all(|id| !session.has_answer(id)), "nothing was in the way");
    for id in 1..=30 {
        session.send(None, "notifications/cancelled", json!({ "requestId": id }));
    }
    session.end();
}

/// Catches: a `--call` that waits for a reader with signals that go nowhere.
#[test]
fn a_call_whose_reader_stops_ends_when_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), "a line of text\n".repeat(1 << 15)).unwrap();
    for name in ["-TERM", "-INT"] {
        let mut command = std::process::Command::new(support::SERVER);
        command.args(["--call", "read_text_file", "--args", r#"{"path":"f"}"#]).arg(folder.path());
        let mut call = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        // Begun, and more than a pipe holds.
        call.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        signal(&call, name);
        assert_eq!(wait(&mut call).code(), Some(1));
        let mut told = String::new();
        call.stderr.unwrap().read_to_string(&mut told).unwrap();
        assert!(
            told.starts_with("cancelled: ") && told.contains("what the call did is done") && told.lines().count() == 1,
            "{told}"
        );
    }
}
