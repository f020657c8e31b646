//! Text out of bytes, in two encodings of which no input belongs to both: UTF-8 is the text itself, and what begins with `0xFF`, which UTF-8 never
//! does, picks pieces from a list. A list may grow at its end, up to [`MOST`]: what an old input picks stays what it was.

use crate::generate::Picks;

/// Most pieces in a list.
pub const MOST: usize = 64;

/// The text that bytes stand for; `None` for those that stand for none.
#[must_use]
pub fn text(bytes: &[u8], pieces: &[&str]) -> Option<String> {
    match bytes.split_first() {
        // Long enough for what is too long, and no longer: an execution has to be short.
        Some((0xff, picks)) => Some(picks.iter().take(MOST).map(|byte| piece(pieces, usize::from(*byte))).collect()),
        _ => std::str::from_utf8(bytes).ok().map(str::to_owned),
    }
}

/// The piece that a number picks; nothing where the list is not that long yet.
pub(crate) fn piece<'a>(pieces: &[&'a str], number: usize) -> &'a str {
    pieces.get(number % MOST).copied().unwrap_or_default()
}

/// The piece that the next byte picks.
pub(crate) fn next<'a>(picks: &mut Picks<'_>, pieces: &[&'a str]) -> &'a str {
    piece(pieces, picks.byte())
}

/// What URIs are made of.
pub const OF_URIS: &[&str] = &[
    "file:///",
    "root://ws/",
    "FILE://localhost/",
    "root://",
    "file://",
    "/",
    "a",
    "B.md",
    ".",
    "..",
    "%2e",
    "%2E",
    "%2f",
    "%5C",
    "%00",
    "%25",
    "%",
    "%4",
    "%zz",
    "%c3%a9",
    "%ff",
    "\u{e9}",
    "C:",
    "c%3A",
    "D|",
    "%7c",
    "\\",
    "?",
    "#",
    " ",
    "%20",
    "\t",
    "%0a",
    "host",
    "user@",
    ":80",
    "ws",
    "WS",
    "-",
    "_",
    "~1",
    "%7E1",
    "NUL",
    "%4eUL",
    "com%C2%B9",
    "CON.txt",
    "a%20",
    "a.",
    "a:b",
    "a%3Ab",
    "%e2%80%ae",
    "\u{85}",
    "localhost",
    "file:",
    "root:/",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9",
    "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/",
];

/// What path arguments are made of.
pub const OF_PATHS: &[&str] = &[
    "/",
    "\\",
    "a",
    "B.md",
    ".",
    "..",
    "...",
    "~",
    "~1",
    "PROGRA~1",
    "C:",
    "z:",
    ":",
    "c:x",
    "//",
    "\\\\",
    "?",
    "\\\\?\\",
    "\\\\.\\",
    "\\??\\",
    "//?/",
    "UNC\\",
    "server",
    "share$",
    "NUL",
    "nul.txt",
    "con",
    "CONIN$",
    "conout$",
    "aux ",
    "PRN.",
    "com1",
    "COM0",
    "com\u{b9}",
    "LPT\u{b3}.x",
    "lpt\u{2074}",
    "COM10",
    "clock$",
    ".txt",
    " ",
    "*",
    "\"",
    "<",
    ">",
    "|",
    "\0",
    "\n",
    "\u{7f}",
    "\u{85}",
    "\u{e9}",
    "e\u{301}",
    "\u{202e}",
    "\u{ff0f}",
    "\u{1f4c1}",
    "root://ws/",
    "file:///",
    "root:",
    "file:",
    ":$DATA",
    "::$INDEX_ALLOCATION",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}\u{1f4c1}",
    "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/",
    "b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\",
];
