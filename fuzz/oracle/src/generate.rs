//! Trees and paths out of bytes. The same bytes give the same case, so that a property test can shrink them and a fuzzer can store
//! them; a byte picks from a list, and bytes that are missing count as zero.

use crate::vocabulary;

/// Reads choices from bytes.
pub struct Picks<'a>(pub &'a [u8]);

impl Picks<'_> {
    pub(crate) fn byte(&mut self) -> usize {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        usize::from(first)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn of<'b, T: ?Sized>(&mut self, list: &[&'b T]) -> &'b T {
        list[self.byte() % list.len()]
    }
}

/// Few names, so that paths hit; two pairs that only their Unicode form tells apart.
const NAMES: &[&str] = &["a", "b", "c", "d", "\u{e9}", "e\u{301}", "x y", "x\u{202f}y", "..."];
const STEPS: &[&str] = &["a", "b", "c", "d", "\u{e9}", "e\u{301}", "x y", "...", "..", ".", "", "..", "missing"];
const ENDS: &[&str] = &["", "", "", "/", "/.", "/.."];
const STARTS: &[&str] =
    &["", "", "", "", "../", "../../", "$ROOT/", "$ROOT/../", "$BASE/", "$BASE/outside/", "/", "../ROOT/", "../outside/"];

/// Lines of a tree of at most `most` objects. Each is made in a directory that is one, so that making follows no link.
pub fn tree(picks: &mut Picks<'_>, most: usize) -> Vec<String> {
    let mut lines = vec!["file ../outside/secret=CANARY-7f3a".to_owned(), "file ../outside/a/b=CANARY-7f3a".to_owned()];
    let (mut dirs, mut used, mut closed) = (vec![String::new()], Vec::new(), Vec::new());
    for number in 0..most {
        let dir = dirs[picks.byte() % dirs.len()].clone();
        let path = format!("{dir}{}", picks.of(NAMES));
        let kind = picks.byte() % 10;
        if used.contains(&path) {
            continue;
        }
        match kind {
            0..=3 => {
                dirs.push(format!("{path}/"));
                lines.push(format!("dir {path}"));
                if kind == 3 && picks.byte().is_multiple_of(2) {
                    closed.push(format!("mode 000 {path}"));
                }
            }
            4 | 5 => lines.push(format!("file {path}=file {number}")),
            6 => lines.push(format!("fifo {path}")),
            _ => lines.push(format!("link {path} -> {}", link(picks))),
        }
        used.push(path);
    }
    // Inner ones first: a closed directory cannot be entered to close another.
    lines.extend(closed.into_iter().rev());
    lines
}

fn link(picks: &mut Picks<'_>) -> String {
    let text = format!("{}{}", picks.of(STARTS), steps(picks));
    if text.is_empty() { ".".to_owned() } else { text }
}

fn steps(picks: &mut Picks<'_>) -> String {
    let count = 1 + picks.byte() % 4;
    let mut text = (0..count).map(|_| picks.of(STEPS)).collect::<Vec<_>>().join("/");
    // An empty first step would make it absolute.
    if text.starts_with('/') {
        text.insert(0, '.');
    }
    text.push_str(picks.of(ENDS));
    text
}

/// A path below the root, as a caller may write it, and what it means for the model.
pub fn path(picks: &mut Picks<'_>, root: &str) -> (String, String) {
    let mut relative = steps(picks);
    if relative.is_empty() || relative.starts_with('/') {
        relative.insert(0, '.');
    }
    let form = picks.byte() % 4;
    if picks.byte() % 4 == 3 {
        relative = format!("{relative}/{}", vocabulary::component(picks.byte()));
    }
    let text = match form {
        0 => format!("{root}/{relative}"),
        1 if !relative.contains("//") => format!("root://root/{}", encode(&relative)),
        _ => relative.clone(),
    };
    (text, relative)
}

/// The names of a path as they stand in a URI.
pub(crate) fn encode(path: &str) -> String {
    path.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || b"./".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02x}")
            }
        })
        .collect()
}
