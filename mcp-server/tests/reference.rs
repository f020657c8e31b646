//! The contract of the reference filesystem server, as recorded: names, arguments, annotations, output schemas and answers of the
//! tools. `data/reference.json` gives with each call either the recorded answer, or ours and the reason for the difference.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
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
    for dir in ["ws/docs/deep", "ws/a", "ws2", "outside", "ws-evil"] {
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
        ("new.txt", b"new"),
        ("../outside/secret.txt", b"secret\n"),
        ("../ws-evil/e.txt", b"evil\n"),
    ];
    for (name, content) in files {
        fs::write(ws.join(name), content).unwrap();
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
    assert!(Command::new("mkfifo").arg(ws.join("fifo")).status().unwrap().success());
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

#[tokio::test]
async fn answers_are_those_of_the_reference_but_for_listed_differences() {
    for era in eras() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        fixture(&base);
        let [ws, ws2] = ["ws", "ws2"].map(|name| base.join(name).to_str().unwrap().to_owned());
        let client = client(era, &[&ws, &ws2]).await;
        for row in data()["calls"].as_array().unwrap() {
            let row = fill(row, &base);
            let answer = call(&client, row["tool"].as_str().unwrap(), row["arguments"].clone()).await;
            let told = serde_json::to_value(&answer).unwrap();
            if let Some(want) = row["code"].as_str() {
                assert_eq!(code(&answer).as_deref(), Some(want), "{row}\n{told}");
                assert!(!told.to_string().contains("secret\\n") && !told.to_string().contains("ws2"), "{told}");
                continue;
            }
            assert_ne!(told["isError"], true, "{row}\n{told}");
            let text = row["text"].as_str().map(|text| serde_json::json!([{ "type": "text", "text": text }]));
            let want = text.as_ref().unwrap_or(&row["content"]);
            assert_eq!(&told["content"], want, "{row}");
            // The same in the structured form: the text, or the blocks themselves.
            let structured = want[0].get("text").unwrap_or(want);
            assert_eq!(&told["structuredContent"]["content"], structured, "{row}");
        }
        client.cancel().await.unwrap();
        let outside: Vec<_> = fs::read_dir(base.join("outside")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(outside, ["secret.txt"]);
        let left = fs::read_dir(base.join("ws")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(left.into_iter().all(|name| !name.ends_with(".tmp")));
    }
}
