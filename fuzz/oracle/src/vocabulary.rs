//! Components and paths that have broken path handling before.

/// Components to build paths from: what parsers, kernels and people stumble over.
pub const COMPONENTS: &[&str] = &[
    "..",
    ".",
    "",
    "a",
    "b",
    "dir",
    "file",
    "in",
    "out",
    "up",
    "self",
    "loop",
    "dangling",
    "abs-in",
    "abs-out",
    "deep",
    "fifo",
    "canary",
    "ROOT",
    "outside",
    "secret",
    "...",
    "a ",
    " a",
    "a.",
    "-",
    "~",
    "*",
    "a:b",
    "a\\b",
    "C:",
    "NUL",
    "con.txt",
    "caf\u{e9}",
    "cafe\u{301}",
    "A",
    "%2e%2e",
    "%2f",
    "%00",
    "a\u{202e}b",
    "root:",
    "proc",
    "device",
    "wide",
    // No name on any system, and the longest that is one on most.
    "a\0b",
    NAME_OF_255,
    NAME_OF_256,
    "a\nb",
    "a\u{7f}b",
    // Two forms of one name, of a letter that is one of its own besides, and two cases.
    "\u{212b}",
    "\u{c5}",
    "A\u{30a}",
    "\u{e9}",
    "e\u{301}",
    "DIR",
    "File",
    "stra\u{df}e",
    "STRASSE",
    "x\u{202f}y",
    "x\u{a0}y",
    // Devices of Windows, and what it takes for one.
    "COM1",
    "com\u{b9}",
    "LPT\u{b2}.txt",
    "nul.tar.gz",
    "AUX ",
    "CONIN$",
    "con:",
    // Streams, in which a name has a second one.
    "file::$DATA",
    "file:stream",
    "dir:$I30:$INDEX_ALLOCATION",
    // Short names, which some systems give to longer ones.
    "FILE~1",
    "CAFE~1.TXT",
    "ROOT~1",
    // Escapes of escapes, and bytes that no UTF-8 has.
    "%252e%252e",
    "%c0%ae",
    "%5c",
    "%",
    // What looks like dots, or is cut to them.
    ".. ",
    "..\u{200d}",
    "\u{ff0e}\u{ff0e}",
    "\u{2025}",
    "\u{feff}a",
    ".env",
    ".git",
];

const NAME_OF_255: &str = name_of(&[b'n'; 255]);
const NAME_OF_256: &str = name_of(&[b'n'; 256]);

const fn name_of(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(name) => name,
        Err(_) => panic!("not a name"),
    }
}

/// How many there were when the first inputs were stored. A number behind the end of the list counts round in these, so that the list may
/// grow at its end: all numbers that had a meaning of their own keep it.
const FIRST: usize = 44;

/// A component out of a number.
pub fn component(pick: usize) -> &'static str {
    COMPONENTS.get(pick).unwrap_or(&COMPONENTS[pick % FIRST])
}

/// A path out of numbers: each picks a component, an odd sum puts a slash at the end, the first may make it absolute or a URI.
pub fn path(picks: &[u8]) -> String {
    let mut text = match picks.first() {
        Some(250..) => "root://root/".to_owned(),
        Some(240..) => "/".to_owned(),
        _ => String::new(),
    };
    let names: Vec<&str> = picks.iter().map(|pick| component(usize::from(*pick))).collect();
    text.push_str(&names.join("/"));
    if picks.iter().fold(0u8, |sum, pick| sum.wrapping_add(*pick)) % 2 == 1 {
        text.push('/');
    }
    text
}
