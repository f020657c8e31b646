//! A change as a unified diff in a fenced block.
//!
//! May touch: nothing of the other rooms.

use std::time::Instant;

use memchr::{memchr, memchr_iter, memrchr};
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag, group_diff_ops};

/// Lines around a change.
const CONTEXT: usize = 4;
/// Lines that are compared on each side, from the first change on: memory is bounded by this, not by the file.
const WINDOW: usize = 100_000;
/// Changed lines from which on lines are compared in pairs first.
const PAIRED: usize = 1000;

/// What of `old` and `new` differs, at most about `limit` bytes of it; behind the block, a sentence says so where it was cut. Once
/// `deadline` has passed, the diff gets coarser, not wrong.
pub(crate) fn unified_diff(path: &str, old: &str, new: &str, limit: usize, deadline: Instant) -> String {
    let path = cap_roots::escape(path);
    let rule = "=".repeat(67);
    let mut block = Block::new(limit, format!("Index: {path}\n{rule}\n--- {path}\toriginal\n+++ {path}\tmodified\n"));
    let (start, end) = common(old, new);
    let line = memchr_iter(b'\n', old.as_bytes().get(..start).unwrap_or_default()).count();
    let (old, old_all) = lines(old.get(start..old.len() - end).unwrap_or_default());
    let (new, new_all) = lines(new.get(start..new.len() - end).unwrap_or_default());
    let whole = old_all && new_all;
    let mut ops = compare(&old, &new, deadline);
    // What only one window reaches would seem to be missing in the other.
    let known = ops.iter().rposition(|op| op.tag() == DiffTag::Equal).map_or(0, |last| last + 1);
    if !whole && ops.iter().take(known).any(|op| op.tag() != DiffTag::Equal) {
        ops.truncate(known);
    }
    for hunk in group_diff_ops(ops, CONTEXT) {
        block.push_hunk(&hunk, &old, &new, line);
    }
    block.cut |= !whole;
    block.finish()
}

/// What makes `new` of `old`.
fn compare(old: &[&str], new: &[&str], deadline: Instant) -> Vec<DiffOp> {
    if let Some(ops) = paired(old, new) {
        return ops;
    }
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    // Without its heuristics: their splits can be so uneven that the recursion overflows the stack, where exact ones are even.
    let Ok(()) = myers::diff_deadline_raw(&mut hook, old, 0..old.len(), new, 0..new.len(), Some(deadline));
    hook.into_inner().into_inner().into_ops()
}

/// Line by line, where that is likely to be what happened and anything else takes long: the same text replaced in many lines.
fn paired(old: &[&str], new: &[&str]) -> Option<Vec<DiffOp>> {
    let changed = old.iter().zip(new).filter(|(old, new)| old != new).count();
    if old.len() != new.len() || changed < PAIRED || changed > old.len() / 2 {
        return None;
    }
    let mut ops = Vec::new();
    let mut at = 0;
    while let (Some(from @ [first_old, ..]), Some(to @ [first_new, ..])) = (old.get(at..), new.get(at..)) {
        let equal = first_old == first_new;
        let len = from.iter().zip(to).take_while(|(old, new)| (old == new) == equal).count();
        ops.push(if equal {
            DiffOp::Equal { old_index: at, new_index: at, len }
        } else {
            DiffOp::Replace { old_index: at, old_len: len, new_index: at, new_len: len }
        });
        at += len;
    }
    Some(ops)
}

/// How many bytes at the start and at the end the comparison can leave out: whole lines, all but those around the change.
fn common(old: &str, new: &str) -> (usize, usize) {
    let (a, b) = (old.as_bytes(), new.as_bytes());
    let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
    let mut start = a.iter().zip(b).take_while(same).count();
    let shorter = a.len().min(b.len());
    let end = a.iter().rev().zip(b.iter().rev()).take(shorter - start).take_while(same).count();
    for _ in 0..=CONTEXT {
        start = memrchr(b'\n', a.get(..start).unwrap_or_default()).unwrap_or(0);
    }
    if start > 0 {
        start += 1;
    }
    let mut tail = a.get(a.len() - end..).unwrap_or_default();
    for _ in 0..=CONTEXT {
        tail = memchr(b'\n', tail).and_then(|at| tail.get(at + 1..)).unwrap_or_default();
    }
    (start, tail.len())
}

/// The lines of `text` with their ends, and whether these are all.
fn lines(text: &str) -> (Vec<&str>, bool) {
    let mut rest = text.split_inclusive('\n');
    let lines = rest.by_ref().take(WINDOW).collect();
    (lines, rest.next().is_none())
}

/// The block while it grows.
struct Block {
    limit: usize,
    text: String,
    /// The longest run of backticks, which the fence has to be longer than.
    run: usize,
    cut: bool,
}

impl Block {
    fn new(limit: usize, head: String) -> Self {
        let run = longest_run(&head);
        Self { limit, text: head, run, cut: false }
    }

    fn push_hunk(&mut self, hunk: &[DiffOp], old: &[&str], new: &[&str], base: usize) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
        let range = |start: usize, end: usize| {
            let count = end - start;
            // The number of an empty range is that of the line before it.
            format!("{},{count}", base + start + usize::from(count > 0))
        };
        let old_range = range(first.old_range().start, last.old_range().end);
        let new_range = range(first.new_range().start, last.new_range().end);
        self.push(&format!("@@ -{old_range} +{new_range} @@\n"));
        for op in hunk {
            let removed = old.get(op.old_range()).unwrap_or_default();
            let added = new.get(op.new_range()).unwrap_or_default();
            match op.tag() {
                DiffTag::Equal => self.push_lines(' ', removed),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    self.push_lines('-', removed);
                    self.push_lines('+', added);
                }
            }
        }
    }

    fn push_lines(&mut self, sign: char, lines: &[&str]) {
        for line in lines {
            if self.cut {
                return;
            }
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            if !self.push(&format!("{sign}{line}{end}")) && self.text.ends_with(" @@\n") {
                // Not one line fits: the beginning of the first.
                let room = self.limit.saturating_sub(self.text.len() + 2 * self.run.max(2) + 2);
                let part = (0..=room.min(line.len())).rev().find_map(|end| line.get(..end)).unwrap_or_default();
                self.cut = false;
                self.push(&format!("{sign}{part}\n"));
                self.cut = true;
            }
        }
    }

    /// Adds `piece` if it fits, with a fence around; if not, nothing more is added.
    fn push(&mut self, piece: &str) -> bool {
        let run = self.run.max(longest_run(piece));
        if self.cut || self.text.len() + piece.len() + 2 * run.max(2) > self.limit {
            self.cut = true;
            return false;
        }
        self.text.push_str(piece);
        self.run = run;
        true
    }

    fn finish(self) -> String {
        let fence = "`".repeat(self.run.max(2) + 1);
        let note = if self.cut { "The diff is cut here; the rest of the change is not shown.\n" } else { "" };
        format!("{fence}diff\n{}{fence}\n\n{note}", self.text)
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const PATH: &str = "/srv/demo/ws/f";

    fn diff(old: &str, new: &str, limit: usize) -> String {
        unified_diff(PATH, old, new, limit, Instant::now() + Duration::from_secs(9))
    }

    /// The lines behind the head and before the fence.
    #[track_caller]
    fn shows(old: &str, new: &str, want: &str) {
        let text = diff(old, new, 1 << 20);
        let head = "```diff\nIndex: /srv/demo/ws/f\n===================================================================\n\
            --- /srv/demo/ws/f\toriginal\n+++ /srv/demo/ws/f\tmodified\n";
        assert_eq!(text, format!("{head}{want}```\n\n"));
    }

    /// As recorded from the reference server.
    #[test]
    fn the_shape_is_the_reference_one() {
        shows("via link\n", "cost $& $1 $$\n", "@@ -1,1 +1,1 @@\n-via link\n+cost $& $1 $$\n");
        shows("x = 2\nx = 1\n", "x = 2\nx = 1\n", "");
        shows("x = 2\nx = 1\n", "Zx = 2\nx = 1\n", "@@ -1,2 +1,2 @@\n-x = 2\n+Zx = 2\n x = 1\n");
        shows(
            "def f():\n    if a:\n        return 1\n",
            "def f():\n    if b:\nreturn 2\n",
            "@@ -1,3 +1,3 @@\n def f():\n-    if a:\n-        return 1\n+    if b:\n+return 2\n",
        );
        shows("one\ntwo\nthree\n", "one\nTWO\nTHREE\n", "@@ -1,3 +1,3 @@\n one\n-two\n-three\n+TWO\n+THREE\n");
    }

    #[test]
    fn ends_of_files_and_lines_are_shown() {
        shows("a\nb", "a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n");
        shows("a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
        shows("a\nb", "c\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n");
        shows("", "a\n", "@@ -0,0 +1,1 @@\n+a\n");
        shows("a\n", "", "@@ -1,1 +0,0 @@\n-a\n");
        shows("one\r\ntwo\r\n", "one\r\nTWO\r\n", "@@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r\n");
        shows("one\r\n", "one\n", "@@ -1,1 +1,1 @@\n-one\r\n+one\n");
    }

    #[test]
    fn hunks_have_four_lines_around() {
        let text = |changed: &[usize]| {
            (1..=30).map(|n| if changed.contains(&n) { format!("N{n}\n") } else { format!("{n}\n") }).collect::<String>()
        };
        shows(
            &text(&[]),
            &text(&[10, 20]),
            "@@ -6,9 +6,9 @@\n 6\n 7\n 8\n 9\n-10\n+N10\n 11\n 12\n 13\n 14\n\
             @@ -16,9 +16,9 @@\n 16\n 17\n 18\n 19\n-20\n+N20\n 21\n 22\n 23\n 24\n",
        );
        assert_eq!(diff(&text(&[]), &text(&[10, 19]), 1 << 20).matches("@@ -").count(), 1);
    }

    #[test]
    fn the_fence_is_longer_than_any_run_in_it() {
        let text = diff("a\n", "```\n````x\n", 1 << 20);
        assert!(text.starts_with("`````diff\n") && text.ends_with("\n`````\n\n"), "{text}");
        assert!(diff("a\n", "``\n", 1 << 20).starts_with("```diff"));
        let path = unified_diff("a\n```\nb", "x", "y", 1 << 20, Instant::now());
        assert!(path.starts_with("````diff\nIndex: a\\u{a}```\\u{a}b\n"), "{path}");
    }

    #[test]
    fn the_cut_is_marked() {
        let new: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let text = diff("", &new, 400);
        let (block, note) = text.split_once("\n```\n\n").unwrap();
        assert_eq!(note, "The diff is cut here; the rest of the change is not shown.\n");
        assert!(block.len() < 410 && block.ends_with("\n+line 25"), "{text}");
        let text = diff("", &"é".repeat(1000), 400);
        assert!(text.contains("\n+éé") && text.contains("é\n```\n\nThe diff is cut"), "{text}");
        assert!(diff("a", &"`".repeat(100_000), 400).len() < 600);
    }

    #[test]
    fn long_files_are_compared_in_part() {
        let text = |start: &str, end: &str| format!("{start}{}{end}", "same\n".repeat(WINDOW + 9));
        let cut = diff(&text("a\n", "y\n"), &text("b\n", "z\n"), 1 << 20);
        assert!(cut.contains("@@ -1,5 +1,5 @@\n-a\n+b\n same\n same\n same\n same\n```\n\nThe diff is cut"), "{cut}");
        let one = diff(&text("a\n", "y\n"), &text("a\n", "z\n"), 1 << 20);
        let line = WINDOW + 9 + 2;
        assert!(one.contains(&format!("@@ -{},5 +{0},5 @@\n same\n same\n same\n same\n-y\n+z\n```\n\n", line - 4)), "{one}");
    }

    #[test]
    fn many_changed_lines_are_compared_at_once() {
        let old: String = (0..50_000).map(|n| format!("{} {n}\n", if n % 10 == 0 { "old" } else { "same" })).collect();
        let text = unified_diff(PATH, &old, &old.replace("old", "new"), 1 << 20, Instant::now());
        assert_eq!(text.matches("\n-old").count(), 5000);
        assert!(text.contains("\n same 49989\n-old 49990\n+new 49990\n same 49991\n"));
    }

    /// Catches: a cut that leaves nothing to see.
    #[test]
    fn a_change_all_over_is_shown_from_its_start() {
        let old = "a\n".repeat(WINDOW + 9);
        let text = unified_diff(PATH, &old, &old.replace('\n', "\n\n"), 1 << 10, Instant::now());
        assert!(text.contains("\n-a\n") && text.contains("The diff is cut here"), "{text}");
    }

    proptest! {
        /// What the hunks say, done to the old text, gives the new one.
        #[test]
        fn the_diff_is_the_change(old in "([ab\r]?\n){0,40}", new in "([ab\r]?\n){0,40}", late in any::<bool>()) {
            let deadline = Instant::now() + Duration::from_secs(if late { 0 } else { 9 });
            let text = unified_diff(PATH, &old, &new, 1 << 20, deadline);
            let (mut out, mut left, mut at) = (String::new(), old.split_inclusive('\n'), 1);
            for line in text.strip_suffix("```\n\n").unwrap().split_inclusive('\n').skip(5) {
                if let Some(head) = line.strip_prefix("@@ -") {
                    let (from, count) = head.split_once(' ').unwrap().0.split_once(',').unwrap();
                    let from = from.parse::<usize>().unwrap() + usize::from(count == "0");
                    out.extend(left.by_ref().take(from - at));
                    at = from;
                    continue;
                }
                let (sign, line) = line.split_at(1);
                if sign != "+" {
                    prop_assert_eq!(left.next(), Some(line));
                    at += 1;
                }
                if sign != "-" {
                    out.push_str(line);
                }
            }
            out.extend(left);
            prop_assert_eq!(out, new);
        }
    }
}
