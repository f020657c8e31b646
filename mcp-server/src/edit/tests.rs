//! Edits in each way that a text can be written: line ends, marks, characters, several at once.

use super::*;
use cap_roots::ErrorKind;
use proptest::prelude::*;

const LIMIT: usize = 1 << 20;

fn edit(old: &str, new: &str) -> Edit {
    Edit { old: old.to_owned(), new: new.to_owned(), all: false }
}

fn every(old: &str, new: &str) -> Edit {
    Edit { all: true, ..edit(old, new) }
}

fn applied(text: &str, edits: &[Edit]) -> Result<Edited> {
    apply(text, edits, LIMIT, &Work::default())
}

#[track_caller]
fn gives(text: &str, edits: &[Edit], want: &str) {
    assert_eq!(applied(text, edits).unwrap().text, want);
}

#[track_caller]
fn refused(text: &str, edits: &[Edit], kind: ErrorKind, part: &str) {
    let error = applied(text, edits).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn replacement_is_literal() {
    gives("A", &[edit("A", "$& $$ $1 \\1 \\n")], "$& $$ $1 \\1 \\n");
    gives("x.x x", &[every("x", "$$")], "$$.$$ $$");
    gives("a.c abc", &[edit("a.c", "ok")], "ok abc");
    gives("text", &[], "text");
    gives("a b c", &[edit(" b", "")], "a c");
}

#[test]
fn edits_build_on_each_other_or_none_is_made() {
    gives("one two", &[edit("one", "1"), edit("1 two", "1 2")], "1 2");
    refused("a b", &[edit("a", "x"), edit("q", "r"), edit("b", "y")], ErrorKind::NoMatch, "edit 2 of 3: the old text is not");
    refused(
        "a\nb",
        &[edit("a", "b\n1"), edit("b", "c")],
        ErrorKind::Ambiguous,
        "lines 1, 3 (in the text that the edits before it left)",
    );
}

#[test]
fn what_cannot_be_meant_is_refused() {
    refused("x = 1", &[edit("", "Z")], ErrorKind::InvalidArgument, "invalid-argument: the old text is empty");
}

/// Catches: one edit without effect that spoils the others, or is not told; and one whose old text is not even there taken for such.
#[test]
fn an_edit_without_effect_is_told() {
    for (text, edits, want, idle) in [
        ("x", vec![edit("x", "x")], "x", vec![1]),
        ("x\r\ny", vec![edit("x\ny", "x\r\ny")], "x\r\ny", vec![1]),
        ("\u{feff}x", vec![edit("\u{feff}x", "x")], "\u{feff}x", vec![1]),
        ("a b", vec![edit("a", "x"), edit("b", "b"), edit("x", "y")], "y b", vec![2]),
        ("a", vec![edit("a", "b"), edit("b", "a")], "a", vec![]),
    ] {
        assert_eq!(applied(text, &edits).unwrap(), Edited { text: want.to_owned(), idle }, "{edits:?}");
    }
    refused("x", &[edit("y", "y")], ErrorKind::NoMatch, "not in the file");
}

#[test]
fn several_places_are_refused_with_their_lines() {
    refused("x = 1\nx = 1\n", &[edit("x = 1", "x = 2")], ErrorKind::Ambiguous, "fits in 2 places, in lines 1, 2;");
    let text = "a\n\n".repeat(12);
    refused(&text, &[edit("a", "b")], ErrorKind::Ambiguous, "12 places, in lines 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and 2 more;");
    refused("x\naaa", &[edit("aa", "b")], ErrorKind::Ambiguous, "overlap, from line 2 on");
    gives("aaa", &[every("aa", "b")], "ba");
}

#[test]
fn no_match_names_the_line_and_not_its_text() {
    let error = applied("fn main() {\n\tsecret_call();\n}\n", &[edit("    secret_call();", "x")]).unwrap_err().to_string();
    assert!(
        error.starts_with("no-match: the old text is not in the file; the nearest line is 2: from column 1 the file has 1 tab")
    );
    assert!(error.ends_with("; read the file again and copy the text exactly") && !error.contains("secret"), "{error}");
    refused("def f():\n    if a:\n        return 1", &[edit("if a:\nreturn 1", "x")], ErrorKind::NoMatch, "8 spaces");
}

#[test]
fn line_endings_stay() {
    gives("one\r\ntwo\r\n", &[edit("two", "TWO")], "one\r\nTWO\r\n");
    gives("one\r\ntwo\r\nthree\r\n", &[edit("two\nthree", "TWO\nTHREE\nFOUR")], "one\r\nTWO\r\nTHREE\r\nFOUR\r\n");
    gives("one\r\ntwo\r\n", &[edit("\ntwo", "\nTWO\nmore")], "one\r\nTWO\r\nmore\r\n");
    gives("one\r\ntwo", &[edit("two", "1\n2\n")], "one\r\n1\r\n2\r\n");
    gives("one\ntwo\n", &[edit("one\r\ntwo", "1\r\n2\r\n3")], "1\n2\n3\n");
    gives("a\r\n\r\nb\r\n", &[every("\n", "\n\n")], "a\r\n\r\n\r\n\r\nb\r\n\r\n");
    gives("one", &[edit("one", "1\r\n2\n")], "1\r\n2\n");
    gives("a\r\nb", &[edit("a", "x\ry")], "x\ry\r\nb");
    refused("one\r\ntwo", &[every("\r", "")], ErrorKind::NoMatch, "between the CR and the LF");
}

#[test]
fn mixed_endings_stay_where_they_are() {
    let mixed = "a\r\nb\nc\r\nd\n";
    gives(mixed, &[edit("a\nb\nc", "1\n2\n3")], "1\r\n2\n3\r\nd\n");
    gives(mixed, &[edit("c", "x\ny")], "a\r\nb\nx\r\ny\r\nd\n");
    gives(mixed, &[edit("d", "x\ny")], "a\r\nb\nc\r\nx\ny\n");
    // Literally first, unless all are meant.
    gives("a\r\nb a\nb", &[edit("a\nb", "1\n2")], "a\r\nb 1\n2");
    gives("a\r\nb a\nb", &[every("a\nb", "1\n2")], "1\r\n2 1\n2");
}

#[test]
fn the_byte_order_mark_stays() {
    gives("\u{feff}hello\r\n", &[edit("hello", "bye")], "\u{feff}bye\r\n");
    gives("\u{feff}a\r\nb\r\n", &[edit("\u{feff}a\nb", "x\ny")], "\u{feff}x\r\ny\r\n");
    gives("\u{feff}a", &[edit("\u{feff}", "\u{feff}b")], "\u{feff}ba");
    gives("\u{feff}a", &[edit("a", "")], "\u{feff}");
    refused("a\u{feff}", &[edit("\u{feff}a", "b")], ErrorKind::NoMatch, "nearest line is 1");
}

#[test]
fn growth_is_bounded() {
    let text = "x".repeat(1000);
    let grow = [every("x", &"y".repeat(1000)), every("y", &"z".repeat(1000))];
    assert_eq!(apply(&text, &grow, 999_999, &Work::default()).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(apply(&text, &grow, 1_000_000, &Work::default()).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(apply(&text, &grow[..1], 1_000_000, &Work::default()).unwrap().text.len(), 1_000_000);
    assert_eq!(apply("ab", &[edit("a", "bc")], 2, &Work::default()).unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn a_stopped_call_ends() {
    let work = Work::default();
    work.stop();
    assert_eq!(apply("a", &[edit("a", "b")], LIMIT, &work).unwrap_err().kind(), ErrorKind::Cancelled);
}

/// Texts in which little text fits often.
fn small() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof!["a", "b", " ", "\n", "\r\n", "\r", "é", "\t", "A", "`", "\u{feff}"], 0..24)
        .prop_map(|parts: Vec<String>| parts.concat())
}

fn in_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

proptest! {
    #[test]
    fn one_place_is_replaced_as_the_standard_library_does(
        before in "[abé\n ]{0,20}", old in "[abé\n ]{0,3}q[abé\n ]{0,3}", after in "[abé\n ]{0,20}", new in "[abX$\n]{0,8}"
    ) {
        let text = format!("{before}{old}{after}");
        prop_assert_eq!(applied(&text, &[edit(&old, &new)]).unwrap().text, text.replacen(&old, &new, 1));
    }

    #[test]
    fn all_are_replaced_as_the_standard_library_does(text in "[ab\n]{0,40}", old in "[ab\n]{1,3}", new in "[abX$\n]{0,8}X") {
        let text = format!("{text}{old}");
        prop_assert_eq!(applied(&text, &[every(&old, &new)]).unwrap().text, text.replace(&old, &new));
    }

    #[test]
    fn a_crlf_file_stays_one(text in small(), old in small(), new in small(), all in any::<bool>()) {
        let text = format!("{}\r\n", in_crlf(&text));
        if let Ok(after) = applied(&text, &[Edit { all, ..edit(&old, &new) }]) {
            prop_assert_eq!(in_crlf(&after.text), after.text);
        }
    }

    /// A CRLF file is edited as the LF file is.
    #[test]
    fn endings_make_no_difference(text in "[ab\\n]{0,30}", old in "[ab\\n]{1,4}", new in "[abX\\n]{0,6}", all in any::<bool>()) {
        let edits = [Edit { all, ..edit(&old, &new) }];
        let text = format!("{text}\n");
        match (applied(&text, &edits), applied(&in_crlf(&text), &edits)) {
            (Ok(plain), Ok(pairs)) => prop_assert_eq!((in_crlf(&plain.text), plain.idle), (pairs.text, pairs.idle)),
            (Err(plain), Err(pairs)) => prop_assert_eq!(plain.to_string(), pairs.to_string()),
            (plain, pairs) => prop_assert!(false, "{:?} {:?}", plain, pairs),
        }
    }

    #[test]
    fn nothing_panics(text in small(), old in small(), new in small(), other in any::<String>(), limit in 0usize..300) {
        let edits = [edit(&old, &new), every(&new, &other), edit(&other, &text)];
        let after = applied(&text, &edits[..1]).map_or(other.clone(), |edited| edited.text);
        let _ = applied(&text, &edits);
        let soon = std::time::Instant::now() + std::time::Duration::from_secs(5);
        let _ = unified_diff(&other, &text, &after, limit, soon);
        if !old.is_empty() && !text.contains(&old) {
            let told = miss::explain(&text, &old);
            prop_assert!(told.len() < 300, "{}", told);
        }
    }
}
