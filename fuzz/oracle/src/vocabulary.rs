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
];

/// A path out of numbers: each picks a component, an odd sum puts a slash at the end, the first may make it absolute or a URI.
pub fn path(picks: &[u8]) -> String {
    let mut text = match picks.first() {
        Some(250..) => "root://root/".to_owned(),
        Some(240..) => "/".to_owned(),
        _ => String::new(),
    };
    let names: Vec<&str> =
        picks.iter().filter_map(|pick| COMPONENTS.get(usize::from(*pick) % COMPONENTS.len())).copied().collect();
    text.push_str(&names.join("/"));
    if picks.iter().fold(0u8, |sum, pick| sum.wrapping_add(*pick)) % 2 == 1 {
        text.push('/');
    }
    text
}
