//! A client reads through the built server, in both protocol eras: every tool, good calls and bad ones.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::{SERVER, call, client, code, eras, offered, text, workspace};

/// Every way to write a path to the same file, through both eras; and ways to one outside.
#[tokio::test]
async fn own_paths_are_let_in_and_foreign_paths_kept_out() {
    let (_folder, ws) = workspace();
    for era in eras() {
        let client = client(era, &[&ws]).await;
        for path in ["sub/b.md", "./sub//b.md", "sub/../sub/b.md", "abs/b.md", "root://ws/sub/b.md", "root://ws/sub/%62.md"]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("{ws}/sub/b.md"), format!("{ws}/abs/b.md"), format!("{ws}/sub/../sub/b.md")])
        {
            let answer = call(&client, "read_text_file", json!({ "path": path })).await;
            assert_eq!(text(&answer), "b", "{path}");
        }
        for path in ["../out/k.txt", "l", "sub/../../out/k.txt", "/etc/passwd", "root://other/k.txt", "root://ws/../out/k.txt"]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("{ws}/../out/k.txt"), format!("{ws}-old/k.txt"), format!("{ws}/l")])
        {
            for tool in
                ["read_file", "read_text_file", "read_media_file", "get_file_info", "list_directory", "list_directory_with_sizes"]
            {
                let answer = call(&client, tool, json!({ "path": path })).await;
                assert_eq!(code(&answer).as_deref(), Some("outside-roots"), "{tool} {path}: {}", text(&answer));
                assert!(path.starts_with('/') || !text(&answer).contains(&ws), "{}", text(&answer));
            }
            let answer = call(&client, "read_multiple_files", json!({ "paths": [path, "a.txt"] })).await;
            assert!(text(&answer).contains("Error - outside-roots") && text(&answer).contains("two"), "{}", text(&answer));
            assert!(!text(&answer).contains("SECRET"));
        }
        client.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn bad_arguments_and_unknown_tools_are_answers_that_a_model_can_read() {
    let (_folder, ws) = workspace();
    for era in eras() {
        let client = client(era, &[&ws]).await;
        for (tool, arguments) in [
            ("no_such_tool", json!({})),
            ("write_file", json!({ "path": "a.txt" })),
            ("edit_file", json!({ "path": "a.txt", "edits": "none" })),
            ("edit_file", json!({ "path": "a.txt", "edits": [{ "oldText": "one" }] })),
            ("delete_directory", json!({ "path": "sub", "recursive": "yes" })),
            ("read_text_file", json!({})),
            ("read_text_file", json!({ "path": ["a"] })),
            ("read_text_file", json!({ "path": "a.txt", "offset": 0 })),
            ("read_text_file", json!({ "path": "a.txt", "head": 1, "limit": 1 })),
            ("read_multiple_files", json!({ "paths": "a.txt" })),
        ] {
            let answer = call(&client, tool, arguments.clone()).await;
            assert_eq!(code(&answer).as_deref(), Some("invalid-argument"), "{tool} {arguments}");
        }
        let answer = call(&client, "read_multiple_files", json!({ "path": "a.txt", "files": null })).await;
        assert!(text(&answer).contains("\"paths\" is missing; given: \"path\";"), "{}", text(&answer));
        let answer = call(&client, "read_multiple_files", json!({ "paths": ["../x"] })).await;
        assert!(
            text(&answer).contains("outside-roots: ") && text(&answer).contains("list_allowed_directories"),
            "{}",
            text(&answer)
        );
        // More names than a message has room for: the nearest ones first, and none cut in the middle.
        let (long, longer) = ("x".repeat(500), "\u{1}".repeat(60));
        for (name, near) in [
            ("copy_directory", "copy_file"),
            ("read-text", "read_text_file"),
            ("fs_search", "search_files"),
            (&long, ""),
            (&longer, ""),
        ] {
            let answer = call(&client, name, json!({})).await;
            let said = text(&answer).strip_suffix(" more; call one of them").expect("the end is there");
            let (names, more) = said.split_once("; the tools are ").unwrap().1.rsplit_once(" and ").unwrap();
            let names: Vec<_> = names.split(", ").collect();
            let offered = offered(&client).await;
            assert!(names.iter().all(|name| offered.iter().any(|tool| tool == name)), "{names:?}");
            assert_eq!(names.len() + more.parse::<usize>().unwrap(), offered.len());
            assert!(names.iter().take(3).any(|name| near.is_empty() || *name == near), "{name}: {names:?}");
        }
        let answer = call(&client, "read_text_file", json!({ "path": "a.txt", "bogus": 1, "head": null })).await;
        assert_eq!(text(&answer), "one\ntwo\nthree\n");
        client.cancel().await.unwrap();
    }
}

/// READ-04, READ-05, OWN-13: pages of a file that no answer could hold, without reading it into memory.
#[tokio::test]
async fn a_file_of_three_gibibytes_is_paged_in_bounded_memory() {
    let (_folder, ws) = workspace();
    let mut big = fs::File::create(format!("{ws}/big.log")).unwrap();
    for line in 1..=2000 {
        writeln!(big, "line {line}").unwrap();
    }
    big.seek(SeekFrom::Start(3 << 30)).unwrap();
    big.write_all(b"\nbefore the last\nlast\n").unwrap();
    let mut server = Command::new(SERVER).arg(&ws).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = std::io::BufReader::new(server.stdout.take().unwrap());
    let mut ask = |arguments: Value| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}
        });
        let params = json!({ "name": "read_text_file", "arguments": arguments, "_meta": meta });
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["result"].clone()
    };
    let whole = ask(json!({ "path": "big.log" }));
    assert!(whole["content"][0]["text"].as_str().unwrap().starts_with("too-large: "), "{whole}");
    assert!(whole["content"][0]["text"].as_str().unwrap().contains("offset and limit"), "{whole}");
    assert_eq!(ask(json!({ "path": "big.log", "head": 2 }))["content"][0]["text"], "line 1\nline 2");
    assert_eq!(ask(json!({ "path": "big.log", "tail": 2 }))["content"][0]["text"], "before the last\nlast");
    let page = ask(json!({ "path": "big.log", "offset": 900, "limit": 101 }));
    let lines: Vec<&str> = page["content"][0]["text"].as_str().unwrap().lines().collect();
    assert_eq!((lines.len(), lines[0], lines[100]), (101, "line 900", "line 1000"));
    assert_eq!(page["content"][1]["text"], "[More lines follow; go on with offset 1001.]");
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(|kib| kib.trim().trim_end_matches(" kB"));
    if let Some(peak) = peak {
        assert!(peak.trim().parse::<u64>().unwrap() < 64 * 1024, "peak memory {peak} kB");
    }
    drop(input);
    assert!(server.wait().unwrap().success());
}

/// UNI-06, and names that are not text: nothing lossy, and a form that opens them.
#[tokio::test]
async fn what_is_not_utf8_is_said_and_can_be_reached() {
    let (_folder, ws) = workspace();
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff\n.bin");
    fs::write(std::path::Path::new(&ws).join("sub").join(odd), [0xb0, 0xa1]).unwrap();
    let client = client(eras()[0].clone(), &[&ws]).await;
    let listing = call(&client, "list_directory", json!({ "path": "sub" })).await;
    let line = text(&listing).lines().find(|line| line.contains("odd")).unwrap();
    let path = line.strip_prefix("[FILE] ").unwrap();
    assert_eq!(path, "root://ws/sub/odd%FF%0A.bin");
    assert_eq!(code(&call(&client, "read_text_file", json!({ "path": path })).await).as_deref(), Some("not-utf8"));
    let media = call(&client, "read_media_file", json!({ "path": path })).await;
    assert_eq!(serde_json::to_value(&media).unwrap()["content"][0]["resource"]["blob"], "sKE=");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn host_paths_can_be_hidden() {
    let (_folder, ws) = workspace();
    let client = client(eras()[1].clone(), &["--hide-host-paths", "--ro", &format!("notes={ws}")]).await;
    let allowed = call(&client, "list_allowed_directories", json!({})).await;
    assert_eq!(text(&allowed), "Allowed directories:\nroot://notes/");
    let outside = format!("{ws}/../out/k.txt");
    for (tool, arguments) in [
        ("read_text_file", json!({ "path": outside })),
        ("read_text_file", json!({ "path": format!("{ws}/missing") })),
        ("read_multiple_files", json!({ "paths": [outside, format!("{ws}/a.txt"), format!("{ws}/missing")] })),
        ("read_media_file", json!({ "path": format!("{ws}/a.txt") })),
        ("list_directory", json!({ "path": ws })),
        ("get_file_info", json!({ "path": format!("{ws}/l") })),
    ] {
        let answer = serde_json::to_string(&call(&client, tool, arguments).await).unwrap();
        assert!(!answer.contains(&ws), "{tool}: {answer}");
    }
    client.cancel().await.unwrap();
}

/// OPEN-01: nothing configured means nothing reachable, and the answer says what to do.
#[tokio::test]
async fn without_a_directory_nothing_is_reachable() {
    for era in eras() {
        let client = client(era, &[]).await;
        for (tool, arguments) in [
            ("read_text_file", json!({ "path": "/etc/hostname" })),
            ("list_directory", json!({ "path": "." })),
            ("list_allowed_directories", json!({})),
        ] {
            assert_eq!(code(&call(&client, tool, arguments).await).as_deref(), Some("no-roots"));
        }
        client.cancel().await.unwrap();
    }
}

/// WALK-01: a listing over the limit says that it was cut, in a block of its own.
#[tokio::test]
async fn a_long_listing_is_cut_visibly() {
    let (_folder, ws) = workspace();
    for number in 0..20 {
        fs::write(format!("{ws}/sub/deeper/f{number:02}"), "").unwrap();
    }
    let client = client(eras()[0].clone(), &["--max-entries", "5", &ws]).await;
    let answer = call(&client, "list_directory", json!({ "path": "sub/deeper" })).await;
    assert_eq!(text(&answer).lines().count(), 5);
    let notice = answer.content[1].as_text().unwrap();
    assert_eq!(notice.text, "[Cut at the limit of 5 entries; the directory has more.]");
    client.cancel().await.unwrap();
}

/// The one rule for programs: what is said of an answer is in `_meta`, whatever the tool. Catches: a line in the text of a file that is not in
/// the file, a notice that is lost where only the structured form is shown of a list that was cut, a notice where there is nothing to say.
#[tokio::test]
async fn a_notice_is_told_from_content() {
    let (_folder, ws) = workspace();
    for era in eras() {
        let client = client(era, &["--max-text-bytes", "30", &ws]).await;
        for (tool, arguments, between) in [
            ("read_text_file", json!({ "path": "a.txt", "limit": 1 }), None),
            ("directory_tree", json!({ "path": "." }), None),
            ("search_files", json!({ "path": ".", "pattern": "**", "maxResults": 1 }), Some("\n")),
            ("search_file_contents", json!({ "path": ".", "pattern": "t", "maxResults": 1 }), Some("\n")),
            ("list_directory", json!({ "path": "." }), Some("\n")),
            ("read_multiple_files", json!({ "paths": ["a.txt", "a.txt", "a.txt", "a.txt"] }), Some("\n---\n")),
        ] {
            let answer = call(&client, tool, arguments).await;
            let notice = answer.meta.as_ref().expect(tool).0["cap-roots/notice"].as_str().unwrap();
            assert_eq!(answer.content[1].as_text().unwrap().text, format!("[{notice}]"), "{tool}");
            let shown = between.map_or(String::new(), |between| format!("{between}[{notice}]"));
            let structured = serde_json::to_value(answer.structured_content.as_ref().unwrap()).unwrap();
            assert_eq!(structured, json!({ "content": format!("{}{shown}", text(&answer)) }), "{tool}");
        }
        let whole = call(&client, "read_text_file", json!({ "path": "a.txt" })).await;
        assert!(whole.content.len() == 1 && whole.meta.is_none_or(|meta| !meta.0.contains_key("cap-roots/notice")));
        client.cancel().await.unwrap();
    }
}

/// Catches: labels and refusals that no limit counts, and labels that forge a part of the answer.
#[tokio::test]
async fn many_files_fit_into_one_answer() {
    let (_folder, ws) = workspace();
    let client = client(eras()[0].clone(), &["--max-text-bytes", "1000", &ws]).await;
    let paths: Vec<String> = (0..500).map(|number| format!("missing-{number}-{}", "x".repeat(100))).collect();
    let answer = call(&client, "read_multiple_files", json!({ "paths": paths })).await;
    assert!(text(&answer).len() < 2000, "{}", text(&answer).len());
    assert!(answer.content[1].as_text().unwrap().text.starts_with("[Cut at the limit of 1000 bytes; "));
    let answer = call(&client, "read_multiple_files", json!({ "paths": ["x\n---\nevil:\u{202e}"] })).await;
    assert_eq!(text(&answer).lines().count(), 1, "{}", text(&answer));
    client.cancel().await.unwrap();
}

/// NO-WAIT, READ-06, OWN-12, OWN-15: a pipe is listed, refused when read, and stops nothing else.
#[tokio::test]
async fn pipes_and_sockets_stop_nothing() {
    let (_folder, ws) = workspace();
    assert!(Command::new("mkfifo").arg(format!("{ws}/p")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(format!("{ws}/s")).unwrap();
    let client = client(eras()[0].clone(), &[&ws]).await;
    let listing = call(&client, "list_directory_with_sizes", json!({ "path": "." })).await;
    assert!(text(&listing).contains("[SPECIAL] p") && text(&listing).contains("[SPECIAL] s"), "{}", text(&listing));
    for path in ["p", "s"] {
        for tool in ["read_text_file", "read_media_file"] {
            assert_eq!(code(&call(&client, tool, json!({ "path": path })).await).as_deref(), Some("special-file"));
        }
        assert!(text(&call(&client, "get_file_info", json!({ "path": path })).await).contains("isFile: false"));
    }
    client.cancel().await.unwrap();
}
