//! Resources on the wire, in both protocol eras: which there are, what they hold, and how a refusal looks.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::wire::Session;
use support::{eras, workspace};

/// The answer to a read. It tells no host path that the URI does not hold.
fn read(session: &mut Session, base: &str, uri: &str) -> Value {
    let answer = session.ask("resources/read", json!({ "uri": uri }));
    assert!(uri.contains(base) || !answer.to_string().contains(base), "{answer}");
    answer
}

/// What a refused read says: JSON-RPC's code and ours, which is in the text as well.
fn refusal(answer: &Value, uri: &str) -> (i64, String) {
    let (error, code) = (&answer["error"], answer["error"]["data"]["code"].as_str().unwrap_or_else(|| panic!("{answer}")));
    assert!(error["message"].as_str().unwrap().starts_with(&format!("{code}: ")), "{answer}");
    assert_eq!(error["data"]["uri"], cap_roots::escape(uri), "{answer}");
    (error["code"].as_i64().unwrap(), code.to_owned())
}

fn base(ws: &str) -> &str {
    ws.strip_suffix("/ws").unwrap()
}

/// Catches: a host path in a name or a description, a list that differs under `--hide-host-paths`, offers that are not kept, cursors
/// that are not looked at, hints on caching where the protocol has none.
#[test]
fn roots_are_listed_with_a_template() {
    let (_folder, ws) = workspace();
    let docs = format!("docs={}/out", base(&ws));
    for era in eras() {
        for hide in [&[][..], &["--hide-host-paths"]] {
            let mut session = Session::start(&era, &[hide, &[&ws, "--ro", &docs]].concat());
            assert_eq!(session.info["result"]["capabilities"]["resources"], json!({}));
            let list = session.ask("resources/list", json!({}));
            let root = |name: &str, can: &str| {
                json!({
                    "uri": format!("root://{name}/"), "name": name, "title": format!("Directory {name}"),
                    "description": format!("Directory whose files can be {can}. Reading it gives the URIs of what is in it."),
                    "mimeType": "inode/directory"
                })
            };
            assert_eq!(list["result"]["resources"], json!([root("ws", "read and changed"), root("docs", "read")]));
            assert!(list["result"].get("nextCursor").is_none());
            let templates = session.ask("resources/templates/list", json!({}));
            assert_eq!(templates["result"]["resourceTemplates"].as_array().unwrap().len(), 1);
            assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "root://{name}/{+path}");
            let file = read(&mut session, base(&ws), "root://ws/sub/b.md");
            for answer in [&list, &templates, &file] {
                assert!(!answer.to_string().contains(base(&ws)), "{answer}");
                for hint in ["ttlMs", "cacheScope", "resultType"] {
                    assert_eq!(answer["result"].get(hint).is_some(), session.is_modern(), "{answer}");
                }
            }
            for method in ["resources/list", "resources/templates/list"] {
                for cursor in ["", "1", "cm9vdDovL2dvbmUv"] {
                    let error = session.ask(method, json!({ "cursor": cursor }))["error"].clone();
                    assert_eq!((&error["code"], &error["data"]), (&json!(-32602), &json!({ "code": "stale-cursor" })));
                    assert!(error["message"].as_str().unwrap().starts_with("stale-cursor: "), "{error}");
                }
            }
            assert_eq!(session.ask("resources/subscribe", json!({ "uri": "root://ws/" }))["error"]["code"], -32601);
            session.end();
        }
    }
}

/// Catches: refusals that fill the operator's log.
#[test]
fn refused_reads_are_not_logged() {
    let (_folder, ws) = workspace();
    let meta =
        json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let params = json!({ "uri": "root://ws/none", "_meta": meta });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
    let mut server = Command::new(support::SERVER);
    server.arg(&ws).env_remove("RUST_LOG").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = server.spawn().unwrap();
    writeln!(server.stdin.take().unwrap(), "{request}").unwrap();
    let output = server.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("not-found"));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

/// Catches: a second page that is the first one again, a list that ends with its first page.
#[test]
fn many_roots_are_listed_in_pages() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..205).map(|number| format!("r{number:03}")).collect();
    let dirs: Vec<String> = names.iter().map(|name| folder.path().join(name).to_str().unwrap().to_owned()).collect();
    dirs.iter().for_each(|dir| fs::create_dir(dir).unwrap());
    for era in eras() {
        let mut session = Session::start(&era, &dirs.iter().map(String::as_str).collect::<Vec<_>>());
        let (mut seen, mut pages, mut params) = (Vec::new(), Vec::new(), json!({}));
        while let Some(request) = (!params.is_null()).then(|| params.take()) {
            let page = session.ask("resources/list", request)["result"].clone();
            let resources = page["resources"].as_array().unwrap();
            seen.extend(resources.iter().map(|root| root["name"].as_str().unwrap().to_owned()));
            pages.push(resources.len());
            params = page.get("nextCursor").map_or(Value::Null, |cursor| json!({ "cursor": cursor }));
        }
        assert_eq!((pages, &seen), (vec![100, 100, 5], &names));
        session.end();
    }
}

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
                let answer = read(&mut session, base(&ws), &uri);
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
                let answer = read(&mut session, base(&ws), &uri);
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

/// Catches: a code or a word that tells what is outside from what is not there, and host paths or relative text as resources.
#[test]
fn what_is_not_there_and_what_is_outside_answer_alike() {
    let (_folder, ws) = workspace();
    let out = format!("{}/out", base(&ws));
    symlink(format!("{out}/none"), format!("{ws}/dangling")).unwrap();
    symlink(&out, format!("{ws}/dir")).unwrap();
    let (host, file) = (format!("{ws}/a.txt"), format!("file://{ws}/a.txt"));
    let (shared, slash) = (format!("file://localhost{ws}/a.txt"), format!("root:{ws}/a.txt"));
    for era in eras() {
        for arguments in [&[&*ws][..], &["--hide-host-paths", &ws]] {
            let hide = arguments.len() > 1;
            let mut session = Session::start(&era, arguments);
            let not_found = session.not_found();
            for (uri, code) in [
                ("root://ws/none", "not-found"),
                ("root://ws/none/none", "not-found"),
                ("root://other/a.txt", "outside-roots"),
                ("root://out/k.txt", "outside-roots"),
                ("root://ws/l", "outside-roots"),
                ("root://ws/dangling", "outside-roots"),
                ("root://ws/dir", "outside-roots"),
                ("root://ws/dir/", "outside-roots"),
                ("root://ws/dir/k.txt", "outside-roots"),
                ("root://ws/dir/none", "outside-roots"),
                ("root://ws/../out/k.txt", "outside-roots"),
                ("root://ws/../out/none", "outside-roots"),
                ("root://ws/..", "outside-roots"),
                ("root://ws/sub/../../ws/a.txt", "outside-roots"),
            ] {
                let answer = read(&mut session, base(&ws), uri);
                assert_eq!(refusal(&answer, uri), (not_found, code.into()), "{uri}");
            }
            let outside = |session: &mut Session, uri: &str| {
                let answer = read(session, base(&ws), uri);
                if hide {
                    assert!(!answer.to_string().contains(base(&ws)), "{answer}");
                    assert_eq!(answer["error"]["data"], json!({ "code": "outside-roots" }));
                } else {
                    assert_eq!(refusal(&answer, uri), (not_found, "outside-roots".into()), "{uri}");
                }
                assert_eq!(answer["error"]["code"], not_found);
                answer["error"]["message"].as_str().unwrap().replace(&format!("\"{uri}\""), "the path")
            };
            let want = outside(&mut session, "/etc/passwd");
            for uri in
                ["a.txt", "", ".", "~", "ws/a.txt", "https://ws/a.txt", "root:ws/a.txt", &host, &file, &shared, &slash, &out]
            {
                assert_eq!(outside(&mut session, uri), want, "{uri}");
            }
            session.end();
        }
        let mut none = Session::start(&era, &[]);
        assert_eq!(none.ask("resources/list", json!({}))["result"]["resources"], json!([]));
        let answer = read(&mut none, base(&ws), "root://ws/a.txt");
        assert_eq!(refusal(&answer, "root://ws/a.txt"), (none.not_found(), "no-roots".into()));
        none.end();
    }
}

/// Faults of the input, and of the disk. A pipe is refused at once: the session has a deadline.
#[test]
fn other_refusals_have_their_codes() {
    let (_folder, ws) = workspace();
    assert!(Command::new("mkfifo").arg(format!("{ws}/pipe")).status().unwrap().success());
    symlink("loop", format!("{ws}/loop")).unwrap();
    for name in [".env", "listed"] {
        fs::create_dir(format!("{ws}/{name}")).unwrap();
        fs::write(format!("{ws}/{name}/key"), "SECRET").unwrap();
    }
    symlink(".env/key", format!("{ws}/harmless")).unwrap();
    for era in eras() {
        let gone = format!("{}/gone", base(&ws));
        fs::create_dir_all(&gone).unwrap();
        let mut session = Session::start(&era, &["--rule", ".env=none", "--rule", "listed=list", &ws, &gone]);
        fs::remove_dir(&gone).unwrap();
        for (uri, code) in [
            ("root://ws/pipe", "special-file"),
            ("root://ws/loop", "symlink-loop"),
            ("root://ws/a.txt/", "not-a-directory"),
            ("root://ws/.env", "protected"),
            ("root://ws/.env/", "protected"),
            ("root://ws/.ENV/key", "protected"),
            ("root://ws/.env/none", "protected"),
            ("root://ws/harmless", "protected"),
            ("root://ws/listed/key", "protected"),
            ("root://ws/..%2fout%2fk.txt", "invalid-uri"),
            ("root://ws/sub%2Fb.md", "invalid-uri"),
            ("root://ws/%2e%2e/out/k.txt", "invalid-uri"),
            ("root://ws/.%2E/out/k.txt", "invalid-uri"),
            ("root://ws/%2e/a.txt", "invalid-uri"),
            ("root://ws//etc/passwd", "invalid-uri"),
            ("root:///a.txt", "invalid-uri"),
            ("root://WS/a.txt", "invalid-uri"),
            ("root://user@ws/a.txt", "invalid-uri"),
            ("root://ws/a.txt?x", "invalid-uri"),
            ("root://ws/a.txt#x", "invalid-uri"),
            ("root://ws/a%00.txt", "invalid-uri"),
            ("root://ws/a\n\u{202e}", "invalid-uri"),
        ] {
            let answer = read(&mut session, base(&ws), uri);
            assert_eq!(refusal(&answer, uri), (-32602, code.into()), "{uri}");
            assert!(!answer.to_string().contains("SECRET"));
        }
        let answer = read(&mut session, base(&ws), "root://gone/");
        assert_eq!(refusal(&answer, "root://gone/"), (-32603, "root-absent".into()));
        session.end();
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
            let answer = read(&mut session, base(&ws), &format!("root://ws/{uri}"));
            assert_eq!(answer["result"]["contents"][0]["text"], name, "{uri}");
        }
        for uri in ["root://ws/50%.md", "root://ws/50%2", "root://ws/%zz"] {
            let answer = read(&mut session, base(&ws), uri);
            assert_eq!(refusal(&answer, uri), (-32602, "invalid-uri".into()));
            assert!(answer["error"]["message"].as_str().unwrap().contains("percent sign"), "{answer}");
        }
        session.end();
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
            let answer = read(&mut session, base(&ws), &dir);
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
            let content = read(&mut session, base(&ws), uri)["result"]["contents"][0].clone();
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
            let contents = read(&mut session, base(&ws), uri)["result"]["contents"].clone();
            let text = contents[0]["text"].as_str().unwrap();
            assert_eq!(text.lines().count(), lines, "{contents}");
            assert!(text.lines().all(|line| line.starts_with("root://ws/")) && !text.contains(".key"), "{text}");
            assert!(contents[1]["text"].as_str().unwrap().starts_with(notice), "{contents}");
            session.end();
        }
    }
}
