//! Rules and protection, as a client meets them: a project is worked on, and what the operator keeps is kept by every way to it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use support::{Client, call, client, code, eras, offered, run, text, tree};

/// A project with secrets, a repository, settings of other programs, and links to all of them.
fn project() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let ws = fs::canonicalize(folder.path()).unwrap().join("ws");
    for dir in ["src", "app/conf", ".git/hooks", ".vscode", "app/.claude", "build"] {
        fs::create_dir_all(ws.join(dir)).unwrap();
    }
    for (name, content) in [
        (".env", "KEY=1"),
        ("app/.env", "KEY=2"),
        ("app/main.py", "print(1)\n"),
        ("src/lib.py", "one\r\ntwo\r\n"),
        (".git/config", "[core]\n"),
        (".mcp.json", "{}"),
        (".vscode/mcp.json", "{}"),
        ("app/.claude/settings.json", "{}"),
    ] {
        fs::write(ws.join(name), content).unwrap();
    }
    for (name, target) in [("e", ".env"), ("g", ".git"), ("hooks", ".git/hooks"), ("src/up", ".."), ("a", "app")] {
        symlink(target, ws.join(name)).unwrap();
    }
    (folder, ws.to_str().unwrap().to_owned())
}

async fn expect(client: &Client, tool: &str, arguments: Value, want: Option<&str>) {
    let answer = call(client, tool, arguments.clone()).await;
    assert_eq!(code(&answer).as_deref(), want, "{tool} {arguments}: {}", text(&answer));
    assert!(!text(&answer).contains("KEY"), "{tool} {arguments}: {}", text(&answer));
}

/// RULE-01, RULE-02, LINK-09: whatever it is called by, a hidden file stays hidden, and whether it is there is not told.
#[tokio::test]
async fn a_hidden_file_is_reached_by_no_name() {
    let (_folder, ws) = project();
    let before = tree(Path::new(&ws));
    for era in eras() {
        let client = client(era, &["--rule", "**/.env=none", &ws]).await;
        for path in [
            ".env",
            "./.env",
            ".ENV",
            ".Env",
            "src/../.env",
            "src/up/.env",
            "e",
            "app/.env",
            "a/.env",
            "a/../.env",
            "root://ws/.env",
            "root://ws/%2Eenv",
            "root://ws/app/%2e%45nv",
            "src/.env",
            "nowhere/.env",
            "app/.env/x",
            ".env/",
            ".env/.",
            "src/up/app/.env",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain([format!("{ws}/.env"), format!("{ws}/src/../app/.env"), format!("{ws}/e")])
        {
            for tool in ["read_text_file", "read_media_file", "get_file_info", "list_directory"] {
                expect(&client, tool, json!({ "path": path }), Some("protected")).await;
            }
            let edits = json!([{ "oldText": "K", "newText": "x" }]);
            for (tool, arguments) in [
                ("write_file", json!({ "path": path, "content": "x" })),
                ("append_file", json!({ "path": path, "content": "x" })),
                ("edit_file", json!({ "path": path, "edits": edits })),
                ("edit_file", json!({ "path": path, "edits": edits, "dryRun": true })),
                ("copy_file", json!({ "source": path, "destination": "got" })),
                ("copy_file", json!({ "source": "src/lib.py", "destination": path })),
            ] {
                // A link of another name is in the way of a copy, and says no more.
                let in_the_way =
                    tool == "copy_file" && arguments["source"] == "src/lib.py" && path.ends_with("/e") | (path == "e");
                expect(&client, tool, arguments, Some(if in_the_way { "already-exists" } else { "protected" })).await;
            }
            if path == "e" || path.ends_with("/e") {
                continue;
            }
            for (tool, arguments) in [
                ("create_directory", json!({ "path": path })),
                ("move_file", json!({ "source": path, "destination": "got" })),
                ("move_file", json!({ "source": "src/lib.py", "destination": path })),
                ("delete_file", json!({ "path": path })),
                ("delete_directory", json!({ "path": path, "recursive": true })),
            ] {
                expect(&client, tool, arguments, Some("protected")).await;
            }
        }
        let many = call(&client, "read_multiple_files", json!({ "paths": ["e", ".env", "src/lib.py"] })).await;
        assert_eq!(text(&many).matches("Error - protected: ").count(), 2, "{}", text(&many));
        client.cancel().await.unwrap();
    }
    assert_eq!(tree(Path::new(&ws)), before);
}

/// RULE-04: what is hidden is counted and not named.
#[tokio::test]
async fn listings_count_what_is_hidden() {
    let (_folder, ws) = project();
    for number in 0..30 {
        fs::write(format!("{ws}/build/f{number}.o"), "").unwrap();
    }
    let client =
        client(eras()[0].clone(), &["--rule", ".env=none", "--rule", "*.o=none", "--rule", "/app/conf/=none", &ws]).await;
    for tool in ["list_directory", "list_directory_with_sizes"] {
        for (path, notice) in [
            (".", Some("[1 name is hidden by rules]")),
            ("app", Some("[2 names are hidden by rules]")),
            ("build", Some("[30 names are hidden by rules]")),
            ("src", None),
        ] {
            let answer = call(&client, tool, json!({ "path": path })).await;
            let told = answer.content.get(1).map(|block| block.as_text().unwrap().text.as_str());
            assert_eq!(told, notice, "{tool} {path}");
            assert!(!text(&answer).contains(".env") && !text(&answer).contains(".o") && !text(&answer).contains("conf"));
        }
    }
    client.cancel().await.unwrap();
}

/// A session of work, in which nothing gets at the repository, the settings of other programs, or the secrets.
#[tokio::test]
async fn a_project_is_edited_and_what_is_kept_is_kept() {
    for era in eras() {
        let (_folder, ws) = project();
        let client = client(era, &["--rule", "**/.env=none", &ws]).await;
        let write = |path: &str| json!({ "path": path, "content": "x" });
        let pair = |source: &str, destination: &str| json!({ "source": source, "destination": destination });
        // Protected is not hidden.
        expect(&client, "read_text_file", json!({ "path": ".git/config" }), None).await;
        expect(&client, "list_directory", json!({ "path": ".git" }), None).await;
        expect(&client, "copy_file", pair(".git/config", "config.txt"), None).await;
        for path in [
            ".git/config",
            ".git/hooks/x",
            ".GIT/hooks/x",
            ".Git/config",
            "g/config",
            "hooks/x",
            "src/../.git/hooks/x",
            "src/up/.git/x",
            "g/hooks/x",
            "root://ws/.git/hooks/x",
            "root://ws/%2egit/hooks/x",
            ".mcp.json",
            ".MCP.json",
            "new/.mcp.json",
            ".vscode/mcp.json",
            "src/.vscode/mcp.json",
            ".cursor/mcp.json",
            ".cursor",
            "app/.claude/settings.json",
            "a/.claude/new",
            ".git",
            "app/.git",
            "app/.git/hooks/post-commit",
        ] {
            expect(&client, "write_file", write(path), Some("protected")).await;
            expect(&client, "append_file", write(path), Some("protected")).await;
            // A link has a name of its own until it is followed, so a preview through one is a read.
            let linked = ["g/", "hooks/", "a/", "src/up/"].iter().any(|link| path.starts_with(link));
            if !linked {
                expect(&client, "edit_file", json!({ "path": path, "edits": [], "dryRun": true }), Some("protected")).await;
            }
            let edits = json!([{ "oldText": "core", "newText": "x" }]);
            expect(&client, "edit_file", json!({ "path": path, "edits": edits }), Some("protected")).await;
            expect(&client, "delete_directory", json!({ "path": path, "recursive": true }), Some("protected")).await;
            expect(&client, "move_file", pair(path, "got"), Some("protected")).await;
            expect(&client, "move_file", pair("app/main.py", path), Some("protected")).await;
            expect(&client, "copy_file", pair("app/main.py", path), Some("protected")).await;
            // What can be seen may also be said to be in the way.
            let in_the_way = linked && fs::exists(format!("{ws}/{path}")).unwrap();
            if !in_the_way {
                expect(&client, "create_directory", json!({ "path": path }), Some("protected")).await;
            }
        }
        // What stands beside them is free.
        expect(&client, "write_file", write(".vscode/settings.json"), None).await;
        expect(&client, "write_file", write(".gitignore"), None).await;
        // A directory that is made elsewhere does not become what is protected, nor does one that is get another name.
        expect(&client, "create_directory", json!({ "path": "fake/hooks" }), None).await;
        expect(&client, "write_file", write("fake/hooks/post-commit"), None).await;
        expect(&client, "write_file", write("fake/mcp.json"), None).await;
        for (source, destination) in [
            ("fake", "app/.git"),
            ("fake", "src/.GIT"),
            ("fake", "src/.cursor"),
            ("fake", "src/.vscode"),
            ("fake/hooks", ".git/new"),
            (".git", "git2"),
            (".git/hooks", "hooks2"),
            ("app/.claude", "app/claude"),
            (".vscode", "vscode"),
        ] {
            expect(&client, "move_file", pair(source, destination), Some("protected")).await;
            expect(&client, "copy_file", pair(source, destination), Some("protected")).await;
        }
        // A tree with something protected in it is neither copied nor deleted, not even in part; moved, it keeps its protection.
        expect(&client, "copy_file", pair("app", "app2"), Some("protected")).await;
        expect(&client, "delete_directory", json!({ "path": "app", "recursive": true }), Some("protected")).await;
        assert!(!fs::exists(format!("{ws}/app2")).unwrap() && fs::exists(format!("{ws}/app/main.py")).unwrap());
        expect(&client, "move_file", pair("app", "src/app"), None).await;
        expect(&client, "read_text_file", json!({ "path": "src/app/.env" }), Some("protected")).await;
        expect(&client, "write_file", write("src/app/.claude/settings.json"), Some("protected")).await;
        expect(&client, "delete_directory", json!({ "path": "src", "recursive": true }), Some("protected")).await;
        // The links go, and not what they lead to.
        expect(&client, "delete_file", json!({ "path": "e" }), None).await;
        expect(&client, "delete_directory", json!({ "path": "g", "recursive": true }), Some("not-a-directory")).await;
        // Names of our own temporary files.
        for name in [".cap-roots-x.tmp", ".CAP-roots-1.TMP"] {
            expect(&client, "write_file", write(name), Some("protected")).await;
            expect(&client, "move_file", pair("src/lib.py", name), Some("protected")).await;
        }
        // And the work itself.
        expect(&client, "edit_file", json!({ "path": "src/lib.py", "edits": [{ "oldText": "two", "newText": "2" }] }), None)
            .await;
        expect(&client, "write_file", write("src/app/test.py"), None).await;
        expect(&client, "delete_directory", json!({ "path": "fake", "recursive": true }), None).await;
        assert_eq!(fs::read_to_string(format!("{ws}/src/lib.py")).unwrap(), "one\r\n2\r\n");
        for (name, content) in [(".env", "KEY=1"), ("src/app/.env", "KEY=2"), (".git/config", "[core]\n"), (".mcp.json", "{}")] {
            assert_eq!(fs::read_to_string(format!("{ws}/{name}")).unwrap(), content, "{name}");
        }
        assert_eq!(tree(&Path::new(&ws).join(".git")).len(), 2);
        client.cancel().await.unwrap();
    }
}

/// A rule from the top holds where it stands, so what it covers is not moved away from under it.
#[tokio::test]
async fn an_anchored_rule_is_not_moved_away_from() {
    let (_folder, ws) = project();
    let client =
        client(eras()[0].clone(), &["--protect", "none", "--rule", "app/conf/**=read", "--rule", "/src=list", &ws]).await;
    let pair = |source: &str, destination: &str| json!({ "source": source, "destination": destination });
    for (source, destination) in [("app", "b"), ("app/conf", "conf"), ("src", "s"), ("build", "app/conf/x"), ("build", "src/x")] {
        expect(&client, "move_file", pair(source, destination), Some("protected")).await;
    }
    expect(&client, "list_directory", json!({ "path": "src" }), None).await;
    expect(&client, "read_text_file", json!({ "path": "src/lib.py" }), Some("protected")).await;
    expect(&client, "write_file", json!({ "path": "app/conf/x", "content": "x" }), Some("protected")).await;
    // Without the default protection its names are names like others.
    expect(&client, "write_file", json!({ "path": ".git/hooks/x", "content": "x" }), None).await;
    expect(&client, "move_file", pair(".git", "git2"), None).await;
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_directory_inside_another_keeps_its_limit() {
    let (folder, ws) = project();
    let app = format!("{ws}/app");
    let client = client(eras()[1].clone(), &["--rw", &ws, "--ro", &app]).await;
    assert_eq!(offered(&client).await.len(), 19);
    expect(&client, "read_text_file", json!({ "path": "app/main.py" }), None).await;
    for path in ["app/main.py", "a/main.py", "src/up/app/main.py", "app/new"].map(str::to_owned) {
        expect(&client, "write_file", json!({ "path": path, "content": "x" }), Some("protected")).await;
    }
    expect(&client, "write_file", json!({ "path": "root://app/main.py", "content": "x" }), Some("not-granted")).await;
    expect(&client, "move_file", json!({ "source": "app", "destination": "b" }), Some("protected")).await;
    expect(&client, "delete_directory", json!({ "path": "app", "recursive": true }), Some("protected")).await;
    client.cancel().await.unwrap();
    let (_, err, status) = run(folder.path(), &["--call", "list_allowed_directories", "--rw", &ws, "--ro", &app]);
    assert_eq!(status, 0);
    assert!(err.contains(&app) && err.contains("lies inside root \"ws\", which has more access"), "{err}");
}

/// What cannot be read as a rule is one line at start, and no rule that protects nothing.
#[test]
fn rules_that_cannot_be_read_end_the_start() {
    let (folder, ws) = project();
    let absolute = format!("{ws}/.env=none");
    for rule in [".env", ".env=nothing", "=none", ".env=", "[=none", "a\\b=read", "~/x=none", "!x=write", absolute.as_str()] {
        for arguments in [vec!["--rule", rule, "ws"], vec!["--rule", "ok=none", "--rule", rule, "ws", "--call", "list_directory"]]
        {
            let (out, err, status) = run(folder.path(), &arguments);
            assert_eq!((out.as_str(), status), ("", 2), "{rule}: {err}");
            assert!(err.starts_with("cap-roots-mcp: invalid-argument: ") && err.lines().count() == 1, "{rule}: {err}");
        }
    }
    assert_eq!(run(folder.path(), &["--protect", "some", "ws"]).2, 2);
    // Globs may hold the sign that ends them.
    fs::write(format!("{ws}/a=b"), "").unwrap();
    let (_, err, status) =
        run(folder.path(), &["--rule", "a=b=none", "--call", "read_text_file", "--args", r#"{"path":"a=b"}"#, "ws"]);
    assert!(err.starts_with("protected: ") && status == 1, "{err}");
}

#[test]
fn explanations_tell_the_rule_for_reading_and_writing() {
    let (folder, _ws) = project();
    let explain = |path, more: &[&str]| run(folder.path(), &[&["--explain", path, "ws"], more].concat());
    let (out, _, status) = explain(".git/config", &[]);
    assert_eq!(status, 0);
    for part in [
        "open needs read; root \"ws\" grants write, rule \"**/.git=read\" matches: the grant suffices",
        "write needs write; root \"ws\" grants write, rule \"**/.git=read\" matches: refused, protected",
        "outcome   can be opened",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let (out, _, status) = explain(".env", &["--rule", ".env=none", "--no-delete"]);
    assert_eq!(status, 1);
    for part in [
        "open needs read; root \"ws\" grants write, rule \".env=none\" matches: refused, protected",
        "remove_file needs write; root \"ws\" grants write, rule \".env=none\" matches: refused, not-granted",
        "outcome   protected: ",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
}

/// Catches: a preview that is judged by its path alone, and promises a change that is refused.
#[tokio::test]
async fn a_dry_run_is_refused_where_the_edit_is() {
    let (_folder, ws) = project();
    for era in eras() {
        let client = client(era, &["--rule", "**/.env=none", &ws]).await;
        for path in ["g/config", ".git/config", "e", "src/up/.mcp.json"] {
            let edits = json!([{ "oldText": "[core]", "newText": "[x]" }]);
            expect(&client, "edit_file", json!({ "path": path, "edits": edits, "dryRun": true }), Some("protected")).await;
            expect(&client, "edit_file", json!({ "path": path, "edits": edits }), Some("protected")).await;
        }
        client.cancel().await.unwrap();
    }
}
