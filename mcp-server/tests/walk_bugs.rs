//! Faults of other file servers in walks, each beside what it must not be mended into.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cap_roots_oracle::needs;
use cap_roots_oracle::privilege::drop_override_of_programs;
use serde_json::{Value, json};
use support::wire::Session;
use support::{SERVER, eras, run, workspace};

/// The first block of an answer without a client, what is said beside it, and the status.
fn once(options: &[&str], tool: &str, arguments: &Value, ws: &Path) -> (String, String, i32) {
    let arguments = arguments.to_string();
    run(ws, &[&["--call", tool, "--args", &arguments], options, &[ws.to_str().unwrap()]].concat())
}

fn find(options: &[&str], pattern: &str, ws: &Path) -> (String, String, i32) {
    once(options, "search_files", &json!({ "path": ".", "pattern": pattern }), ws)
}

/// A tree of about this many entries: 100 files in each directory, and `needle` in the last one.
fn forest(ws: &Path, entries: usize) {
    for dir in 0..entries.div_ceil(100) {
        let dir = ws.join(format!("d{}/e{dir:05}", dir % 7));
        fs::create_dir_all(&dir).unwrap();
        // Links are made in a tenth of the time.
        let first = dir.join("file0.txt");
        fs::write(&first, "").unwrap();
        for file in 1..99 {
            fs::hard_link(&first, dir.join(format!("file{file}.txt"))).unwrap();
        }
    }
    fs::write(ws.join("d6/needle"), "").unwrap();
}

/// How many entries the large trees have: more where time is no matter.
fn entries() -> usize {
    std::env::var("CAP_ROOTS_WALK").map_or(20_000, |count| count.parse().unwrap())
}

/// WALK-01: the whole of a large tree in one answer. Its twin: a search goes through all of it, whatever the limit of entries.
#[test]
fn large_trees_are_cut_and_searched_whole() {
    let folder = tempfile::tempdir().unwrap();
    forest(folder.path(), entries());
    let limits = ["--max-entries", "1000", "--max-seconds", "600"];
    let (tree, notice, status) = once(&limits, "directory_tree", &json!({ "path": "." }), folder.path());
    assert_eq!(status, 0);
    let tree: Value = serde_json::from_str(&tree).unwrap();
    let marks = tree.to_string().matches("\"type\":\"cut\"").count();
    let shown = tree.to_string().matches("\"name\"").count() - marks;
    assert_eq!((shown, marks), (1_000, 1));
    assert!(notice.contains("Cut at the limit of 1000 entries"), "{notice}");
    let (found, notice, _) = find(&limits, "needle", folder.path());
    assert_eq!((found.as_str(), notice.as_str()), ("d6/needle\n", ""));
}

/// Catches: a walk that gives no sign of life, goes on with it behind its answer, or counts down; and the same without having been asked.
#[test]
fn progress_is_told_to_who_asks() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        json!({ "path": ".", "pattern": "nothing", "respectGitignore": true, "excludePatterns": vec!["**/x*y*z*"; 100] });
    // As many trees as make a search long enough that something is told of it. Names alone are gone through so fast that there would be too many.
    const TOOL: &str = "search_file_contents";
    for tree in 0..40 {
        forest(&folder.path().join(format!("tree{tree}")), entries());
        let begin = Instant::now();
        assert_eq!(once(&["--max-seconds", "600"], TOOL, &arguments, folder.path()).2, 0);
        if begin.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
    for (era, token) in eras().into_iter().zip([json!("a"), json!(7)]) {
        let mut session = Session::start(&era, &["--max-seconds", "600", folder.path().to_str().unwrap()]);
        for token in [token, Value::Null] {
            let mut params = json!({ "name": TOOL, "arguments": arguments });
            if !token.is_null() {
                params["_meta"] = json!({ "progressToken": token });
            }
            session.send(Some(1), "tools/call", params);
            let mut seen = session.until_answer(1);
            session.ask("tools/list", json!({}));
            seen.extend(session.notifications());
            let at = seen.iter().position(|message| message["id"] == 1).unwrap();
            assert_eq!(at, seen.len() - 1, "something came behind the answer");
            assert_eq!(seen[at]["result"]["content"][0]["text"], "No matches found");
            let told: Vec<_> = seen[..at].iter().map(|message| &message["params"]).collect();
            assert_eq!(told.is_empty(), token.is_null(), "{told:?}");
            assert!(told.iter().all(|params| params["progressToken"] == token && params["message"].is_string()));
            let counts: Vec<_> = told.iter().map(|params| params["progress"].as_f64().unwrap()).collect();
            assert!(counts.is_sorted_by(|a, b| a < b), "{counts:?}");
        }
        session.end();
    }
}

/// Catches: messages about a call that counts nothing.
#[test]
fn no_progress_is_told_where_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    if !needs::endless(folder.path()) {
        return;
    }
    let mut session = Session::start(&eras()[1], &["--max-seconds", "1", folder.path().to_str().unwrap()]);
    let arguments = json!({ "path": "endless", "offset": 2 });
    session.send(
        Some(1),
        "tools/call",
        json!({ "name": "read_text_file", "arguments": arguments, "_meta": { "progressToken": 1 } }),
    );
    assert_eq!(session.until_answer(1).len(), 1);
    session.end();
}

/// Catches: long walks that keep a short call waiting until they are done.
#[test]
fn walks_leave_room_for_short_calls() {
    let folder = tempfile::tempdir().unwrap();
    forest(folder.path(), entries());
    let mut session = Session::start(&eras()[1], &["--max-seconds", "600", folder.path().to_str().unwrap()]);
    for id in 1..=12 {
        let arguments = json!({ "path": ".", "pattern": "nothing", "respectGitignore": true });
        session.send(Some(id), "tools/call", json!({ "name": "search_files", "arguments": arguments }));
    }
    let info = json!({ "name": "get_file_info", "arguments": { "path": "d6/needle" } });
    assert!(session.ask("tools/call", info)["result"]["content"][0]["text"].as_str().unwrap().starts_with("size: 0"));
    assert!((1..=12).any(|id| !session.has_answer(id)), "it waited for all of them");
    for id in 1..=12 {
        session.send(None, "notifications/cancelled", json!({ "requestId": id }));
    }
    session.end();
}

/// WALK-02: what tools fetch drowns the answer. Its twin: without the option nothing is left out.
#[test]
fn what_tools_fetch_is_left_out_if_the_operator_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for package in 0..300 {
        let dir = folder.path().join(format!("node_modules/p{package}"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("package.json"), "").unwrap();
    }
    fs::write(folder.path().join("package.json"), "").unwrap();
    let (found, notice, _) = find(&["--ignore-common"], "package.json", folder.path());
    assert_eq!(found, "package.json\n");
    assert!(notice.contains("1 name is left out by the operator's ignore list"), "{notice}");
    assert_eq!(find(&[], "package.json", folder.path()).0.lines().count(), 301);
}

/// WALK-03 a pattern taken for a part of the name, WALK-05 a wildcard on both sides, WALK-06 a plain name at the top only, OWN-18 a
/// malformed glob that finds nothing; each with what it must not find.
#[test]
fn patterns_find_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    for path in
        ["a.py", "b/c.py", "b/c.pyc", "b/x*.py", "Bank statement 2026.PDF", "b/deep/users.go", "b/deep/my-users.go", "b/.env"]
    {
        fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
        fs::write(folder.path().join(path), "").unwrap();
    }
    for (pattern, want) in [
        ("*.py", "a.py\n"),
        ("**/*.py", "a.py\nb/c.py\nb/x*.py\n"),
        (r"**/*\*.py", "b/x*.py\n"),
        ("py", "No matches found\n"),
        ("*statement*", "Bank statement 2026.PDF\n"),
        ("*STATEMENT*", "No matches found\n"),
        ("users.go", "b/deep/users.go\n"),
        ("b/users.go", "No matches found\n"),
        ("**/*users.go", "b/deep/my-users.go\nb/deep/users.go\n"),
        (".env", "b/.env\n"),
        ("b/*", "b/.env\nb/c.py\nb/c.pyc\nb/deep\nb/x*.py\n"),
        ("deep", "b/deep\n"),
        ("deep/", "b/deep\n"),
        ("users.go/", "No matches found\n"),
        ("*/", "b\n"),
        ("**/", "b\nb/deep\n"),
        ("./*.py", "a.py\n"),
        ("/*.py", "a.py\n"),
        ("b//*.py", "b/c.py\nb/x*.py\n"),
    ] {
        let (found, _, status) = find(&[], pattern, folder.path());
        assert_eq!((found.as_str(), status), (want, 0), "{pattern}");
    }
    let fold = json!({ "path": ".", "pattern": "*STATEMENT*.pdf", "caseInsensitive": true });
    assert_eq!(once(&[], "search_files", &fold, folder.path()).0, "Bank statement 2026.PDF\n");
    let excludes = json!({ "path": ".", "pattern": "**/*.go", "excludePatterns": ["deep/", "a.py/"] });
    assert_eq!(once(&[], "search_files", &excludes, folder.path()).0, "No matches found\n");
    for pattern in ["[", "{a", "a\\", "", "*(deep)", "?(b)/*", "+(a)"] {
        let (found, error, status) = find(&[], pattern, folder.path());
        assert_eq!((found.as_str(), status), ("", 2));
        assert!(error.starts_with("invalid-argument: in \"pattern\", the glob"), "{error}");
    }
    let excludes = json!({ "path": ".", "excludePatterns": ["a", "[z-a]"] });
    let (_, error, _) = once(&[], "directory_tree", &excludes, folder.path());
    assert!(error.contains("\"excludePatterns\", the glob \"[z-a]\" has a range"), "{error}");
}

/// WALK-04: a search by name that looks as if the text were nowhere. Its twin: a plain search that found nothing says nothing more.
#[test]
fn a_search_for_names_says_so() {
    let mut session = Session::start(&eras()[0], &["."]);
    let tools = session.ask("tools/list", json!({}));
    let tool = tools["result"]["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "search_files").unwrap();
    assert!(
        tool["description"].as_str().unwrap().contains("by name")
            && tool["description"].as_str().unwrap().contains("not looked at")
    );
    session.end();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "needle").unwrap();
    assert_eq!(find(&[], "**/nothing*", folder.path()).1, "");
}

/// WALK-08: one directory without permission ends the walk. Its twins: that it was left out is told, at the top it is an error, and where
/// it is excluded it is not even tried.
#[test]
fn a_directory_that_cannot_be_read_is_passed_over() {
    // For this thread and the servers that it starts.
    drop_override_of_programs();
    let folder = tempfile::tempdir().unwrap();
    for path in ["a/x", "locked/x", "z/x"] {
        fs::create_dir_all(folder.path().join(path)).unwrap();
    }
    let locked = folder.path().join("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    if !needs::or_skipped(fs::read_dir(&locked).is_err(), "this user may read every directory") {
        return;
    }
    let (found, notice, status) = find(&[], "**/x", folder.path());
    let (tree, _, _) = once(&[], "directory_tree", &json!({ "path": "." }), folder.path());
    let excluded =
        once(&[], "search_files", &json!({ "path": ".", "pattern": "**/x", "excludePatterns": ["locked"] }), folder.path());
    let top = once(&[], "search_files", &json!({ "path": "locked", "pattern": "x" }), folder.path());
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!((found.as_str(), status), ("a/x\nz/x\n", 0));
    assert_eq!(notice, "[1 directory could not be read (os-denied).]\n");
    let tree: Value = serde_json::from_str(&tree).unwrap();
    assert_eq!(tree[1], json!({ "name": "locked", "type": "directory", "children": [], "cut": "unreadable" }));
    assert_eq!(excluded.1, "[1 name is left out by excludePatterns.]\n");
    assert!(top.2 == 1 && top.1.starts_with("os-denied: \"locked\""), "{}", top.1);
}

/// WALK-09: what is missing is called denied. Its twin: outside it is not told whether it is there.
#[test]
fn what_is_missing_is_told_from_what_is_outside() {
    let (_folder, ws) = workspace();
    for tool in ["directory_tree", "search_files"] {
        for (path, code) in [
            ("absent", "not-found"),
            ("a.txt", "not-a-directory"),
            ("../out", "outside-roots"),
            ("../absent", "outside-roots"),
            ("l", "outside-roots"),
        ] {
            let (_, error, status) = once(&[], tool, &json!({ "path": path, "pattern": "x" }), Path::new(&ws));
            assert!(status == 1 && error.starts_with(&format!("{code}: \"{path}\"")), "{error}");
        }
    }
}

/// OWN-16: a descriptor for each entry; OWN-17: links to `.` that are gone through again and again.
#[test]
fn few_descriptors_are_enough() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("00000");
    fs::write(&first, "").unwrap();
    for name in 1..20_000 {
        fs::hard_link(&first, folder.path().join(format!("{name:05}"))).unwrap();
    }
    for link in 0..5 {
        symlink(".", folder.path().join(format!("link{link}"))).unwrap();
    }
    let deep = folder.path().join(["d"; 50].join("/"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("bottom"), "").unwrap();
    for (tool, arguments, want) in [
        ("search_files", json!({ "path": ".", "pattern": "**/{19999,bottom}" }), 2),
        ("search_files", json!({ "path": ".", "pattern": "**", "respectGitignore": true }), 20_056),
        ("directory_tree", json!({ "path": "." }), 20_056),
    ] {
        let limited = Command::new("sh")
            .args(["-c", "ulimit -n 64; exec \"$@\"", "sh", SERVER, "--max-text-bytes=99999999", "--call", tool, "--args"])
            .args([&arguments.to_string(), folder.path().to_str().unwrap()])
            .output()
            .unwrap();
        let (found, told) = (String::from_utf8(limited.stdout).unwrap(), String::from_utf8(limited.stderr).unwrap());
        assert_eq!(told, "");
        let count = if tool == "directory_tree" { found.matches("\"name\"").count() } else { found.lines().count() };
        assert_eq!(count, want, "{tool}");
    }
}
