//! A client writes through the built server: every writing tool, good calls and bad ones, and what no call may do.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use rmcp::ServiceExt;
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use support::{SERVER, call, calls, client, code, eras, text, tree, workspace};

#[tokio::test]
async fn every_writing_tool_does_its_work_and_says_so() {
    for era in eras() {
        let (_folder, ws) = workspace();
        let client = client(era, &[&ws]).await;
        symlink("nowhere", format!("{ws}/sub/link")).unwrap();
        for (tool, arguments, said) in [
            ("write_file", json!({ "path": "n.txt", "content": "one\n" }), "Successfully wrote to n.txt"),
            ("write_file", json!({ "path": "empty", "content": "" }), "Successfully wrote to empty"),
            ("append_file", json!({ "path": "n.txt", "content": "two" }), "Successfully appended to n.txt"),
            (
                "append_file",
                json!({ "path": "root://ws/new.log", "content": "first\n" }),
                "Successfully appended to root://ws/new.log",
            ),
            ("create_directory", json!({ "path": "d/e/f" }), "Successfully created directory d/e/f"),
            ("create_directory", json!({ "path": "d/e" }), "Successfully created directory d/e"),
            ("create_directory", json!({ "path": "abs" }), "Successfully created directory abs"),
            (
                "copy_file",
                json!({ "source": "n.txt", "destination": "d/n.txt" }),
                "Successfully copied n.txt to d/n.txt (files: 1, directories: 0, skipped: 0)",
            ),
            (
                "copy_file",
                json!({ "source": "sub", "destination": "d/sub" }),
                "Successfully copied sub to d/sub (files: 1, directories: 2, skipped: 1)",
            ),
            ("move_file", json!({ "source": "d/n.txt", "destination": "d/m.txt" }), "Successfully moved d/n.txt to d/m.txt"),
            ("move_file", json!({ "source": "d", "destination": "sub/d" }), "Successfully moved d to sub/d"),
            ("delete_file", json!({ "path": "empty" }), "Successfully deleted empty"),
            ("delete_file", json!({ "path": "l" }), "Successfully deleted l"),
            ("delete_directory", json!({ "path": "sub/d/e/f" }), "Successfully deleted directory sub/d/e/f"),
            (
                "delete_directory",
                json!({ "path": "sub/d/e", "recursive": false, "unknown": 1 }),
                "Successfully deleted directory sub/d/e",
            ),
        ] {
            let answer = call(&client, tool, arguments.clone()).await;
            assert_eq!(text(&answer), said, "{tool} {arguments}");
            let skipped = said.contains("skipped: 1");
            assert_eq!(answer.content.len(), 1 + usize::from(skipped), "{tool} {arguments}");
            let structured = answer.structured_content.unwrap()["content"].as_str().unwrap().to_owned();
            assert!(structured == said || skipped && structured.starts_with(said) && structured.ends_with("not copied.]"));
        }
        let answer = call(&client, "delete_directory", json!({ "path": "sub" })).await;
        assert_eq!(code(&answer).as_deref(), Some("not-empty"));
        assert!(text(&answer).contains("recursive"), "{}", text(&answer));
        assert_eq!(fs::read_to_string(format!("{ws}/n.txt")).unwrap(), "one\ntwo");
        assert_eq!(fs::read_to_string(format!("{ws}/new.log")).unwrap(), "first\n");
        assert_eq!(fs::read_to_string(format!("{ws}/sub/d/m.txt")).unwrap(), "one\ntwo");
        assert_eq!(fs::read_to_string(format!("{ws}/sub/d/sub/b.md")).unwrap(), "b");
        let answer = call(&client, "delete_directory", json!({ "path": "sub", "recursive": true })).await;
        assert_eq!(text(&answer), "Successfully deleted directory sub");
        let mut left: Vec<_> =
            fs::read_dir(&ws).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["a.txt", "abs", "n.txt", "new.log"]);
        assert_eq!(fs::read_to_string(format!("{ws}/../out/k.txt")).unwrap(), "SECRET");
        client.cancel().await.unwrap();
    }
}

/// LINK-02, LINK-03, LINK-05, LINK-06, LINK-08: no tool writes outside, makes or removes anything there, or reads it over to the inside.
#[tokio::test]
async fn nothing_outside_is_written() {
    let (_folder, ws) = workspace();
    let out = fs::canonicalize(format!("{ws}/../out")).unwrap();
    symlink(&out, format!("{ws}/d")).unwrap();
    symlink("../out", format!("{ws}/r")).unwrap();
    symlink("../out/new.txt", format!("{ws}/dangling")).unwrap();
    let before = tree(Path::new(&ws).parent().unwrap());
    let client = client(eras()[1].clone(), &[&ws]).await;
    let out = out.to_str().unwrap();
    let outside =
        ["d/k.txt", "d/new.txt", "r/k.txt", "r/a/b/c.txt", "../out/k.txt", "sub/../../out/n", "root://other/k.txt", "/etc/n"]
            .map(str::to_owned)
            .into_iter()
            .chain([
                format!("{ws}/d/k.txt"),
                format!("{out}/k.txt"),
                format!("{out}/a/b"),
                format!("{ws}-old/n"),
                format!("{ws}/.."),
            ]);
    let edits = json!([{ "oldText": "SECRET", "newText": "x" }]);
    for path in outside {
        for (tool, arguments) in [
            ("write_file", json!({ "path": path, "content": "x" })),
            ("append_file", json!({ "path": path, "content": "x" })),
            ("edit_file", json!({ "path": path, "edits": edits })),
            ("edit_file", json!({ "path": path, "edits": edits, "dryRun": true })),
            ("create_directory", json!({ "path": path })),
            ("move_file", json!({ "source": path, "destination": "got" })),
            ("move_file", json!({ "source": "a.txt", "destination": path })),
            ("copy_file", json!({ "source": path, "destination": "got" })),
            ("copy_file", json!({ "source": "a.txt", "destination": path })),
            ("copy_file", json!({ "source": "sub", "destination": path })),
            ("delete_file", json!({ "path": path })),
            ("delete_directory", json!({ "path": path })),
            ("delete_directory", json!({ "path": path, "recursive": true })),
        ] {
            let answer = call(&client, tool, arguments.clone()).await;
            let code = code(&answer);
            // What ends with `..` names no entry, wherever it leads.
            let none = path.ends_with("..") && code.as_deref() == Some("invalid-path");
            assert!(none || code.as_deref() == Some("outside-roots"), "{tool} {arguments}: {}", text(&answer));
            assert!(!text(&answer).contains(out) || path.starts_with(out), "{}", text(&answer));
        }
    }
    // Links as the last name: written through they lead out; they themselves can be moved, not copied.
    for path in ["l", "dangling", "d", "d/"] {
        for tool in ["write_file", "append_file"] {
            let answer = call(&client, tool, json!({ "path": path, "content": "x" })).await;
            // A slash behind it calls it a directory, which is not written wherever it leads.
            let want = if path.ends_with('/') { "is-a-directory" } else { "outside-roots" };
            assert_eq!(code(&answer).as_deref(), Some(want), "{tool} {path}: {}", text(&answer));
        }
        let answer = call(&client, "copy_file", json!({ "source": path, "destination": "got" })).await;
        assert_eq!(code(&answer).as_deref(), Some("outside-roots"), "{path}: {}", text(&answer));
    }
    assert_eq!(tree(Path::new(&ws).parent().unwrap()), before);
    let answer = call(&client, "delete_directory", json!({ "path": "d", "recursive": true })).await;
    assert_eq!(code(&answer).as_deref(), Some("not-a-directory"), "{}", text(&answer));
    let answer = call(&client, "delete_file", json!({ "path": "d" })).await;
    assert_eq!(text(&answer), "Successfully deleted d");
    assert!(fs::exists(format!("{out}/k.txt")).unwrap() && fs::symlink_metadata(format!("{ws}/d")).is_err());
    client.cancel().await.unwrap();
}

/// WRITE-01, OWN-20 and the other refusals: each with its code, about the right path, and with nothing changed.
#[tokio::test]
async fn refusals_have_codes_and_change_nothing() {
    let (_folder, ws) = workspace();
    fs::hard_link(format!("{ws}/a.txt"), format!("{ws}/second")).unwrap();
    symlink("loop", format!("{ws}/loop")).unwrap();
    assert!(Command::new("mkfifo").arg(format!("{ws}/pipe")).status().unwrap().success());
    let before = names(&ws);
    let client = client(eras()[0].clone(), &[&ws]).await;
    let write = |path: &str| json!({ "path": path, "content": "x" });
    let pair = |source: &str, destination: &str| json!({ "source": source, "destination": destination });
    for (tool, arguments, want, part) in [
        ("write_file", write("sub"), "is-a-directory", "\"sub\" "),
        ("write_file", write("sub/"), "is-a-directory", ""),
        ("write_file", write("new/"), "is-a-directory", "is called a directory, by a slash at its end"),
        ("write_file", write("."), "is-a-directory", ""),
        ("write_file", write("missing/x"), "not-found", "create_directory"),
        ("write_file", write("a.txt/x"), "not-a-directory", ""),
        ("write_file", write("pipe"), "special-file", ""),
        ("write_file", write("loop"), "symlink-loop", ""),
        ("write_file", write(""), "invalid-path", ""),
        ("write_file", write("a\u{0}b"), "invalid-path", ""),
        ("write_file", write(&"x".repeat(300)), "invalid-path", ""),
        ("append_file", write("a.txt"), "hard-linked", "write it as a new file"),
        ("append_file", write("sub"), "is-a-directory", ""),
        ("edit_file", json!({ "path": "none", "edits": [] }), "not-found", "write_file creates a file"),
        ("create_directory", json!({ "path": "a.txt" }), "already-exists", "something that is no directory has this name"),
        ("create_directory", json!({ "path": "a.txt/x" }), "not-a-directory", ""),
        ("move_file", pair("a.txt", "sub/b.md"), "already-exists", "\"sub/b.md\" "),
        ("move_file", pair("a.txt", "abs"), "already-exists", "\"abs\" "),
        ("move_file", pair("a.txt", "sub"), "already-exists", "give the new name below it: DIR/NAME"),
        ("move_file", pair("missing", "n"), "not-found", "\"missing\" "),
        ("move_file", pair("a.txt", "missing/n"), "not-found", "\"missing/n\" "),
        ("move_file", pair("sub", "sub/deeper/x"), "invalid-argument", ""),
        ("move_file", pair("a.txt", "../n"), "outside-roots", "\"../n\" "),
        ("move_file", pair("a.txt", "../n"), "outside-roots", "list_allowed_directories lists them"),
        ("copy_file", pair("a.txt", "second"), "already-exists", "\"second\" "),
        ("copy_file", pair("sub", "sub/deeper/x"), "invalid-argument", ""),
        ("copy_file", pair("pipe", "n"), "special-file", "\"pipe\" "),
        ("delete_file", json!({ "path": "sub" }), "is-a-directory", "delete_directory"),
        ("delete_file", json!({ "path": "missing" }), "not-found", ""),
        ("delete_directory", json!({ "path": "a.txt", "recursive": true }), "not-a-directory", "delete_file"),
        ("delete_directory", json!({ "path": ".", "recursive": true }), "invalid-path", ""),
        ("delete_directory", json!({ "path": "sub/.." , "recursive": true }), "invalid-path", ""),
    ] {
        let answer = call(&client, tool, arguments.clone()).await;
        assert_eq!(code(&answer).as_deref(), Some(want), "{tool} {arguments}: {}", text(&answer));
        assert!(text(&answer).contains(part), "{tool} {arguments}: {}", text(&answer));
        assert!(!text(&answer).contains("ask for it to be replaced"), "no tool can: {}", text(&answer));
        assert!(!text(&answer).contains(".tmp") && !text(&answer).contains(&ws), "{}", text(&answer));
    }
    assert_eq!(names(&ws), before);
    assert_eq!(fs::read_to_string(format!("{ws}/a.txt")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(fs::read_to_string(format!("{ws}/sub/b.md")).unwrap(), "b");
    client.cancel().await.unwrap();
}

fn names(dir: &str) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// WRITE-03, WRITE-04, UNI-08, WIN-12: bytes as they were given, modes as they were, and names that only another system objects to.
#[tokio::test]
async fn bytes_modes_and_names_are_kept() {
    let (_folder, ws) = workspace();
    let script = format!("{ws}/s.sh");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(format!("{ws}/name.")).unwrap();
    let mode = |path: &str| fs::metadata(format!("{ws}/{path}")).unwrap().permissions().mode() & 0o7777;
    let client = client(eras()[0].clone(), &[&ws]).await;
    let done = |answer: rmcp::model::CallToolResult| assert_ne!(answer.is_error, Some(true), "{}", text(&answer));
    done(
        call(&client, "edit_file", json!({ "path": "s.sh", "edits": [{ "oldText": "/bin/sh", "newText": "/bin/bash" }] })).await,
    );
    assert_eq!(mode("s.sh"), 0o755);
    done(call(&client, "write_file", json!({ "path": "s.sh", "content": "#!/bin/sh\n" })).await);
    done(call(&client, "append_file", json!({ "path": "s.sh", "content": "exit\n" })).await);
    done(call(&client, "copy_file", json!({ "source": "s.sh", "destination": "t.sh" })).await);
    done(call(&client, "move_file", json!({ "source": "t.sh", "destination": "u.sh" })).await);
    assert_eq!((mode("s.sh"), mode("u.sh")), (0o755, 0o755));
    assert_eq!(fs::read_to_string(format!("{ws}/u.sh")).unwrap(), "#!/bin/sh\nexit\n");
    for (path, content) in [
        ("b.txt", "Bäcker\r\n\u{feff}\u{202e}\0 音\u{1f600}"),
        ("name./a.txt", "x"),
        ("aux", "x"),
        ("a:b", "x"),
        ("Übersicht 音.md", "y"),
        ("no end", "no end"),
    ] {
        done(call(&client, "write_file", json!({ "path": path, "content": content })).await);
        assert_eq!(fs::read(format!("{ws}/{path}")).unwrap(), content.as_bytes(), "{path}");
        let answer = call(&client, "read_text_file", json!({ "path": path })).await;
        assert_eq!(text(&answer), content);
    }
    client.cancel().await.unwrap();
}

/// OWN-06 for appending: nothing is lost, however the file is called.
#[tokio::test]
async fn appends_at_once_all_survive() {
    let (_folder, ws) = workspace();
    symlink("log", format!("{ws}/to_log")).unwrap();
    symlink(".", format!("{ws}/here")).unwrap();
    for era in eras() {
        let _ = fs::remove_file(format!("{ws}/log"));
        let client = client(era, &[&ws]).await;
        let spellings = [
            "log".to_owned(),
            format!("{ws}/log"),
            "root://ws/log".to_owned(),
            "to_log".to_owned(),
            "here/sub/../log".to_owned(),
        ];
        let lines: Vec<String> = (0..20).map(|number| format!("line {number} {}\n", "x".repeat(number * 300))).collect();
        let asked = lines.iter().zip(spellings.iter().cycle());
        let asked = asked.map(|(line, path)| ("append_file", json!({ "path": path, "content": line }))).collect();
        for answer in calls(&client, asked).await {
            assert_ne!(answer.is_error, Some(true), "{}", text(&answer));
        }
        let log = fs::read_to_string(format!("{ws}/log")).unwrap();
        let mut written: Vec<_> = log.split_inclusive('\n').collect();
        written.sort_unstable();
        let mut lines: Vec<_> = lines.iter().map(String::as_str).collect();
        lines.sort_unstable();
        assert_eq!(written, lines);
        client.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn hidden_host_paths_stay_hidden_in_success_and_refusal() {
    let (_folder, ws) = workspace();
    let client = client(eras()[1].clone(), &["--hide-host-paths", "--rw", &format!("notes={ws}")]).await;
    let at = |name: &str| format!("{ws}/{name}");
    let edits = json!([{ "oldText": "x", "newText": "y" }]);
    for (tool, arguments, said) in [
        ("write_file", json!({ "path": at("n"), "content": "x\n" }), "Successfully wrote to root://notes/n"),
        ("append_file", json!({ "path": at("n"), "content": "z" }), "Successfully appended to root://notes/n"),
        ("edit_file", json!({ "path": at("n"), "edits": edits }), "Index: root://notes/n\n"),
        ("edit_file", json!({ "path": at("n"), "edits": edits }), "no-match: "),
        ("edit_file", json!({ "path": at("missing"), "edits": edits, "dryRun": true }), "not-found: "),
        ("create_directory", json!({ "path": at("a.txt") }), "already-exists: "),
        ("copy_file", json!({ "source": at("n"), "destination": at("m") }), "copied root://notes/n to root://notes/m ("),
        ("move_file", json!({ "source": at("n"), "destination": at("m") }), "already-exists: "),
        ("move_file", json!({ "source": at("../out/k.txt"), "destination": at("o") }), "outside-roots: "),
        ("delete_file", json!({ "path": at("m") }), "Successfully deleted root://notes/m"),
        ("delete_directory", json!({ "path": at("sub") }), "not-empty: "),
    ] {
        let answer = call(&client, tool, arguments).await;
        assert!(text(&answer).contains(said), "{tool}: {}", text(&answer));
        assert!(!serde_json::to_string(&answer).unwrap().contains(&ws), "{tool}: {}", text(&answer));
    }
    client.cancel().await.unwrap();
}

/// A limit on the size of files refuses the one write, and ends neither the server nor the old content.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_limit_on_file_sizes_is_an_error_and_no_end() {
    let (_folder, ws) = workspace();
    let large = "x".repeat(200_000);
    let limited = |arguments: &[&str]| {
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", "ulimit -f 64; exec \"$@\"", "sh", SERVER]).args(arguments);
        command
    };
    let client = ().serve(TokioChildProcess::new(limited(&[&ws])).unwrap()).await.unwrap();
    let ask = async |tool: &'static str, arguments: Value| {
        let request = rmcp::model::CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone());
        client.call_tool(request).await.unwrap()
    };
    for tool in ["write_file", "append_file"] {
        let answer = ask(tool, json!({ "path": "a.txt", "content": large })).await;
        assert_eq!(code(&answer).as_deref(), Some("too-large"), "{tool}: {}", text(&answer));
        assert!(text(&answer).contains("write less"), "{}", text(&answer));
    }
    assert_eq!(fs::read_to_string(format!("{ws}/a.txt")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(text(&ask("write_file", json!({ "path": "a.txt", "content": "small" })).await), "Successfully wrote to a.txt");
    client.cancel().await.unwrap();
    let arguments = json!({ "path": "a.txt", "content": large.get(..100_000).unwrap() }).to_string();
    let once = limited(&["--call", "write_file", "--args", &arguments, &ws]).output().await.unwrap();
    assert_eq!(once.status.code(), Some(1), "{once:?}");
    assert_eq!(fs::read_to_string(format!("{ws}/a.txt")).unwrap(), "small");
}
