//! Invariants of the source itself: which file may touch what, and which versions are safe.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "reads the source")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of the library with their code: without comments, and without tests, at the end or in files of their own.
fn sources() -> Vec<(String, String)> {
    fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { collect(&path, found) } else { found.push(path) }
        }
    }
    let mut paths = Vec::new();
    collect(&top().join("src"), &mut paths);
    let mut sources: Vec<(PathBuf, String)> = Vec::new();
    let mut tests = BTreeSet::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let is_parent = matches!(path.file_name().unwrap().to_str(), Some("lib.rs" | "mod.rs"));
        let dir = if is_parent { path.parent().unwrap().to_owned() } else { path.with_extension("") };
        for pair in lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]") {
            let name = pair[1].strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
            tests.extend(name.map(|name| dir.join(format!("{name}.rs"))));
        }
        sources.push((path, text));
    }
    assert!(tests.iter().all(|path| path.is_file()), "{tests:?}");
    sources.retain(|(path, _)| !tests.contains(path));
    assert!(sources.len() > 20, "the sources were not found");
    let code = |(path, text): (PathBuf, String)| {
        let code = text.split("\nmod tests {").next().unwrap().lines();
        let name = path.strip_prefix(top().join("src")).unwrap().to_str().unwrap().replace('\\', "/");
        (name, code.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n"))
    };
    sources.into_iter().map(code).collect()
}

/// ONE-DOOR
#[test]
fn ambient_authority_is_used_in_one_file() {
    for (name, code) in sources() {
        assert_eq!(code.contains("ambient_authority"), name == "ambient.rs", "{name}");
    }
    // Its functions; what they found may be passed on.
    let calls = |code: &str| code.split("ambient::").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
    let mut users: Vec<_> = sources().into_iter().filter(|(_, code)| calls(code)).map(|(name, _)| name).collect();
    users.sort();
    assert_eq!(
        users,
        ["builder.rs", "config.rs", "landlock.rs", "opened.rs"],
        "only the operator's grants and configuration are opened by path, and threads counted"
    );
}

/// PURE-CORE
#[test]
fn parsing_and_deciding_do_no_input_or_output() {
    let pure = |name: &str| {
        name.starts_with("path/")
            || name.starts_with("rule/")
            || name.starts_with("config/")
            || ["decide.rs", "access.rs", "rule.rs", "grant.rs", "text.rs", "error.rs", "lease.rs", "resolve/judge.rs"]
                .contains(&name)
    };
    let mut seen = 0;
    for (name, code) in sources().into_iter().filter(|(name, _)| pure(name)) {
        seen += 1;
        for word in
            ["std::fs", "cap_std", "cap_fs_ext", "rustix", "std::net", "std::process", "std::env", "std::thread", "SystemTime"]
        {
            assert!(!code.contains(word), "{name} mentions {word}");
        }
    }
    assert!(seen >= 12);
}

/// ONE-MOUTH: an error's text is made in one file; the others say which kind and which detail.
#[test]
fn error_text_is_written_in_one_file() {
    for (name, code) in sources().into_iter().filter(|(name, _)| name != "error.rs") {
        assert!(!code.contains("Detail::Message"), "{name}");
        assert!(!code.contains("io::Error::other("), "{name}");
        // `ConfigError` is for the operator, before there is anything to call.
        let other = name != "config/error.rs" && code.contains("impl std::error::Error");
        assert!(!code.contains("impl fmt::Display for Error") && !other, "{name}");
    }
}

/// The rooms of the server that a file's code names: `crate::room`, and `crate::{room, other::thing}`.
fn rooms_of(code: &str) -> BTreeSet<&str> {
    let mut rooms = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        let list = rest.strip_prefix('{').and_then(|list| list.get(..end? - 1)).unwrap_or(rest);
        let mut depth = 0;
        let names = list.split(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        });
        let names = if rest.starts_with('{') { names.collect() } else { vec![rest] };
        for name in names {
            let name = name.trim_start();
            let end = name.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(name.len());
            // A function of the top, or a type.
            let is_room = end > 0 && !name[end..].starts_with(['(', '!']) && !name[end..].starts_with(char::is_alphanumeric);
            rooms.extend(Some(&name[..end]).filter(|_| is_room));
        }
    }
    rooms
}

/// Catches: a file of the server that reaches into a room that its first lines do not name.
#[test]
fn what_a_file_may_touch_is_said_at_its_top() {
    assert_eq!(rooms_of("use crate::{a, b::{c, d}, E};\ncrate::f::g(crate::h())").into_iter().collect::<String>(), "abf");
    let server = top().join("mcp-server/src");
    let mut stack = vec![server.clone()];
    let mut files = 0;
    while let Some(path) = stack.pop() {
        if path.is_dir() {
            stack.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let name = path.strip_prefix(&server).unwrap();
        // What starts it and what opens it to the fuzz targets may touch all.
        if ["lib.rs", "main.rs", "internals.rs", "tests.rs"].iter().any(|all| name.ends_with(all)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let head: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        assert!(head.contains("May touch: "), "{}", name.display());
        let code: Vec<&str> =
            text.lines().take_while(|line| *line != "#[cfg(test)]").filter(|line| !line.trim().starts_with("//")).collect();
        let code = code.join("\n");
        let own = name.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        for room in rooms_of(&code).into_iter().filter(|room| *room != own && *room != "fail") {
            assert!(
                head.contains(&format!("`{room}`")) || head.contains(&format!("`{room}::")),
                "{} touches {room}",
                name.display()
            );
        }
        files += 1;
    }
    assert!(files > 60, "{files}");
}

/// HANDLE-ONLY on Windows: what goes by path there is what SECURITY.md names, in one file, and no call of cap-std that would join paths by itself.
#[test]
fn on_windows_what_goes_by_path_is_in_one_file() {
    let sources = sources();
    let (_, joined) = sources.iter().find(|(name, _)| name == "resolve/joined.rs").unwrap();
    let calls: BTreeSet<_> = joined.split("fs::").skip(1).filter_map(|rest| rest.split_once('(')).map(|(call, _)| call).collect();
    let calls: Vec<_> =
        calls.into_iter().filter(|call| call.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')).collect();
    let known = ["create_dir", "hard_link", "read_dir", "remove_dir", "remove_file", "rename", "symlink_metadata"];
    assert_eq!(calls, known);
    let security = fs::read_to_string(top().join("SECURITY.md")).unwrap();
    let row = security.lines().find(|line| line.starts_with("| calls by handle")).unwrap();
    for word in
        ["listing", "making and removing directories", "removing files", "renaming", "linking", "the directory above a root"]
    {
        assert!(row.contains(word), "{word}");
    }
    let calls =
        ["entries", "create_dir", "create_dir_with", "remove_dir", "remove_file", "rename", "hard_link", "open_parent_dir"];
    // The first is not compiled on Windows at all.
    for (name, code) in sources.iter().filter(|(name, _)| name != "change/names.rs") {
        for call in calls {
            for (at, _) in code.match_indices(&format!("dir.{call}(")) {
                let nearest = code[..at].lines().rev().find(|line| line.trim_start().starts_with("#[cfg("));
                assert_eq!(nearest.map(str::trim), Some("#[cfg(not(windows))]"), "{name} calls {call} of cap-std");
            }
        }
    }
}

/// HANDLE-ONLY: no call of the standard library that opens by path, outside the one door, and on Windows the one file for what has no handle.
#[test]
fn nothing_is_opened_by_path_elsewhere() {
    let by_path = ["ambient.rs", "resolve/joined.rs"];
    for (name, code) in sources().into_iter().filter(|(name, _)| !by_path.contains(&name.as_str())) {
        for word in [
            "File::open(",
            "OpenOptions::new().open",
            "fs::canonicalize",
            "fs::read_dir(",
            "fs::metadata(",
            ".exists()",
            "open_ambient",
            "CWD",
            "ABS",
            "\"/proc",
        ] {
            assert!(!code.contains(word), "{name} mentions {word}");
        }
    }
}

/// Permits are made by the decision alone, and cannot be used twice.
#[test]
fn permits_are_neither_copied_nor_made_elsewhere() {
    let (_, permit) = sources().into_iter().find(|(name, _)| name == "permit.rs").unwrap();
    assert!(!permit.contains("derive("), "a permit derives nothing");
    assert!(permit.contains("decide("));
    for (name, code) in sources() {
        assert!(name == "permit.rs" || !code.contains("Permit {"), "{name} makes a permit by hand");
        assert!(
            name.starts_with("resolve/") || !code.contains("linux::open(") && !code.contains("walk::walk("),
            "{name} goes past resolve"
        );
    }
}

#[test]
fn files_stay_small() {
    for dir in [
        "src",
        "mcp-server/src",
        "rmcp/src",
        "rmcp/tests",
        "fuzz/oracle/src",
        "fuzz/server-oracle/src",
        "fuzz/fuzz_targets",
        "tests",
        "mcp-server/tests",
        "benches",
    ] {
        let mut stack = vec![top().join(dir)];
        while let Some(at) = stack.pop() {
            for entry in fs::read_dir(&at).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    stack.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let lines = fs::read_to_string(&path).unwrap().lines().count();
                    assert!(lines <= 450, "{} has {lines} lines", path.display());
                }
            }
        }
    }
}

/// cap-std and cap-primitives before 4.0.3 follow a link with a slash behind it where the kernel lacks `openat2` (GHSA-hp8f-xmx4-4qrg).
#[test]
fn the_lock_file_holds_no_version_that_escapes() {
    let lock = fs::read_to_string(top().join("Cargo.lock")).unwrap();
    for name in ["cap-std", "cap-primitives", "cap-fs-ext"] {
        let versions: Vec<Vec<u64>> = lock
            .split("[[package]]")
            .filter(|package| package.contains(&format!("name = \"{name}\"")))
            .map(|package| {
                let version = package.lines().find_map(|line| line.strip_prefix("version = \"")).unwrap();
                version.trim_end_matches('"').split('.').map(|part| part.parse().unwrap()).collect()
            })
            .collect();
        assert!(!versions.is_empty(), "{name} is not in the lock file");
        assert!(versions.iter().all(|version| version >= &vec![4, 0, 3]), "{name} {versions:?}");
    }
}

/// The names of all tests: functions that are marked as tests, and those of the files whose tests are trials.
fn tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    let mut stack: Vec<PathBuf> =
        ["src", "tests", "mcp-server/src", "mcp-server/tests", "rmcp/src", "rmcp/tests"].map(|dir| top().join(dir)).into();
    while let Some(at) = stack.pop() {
        if at.is_dir() {
            stack.extend(fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()));
        } else if at.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&at).unwrap();
            let has_trials = text.contains("libtest_mimic::");
            let mut marked = false;
            for line in text.lines().map(str::trim_start) {
                if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    marked = true;
                } else if !line.starts_with("#[") && !line.starts_with("//") {
                    let name = line.split_once("fn ").and_then(|(_, rest)| rest.split_once('(')).map(|(name, _)| name);
                    tests.extend(name.filter(|_| marked || has_trials).map(str::to_owned));
                    marked = false;
                }
            }
        }
    }
    tests
}

/// A row of the ledger without a test is no row.
#[test]
fn the_ledger_names_tests_that_exist() {
    let tests = tests();
    let security = fs::read_to_string(top().join("SECURITY.md")).unwrap();
    let table = |title: &str| {
        let section = security.split(&format!("## {title}")).nth(1).unwrap().split("\n## ").next().unwrap();
        section.lines().filter(|line| line.starts_with("| ")).skip(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let rows = [table("Claims"), table("Ledger")].concat();
    assert!(rows.len() > 50);
    for row in rows {
        let test = row.trim_end_matches(" |").rsplit("| ").next().unwrap().trim_matches('`');
        assert!(tests.contains(test), "no test for: {row}");
    }
}

/// Catches: an invariant that is written down and kept nowhere, or by no test.
#[test]
fn each_invariant_is_named_in_the_source_and_has_its_tests() {
    const NAMES: [&str; 14] = [
        "ONE-DOOR",
        "PURE-CORE",
        "HANDLE-ONLY",
        "TEXT-ROUTES-ONLY",
        "HINTS-NARROW",
        "ACCESS-SHRINKS",
        "CHECK-AT-USE",
        "TWO-ENDS",
        "NO-LAUNDERING",
        "ALL-OR-NOTHING",
        "TOLD",
        "NO-WAIT",
        "SILENT-OUTSIDE",
        "ONE-MOUTH",
    ];
    let architecture = fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap();
    let section = architecture.split("\n## Invariants\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<&str> = section.split("\n- ").skip(1).collect();
    let named: Vec<&str> = rows.iter().map(|row| row.split(':').next().unwrap()).collect();
    assert_eq!(named, NAMES);
    let mut texts = String::new();
    let mut stack = vec![top().join("src")];
    while let Some(at) = stack.pop() {
        if at.is_dir() {
            stack.extend(fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            texts += &fs::read_to_string(&at).unwrap();
        }
    }
    let tests = tests();
    for (name, row) in NAMES.iter().zip(rows) {
        assert!(texts.contains(name), "{name} is not named in src");
        let listed = row.rsplit('[').next().unwrap();
        let checks: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
        assert!(!checks.is_empty(), "{name} has no test");
        for check in checks {
            assert!(tests.contains(check), "{name}: there is no test {check}");
        }
    }
}

/// Catches: wrong implementations that nobody counted.
#[test]
fn the_mutants_are_as_many_as_promised() {
    let script = fs::read_to_string(top().join("tests/mutants/run")).unwrap();
    let count = script.lines().filter(|line| line.starts_with("    \"") && line.ends_with(": (")).count();
    let readme = fs::read_to_string(top().join("README.md")).unwrap();
    assert!(readme.contains(&format!("breaks the code in {count} places")), "there are {count}");
}

/// Catches: a test that leaves something out by itself, and passes where nothing may be left out (`CAP_ROOTS_NO_SKIPS`).
#[test]
fn what_is_skipped_goes_through_one_function() {
    let mut seen = 0;
    let mut stack: Vec<PathBuf> = ["src", "tests", "mcp-server/src", "mcp-server/tests", "rmcp/src", "rmcp/tests", "fuzz"]
        .map(|dir| top().join(dir))
        .into();
    while let Some(at) = stack.pop() {
        if at.is_dir() {
            stack.extend(fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with("target")));
        } else if at.extension().is_some_and(|extension| extension == "rs") && !at.ends_with("oracle/src/needs.rs") {
            let says = concat!("println!(\"", "skipped: ");
            assert!(!fs::read_to_string(&at).unwrap().contains(says), "{} skips by itself", at.display());
            seen += 1;
        }
    }
    assert!(seen > 200, "the sources were not found");
}

/// The stated Rust version is enough for every dependency that states one; clippy's `incompatible_msrv` checks our own code.
#[test]
fn no_dependency_needs_a_newer_rust() {
    let metadata =
        Command::new(env!("CARGO")).args(["metadata", "--format-version", "1", "--locked"]).current_dir(top()).output();
    let metadata = metadata.unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let version = |text: &str| text.split('.').map(|part| part.parse::<u64>().unwrap()).collect::<Vec<_>>();
    let packages = metadata["packages"].as_array().unwrap();
    let ours = packages.iter().find(|package| package["name"] == "cap-roots").unwrap()["rust_version"].as_str().unwrap();
    for package in packages {
        if let Some(theirs) = package["rust_version"].as_str() {
            assert!(version(theirs) <= version(&format!("{ours}.0")), "{} needs Rust {theirs}", package["name"]);
        }
    }
}
