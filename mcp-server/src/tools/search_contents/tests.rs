use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cap_roots::{Admission, Event, Observer};

use super::*;
use crate::walk::tests::context;

/// Room for so many operations.
struct Room(AtomicUsize);

impl Observer for Room {
    fn observe(&self, _: &Event<'_>) {}

    fn admit(&self, _: Operation) -> Admission {
        let taken = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(1));
        if taken.is_ok() { Admission::Admitted } else { Admission::Busy }
    }
}

fn asked(context: &Context, arguments: Value) -> Result<String> {
    let answer = run(context, &Work::default(), &Arguments(arguments.as_object().unwrap().clone()))?;
    Ok(answer.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.clone()).collect::<Vec<_>>().join("\n"))
}

/// Catches: what was declined counted as unreadable or as not there, so that a part of the answer looks like the whole.
#[test]
fn what_is_declined_ends_the_call() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a/b/c", "a/d", "a/e/f"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("file"), "needle").unwrap();
        fs::write(folder.path().join(name).join("left-out"), "needle").unwrap();
        fs::write(folder.path().join(name).join(".gitignore"), "left-out\n").unwrap();
    }
    fs::write(folder.path().join(".gitignore"), "d\n").unwrap();
    let mut context = context(folder.path(), &[]);
    let roots = context.roots.clone();
    for path in [".", "a/b", "a/e/f/file"] {
        let given = json!({ "path": path, "pattern": "needle", "respectGitignore": true });
        context.roots = roots.clone();
        let whole = asked(&context, given.clone()).unwrap();
        let mut declined = 0;
        for room in 0.. {
            context.roots = roots.observed_by(Arc::new(Room(room.into())));
            match asked(&context, given.clone()) {
                Ok(answer) => {
                    assert_eq!(answer, whole, "{path} {room}");
                    break;
                }
                Err(error) => assert_eq!(error.code(), "busy"),
            }
            declined += 1;
        }
        assert!(declined > 0 && (path != "." || declined > 12), "{path} {declined}");
    }
}

/// Catches: a name that makes a line of another file, and a URI in its place that leads nowhere.
// Windows has no names with a colon.
#[cfg(unix)]
#[test]
fn a_name_forges_no_line_and_leads_back() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a:3:x-4-y"), "needle\n").unwrap();
    let context = context(folder.path(), &[]);
    let want = "root://ws/a%3A3%3Ax%2D4-y:1:needle";
    for path in [".", "a:3:x-4-y", "root://ws/a%3A3%3Ax%2D4-y"] {
        let given = json!({ "path": path, "pattern": "needle", "contextLines": 1 });
        assert_eq!(asked(&context, given).unwrap(), want, "{path}");
    }
}

/// Catches: an answer that is called cut at its last match, globs that fit nothing taken for text that is nowhere, and files told of that a rule
/// hides and that are not there.
#[test]
fn notes_say_what_is_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("a"), "needle\nhay\nhay\nhay\n").unwrap();
    fs::write(folder.path().join("b"), "needle\nhay\nhay\nneedle\n").unwrap();
    let mut context = context(folder.path(), &[]);
    for lines in 0..3 {
        let once = |path: &str| {
            asked(&context, json!({ "path": path, "pattern": "needle", "maxResults": 1, "contextLines": lines })).unwrap()
        };
        assert!(!once("a").contains("Cut"), "{}", once("a"));
        assert!(once("b").contains("Cut after 1 as asked") && once(".").contains("Cut after 1 as asked"));
    }
    let include = |glob: &str| asked(&context, json!({ "path": ".", "pattern": "nowhere", "include": [glob] })).unwrap();
    assert!(include("*.rs").contains("No file fits include.") && !include("a").contains("include"));

    let grant = cap_roots::Grant::new(folder.path())
        .name("ws")
        .access(cap_roots::Access::Read)
        .rule(".gitignore", cap_roots::Access::None);
    context.roots = cap_roots::Roots::builder().grant(grant).open().unwrap();
    let answer =
        asked(&context, json!({ "path": ".", "pattern": "needle", "filesOnly": true, "respectGitignore": true })).unwrap();
    assert_eq!(answer, "a\nb");
}

/// Catches: an answer in which files that were searched ahead are told of out of their order, twice or not at all, or that counts what lies behind its
/// end; and a cursor from where the walk had gone ahead.
#[test]
fn whoever_helps_the_answers_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    // Under wine each listing takes milliseconds.
    for number in 0..if cfg!(windows) { 20 } else { 120 } {
        let dir = folder.path().join(format!("d{}", number % 7));
        fs::create_dir_all(&dir).unwrap();
        let content = match number % 5 {
            0 => "needle\nhay\nneedle\n".to_owned(),
            1 => "hay\0".to_owned(),
            2 => "hay\n".repeat(30_000) + "needle",
            _ => "hay\n".to_owned(),
        };
        fs::write(dir.join(format!("{number:03}")), content).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", dir.join(format!("{number:03}-link"))).unwrap();
        fs::write(dir.join(format!("{number:03}.out")), "needle").unwrap();
    }
    let context = context(folder.path(), &[]);
    for (most, lines) in [(1, 0), (3, 1), (7, 0), (1_000, 2)] {
        let pages = |alone: u64, helpers: usize| {
            let mut given = json!({
                "path": ".", "pattern": "needle", "maxResults": most, "contextLines": lines, "excludePatterns": ["*.out"]
            });
            let mut pages: Vec<(String, String)> = Vec::new();
            loop {
                let answer = run_with(&context, &Work::default(), &Arguments(given.as_object().unwrap().clone()), alone, helpers);
                let answer = answer.unwrap();
                let texts: Vec<_> =
                    answer.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.clone()).collect();
                let notice = texts.get(1).cloned().unwrap_or_default();
                let cursor = notice
                    .split_once("\"cursor\": \"")
                    .and_then(|(_, rest)| rest.split_once('"'))
                    .map(|(cursor, _)| cursor.to_owned());
                pages.push((texts[0].clone(), cursor.iter().fold(notice, |notice, cursor| notice.replace(cursor, "..."))));
                match cursor {
                    Some(cursor) => given["cursor"] = cursor.into(),
                    None => return pages,
                }
            }
        };
        let alone = pages(0, 0);
        assert!(alone.len() > 1 || most == 1_000);
        for helpers in 1..4 {
            for before in [0, 5] {
                assert_eq!(pages(before, helpers), alone, "{most} {helpers} {before}");
            }
        }
    }
}
