//! Which tools there are for whom: read-only and without deletion, and how the tools are described.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::path::Path;

use serde_json::json;
use support::{call, client, code, eras, offered, text, tree, workspace};

const WRITING: [&str; 8] =
    ["write_file", "edit_file", "append_file", "create_directory", "move_file", "copy_file", "delete_file", "delete_directory"];

/// PROTO-03: read-only means that the tools are not there, and are refused when they are called all the same, with what would allow them.
#[tokio::test]
async fn a_read_only_server_has_no_writing_tools() {
    let (_folder, ws) = workspace();
    let before = tree(Path::new(&ws));
    for era in eras() {
        let client = client(era, &["--ro", &ws]).await;
        let tools = offered(&client).await;
        assert_eq!(tools.len(), 11);
        assert!(WRITING.iter().all(|tool| !tools.iter().any(|offered| offered == tool)), "{tools:?}");
        for tool in WRITING {
            let arguments = json!({
                "path": "a.txt", "content": "x", "edits": [], "source": "a.txt", "destination": "n", "recursive": true
            });
            let answer = call(&client, tool, arguments).await;
            assert_eq!(code(&answer).as_deref(), Some("not-granted"), "{tool}");
            let said = text(&answer);
            assert!(said.contains(&format!("no directory allows {tool}")) && said.contains("--rw DIR"), "{said}");
        }
        client.cancel().await.unwrap();
    }
    assert_eq!(tree(Path::new(&ws)), before);
    // Beside a directory that may be written, the read-only one stays as it is.
    let other = tempfile::tempdir().unwrap();
    let client = client(eras()[0].clone(), &["--ro", &ws, "--rw", &format!("other={}", other.path().display())]).await;
    for (tool, arguments, want) in [
        ("write_file", json!({ "path": "a.txt", "content": "x" }), Some("not-granted")),
        ("delete_file", json!({ "path": "a.txt" }), Some("not-granted")),
        ("move_file", json!({ "source": "a.txt", "destination": "root://other/a" }), Some("not-granted")),
        ("copy_file", json!({ "source": "root://other/a", "destination": "b" }), Some("not-granted")),
        (
            "edit_file",
            json!({ "path": "a.txt", "edits": [{ "oldText": "one", "newText": "1" }], "dryRun": true }),
            Some("not-granted"),
        ),
        ("copy_file", json!({ "source": "a.txt", "destination": "root://other/a" }), None),
        ("move_file", json!({ "source": "root://other/a", "destination": "root://other/b" }), None),
    ] {
        let answer = call(&client, tool, arguments.clone()).await;
        assert_eq!(code(&answer).as_deref(), want, "{tool} {arguments}: {}", text(&answer));
    }
    assert_eq!(tree(Path::new(&ws)), before);
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn without_deletion_nothing_goes_away() {
    let (_folder, ws) = workspace();
    let other = tempfile::tempdir().unwrap();
    let client = client(eras()[1].clone(), &["--no-delete", &ws, "--rw", &format!("other={}", other.path().display())]).await;
    let tools = offered(&client).await;
    assert_eq!(tools.len(), 17);
    for (tool, arguments, want) in [
        ("delete_file", json!({ "path": "a.txt" }), Some("not-granted")),
        ("delete_directory", json!({ "path": "sub", "recursive": true }), Some("not-granted")),
        ("no_such_tool", json!({}), Some("invalid-argument")),
        ("move_file", json!({ "source": "a.txt", "destination": "root://other/a.txt" }), Some("cross-root")),
        ("move_file", json!({ "source": "a.txt", "destination": "sub/b.md" }), Some("already-exists")),
        ("move_file", json!({ "source": "a.txt", "destination": "b.txt" }), None),
        ("write_file", json!({ "path": "b.txt", "content": "new" }), None),
        ("edit_file", json!({ "path": "b.txt", "edits": [{ "oldText": "new", "newText": "newer" }] }), None),
        ("copy_file", json!({ "source": "b.txt", "destination": "root://other/b.txt" }), None),
    ] {
        let answer = call(&client, tool, arguments.clone()).await;
        assert_eq!(code(&answer).as_deref(), want, "{tool} {arguments}: {}", text(&answer));
        assert_eq!(text(&answer).contains("--no-delete"), tool.starts_with("delete"), "{}", text(&answer));
    }
    client.cancel().await.unwrap();
}

/// The hints of the tools that the reference server lacks, in the manner of those that it has.
#[tokio::test]
async fn the_other_tools_are_described_alike() {
    let (_folder, ws) = workspace();
    let client = client(eras()[0].clone(), &[&ws]).await;
    let tools = serde_json::to_value(client.list_all_tools().await.unwrap()).unwrap();
    let tool = |name: &str| tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
    for (name, title, arguments, destructive) in [
        ("append_file", "Append to File", json!(["path", "content"]), false),
        ("copy_file", "Copy File", json!(["source", "destination"]), false),
        ("delete_file", "Delete File", json!(["path"]), true),
        ("delete_directory", "Delete Directory", json!(["path"]), true),
    ] {
        let tool = tool(name);
        let hints =
            json!({ "readOnlyHint": false, "idempotentHint": false, "destructiveHint": destructive, "openWorldHint": false });
        assert_eq!((&tool["title"], &tool["annotations"]), (&json!(title), &hints), "{name}");
        assert_eq!(tool["inputSchema"]["required"], arguments, "{name}");
        assert_eq!(tool["outputSchema"]["properties"], json!({ "content": { "type": "string" } }));
    }
    assert_eq!(tool("delete_directory")["inputSchema"]["properties"]["recursive"]["default"], false);
    assert!(tool("edit_file")["inputSchema"]["properties"]["edits"]["items"]["properties"]["replaceAll"].is_object());
    client.cancel().await.unwrap();
}
