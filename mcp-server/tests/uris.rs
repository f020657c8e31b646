//! `file:` URIs as path arguments: what many clients put in place of a path. Every tool takes an own one and keeps a foreign one out.
//!
//! Catches: a tool with a gate of its own (OPEN-07, OPEN-11), a URI that is taken for a relative name, repaired, or decoded twice, and one that is
//! repeated where host paths are hidden.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::{call, client, code, eras, offered, text, tree, workspace};

/// The arguments of each tool for a path that is its only one, or the one in question; `there` is a free place of our own.
fn arguments(tool: &str, path: &str, there: &str) -> Option<Value> {
    Some(match tool {
        "list_allowed_directories" => return None,
        "read_multiple_files" => json!({ "paths": [path] }),
        "search_files" | "search_file_contents" => json!({ "path": path, "pattern": "one" }),
        "write_file" | "append_file" => json!({ "path": path, "content": "W" }),
        "edit_file" => json!({ "path": path, "edits": [{ "oldText": "one", "newText": "1" }] }),
        "move_file" | "copy_file" => json!({ "source": path, "destination": there }),
        _ => json!({ "path": path }),
    })
}

#[tokio::test]
async fn every_tool_takes_own_uris_and_keeps_foreign_ones_out() {
    for era in eras() {
        for hidden in [false, true] {
            let (_folder, ws) = workspace();
            fs::create_dir(Path::new(&ws).join("my dir é")).unwrap();
            let before = tree(Path::new(&ws).parent().unwrap());
            let mut options = vec![ws.as_str()];
            options.extend(hidden.then_some("--hide-host-paths"));
            let client = client(era.clone(), &options).await;
            let tools = offered(&client).await;
            assert!(tools.len() >= 19);
            for (foreign, want) in [
                ("file:///etc/passwd".to_owned(), "outside-roots"),
                (format!("file://{ws}-old/x"), "outside-roots"),
                (format!("file://{ws}/l"), "outside-roots"),
                (format!("file://{ws}/../out/k.txt"), "invalid-uri"),
                (format!("file://{ws}/%2e%2e/out/k.txt"), "invalid-uri"),
                (format!("file://{ws}%2f..%2fout/k.txt"), "invalid-uri"),
                (format!("file://host{ws}/a.txt"), "invalid-uri"),
                (format!("file:{ws}/a.txt"), "invalid-uri"),
                (format!("file://{ws}/a.txt#x"), "invalid-uri"),
                (format!("file://{ws}/a.txt?x"), "invalid-uri"),
                (format!("file://{}", ws.trim_start_matches('/')), "invalid-uri"),
            ] {
                for tool in &tools {
                    // A link itself may be moved and removed, and where it leads is nobody's matter then.
                    if foreign.ends_with("/l")
                        && ["move_file", "delete_file", "delete_directory", "create_directory"].contains(&tool.as_str())
                    {
                        continue;
                    }
                    let Some(arguments) = arguments(tool, &foreign, "new") else { continue };
                    let answer = call(&client, tool, arguments).await;
                    let told = text(&answer).to_owned();
                    assert!(told.contains(want), "{tool} {foreign}: {told}");
                    assert!(tool == "read_multiple_files" || code(&answer).as_deref() == Some(want), "{tool} {foreign}: {told}");
                    assert!(!hidden || !told.contains(&ws), "{tool} {foreign}: {told}");
                }
                for tool in ["move_file", "copy_file"] {
                    let answer = call(&client, tool, json!({ "source": "a.txt", "destination": foreign })).await;
                    assert!(code(&answer).is_some() && (!hidden || !text(&answer).contains(&ws)), "{tool} {foreign}");
                }
            }
            assert_eq!(tree(Path::new(&ws).parent().unwrap()), before, "nothing was changed");

            let own = |name: &str| format!("file://{ws}/{name}");
            for (tool, name) in [
                ("read_file", "a.txt"),
                ("read_text_file", "a.txt"),
                ("read_multiple_files", "sub/b.md"),
                ("read_media_file", "a.txt"),
                ("get_file_info", "my%20dir%20%C3%A9"),
                ("list_directory", "my%20dir%20%C3%A9/"),
                ("list_directory_with_sizes", "abs"),
                ("search_file_contents", "a.txt"),
                ("write_file", "my%20dir%20%C3%A9/new%25.txt"),
                ("append_file", "my%20dir%20%C3%A9/new%25.txt"),
                ("edit_file", "a.txt"),
                ("create_directory", "d1/d2"),
                ("copy_file", "a.txt"),
                ("move_file", "sub/b.md"),
                ("delete_file", "my%20dir%20%C3%A9/new%25.txt"),
                ("delete_directory", "d1/d2"),
            ] {
                let there = own(&format!("there-{tool}"));
                let answer = call(&client, tool, arguments(tool, &own(name), &there).unwrap()).await;
                assert_eq!(code(&answer), None, "{tool} {name}: {}", text(&answer));
                assert!(!text(&answer).contains("Error - "), "{tool} {name}: {}", text(&answer));
                assert!(!hidden || !serde_json::to_string(&answer).unwrap().contains(&ws), "{tool}: {}", text(&answer));
                if tool == "append_file" {
                    assert_eq!(fs::read(Path::new(&ws).join("my dir é/new%.txt")).unwrap(), b"WW");
                }
            }
            assert!(Path::new(&ws).join("there-copy_file").is_file() && Path::new(&ws).join("there-move_file").is_file());
            client.cancel().await.unwrap();
        }
    }
}
