//! The example server of the README, by clients of both eras that have roots.
//!
//! Catches: an example that does not run, or that a client's roots do not narrow.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use support::roots::rooted_by;
use support::{SERVER, call, code, eras, text};

/// Built beside the server where all tests are; otherwise now.
fn example() -> String {
    let path = Path::new(SERVER).parent().unwrap().join("examples/count_todo");
    let target = Path::new(SERVER).ancestors().nth(2).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--package", "cap-roots-mcp", "--example", "count_todo"]);
    if SERVER.contains("/release/") {
        cargo.arg("--release");
    }
    assert!(cargo.arg("--target-dir").arg(target).status().unwrap().success());
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn todo_marks_are_counted_where_the_client_may_look() {
    let program = example();
    let folder = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir_all(base.join("ws/src/deep")).unwrap();
    for (file, content) in
        [("ws/a.txt", "TODO TODO"), ("ws/src/b.txt", "TODO"), ("ws/src/deep/c.txt", "// TODO\n"), ("out.txt", "TODO")]
    {
        fs::write(base.join(file), content).unwrap();
    }
    fs::write(base.join("ws/src/binary"), b"TODO\xff").unwrap();
    std::os::unix::fs::symlink("../../out.txt", base.join("ws/src/leads-out")).unwrap();
    let ws = base.join("ws").to_str().unwrap().to_owned();
    for era in eras() {
        for (root, rows) in [
            (
                ws.clone(),
                [(".", "4"), ("src", "2"), ("a.txt", "2"), ("../out.txt", "outside-roots"), ("src/leads-out", "outside-roots")],
            ),
            (
                format!("{ws}/src"),
                [(".", "2"), ("deep/c.txt", "1"), ("b.txt", "1"), ("../a.txt", "outside-roots"), ("nothing", "not-found")],
            ),
        ] {
            let client = rooted_by(&program, era.clone(), &[&ws], &[format!("file://{root}")]).await;
            for (path, want) in rows {
                let answer = call(&client, "count_todo", json!({ "path": path })).await;
                assert_eq!(code(&answer).as_deref().unwrap_or(text(&answer)), want, "{root} {path}");
            }
            client.close().await;
        }
    }
}
