//! Starts that are not as they were meant: what stops one, what is only told, and that the operator is told what to do, on one line.
//!
//! Catches: a restriction of the file that is lost without a word; a slip in one directory that takes all others away; a message of several
//! lines, or without what to do.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{SERVER, run};

const LIST: &[&str] = &["--call", "list_allowed_directories"];

/// Directories `p`, `q` and a link to `p`, beside `etc/c.toml`.
fn place(config: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    for dir in ["p", "q", "etc"] {
        fs::create_dir(base.join(dir)).unwrap();
    }
    fs::write(base.join("p/a.txt"), "text").unwrap();
    symlink("p", base.join("plink")).unwrap();
    fs::write(base.join("etc/c.toml"), config).unwrap();
    (folder, base)
}

/// The only line of a start that is refused.
fn refused(base: &Path, arguments: &[&str]) -> String {
    let output = Command::new(SERVER).current_dir(base).args(arguments).stdin(Stdio::null()).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.lines().count(), output.stdout.len()), (Some(2), 1, 0), "{arguments:?}: {err}");
    err.strip_prefix("cap-roots-mcp: ").unwrap_or_else(|| panic!("{err}")).trim_end().to_owned()
}

/// The stricter one of two roots may be the second one.
#[test]
fn one_directory_is_one_root_of_the_file() {
    let root = |path: &str, more: &str| format!("[[root]]\npath = \"{path}\"\n{more}\n");
    for second in ["../p", "../p/", "../q/../p", "../plink"] {
        let more = "name = \"n\"\naccess = \"read\"\nrules = { \".env\" = \"none\" }\nexpires = \"1h\"";
        let (_folder, base) = place(&[root("../p", "access = \"write\""), root(second, more)].concat());
        for options in [&["--config", "etc/c.toml"][..], &["--config", "etc/c.toml", "q"], &["--config", "etc/c.toml", "p"]] {
            let line = refused(&base, &[LIST, options].concat());
            let at = format!("{}:5:8: ", base.join("etc/c.toml").display());
            assert!(line.starts_with(&at) && line.contains("the root in line 2; leave one of them"), "{second}: {line}");
        }
    }
}

/// The command line wins, and what the file kept the directory from is named.
#[test]
fn what_the_command_line_takes_from_the_file_is_told() {
    let strict =
        "[[root]]\npath = \"../p\"\nname = \"x\"\naccess = \"read\"\nrules = { \".env\" = \"none\" }\nexpires = \"1h\"\n";
    let kept = "[[root]]\npath = \"../p\"\nname = \"x\"\naccess = \"write\"\nno_delete = true\n";
    let loose = "[[root]]\npath = \"../p\"\nname = \"x\"\naccess = \"write\"\n";
    for (config, arguments, lost) in [
        (strict, &["p"][..], "access read, its rules, its end"),
        (strict, &["plink"], "access read, its rules, its end"),
        (strict, &["--rw", "x=q"], "access read, its rules, its end"),
        (strict, &["--ro", "p"], "its rules, its end"),
        (strict, &["--ro", "p", "--rule", ".env=none"], "its end"),
        (kept, &["p"], "no_delete"),
        (kept, &["--no-delete", "p"], ""),
        (kept, &["--ro", "p"], ""),
        (loose, &["p"], ""),
        (strict, &["q"], ""),
    ] {
        let (_folder, base) = place(config);
        let (_, err, status) = run(&base, &[LIST, &["--config", "etc/c.toml"], arguments].concat());
        assert_eq!(status, 0, "{err}");
        let at = format!("{}:2:8, so what that said does not hold: {lost}; ", base.join("etc/c.toml").display());
        assert_eq!(
            (err.contains(&at), err.lines().count()),
            (!lost.is_empty(), usize::from(!lost.is_empty())),
            "{arguments:?}: {err}"
        );
    }
    let (help, ..) = run(Path::new("."), &["--help"]);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("with its access, rules, no_delete and end"), "{help}");
}

/// A directory by two spellings is served once where that changes nothing.
#[test]
fn a_directory_twice_is_served_once() {
    let (_folder, base) = place("");
    for (arguments, count) in [
        (&["p", "p/"][..], 1),
        (&["p", "plink"], 1),
        (&["q", "p", "./p", "plink"], 2),
        (&["--ro", "p", "--ro", "plink"], 1),
        (&["gone", "gone/", "p"], 1),
    ] {
        let (out, err, status) = run(&base, &[LIST, arguments].concat());
        assert_eq!((status, out.matches(base.to_str().unwrap()).count()), (0, count), "{arguments:?}: {out}{err}");
        assert!(err.contains("is the same directory as") && err.contains("served once"), "{err}");
    }
    for arguments in [["p", "--ro=plink"], ["--ro=p", "p"], ["--rw=a=p", "p"], ["p", "--rw=a=p"], ["--rw=a=p", "--rw=b=plink"]] {
        let line = refused(&base, &[LIST, &arguments].concat());
        assert!(line.starts_with("invalid-argument: ") && line.contains("the same directory"), "{line}");
    }
}

/// One directory that is a file does not stop the others, and is told.
#[test]
fn a_file_among_directories_is_told_and_left_out() {
    let (_folder, base) = place("");
    for arguments in [["p", "p/a.txt"], ["p/a.txt", "p"]] {
        let (out, err, status) = run(&base, &[LIST, &arguments].concat());
        assert_eq!((status, out.lines().count(), err.lines().count()), (0, 2, 1), "{out}{err}");
        assert!(err.contains("p/a.txt is not a directory, and is not served"), "{err}");
        assert_eq!(err.contains("without a leading slash start at p;"), arguments[1] == "p", "{err}");
    }
    for arguments in [&["p/a.txt"][..], &["p/a.txt", "p/a.txt"]] {
        assert!(refused(&base, &[LIST, arguments].concat()).starts_with("not-a-directory: "));
    }
    // Its absence is told once.
    assert!(refused(&base, &["gone"]).starts_with("root-absent: "));
}

/// Which of the operator's files lies in a directory; none of them may.
#[test]
fn the_file_that_lies_in_a_directory_is_named() {
    let (_folder, base) = place("[[root]]\npath = \"../p\"\naccess = \"read\"\n");
    fs::copy(base.join("etc/c.toml"), base.join("q/c.toml")).unwrap();
    fs::write(base.join("q/token"), "0123456789abcdef\n").unwrap();
    for (arguments, what, file) in [
        (&["--config", "q/c.toml", "--audit", "etc/log", "q"][..], "configuration", "q/c.toml"),
        (&["--config", "etc/c.toml", "--audit", "q/log", "q"], "audit", "q/log"),
    ] {
        let line = refused(&base, arguments);
        assert!(line.ends_with(&format!("(the {what} file: {})", base.join(file).display())), "{line}");
    }
    let line = refused(&base, &["--http", "0", "--config", "etc/c.toml", "--http-token-file", "q/token", "q"]);
    assert!(line.ends_with("(the token file: q/token)"), "{line}");
}

#[test]
fn misuse_is_one_line_with_what_to_do() {
    let (_folder, base) = place("");
    for (arguments, part) in [
        (&["--max-depth", "-1", "p"][..], "--max-depth cannot be \"-1\"; give a whole number from 1 to 512"),
        (
            &["--max-text-bytes", "1MB", "p"],
            "--max-text-bytes cannot be \"1MB\"; give a number of bytes from 1 on, such as 1048576",
        ),
        (&["--max-media-bytes", "-1", "p"], "; give a number of bytes"),
        (&["--max-seconds", "0", "p"], "--max-seconds cannot be \"0\"; give a whole number of seconds from 1 on"),
        (&["--max-entries", "99999999999", "p"], "; give a whole number from 1 to 4294967295"),
        (&[""], "the path of a directory is empty, perhaps by a variable that is not set; give it as DIR"),
        (&["--ro", "", "p"], "the path of a directory is empty"),
        (&["--rul", "x=none", "p"], "there is no option --rul; --rule may be meant; see --help"),
        (&["--nonsense\nx", "p"], "there is no option --nonsense"),
        (&["--rw"], "--rw needs a value; give it as --rw <[NAME=]DIR>"),
        (&["--config", "", "p"], "--config needs a value"),
        (&["--config", "a", "--config", "b"], "--config is given twice; give it once"),
        (&["--no-delete=x", "p"], "--no-delete takes no value"),
        (&["--protect", "defalt", "p"], "--protect cannot be \"defalt\"; default may be meant; give one of default, none"),
        (&["--call", "x", "--explain", "y", "p"], " does not go with "),
        (&["--args", "{}", "p"], "--call <TOOL> is missing, which another option needs; add it, or leave that one out"),
        (&["--http", "here", "p"], "--http cannot be \"here\"; not an IP address with a port, such as 127.0.0.1:8000"),
        (&["--ignore", "[", "p"], "; write \\ before a character of a glob that stands for itself"),
        (&["--ignore", "", "p"], "it names nothing; give a name or glob, such as node_modules/"),
        (&["--ignore", "# x", "p"], "it is a comment; write \\# for"),
    ] {
        let line = refused(&base, arguments);
        assert!(line.starts_with("invalid-argument: ") && line.contains(part), "{arguments:?}: {line}");
        assert!(line.contains("; "), "{line}");
    }
    assert_eq!(run(&base, &["--version"]).2, 0);
}

/// Whoever serves a whole disk or home for writing may, and hears of it once.
#[test]
fn a_wide_directory_is_told() {
    let (_folder, base) = place("");
    for (arguments, told) in [
        (&["/"][..], "clients may write in the whole disk (/)"),
        (&["q"], "clients may write in the whole home directory ("),
        (&["."], "clients may write in a directory with the home directory in it ("),
        (&["--ro", "/"], ""),
        (&["p"], ""),
    ] {
        let output =
            Command::new(SERVER).current_dir(&base).env("HOME", base.join("q")).args(LIST).args(arguments).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{err}");
        assert!(err.contains(told) && err.lines().count() == usize::from(!told.is_empty()), "{arguments:?}: {err}");
    }
}
