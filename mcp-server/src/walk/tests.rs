//! Walks in this process, where it can be seen what is opened, when a call is stopped, and what happens between two calls.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_roots::{Access, Grant, Roots};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::arguments::Arguments;
use crate::context::{Limits, Walks};
use crate::tools::Chosen;

pub(crate) fn context(dir: &Path, ignored: &[&str]) -> Context {
    let roots = Roots::builder().grant(Grant::new(dir).name("ws").access(Access::Read)).open().unwrap();
    Context {
        offered: crate::tools::offered(&roots, Access::Read, false, &Chosen::of(None, std::iter::empty()).unwrap()),
        roots,
        limits: Limits { text_bytes: 1 << 20, media_bytes: 1, entries: 1_000, depth: 60 },
        walks: Walks {
            ignored: Ignored::of(ignored.iter().copied()).unwrap(),
            gitignore: false,
            cursors: Some(Cursors::new().unwrap()),
        },
        hide_host_paths: false,
        audit: crate::audit::Audit::default(),
    }
}

fn arguments(value: Value) -> Arguments {
    Arguments(value.as_object().unwrap().clone())
}

fn plant(dir: &Path, names: &[&str]) {
    for name in names {
        let path = dir.join(name);
        match name.strip_suffix('/') {
            Some(_) => fs::create_dir_all(path).unwrap(),
            None => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
    }
}

/// The paths of one call that shows at most `most`, and its cursor.
fn page(context: &Context, given: &Value, most: usize) -> Result<(Vec<PathBuf>, Option<String>)> {
    let given = arguments(given.clone());
    let work = Work::default();
    let ask = Ask::read(context, "a_tool", &given, Anchor::PlainNamesFloat)?;
    let mut walking = Walking::start(context, &work, ask)?;
    let mut shown = Vec::new();
    while let Some(step) = walking.next()? {
        let Step::Entry(found) = step else { continue };
        if shown.len() == most {
            walking.end(Cut::Entries(most));
            break;
        }
        shown.push(found.path().to_owned());
    }
    let report = walking.report();
    let cursor = report.why_cut().and_then(|(_, cursor)| cursor.map(str::to_owned));
    Ok((shown, cursor))
}

/// All pages; `between` sees what was shown last before it is gone on.
fn pages(context: &Context, given: &Value, most: usize, mut between: impl FnMut(&Path)) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut given = given.clone();
    loop {
        let (shown, cursor) = page(context, &given, most).unwrap();
        all.extend(shown);
        let Some(cursor) = cursor else { return all };
        between(all.last().unwrap());
        given["cursor"] = cursor.into();
        assert!(all.len() < 10_000, "it goes round");
    }
}

proptest! {
    // Under wine each listing takes milliseconds.
    #![proptest_config(ProptestConfig { cases: if cfg!(windows) { 1 } else { 24 }, ..ProptestConfig::default() })]

    /// Catches: an entry that is shown twice or never where a walk goes on: in a directory that was shown last, behind a name that is
    /// the beginning of another one, among names that are left out.
    #[test]
    fn going_on_shows_each_entry_once(
        paths in prop::collection::vec(prop::collection::vec("[ab][-.]?", 1..5), 1..25),
        most in 1_usize..6,
        gitignore: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        for path in &paths {
            let dir = folder.path().join(path.join("/"));
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("file"), "").unwrap();
        }
        fs::write(folder.path().join(".gitignore"), "/b.\na-/*\n!a-/b\n").unwrap();
        let context = context(folder.path(), &["b-"]);
        let given = json!({ "path": ".", "excludePatterns": ["b/a"], "respectGitignore": gitignore });
        let whole = page(&context, &given, usize::MAX).unwrap().0;
        let unique: BTreeSet<_> = whole.iter().collect();
        prop_assert_eq!(unique.len(), whole.len());
        prop_assert_eq!(pages(&context, &given, most, |_| {}), whole);
    }

    /// Catches: a mark that is looked for instead of compared with.
    #[test]
    fn what_is_removed_at_the_mark_takes_nothing_else_with_it(most in 1_usize..5, directory: bool) {
        let folder = tempfile::tempdir().unwrap();
        plant(folder.path(), &["a/b/c", "a/b/d", "a/e", "a-b", "f/g/h", "i"]);
        let context = context(folder.path(), &[]);
        let given = json!({ "path": "." });
        let whole = page(&context, &given, usize::MAX).unwrap().0;
        let mut removed = BTreeSet::new();
        let shown = pages(&context, &given, most, |last| {
            let path = if directory { last.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(last) } else { last };
            let full = folder.path().join(path);
            if full.is_dir() { fs::remove_dir_all(&full).unwrap() } else { fs::remove_file(&full).unwrap() }
            removed.insert(path.to_owned());
        });
        let left: Vec<_> = whole.iter().filter(|path| shown.contains(path) || !removed.iter().any(|gone| path.starts_with(gone))).cloned().collect();
        prop_assert_eq!(shown, left);
    }
}

/// Catches: directories before the mark that are gone through again.
#[test]
fn what_lies_before_the_mark_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), &["a/x", "b/c/x", "b/d/x", "e/x"]);
    let context = context(folder.path(), &[]);
    let (_, cursor) = page(&context, &json!({ "path": "." }), 6).unwrap();
    let given = arguments(json!({ "path": ".", "cursor": cursor }));
    let work = Work::default();
    let ask = Ask::read(&context, "a_tool", &given, Anchor::PlainNamesFloat).unwrap();
    let mut walking = Walking::start(&context, &work, ask).unwrap();
    assert!(matches!(walking.next(), Ok(Some(Step::Entry(found))) if found.path() == Path::new("b/d/x")));
    // a, b, b/c, b/d, b/d/x
    assert_eq!(work.seen(), 5);
}

/// Catches: names that are left out only once the directory was opened.
#[test]
fn what_is_left_out_is_not_gone_into() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), &["x/a", "y/a", "z/a", "inner/z/a", "k/a", ".gitignore"]);
    fs::write(folder.path().join(".gitignore"), "z\n").unwrap();
    let context = context(folder.path(), &["y"]);
    let given = arguments(json!({ "path": ".", "excludePatterns": ["x", "k/**"], "respectGitignore": true }));
    let work = Work::default();
    let mut walking =
        Walking::start(&context, &work, Ask::read(&context, "t", &given, Anchor::PlainNamesFloat).unwrap()).unwrap();
    let mut shown = Vec::new();
    while let Some(Step::Entry(found)) = walking.next().unwrap() {
        shown.push(found.path().to_str().unwrap().to_owned());
    }
    assert_eq!(shown, [".gitignore", "inner", "k"]);
    // .gitignore, inner, inner/z, k, x, y, z
    assert_eq!(work.seen(), 7);
    let notice = walking.report().notice(None).unwrap();
    let want = "1 name is left out by excludePatterns. 1 name is left out by the operator's ignore list. 2 names are left out by .gitignore.";
    assert_eq!(notice, want);
}

/// Catches: a directory that the operator's list or a `.gitignore` leaves out, and that is shown since the call leaves out its content.
#[test]
fn leaving_out_more_shows_no_more() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), &["x/a", "y/a", "z/a", ".gitignore"]);
    fs::write(folder.path().join(".gitignore"), "z\n").unwrap();
    let context = context(folder.path(), &["y"]);
    let given = json!({ "path": ".", "excludePatterns": ["x/**", "y/**", "z/**"], "respectGitignore": true });
    let (shown, _) = page(&context, &given, 9).unwrap();
    assert_eq!(shown, [".gitignore", "x"].map(PathBuf::from));
}

/// Catches: a walk that goes on once nobody waits for it.
#[test]
fn a_stopped_walk_ends_with_the_next_entry() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), &["a", "b", "c", "d/e"]);
    let context = context(folder.path(), &[]);
    let given = arguments(json!({ "path": ".", "excludePatterns": ["c"] }));
    let work = Work::default();
    let mut walking =
        Walking::start(&context, &work, Ask::read(&context, "t", &given, Anchor::PlainNamesFloat).unwrap()).unwrap();
    assert!(walking.next().unwrap().is_some() && walking.next().unwrap().is_some());
    work.stop();
    assert_eq!(walking.next().unwrap_err().code(), "cancelled");
    assert_eq!(work.seen(), 2);
}

/// Catches: a walk that is over its time and gives nothing, an answer of nothing with a cursor that leads back to it, and a deadline with no time to
/// answer in.
#[test]
fn a_walk_that_is_late_ends_with_a_cursor() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), &["a", "b", "c"]);
    let context = context(folder.path(), &[]);
    let late = |work: &Work, given: &Value, before: usize| -> Result<Option<String>> {
        let given = arguments(given.clone());
        let mut walking =
            Walking::start(&context, work, Ask::read(&context, "a_tool", &given, Anchor::PlainNamesFloat).unwrap()).unwrap();
        for _ in 0..before {
            assert!(walking.next().unwrap().is_some());
        }
        std::thread::sleep(Duration::from_millis(20));
        while !work.is_late() {
            std::thread::sleep(Duration::from_millis(20));
        }
        if walking.next()?.is_some() {
            return Ok(None);
        }
        let report = walking.report();
        let (cut, cursor) = report.why_cut().unwrap();
        assert_eq!(cut, Cut::Time);
        Ok(cursor.map(str::to_owned))
    };
    let given = json!({ "path": "." });
    let cursor = late(&Work::until(Duration::from_secs(2)), &given, 2).unwrap().unwrap();
    let on = json!({ "path": ".", "cursor": cursor });
    assert_eq!(page(&context, &on, 9).unwrap().0, [Path::new("c")]);
    assert_eq!(late(&Work::until(Duration::ZERO), &given, 0).unwrap_err().code(), "timeout");
    // Going on, it shows one more, whatever lies before that.
    assert_eq!(late(&Work::until(Duration::ZERO), &on, 0).unwrap(), None);
    assert!(!Work::default().is_late() && !Work::until(Duration::from_secs(60)).is_late());
}

/// Catches: an entry that was answered in part and is passed over, or begun anew.
#[test]
fn an_entry_may_be_answered_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), &["a", "b", "c"]);
    let context = context(folder.path(), &[]);
    let mut given = json!({ "path": "." });
    let mut seen = Vec::new();
    for _ in 0..4 {
        let asked = arguments(given.clone());
        let work = Work::default();
        let mut walking =
            Walking::start(&context, &work, Ask::read(&context, "t", &asked, Anchor::PlainNamesFloat).unwrap()).unwrap();
        while let Some(Step::Entry(found)) = walking.next().unwrap() {
            seen.push((found.path().to_str().unwrap().to_owned(), found.within()));
            if found.path() == Path::new("b") && found.within() < 2 {
                walking.end_at(walking.here(&found), Cut::Bytes(1), found.within() + 1);
                break;
            }
        }
        match walking.report().why_cut() {
            Some((_, cursor)) => given["cursor"] = cursor.unwrap().into(),
            None => break,
        }
    }
    let want = [("a", 0), ("b", 0), ("b", 1), ("b", 2), ("c", 0)];
    assert_eq!(seen, want.map(|(name, within)| (name.to_owned(), within)));
}

/// Catches: a cursor that counts for roots or rules that do not hold any more.
#[test]
fn a_cursor_gives_no_authority() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), &["ws/a", "ws/sub/b", "ws/sub/c"]);
    let mut context = context(&folder.path().join("ws"), &[]);
    let given = json!({ "path": "." });
    let (_, cursor) = page(&context, &given, 2).unwrap();
    let on = json!({ "path": ".", "cursor": cursor });
    assert_eq!(page(&context, &on, 9).unwrap().0.len(), 2);
    let whole = context.roots.clone();
    context.roots = whole.within("sub").unwrap();
    assert_eq!(page(&context, &on, 9).unwrap_err().code(), "stale-cursor");
    context.roots = whole.clone();
    whole.revoke();
    assert_eq!(page(&context, &on, 9).unwrap_err().code(), "revoked");
}

/// Catches: lists judged by the text of a path that leads elsewhere, through `..` or through a link.
#[cfg(unix)]
#[test]
fn lists_are_judged_by_the_names_that_a_path_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), &["venv/x", "d/y", "secret/z", "real/kept", "real/gone", "real/secret/z", "linked/secret/z"]);
    fs::write(folder.path().join("venv/.gitignore"), "*\n").unwrap();
    fs::write(folder.path().join("real/.gitignore"), "gone\n").unwrap();
    fs::write(folder.path().join("d/.gitignore"), "kept\n").unwrap();
    std::os::unix::fs::symlink("../real", folder.path().join("d/rl")).unwrap();
    let context = context(folder.path(), &["/secret", "/linked/secret"]);
    let shown = |path: &str| -> Vec<PathBuf> {
        page(&context, &json!({ "path": path, "respectGitignore": true }), usize::MAX).unwrap().0
    };
    let whole = shown(".");
    assert!(whole.contains(&"d/y".into()) && !whole.iter().any(|path| path.starts_with("secret")), "{whole:?}");
    for path in ["venv/..", "d/..", "d/rl/..", "root://ws/d/.."] {
        assert_eq!(shown(path), whole, "{path}");
    }
    let real = [".gitignore", "kept", "secret", "secret/z"].map(PathBuf::from);
    assert_eq!(shown("real"), real);
    for path in ["d/rl", "d/rl/", "d/rl/../real", "venv/../d/rl"] {
        assert_eq!(shown(path), real, "{path}");
    }
}
