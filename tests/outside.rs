//! Files of the operator that no root may hold.
//!
//! Catches: a check of the path's text; one that looks at the name's directory only, or only at where the last link leads; one that a root
//! which appears later gets past; one for roots that can be written alone.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use cap_roots::{Access, Roots};

/// `etc/c`, and a root `ws` with `sub/c`; links of all kinds between them.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    for dir in ["etc/deep", "ws/sub", "ws-2", "other"] {
        fs::create_dir_all(base.join(dir)).unwrap();
    }
    for file in ["etc/c", "etc/deep/c", "ws/c", "ws/sub/c", "ws-2/c"] {
        fs::write(base.join(file), "").unwrap();
    }
    for (to, link) in [
        ("../ws/sub/c", "etc/to-file"),
        ("../etc/c", "ws/out"),
        ("../ws/out", "etc/through"),
        ("../etc", "ws/up"),
        ("ws/up", "through-dir"),
        ("etc", "alias"),
        ("ws", "ws-alias"),
        ("round", "round"),
    ] {
        symlink(to, base.join(link)).unwrap();
    }
    symlink(base.join("ws/out"), base.join("etc/through-absolute")).unwrap();
    (folder, base)
}

fn opened(base: &Path, file: &str, access: Access) -> Result<Roots, cap_roots::Error> {
    Roots::builder()
        .named("etc2", base.join("other"), Access::Write)
        .named("ws", base.join("ws"), access)
        .keep_outside(base.join(file))
        .open()
}

#[test]
fn a_root_does_not_hold_the_file() {
    let (_folder, base) = folder();
    for access in [Access::List, Access::Read, Access::Write] {
        for inside in [
            "ws/c",
            "ws/sub/c",
            "ws/sub/../../etc/c",
            "ws/not-yet",
            "ws-alias/c",
            "etc/to-file",
            "ws/out",
            "etc/through",
            "etc/through-absolute",
            "through-dir/c",
        ] {
            let error = opened(&base, inside, access).map(drop).unwrap_err();
            assert_eq!((error.code(), error.root_name()), ("invalid-argument", Some("ws")), "{inside}");
            let text = error.to_string();
            assert!(text.contains("kept outside of all roots") && !text.contains(base.to_str().unwrap()), "{text}");
        }
        for outside in ["etc/c", "etc/deep/c", "ws-2/c", "alias/c", "etc/deep/../c", "etc/not-yet"] {
            opened(&base, outside, access).unwrap();
        }
    }
    for (file, want) in [("nowhere/c", "not-found"), ("round", "symlink-loop"), ("etc/c/d", "not-a-directory")] {
        let error = opened(&base, file, Access::Read).map(drop).unwrap_err();
        assert!(error.code() == want && error.to_string().contains(file), "{error}");
    }
}

/// The root is above: everything is below `/`.
#[test]
fn a_root_further_up_holds_it_too() {
    let (_folder, base) = folder();
    for above in [base.clone(), base.parent().unwrap().to_owned(), "/".into()] {
        let error = Roots::builder().root(&above, Access::Read).keep_outside(base.join("etc/c")).open().map(drop).unwrap_err();
        assert_eq!(error.code(), "invalid-argument", "{}", above.display());
    }
}

/// A root that was missing at the start and whose place the directory of the file takes.
#[test]
fn a_root_that_appears_later_is_not_that_directory() {
    let (_folder, base) = folder();
    let open = |keep: bool| {
        let builder = Roots::builder().named("late", base.join("late"), Access::Read);
        let builder = if keep { builder.keep_outside(base.join("alias/deep/c")) } else { builder };
        builder.open().unwrap()
    };
    let (kept, free) = (open(true), open(false));
    assert_eq!(kept.read("c").unwrap_err().code(), "root-absent");
    fs::rename(base.join("etc"), base.join("late")).unwrap();
    assert_eq!(free.read("c").unwrap(), b"");
    assert_eq!(kept.read("c").unwrap_err().code(), "root-absent");
    fs::rename(base.join("late"), base.join("etc")).unwrap();
    fs::rename(base.join("ws"), base.join("late")).unwrap();
    assert_eq!(kept.read("c").unwrap(), b"");
}
