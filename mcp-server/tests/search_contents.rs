//! `search_file_contents` through the built server: the public faults of such tools one by one, and pages against a naive search.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test"
)]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use cap_roots_oracle::needs;
use cap_roots_oracle::privilege::drop_override_of_programs;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use support::wire::Session;
use support::{Client, call, client, code, eras, run, text};

const TOOL: &str = "search_file_contents";

/// A directory to serve, beside one that is not.
fn folder(files: &[(&str, &[u8])]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let ws = fs::canonicalize(folder.path()).unwrap().join("ws");
    fs::create_dir(&ws).unwrap();
    for (name, content) in files {
        let path = ws.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    (folder, ws.to_str().unwrap().to_owned())
}

fn notice(answer: &CallToolResult) -> &str {
    answer.content.get(1).and_then(|block| block.as_text()).map_or("", |text| &text.text)
}

/// An answer that is no refusal: its lines. What the declared schema says of it holds.
fn lines(answer: &CallToolResult) -> Vec<String> {
    assert_ne!(answer.is_error, Some(true), "{}", text(answer));
    let structured = answer.structured_content.as_ref().unwrap().as_object().unwrap();
    assert_eq!(structured.len(), 1);
    assert!(structured["content"].as_str().unwrap().starts_with(text(answer)));
    text(answer).lines().map(str::to_owned).collect()
}

async fn search(client: &Client, arguments: Value) -> (Vec<String>, String) {
    let answer = call(client, TOOL, arguments).await;
    (lines(&answer), notice(&answer).to_owned())
}

/// All pages of a search: the lines, and how many answers they took.
async fn pages(client: &Client, mut arguments: Value) -> (Vec<String>, usize) {
    let (mut all, mut count) = (Vec::new(), 0);
    loop {
        let (lines, notice) = search(client, arguments.clone()).await;
        all.extend(lines.into_iter().filter(|line| !line.starts_with("No matches found")));
        count += 1;
        let Some((_, rest)) = notice.split_once("\"cursor\": \"") else { return (all, count) };
        arguments["cursor"] = rest.split('"').next().unwrap().into();
        assert!(count < 3000, "pages without end");
    }
}

/// Catches: other forms of a line, of a path, and of a search in a single file; globs that are anchored where they have no slash.
#[tokio::test]
async fn lines_are_given_in_the_callers_own_form() {
    let (_folder, ws) = folder(&[
        ("a.rs", b"one\nlet x = f(1);\ntwo\n"),
        ("sub/b.rs", b"F(1)\r\nf(1)\r\n"),
        ("sub/deep/c.txt", b"f(1)"),
        ("none.txt", b"nothing"),
    ]);
    // Without a client there is nobody to go on with a cursor.
    let once = ["--call", TOOL, "--args", r#"{"path":"a.rs","pattern":"o","maxResults":1}"#, "."];
    let (told, beside, status) = run(Path::new(&ws), &once);
    assert_eq!((told.as_str(), status), ("a.rs:1:one\n", 0));
    assert_eq!(beside, "[Cut after 1 as asked; for more, raise maxResults.]\n");
    for era in eras() {
        let client = client(era, &[&ws]).await;
        let all = ["a.rs:2:let x = f(1);", "sub/b.rs:2:f(1)", "sub/deep/c.txt:1:f(1)"];
        assert_eq!(
            search(&client, json!({ "path": ".", "pattern": "f(1)" })).await,
            (all.map(str::to_owned).to_vec(), String::new())
        );
        for (path, start) in [(ws.clone(), format!("{ws}/")), ("root://ws/".to_owned(), "root://ws/".to_owned())] {
            let want = all.map(|line| format!("{start}{line}")).to_vec();
            assert_eq!(search(&client, json!({ "path": path, "pattern": "f(1)" })).await.0, want);
        }
        for (arguments, want) in [
            (json!({ "path": "a.rs", "pattern": "f(1)", "contextLines": 1 }), "a.rs-1-one\na.rs:2:let x = f(1);\na.rs-3-two"),
            (json!({ "path": "root://ws/a.rs", "pattern": "one" }), "root://ws/a.rs:1:one"),
            (json!({ "path": ".", "pattern": "^f\\(1\\)$", "regex": true, "include": ["*.rs"] }), "sub/b.rs:2:f(1)"),
            (json!({ "path": ".", "pattern": "f(1)", "include": ["sub/*"] }), "sub/b.rs:2:f(1)"),
            (json!({ "path": ".", "pattern": "f(1)", "excludePatterns": ["*.rs"] }), "sub/deep/c.txt:1:f(1)"),
            (
                json!({ "path": "sub", "pattern": "F(1)", "caseInsensitive": true, "include": ["*.RS"] }),
                "sub/b.rs:1:F(1)\nsub/b.rs:2:f(1)",
            ),
            (json!({ "path": "a.rs", "pattern": "on", "wholeWord": true, "unknown": 1 }), "No matches found"),
            (json!({ "path": ".", "pattern": "f", "filesOnly": true, "contextLines": 3 }), "a.rs\nsub/b.rs\nsub/deep/c.txt"),
            (json!({ "path": ".", "pattern": "two", "contextLines": 0.0 }), "a.rs:3:two"),
        ] {
            assert_eq!(search(&client, arguments.clone()).await.0.join("\n"), want, "{arguments}");
        }
        client.cancel().await.unwrap();
    }
}

/// Catches: wrong types that are taken for defaults, flags that are passed over, and expressions that cost without bound.
#[tokio::test]
async fn bad_arguments_are_named() {
    let (_folder, ws) = folder(&[("a", b"a")]);
    let client = client(eras()[1].clone(), &[&ws]).await;
    for (name, value) in [
        ("pattern", json!(5)),
        ("pattern", json!("")),
        ("pattern", json!("a\nb")),
        ("pattern", json!("a".repeat(5000))),
        ("regex", json!("yes")),
        ("caseSensitive", json!(false)),
        ("case_insensitive", json!(true)),
        ("include", json!("*.rs")),
        ("include", json!(["["])),
        ("include", json!(["src/"])),
        ("excludePatterns", json!([1])),
        ("contextLines", json!(21)),
        ("contextLines", json!(-1)),
        ("contextLines", json!(1.5)),
        ("maxResults", json!(0)),
        ("maxResults", json!(10_001)),
        ("cursor", json!(1)),
    ] {
        let mut arguments = json!({ "path": ".", "pattern": "a" });
        arguments[name] = value.clone();
        let answer = call(&client, TOOL, arguments).await;
        assert_eq!(code(&answer).as_deref(), Some("invalid-argument"), "{name} {value}: {}", text(&answer));
        assert!(text(&answer).contains(&format!("\"{name}\"")), "{name}: {}", text(&answer));
    }
    let begin = Instant::now();
    for bomb in ["(a{1000}){1000}", "((((\\w{50}){50}){50}){50})", "(?=a)", "a)|(b", "("] {
        let answer = call(&client, TOOL, json!({ "path": ".", "pattern": bomb, "regex": true })).await;
        assert_eq!(code(&answer).as_deref(), Some("invalid-argument"), "{bomb}");
        assert!(!text(&answer).contains('\n') && text(&answer).len() < 300, "{}", text(&answer));
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    for (path, want) in [("missing", "not-found"), ("../x", "outside-roots"), ("", "invalid-path")] {
        assert_eq!(code(&call(&client, TOOL, json!({ "path": path, "pattern": "a" })).await).as_deref(), Some(want));
    }
    let stale = call(&client, TOOL, json!({ "path": ".", "pattern": "a", "cursor": "AAAA" })).await;
    assert_eq!(code(&stale).as_deref(), Some("stale-cursor"));
    client.cancel().await.unwrap();
}

/// UNI-04, UNI-05. Catches: a line cut at a byte, and a name cut or taken for ASCII.
#[tokio::test]
async fn text_and_names_beyond_ascii_stay_whole() {
    let files: Vec<(String, String)> = (0..8)
        .map(|shift| (format!("音_冰糖{shift}.mp3"), format!("{}“needle”{}", "x".repeat(390 + shift), "é’".repeat(600))))
        .collect();
    let borrowed: Vec<(&str, &[u8])> = files.iter().map(|(name, content)| (name.as_str(), content.as_bytes())).collect();
    let (_folder, ws) = folder(&borrowed);
    let client = client(eras()[0].clone(), &[&ws]).await;
    let (lines, _) = search(&client, json!({ "path": ".", "pattern": "needle" })).await;
    assert_eq!(lines.len(), 8);
    for (line, (name, _)) in lines.iter().zip(&files) {
        assert!(line.starts_with(&format!("{name}:1:[")) && line.ends_with(" bytes]"), "{line}");
        assert!(line.contains("“needle”") && !line.contains('\u{fffd}') && !line.contains("\\x") && line.len() < 600, "{line}");
    }
    client.cancel().await.unwrap();
}

/// UNI-06. Catches: text of another encoding that is shown lossily without a word, and files that are passed over without one.
#[tokio::test]
async fn what_is_no_utf8_is_told() {
    let utf16: Vec<u8> = "\u{feff}key = é\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (_folder, ws) = folder(&[
        ("binary", b"key\0"),
        ("gbk.txt", b"key = \xb0\xa1\n"),
        ("mark.txt", b"\xef\xbb\xbfkey = 1\n"),
        ("utf16.txt", &utf16),
    ]);
    fs::write(Path::new(&ws).join(std::ffi::OsStr::from_bytes(b"\xffname")), "key\n").unwrap();
    let client = client(eras()[1].clone(), &[&ws]).await;
    let (lines, notice) = search(&client, json!({ "path": ".", "pattern": "^key", "regex": true })).await;
    assert_eq!(lines, ["gbk.txt:1:key = \\xB0\\xA1", "mark.txt:1:key = 1", "utf16.txt:1:key = é", "root://ws/%FFname:1:key"]);
    for told in ["1 binary file was not searched", "1 file is not UTF-8 throughout", r"as \xNN", "1 file is UTF-16"] {
        assert!(notice.contains(told), "{told}: {notice}");
    }
    let (lines, notice) = search(&client, json!({ "path": "gbk.txt", "pattern": "啊" })).await;
    assert!(lines == ["No matches found"] && notice.contains("not UTF-8"), "{notice}");
    client.cancel().await.unwrap();
}

/// READ-06. Catches: a search that waits at a pipe, follows links, or ends at the first thing that it cannot read.
#[tokio::test]
async fn what_is_no_file_is_passed_over_and_counted() {
    // For this thread and the server that it starts.
    drop_override_of_programs();
    let (folder, ws) = folder(&[("a", b"needle"), ("locked", b"needle"), ("shut/x", b"needle"), ("z", b"needle")]);
    let at = |name: &str| Path::new(&ws).join(name);
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let _socket = UnixListener::bind(at("socket")).unwrap();
    fs::write(folder.path().join("outside"), "needle SECRET").unwrap();
    symlink(folder.path().join("outside"), at("link")).unwrap();
    symlink(".", at("loop")).unwrap();
    symlink("a", at("own")).unwrap();
    for (name, mode) in [("locked", 0), ("shut", 0)] {
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let client = client(eras()[0].clone(), &[&ws]).await;
    let (lines, notice) = search(&client, json!({ "path": ".", "pattern": "needle" })).await;
    assert_eq!(lines, ["a:1:needle", "z:1:needle"]);
    for told in [
        "3 links were not followed",
        "2 pipes, sockets or devices were not opened",
        "1 file could not be read",
        "1 directory could not be read",
    ] {
        assert!(notice.contains(told), "{told}: {notice}");
    }
    assert_eq!(code(&call(&client, TOOL, json!({ "path": "locked", "pattern": "a" })).await).as_deref(), Some("os-denied"));
    for (path, want) in [("pipe", "special-file"), ("link", "outside-roots")] {
        assert_eq!(code(&call(&client, TOOL, json!({ "path": path, "pattern": "a" })).await).as_deref(), Some(want));
    }
    // A link that the caller names is the caller's own path.
    assert_eq!(search(&client, json!({ "path": "own", "pattern": "needle" })).await.0, ["own:1:needle"]);
    fs::set_permissions(at("shut"), fs::Permissions::from_mode(0o755)).unwrap();
    client.cancel().await.unwrap();
}

/// WALK-04. Catches: a search by name that is taken for one in contents, and an empty answer that does not tell the difference.
#[tokio::test]
async fn searching_contents_is_told_from_searching_names() {
    let (_folder, ws) = folder(&[("needle.txt", b"nothing"), ("b.txt", b"a needle")]);
    let client = client(eras()[1].clone(), &[&ws]).await;
    assert_eq!(search(&client, json!({ "path": ".", "pattern": "needle" })).await.0, ["b.txt:1:a needle"]);
    let tools = serde_json::to_value(client.list_all_tools().await.unwrap()).unwrap();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == TOOL).unwrap();
    let description = tool["description"].as_str().unwrap();
    assert!(description.contains("inside files") && description.contains("names, use search_files"), "{description}");
    assert_eq!(tool["annotations"], json!({ "readOnlyHint": true, "openWorldHint": false }));
    assert_eq!(
        (&tool["inputSchema"]["required"], &tool["outputSchema"]["required"]),
        (&json!(["path", "pattern"]), &json!(["content"]))
    );
    let (lines, notice) = search(&client, json!({ "path": ".", "pattern": "a|need.*" })).await;
    assert!(lines == ["No matches found"] && notice.contains("set regex to true"), "{notice}");
    client.cancel().await.unwrap();
}

/// Catches: a page that loses or repeats a match, within a file or between two, at any of its limits.
#[tokio::test]
async fn pages_together_are_a_naive_search() {
    let (_folder, ws) = folder(&[]);
    let mut want = Vec::new();
    for number in 0..60 {
        let name = format!("d{}/{}f{number}.txt", number % 7, if number % 3 == 0 { "e/" } else { "" });
        let content: String =
            (0..number * 3).map(|line| format!("{line} {}\n", if (line + number) % 4 == 0 { "hit" } else { "miss" })).collect();
        let path = Path::new(&ws).join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &content).unwrap();
        want.extend(
            content
                .lines()
                .enumerate()
                .filter(|(_, line)| line.contains("hit"))
                .map(|(at, line)| format!("{name}:{}:{line}", at + 1)),
        );
    }
    let want: BTreeSet<String> = want.into_iter().collect();
    for (limit, most, context) in [("1048576", 7, 0), ("1048576", 100, 3), ("300", 1000, 0), ("150", 50, 2), ("1", 50, 0)] {
        let client = client(eras()[1].clone(), &["--max-text-bytes", limit, &ws]).await;
        let (all, count) =
            pages(&client, json!({ "path": ".", "pattern": "hit", "maxResults": most, "contextLines": context })).await;
        let hits: Vec<String> = all.iter().filter(|line| line.contains(":") && line.ends_with("hit")).cloned().collect();
        assert_eq!(hits.len(), want.len(), "{limit} {most}");
        assert_eq!(hits.into_iter().collect::<BTreeSet<_>>(), want);
        assert!(count > 5);
        let shown: Vec<&String> = all.iter().filter(|line| *line != "--").collect();
        assert_eq!(shown.len(), shown.iter().collect::<BTreeSet<_>>().len(), "no line twice");
        let (names, _) = pages(&client, json!({ "path": ".", "pattern": "hit", "maxResults": most, "filesOnly": true })).await;
        let files: BTreeSet<&str> = want.iter().map(|line| line.split(':').next().unwrap()).collect();
        assert!(names.len() == files.len() && names.iter().map(String::as_str).collect::<BTreeSet<_>>() == files);
        client.cancel().await.unwrap();
    }
}

/// Catches: what a rule hides or keeps from reading, searched all the same; and a search of a hidden file told from one of none.
#[tokio::test]
async fn rules_and_host_paths_hold() {
    let (_folder, ws) = folder(&[(".env", b"KEY needle"), ("seen/x", b"KEY needle"), ("open/y", b"needle")]);
    let client = client(eras()[0].clone(), &["--rule", ".env=none", "--rule", "seen=list", "--hide-host-paths", &ws]).await;
    for path in [".", ws.as_str(), "root://ws/"] {
        let answer = call(&client, TOOL, json!({ "path": path, "pattern": "needle" })).await;
        assert_eq!(lines(&answer), ["root://ws/open/y:1:needle"]);
        assert!(
            notice(&answer).contains("1 file may be listed but not read")
                && notice(&answer).contains("1 name is hidden by rules")
        );
        let told = serde_json::to_string(&answer).unwrap();
        assert!(!told.contains(&ws) && !told.contains("KEY"), "{told}");
    }
    for (path, want) in [(".env", "protected"), ("seen/x", "protected"), ("seen", "protected"), ("open/../.ENV", "protected")] {
        let answer = call(&client, TOOL, json!({ "path": path, "pattern": "needle" })).await;
        assert_eq!(code(&answer).as_deref(), Some(want), "{path}: {}", text(&answer));
    }
    let (lines, _) = search(&client, json!({ "path": format!("{ws}/open/y"), "pattern": "needle" })).await;
    assert_eq!(lines, ["root://ws/open/y:1:needle"]);
    client.cancel().await.unwrap();
}

/// Catches: a line without end held in memory, a file read beyond its call, and calls that no longer come to their turn.
#[test]
fn long_lines_and_endless_files_are_bounded_and_ended() {
    let (_folder, ws) = folder(&[("a-line", format!("{}needle", "x".repeat((1 << 20) - 6)).as_bytes()), ("small", b"needle")]);
    let at = |name: &str| Path::new(&ws).join(name);
    fs::write(at("b-long"), "y".repeat(100 << 20)).unwrap();
    fs::File::create(at("c-sparse")).unwrap().set_len(100 << 20).unwrap();
    let mut session = Session::start(&eras()[1], &["--max-seconds", "600", &ws]);
    let answer =
        session.ask("tools/call", json!({ "name": TOOL, "arguments": { "path": ".", "pattern": "needle", "contextLines": 20 } }));
    let told: Vec<&str> = answer["result"]["content"][0]["text"].as_str().unwrap().lines().collect();
    assert!(told.len() == 3 && told[0].starts_with("a-line:1:[") && told[0].ends_with("xneedle"), "{told:?}");
    assert_eq!(told[2], "small:1:needle");
    let notice = answer["result"]["content"][1]["text"].as_str().unwrap();
    assert!(notice.contains("1 binary file") && notice.contains("1 line is longer than 1048576 bytes"), "{notice}");
    if let Some(peak) = session.peak_memory() {
        assert!(peak < 64 << 10, "{peak} kB");
    }

    // Text without a NUL in its first block, and then more than any call can read.
    fs::write(at("endless"), "text\n".repeat(20_000)).unwrap();
    fs::write(at("endless"), "line of text\n".repeat(16 << 20)).unwrap();
    for id in 1..=16 {
        session.send(
            Some(id),
            "tools/call",
            json!({ "name": TOOL, "arguments": { "path": "endless", "pattern": "(text|line)[^a-z\\n]x", "regex": true } }),
        );
    }
    std::thread::sleep(Duration::from_millis(200));
    for id in 1..=16 {
        session.send(None, "notifications/cancelled", json!({ "requestId": id }));
    }
    let begin = Instant::now();
    let answer = session.ask("tools/call", json!({ "name": TOOL, "arguments": { "path": "small", "pattern": "needle" } }));
    assert_eq!(answer["result"]["content"][0]["text"], "small:1:needle");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    session.end();
}

/// Catches: a search that is answered with timeout and starts from its beginning for ever.
#[test]
fn a_search_over_its_time_goes_on_where_it_was() {
    let (_folder, ws) = folder(&[]);
    let content = "a line of text\n".repeat(1 << 20);
    for number in 0..8 {
        fs::write(Path::new(&ws).join(format!("{number}")), format!("{content}needle\n")).unwrap();
    }
    let mut session = Session::start(&eras()[1], &["--max-seconds", "4", &ws]);
    let (mut found, mut cuts) = (Vec::new(), 0);
    let mut arguments = json!({ "path": ".", "pattern": "(e|x|t)+\\b.*(needle|nothing)|needle", "regex": true });
    loop {
        let answer = session.ask("tools/call", json!({ "name": TOOL, "arguments": arguments }))["result"].clone();
        assert_ne!(answer["isError"], true, "{answer}");
        let told = answer["content"][0]["text"].as_str().unwrap();
        found.extend(told.lines().filter(|line| !line.starts_with("No matches")).map(str::to_owned));
        let Some((_, rest)) = answer["content"][1]["text"].as_str().and_then(|notice| notice.split_once("\"cursor\": \"")) else {
            break;
        };
        assert!(told != "No matches found", "a part is not the whole: {answer}");
        arguments["cursor"] = rest.split('"').next().unwrap().into();
        cuts += 1;
        assert!(cuts < 200, "no progress");
    }
    let want: Vec<String> = (0..8).map(|number| format!("{number}:1048577:needle")).collect();
    assert_eq!(found, want);
    if cuts == 0 {
        needs::not_met("this machine searches all of it within three seconds");
    }
    session.end();
}
