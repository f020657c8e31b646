//! `edit_file` through the built server: the public faults of editing tools, one by one.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use support::{call, calls, client, code, eras, text, workspace};

fn edit(old: &str, new: &str) -> Value {
    json!([{ "oldText": old, "newText": new }])
}

fn every(old: &str, new: &str) -> Value {
    json!([{ "oldText": old, "newText": new, "replaceAll": true }])
}

/// EDIT-01, EDIT-02, EDIT-03, OWN-05: literal text, and line endings as the file has them.
#[tokio::test]
async fn edits_put_in_what_they_say_and_nothing_else() {
    let (_folder, ws) = workspace();
    let file = format!("{ws}/f");
    let client = client(eras()[1].clone(), &[&ws]).await;
    for (before, edits, after, shown) in [
        ("A", edit("A", "$& $$ $1 \\1"), "$& $$ $1 \\1", "+$& $$ $1 \\1\n"),
        ("x.x", every("x", "$$"), "$$.$$", "+$$.$$\n"),
        ("one\r\ntwo\r\n", edit("two", "TWO"), "one\r\nTWO\r\n", " one\r\n-two\r\n+TWO\r\n"),
        ("one\r\ntwo\r\n", edit("one\ntwo\n", "1\n2\n3\n"), "1\r\n2\r\n3\r\n", "+3\r\n"),
        ("\u{feff}a\n", edit("a", "b"), "\u{feff}b\n", "-\u{feff}a\n"),
        ("a b\n", json!([{ "oldText": "a", "newText": "b" }, { "oldText": "b b", "newText": "c" }]), "c\n", "-a b\n+c\n"),
        ("a\nb\n", edit("a\n", ""), "b\n", "@@ -1,2 +1,1 @@\n-a\n b\n"),
        ("a\n", every("a", "`````"), "`````\n", "``````diff\n"),
    ] {
        fs::write(&file, before).unwrap();
        let dry = call(&client, "edit_file", json!({ "path": "f", "edits": edits, "dryRun": true })).await;
        assert_eq!(fs::read_to_string(&file).unwrap(), before, "a dry run changed the file");
        let answer = call(&client, "edit_file", json!({ "path": "f", "edits": edits })).await;
        assert_eq!(fs::read_to_string(&file).unwrap(), after, "{}", text(&answer));
        assert_eq!(text(&answer), text(&dry));
        assert!(text(&answer).contains(shown) && text(&answer).contains("Index: f\n"), "{}", text(&answer));
        assert_eq!(answer.structured_content.as_ref().unwrap()["content"], text(&answer));
    }
    client.cancel().await.unwrap();
}

/// EDIT-05, EDIT-06, OWN-07, OWN-08: what cannot be meant is refused, says why, and changes nothing.
#[tokio::test]
async fn what_is_not_clear_is_refused() {
    let (_folder, ws) = workspace();
    let file = format!("{ws}/f");
    for era in eras() {
        let client = client(era, &[&ws]).await;
        for (before, edits, want, part) in [
            ("x = 1\nx = 1\n", edit("x = 1", "x = 2"), "ambiguous", "fits in 2 places, in lines 1, 2"),
            ("x = 1\n", edit("", "Z"), "invalid-argument", "the old text is empty"),
            ("a\n", Value::Null, "invalid-argument", "\"edits\" is missing; given: \"dryRun\", \"path\""),
            ("a\n\tb\n", edit("a\n    b", "c"), "no-match", "line"),
            ("def f():\n    if a:\n        return 1\n", edit("if a:\nreturn 1", "if b:\nreturn 2"), "no-match", "8 spaces"),
            (
                "a b\n",
                json!([{ "oldText": "a", "newText": "x" }, { "oldText": "absent", "newText": "y" }]),
                "no-match",
                "edit 2 of 2",
            ),
            ("a\n", json!("none"), "invalid-argument", "\"edits\" must be a list of objects"),
            ("a\n", json!([1]), "invalid-argument", "\"edits\" must be a list of objects"),
            ("a\n", json!([{ "oldText": "a" }]), "invalid-argument", "\"newText\" is missing"),
        ] {
            fs::write(&file, before).unwrap();
            for dry in [false, true] {
                let answer = call(&client, "edit_file", json!({ "path": "f", "edits": edits, "dryRun": dry })).await;
                assert_eq!(code(&answer).as_deref(), Some(want), "{edits}: {}", text(&answer));
                assert!(text(&answer).contains(part), "{}", text(&answer));
                assert_eq!(fs::read_to_string(&file).unwrap(), before);
            }
        }
        fs::write(&file, b"\xff\xfe a").unwrap();
        for (path, want) in [("f", "not-utf8"), ("missing", "not-found"), ("sub", "is-a-directory"), ("l", "outside-roots")] {
            for dry in [false, true] {
                let answer = call(&client, "edit_file", json!({ "path": path, "edits": edit("a", "b"), "dryRun": dry })).await;
                assert_eq!(code(&answer).as_deref(), Some(want), "{path}: {}", text(&answer));
            }
        }
        let answer = call(&client, "edit_file", json!({ "path": "a.txt", "edits": [] })).await;
        assert!(text(&answer).starts_with("```diff\nIndex: a.txt\n") && text(&answer).ends_with("modified\n```\n\n"));
        client.cancel().await.unwrap();
    }
    assert_eq!(fs::read_to_string(format!("{ws}/../out/k.txt")).unwrap(), "SECRET");
}

/// EDIT-07: what a page showed can be given back as it is.
#[tokio::test]
async fn what_was_read_can_be_edited() {
    let (_folder, ws) = workspace();
    fs::write(format!("{ws}/f"), "a\r\n\tb  \r\n  c\r\nd\r\n").unwrap();
    let client = client(eras()[0].clone(), &[&ws]).await;
    let page = call(&client, "read_text_file", json!({ "path": "f", "offset": 2, "limit": 2 })).await;
    let answer = call(&client, "edit_file", json!({ "path": "f", "edits": edit(text(&page), "B") })).await;
    assert_ne!(answer.is_error, Some(true), "{}", text(&answer));
    assert_eq!(fs::read_to_string(format!("{ws}/f")).unwrap(), "a\r\nB\r\nd\r\n");
    client.cancel().await.unwrap();
}

/// EDIT-08, EDIT-09, EDIT-10, OWN-06: edits at once are all there, in files of any size, however the file is called.
#[tokio::test]
async fn edits_at_once_all_survive() {
    let (_folder, ws) = workspace();
    symlink("f", format!("{ws}/to_f")).unwrap();
    symlink("..", format!("{ws}/sub/up")).unwrap();
    let spellings = ["f".to_owned(), format!("{ws}/f"), "root://ws/f".to_owned(), "to_f".to_owned(), "sub/up/f".to_owned()];
    for era in eras() {
        let client = client(era, &[&ws]).await;
        for width in [0, 2000] {
            let filler = "x".repeat(width);
            let line = |number: usize, word: &str| format!("{word} {number:03} {filler}\n");
            let before: String = (1..=100).map(|number| line(number, "line")).collect();
            for changed in [vec![25, 50, 75], (1..=20).map(|number| number * 5).collect::<Vec<_>>()] {
                fs::write(format!("{ws}/f"), &before).unwrap();
                let asked = changed.iter().zip(spellings.iter().cycle()).map(|(number, path)| {
                    let (old, new) = (format!("line {number:03} "), format!("LINE {number:03} "));
                    ("edit_file", json!({ "path": path, "edits": edit(&old, &new) }))
                });
                for answer in calls(&client, asked.collect()).await {
                    assert_ne!(answer.is_error, Some(true), "{}", text(&answer));
                }
                let want = (1..=100).map(|number| line(number, if changed.contains(&number) { "LINE" } else { "line" }));
                assert!(fs::read_to_string(format!("{ws}/f")).unwrap() == want.collect::<String>(), "{width} {changed:?}");
            }
        }
        client.cancel().await.unwrap();
    }
}

/// Catches: one edit without effect that spoils the others, or that is answered as if it had one; a file that is written for nothing; the texts
/// of an edit beside the list, which are not seen.
#[tokio::test]
async fn an_edit_without_effect_is_told_and_spoils_nothing() {
    let (_folder, ws) = workspace();
    let file = format!("{ws}/a.txt");
    let client = client(eras()[0].clone(), &[&ws]).await;
    let same = json!({ "oldText": "two", "newText": "two" });
    let time = || fs::metadata(&file).unwrap().modified().unwrap();
    let before = time();
    let answer = call(&client, "edit_file", json!({ "path": "a.txt", "edits": [same] })).await;
    assert!(text(&answer).ends_with("modified\n```\n\n"), "{}", text(&answer));
    assert!(answer.content[1].as_text().unwrap().text.starts_with("[The edit changes nothing: its new text is the old one"));
    assert_eq!(time(), before);
    let edits = json!([{ "oldText": "one", "newText": "1" }, same, { "oldText": "three", "newText": "3" }]);
    let answer = call(&client, "edit_file", json!({ "path": "a.txt", "edits": edits })).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "1\ntwo\n3\n");
    assert!(answer.content[1].as_text().unwrap().text.starts_with("[Of 3 edits these change nothing: 2. "));
    for arguments in [
        json!({ "path": "a.txt", "oldText": "two", "newText": "2" }),
        json!({ "path": "a.txt", "oldText": "two", "newText": "2", "edits": [] }),
    ] {
        let answer = call(&client, "edit_file", arguments).await;
        assert_eq!(code(&answer).as_deref(), Some("invalid-argument"));
        assert!(text(&answer).contains("belong in \"edits\"") && text(&answer).contains("[{\"oldText\": "), "{}", text(&answer));
    }
    client.cancel().await.unwrap();
}

/// A diff over the answer's limit is cut, and the edit is made all the same.
#[tokio::test]
async fn a_long_diff_is_cut_visibly() {
    let (_folder, ws) = workspace();
    fs::write(format!("{ws}/f"), "a\n".repeat(10_000)).unwrap();
    let client = client(eras()[0].clone(), &["--max-text-bytes", "2000", &ws]).await;
    let answer = call(&client, "edit_file", json!({ "path": "f", "edits": every("a", "b") })).await;
    assert!(text(&answer).len() < 2200 && text(&answer).contains("The diff is cut here"), "{}", text(&answer));
    assert_eq!(fs::read_to_string(format!("{ws}/f")).unwrap(), "b\n".repeat(10_000));
    client.cancel().await.unwrap();
}
