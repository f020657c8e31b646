//! The sessions in the README and behind it in `docs/`, word for word: each command is run, and has to answer what is written there.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_sessions_go_as_they_are_written() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let docs = fs::read_dir(top.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut docs: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    docs.sort();
    docs.insert(0, top.join("README.md"));
    let text: String = docs.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let sessions = text.split("````console\n$ ").skip(1).map(|rest| rest.split("\n````\n").next().unwrap());
    let folder = tempfile::tempdir().unwrap();
    for dir in ["project/src", "project/.git/hooks"] {
        fs::create_dir_all(folder.path().join(dir)).unwrap();
    }
    fs::write(folder.path().join("project/.env"), "KEY=secret").unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_cap-roots-mcp")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut commands = 0;
    for step in sessions.flat_map(|session| session.split("\n$ ")) {
        // A document that is written down is part of the command.
        let (command, answer) = if step.contains("<<'END'") { (step, "") } else { step.split_once('\n').unwrap_or((step, "")) };
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1\n{command}\n")]).env("PATH", &path).current_dir(&folder);
        let output = shell.output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(told.trim_end(), answer.trim_end(), "{command}");
        commands += 1;
    }
    assert!(commands >= 36, "the sessions were not found");
    assert_eq!(fs::read_to_string(folder.path().join("project/.env")).unwrap(), "KEY=secret");
}

/// What is shown of the example stands in it; `tests/example.rs` runs it.
#[test]
fn what_is_shown_of_the_example_is_in_it() {
    let read = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (readme, example) = (read("../README.md"), read("examples/count_todo.rs"));
    let shown: Vec<_> = readme.split("```rust,ignore\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(shown.len(), 2);
    for piece in shown {
        assert!(example.contains(piece), "{piece}");
    }
    assert!(example.lines().count() < 60 && readme.contains(&format!("{} lines", example.lines().count())));
}
