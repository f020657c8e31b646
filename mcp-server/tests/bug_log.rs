//! Public faults of file servers, each with the legitimate case beside it that a crude cure would break. Those of the library are in the library's
//! own `bug_log*`; others of the server are named in the files of their subject.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};
use support::wire::Session;
use support::{base, call, client, code, eras, text, tree, workspace};

fn in_ws(ws: &str, name: &str, content: impl AsRef<[u8]>) {
    fs::write(Path::new(ws).join(name), content).unwrap();
}

/// READ-01. Catches: a kind of content that the protocol lacks, and a cure that answers pictures as files.
#[tokio::test]
async fn read_01_what_is_no_media_is_a_kind_of_content_that_there_is() {
    let (_folder, ws) = workspace();
    in_ws(&ws, "t.png", "png");
    in_ws(&ws, "t.wav", "wav");
    for era in eras() {
        // As it is on the wire: a client library may be more forgiving than others.
        let mut session = Session::start(&era, &[&ws]);
        for (path, kind, mime) in [
            ("a.txt", "resource", "text/plain"),
            ("sub/b.md", "resource", "text/markdown"),
            ("t.png", "image", "image/png"),
            ("t.wav", "audio", "audio/wav"),
        ] {
            let answer = session.ask("tools/call", json!({ "name": "read_media_file", "arguments": { "path": path } }));
            let block = &answer["result"]["content"][0];
            assert_eq!(block["type"], kind, "{answer}");
            let parsed: ContentBlock = serde_json::from_value(block.clone()).unwrap();
            let (data, told) = match parsed {
                ContentBlock::Image(image) => (image.data, image.mime_type),
                ContentBlock::Audio(audio) => (audio.data, audio.mime_type),
                ContentBlock::Resource(resource) => match resource.resource {
                    ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
                        assert_eq!(uri, format!("root://ws/{path}"));
                        (blob, mime_type.unwrap())
                    }
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            };
            assert!(!data.is_empty() && told == mime, "{path} {told}");
            assert_eq!(answer["result"]["structuredContent"]["content"], answer["result"]["content"]);
        }
        session.end();
    }
}

/// READ-02. Catches: the empty piece behind the last line end as a line, and a cure that drops a line that is really empty.
#[tokio::test]
async fn read_02_the_last_line_is_the_last_line() {
    let (_folder, ws) = workspace();
    for (name, content) in [("ended", "a\nb\n"), ("open", "a\nb"), ("empty-last", "a\n\n"), ("nothing", ""), ("one", "\n")] {
        in_ws(&ws, name, content);
    }
    let client = client(eras()[1].clone(), &[&ws]).await;
    for (name, tail, want) in [
        ("ended", 1, "b"),
        ("open", 1, "b"),
        ("ended", 2, "a\nb"),
        ("empty-last", 1, ""),
        ("empty-last", 2, "a\n"),
        ("nothing", 3, ""),
        ("one", 1, ""),
    ] {
        let answer = call(&client, "read_text_file", json!({ "path": name, "tail": tail })).await;
        assert_eq!(text(&answer), want, "{name} {tail}");
    }
    client.cancel().await.unwrap();
}

/// What stands in both places where clients look.
fn in_both(answer: &CallToolResult) -> (String, Value) {
    let blocks: Vec<_> = answer.content.iter().filter_map(|block| Some(block.as_text()?.text.clone())).collect();
    (blocks.join("\n"), answer.structured_content.clone().unwrap_or(Value::Null)["content"].clone())
}

/// READ-07. Catches: content that only one of the two places has, and a cure that puts structured content beside a refusal, where it would not
/// fit the declared schema.
#[tokio::test]
async fn read_07_content_is_in_the_text_and_in_the_structured_form() {
    let (_folder, ws) = workspace();
    in_ws(&ws, ".rc", "set = 1\n");
    for era in eras() {
        let client = client(era, &["--max-text-bytes", "40", &ws]).await;
        for (tool, arguments) in [
            ("read_text_file", json!({ "path": ".rc" })),
            ("read_file", json!({ "path": ".rc" })),
            // With a notice that it was cut: that too.
            ("list_directory", json!({ "path": "." })),
            ("read_multiple_files", json!({ "paths": [".rc"] })),
            ("list_directory", json!({ "path": "sub" })),
            ("list_directory_with_sizes", json!({ "path": "sub" })),
            ("get_file_info", json!({ "path": ".rc" })),
            ("list_allowed_directories", json!({})),
            ("write_file", json!({ "path": "n", "content": "x" })),
            ("edit_file", json!({ "path": "n", "edits": [{ "oldText": "x", "newText": "y" }] })),
        ] {
            let answer = call(&client, tool, arguments.clone()).await;
            let (text, structured) = in_both(&answer);
            assert_eq!(structured, Value::from(text), "{tool} {arguments}");
        }
        let refused = call(&client, "read_text_file", json!({ "path": "none" })).await;
        assert!(code(&refused).is_some() && refused.structured_content.is_none());
        client.cancel().await.unwrap();
    }
}

/// UNI-02. Catches: a directory that is granted and refused for the form of its name, and a cure that takes letters without their marks for
/// the same.
#[tokio::test]
async fn uni_02_a_directory_is_known_in_either_form_of_its_name() {
    let (_folder, ws) = workspace();
    let around = base(&ws);
    // The syllable ga, taken apart as some disks do; in one piece, as it is typed; and ka, which is another one.
    let [stored, typed, other] = ["\u{30ab}\u{3099}", "\u{30ac}", "\u{30ab}"].map(|name| format!("{around}/{name}"));
    for (dir, content) in [(&stored, "ours"), (&other, "SECRET")] {
        fs::create_dir(dir).unwrap();
        fs::write(format!("{dir}/a.txt"), content).unwrap();
    }
    for era in eras() {
        let client = client(era, &[&stored]).await;
        for path in [format!("{stored}/a.txt"), format!("{typed}/a.txt"), "a.txt".to_owned()] {
            let answer = call(&client, "read_text_file", json!({ "path": path })).await;
            assert_eq!(text(&answer), "ours", "{path}");
        }
        let answer = call(&client, "list_directory", json!({ "path": typed })).await;
        assert_eq!(text(&answer), "[FILE] a.txt");
        let written = call(&client, "write_file", json!({ "path": format!("{typed}/b.txt"), "content": "x" })).await;
        assert_eq!(code(&written), None, "{}", text(&written));
        assert!(Path::new(&stored).join("b.txt").exists() && !Path::new(&typed).exists());
        let refused = call(&client, "read_text_file", json!({ "path": format!("{other}/a.txt") })).await;
        assert_eq!(code(&refused).as_deref(), Some("outside-roots"));
        fs::remove_file(Path::new(&stored).join("b.txt")).unwrap();
        client.cancel().await.unwrap();
    }
}

/// UNI-03. Catches: blocks that are decoded one by one, and a cure that lets pass what is no character.
#[tokio::test]
async fn uni_03_characters_at_the_edge_of_a_block_stay_whole() {
    let (_folder, ws) = workspace();
    let client = client(eras()[0].clone(), &[&ws]).await;
    for before in [1023, 4095, 65_535, 65_534] {
        let line = format!("{}音", "x".repeat(before));
        in_ws(&ws, "head", format!("{line}\nrest"));
        in_ws(&ws, "tail", format!("first\n{line}\n"));
        in_ws(&ws, "broken", [line.as_bytes(), &[0xe9, b'\n']].concat());
        for (name, part) in [("head", "head"), ("tail", "tail")] {
            let answer = call(&client, "read_text_file", json!({ "path": name, part: 1 })).await;
            assert_eq!(text(&answer), line, "{name} {before}");
        }
        let answer = call(&client, "read_text_file", json!({ "path": "broken", "head": 1 })).await;
        assert_eq!(code(&answer).as_deref(), Some("not-utf8"));
    }
    client.cancel().await.unwrap();
}

/// UNI-08. Catches: text that is written in the code page of the system, and a cure that puts a mark before it.
#[tokio::test]
async fn uni_08_what_is_written_is_utf_8() {
    let (_folder, ws) = workspace();
    for era in eras() {
        let client = client(era, &[&ws]).await;
        let content = "Bäcker\r\n音\u{1f956}\n";
        for (tool, arguments) in [
            ("write_file", json!({ "path": "Bäcker.txt", "content": content })),
            ("edit_file", json!({ "path": "Bäcker.txt", "edits": [{ "oldText": "ä", "newText": "ö" }] })),
            ("append_file", json!({ "path": "Bäcker.txt", "content": "ß" })),
        ] {
            let answer = call(&client, tool, arguments).await;
            assert_eq!(code(&answer), None, "{}", text(&answer));
        }
        let bytes = fs::read(Path::new(&ws).join("Bäcker.txt")).unwrap();
        assert_eq!(bytes, "Böcker\r\n音\u{1f956}\nß".as_bytes());
        client.cancel().await.unwrap();
    }
}

/// LEAK-06, OWN-20. Catches: what is inside the program, or the name of a temporary file, in an answer; and a cure that says nothing at all.
#[tokio::test]
async fn leak_06_a_failure_inside_is_one_line_with_a_code() {
    let (_folder, ws) = workspace();
    symlink("loop", Path::new(&ws).join("loop")).unwrap();
    in_ws(&ws, "latin", [0xe9]);
    let long = "x".repeat(300);
    let deep = "d/".repeat(200);
    let before = tree(Path::new(&ws));
    for era in eras() {
        let client = client(era, &[&ws]).await;
        for (tool, arguments) in [
            ("write_file", json!({ "path": "sub", "content": "x" })),
            ("write_file", json!({ "path": "a.txt/x", "content": "x" })),
            ("write_file", json!({ "path": &long, "content": "x" })),
            ("write_file", json!({ "path": "loop", "content": "x" })),
            ("append_file", json!({ "path": "sub", "content": "x" })),
            ("read_text_file", json!({ "path": &long })),
            ("read_text_file", json!({ "path": &deep })),
            ("read_text_file", json!({ "path": "latin" })),
            ("read_text_file", json!({ "path": "loop" })),
            ("move_file", json!({ "source": "sub", "destination": "sub/deeper/in" })),
            ("move_file", json!({ "source": ".", "destination": "x" })),
            ("copy_file", json!({ "source": "a.txt", "destination": "a.txt" })),
            ("copy_file", json!({ "source": "sub", "destination": "sub/deeper/in" })),
            ("create_directory", json!({ "path": "a.txt/b" })),
            ("delete_directory", json!({ "path": "sub" })),
            ("delete_directory", json!({ "path": ".", "recursive": true })),
            ("edit_file", json!({ "path": "latin", "edits": [{ "oldText": "x", "newText": "y" }] })),
            ("list_directory", json!({ "path": "a.txt" })),
        ] {
            let answer = call(&client, tool, arguments.clone()).await;
            assert!(code(&answer).is_some(), "{tool} {arguments}: {}", text(&answer));
            let told = serde_json::to_string(&answer).unwrap();
            assert_eq!((answer.content.len(), text(&answer).lines().count()), (1, 1), "{told}");
            for inside in [".rs:", "panicked", "os error", "Errno", "backtrace", ".cap-roots-", ".tmp", base(&ws)] {
                assert!(!told.contains(inside), "{tool} {arguments}: {told}");
            }
            // And it says what to do.
            assert!(text(&answer).contains("; "), "{told}");
        }
        client.cancel().await.unwrap();
    }
    assert_eq!(tree(Path::new(&ws)), before);
}
