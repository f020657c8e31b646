//! Text edits beside a naive reading of what `edit_file` promises, and the diff done to the old text.
//!
//! The naive reading knows no bytes: a text is a row of signs, a line end of either kind is one of them, and every place is tried.
//! Encoding of an input: a byte of flags, then parts that each end with a byte of `END` or more: the text, and for each edit its old and its
//! new text. The end of a part says in its low bits how the next two are meant.

use std::collections::VecDeque;

use cap_roots_mcp::internals;

/// From here on a byte ends a part.
const END: u8 = 0xe0;
/// Most edits of one input.
const EDITS: usize = 8;
/// A text of this many bytes has fewer lines than a diff compares.
const LARGE: usize = 1 << 16;
const SMALL: usize = 48;
/// Room for the longest diff: each line of either text with its sign, where lines can be empty.
const WHOLE: usize = 1 << 20;
const MARK: char = '\u{feff}';

const PIECES: [&str; 32] = [
    "a",
    "b",
    "\n",
    "\r\n",
    "\r",
    " ",
    "ab",
    "x",
    "\u{feff}",
    "\u{e9}",
    "e\u{301}",
    "\u{1f600}",
    "a\n",
    "a\r\n",
    "\n\n",
    "\r\n\r\n",
    "\t",
    "    ",
    "aa",
    "aba",
    "```",
    "````\n",
    "--- a\n",
    "+++ b\n",
    "@@ -1,1 +1,1 @@\n",
    "\\ No newline at end of file\n",
    "$&",
    "\\1",
    "A",
    "\0",
    "\u{2028}",
    "long line of words, a rather long one\n",
];

/// What an input stands for.
#[derive(Debug)]
struct Case {
    text: String,
    edits: Vec<(String, String, bool)>,
    limit: usize,
    late: bool,
    cut: bool,
}

impl Case {
    fn of(input: &[u8]) -> Self {
        let (flags, mut rest) = input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
        let mut part = || {
            let end = rest.iter().position(|byte| *byte >= END).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            rest = behind.get(1..).unwrap_or_default();
            (part, behind.first().copied())
        };
        let (text, mut next) = part();
        let mut text = pieces(text);
        if flags & 1 != 0 {
            text.insert(0, MARK);
        }
        let mut edits = Vec::new();
        while let Some(how) = next.filter(|_| edits.len() < EDITS) {
            let ((old, _), (new, end)) = (part(), part());
            let mut old = if how & 2 != 0 { part_of(&text, old) } else { pieces(old) };
            if how & 4 != 0 {
                old = if old.contains("\r\n") { old.replace("\r\n", "\n") } else { old.replace('\n', "\r\n") };
            }
            edits.push((old, pieces(new), how & 1 != 0));
            next = end;
        }
        Self { text, edits, limit: if flags & 2 != 0 { SMALL } else { LARGE }, late: flags & 4 != 0, cut: flags & 8 != 0 }
    }
}

/// What an input means.
pub(crate) fn print(input: &[u8]) -> String {
    format!("{:?}", Case::of(input))
}

fn pieces(picks: &[u8]) -> String {
    picks.iter().map(|pick| PIECES[usize::from(pick % 32)]).collect()
}

/// Some characters in a row: the first byte says from where on, the second how many.
fn part_of(text: &str, picks: &[u8]) -> String {
    let pick = |index: usize| picks.get(index).copied().map_or(0, usize::from);
    let count = text.chars().count().max(1);
    text.chars().skip(pick(0) % count).take(1 + pick(1)).collect()
}

/// Panics if an edit does not do what it promises, or its diff says something else.
pub fn check(input: &[u8]) {
    let case = Case::of(input);
    let edits: Vec<internals::Edit<'_>> = case.edits.iter().map(|(old, new, all)| (&**old, &**new, *all)).collect();
    let want = naive(&case.text, &edits, case.limit);
    let got = internals::edit(&case.text, &edits, case.limit);
    match (&got, &want) {
        (Ok((text, idle)), Ok((want, want_idle))) => {
            assert_eq!(text, want, "{case:?}");
            assert_eq!(idle, want_idle, "{case:?}");
            diffs(&case, text);
        }
        (Err(error), Err((code, number))) => {
            let told = error.to_string();
            assert_eq!(error.code(), *code, "{told} {case:?}");
            assert!(told.starts_with(&format!("{code}: ")), "{told} {case:?}");
            // A text that got too large is nobody's in particular.
            let which = format!("edit {number} of {}: ", edits.len());
            assert!(edits.len() == 1 || *code == "too-large" || told.contains(&which), "{told} {case:?}");
            assert!(told.len() < 600, "{told} {case:?}");
        }
        _ => panic!("{got:?}, not {want:?}: {case:?}"),
    }
}

/// A sign of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Char(char),
    /// A line end, and whether it is a pair of characters.
    End(bool),
}

fn signs(text: &str) -> Vec<Sign> {
    let mut signs = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        signs.push(match c {
            '\r' if rest.next_if_eq(&'\n').is_some() => Sign::End(true),
            '\n' => Sign::End(false),
            c => Sign::Char(c),
        });
    }
    signs
}

fn written(signs: &[Sign]) -> String {
    let mut text = String::new();
    for sign in signs {
        match sign {
            Sign::Char(c) => text.push(*c),
            Sign::End(pair) => text.push_str(if *pair { "\r\n" } else { "\n" }),
        }
    }
    text
}

/// All edits, or the code of the first that fails and its number.
fn naive(text: &str, edits: &[internals::Edit<'_>], limit: usize) -> Result<(String, Vec<usize>), (&'static str, usize)> {
    let (mut now, mut idle) = (text.to_owned(), Vec::new());
    for (number, edit) in (1..).zip(edits) {
        let next = one(&now, *edit).map_err(|code| (code, number))?;
        if next.len() > limit {
            return Err(("too-large", number));
        }
        if next == now {
            idle.push(number);
        }
        now = next;
    }
    Ok((now, idle))
}

fn one(text: &str, (old, new, all): internals::Edit<'_>) -> Result<String, &'static str> {
    if old.is_empty() {
        return Err("invalid-argument");
    }
    // The mark is matched by who names it, and stays in any case.
    let marked = text.starts_with(MARK);
    let apart = marked && !old.starts_with(MARK);
    let body = signs(if apart { &text[MARK.len_utf8()..] } else { text });
    let old = signs(old);
    let is_at = |at: &usize, alike: fn(&Sign, &Sign) -> bool| {
        body.get(*at..at + old.len()).is_some_and(|part| part.iter().zip(&old).all(|(a, b)| alike(a, b)))
    };
    let exact = |a: &Sign, b: &Sign| a == b;
    let any_end = |a: &Sign, b: &Sign| a == b || matches!((a, b), (Sign::End(_), Sign::End(_)));
    let mut places: Vec<usize> = (0..body.len()).filter(|at| is_at(at, exact)).collect();
    if all || places.is_empty() {
        places = (0..body.len()).filter(|at| is_at(at, any_end)).collect();
    }
    match places.len() {
        0 => return Err("no-match"),
        1 => {}
        _ if !all => return Err("ambiguous"),
        _ => {}
    }
    let mut out = Vec::new();
    let mut done = 0;
    for at in places {
        // One that begins in the place before is none.
        if at >= done {
            let end = at + old.len();
            out.extend_from_slice(&body[done..at]);
            out.extend(fitted(&body, at, end, new));
            done = end;
        }
    }
    out.extend_from_slice(&body[done..]);
    let mut out = written(&out);
    if marked && (apart || !out.starts_with(MARK)) {
        out.insert(0, MARK);
    }
    Ok(out)
}

/// The new text with the line ends of the place that it comes to: one for one, the last for what follows, else that of the line.
fn fitted(body: &[Sign], start: usize, end: usize, new: &str) -> Vec<Sign> {
    let kind = |sign: &Sign| match sign {
        Sign::End(pair) => Some(*pair),
        Sign::Char(_) => None,
    };
    let mut own: VecDeque<bool> = body[start..end].iter().filter_map(kind).collect();
    let around = body[end..].iter().find_map(kind).or_else(|| body.iter().rev().find_map(kind));
    let mut last = if own.is_empty() { around } else { None };
    let mut out = Vec::new();
    for sign in signs(new) {
        match sign {
            Sign::End(given) => {
                last = own.pop_front().or(last);
                let pair = last.unwrap_or(given);
                // It would become one half of a pair.
                while last == Some(false) && out.last() == Some(&Sign::Char('\r')) {
                    out.pop();
                }
                out.push(Sign::End(pair));
            }
            sign => out.push(sign),
        }
    }
    out
}

/// What the diff says, done to the old text, gives the new one; and a diff that has no room says so.
fn diffs(case: &Case, new: &str) {
    let diff = internals::diff("dir/f", &case.text, new, WHOLE, case.late);
    assert_eq!(applied(&diff, &case.text).as_deref(), Ok(new), "{diff} {case:?}");
    if case.cut {
        const ROOM: usize = 300;
        let short = internals::diff("dir/f", &case.text, new, ROOM, case.late);
        let is_cut = short.ends_with("The diff is cut here; the rest of the change is not shown.\n");
        assert!(is_cut != (short == diff), "{short} {case:?}");
        assert!(short.len() < 2 * ROOM, "{short} {case:?}");
    }
}

/// The smallest reader of unified diffs.
fn applied(diff: &str, old: &str) -> Result<String, String> {
    let run = diff.len() - diff.trim_start_matches('`').len();
    let fence = "`".repeat(run);
    let body = diff[run..].strip_prefix("diff\n").ok_or("no beginning")?;
    let body = body.strip_suffix(&format!("{fence}\n\n")).ok_or("no end")?;
    if run < 3 || body.contains(&fence) {
        return Err("the fence is in the block".to_owned());
    }
    let mut lines = body.split_inclusive('\n').skip(4).peekable();
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut out, mut at) = (String::new(), 0);
    while let Some(head) = lines.next() {
        let numbers: Vec<usize> = head.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
        let [from, mut removed, to, mut added] = numbers[..] else { return Err(format!("no head: {head}")) };
        let from = if removed == 0 { from } else { from - 1 };
        out.extend(old.get(at..from).ok_or("hunks overlap")?.iter().copied());
        at = from;
        let start = out.split_inclusive('\n').count() + usize::from(added > 0);
        if start != to {
            return Err(format!("line {start} of the new text is not line {to}"));
        }
        while removed + added > 0 {
            let line = lines.next().ok_or("a hunk ends early")?;
            let (sign, mut line) = line.split_at(1);
            if lines.next_if_eq(&"\\ No newline at end of file\n").is_some() {
                line = line.trim_end_matches('\n');
            }
            if sign != "+" {
                if old.get(at) != Some(&line) {
                    return Err(format!("line {at} of the old text is not {line:?}"));
                }
                at += 1;
                removed = removed.checked_sub(1).ok_or("too many old lines")?;
            }
            if sign != "-" {
                out.push_str(line);
                added = added.checked_sub(1).ok_or("too many new lines")?;
            }
        }
    }
    out.extend(old.get(at..).unwrap_or_default().iter().copied());
    Ok(out)
}
