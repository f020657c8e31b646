//! Client roots: what a client names as its roots narrows what the operator granted, or, where the operator says so, is the grant.
//!
//! Catches: roots of a client that replace or widen the operator's, a withdrawn root that stays in force, a list that is lost by one bad
//! entry, a fallback to wider where nothing is usable.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rmcp::service::ClientLifecycleMode;
use serde_json::json;
use support::roots::{Rooted, rooted};
use support::{SERVER, call, code, eras, run, text};

/// `ws`, `ws2`, `out` with a file each, links between them, and a folder whose name needs escapes.
fn folders() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    for dir in ["ws/sub", "ws2", "out", "ws-old", "my dir é"] {
        fs::create_dir_all(base.join(dir)).unwrap();
    }
    for file in ["ws/a.txt", "ws/sub/b.txt", "ws2/a.txt", "out/k.txt", "ws-old/a.txt", "my dir é/a.txt"] {
        fs::write(base.join(file), file).unwrap();
    }
    symlink("ws", base.join("wslink")).unwrap();
    symlink("../out", base.join("ws/leads-out")).unwrap();
    (folder, base.to_str().unwrap().to_owned())
}

fn uri(path: &str) -> String {
    format!("file://{}", path.replace(' ', "%20").replace('é', "%C3%A9"))
}

/// What a client that sends these roots gets for reading a path: the content or the code.
async fn read(client: &Rooted, path: &str) -> String {
    let answer = call(client, "read_text_file", json!({ "path": path })).await;
    code(&answer).unwrap_or_else(|| text(&answer).to_owned())
}

fn is_legacy(era: &ClientLifecycleMode) -> bool {
    matches!(era, ClientLifecycleMode::Initialize)
}

/// ROOTS-01, ROOTS-02, ROOTS-03, ROOTS-04, OWN-02: the operator's list stands whatever the client sends, and is not even asked for more.
#[tokio::test]
async fn by_default_the_client_is_not_asked() {
    let (_folder, base) = folders();
    for era in eras() {
        let sent = [uri(&base), "file:///".to_owned(), uri(&format!("{base}/ws"))];
        let client = rooted(era, &[&format!("{base}/ws2")], &sent).await;
        assert_eq!(read(&client, "a.txt").await, "ws2/a.txt");
        assert_eq!(read(&client, &format!("{base}/ws2/a.txt")).await, "ws2/a.txt");
        for path in [format!("{base}/ws/a.txt"), format!("{base}/out/k.txt"), "/etc/hostname".to_owned()] {
            assert_eq!(read(&client, &path).await, "outside-roots");
        }
        let listed = call(&client, "list_allowed_directories", json!({})).await;
        assert_eq!(text(&listed), format!("Allowed directories:\n{base}/ws2"));
        assert_eq!(client.asked(), 0);
        client.close().await;
    }
}

/// The same requests where roots narrow: more than was granted, in each way that a client can say it.
#[tokio::test]
async fn asking_for_more_adds_nothing() {
    let (_folder, base) = folders();
    for era in eras() {
        for (sent, reached) in [
            // Above: all that was granted and no more.
            ("", "ws/a.txt"),
            ("/.", "refused"),
            ("/ws", "ws/a.txt"),
            ("/ws/", "ws/a.txt"),
            ("/wslink", "refused"),
            // Beside, and by links.
            ("/ws-old", "refused"),
            ("/out", "refused"),
            ("/ws/leads-out", "refused"),
            ("/ws/../out", "refused"),
            ("/ws/%2e%2e/out", "refused"),
            ("/ws%2f..%2fout", "refused"),
            ("/missing", "refused"),
        ] {
            let arguments = ["--client-roots", "narrow", &format!("{base}/ws")];
            let client = rooted(era.clone(), &arguments, &[format!("file://{base}{sent}")]).await;
            let want = if reached == "refused" { "no-roots" } else { reached };
            assert_eq!(read(&client, &format!("{base}/ws/a.txt")).await, want, "{sent}");
            for path in ["/out/k.txt", "/ws-old/a.txt", "/ws/leads-out/k.txt", "/ws2/a.txt"] {
                let outcome = read(&client, &format!("{base}{path}")).await;
                assert!(["outside-roots", "no-roots"].contains(&outcome.as_str()), "{sent} {path}: {outcome}");
            }
            client.close().await;
        }
        // `/` as a hint is above everything, and still everything is what was granted.
        let client = rooted(era, &["--client-roots", "narrow", &format!("{base}/ws")], &["file:///".to_owned()]).await;
        assert_eq!(read(&client, "a.txt").await, "ws/a.txt");
        assert_eq!(read(&client, "/etc/hostname").await, "outside-roots");
        client.close().await;
    }
}

/// HINTS-NARROW in both halves: what lies in both is reached, by its own paths; what lies in one of them is not.
#[tokio::test]
async fn roots_narrow_what_was_granted() {
    let (_folder, base) = folders();
    for era in eras() {
        let arguments = ["--client-roots", "narrow", &format!("{base}/ws"), "--ro", &format!("{base}/my dir é")];
        let sent = [uri(&format!("{base}/ws/sub")), "vscode-remote://wsl/x".to_owned(), uri(&format!("{base}/my dir é"))];
        let client = rooted(era, &arguments, &sent).await;
        for (path, content) in [
            ("b.txt".to_owned(), "ws/sub/b.txt"),
            (format!("{base}/ws/sub/b.txt"), "ws/sub/b.txt"),
            (uri(&format!("{base}/ws/sub/b.txt")), "ws/sub/b.txt"),
            ("root://ws/sub/b.txt".to_owned(), "ws/sub/b.txt"),
            // OWN-04: escapes are decoded.
            (format!("{base}/my dir é/a.txt"), "my dir é/a.txt"),
            (uri(&format!("{base}/my dir é/a.txt")), "my dir é/a.txt"),
        ] {
            assert_eq!(read(&client, &path).await, content, "{path}");
        }
        for path in ["../a.txt".to_owned(), format!("{base}/ws/a.txt"), "root://ws/a.txt".to_owned()] {
            assert_eq!(read(&client, &path).await, "outside-roots", "{path}");
        }
        let write = |path: String| json!({ "path": path, "content": "W" });
        assert_eq!(code(&call(&client, "write_file", write("new.txt".into())).await), None);
        assert_eq!(fs::read(Path::new(&base).join("ws/sub/new.txt")).unwrap(), b"W");
        let refused = call(&client, "write_file", write(format!("{base}/my dir é/a.txt"))).await;
        assert_eq!(code(&refused).as_deref(), Some("not-granted"));
        let listed = call(&client, "list_allowed_directories", json!({})).await;
        assert_eq!(text(&listed), format!("Allowed directories:\n{base}/ws/sub\n{base}/my dir é"));
        fs::remove_file(Path::new(&base).join("ws/sub/new.txt")).unwrap();
        client.close().await;
    }
}

/// OWN-03, the pair of ALIAS-01: a root that is given through a link is meant by either of its names.
#[tokio::test]
async fn a_linked_root_is_known_by_both_names() {
    let (_folder, base) = folders();
    for era in eras() {
        for sent in ["wslink", "ws"] {
            let arguments = ["--client-roots", "narrow", &format!("{base}/wslink")];
            let client = rooted(era.clone(), &arguments, &[uri(&format!("{base}/{sent}"))]).await;
            for path in ["wslink/a.txt", "ws/a.txt"] {
                assert_eq!(read(&client, &format!("{base}/{path}")).await, "ws/a.txt", "{sent} {path}");
            }
            client.close().await;
        }
    }
}

/// OWN-01: a client that withdraws all its roots has no access from then on, and gets it back with them.
#[tokio::test]
async fn withdrawn_roots_are_closed() {
    let (_folder, base) = folders();
    for era in eras() {
        let legacy = is_legacy(&era);
        let client = rooted(era, &["--client-roots", "narrow", &base], &[uri(&format!("{base}/ws"))]).await;
        assert_eq!(read(&client, "a.txt").await, "ws/a.txt");
        assert_eq!(read(&client, "sub/b.txt").await, "ws/sub/b.txt");
        assert_eq!(client.asked(), if legacy { 1 } else { 2 }, "once, or in each call");
        client.change(&[]).await;
        assert_eq!(read(&client, "a.txt").await, "no-roots");
        client.change(&[uri(&format!("{base}/ws2"))]).await;
        assert_eq!(read(&client, "a.txt").await, "ws2/a.txt");
        assert_eq!(read(&client, &format!("{base}/ws/a.txt")).await, "outside-roots");
        client.change(&["file:///nothing/of/this".to_owned()]).await;
        assert_eq!(read(&client, "a.txt").await, "no-roots");
        client.close().await;
    }
}

/// Resources are narrowed as well.
#[tokio::test]
async fn resources_are_narrowed() {
    let (_folder, base) = folders();
    for era in eras() {
        let client = rooted(era, &["--client-roots", "narrow", &format!("{base}/ws")], &[uri(&format!("{base}/ws/sub"))]).await;
        let read = |uri: &str| client.read_resource(rmcp::model::ReadResourceRequestParams::new(uri));
        assert!(serde_json::to_string(&read("root://ws/sub/b.txt").await.unwrap()).unwrap().contains("ws/sub/b.txt"));
        assert!(read("root://ws/a.txt").await.is_err());
        client.close().await;
    }
}

/// Where no directory was given and the operator says that the client's roots are the grants, they are: each told on standard error, and
/// never the whole disk or the home directory.
#[tokio::test]
async fn trusted_roots_are_the_grants() {
    let (_folder, base) = folders();
    for era in eras() {
        for (mode, writes) in [("trust", true), ("trust-read", false)] {
            let client =
                rooted(era.clone(), &["--client-roots", mode], &[uri(&format!("{base}/ws")), "file:///".to_owned()]).await;
            assert_eq!(read(&client, "a.txt").await, "ws/a.txt");
            assert_eq!(read(&client, &format!("{base}/out/k.txt")).await, "outside-roots");
            assert_eq!(read(&client, "/etc/hostname").await, "outside-roots");
            let written = call(&client, "write_file", json!({ "path": ".git/hooks/x", "content": "" })).await;
            assert!(code(&written).is_some(), "what programs obey stays protected");
            let written = call(&client, "write_file", json!({ "path": "n.txt", "content": "" })).await;
            assert_eq!(code(&written).is_none(), writes);
            client.close().await;
        }
        // What the command line takes away holds for them too.
        let arguments = ["--client-roots", "trust", "--no-delete", "--rule", "sub=none"];
        let client = rooted(era.clone(), &arguments, &[uri(&format!("{base}/ws")), uri(&format!("{base}/ws2"))]).await;
        assert_eq!(read(&client, "sub/b.txt").await, "protected");
        for (to, allowed) in [("ws2/z.txt", false), ("ws/z.txt", true)] {
            let there = format!("{base}/{to}");
            let moved = call(&client, "move_file", json!({ "source": "a.txt", "destination": there })).await;
            assert_eq!(code(&moved).is_none(), allowed, "{}", text(&moved));
        }
        fs::rename(Path::new(&base).join("ws/z.txt"), Path::new(&base).join("ws/a.txt")).unwrap();
        client.close().await;
        // With a directory, trust is not more than narrowing.
        let client = rooted(era, &["--client-roots", "trust", &format!("{base}/ws2")], &[uri(&format!("{base}/ws"))]).await;
        assert_eq!(read(&client, &format!("{base}/ws/a.txt")).await, "no-roots");
        client.close().await;
    }
}

#[test]
fn without_a_client_that_has_roots_nothing_is_trusted() {
    let (_folder, base) = folders();
    let (_, err, status) =
        run(Path::new(&base), &["--client-roots", "trust", "--call", "list_directory", "--args", r#"{"path":"."}"#]);
    assert_eq!(status, 1);
    assert!(err.contains("no-roots: "), "{err}");
    let (_, err, status) = run(Path::new(&base), &["--client-roots", "all"]);
    assert!(status == 2 && err.contains("narrow"), "{err}");
    assert!(Path::new(SERVER).exists());
}
