//! The contract of the reference filesystem server, as recorded: names, arguments, annotations, output schemas and answers of the
//! tools, in the order in which they were recorded. `data/reference.json` holds each recorded answer and, where ours is another one, ours and the
//! rows of the README's table of deliberate changes that it follows from.
//!
//! Catches: an answer that became another one and is in no table; a row of the table that nothing shows any more.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use support::{call, client, code, eras};

/// A picture of one pixel.
const PIXEL: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 31, 21, 196, 137, 0, 0,
    0, 13, 73, 68, 65, 84, 120, 156, 99, 96, 0, 0, 2, 0, 0, 1, 226, 33, 188, 51, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

fn data() -> Value {
    serde_json::from_str(include_str!("data/reference.json")).unwrap()
}

/// The recorded fixture: `ws` and `ws2` are allowed, `outside` and `ws-evil` are not.
fn fixture(base: &Path) {
    let ws = base.join("ws");
    for dir in ["ws/docs/deep", "ws2", "outside", "ws-evil"] {
        fs::create_dir_all(base.join(dir)).unwrap();
    }
    let bytes: Vec<u8> = (0..=255).collect();
    let files: &[(&str, &[u8])] = &[
        ("notes.txt", b"alpha\nbeta\ngamma\ndelta\n"),
        ("crlf.txt", b"one\r\ntwo\r\nthree\r\n"),
        ("bom.txt", b"\xef\xbb\xbfhello\n"),
        ("bin.dat", &bytes),
        ("dup.txt", b"x = 1\nx = 1\n"),
        ("indent.py", b"def f():\n    if a:\n        return 1\n"),
        ("pixel.png", PIXEL),
        ("docs/a.md", b"# a\n"),
        ("docs/deep/b.md", b"b\n"),
        (".hidden", b"h\n"),
        ("empty.txt", b""),
        ("../outside/secret.txt", b"secret\n"),
        ("../ws-evil/e.txt", b"evil\n"),
    ];
    for (name, content) in files {
        fs::write(ws.join(name), content).unwrap();
        fs::set_permissions(ws.join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    for (name, target) in [
        ("link_in", "notes.txt"),
        ("link_out", "../outside/secret.txt"),
        ("dirlink_out", "../outside"),
        ("link_broken", "nowhere"),
        ("link_dangling_out", "../outside/newfile.txt"),
        ("loop", "loop"),
    ] {
        symlink(target, ws.join(name)).unwrap();
    }
    assert!(Command::new("mkfifo").args(["-m", "644"]).arg(ws.join("fifo")).status().unwrap().success());
}

fn fill(value: &Value, base: &Path) -> Value {
    let base = base.to_str().unwrap();
    let text = value.to_string();
    serde_json::from_str(
        &text
            .replace("$WS2", &format!("{base}/ws2"))
            .replace("$WS", &format!("{base}/ws"))
            .replace("$OUT", &format!("{base}/outside")),
    )
    .unwrap()
}

#[tokio::test]
async fn tools_are_those_of_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    for era in eras() {
        let client = client(era, &[folder.path().to_str().unwrap()]).await;
        let offered = serde_json::to_value(client.list_all_tools().await.unwrap()).unwrap();
        for tool in data()["tools"].as_array().unwrap() {
            let ours = offered.as_array().unwrap().iter().find(|ours| ours["name"] == tool["name"]).unwrap();
            for same in ["title", "annotations", "outputSchema"] {
                assert_eq!(ours[same], tool[same], "{} {same}", tool["name"]);
            }
            let schema = &ours["inputSchema"];
            assert_eq!(schema.get("required").cloned().unwrap_or(Value::Array(Vec::new())), tool["required"], "{}", tool["name"]);
            for argument in tool["arguments"].as_array().unwrap() {
                assert!(schema["properties"].get(argument.as_str().unwrap()).is_some(), "{} {argument}", tool["name"]);
            }
            assert!(ours["description"].as_str().unwrap().len() > 80, "{}", tool["name"]);
        }
        client.cancel().await.unwrap();
    }
}

/// The times in an answer, which are never those that were recorded.
fn without_times(text: &str) -> String {
    let line = |line: &str| match line.split_once(": ") {
        Some((label @ ("created" | "modified" | "accessed"), time)) => {
            assert!(time.contains(" GMT+0000 (Coordinated Universal Time)"), "{time}");
            format!("{label}: $TIME")
        }
        _ => line.to_owned(),
    };
    if text.contains("\nisDirectory: ") { text.lines().map(line).collect::<Vec<_>>().join("\n") } else { text.to_owned() }
}

/// What an answer holds, in the form of the recordings: a text, blocks of content, or an error.
fn told(answer: &Value) -> Value {
    let content = &answer["content"];
    let text = content[0]["text"].as_str().map(without_times).filter(|_| content.as_array().unwrap().len() == 1);
    if answer["isError"] == true {
        return json!({ "error": text });
    }
    // What is missing from a text stands in a block behind it and in `_meta`; in the structured form in its last line, unless the text is JSON.
    if let (Some(shown), Some(notice)) = (content[0]["text"].as_str(), content[1]["text"].as_str()) {
        let structured = answer["structuredContent"]["content"].as_str().unwrap();
        assert!(structured == format!("{shown}\n{notice}") || shown.starts_with('[') && structured == shown, "{structured}");
        assert_eq!(notice, format!("[{}]", answer["_meta"]["cap-roots/notice"].as_str().unwrap()));
        return json!({ "text": shown, "notice": notice });
    }
    // The same in the structured form: the text, or the blocks themselves.
    match text {
        Some(text) => {
            assert_eq!(answer["structuredContent"]["content"].as_str().map(without_times).as_ref(), Some(&text));
            json!({ "text": text })
        }
        None => {
            assert_eq!(&answer["structuredContent"]["content"], content);
            json!({ "content": content })
        }
    }
}

#[tokio::test]
async fn answers_are_those_of_the_reference_but_for_listed_differences() {
    for era in eras() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        fixture(&base);
        let [ws, ws2] = ["ws", "ws2"].map(|name| base.join(name).to_str().unwrap().to_owned());
        let client = client(era, &[&ws, &ws2]).await;
        let data = data();
        for row in ["calls", "after"].iter().flat_map(|part| data[part].as_array().unwrap()) {
            let row = fill(row, &base);
            let answer = call(&client, row["tool"].as_str().unwrap(), row["arguments"].clone()).await;
            let told = told(&serde_json::to_value(&answer).unwrap());
            if row["differs"].is_null() {
                assert_eq!(told, row["recorded"], "{row}");
                continue;
            }
            assert_ne!(told, row["recorded"], "this is no difference any more: {row}");
            match row["ours"]["code"].as_str() {
                Some(want) => {
                    assert_eq!(code(&answer).as_deref(), Some(want), "{row}\n{told}");
                    assert!(!told.to_string().contains("secret\\n") && !told.to_string().contains("ws2"), "{told}");
                }
                None => assert_eq!(told, row["ours"], "{row}"),
            }
        }
        client.cancel().await.unwrap();
        let outside: Vec<_> = fs::read_dir(base.join("outside")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(outside, ["secret.txt"]);
        let left = fs::read_dir(base.join("ws")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(left.into_iter().all(|name| !name.ends_with(".tmp")));
    }
}

/// Catches: a recorded call that is left out and not said to be.
#[test]
fn no_recorded_call_is_forgotten() {
    let data = data();
    let numbers: Vec<_> = data["calls"].as_array().unwrap().iter().filter_map(|row| row["number"].as_u64()).collect();
    assert!(numbers.is_sorted(), "the calls are made in the order in which they were recorded");
    let mut all = numbers.clone();
    all.extend(data["left_out"].as_array().unwrap().iter().filter_map(Value::as_u64));
    all.sort_unstable();
    assert_eq!(all, (0..73).collect::<Vec<_>>());
}

/// The tests of the server and of its adapter, by their names.
fn tests() -> String {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dirs = ["tests", "src", "src/edit", "src/walk", "src/walk/glob", "../rmcp/tests", "../tests"].map(|dir| top.join(dir));
    let files = dirs.iter().flat_map(|dir| fs::read_dir(dir).unwrap()).map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Each difference is in the table, and each row of the table is shown by a recorded call, or by a test that exists.
#[test]
fn the_table_of_differences_is_whole() {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/migration.md")).unwrap();
    let section = document.split("\n## What is different, on purpose\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows: Vec<Vec<_>> =
        section.lines().filter_map(|line| line.strip_prefix("| D")).map(|row| row.split(" | ").collect()).collect();
    assert!(rows.iter().all(
        |row| row.len() == 4 && row.iter().all(|cell| cell.trim_matches([' ', '|']).len() > 1 || cell.parse::<u8>().is_ok())
    ));
    let mut listed: Vec<_> = rows.iter().map(|row| format!("D{}", row[0])).collect();
    let order: Vec<_> = (1..=listed.len()).map(|number| format!("D{number}")).collect();
    assert_eq!(listed, order, "rows are numbered in order");
    let (data, tests) = (data(), tests());
    let mut shown = Vec::new();
    for part in ["calls", "after", "roots", "elsewhere"] {
        for row in data[part].as_array().unwrap() {
            let differs: Vec<_> =
                row["differs"].as_array().into_iter().flatten().map(|id| id.as_str().unwrap().to_owned()).collect();
            assert_eq!(row["ours"].is_null(), differs.is_empty() || part == "elsewhere", "{row}");
            if let Some(test) = row["test"].as_str() {
                assert!(tests.contains(&format!("fn {test}(")), "no test for: {row}");
            } else {
                assert!(["calls", "after"].contains(&part), "nothing shows: {row}");
            }
            shown.extend(differs);
        }
    }
    for list in [&mut listed, &mut shown] {
        list.sort();
        list.dedup();
    }
    assert_eq!(shown, listed);
}
