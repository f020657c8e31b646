//! What resources hold, on the wire, in both protocol eras: text and blobs, directories, and names with escapes.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use support::wire::{Session, refusal};
use support::{base, eras, workspace};

/// Catches: a kind that is taken from the name alone, lossy text, a mark or a line end that is lost, a film made of TypeScript.
#[test]
fn a_file_is_text_or_blob_by_its_bytes() {
    let (_folder, ws) = workspace();
    let files: &[(&str, &[u8], &str, bool)] = &[
        ("empty", b"", "text/plain", true),
        ("bom.txt", b"\xef\xbb\xbfhello\r\n", "text/plain", true),
        ("README", "Übersicht 音\u{202e}".as_bytes(), "text/plain", true),
        ("a.json", b"{}", "application/json", true),
        ("a.md", b"# a", "text/markdown", true),
        ("a.ts", b"let a = 1;", "text/plain", true),
        ("a.svg", b"<svg/>", "image/svg+xml", true),
        ("a.bin", b"text", "text/plain", true),
        ("fake.png", b"text", "text/plain", true),
        ("pixel.png", b"\x89PNG\r\n\x1a\n", "image/png", false),
        ("latin1.txt", b"\xe9", "text/plain", false),
        ("zeros.txt", b"a\0b", "text/plain", false),
        ("unknown", b"\xff", "application/octet-stream", false),
    ];
    for (name, bytes, ..) in files {
        fs::write(format!("{ws}/{name}"), bytes).unwrap();
    }
    for era in eras() {
        let mut session = Session::start(&era, &[&ws]);
        for (name, bytes, mime, is_text) in files {
            for uri in [format!("root://ws/{name}"), format!("ROOT://ws/./{}", name.replace('.', "%2e"))] {
                let answer = session.read(base(&ws), &uri);
                let want = match is_text {
                    true => json!({ "uri": uri, "mimeType": mime, "text": str::from_utf8(bytes).unwrap() }),
                    false => {
                        use base64::Engine;
                        let blob = base64::engine::general_purpose::STANDARD.encode(bytes);
                        json!({ "uri": uri, "mimeType": mime, "blob": blob })
                    }
                };
                assert_eq!(answer["result"]["contents"], json!([want]), "{answer}");
            }
        }
        session.end();
    }
}

/// Text has the limit of text and anything else that of media, whichever is larger.
#[test]
fn large_files_are_refused_with_advice() {
    let (_folder, ws) = workspace();
    for (name, content) in
        [("t5", "aaaaa"), ("t9", "aaaaaaaaa"), ("b5", "aaaa\0"), ("b9", "aaaaaaaa\0"), ("t20", &"a".repeat(20))]
    {
        fs::write(format!("{ws}/{name}"), content).unwrap();
    }
    fs::File::create(format!("{ws}/huge")).unwrap().set_len(8 << 30).unwrap();
    for era in eras() {
        for (text, media, taken) in [("5", "9", ["t5", "b5", "b9"]), ("9", "5", ["t5", "b5", "t9"])] {
            let mut session = Session::start(&era, &["--max-text-bytes", text, "--max-media-bytes", media, &ws]);
            for name in ["t5", "t9", "b5", "b9", "t20", "huge"] {
                let uri = format!("root://ws/{name}");
                let answer = session.read(base(&ws), &uri);
                if taken.contains(&name) {
                    assert!(answer["result"]["contents"][0]["mimeType"].is_string(), "{name} {answer}");
                    continue;
                }
                assert_eq!(refusal(&answer, &uri), (-32602, "too-large".into()));
                let advises = answer["error"]["message"].as_str().unwrap().contains("read_text_file");
                assert_eq!(advises, !name.starts_with('b'), "{answer}");
            }
            session.end();
        }
    }
}

/// Every line of a directory is a URI that leads to that entry. Catches: names that are shown and not escaped, or escaped twice.
#[test]
fn what_a_directory_shows_can_be_read() {
    let (_folder, ws) = workspace();
    let nasty = Path::new(&ws).join("nasty # 音");
    let names: Vec<&[u8]> = vec![
        b"a b",
        b" ",
        b"#",
        b"?x=y",
        b"%",
        b"%41",
        b"%2e%2e",
        b"new\nline",
        b"a\xffb",
        "\u{202e}txt".as_bytes(),
        b"back\\slash",
        b"~",
        b"root:",
        b"...",
        b"a&b;c'd\"e",
    ];
    fs::create_dir_all(nasty.join("d [1]")).unwrap();
    for name in &names {
        fs::write(nasty.join(OsStr::from_bytes(name)), name).unwrap();
    }
    symlink("d [1]", nasty.join("link")).unwrap();
    fs::write(nasty.join("d [1]/deep"), "deep").unwrap();
    for era in eras() {
        let mut session = Session::start(&era, &[&ws]);
        let mut shown = Vec::new();
        let mut todo = vec!["root://ws/".to_owned()];
        while let Some(dir) = todo.pop() {
            let answer = session.read(base(&ws), &dir);
            let [content] = &answer["result"]["contents"].as_array().unwrap_or_else(|| panic!("{dir} {answer}"))[..] else {
                panic!("{answer}")
            };
            assert_eq!((&content["uri"], &content["mimeType"]), (&json!(dir), &json!("inode/directory")));
            let lines: Vec<_> = content["text"].as_str().unwrap().lines().map(str::to_owned).collect();
            assert!(
                lines.iter().all(|line| line.starts_with(&dir) && line.is_ascii() && !line.contains([' ', '#', '?'])),
                "{lines:?}"
            );
            let (dirs, files): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.ends_with('/'));
            todo.extend(dirs);
            shown.extend(files);
        }
        let mut contents = Vec::new();
        for uri in shown.iter().filter(|uri| uri.starts_with("root://ws/nasty")) {
            let content = session.read(base(&ws), uri)["result"]["contents"][0].clone();
            contents.push(content.get("blob").or(content.get("text")).unwrap().as_str().unwrap().to_owned());
        }
        let listed_link = "root://ws/nasty%20%23%20%E9%9F%B3/link/deep\n";
        let mut want: Vec<_> = names.iter().filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect();
        want.extend(["Yf9i".to_owned(), "deep".to_owned(), listed_link.to_owned()]);
        contents.sort();
        want.sort();
        assert_eq!(contents, want);
        session.end();
    }
}

/// Catches: a listing that is cut or has names hidden and does not say so, or says it where a URI is expected.
#[test]
fn what_a_directory_leaves_out_is_told() {
    let (_folder, ws) = workspace();
    fs::create_dir(format!("{ws}/many")).unwrap();
    fs::create_dir(format!("{ws}/listed")).unwrap();
    for number in 0..20 {
        fs::write(format!("{ws}/many/f{number:02}"), "").unwrap();
    }
    for name in ["listed/a", "listed/b.key"] {
        fs::write(format!("{ws}/{name}"), "SECRET").unwrap();
    }
    for era in eras() {
        for (arguments, uri, lines, notice) in [
            (["--max-entries", "5"], "root://ws/many/", 5, "[Cut at the limit of 5 entries; the directory has more.]"),
            (["--max-text-bytes", "50"], "root://ws/many", 2, "[Cut at the limit of 50 bytes; "),
            (["--max-entries", "50"], "root://ws/listed", 1, "[1 name is hidden by rules]"),
        ] {
            let rules = ["--rule", "*.key=none", "--rule", "listed=list", &ws];
            let mut session = Session::start(&era, &[&arguments[..], &rules].concat());
            let contents = session.read(base(&ws), uri)["result"]["contents"].clone();
            let text = contents[0]["text"].as_str().unwrap();
            assert_eq!(text.lines().count(), lines, "{contents}");
            assert!(text.lines().all(|line| line.starts_with("root://ws/")) && !text.contains(".key"), "{text}");
            assert!(contents[1]["text"].as_str().unwrap().starts_with(notice), "{contents}");
            session.end();
        }
    }
}

/// ROOTS-06, in pairs: a well-formed escape is decoded once; a lone percent sign is refused, never doubled or dropped.
#[test]
fn roots_06_escapes_are_decoded_once() {
    let (_folder, ws) = workspace();
    let names = ["A B.md", "A%20B.md", "50%.md", "50%25.md", "a+b.md"];
    for name in names {
        fs::write(format!("{ws}/{name}"), name).unwrap();
    }
    for era in eras() {
        let mut session = Session::start(&era, &[&ws]);
        for (uri, name) in [
            ("A%20B.md", "A B.md"),
            ("A B.md", "A B.md"),
            ("A%2520B.md", "A%20B.md"),
            ("50%25.md", "50%.md"),
            ("50%2525.md", "50%25.md"),
            ("a+b.md", "a+b.md"),
            ("a%2Bb.md", "a+b.md"),
        ] {
            let answer = session.read(base(&ws), &format!("root://ws/{uri}"));
            assert_eq!(answer["result"]["contents"][0]["text"], name, "{uri}");
        }
        for uri in ["root://ws/50%.md", "root://ws/50%2", "root://ws/%zz"] {
            let answer = session.read(base(&ws), uri);
            assert_eq!(refusal(&answer, uri), (-32602, "invalid-uri".into()));
            assert!(answer["error"]["message"].as_str().unwrap().contains("percent sign"), "{answer}");
        }
        session.end();
    }
}
