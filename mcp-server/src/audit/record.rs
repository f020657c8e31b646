//! One line of the audit log: JSON, with its fields in one order.
//!
//! May touch: nothing. Text that somebody else wrote is escaped so that it can be undone, shows as nothing but itself, and is capped.

use std::ffi::OsStr;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_roots::Event;
use jiff::Timestamp;
use rmcp::model::RequestId;
use serde_json::Value;

/// Longest path, escaped, in bytes.
const PATH_LIMIT: usize = 1024;
/// Longest name of a tool or identifier of a request, escaped, in bytes.
const NAME_LIMIT: usize = 128;

/// A line under construction.
pub(super) struct Line(String);

/// What a call is: its request and its tool, as the beginning of each of its lines.
#[derive(Clone, Debug)]
pub(super) struct About(String);

impl About {
    /// `request`: none where nobody asked over the protocol.
    pub(super) fn new(request: Option<&RequestId>, tool: &str) -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(1);
        let mut line = Line::part();
        // Two sessions may have one identifier.
        line.field("call", &CALLS.fetch_add(1, Ordering::Relaxed).to_string());
        match request {
            None => line.field("request", "null"),
            Some(RequestId::Number(number)) => line.field("request", &number.to_string()),
            Some(RequestId::String(text)) => line.untrusted("request", text.as_bytes(), NAME_LIMIT),
        }
        line.untrusted("tool", tool.as_bytes(), NAME_LIMIT);
        Self(line.0)
    }
}

impl Line {
    pub(super) fn new(event: &str) -> Self {
        let mut line = Self::part();
        line.text("time", &format!("{:.3}", Timestamp::now()));
        line.text("event", event);
        line.field("pid", &std::process::id().to_string());
        line
    }

    pub(super) fn end(self) -> Vec<u8> {
        let mut bytes = self.0.into_bytes();
        bytes.extend(b"}\n");
        bytes
    }

    /// Without a time: a part of a line.
    pub(super) fn part() -> Self {
        Self(String::new())
    }

    pub(super) fn into_part(self) -> String {
        self.0 + "}"
    }

    fn about(&mut self, about: &About) {
        self.0.push_str(&about.0.replacen('{', ",", 1));
    }

    /// A value that is JSON already.
    pub(super) fn field(&mut self, key: &str, value: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        let _ = write!(self.0, "\"{key}\":{value}");
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.field(key, &Value::from(value).to_string());
    }

    pub(super) fn number(&mut self, key: &str, value: Option<u64>) {
        self.field(key, &value.map_or_else(|| "null".to_owned(), |value| value.to_string()));
    }

    fn code(&mut self, code: Option<&str>) {
        match code {
            Some(code) => self.text("code", code),
            None => self.field("code", "null"),
        }
    }

    /// Text of somebody else. Where it was cut, a second field tells how long it is, unescaped and in bytes.
    fn untrusted(&mut self, key: &str, value: &[u8], limit: usize) {
        let (text, whole) = escape(value, limit);
        self.text(key, &text);
        if !whole {
            self.field(&format!("{key}_bytes"), &value.len().to_string());
        }
    }

    pub(super) fn path(&mut self, key: &str, path: &OsStr) {
        self.untrusted(key, path.as_encoded_bytes(), PATH_LIMIT);
    }
}

/// What the library decided on one path, and what came of it.
pub(super) fn decision(about: &About, event: &Event<'_>) -> Vec<u8> {
    let mut line = Line::new("decision");
    line.about(about);
    let operation = event.operation();
    line.text("operation", operation.name());
    if operation.needs_at_target().is_some() {
        line.text("end", if event.is_target() { "to" } else { "from" });
    }
    match event.root() {
        Some(root) => line.text("root", root),
        None => line.field("root", "null"),
    }
    line.path("path", event.path());
    let code = event.outcome().err().map(|kind| kind.code());
    line.text("verdict", if code.is_some() { "refused" } else { "allowed" });
    line.code(code);
    line.number("bytes", event.bytes());
    line.end()
}

/// What a call was answered with: the code of the refusal, and the size of the answer where there is one.
pub(super) fn answer(about: &About, code: Option<&str>, bytes: Option<u64>) -> Vec<u8> {
    let mut line = Line::new("answer");
    line.about(about);
    line.code(code);
    line.number("bytes", bytes);
    line.end()
}

/// Percent escapes, as in `root://` URIs, for what would not show as itself or would not be taken there: control, bidirectional and
/// invisible characters, bytes that are no UTF-8, and `%`, `?`, `#` and `\`. At most `limit` bytes, cut between characters; and whether that
/// was all.
fn escape(value: &[u8], limit: usize) -> (String, bool) {
    let mut out = String::new();
    for chunk in value.utf8_chunks() {
        for c in chunk.valid().chars() {
            let piece = if is_plain(c) { c.to_string() } else { percent(c.encode_utf8(&mut [0; 4]).as_bytes()) };
            if out.len() + piece.len() > limit {
                return (out, false);
            }
            out.push_str(&piece);
        }
        let piece = percent(chunk.invalid());
        if out.len() + piece.len() > limit {
            return (out, false);
        }
        out.push_str(&piece);
    }
    (out, true)
}

fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control() && !matches!(c, '%' | '?' | '#' | '\\');
    }
    cap_roots::escape(c.encode_utf8(&mut [0; 4])).chars().eq([c])
}

fn percent(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "%{byte:02X}");
        text
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn undo(text: &str) -> Vec<u8> {
        let mut bytes = text.bytes();
        let mut out = Vec::new();
        while let Some(byte) = bytes.next() {
            let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16).unwrap()).unwrap();
            out.push(match byte {
                b'%' => digit(bytes.next().unwrap()) * 16 + digit(bytes.next().unwrap()),
                byte => byte,
            });
        }
        out
    }

    proptest! {
        /// Catches: two names with one line, a name that is more than its line, a line that is cut in the middle of an escape.
        #[test]
        fn what_is_written_can_be_undone(
            value in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "\\PC{0,20}".prop_map(String::into_bytes),
                "[\\x00-\\x20%\"\\\\\u{202e}\u{200b}\u{9b}äa]{0,30}".prop_map(String::into_bytes),
            ],
            limit in 0_usize..80,
        ) {
            let mut line = Line::new("decision");
            line.untrusted("path", &value, limit);
            let text = String::from_utf8(line.end()).unwrap();
            prop_assert_eq!(text.find('\n'), Some(text.len() - 1));
            let hidden = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}');
            prop_assert!(!text.trim_end().contains(hidden), "{:?}", text);
            let line: Value = serde_json::from_str(&text).unwrap();
            let path = line["path"].as_str().unwrap();
            let back = undo(path);
            prop_assert!(path.len() <= limit);
            match line.get("path_bytes") {
                None => prop_assert_eq!(back, value),
                Some(bytes) => {
                    prop_assert_eq!(bytes.as_u64(), Some(value.len() as u64));
                    prop_assert!(back.len() < value.len() && value.starts_with(&back));
                }
            }
        }
    }

    #[test]
    fn a_call_is_told_by_its_request() {
        let line = |request: Option<RequestId>, tool: &str| {
            let line = answer(&About::new(request.as_ref(), tool), Some("busy"), None);
            String::from_utf8(line).unwrap().split_once("\"request\"").unwrap().1.to_owned()
        };
        assert_eq!(line(None, "read"), ":null,\"tool\":\"read\",\"code\":\"busy\",\"bytes\":null}\n");
        assert_eq!(line(Some(RequestId::Number(-7)), "{x"), ":-7,\"tool\":\"{x\",\"code\":\"busy\",\"bytes\":null}\n");
        let long = line(Some(RequestId::String("\n{\"".repeat(1000).into())), "a\u{1b}");
        assert!(long.starts_with(":\"%0A{\\\"%0A") && long.contains("\"request_bytes\":3000,\"tool\":\"a%1B\""), "{long}");
        assert!(long.len() < 400);
    }
}
