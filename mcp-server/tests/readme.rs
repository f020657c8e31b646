//! The sessions in the README and behind it in `docs/`, word for word: each command is run, and has to answer what is written there.
//!
//! Catches: a command or an answer that is no longer so; code that nobody compiles; a link that leads nowhere.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The README, the pages of `docs/` by name, and those of the guide: their paths from the top, and their text.
fn pages() -> Vec<(String, String)> {
    let mut pages = vec!["README.md".to_owned()];
    for dir in ["docs", "docs/guide"] {
        let names = fs::read_dir(top().join(dir)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.ends_with(".md")).collect();
        names.sort();
        pages.extend(names.iter().map(|name| format!("{dir}/{name}")));
    }
    let read = |page: String| fs::read_to_string(top().join(&page)).map(|text| (page, text)).unwrap();
    pages.into_iter().map(read).collect()
}

#[test]
fn the_sessions_go_as_they_are_written() {
    let text: String = pages().into_iter().map(|(_, text)| text).collect();
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
    assert!(commands >= 50, "the sessions were not found");
    assert_eq!(fs::read_to_string(folder.path().join("project/.env")).unwrap(), "KEY=secret");
}

/// Code that is shown is compiled by rustdoc, with the adapter's documentation; the README's two pieces of the example are looked at below.
#[test]
fn code_that_is_shown_is_compiled() {
    let adapter = fs::read_to_string(top().join("rmcp/src/lib.rs")).unwrap();
    let mut compiled = 0;
    for (page, text) in pages() {
        assert!(page == "README.md" || !text.contains("```rust,ignore"), "{page}");
        if text.contains("```rust") {
            assert!(adapter.contains(&format!("#[doc = include_str!(\"../../{page}\")]")), "{page} is compiled by nobody");
            compiled += 1;
        }
    }
    assert!(compiled >= 2);
}

#[test]
fn links_between_the_pages_lead_somewhere() {
    let mut links = 0;
    for (page, text) in pages() {
        let dir = top().join(&page).parent().unwrap().to_owned();
        for target in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let (path, mark) = target.split_once('#').unwrap_or((target, ""));
            if path.starts_with("http") {
                continue;
            }
            let place = if path.is_empty() { top().join(&page) } else { dir.join(path) };
            assert!(place.exists(), "{page}: {target}");
            if !mark.is_empty() {
                let heading = |line: &str| {
                    let words = line.trim_start_matches('#').trim().to_lowercase();
                    words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
                };
                let there = fs::read_to_string(&place).unwrap();
                assert!(there.lines().any(|line| line.starts_with('#') && heading(line) == mark), "{page}: {target}");
            }
            links += 1;
        }
    }
    assert!(links > 30, "there are {links}");
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
