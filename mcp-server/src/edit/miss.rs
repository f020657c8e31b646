//! Why an old text is not in a file: the nearest line, and the first thing that differs there. Never the line itself.
//!
//! May touch: nothing of the other rooms.

use memchr::{memchr_iter, memmem, memrchr};

/// How much of the file is searched for the nearest line, in bytes.
const BUDGET: usize = 16 * 1024 * 1024;
/// How many lines of the old text are looked at to choose between lines that are equally near.
const LOOKED_AT: usize = 64;
/// How many of those lines there may be.
const CANDIDATES: usize = 8;
/// Longest line whose difference is told, in bytes.
const LINE: usize = 4096;
/// Slots for three bytes in a row.
const SLOTS: usize = 4096;

/// One sentence without its end. `old` is neither empty nor in `body`.
pub(super) fn explain(body: &str, old: &str) -> String {
    if body.is_empty() {
        return "the file is empty".to_owned();
    }
    if memmem::find(body.as_bytes(), old.as_bytes()).is_some() {
        return "the old text begins or ends between the CR and the LF of a line ending".to_owned();
    }
    if !body.contains('\n') && body.contains('\r') && body.contains(&old.replace("\r\n", "\n").replace('\n', "\r")) {
        return "the old text has LF line endings and the lines of this file end with CR alone".to_owned();
    }
    let missing = "the old text is not in the file";
    let Some((index, anchor)) = anchor(old) else {
        return format!("{missing}; it is blank, and no place is blank in the same way");
    };
    let searched = if body.len() > BUDGET {
        let end = (0..=BUDGET).rev().find_map(|end| body.get(..end)).unwrap_or_default();
        end.rsplit_once('\n').map_or(end, |(lines, _)| lines)
    } else {
        body
    };
    let place = nearest(searched, &anchor)
        .into_iter()
        .filter_map(|line| Block::new(body, line, old, index))
        .reduce(|best, block| if block.alike > best.alike { block } else { best });
    let scope = if searched.len() < body.len() {
        format!(" (only its first {} lines were searched)", memchr_iter(b'\n', searched.as_bytes()).count() + 1)
    } else {
        String::new()
    };
    match place {
        Some(block) => format!("{missing}; {}{scope}", block.difference(body, old)),
        None => format!("{missing}, and no line is like it{scope}"),
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// The text without white space and without case.
fn squeeze(line: &str, into: &mut String) {
    into.clear();
    for c in line.chars().filter(|c| !c.is_whitespace()) {
        if c.is_ascii() { into.push(c.to_ascii_lowercase()) } else { into.extend(c.to_lowercase()) }
    }
}

fn squeezed(line: &str) -> String {
    let mut out = String::new();
    squeeze(line, &mut out);
    out
}

/// The longest of the first lines, which says most about the place, with its number from 0.
fn anchor(old: &str) -> Option<(usize, String)> {
    let of = |line: &str| {
        squeezed(line.get(..LINE.min(line.len())).or_else(|| (0..LINE).rev().find_map(|end| line.get(..end))).unwrap_or_default())
    };
    let lines = lines(old).take(LOOKED_AT).map(of).enumerate().filter(|(_, line)| !line.is_empty());
    lines.reduce(|best, line| if line.1.len() > best.1.len() { line } else { best })
}

/// A line of the file: its number from 1, and where it begins.
#[derive(Clone, Copy)]
struct Line {
    number: usize,
    start: usize,
}

/// The lines that share most with `anchor`, at least half of it.
fn nearest(text: &str, anchor: &str) -> Vec<Line> {
    let mut grams = Grams::new(anchor);
    let (mut best, mut found) = (grams.total.div_ceil(2).max(1), Vec::new());
    let (mut start, mut buffer) = (0, String::new());
    for (index, line) in text.split('\n').enumerate() {
        squeeze(line, &mut buffer);
        let shared = grams.shared(&buffer, index + 1);
        if shared > best {
            best = shared;
            found.clear();
        }
        if shared == best && found.len() < CANDIDATES {
            found.push(Line { number: index + 1, start });
        }
        start += line.len() + 1;
    }
    found
}

/// The runs of three bytes of a line. What falls into the same slot counts as the same.
struct Grams {
    /// The last line that had it, where the anchor has it.
    slots: Vec<Option<usize>>,
    width: usize,
    total: usize,
}

impl Grams {
    fn new(anchor: &str) -> Self {
        let width = anchor.len().clamp(1, 3);
        let mut grams = Self { slots: vec![None; SLOTS], width, total: 0 };
        for gram in anchor.as_bytes().windows(width) {
            if let Some(slot @ None) = grams.slots.get_mut(slot(gram)) {
                *slot = Some(0);
                grams.total += 1;
            }
        }
        grams
    }

    /// How many of the anchor's runs are in line `number`.
    fn shared(&mut self, line: &str, number: usize) -> usize {
        let mut count = 0;
        for gram in line.as_bytes().windows(self.width) {
            if let Some(Some(last)) = self.slots.get_mut(slot(gram))
                && *last != number
            {
                *last = number;
                count += 1;
            }
        }
        count
    }
}

fn slot(gram: &[u8]) -> usize {
    gram.iter().fold(0, |sum: usize, byte| (sum * 167 + usize::from(*byte)) % SLOTS)
}

/// The old text laid over the file.
struct Block {
    /// The line that its first line is laid over.
    line: Line,
    /// Lines of the old text that would come before the file's first.
    above: usize,
    alike: usize,
}

impl Block {
    /// Laid so that line `index` of `old` is over `line`.
    fn new(body: &str, line: Line, old: &str, index: usize) -> Option<Self> {
        let above = (index + 1).saturating_sub(line.number);
        let mut start = line.start;
        for _ in above..index {
            start = memrchr(b'\n', body.as_bytes().get(..start.checked_sub(1)?)?).map_or(0, |at| at + 1);
        }
        let line = Line { number: line.number + above - index, start };
        let pairs = lines(body.get(start..)?).zip(lines(old).skip(above)).take(LOOKED_AT);
        let alike = |(have, want): (&str, &str)| {
            let cut = have.len() > LINE || want.len() > LINE;
            usize::from(cut && have == want || !cut && squeezed(have) == squeezed(want))
        };
        Some(Self { line, above, alike: pairs.map(alike).sum() })
    }

    /// The first difference.
    fn difference(&self, body: &str, old: &str) -> String {
        let nearest = "the nearest line is";
        if self.above > 0 {
            let line = self.above + 1;
            return format!("{nearest} {}, like line {line} of the old text, but nothing is before it", self.line.number);
        }
        let mut have = lines(body.get(self.line.start..).unwrap_or_default());
        let last = memchr_iter(b'\n', old.as_bytes()).count();
        for (index, want) in lines(old).enumerate() {
            let number = self.line.number + index;
            let Some(have) = have.next() else {
                return format!("{nearest} {}, but the file ends before line {} of the old text", number - 1, index + 1);
            };
            let same = match (index == 0, index == last) {
                (true, true) => have.contains(want),
                (true, false) => have.ends_with(want),
                (false, true) => have.starts_with(want),
                (false, false) => have == want,
            };
            if same {
                continue;
            }
            let of = if last > 0 { format!(" (line {} of the old text)", index + 1) } else { String::new() };
            let told = differs(have, want, index == 0, index == last).map(|told| format!(": {told}")).unwrap_or_default();
            return format!("{nearest} {number}{of}{told}");
        }
        format!("{nearest} {}", self.line.number)
    }
}

/// What differs first between a line of the file and one of the old text. `free`: the old text may begin within the line; `open`: it
/// may end within it.
fn differs(have: &str, want: &str, free: bool, open: bool) -> Option<String> {
    if have.len() > LINE || want.len() > LINE {
        return None;
    }
    let start = if free { laid(have, want, !open)? } else { 0 };
    let laid = have.get(start..)?;
    let same = laid.chars().zip(want.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>();
    // White space is told as a whole run.
    let blank = want.get(..same)?.chars().rev().take_while(|c| c.is_whitespace()).map(char::len_utf8).sum::<usize>();
    let (have_run, want_run) = (run(laid.get(same - blank..)?), run(want.get(same - blank..)?));
    let (after_have, after_want) = (laid.get(same - blank + have_run.len()..)?, want.get(same - blank + want_run.len()..)?);
    let column = |at: usize| have.get(..start + at).map_or(0, |text| text.chars().count()) + 1;
    if have_run != want_run {
        let (there, here) = (spaces(have_run), spaces(want_run));
        return Some(format!("from column {} the file has {there}, the old text {here}", column(same - blank)));
    }
    let column = column(same);
    Some(match (after_have.chars().next(), after_want.chars().next()) {
        (Some(a), Some(b)) if a.to_lowercase().eq(b.to_lowercase()) => {
            format!("at column {column} the file has {}, the old text {}: upper and lower case differ", shown(a), shown(b))
        }
        (Some(a), Some(b)) => format!("at column {column} the file has {}, the old text {}", shown(a), shown(b)),
        (Some(a), None) => format!("at column {column} the file goes on with {}, where the old text ends its line", shown(a)),
        (None, Some(b)) => format!("at column {column} the file's line ends, where the old text has {}", shown(b)),
        (None, None) => return None,
    })
}

/// Where in the line `have` the text `want` is meant to be: where it is but for white space and case, or where most of its beginning
/// is. `at_end`: the last such place.
fn laid(have: &str, want: &str, at_end: bool) -> Option<usize> {
    let squeezed_want = squeezed(want);
    let blank = run(want);
    // Each byte of the squeezed line, and where its character is in the line.
    let (mut line, mut places) = (String::new(), Vec::new());
    for (at, c) in have.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        line.extend(c.to_lowercase());
        places.resize(line.len(), at);
    }
    let found = if at_end { line.rfind(&squeezed_want) } else { line.find(&squeezed_want) };
    let found = match found {
        Some(at) => at,
        None => {
            let shared = |from: usize| line.bytes().skip(from).zip(squeezed_want.bytes()).take_while(|(a, b)| a == b).count();
            let best = (0..line.len()).rev().max_by_key(|from| shared(*from))?;
            if shared(best) < 3.min(squeezed_want.len()) {
                return None;
            }
            best
        }
    };
    let at = places.get(found).copied().unwrap_or(have.len());
    if blank.is_empty() {
        return Some(at);
    }
    let before = have.get(..at)?;
    let have_blank = before.len() - before.trim_end().len();
    Some(at - if before.ends_with(blank) { blank.len() } else { have_blank })
}

/// The white space that `text` begins with.
fn run(text: &str) -> &str {
    text.get(..text.len() - text.trim_start().len()).unwrap_or_default()
}

/// White space in words.
fn spaces(run: &str) -> String {
    let mut parts: Vec<(char, usize)> = Vec::new();
    for c in run.chars() {
        match parts.last_mut() {
            Some((last, count)) if *last == c => *count += 1,
            _ => parts.push((c, 1)),
        }
    }
    let name = |(c, count): &(char, usize)| {
        let s = if *count == 1 { "" } else { "s" };
        match c {
            ' ' => format!("{count} space{s}"),
            '\t' => format!("{count} tab{s}"),
            other => format!("{count} of U+{:04X}", u32::from(*other)),
        }
    };
    match parts.len() {
        0 => "no white space".to_owned(),
        1..=4 => parts.iter().map(name).collect::<Vec<_>>().join(" and "),
        _ => "other white space".to_owned(),
    }
}

fn shown(c: char) -> String {
    if c.is_ascii_graphic() { format!("'{c}'") } else { format!("'{c}' (U+{:04X})", u32::from(c)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn tells(body: &str, old: &str, part: &str) {
        let told = explain(body, old);
        assert!(told.contains(part), "{told}");
    }

    #[test]
    fn white_space_is_told() {
        tells(
            "a\n\tlet x = 1;\nb\n",
            "    let x = 1;",
            "the nearest line is 2: from column 1 the file has 1 tab, the old text 4 spaces",
        );
        tells(
            "def f():\n    if a:\n        return 1\n",
            "if a:\nreturn 1",
            "3 (line 2 of the old text): from column 1 the file has 8 spaces, the old text no white space",
        );
        tells("foo(a, b)\n", "foo(a,b)", "from column 7 the file has 1 space, the old text no white space");
        tells("one  \ntwo\n", "one\ntwo", "is 1 (line 1 of the old text): from column 4 the file has 2 spaces");
        tells("x = foo(a,\u{a0}b)\n", "foo(a, b)", "from column 11 the file has 1 of U+00A0, the old text 1 space");
        tells("alpha\n  \nomega\n", "alpha\n\nomega", "is 2 (line 2 of the old text): from column 1 the file has 2 spaces");
        tells("a\t b\n", "a \t \tb", "the old text 1 space and 1 tab and 1 space and 1 tab");
        tells("ab", " \n", "it is blank");
    }

    #[test]
    fn case_and_characters_are_told() {
        tells(
            "a\nHello World\n",
            "hello world",
            "is 2: at column 1 the file has 'H', the old text 'h': upper and lower case differ",
        );
        tells("say \u{201c}hello\u{201d}\n", "say \"hello\"", "at column 5 the file has '\u{201c}' (U+201C), the old text '\"'");
        tells("let total = 12;\n", "total = 13;", "at column 14 the file has '2', the old text '3'");
        tells(
            "one\ntwo three\nfour",
            "one\ntwo\nfour",
            "2 (line 2 of the old text): from column 4 the file has 1 space, the old text no",
        );
        tells("one\ntwo,three\nfour", "one\ntwo\nfour", "goes on with ',', where the old text ends its line");
        tells("return value", "return value;", "at column 13 the file's line ends, where the old text has ';'");
        tells(
            "abcdefghi\nzzz",
            "abcdefghi\nyyy",
            "is 2 (line 2 of the old text): at column 1 the file has 'z', the old text 'y'",
        );
    }

    #[test]
    fn the_ends_of_the_file_are_told() {
        tells("", "x", "the file is empty");
        tells(
            "one two three\n",
            "first\none two three\n",
            "nearest line is 1, like line 2 of the old text, but nothing is before it",
        );
        tells("one two three", "one two three\n", "nearest line is 1, but the file ends before line 2");
        tells("abc\ndef\n", "0123456789", "no line is like it");
        tells("a\r\nb\r\n", "a\r", "between the CR and the LF");
        tells("a\rb\r", "a\nb", "end with CR alone");
    }

    /// Of lines that are equally near, the one whose neighbours fit.
    #[test]
    fn neighbours_decide() {
        let body = "fn a() {\n  return 1;\n}\nfn b() {\n  return 1;\n}\nend\n";
        tells(body, "fn b() {\n    return 1;\n}", "the nearest line is 5 (line 2 of the old text)");
    }

    #[test]
    fn the_search_has_an_end() {
        let body = format!("{}needle in hay\n", "haystack number one\n".repeat(BUDGET / 20 + 9));
        tells(&body, "needle  in hay", "lines were searched");
        let long = "x".repeat(LINE + 1);
        tells(&format!("a\n{long}y\n"), &format!("{long}z"), "the nearest line is 2");
    }
}
