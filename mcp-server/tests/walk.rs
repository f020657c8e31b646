//! Trees and searches by name: what is shown and how it is called, where an answer ends, and what is left out.

#![cfg(unix)]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use support::{Client, base, call, client, code, eras, run, text, workspace};

fn plant(dir: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// The blocks behind the first one.
fn notice(answer: &CallToolResult) -> String {
    answer.content.iter().skip(1).filter_map(|block| block.as_text()).map(|text| text.text.as_str()).collect()
}

fn cursor(answer: &CallToolResult) -> Option<String> {
    let notice = notice(answer);
    let (_, cursor) = notice.split_once("\"cursor\": \"")?;
    Some(cursor.split_once('"').unwrap().0.to_owned())
}

async fn lines(client: &Client, arguments: Value) -> Vec<String> {
    let answer = call(client, "search_files", arguments).await;
    assert_eq!(code(&answer), None, "{answer:?}");
    text(&answer).lines().map(str::to_owned).collect()
}

/// Catches: a tree that opens what it lists (a pipe never answers), follows a link (round and round, or out), or loses a name that is
/// no text.
#[tokio::test]
async fn all_kinds_of_entries_are_shown_and_none_is_opened() {
    let (_folder, ws) = workspace();
    let dir = Path::new(&ws);
    assert!(Command::new("mkfifo").arg(dir.join("sub/pipe")).status().unwrap().success());
    let _socket = UnixListener::bind(dir.join("sub/socket")).unwrap();
    symlink(".", dir.join("sub/round")).unwrap();
    symlink("..", dir.join("sub/deeper/up")).unwrap();
    fs::write(dir.join(OsStr::from_bytes(b"sub/b\xffd")), "").unwrap();
    fs::create_dir(dir.join("sub/z \u{202e}")).unwrap();
    fs::write(dir.join("sub/z \u{202e}/in"), "").unwrap();
    for era in eras() {
        let client = client(era, &[&ws]).await;
        let answer = call(&client, "directory_tree", json!({ "path": "sub" })).await;
        let link = |name: &str| json!({ "name": name, "type": "symlink" });
        let want = json!([
            { "name": "b.md", "type": "file" },
            { "name": "root://ws/sub/b%FFd", "type": "file" },
            { "name": "deeper", "type": "directory", "children": [link("up")] },
            { "name": "pipe", "type": "special" },
            link("round"),
            { "name": "socket", "type": "special" },
            { "name": "root://ws/sub/z%20%E2%80%AE", "type": "directory", "children": [{ "name": "in", "type": "file" }] },
        ]);
        assert_eq!(serde_json::from_str::<Value>(text(&answer)).unwrap(), want);
        let found = lines(&client, json!({ "path": "sub", "pattern": "**" })).await;
        let want = [
            "sub/b.md",
            "root://ws/sub/b%FFd",
            "sub/deeper",
            "sub/deeper/up",
            "sub/pipe",
            "sub/round",
            "sub/socket",
            "root://ws/sub/z%20%E2%80%AE",
            "root://ws/sub/z%20%E2%80%AE/in",
        ];
        assert_eq!(found, want);
        // Each leads back to its entry.
        for path in want {
            let info = call(&client, "get_file_info", json!({ "path": path })).await;
            assert!(matches!(code(&info).as_deref(), None | Some("special-file")), "{path} {info:?}");
        }
        client.cancel().await.unwrap();
    }
}

/// Catches: an answer in another form than the question, one that names the host where that is hidden, a slash too many or too few.
#[tokio::test]
async fn paths_come_in_the_callers_form() {
    let (_folder, ws) = workspace();
    let open = client(eras()[1].clone(), &[&ws]).await;
    let hidden = client(eras()[0].clone(), &["--hide-host-paths", &ws]).await;
    let under = base(&ws).to_owned();
    for (path, found, found_hidden) in [
        (".".to_owned(), "sub/b.md".to_owned(), "root://ws/sub/b.md"),
        ("./".to_owned(), "sub/b.md".to_owned(), "root://ws/sub/b.md"),
        ("sub/".to_owned(), "sub/b.md".to_owned(), "root://ws/sub/b.md"),
        ("./sub".to_owned(), "./sub/b.md".to_owned(), "root://ws/sub/b.md"),
        (ws.clone(), format!("{ws}/sub/b.md"), "root://ws/sub/b.md"),
        (format!("{ws}//"), format!("{ws}/sub/b.md"), "root://ws/sub/b.md"),
        ("root://ws/sub".to_owned(), "root://ws/sub/b.md".to_owned(), "root://ws/sub/b.md"),
        (format!("file://{ws}"), "root://ws/sub/b.md".to_owned(), "root://ws/sub/b.md"),
        ("abs".to_owned(), "abs/b.md".to_owned(), "root://ws/abs/b.md"),
    ] {
        let arguments = json!({ "path": path, "pattern": "b.md" });
        assert_eq!(lines(&open, arguments.clone()).await, [found], "{path}");
        let answer = call(&hidden, "search_files", arguments).await;
        assert_eq!(text(&answer), found_hidden, "{path}");
        assert!(!serde_json::to_string(&answer).unwrap().contains(&under));
    }
    open.cancel().await.unwrap();
    hidden.cancel().await.unwrap();
}

/// Catches: JSON that breaks where it is cut, a cursor that loses or repeats entries, or that is not shown to one of the two kinds of
/// clients.
#[tokio::test]
async fn a_tree_that_is_cut_goes_on_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ws");
    for at in 0..40 {
        plant(&dir, &[(&format!("d{}/e{}/f{at}", at % 3, at % 7), "")]);
    }
    let ws = dir.to_str().unwrap();
    fn collect(tree: &Value, above: &str, all: &mut Vec<String>) {
        for entry in tree.as_array().unwrap() {
            if entry["type"] == "cut" {
                continue;
            }
            let path = format!("{above}/{}", entry["name"].as_str().unwrap());
            if entry.get("continued").is_none() {
                all.push(path.clone());
            }
            if let Some(children) = entry.get("children") {
                collect(children, &path, all);
            }
        }
    }
    let plain = client(eras()[0].clone(), &[ws]).await;
    let mut whole = Vec::new();
    collect(&serde_json::from_str(text(&call(&plain, "directory_tree", json!({ "path": "." })).await)).unwrap(), "", &mut whole);
    assert_eq!(whole.len(), 3 + 21 + 40);
    for (limit, reason) in [(["--max-entries", "7"], "entries"), (["--max-text-bytes", "2500"], "bytes")] {
        let client = client(eras()[1].clone(), &[limit[0], limit[1], ws]).await;
        let mut arguments = json!({ "path": "." });
        let (mut all, mut calls) = (Vec::new(), 0);
        loop {
            let answer = call(&client, "directory_tree", arguments.clone()).await;
            let tree: Value = serde_json::from_str(text(&answer)).unwrap();
            assert_eq!(answer.structured_content.as_ref().unwrap()["content"], text(&answer));
            collect(&tree, "", &mut all);
            calls += 1;
            let Some(cursor) = cursor(&answer) else {
                assert!(!text(&answer).contains("\"cut\""));
                break;
            };
            assert!(text(&answer).contains(&format!("\"reason\": \"{reason}\"")), "{}", text(&answer));
            assert!(text(&answer).contains(&format!("\"cursor\": \"{cursor}\"")));
            assert!(reason != "bytes" || text(&answer).len() <= 2500);
            arguments["cursor"] = cursor.into();
        }
        assert!(calls > 3 && all == whole, "{calls} {all:?}");
        client.cancel().await.unwrap();
    }
    plain.cancel().await.unwrap();
}

#[tokio::test]
async fn a_search_that_is_cut_goes_on_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..25 {
        plant(folder.path(), &[(&format!("d{}/{at}.txt", at % 4), ""), (&format!("d{}/{at}.md", at % 4), "")]);
    }
    let ws = folder.path().to_str().unwrap();
    for (options, most) in [(&["--max-entries", "4"][..], None), (&["--max-text-bytes", "60"], None), (&[], Some(3))] {
        let client = client(eras()[0].clone(), &[options, &[ws]].concat()).await;
        let mut arguments = json!({ "path": ".", "pattern": "**/*.txt", "maxResults": most });
        let mut all = Vec::new();
        loop {
            let answer = call(&client, "search_files", arguments.clone()).await;
            assert!(most.is_none_or(|most| text(&answer).lines().count() <= most));
            all.extend(text(&answer).lines().map(str::to_owned));
            let Some(cursor) = cursor(&answer) else { break };
            assert!(notice(&answer).starts_with("[Cut "), "{}", notice(&answer));
            assert!(answer.structured_content.as_ref().unwrap()["content"].as_str().unwrap().ends_with(&notice(&answer)));
            arguments["cursor"] = cursor.into();
        }
        let unique: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!((unique.len(), all.len()), (25, 25), "{options:?}");
        client.cancel().await.unwrap();
    }
}

/// Catches: a cursor that is taken for another call, or a refusal that does not say what to do.
#[tokio::test]
async fn cursors_fit_one_call() {
    let (_folder, ws) = workspace();
    for era in eras() {
        let client = client(era.clone(), &["--max-entries", "1", &ws]).await;
        let arguments = json!({ "path": ".", "pattern": "**" });
        let cursor = cursor(&call(&client, "search_files", arguments).await).unwrap();
        for (tool, arguments) in [
            ("search_files", json!({ "path": ".", "pattern": "*", "cursor": cursor })),
            ("search_files", json!({ "path": ".", "pattern": "**", "maxDepth": 1, "cursor": cursor })),
            ("directory_tree", json!({ "path": ".", "pattern": "**", "cursor": cursor })),
            ("search_files", json!({ "path": ".", "pattern": "**", "cursor": "AAAA" })),
        ] {
            let answer = call(&client, tool, arguments.clone()).await;
            assert_eq!(code(&answer).as_deref(), Some("stale-cursor"), "{arguments}");
            assert!(text(&answer).contains("without cursor"), "{}", text(&answer));
        }
        let good = json!({ "path": ".", "pattern": "**", "cursor": cursor });
        assert_eq!(lines(&client, good.clone()).await, ["abs"]);
        client.cancel().await.unwrap();
        let other = support::client(era, &["--max-entries", "1", &ws]).await;
        assert_eq!(code(&call(&other, "search_files", good).await).as_deref(), Some("stale-cursor"));
        other.cancel().await.unwrap();
    }
    // Without a client there is nobody to go on.
    let (_, notice, _) =
        run(Path::new(&ws), &["--call", "search_files", "--args", r#"{"path":".","pattern":"**"}"#, "--max-entries=1", "."]);
    assert!(
        notice.contains("Cut at the limit of 1 entries; name a directory further down") && !notice.contains("cursor"),
        "{notice}"
    );
}

/// Catches: a limit of depth that is not told, is told where nothing lies deeper, or is not the operator's at most.
#[tokio::test]
async fn depth_is_limited() {
    let (_folder, ws) = workspace();
    let client = client(eras()[0].clone(), &["--max-depth", "2", &ws]).await;
    for (asked, deepest, told) in [(json!(1), "sub", true), (json!(9), "sub/deeper", true), (Value::Null, "sub/deeper", true)] {
        let answer = call(&client, "search_files", json!({ "path": ".", "pattern": "**", "maxDepth": asked })).await;
        assert_eq!(text(&answer).lines().last(), Some(deepest));
        assert_eq!(notice(&answer).contains("Not gone deeper than"), told, "{}", notice(&answer));
    }
    let answer = call(&client, "search_files", json!({ "path": "sub/deeper", "pattern": "**" })).await;
    assert_eq!((text(&answer), notice(&answer).as_str()), ("No matches found", ""));
    let answer = call(&client, "directory_tree", json!({ "path": ".", "maxDepth": 1 })).await;
    let tree: Value = serde_json::from_str(text(&answer)).unwrap();
    assert_eq!(tree[3], json!({ "name": "sub", "type": "directory", "children": [], "cut": "depth" }));
    let answer = call(&client, "search_files", json!({ "path": ".", "pattern": "**", "maxDepth": 0 })).await;
    assert_eq!(code(&answer).as_deref(), Some("invalid-argument"));
    client.cancel().await.unwrap();
}

/// Catches: names of rules that a search tells, or a walk that goes below them.
#[tokio::test]
async fn what_rules_hide_is_counted_and_not_told() {
    let (_folder, ws) = workspace();
    let client = client(eras()[1].clone(), &["--rule", "sub=none", &ws]).await;
    for (tool, arguments) in
        [("search_files", json!({ "path": ".", "pattern": "**" })), ("directory_tree", json!({ "path": "." }))]
    {
        let answer = call(&client, tool, arguments).await;
        assert!(!text(&answer).contains("sub") && !text(&answer).contains("b.md"), "{}", text(&answer));
        assert!(notice(&answer).contains("1 name is hidden by rules"), "{}", notice(&answer));
    }
    let answer = call(&client, "search_files", json!({ "path": "sub", "pattern": "**" })).await;
    assert_eq!(code(&answer).as_deref(), Some("protected"));
    client.cancel().await.unwrap();
}

/// Catches: `.gitignore` files of one directory alone, the farthest one having the last word, names above the start that do not count,
/// and an argument or an option that does nothing.
#[tokio::test]
async fn gitignore_files_count_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let ws = fs::canonicalize(folder.path()).unwrap().join("ws");
    plant(
        &ws,
        &[
            (".gitignore", "*.log\n/top\nsub/only\n# comment\n\nbuild/\n"),
            ("top/x", ""),
            ("a.log", ""),
            ("sub/.gitignore", "!keep.log\n/inner/deep\n"),
            ("sub/keep.log", ""),
            ("sub/b.log", ""),
            ("sub/top", ""),
            ("sub/only/x", ""),
            ("sub/inner/deep", ""),
            ("sub/inner/other", ""),
            ("sub/inner/build/x", ""),
            (".git/config", ""),
        ],
    );
    let given = ws.to_str().unwrap();
    let off = client(eras()[0].clone(), &[given]).await;
    let on = client(eras()[1].clone(), &["--gitignore", given]).await;
    let files = |path: &str, respect: Value| json!({ "path": path, "pattern": "**", "respectGitignore": respect });
    let want = [".gitignore", "sub", "sub/.gitignore", "sub/inner", "sub/inner/other", "sub/keep.log", "sub/top"];
    assert_eq!(lines(&off, files(".", json!(true))).await, want);
    assert_eq!(lines(&on, files(".", Value::Null)).await, want);
    assert_eq!(lines(&off, files(".", Value::Null)).await.len(), 18);
    assert_eq!(lines(&on, files(".", json!(false))).await.len(), 18);
    // From further down it is the same.
    let below: Vec<_> = want.iter().filter(|path| path.starts_with("sub/")).map(|path| (*path).to_owned()).collect();
    assert_eq!(lines(&on, files("sub", Value::Null)).await, below);
    assert_eq!(lines(&on, files("sub/inner", Value::Null)).await, ["sub/inner/other"]);
    let tree = call(&on, "directory_tree", json!({ "path": "sub/inner" })).await;
    assert!(!text(&tree).contains("deep") && !text(&tree).contains("build"), "{}", text(&tree));
    assert_eq!(notice(&tree), "[2 names are left out by .gitignore.]");
    off.cancel().await.unwrap();
    on.cancel().await.unwrap();
}

/// Catches: a `.gitignore` that hangs the walk, is read outside, ends the walk, or whose other lines are lost.
#[tokio::test]
async fn a_gitignore_that_cannot_be_read_is_told() {
    let (_folder, ws) = workspace();
    let dir = Path::new(&ws);
    fs::write(Path::new(base(&ws)).join("out/list"), "*\n").unwrap();
    for name in ["inside", "link", "pipe", "large", "bytes", "dir"] {
        fs::create_dir(dir.join("sub").join(name)).unwrap();
        fs::write(dir.join("sub").join(name).join("x.log"), "").unwrap();
    }
    // git takes no link for a list either.
    fs::write(dir.join("sub/inside/list"), "*\n").unwrap();
    symlink("list", dir.join("sub/inside/.gitignore")).unwrap();
    symlink("../../../out/list", dir.join("sub/link/.gitignore")).unwrap();
    assert!(Command::new("mkfifo").arg(dir.join("sub/pipe/.gitignore")).status().unwrap().success());
    fs::write(dir.join("sub/large/.gitignore"), "*.log\n".repeat(1 << 20)).unwrap();
    fs::write(dir.join("sub/bytes/.gitignore"), b"\xef\xbb\xbf*.log\r\n\xff\xfe\n[\n{\n").unwrap();
    fs::create_dir(dir.join("sub/dir/.gitignore")).unwrap();
    let client = client(eras()[1].clone(), &[&ws]).await;
    let answer = call(&client, "search_files", json!({ "path": "sub", "pattern": "**/*.log", "respectGitignore": true })).await;
    assert_eq!(text(&answer), "sub/dir/x.log\nsub/inside/x.log\nsub/large/x.log\nsub/link/x.log\nsub/pipe/x.log");
    assert_eq!(notice(&answer), "[6 .gitignore files could not be read whole. 1 name is left out by .gitignore.]");
    client.cancel().await.unwrap();
}

/// Catches: an ignore list that protects (it is not meant to), is not counted, holds for listings, or is lost in one of its three forms.
#[tokio::test]
async fn the_operators_list_is_for_walks() {
    let folder = tempfile::tempdir().unwrap();
    let ws = folder.path().join("ws");
    plant(
        &ws,
        &[("node_modules/m/package.json", ""), ("gen/package.json", ""), ("package.json", ""), ("a/gen/package.json", "")],
    );
    let ws = ws.to_str().unwrap();
    let file = folder.path().join("c.toml");
    fs::write(&file, "ignore = [\"/gen\"]\nignore_common = true\n").unwrap();
    let by_file = format!("--config={}", file.display());
    for options in
        [&["--ignore=/gen", "--ignore=node_modules/"][..], &["--ignore-common", "--ignore", "/gen"], &[by_file.as_str()]]
    {
        let client = client(eras()[0].clone(), &[options, &[ws]].concat()).await;
        let answer = call(&client, "search_files", json!({ "path": ".", "pattern": "package.json" })).await;
        assert_eq!(text(&answer), "a/gen/package.json\npackage.json", "{options:?}");
        assert_eq!(notice(&answer), "[2 names are left out by the operator's ignore list.]");
        let listed = call(&client, "list_directory", json!({ "path": "." })).await;
        assert!(text(&listed).contains("node_modules"));
        // What is named is walked.
        assert_eq!(lines(&client, json!({ "path": "gen", "pattern": "*.json" })).await, ["gen/package.json"]);
        client.cancel().await.unwrap();
    }
    let (_, told, status) = run(Path::new("."), &["--ignore", "a[", "--call", "list_allowed_directories", ws]);
    assert!(status == 2 && told.contains("invalid-argument: --ignore a["), "{told}");
}
