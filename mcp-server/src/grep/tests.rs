//! The search of one file: lines, encodings, bounds, where to go on.

use super::*;
use crate::work::Work;
use proptest::prelude::*;

const REGEX: Meaning = Meaning { regex: true, case_sensitive: true, whole_word: false };

fn search(pattern: &str, context: usize) -> Search {
    Search::new(Pattern::parse(pattern, REGEX).unwrap(), Shape::Lines { context })
}

/// The lines of one file, and how far it was searched.
fn searched(search: &mut Search, content: &[u8], from: u64, bytes: u64, matches: usize) -> (String, Searched) {
    let work = Work::default();
    let mut found = Found::new(bytes, matches);
    let how = search.file(content, "f", from, &mut found, &work).unwrap();
    (found.text().to_owned(), how)
}

fn lines(pattern: &str, context: usize, content: &[u8]) -> String {
    searched(&mut search(pattern, context), content, 1, 1 << 20, 1000).0
}

#[test]
fn lines_are_shown_as_grep_does() {
    let content = b"a\nb\nhit\nc\nd\ne\nhit\nhit\nf\n";
    assert_eq!(lines("hit", 0, content), "f:3:hit\nf:7:hit\nf:8:hit");
    assert_eq!(lines("hit", 1, content), "f-2-b\nf:3:hit\nf-4-c\n--\nf-6-e\nf:7:hit\nf:8:hit\nf-9-f");
    assert_eq!(lines("hit", 2, content), "f-1-a\nf-2-b\nf:3:hit\nf-4-c\nf-5-d\nf-6-e\nf:7:hit\nf:8:hit\nf-9-f");
    assert_eq!(lines("^$", 0, b"a\n\nb"), "f:2:");
    assert_eq!(lines("b", 0, b"a\nb"), "f:2:b");
    assert_eq!(lines("b", 0, b""), "");
}

/// Catches: an answer that shows `\r`, an anchor that it hides the end of the line from, and a mark at the start of a file taken for text.
#[test]
fn line_ends_and_marks_are_no_text() {
    assert_eq!(lines("b$", 1, b"a\r\nb\r\nc\r\n"), "f-1-a\nf:2:b\nf-3-c");
    assert_eq!(lines("^b", 0, "\u{feff}b\n".as_bytes()), "f:1:b");
    assert_eq!(lines("^$", 0, b"a\r\n\r\nb"), "f:2:");
    assert_eq!(lines(r"\s$", 0, b"a\r\nb \r\n"), "f:2:b ");
    assert_eq!(lines(r"\Ab\z", 0, b"a\r\nb\r\nb"), "f:2:b\nf:3:b");
    assert_eq!(lines(r"[^a]", 0, b"a\r\n\r\nb\r\n"), "f:3:b");
    assert_eq!(lines(r"(?s)a.*", 0, b"a\r\nb\r\n"), "f:1:a");
    let utf16: Vec<u8> = "\u{feff}é\r\n😀\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(lines("^😀$", 1, &utf16), "f-1-é\nf:2:😀");
}

/// UNI-06. Catches: bytes that are no text, left out or shown as if they were text.
#[test]
fn other_bytes_are_marked() {
    let (text, how) = searched(&mut search("key", 0), b"key = \xb0\xa1\n", 1, 1 << 20, 9);
    assert_eq!(text, "f:1:key = \\xB0\\xA1");
    assert!(matches!(how, Searched::Whole(facts) if facts.not_utf8));
    assert_eq!(searched(&mut search("k", 0), b"k\0", 1, 1 << 20, 9), (String::new(), Searched::Binary));
}

/// Catches: a long line held in memory as a whole, shown as a whole, or not searched at all.
#[test]
fn long_lines_are_searched_and_cut() {
    let mut content = vec![b'x'; LINE - 100];
    content.extend(b"needle");
    content.extend(vec![b'y'; 3 * LINE]);
    content.extend(b"\nneedle\n");
    let (text, how) = searched(&mut search("needle", 2), &content, 1, 1 << 20, 9);
    let shown: Vec<&str> = text.lines().collect();
    assert!(shown[0].contains("xneedley") && shown[0].len() < 500, "{}", shown[0]);
    assert_eq!(shown[1..], ["f:2:needle"]);
    assert!(matches!(how, Searched::Whole(facts) if facts.long_lines == 1));
}

/// Catches: lines that are searched as far as a small expression goes, and steps that hold many of them.
#[test]
fn a_large_expression_is_given_short_lines_one_by_one() {
    let pattern = Pattern::parse("x[xy]{1900}z|needle", REGEX).unwrap();
    let most = pattern.line;
    assert!(most < LINE / 64);
    let content = format!("{}needle\n{}\nneedle\n", "y".repeat(most - 6), "y".repeat(most - 1) + "needle");
    let (text, how) = searched(&mut Search::new(pattern, Shape::Lines { context: 0 }), content.as_bytes(), 1, 1 << 20, 9);
    assert_eq!(text.lines().map(|line| line.get(..4).unwrap()).collect::<Vec<_>>(), ["f:1:", "f:3:"]);
    assert!(matches!(how, Searched::Whole(facts) if facts.long_lines == 1));
    let work = Work::default();
    let mut block = Vec::new();
    let mut source = Source::of(content.as_bytes(), most, &work, &mut block).unwrap().unwrap();
    assert!(source.read(&mut vec![0; LINE]).unwrap() <= most);
}

/// Catches: a character that the limit of a line goes through, shown as bytes that are none.
#[test]
fn the_end_of_what_is_searched_of_a_line_is_a_character() {
    for shift in 0..4 {
        let most = Pattern::parse("😀", REGEX).unwrap().line;
        let content = format!("{}{}needle", "x".repeat(most - 21 + shift), "😀".repeat(9));
        let (text, _) = searched(&mut search("😀", 0), content.as_bytes(), 1, 1 << 20, 9);
        assert!(text.ends_with('😀') && !text.contains("\\x"), "{shift}");
    }
    let (bad, _) = searched(&mut search("a", 0), b"\xff\xfea\x00\x00\xd8b\x00", 1, 99, 9);
    assert_eq!(bad, "f:1:a\\u{fffd}b");
}

/// Catches: a limit on memory that many long lines around a match go over.
#[test]
fn long_lines_around_a_match_fit() {
    let long = "z".repeat(LINE + 10);
    let content = format!("{}needle\n{}", format!("{long}\n").repeat(25), format!("{long}\n").repeat(25));
    let (text, _) = searched(&mut search("needle", 20), content.as_bytes(), 1, 1 << 20, 9);
    assert_eq!(text.lines().count(), 41);
}

#[test]
fn names_alone() {
    let work = Work::default();
    let mut search = Search::new(Pattern::parse("hit", REGEX).unwrap(), Shape::Names);
    let mut found = Found::new(1000, 10);
    for (content, label) in [("hit\nhit\n", "a"), ("miss\n", "b"), ("hit", "c")] {
        let how = search.file(content.as_bytes(), label, 1, &mut found, &work).unwrap();
        assert!(matches!(how, Searched::Whole(_)));
    }
    assert_eq!((found.text(), found.matches()), ("a\nc", 2));
}

/// All pages of one file.
fn pages(search: &mut Search, content: &[u8], bytes: u64, matches: usize) -> Vec<String> {
    let (mut from, mut pages) = (1, Vec::new());
    loop {
        let (text, how) = searched(search, content, from, bytes, matches);
        if !text.is_empty() {
            pages.push(text);
        }
        match how {
            Searched::To { next: line, .. } => {
                assert!(line > from, "no page without progress");
                from = line;
            }
            _ => return pages,
        }
    }
}

proptest! {
    /// Catches: a page that repeats or loses the match that it was cut at.
    #[test]
    fn pages_hold_each_match_once(content in "([ab]{0,3}\n){0,30}[ab]{0,3}", context in 0usize..4, bytes in 1u64..80, matches in 1usize..5) {
        let want: Vec<String> = content.lines().enumerate().filter(|(_, line)| line.contains('a')).map(|(at, line)| format!("f:{}:{line}", at + 1)).collect();
        let pages = pages(&mut search("a", context), content.as_bytes(), bytes, matches);
        let all: Vec<&str> = pages.iter().flat_map(|page| page.lines()).filter(|line| line.starts_with("f:")).collect();
        prop_assert_eq!(all, want);
        let mut shown: Vec<&str> = pages.iter().flat_map(|page| page.lines()).filter(|line| *line != "--").collect();
        let count = shown.len();
        shown.dedup();
        prop_assert_eq!(shown.len(), count);
        for page in &pages {
            prop_assert!(page.lines().filter(|line| line.starts_with("f:")).count() <= matches);
            prop_assert!(page.len() as u64 <= bytes || page.lines().count() == 1);
        }
    }
}

/// Catches: a pause that loses what stands before it, or that a search does not get beyond.
#[test]
fn a_paused_search_goes_on() {
    let content: String =
        (1..=200_000).map(|number| if number % 1000 == 0 { "hit\n".to_owned() } else { format!("{number}\n") }).collect();
    let mut search = search("hit", 1);
    let (mut from, mut hits, mut pauses) = (1, Vec::new(), 0);
    loop {
        let mut found = Found::new(1 << 20, 1000);
        let work = Work::until(std::time::Duration::from_micros(200));
        let how = search.file(content.as_bytes(), "f", from, &mut found, &work).unwrap();
        hits.extend(found.text().lines().filter(|line| line.starts_with("f:")).map(str::to_owned));
        match how {
            Searched::To { next: line, .. } => (from, pauses) = (line, pauses + 1),
            _ => break,
        }
        assert!(pauses < 100_000);
    }
    let want: Vec<String> = (1..=200).map(|number| format!("f:{}:hit", number * 1000)).collect();
    assert_eq!(hits, want);
}

#[test]
fn a_stopped_search_ends() {
    let work = Work::default();
    work.stop();
    let mut found = Found::new(1 << 20, 1000);
    let error = search("a", 0).file(std::io::repeat(b'b'), "f", 1, &mut found, &work).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

/// Catches: lines behind a match that are on no page, where the page is full or the search pauses between them.
#[test]
fn lines_around_a_match_are_on_some_page() {
    let content: String = (1..=60).map(|number| if number % 7 == 0 { "a\n".to_owned() } else { format!("{number}\n") }).collect();
    for context in 1..5 {
        let sorted = |text: &str| text.lines().filter(|line| *line != "--").map(str::to_owned).collect::<Vec<_>>();
        let whole = sorted(&lines("a", context, content.as_bytes()));
        for bytes in 40..200 {
            let pages = pages(&mut search("a", context), content.as_bytes(), bytes, 1000);
            assert_eq!(sorted(&pages.join("\n")), whole, "{context} {bytes}");
        }
    }
}

/// Catches: a name that makes lines of another file, and one that is shown otherwise though it makes none.
#[test]
fn names_forge_no_lines() {
    let shape = |context| Shape::Lines { context };
    for (label, shape, want) in [
        ("README.md:3:pwned", shape(0), "URI%3A3%3Ax%2D1"),
        ("a:3", shape(0), "URI%3A3%3Ax%2D1"),
        ("a-3-b", shape(1), "URI%3A3%3Ax%2D1"),
        ("a-3", shape(2), "URI%3A3%3Ax%2D1"),
        ("a-3-b", shape(0), "a-3-b"),
        ("a:b", shape(1), "a:b"),
        ("a:3:b", Shape::Names, "a:3:b"),
    ] {
        let uri = || "root://r-1-x/:3:x-1".to_owned();
        let shown = found::unmistakable(label.to_owned(), uri, shape);
        assert_eq!(shown.replace("root://r-1-x/", "URI"), want);
    }
}
