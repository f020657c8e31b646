//! Resources on the wire, in both protocol eras: which there are, and how a refusal looks.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::wire::{Session, refusal};
use support::{base, eras, workspace};

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
            let file = session.read(base(&ws), "root://ws/sub/b.md");
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
                let answer = session.read(base(&ws), uri);
                assert_eq!(refusal(&answer, uri), (not_found, code.into()), "{uri}");
            }
            let outside = |session: &mut Session, uri: &str| {
                let answer = session.read(base(&ws), uri);
                if hide {
                    assert!(!answer.to_string().contains(base(&ws)), "{answer}");
                    assert!(answer["error"].get("data").is_none(), "{answer}");
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
        let answer = none.read(base(&ws), "root://ws/a.txt");
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
            let answer = session.read(base(&ws), uri);
            assert_eq!(refusal(&answer, uri), (-32602, code.into()), "{uri}");
            assert!(!answer.to_string().contains("SECRET"));
        }
        let answer = session.read(base(&ws), "root://gone/");
        assert_eq!(refusal(&answer, "root://gone/"), (-32603, "root-absent".into()));
        session.end();
    }
}
