//! What the operator has in hand: which tools are offered, explanations of paths, and the report on the system.
//!
//! Catches: a tool that is not listed and can be called all the same; a slip in a name that takes nothing away; an explanation that does what it
//! explains, or names no rule; colours in a pipe; a report that says that all is well where a directory is missing.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use support::wire::Session;
use support::{SERVER, call, client, code, eras, offered, run, text, tree, workspace};

/// Catches: a choice that only the list obeys.
#[tokio::test]
async fn the_operator_chooses_the_tools() {
    let (_folder, ws) = workspace();
    for era in eras() {
        for (options, want) in [
            (
                vec!["--tools", "read_file,write_file", "--tools", "list_directory"],
                vec!["read_file", "list_directory", "write_file"],
            ),
            (vec!["--tools=read_file, write_file", "--disable-tools", " write_file"], vec!["read_file"]),
            (vec!["--tools=read_file,write_file", "--ro"], vec!["read_file"]),
        ] {
            let client = client(era.clone(), &[&options[..], &[&ws]].concat()).await;
            assert_eq!(offered(&client).await, want, "{options:?}");
            let arguments = json!({ "path": "n", "content": "x" });
            for tool in ["edit_file", "write_file"].into_iter().filter(|tool| !want.contains(tool)) {
                let answer = call(&client, tool, arguments.clone()).await;
                assert_eq!(code(&answer).as_deref(), Some("not-granted"), "{tool}");
                assert!(text(&answer).contains(&format!("the tools are {}", want.join(", "))), "{}", text(&answer));
                // What a read-only directory takes away the operator has not switched off.
                let off = tool == "edit_file" && !options.contains(&"--ro") || options.contains(&"--disable-tools");
                assert_eq!(
                    text(&answer).contains(&format!("the operator has switched {tool} off")),
                    off,
                    "{options:?} {}",
                    text(&answer)
                );
            }
            client.cancel().await.unwrap();
        }
    }
    assert!(!Path::new(&ws).join("n").exists());
}

/// Catches: a file that is read as a resource where the operator offers no tool that reads; a directory that is listed so; instructions that name
/// a tool that is not there, or say that no call is worth repeating.
#[test]
fn resources_go_as_far_as_the_tools_do() {
    let (_folder, ws) = workspace();
    for era in eras() {
        for (options, reads, lists) in [
            (&["--tools", "list_directory"][..], false, true),
            (&["--tools", "read_media_file,list_allowed_directories"], true, false),
            (&["--disable-tools", "list_directory"], true, true),
            (&["--tools", "write_file"], false, false),
        ] {
            let mut session = Session::start(&era, &[options, &[&ws]].concat());
            let given = |session: &mut Session, uri: &str| {
                let answer = session.ask("resources/read", json!({ "uri": uri }));
                let code = answer["error"]["data"]["code"].as_str().map(str::to_owned);
                assert!(code.is_none() || answer["error"]["message"].as_str().unwrap().contains("has switched"), "{answer}");
                code.unwrap_or_else(|| "given".to_owned())
            };
            let want = |given: bool| if given { "given" } else { "not-granted" };
            assert_eq!(given(&mut session, "root://ws/a.txt"), want(reads), "{options:?}");
            assert_eq!(given(&mut session, "root://ws/"), want(lists), "{options:?}");
            if !reads && !lists {
                assert_eq!(given(&mut session, "root://ws/missing"), "not-granted");
            }
            let list = session.ask("resources/list", json!({}))["result"]["resources"].as_array().unwrap().len();
            let templates = session.ask("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
            assert_eq!((list, templates.as_array().unwrap().len()), (lists.into(), usize::from(reads || lists)), "{options:?}");
            let told = session.info["result"]["instructions"].as_str().unwrap();
            let named = options[1].contains("allowed") || options[0] == "--disable-tools";
            assert_eq!(told.contains("list_allowed_directories"), named, "{told}");
            assert!(!told.contains("does not help"), "{told}");
            session.end();
        }
    }
}

/// Catches: a tool that is taken away and stays under its older name; a name that cannot be taken away or chosen alone.
#[tokio::test]
async fn a_tool_goes_with_its_older_name() {
    let (_folder, ws) = workspace();
    for (options, new, old) in [
        ("--disable-tools=read_text_file", false, false),
        ("--disable-tools=read_file", true, false),
        ("--tools=read_file", false, true),
        ("--tools=read_text_file", true, false),
    ] {
        let client = client(eras()[0].clone(), &[options, &ws]).await;
        let tools = offered(&client).await;
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        assert_eq!((has("read_text_file"), has("read_file")), (new, old), "{options}");
        client.cancel().await.unwrap();
    }
}

/// Catches: a name that is none and is passed over; a server without tools.
#[test]
fn a_choice_that_cannot_be_kept_is_no_start() {
    let (_folder, ws) = workspace();
    for (options, parts) in [
        (
            vec!["--tools", "read_fil"],
            vec!["there is no tool \"read_fil\"", "meant may be read_file;", "list_allowed_directories; correct"],
        ),
        (vec!["--tools", "read_file, write_fil"], vec!["there is no tool \" write_fil\"", "meant may be write_file;"]),
        (vec!["--disable-tools", "delete"], vec!["meant may be delete_file or delete_directory;"]),
        (vec!["--tools", ""], vec!["there is no tool \"\" to switch on or off; the tools are read_file"]),
        (vec!["--tools", "read_file", "--disable-tools", "read_file"], vec!["no tool is left"]),
        (vec!["--tools", "write_file", "--ro"], vec!["no tool is left"]),
    ] {
        let (out, err, status) = run(Path::new(&ws), &[&options[..], &["."]].concat());
        assert_eq!((out.as_str(), status, err.lines().count()), ("", 2, 1), "{options:?} {err}");
        assert!(parts.iter().all(|part| err.contains(part)), "{options:?} {err}");
    }
}

/// Catches: keys of the file that are read and not obeyed; an option that gives back what the file took away.
#[tokio::test]
async fn the_file_chooses_tools_as_well() {
    let (_folder, ws) = workspace();
    let etc = tempfile::tempdir().unwrap();
    let file = etc.path().join("c.toml");
    fs::write(&file, "tools = [\"read_file\", \"write_file\"]\ndisable_tools = [\"write_file\"]\n").unwrap();
    let file = file.to_str().unwrap();
    for (options, want) in [
        (vec![], vec!["read_file"]),
        (vec!["--tools", "edit_file,write_file"], vec!["edit_file"]),
        (vec!["--disable-tools", "edit_file"], vec!["read_file"]),
    ] {
        let client = client(eras()[0].clone(), &[&["--config", file, &ws], &options[..]].concat()).await;
        assert_eq!(offered(&client).await, want, "{options:?}");
        client.cancel().await.unwrap();
    }
    fs::write(file, "disable_tools = [\"no_such\"]\n").unwrap();
    let (_, err, status) = run(Path::new(&ws), &["--config", file]);
    assert!(status == 2 && err.contains("c.toml:1:18: ") && err.contains("there is no tool \"no_such\""), "{err}");
    fs::write(file, "tools = \"read_file\"\n").unwrap();
    let (_, err, _) = run(Path::new(&ws), &["--config", file]);
    assert!(err.contains("c.toml:1:9: tools cannot be \"read_file\"; write tools = [\"read_text_file\""), "{err}");
}

/// The lines of an explanation that begin with `label`.
fn lines<'a>(told: &'a str, label: &str) -> Vec<&'a str> {
    told.lines().filter_map(|line| line.strip_prefix(&format!("{label:<9} "))).collect()
}

/// Catches: a rule that decides and is not named; the wrong way of resolution; a status that is not that of the operation.
#[test]
fn one_operation_is_explained() {
    let (_folder, ws) = workspace();
    let dir = Path::new(&ws);
    fs::write(dir.join(".env"), "KEY").unwrap();
    symlink("../.env", dir.join("sub/plain")).unwrap();
    let before = tree(dir);
    let rules = ["--rule", "**/.env=none", "--rule", "sub/deeper/=read"];
    for (path, operation, status, rule, resolver, outcome) in [
        ("a.txt", "write", 0, "", "openat2", "write was not done: it leads to a file; nothing that can be told"),
        ("new", "write", 0, "", "openat2", "write was not done: nothing is there yet; "),
        ("a.txt", "create_new", 1, "", "openat2", "already-exists: "),
        ("no/new", "write", 1, "", "openat2", "not-found: "),
        ("sub", "write", 1, "", "openat2", "is-a-directory: "),
        (".env", "metadata", 1, "**/.env=none decides", "", "protected: "),
        ("sub/plain", "open", 1, "**/.env=none decides", "guarded walk", "protected: "),
        ("abs/b.md", "open", 0, "", "guarded walk", "open can be done: it leads to a file"),
        ("sub/deeper/n", "write", 1, "sub/deeper/=read decides", "", "protected: "),
        ("sub/deeper", "open_dir", 0, "", "openat2", "open_dir can be done: it leads to a directory"),
        ("sub", "remove_dir", 1, "", "openat2", "not-empty: "),
        ("sub", "remove_dir_all", 1, "", "openat2", "protected: "),
        (
            "a.txt",
            "rename",
            0,
            "",
            "openat2",
            "rename was not done: it leads to a file; nothing that can be told without acting is against it, and the other",
        ),
        ("/etc/passwd", "write", 1, "", "", "outside-roots: "),
    ] {
        let (out, err, got) = run(dir, &[&["--explain", path, "--op", operation, "."], &rules[..]].concat());
        let what = format!("{operation} {path}: {out}{err}");
        assert_eq!(got, status, "{what}");
        assert_eq!(lines(&out, "rule").join(""), rule, "{what}");
        assert!(
            lines(&out, "resolver").join("").starts_with(resolver) && lines(&out, "resolver").is_empty() == resolver.is_empty(),
            "{what}"
        );
        assert!(lines(&out, "outcome").join("").starts_with(outcome), "{what}");
        assert_eq!(lines(&out, "grant").len(), 1, "{what}");
    }
    assert_eq!(tree(dir), before);
    let (_, err, status) = run(dir, &["--explain", "a.txt", "--op", "wite", "."]);
    assert!(status == 2 && err.contains("write") && err.contains("remove_dir_all"), "{err}");
    assert_eq!(run(dir, &["--op", "write", "."]).2, 2);
    // By the names that tools and shells have.
    for (name, operation) in
        [("read", "open"), ("list_directory", "read_dir"), ("delete_file", "remove_file"), ("mkdir", "create_dir_all")]
    {
        let by = |name| run(dir, &["--explain", "a.txt", "--op", name, "."]);
        assert_eq!(by(name), by(operation), "{name}");
    }
}

/// Catches: colours in a pipe; `NO_COLOR` that is not obeyed; a path that paints, or forges a line.
#[test]
fn colours_are_for_terminals() {
    let (_folder, ws) = workspace();
    let told = |options: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(SERVER);
        command.args(["--explain", "../x\u{1b}[31m\nroot forged", "--color"]).args(options).arg(".").current_dir(&ws);
        let output = command.env_remove("NO_COLOR").envs(variables.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let forced = ("CLICOLOR_FORCE", "1");
    for (options, variables, coloured) in [
        (["auto"], vec![], false),
        (["auto"], vec![forced], true),
        (["auto"], vec![forced, ("NO_COLOR", "1")], false),
        (["never"], vec![forced], false),
        (["always"], vec![], true),
    ] {
        let told = told(&options, &variables);
        assert_eq!(told.contains("\u{1b}[1m"), coloured, "{options:?} {variables:?} {told:?}");
        assert!(!told.contains("x\u{1b}") && !told.contains("\nroot forged"), "{told:?}");
    }
}

/// Catches: a missing directory that is well, or one whose time has run out; a root that is written to although it may only be read.
#[test]
fn the_doctor_reports() {
    let (folder, ws) = workspace();
    let dir = Path::new(&ws);
    let before = tree(dir);
    let (out, err, status) = run(dir, &["--doctor", "--rw", "one=.", "--ro", "two=sub"]);
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    for part in ["System: ", "\none: ", "(read, write, delete)", "\ntwo: ", "(read)", "file system", "folds case", "Landlock"] {
        assert!(out.contains(part), "{part} in {out}");
    }
    if cfg!(target_os = "linux") {
        assert!(
            out.contains("openat2") && out.contains("made a file without a name") && out.contains("nothing may be written here")
        );
    }
    assert!(!out.contains('\u{1b}'));
    // In a table, what stands below a heading begins where it does.
    let table: Vec<_> = out
        .lines()
        .skip_while(|line| !line.contains("found out by"))
        .take_while(|line| !line.starts_with("    without"))
        .collect();
    assert!(out.lines().all(|line| line.starts_with("  /") || !line.starts_with("  ") || line.len() <= 100), "{out}");
    let column = table[0].find("found out by").unwrap();
    assert!(
        table.len() > 4
            && table.iter().all(|line| line.as_bytes()[column - 2..column] == *b"  " && line.as_bytes()[column] != b' '),
        "{out}"
    );
    for (options, line) in [
        (["--doctor", ".", "gone"], "gone: "),
        (["--doctor", ".", "--ro=."], "These directories cannot be served: invalid-argument: "),
        (["--doctor", ".", "a.txt"], "These directories cannot be served: not-a-directory: "),
    ] {
        let (out, _, status) = run(dir, &options);
        assert!(status == 1 && out.contains(line) && !out.contains("All is well"), "{out}");
    }
    let config = folder.path().join("ended.toml");
    let ended = format!("[[root]]\npath = {ws:?}\naccess = \"write\"\nexpires = 2001-01-01T00:00:00Z\n");
    fs::write(&config, ended).unwrap();
    let (out, _, status) = run(dir, &["--doctor", "--config", config.to_str().unwrap()]);
    assert!(status == 1 && out.contains(" is closed, its time has run out") && !out.contains("missing"), "{out}");
    let (out, _, status) = run(dir, &["--doctor"]);
    assert!(status == 0 && out.contains("; name directories") && !out.contains("All is well"), "{out}");
    assert_eq!(run(dir, &["--doctor", "--explain", "x", "."]).2, 2);
    assert_eq!(tree(dir), before);
}
