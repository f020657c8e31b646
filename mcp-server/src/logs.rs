//! The program's own logs, on standard error: how much by `RUST_LOG`, in which form by `--log-format`.
//!
//! May touch: `options`, and nothing else. Whatever is told, one event is one line, and no character in it is a command to a terminal.

use std::io::{self, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::options::LogFormat;

/// The protocol library warns of each request that is refused, and a client may ask for as many as it likes. Its errors are of answers that
/// nobody takes any more: of a client that has gone, of calls that end with the server.
const USUAL: &str = "warn,rmcp::service=off,rmcp::transport::common::server_side_http=off";

pub(crate) fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| USUAL.into());
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Lines(format));
    match format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
}

/// Standard error, an event at a time.
struct Lines(LogFormat);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Event;

    fn make_writer(&'a self) -> Event {
        Event { format: self.0, bytes: Vec::new() }
    }
}

/// One event; written when it is complete.
struct Event {
    format: LogFormat,
    bytes: Vec<u8>,
}

impl Write for Event {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.bytes);
        if !text.is_empty() {
            let _ = io::stderr().write_all(line(self.format, &text).as_bytes());
        }
    }
}

/// `text` on one line. In JSON such characters stand in strings only, where their escape is the same.
fn line(format: LogFormat, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    let mut units = [0; 2];
    for c in text.trim_end_matches('\n').chars() {
        let shown = cap_roots::escape(c.encode_utf8(&mut [0; 4]));
        if shown.chars().eq([c]) {
            out.push(c);
        } else if format == LogFormat::Json {
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push_str(&shown);
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a name that forges a line of the log, or speaks to the terminal.
    #[test]
    fn an_event_is_one_line() {
        let text = "WARN a\nERROR \u{1b}[31m\u{9b}b\u{202e}\u{e0041} ü 音\n";
        assert_eq!(line(LogFormat::Text, text), "WARN a\\u{a}ERROR \\u{1b}[31m\\u{9b}b\\u{202e}\\u{e0041} ü 音\n");
        let json = line(LogFormat::Json, "{\"message\":\"\\n\u{9b}\u{202e}\u{e0041} ü\"}\n");
        assert!(json.ends_with("ü\"}\n") && !json.trim_end().contains(|c: char| c.is_control() || c == '\u{202e}'), "{json}");
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["message"], "\n\u{9b}\u{202e}\u{e0041} ü");
    }
}
