//! The server with a configuration file, with and without directories on the command line beside it.
//!
//! Catches: a file that is read and not obeyed; a file that wins over the command line; a restriction of either that the other lifts; a server
//! that starts without the file, or with a file that its client could change; a line to copy that grants more.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use support::{Client, SERVER, call, client, code, eras, offered, run, text};

/// Directories `a`, `b`, `c` with some files, beside `etc/c.toml`.
struct Place {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

fn place(config: &str) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir(base.join("etc")).unwrap();
    for dir in ["a", "b", "c"] {
        fs::create_dir_all(base.join(dir).join(".git")).unwrap();
        for file in ["x", ".env", "k.key", ".git/config"] {
            fs::write(base.join(dir).join(file), format!("{dir}/{file}\n")).unwrap();
        }
    }
    fs::write(base.join("etc/c.toml"), config).unwrap();
    Place { _folder: folder, base }
}

impl Place {
    /// One call, started in the folder: its answer, or the code of the refusal.
    fn call(&self, options: &[&str], tool: &str, arguments: &Value) -> String {
        let arguments = arguments.to_string();
        let line = [&["--call", tool, "--args", &arguments], options].concat();
        let (out, err, status) = run(&self.base, &line);
        let told = err.lines().last().unwrap_or("").split(": ").next().unwrap();
        if status == 0 { out.trim_end().to_owned() } else { told.to_owned() }
    }

    fn read(&self, options: &[&str], path: &str) -> String {
        self.call(options, "read_text_file", &json!({ "path": path }))
    }

    fn write(&self, options: &[&str], path: &str) -> String {
        let answer = self.call(options, "write_file", &json!({ "path": path, "content": "new" }));
        if answer.starts_with("Successfully") { "ok".to_owned() } else { answer }
    }

    /// The only line on standard error of a start that fails.
    fn start_error(&self, options: &[&str]) -> String {
        let (out, err, status) = run(&self.base, options);
        assert_eq!((out.as_str(), status, err.lines().count()), ("", 2, 1), "{options:?}: {err}");
        err.trim_end().strip_prefix("cap-roots-mcp: ").unwrap().to_owned()
    }
}

const FILE: &[&str] = &["--config", "etc/c.toml"];

#[test]
fn the_file_is_obeyed() {
    let place = place(
        "rules = { \"*.key\" = \"none\" }\n\
        [[root]]\npath = \"../a\"\naccess = \"write\"\nno_delete = true\nrules = { \".env\" = \"read\" }\n\
        [[root]]\npath = \"../b\"\nname = \"second\"\naccess = \"read\"\n\
        [[root]]\npath = \"../c\"\naccess = \"read\"\nexpires = 2001-01-01T00:00:00Z\n",
    );
    for (path, want) in [
        ("x", "a/x"),
        (".env", "a/.env"),
        ("k.key", "protected"),
        ("root://second/x", "b/x"),
        ("root://second/k.key", "protected"),
        ("root://c/x", "expired"),
        ("../etc/c.toml", "outside-roots"),
    ] {
        assert_eq!(place.read(FILE, path), want, "{path}");
    }
    for (path, want) in [
        ("n", "ok"),
        (".env", "protected"),
        (".git/config", "protected"),
        ("root://second/n", "not-granted"),
        ("root://c/n", "expired"),
    ] {
        assert_eq!(place.write(FILE, path), want, "{path}");
    }
    // A tool that no directory allows is not there, and says so.
    assert_eq!(place.call(FILE, "delete_file", &json!({ "path": "x" })), "not-granted");
    let listed = place.call(FILE, "list_allowed_directories", &json!({}));
    let listed: Vec<_> = listed.lines().skip(1).map(|line| fs::canonicalize(line).unwrap()).collect();
    // The third one has expired.
    assert_eq!(listed, ["a", "b"].map(|dir| place.base.join(dir)));
}

#[test]
fn protection_limits_and_hiding_are_obeyed() {
    let place = place(
        "protect = \"none\"\nhide_host_paths = true\n[limits]\nmax_text_bytes = 3\nmax_entries = 2\nmax_read_bytes = 2\nmax_media_bytes = 1\n\
        [[root]]\npath = \"../a\"\naccess = \"write\"\n",
    );
    assert_eq!(place.write(FILE, ".git/config"), "ok");
    assert!(!place.call(FILE, "list_allowed_directories", &json!({})).contains(place.base.to_str().unwrap()));
    assert_eq!(place.read(FILE, "x"), "too-large");
    assert_eq!(place.read(&[FILE, &["--max-text-bytes", "1000"]].concat(), "x"), "a/x");
    let entries = |options: &[&str]| {
        let options = [FILE, &["--max-text-bytes", "1000"], options].concat();
        place.call(&options, "list_directory", &json!({ "path": "." })).matches("] ").count()
    };
    assert_eq!((entries(&[]), entries(&["--max-entries", "50000"])), (2, 4));
    let edit = json!({ "path": "k.key", "edits": [{ "oldText": "a/", "newText": "b/" }] });
    assert_eq!(place.call(FILE, "edit_file", &edit), "too-large");
    let media = |options: &[&str]| place.call(options, "read_media_file", &json!({ "path": "x" }));
    assert_eq!(media(FILE), "too-large");
    assert_ne!(media(&[FILE, &["--max-media-bytes", "16777216"]].concat()), "too-large");
}

/// Its directories come first, a name of its own takes the place of the file's, and its choices count. What takes away holds from both sides.
#[test]
fn the_command_line_wins() {
    let place = place(
        "protect = \"none\"\nrules = { \".env\" = \"none\" }\n\
        [[root]]\npath = \"../a\"\nname = \"work\"\naccess = \"write\"\n[[root]]\npath = \"../b\"\naccess = \"write\"\n",
    );
    let with = |more: &[&'static str]| [FILE, more].concat();
    assert_eq!(place.read(FILE, "x"), "a/x");
    assert_eq!(place.read(&with(&["c"]), "x"), "c/x");
    assert_eq!(place.read(&with(&["c"]), "root://work/x"), "a/x");
    assert_eq!(place.read(&with(&["c"]), "root://c/.env"), "protected");
    // The name is taken: what the file gave it is gone, and only that.
    let replaced = with(&["--ro", "work=c"]);
    assert_eq!(place.read(&replaced, "root://work/x"), "c/x");
    assert_eq!(place.write(&replaced, "root://work/n"), "not-granted");
    assert_eq!(place.read(&replaced, "../a/x"), "outside-roots");
    assert_eq!(place.read(&replaced, "root://b/x"), "b/x");
    // A default name is not one that both give.
    assert_eq!(place.read(&with(&["c", "--ro", "b=etc/../c/.git"]), "root://b/config"), "c/.git/config");
    assert_eq!(place.write(FILE, ".git/config"), "ok");
    assert_eq!(place.write(&with(&["--protect", "default"]), ".git/config"), "protected");
    let rule = with(&["--rule", "k.key=none"]);
    assert_eq!((place.read(&rule, "k.key"), place.read(&rule, ".env")), ("protected".into(), "protected".into()));
    assert!(place.call(FILE, "delete_file", &json!({ "path": "k.key" })).starts_with("Successfully"));
    assert_eq!(place.call(&with(&["--no-delete"]), "delete_file", &json!({ "path": "x" })), "not-granted");
    // One directory is the command line's, by whatever spelling: making it read-only is obeyed.
    for dir in ["a", "etc/../a", "other=a"] {
        let read_only = with(&["--ro", dir]);
        assert_eq!((place.read(&read_only, "x"), place.write(&read_only, "n")), ("a/x".into(), "not-granted".into()), "{dir}");
        assert_eq!(place.read(&read_only, "root://work/x"), "outside-roots", "{dir}");
    }
}

#[test]
fn a_file_that_is_wrong_stops_the_start() {
    let place = place("");
    let file = place.base.join("etc/c.toml");
    for (config, rest) in [
        ("", ":1:1: nothing is in it, perhaps because it was cut off"),
        ("[[root]]\npath = \"../a\"\naccess = \"rw\"\n", ":3:10: access cannot be \"rw\"; write access = "),
        ("[[root]]\npath = \"../a\"\nacces = \"read\"\n", ":3:1: unknown key \"acces\" in [[root]]; access may be meant"),
        ("[[root]]\npath = \"../a\"\naccess = \"read\"\n[[root", ":4:7: the file ends too early"),
        ("must_end = true\n[[root]]\npath = \"../a\"\naccess = \"read\"\n", ":5:1: "),
        ("two_file_systems = true\n", ":1:1: unknown key \"two_file_systems\""),
    ] {
        fs::write(&file, config).unwrap();
        for options in [FILE, &["--config", "etc/c.toml", "a"], &["--config", "etc/c.toml", "--explain", "x", "a"]] {
            let line = place.start_error(options);
            assert!(line.starts_with(&format!("{}{rest}", file.display())), "{line}");
        }
    }
    fs::write(&file, b"# \xff").unwrap();
    assert!(place.start_error(FILE).ends_with(":1:3: this is not UTF-8; save the file as UTF-8"));
    assert!(place.start_error(&["--config", "etc"]).ends_with("etc: this is a directory; name a file"));
    assert!(place.start_error(&["--config", "nowhere", "a"]).ends_with("nowhere: the file does not exist; correct its path"));
    // Not built: said, and not ignored.
    fs::write(&file, "client_roots = \"trust\"\n").unwrap();
    assert!(
        place
            .start_error(&["--config", "etc/c.toml", "a"])
            .contains(":1:16: a client is trusted only by a file that cannot be cut off")
    );
    // A rule that no root can match, by a path of the host: the library sees it when the directories are open.
    let rule = place.base.join("a/x").display().to_string();
    fs::write(&file, format!("[rules]\n\"{rule}\" = \"none\"\n[[root]]\npath = \"../a\"\naccess = \"read\"\n")).unwrap();
    let line = place.start_error(FILE);
    assert!(line.contains(&rule) && line.ends_with(&format!("(configuration file: {})", file.display())), "{line}");
    // What is well-formed and cannot be opened.
    fs::write(&file, "rules = { \"/srv/x\" = \"none\" }\n[[root]]\npath = \"../a/x\"\naccess = \"read\"\n").unwrap();
    let line = place.start_error(FILE);
    assert!(line.contains("not-a-directory") && line.contains("a/x"), "{line}");
}

/// The client could change what is served at the next start.
#[test]
fn a_file_below_a_directory_that_is_served_stops_the_start() {
    let place = place("[[root]]\npath = \"../a\"\naccess = \"read\"\n");
    fs::copy(place.base.join("etc/c.toml"), place.base.join("b/c.toml")).unwrap();
    symlink("../b/c.toml", place.base.join("etc/link.toml")).unwrap();
    symlink("../etc/c.toml", place.base.join("b/out.toml")).unwrap();
    symlink("../b/out.toml", place.base.join("etc/through.toml")).unwrap();
    for file in ["b/c.toml", "etc/link.toml", "b/out.toml", "etc/through.toml"] {
        for root in [["--ro", "b"], ["--rw", "b"], ["--ro", "."]] {
            let line = place.start_error(&["--config", file, root[0], root[1]]);
            assert!(line.starts_with("invalid-argument: root ") && line.contains("kept outside of all roots"), "{line}");
            assert!(line.contains(&format!("(the configuration file: {})", place.base.join(file).display())), "{line}");
        }
        assert_eq!(place.read(&["--config", file, "c"], "x"), "c/x", "{file}");
    }
    let own = place.base.join("a/own.toml");
    fs::write(own, "[[root]]\npath = \".\"\naccess = \"read\"\n").unwrap();
    assert!(place.start_error(&["--config", "a/own.toml"]).contains("root \"a\" "));
}

/// Rules alone, for directories of the command line; and no directory at all.
#[test]
fn a_file_without_directories() {
    let place = place("rules = { \".env\" = \"none\" }\n");
    assert_eq!(place.read(&["--config", "etc/c.toml", "a"], ".env"), "protected");
    assert_eq!(place.read(&["--config", "etc/c.toml", "a"], "x"), "a/x");
    assert_eq!(place.read(FILE, "x"), "no-roots");
}

#[test]
fn the_example_starts() {
    let place = place("");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/config.toml");
    let text = fs::read_to_string(example).unwrap();
    fs::create_dir_all(place.base.join("home/project/config")).unwrap();
    fs::write(place.base.join("home/project/config/secret"), "").unwrap();
    fs::write(place.base.join("etc/c.toml"), text.replace("~/", "../home/").replace("/usr/share/doc", "../b")).unwrap();
    // Where the log is to be has to be there: nobody else can say who may read it.
    assert!(place.start_error(FILE).contains("audit file"));
    // The doctor says the same, and not that a directory is missing.
    let (out, _, status) = run(&place.base, &[&["--doctor"], FILE].concat());
    assert!(
        status == 1 && out.contains("cannot be served: audit file ") && out.contains("create it, or correct the path"),
        "{out}"
    );
    fs::create_dir_all(place.base.join("home/.local/state/cap-roots")).unwrap();
    assert_eq!(place.read(FILE, "config/secret"), "protected");
    assert_eq!(place.read(FILE, "root://docs/x"), "b/x");
    assert_eq!(place.read(FILE, "root://docs/.env"), "protected");
    assert_eq!(place.write(FILE, "release"), "protected");
    assert_eq!(place.write(FILE, "n"), "ok");
    let log = fs::read_to_string(place.base.join("home/.local/state/cap-roots/audit.jsonl")).unwrap();
    assert_eq!(log.matches("\"verdict\"").count(), 5);
}

#[test]
fn the_schema_is_printed() {
    let place = place("");
    let (out, err, status) = run(&place.base, &["--config-schema"]);
    assert_eq!((err.as_str(), status), ("", 0));
    let schema: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["properties"]["client_roots"].is_object());
    let help = run(&place.base, &["--help"]).0;
    assert!(
        help.contains("--config <FILE>") && help.contains("--config-schema") && help.contains("The command line wins"),
        "{help}"
    );
}

/// `~/` is expanded here: clients start servers without a shell.
#[test]
fn home_is_expanded() {
    let place = place("[[root]]\npath = \"~/a\"\naccess = \"read\"\n");
    let output = Command::new(SERVER)
        .args(["--config", "~/etc/c.toml", "--call", "read_text_file", "--args", "{\"path\":\"x\"}"])
        .env("HOME", &place.base)
        .current_dir("/")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "a/x\n", "{}", String::from_utf8_lossy(&output.stderr));
}

/// What a client is offered and gets, in both eras.
#[tokio::test]
async fn a_client_gets_what_the_file_grants() {
    let place = place("[[root]]\npath = \"../a\"\naccess = \"read\"\nrules = { \"*.key\" = \"none\" }\n");
    for era in eras() {
        let file = place.base.join("etc/c.toml");
        let client: Client = client(era, &["--config", file.to_str().unwrap()]).await;
        assert!(!offered(&client).await.contains(&"write_file".to_owned()));
        assert_eq!(text(&call(&client, "read_text_file", json!({ "path": "x" })).await), "a/x\n");
        let refused = call(&client, "read_text_file", json!({ "path": "k.key" })).await;
        assert_eq!(code(&refused).as_deref(), Some("protected"));
        client.cancel().await.unwrap();
    }
}

/// Catches: an option or a key that is read and not obeyed, one that a line to copy loses, and an explanation that promises what is refused.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_ends_where_its_mount_ends() {
    if !cap_roots_oracle::needs::mounts() {
        return;
    }
    let place = place("");
    let told = |options: &[&str]| {
        let script = r#"mkdir -p a/m; mount -t tmpfs none a/m; cp b/x a/m; exec "$@""#;
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-ec", script, "sh", SERVER]).args(options).current_dir(&place.base);
        let output = command.output().unwrap();
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
    };
    let root = "[[root]]\npath = \"../a\"\naccess = \"write\"\n";
    for (config, options, crosses) in [
        ("", &["a"][..], true),
        ("", &["--one-file-system", "a"], false),
        ("one_file_system = true\n", FILE, false),
        ("one_file_system = false\n", FILE, true),
        ("one_file_system = false\n", &["--one-file-system", "--config", "etc/c.toml"], false),
    ] {
        fs::write(place.base.join("etc/c.toml"), format!("{config}{root}")).unwrap();
        let call = |tool: &str, path: &str| {
            let arguments = json!({ "path": path }).to_string();
            told(&[&["--call", tool, "--args", &arguments], options].concat())
        };
        let read = call("read_text_file", "m/x");
        assert_eq!((read == "b/x\n", read.contains("outside-roots: ")), (crosses, !crosses), "{config}{options:?}: {read}");
        assert!(call("list_directory", ".").contains("[DIR] m"), "{config}{options:?}");
        let tree = call("directory_tree", ".");
        assert_eq!((tree.contains("\"m\""), tree.matches("\"x\"").count()), (true, 1 + usize::from(crosses)), "{tree}");
        let explained = told(&[&["--explain", "m/x"], options].concat());
        assert_eq!(explained.contains("another mount begins there"), !crosses, "{config}{options:?}: {explained}");
    }
}
