//! Configuration files.
//!
//! Catches: a key that is accepted and ignored; a default that means more; a place that is counted in bytes; a line that repeats the
//! file; a cut-off file that grants more than the whole one; a file that the granted directories hold, also by a link on the way to it; a
//! schema that does not say what the parser takes.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

use std::fs;
use std::path::Path;

use cap_roots::config::{ClientRoots, Config, ConfigError, Landlock, Protect, json_schema};
use cap_roots::{Access, Roots};
use proptest::prelude::*;
use serde_json::Value;

const EXAMPLE: &str = include_str!("../mcp-server/examples/config.toml");

/// A root with this in it as well, from line 4 on.
fn root(more: &str) -> String {
    format!("[[root]]\npath = \"x\"\naccess = \"read\"\n{more}")
}

fn refusal(text: &str) -> ConfigError {
    let error = Config::parse(text).map(|config| panic!("accepted as {config:?}: {text}")).unwrap_err();
    let line = error.to_string();
    assert!(!line.contains(char::is_control) && line.len() < 600, "{line}");
    error
}

/// The example says everything, and is read as it is meant.
#[test]
fn the_example_is_read() {
    let config = Config::parse(EXAMPLE).unwrap();
    assert_eq!(config.protect(), Some(Protect::Default));
    assert_eq!(config.client_roots(), Some(ClientRoots::Off));
    assert_eq!(config.landlock(), Some(Landlock::Auto));
    assert!(!config.hide_host_paths() && !config.one_file_system());
    assert_eq!(config.tools().map(<[String]>::len), Some(7));
    assert_eq!(config.disabled_tools(), ["delete_file"]);
    assert_eq!(config.ignore(), ["*.min.js", "/fixtures/"]);
    assert!(!config.ignore_common() && !config.gitignore());
    assert_eq!(config.audit(), Some(Path::new("~/.local/state/cap-roots/audit.jsonl")));
    let limits = config.limits();
    assert_eq!(limits.max_text_bytes.map(u64::from), Some(1 << 20));
    assert_eq!(limits.max_media_bytes.map(u64::from), Some(16 << 20));
    assert_eq!(limits.max_seconds.map(u64::from), Some(60));
    assert_eq!(limits.max_entries.map(u32::from), Some(50_000));
    assert_eq!(limits.max_depth.map(u32::from), Some(60));
    assert_eq!(limits.max_read_bytes.map(u64::from), Some(64 << 20));
    let rules = |rules: &[(&str, Access)]| rules.iter().map(|(glob, access)| ((*glob).to_owned(), *access)).collect::<Vec<_>>();
    assert_eq!(config.rules(), rules(&[("**/.env*", Access::None), ("*.key", Access::None), ("node_modules/", Access::Read)]));
    let [project, docs] = config.roots() else { panic!("{config:?}") };
    assert_eq!((project.path(), project.name()), (Path::new("~/project"), Some("project")));
    assert_eq!((project.access(), project.no_delete()), (Access::Write, true));
    assert_eq!(project.rules(), rules(&[("/config/secret", Access::None), ("/release", Access::Read)]));
    assert_eq!((docs.path(), docs.name()), (Path::new("/usr/share/doc"), Some("docs")));
    assert_eq!((docs.access(), docs.no_delete(), docs.rules().len()), (Access::Read, false, 0));
}

/// Each with its line, its column and a part of what is said.
#[test]
fn what_is_wrong_is_said_with_its_place() {
    let long = format!("protect = \"{}\"", "s".repeat(500));
    let deep = format!("a = {}", "[".repeat(100_000));
    for (text, line, column, part) in [
        ("", 1, 1, "nothing is in it"),
        (" \n# protect = \"none\"\n", 1, 1, "nothing is in it"),
        ("\u{feff}", 1, 1, "nothing is in it"),
        ("\u{feff}\u{feff}", 1, 1, "nothing is in it"),
        ("[[root]]\npath = \"x\"", 1, 1, "access is missing in [[root]]; write access = \"list\""),
        (&root("[[root]]\naccess = \"read\""), 4, 1, "path is missing in [[root]]; write path ="),
        ("[[root]]\npth = \"x\"", 2, 1, "unknown key \"pth\" in [[root]]; path may be meant; known keys: path, name, access"),
        ("[[roots]]\npath = \"x\"", 1, 3, "unknown key \"roots\"; root may be meant; known keys: must_end, rules,"),
        ("\u{feff}protekt = 1", 1, 1, "unknown key \"protekt\"; protect may be meant"),
        ("\r\nhide-host-paths = true", 2, 1, "hide_host_paths may be meant"),
        (
            "[limits]\nseconds = 0",
            2,
            1,
            "unknown key \"seconds\" in [limits]; max_seconds may be meant; known keys: max_read_bytes",
        ),
        ("landlok = \"auto\"", 1, 1, "unknown key \"landlok\"; landlock may be meant"),
        ("landlock = \"on\"", 1, 12, "landlock cannot be \"on\"; write landlock = \"auto\", \"require\" or \"off\""),
        ("color = true", 1, 1, "unknown key \"color\"; known keys:"),
        ("one_filesystem = true", 1, 1, "one_file_system may be meant"),
        ("one_file_system = 1", 1, 19, "one_file_system cannot be 1; write one_file_system = true or"),
        ("audit = true", 1, 9, "audit cannot be true; write audit = \"FILE\""),
        ("audit = \"\"", 1, 9, "audit cannot be \"\""),
        ("audit = \"a\\u0000\"", 1, 9, "audit cannot be"),
        ("adit = \"x\"", 1, 1, "audit may be meant"),
        ("[end]\nx = 1", 2, 1, "unknown key \"x\"; known keys: none"),
        ("\"a\\nb\" = 1", 1, 1, "unknown key \"a\\u{a}b\""),
        ("[root]\npath = \"x\"", 1, 1, "root cannot be [root]; write one table [[root]] for each directory"),
        ("root = [1]", 1, 9, "root cannot be 1"),
        ("[[root]]\npath = 1", 2, 8, "path cannot be 1; write path = \"DIRECTORY\""),
        ("[[root]]\naccess = \"read\"\npath = \"\"", 3, 8, "path cannot be \"\""),
        ("[[root]]\naccess = \"read\"\npath = \"a\\u0000\"", 3, 8, "path cannot be"),
        (
            "[[root]]\npath = \"ü\"\naccess = \"rw\"",
            3,
            10,
            "access cannot be \"rw\"; write access = \"list\", \"read\" or \"write\"",
        ),
        ("[[root]]\npath = \"x\"\naccess = \"Read\"", 3, 10, "access cannot be \"Read\""),
        ("[[root]]\npath = \"x\"\naccess = \"none\"", 3, 10, "access cannot be \"none\"; write access = \"list\", \"read\" or"),
        ("root = [{ path = \"üü\", access = 3 }]", 1, 33, "access cannot be 3"),
        (&root("access = \"write\""), 4, 1, "the key access is there twice"),
        (&root("name = \"A\""), 4, 8, "name cannot be \"A\"; write name with 1 to 64"),
        (&root("name = \"..\""), 4, 8, "name cannot be \"..\""),
        (&root(&format!("name = \"a\"\n{}", root("name = \"a\""))), 8, 8, "the name \"a\" is taken by the root in line 4"),
        (&root("no_delete = \"true\""), 4, 13, "no_delete cannot be \"true\"; write no_delete = true"),
        (&root("expires = 2027-01-01T00:00:00"), 4, 11, "expires has no offset"),
        (&root("expires = 2027-01-01"), 4, 11, "expires has no offset"),
        (&root("expires = \"2027-01-01T00:00:00Z\""), 4, 11, "expires is a date and time in quotes"),
        (&root("expires = \"0s\""), 4, 11, "expires is no time at all"),
        (&root("expires = \"1 month\""), 4, 11, "expires is no time after the start"),
        (&root("expires = 8"), 4, 11, "expires is neither"),
        (&root("rules = { \"a/**b\" = \"none\" }"), 4, 11, "the glob \"a/**b\" cannot be read: in a rule, ** stands alone"),
        (&root("[root.rules]\nb = \"none\"\nc = \"x\""), 6, 5, "the rule \"c\" cannot be \"x\"; write rules as in"),
        ("rules = { \"**/.env\" = \"nothing\" }", 1, 23, "the rule \"**/.env\" cannot be \"nothing\""),
        ("rules = { '{a}' = \"none\" }", 1, 11, "the glob \"{a}\" cannot be read"),
        ("rules = [\"a\"]", 1, 9, "rules cannot be [\"a\"]"),
        ("rules = { a = \"none\", a = \"read\" }", 1, 23, "the key a is there twice"),
        ("protect = \"all\"", 1, 11, "protect cannot be \"all\"; write protect = \"default\" or protect = \"none\""),
        (&long, 1, 11, "protect cannot be \"sssssssssssssssssssssssssssssssssssssss…; write"),
        ("protect = \"\"\"a\nsecret\"\"\"", 1, 11, "protect cannot be \"\"\"a…; write"),
        ("client_roots = \"on\"", 1, 16, "client_roots cannot be \"on\"; write client_roots = \"off\""),
        ("client_roots = true", 1, 16, "client_roots cannot be true"),
        ("rules = 1979-05-27", 1, 9, "rules cannot be 1979-05-27; write rules as in"),
        ("root = [1979-05-27]", 1, 9, "root cannot be 1979-05-27"),
        ("hide_host_paths = 1", 1, 19, "hide_host_paths cannot be 1"),
        ("limits = 3", 1, 10, "limits cannot be 3; write limits as a table"),
        ("[limits]\nmax_seconds = 0", 2, 15, "max_seconds cannot be 0; write a whole number from 1 on"),
        ("[limits]\nmax_seconds = -1", 2, 15, "max_seconds cannot be -1"),
        ("[limits]\nmax_seconds = 1.5", 2, 15, "max_seconds cannot be 1.5"),
        ("[limits]\nmax_seconds = \"60\"", 2, 15, "max_seconds cannot be \"60\""),
        ("[limits]\nmax_entries = 4294967296", 2, 15, "max_entries cannot be 4294967296"),
        ("[limits]\nmax_entries = 0", 2, 15, "a whole number from 1 on, as in max_entries = 50000"),
        ("[limits]\nmax_text_bytes = \"1MB\"", 2, 18, "a number of bytes from 1 on, as in max_text_bytes = 1048576"),
        ("http = 8000", 1, 1, "unknown key \"http\"; HTTP is for the command line alone, as --http; known keys: must_end"),
        ("[limits]\nmax_seconds = 99999999999999999999", 2, 15, ""),
        ("[limits]\nmax_depth = 513", 2, 13, "max_depth cannot be 513; write a whole number from 1 to 512"),
        ("[limits]\nmax_depth = 0", 2, 13, "max_depth cannot be 0; write a whole number from 1 to 512"),
        ("tools = 1", 1, 9, "tools cannot be 1; write tools = [\"read_text_file\""),
        ("tools = [\"a\", 2]", 1, 15, "tools cannot be 2; write tools = ["),
        ("disable_tools = \"a\"", 1, 17, "disable_tools cannot be \"a\"; write disable_tools = ["),
        ("disabled_tools = []", 1, 1, "disable_tools may be meant"),
        ("must_end = 1", 1, 12, "must_end cannot be 1"),
        (
            "must_end = true\n[[root]]\npath = \"x\"\naccess = \"read\"\n",
            5,
            1,
            "[end], and it is missing, perhaps because the file was cut off",
        ),
        ("must_end = true\n[end]\n[limits]\n", 2, 1, "[end] is not the last"),
        ("[end]\n[[root]]\npath = \"x\"\naccess = \"read\"", 1, 1, "[end] is not the last"),
        ("# x\nprotect = \"none\"\nmust_end = true\n[end]", 3, 1, "must_end is not the first key"),
        ("[[root]]\npath = \"ü", 2, 10, "the file ends too early, perhaps because it was cut off"),
        ("[[root]", 1, 8, "the file ends too early"),
        (&root("rules = { \"a/\" = \"none\", "), 4, 25, "the file ends too early"),
        ("[[root]]\npath = \"ü\"; access = \"read\"", 2, 11, "this is not TOML"),
        ("{\"root\": []}", 1, 1, "this is not TOML"),
        ("root:\n  - path: x", 1, 6, "this is not TOML"),
        (&deep, 1, 85, "this is not TOML"),
    ] {
        let error = refusal(text);
        let (shown, text) = (error.to_string(), text.chars().take(300).collect::<String>());
        assert!(shown.contains(part), "{text}\n  {shown}\n  {part}");
        assert_eq!((error.line(), error.column()), (Some(line), Some(column)), "{text}\n  {shown}");
        assert!(shown.starts_with(&format!("configuration:{line}:{column}: ")), "{shown}");
        assert!(!shown.contains("secret") && !shown.contains(&"s".repeat(50)), "{shown}");
    }
}

/// Catches: a place that is counted from 0, or that is another one's; for faults that are seen only by whoever opens or knows more.
#[test]
fn places_are_known_later() {
    let text = format!("tools = [\"a\", \"b\"]\ndisable_tools = [\n  \"c\"]\n{}{}", root("\n"), root("name = \"n\""));
    let config = Config::parse(&text).unwrap();
    let places: Vec<_> = config.roots().iter().map(|root| (root.place().line(), root.place().column())).collect();
    assert_eq!(places, [(5, 8), (9, 8)]);
    for (tool, place) in [("a", Some("1:10")), ("b", Some("1:15")), ("c", Some("3:3")), ("d", None)] {
        assert_eq!(config.place_of_tool(tool).map(|place| place.to_string()).as_deref(), place, "{tool}");
    }
}

/// Catches: a directory that is granted twice, and keeps what the first says: the second may be stricter.
#[test]
fn one_directory_has_one_root() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("x")).unwrap();
    let file = folder.path().join("etc");
    fs::create_dir(&file).unwrap();
    let file = file.join("c.toml");
    for other in ["../x", "../x/", "../etc/../x", "../link"] {
        #[cfg(unix)]
        let _ = std::os::unix::fs::symlink("x", folder.path().join("link"));
        let two = format!(
            "[[root]]\npath = \"../x\"\naccess = \"write\"\n[[root]]\npath = \"{other}\"\nname = \"n\"\naccess = \"read\"\n"
        );
        fs::write(&file, two).unwrap();
        let error = Config::load(&file).unwrap().builder().open().unwrap_err();
        assert_eq!((error.code(), error.root_name()), ("invalid-argument", Some("n")), "{other} {error}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let large = file("large", &[b'#'; (1 << 20) + 1]);
    let utf16 = file("utf16", b"# \xc3\xbc\n# \xc3\xbc\xff\xfe\n");
    for (path, rest) in [
        (folder.path().join("nowhere"), ": the file does not exist; correct its path"),
        (folder.path().to_owned(), ": this is a directory; name a file"),
        (large, ": the file is larger than 1048576 bytes; name a configuration"),
        (utf16, ":2:4: this is not UTF-8; save the file as UTF-8"),
        (file("empty", b""), ":1:1: nothing is in it, perhaps because it was cut off; write it again, or do without it"),
        (file("bad", b"protect = 1"), ":1:11: protect cannot be 1; write protect = \"default\" or protect = \"none\""),
    ] {
        let line = Config::load(&path).unwrap_err().to_string();
        assert_eq!(line, format!("{}{rest}", path.display()));
    }
    assert!(Config::load(file("full", &[b'#'; 1 << 20])).unwrap_err().to_string().contains("nothing is in it"));
}

/// NO-WAIT: opening a pipe that nobody writes to would wait for ever.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(Config::load(&pipe).unwrap_err().to_string().ends_with(": this is a pipe, socket or device; name a file"));
}

/// Relative paths start where the file is named, `~/` at home, and `parse` leaves them alone.
#[test]
fn relative_paths_start_at_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir_all(base.join("etc/here")).unwrap();
    fs::create_dir_all(base.join("dotfiles")).unwrap();
    let roots =
        ["here", "../there", "~/x", "~", "/abs", "~x"].map(|path| format!("[[root]]\npath = \"{path}\"\naccess = \"list\"\n"));
    fs::write(base.join("dotfiles/c.toml"), roots.concat()).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("../dotfiles/c.toml", base.join("etc/c.toml")).unwrap();
    #[cfg(not(unix))]
    fs::copy(base.join("dotfiles/c.toml"), base.join("etc/c.toml")).unwrap();
    let config = Config::load(base.join("etc/c.toml")).unwrap();
    let paths: Vec<_> = config.roots().iter().map(|root| root.path().to_owned()).collect();
    let want = [base.join("etc/here"), base.join("etc/../there"), "~/x".into(), "~".into(), "/abs".into(), base.join("etc/~x")];
    assert_eq!(paths, want);
    assert_eq!(Config::parse(&roots.concat()).unwrap().roots()[0].path(), Path::new("here"));
}

/// What the builder makes of it: access, deletion, rules of each kind, ends, the limit.
#[test]
fn what_is_written_holds() {
    let folder = tempfile::tempdir().unwrap();
    for dir in ["etc", "etc/a/.git", "etc/b", "etc/c", "etc/d"] {
        fs::create_dir_all(folder.path().join(dir)).unwrap();
    }
    for file in ["a/x", "a/.env", "a/.git/config", "a/own", "b/x", "b/own", "c/x", "d/x"] {
        fs::write(folder.path().join("etc").join(file), "text").unwrap();
    }
    let text = "rules = { \".env\" = \"none\" }\nlimits.max_read_bytes = 4\n\
        [[root]]\npath = \"a\"\naccess = \"write\"\nno_delete = true\nrules = { own = \"list\" }\n\
        [[root]]\npath = \"b\"\naccess = \"read\"\nname = \"second\"\n\
        [[root]]\npath = \"c\"\naccess = \"write\"\nexpires = 2001-01-01T00:00:00Z\n\
        [[root]]\npath = \"d\"\naccess = \"read\"\nexpires = \"1d\"\n";
    let open = |text: &str| {
        let path = folder.path().join("etc/c.toml");
        fs::write(&path, text).unwrap();
        Config::load(path).unwrap().builder().open().unwrap()
    };
    let code = |result: cap_roots::Result<()>| result.map_or_else(|error| error.code(), |()| "");
    let roots = open(text);
    let read = |roots: &Roots, path: &str| code(roots.read(path).map(drop));
    for (path, want) in [
        ("x", ""),
        ("own", "protected"),
        (".env", "protected"),
        ("root://second/x", ""),
        ("root://second/own", ""),
        ("root://c/x", "expired"),
        ("root://d/x", ""),
    ] {
        assert_eq!(read(&roots, path), want, "{path}");
    }
    assert_eq!(code(roots.remove_file("x")), "not-granted");
    assert_eq!(code(roots.write("x", "12345")), "");
    assert_eq!(read(&roots, "x"), "too-large");
    assert_eq!(code(roots.write("root://second/x", "a")), "not-granted");
    assert_eq!(code(roots.write(".git/config", "a")), "protected");
    let roots = open(&format!("protect = \"none\"\n{}", text.replace("max_read_bytes = 4", "max_read_bytes = 5")));
    assert_eq!((code(roots.write(".git/config", "a")), read(&roots, "x")), ("", ""));
    assert_eq!(code(Config::parse("protect = \"none\"").unwrap().builder().open().unwrap().read("x").map(drop)), "no-roots");
}

/// The builder keeps the file out of the roots, also one that only a link leads to.
#[test]
fn a_root_does_not_hold_its_own_configuration() {
    let folder = tempfile::tempdir().unwrap();
    for dir in ["etc", "ws"] {
        fs::create_dir(folder.path().join(dir)).unwrap();
    }
    let open = |file: &str, path: &str| {
        fs::write(folder.path().join("ws/c.toml"), root("").replace('x', path)).unwrap();
        Config::load(folder.path().join(file)).unwrap().builder().open()
    };
    let error = open("ws/c.toml", ".").unwrap_err();
    assert_eq!((error.code(), error.root_name()), ("invalid-argument", Some("ws")));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../ws/c.toml", folder.path().join("etc/c.toml")).unwrap();
        assert_eq!(open("etc/c.toml", "../ws").unwrap_err().code(), "invalid-argument");
        open("etc/c.toml", "../nowhere").unwrap();
    }
    open("ws/c.toml", "../etc").unwrap();
}

/// Each key of the schema is in the example, and is taken by the parser; no other key is.
#[test]
fn the_schema_is_what_the_parser_takes() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let example: toml::Table = toml::from_str(EXAMPLE).unwrap();
    let roots = example["root"].as_array().unwrap();
    let tables = [
        (&schema, "", vec![&example]),
        (&schema["$defs"]["Root"], "[[root]]\n", roots.iter().map(|root| root.as_table().unwrap()).collect()),
        (&schema["$defs"]["Limits"], "[limits]\n", vec![example["limits"].as_table().unwrap()]),
    ];
    for (schema, header, examples) in tables {
        assert_eq!(schema["additionalProperties"], false);
        let mut keys: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        for key in &keys {
            assert!(examples.iter().any(|table| table.contains_key(key)), "{key} is not in the example");
            let description = schema["properties"][key]["description"].as_str();
            assert!(description.is_some_and(|text| text.len() > 20 && !text.contains('\n')), "{key}: {description:?}");
            // Of a wrong type, so that the parser has to say how the key is written.
            let rest = if key == "expires" { "path = \"x\"\naccess = \"read\"\n" } else { "" };
            let line = refusal(&format!("{header}{rest}{key} = 1979-05-27T07:32:00")).to_string();
            let known = line.contains(&format!("{key} cannot be 1979")) || key == "expires" && line.contains("no offset");
            assert!(known && line.contains("; write ") && !line.contains("a value that fits"), "{line}");
        }
        let line = refusal(&format!("{header}zzz = 1")).to_string();
        let mut known: Vec<_> = line.rsplit("known keys: ").next().unwrap().split(", ").map(str::to_owned).collect();
        keys.sort();
        known.sort();
        assert_eq!(known, keys);
        for table in examples {
            assert!(table.keys().all(|key| keys.contains(key)));
        }
    }
    assert_eq!(schema["$defs"]["Root"]["required"], serde_json::json!(["path", "access"]));
    assert_eq!(schema["required"], Value::Null);
}

/// Whether `part` grants no more than `whole`: the same roots from the first on, each with all that restricts it, and all rules.
fn is_no_more(part: &Config, whole: &Config) -> bool {
    let roots = part.roots().iter().zip(whole.roots()).all(|(part, whole)| {
        (part.path(), part.name(), part.access()) == (whole.path(), whole.name(), whole.access())
            && (part.no_delete(), part.rules()) == (whole.no_delete(), whole.rules())
            && part.time_left() <= whole.time_left().map(|time| time + std::time::Duration::from_secs(1))
            && part.time_left().is_some() == whole.time_left().is_some()
    });
    let tools = (part.tools(), part.disabled_tools()) == (whole.tools(), whole.disabled_tools());
    let flags = |config: &Config| (config.hide_host_paths(), config.one_file_system());
    let all = tools && part.rules() == whole.rules() && flags(part) == flags(whole);
    part.roots().len() <= whole.roots().len() && roots && (part.roots().is_empty() || all && part.limits() == whole.limits())
}

/// Catches: a key that is read and not handed on. A handle of the system would know no bound.
#[test]
fn the_builder_knows_whether_roots_end_with_their_mounts() {
    let folder = tempfile::tempdir().unwrap();
    for (bounded, kept) in [(true, Some("not-granted")), (false, None)] {
        let root = format!("[[root]]\npath = {:?}\naccess = \"write\"\n", folder.path().to_str().unwrap());
        let text = format!("protect = \"none\"\none_file_system = {bounded}\n{root}");
        let dir = Config::parse(&text).unwrap().builder().open().unwrap().open_dir(".").unwrap();
        assert_eq!(dir.into_std_without_revocation().err().map(|error| error.code()), kept);
    }
}

/// With `must_end`, each cut but one behind the last word is an error.
#[test]
fn a_file_that_must_end_is_whole_or_refused() {
    let end = EXAMPLE.trim_end().len();
    assert!(EXAMPLE.trim_end().ends_with("\n[end]"));
    for cut in 0..=EXAMPLE.len() {
        match Config::parse(&EXAMPLE[..cut]) {
            Ok(config) => {
                assert!(cut >= end, "cut at {cut}");
                assert!(is_no_more(&config, &Config::parse(EXAMPLE).unwrap()) && config.roots().len() == 2);
            }
            Err(error) => assert!(cut < end && !error.to_string().contains('\n'), "cut at {cut}: {error}"),
        }
    }
}

/// Without it, a file in an order that gives last loses whole roots or is refused, and no root loses what restricts it.
#[test]
fn a_file_that_gives_last_loses_roots_only() {
    let text = "hide_host_paths = true\nrules = { \".env\" = \"none\", \"*.key\" = \"list\" }\nlimits.max_seconds = 1234\n\
        [[root]]\npath = \"/srv/a/inner\"\nno_delete = true\nrules = { \"x/\" = \"read\" }\nname = \"in\"\naccess = \"read\"\n\
        [[root]]\nexpires = 2027-01-01T00:00:00.25+01:30\npath = \"/srv/a\"\nrules.y = \"none\"\naccess = \"write\"\n";
    let whole = Config::parse(text).unwrap();
    let mut parts = [0, 0, 0];
    for cut in 0..text.len() {
        if let Ok(part) = Config::parse(&text[..cut]) {
            assert!(is_no_more(&part, &whole), "cut at {cut}: {}", &text[..cut]);
            parts[part.roots().len()] += 1;
        }
    }
    // Behind each line, or the last one without its end.
    assert!(parts.iter().all(|count| *count > 0) && parts[1] < 4 && parts[2] < 4, "{parts:?}");
}

proptest! {
    /// Whatever is done to the text, the answer is a configuration or one line.
    #[test]
    fn any_text_is_read_or_refused_in_one_line(at in 0..EXAMPLE.len(), cut in 0..40usize, put in "\\PC{0,8}|[\\[\\]{}\"'=.,#\n\r\t 0-9a-z-]{0,12}") {
        let end = (at + cut).min(EXAMPLE.len());
        let text = format!("{}{put}{}", &EXAMPLE[..at], &EXAMPLE[end..]);
        if let Err(error) = Config::parse(&text) {
            let shown = error.to_string();
            prop_assert!(!shown.contains(char::is_control) && shown.len() < 800, "{}", shown);
            let lines: Vec<_> = text.split('\n').collect();
            let line = lines.get(error.line().unwrap() - 1);
            prop_assert!(line.is_some_and(|line| error.column().unwrap() <= line.chars().count() + 1), "{}", shown);
        }
    }
}
