//! Deliberate changes against the reference server that no recorded call shows: see `reference.rs` and the table in the README.
//!
//! Catches: a link that makes one grant of two; a directory that was taken away and is served by its name, or stays away for good.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use support::{base, call, client, code, eras, text, workspace};

#[tokio::test]
async fn a_link_into_another_directory_is_refused() {
    let (_folder, ws) = workspace();
    let other = format!("{}/other", base(&ws));
    fs::create_dir(&other).unwrap();
    fs::write(format!("{other}/f"), "theirs").unwrap();
    symlink("../other/f", Path::new(&ws).join("over")).unwrap();
    for era in eras() {
        let client = client(era, &[&ws, &other]).await;
        let read = |path: String| call(&client, "read_text_file", json!({ "path": path }));
        for over in ["over", "../other/f"] {
            assert_eq!(code(&read(over.to_owned()).await).as_deref(), Some("outside-roots"), "{over}");
        }
        assert_eq!(text(&read(format!("{other}/f")).await), "theirs");
        client.cancel().await.unwrap();
    }
}

/// Catches: a listing in another order than the others.
#[tokio::test]
async fn names_stand_in_one_order() {
    let (_folder, ws) = workspace();
    for name in ["b", "A", "a", "B", "\u{e9}"] {
        fs::write(format!("{ws}/sub/deeper/{name}"), "").unwrap();
    }
    let client = client(eras()[0].clone(), &[&ws]).await;
    let told = |tool| call(&client, tool, json!({ "path": "sub/deeper", "pattern": "*" }));
    for tool in ["list_directory", "list_directory_with_sizes", "directory_tree", "search_files"] {
        let answer = told(tool).await;
        let at: Vec<_> = ["A", "B", "a", "b", "\u{e9}"]
            .into_iter()
            .map(|name| {
                let forms = [format!("[FILE] {name}"), format!("\"{name}\""), format!("deeper/{name}")];
                forms.iter().find_map(|form| text(&answer).find(form)).expect(tool)
            })
            .collect();
        assert!(at.is_sorted(), "{tool}: {}", text(&answer));
    }
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_directory_that_goes_away_is_absent_and_comes_back() {
    for era in eras() {
        let (_folder, ws) = workspace();
        let aside = format!("{}/aside", base(&ws));
        let client = client(era, &[&ws]).await;
        let read = || call(&client, "read_text_file", json!({ "path": "sub/b.md" }));
        assert_eq!(text(&read().await), "b");
        fs::rename(&ws, &aside).unwrap();
        // For reading, it counts that the root was seen a moment ago.
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        assert_eq!(code(&read().await).as_deref(), Some("root-absent"));
        // Another one of the same name is not the one that was granted.
        symlink("out", &ws).unwrap();
        assert_eq!(code(&read().await).as_deref(), Some("root-absent"));
        fs::remove_file(&ws).unwrap();
        fs::create_dir_all(format!("{ws}/sub")).unwrap();
        fs::write(format!("{ws}/sub/b.md"), "planted").unwrap();
        assert_eq!(code(&read().await).as_deref(), Some("root-absent"));
        fs::remove_dir_all(&ws).unwrap();
        fs::rename(&aside, &ws).unwrap();
        assert_eq!(text(&read().await), "b");
        client.cancel().await.unwrap();
    }
}
