//! The lines of a session out of bytes.
//!
//! Encoding of an input: the flags, then for each line a byte of its kind, followed by as many bytes as the kind takes.

use serde_json::{Map, Value, json};

/// Most lines of one session.
const LINES: usize = 24;

const VERSIONS: [&str; 8] =
    ["2025-11-25", "2024-11-05", "2025-03-26", "2025-06-18", "2026-07-28", "2026-07-28", "1999-01-01", "2026-07-28"];

/// Those that change something come last.
const TOOLS: [&str; 32] = [
    "read_text_file",
    "read_file",
    "read_media_file",
    "read_multiple_files",
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "search_files",
    "search_file_contents",
    "get_file_info",
    "list_allowed_directories",
    "no_such_tool",
    "",
    "read_text_file",
    "read_media_file",
    "list_directory",
    "directory_tree",
    "search_files",
    "search_file_contents",
    "get_file_info",
    "read_text_file",
    "read_text_file",
    "list_directory",
    "read_text_file",
    "write_file",
    "edit_file",
    "append_file",
    "create_directory",
    "move_file",
    "copy_file",
    "delete_file",
    "delete_directory",
];
const CHANGING: usize = 24;

const PATHS: [&str; 64] = [
    ".",
    "file",
    "a/b/file",
    "dir",
    "in",
    "out",
    "outside",
    "../outside/secret",
    "$ROOT/file",
    "$ROOT/../outside/secret",
    "$BASE/outside/secret",
    "$BASE",
    "root://ro/file",
    "root://ro/dir/up/..",
    "root://ro/../outside/secret",
    "root://ro/out",
    "root://rw/n",
    "root://rw/d",
    "root://rw/d/f",
    "root://rw/new",
    "root://rw/d/e/new",
    "root://rw/out",
    "root://rw/",
    "root://rw",
    "root://no/x",
    "$RW/n",
    "$RW/d/up/n",
    "$RW/../outside/secret",
    "file://$ROOT/file",
    "file://$BASE/outside/secret",
    "file://localhost$ROOT/dir",
    "~/",
    "~root/x",
    "",
    "\0",
    "a\nb",
    "..",
    "../..",
    "/",
    "/etc/passwd",
    "/proc/self/root",
    "proc",
    "proc/etc/passwd",
    "fifo",
    "a/sock",
    "device",
    "loop",
    "self/self/file",
    "abs-in",
    "abs-out",
    "dangling",
    "dangling/",
    "out/",
    "file/",
    "deep/deep/deep",
    "wide",
    "cafe\u{301}",
    "caf\u{e9}",
    "root://ro/%2e%2e/outside/secret",
    "root://ro/dir/%ff",
    "root://rw/ruled",
    "root://rw/ruled/x",
    "out-and-back",
    "dir/dangling",
];

const TEXTS: [&str; 16] = [
    "one", "*", "**", "**/*", "inside", "two\n", "x", "", "{a,b}", "[", "(?:a|b)+", "\u{202e}", "../**", "secret", "one\ntwo",
    ".*",
];

const METHODS: [&str; 16] = [
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "server/discover",
    "initialize",
    "prompts/list",
    "logging/setLevel",
    "completion/complete",
    "tools/call",
    "no/such",
    "",
    "notifications/initialized",
    "resources/subscribe",
    "ping",
];

const NOTICES: [&str; 8] = [
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/roots/list_changed",
    "notifications/progress",
    "no/such",
    "tools/list",
    "ping",
    "notifications/cancelled",
];

struct Picks<'a> {
    bytes: &'a [u8],
    modern: bool,
    places: &'a [(&'static str, String)],
    /// The last id that was given to nobody else.
    last: i64,
}

impl<'a> Picks<'a> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.bytes.split_first().map_or((0, self.bytes), |(first, rest)| (*first, rest));
        self.bytes = rest;
        first
    }

    fn of<const N: usize>(&mut self, list: &[&'static str; N]) -> &'static str {
        const { assert!(N.is_power_of_two(), "a longer list would change what bytes mean") };
        list[usize::from(self.byte()) % N]
    }

    fn some(&mut self, count: usize) -> &'a [u8] {
        let (some, rest) = self.bytes.split_at(count.min(self.bytes.len()));
        self.bytes = rest;
        some
    }

    fn path(&mut self) -> String {
        self.places.iter().fold(self.of(&PATHS).to_owned(), |path, (name, place)| path.replace(name, place))
    }

    /// Mostly one of its own.
    fn id(&mut self, kind: u8) -> Value {
        match kind & 7 {
            1 => json!(7),
            2 => json!("7"),
            3 => json!(["", "0", "a", "\u{1f600}"][usize::from(self.byte() & 3)]),
            4 => json!([0, -1, i64::MAX, i64::MIN][usize::from(self.byte() & 3)]),
            _ => {
                self.last += 1;
                json!(self.last)
            }
        }
    }

    fn request(&mut self, id: Value, method: &str, mut params: Value) -> Value {
        let how = self.byte();
        if self.modern && how < 240 {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        if how & 15 == 1 {
            params["_meta"]["progressToken"] = id.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    fn arguments(&mut self) -> Value {
        let mut arguments = Map::new();
        let (path, other) = (self.path(), self.path());
        let (one, two) = (self.of(&TEXTS), self.of(&TEXTS));
        for (name, value) in [
            ("path", json!(path)),
            ("source", json!(path)),
            ("destination", json!(other)),
            ("paths", json!([path, other])),
            ("pattern", json!(one)),
            ("content", json!(two)),
            ("edits", json!([{ "oldText": one, "newText": two }])),
        ] {
            arguments.insert(name.to_owned(), value);
        }
        let how = self.byte();
        let count = i64::from(self.byte()) - 1;
        let given = [
            (1, "head", json!(count)),
            (2, "offset", json!(count)),
            (4, "recursive", json!(true)),
            (8, "maxResults", json!(count)),
            (16, "excludePatterns", json!([one])),
            (32, "dryRun", json!(true)),
            (64, "regex", json!(true)),
            (128, "cursor", json!(two)),
        ];
        arguments.extend(given.into_iter().filter(|(bit, ..)| how & bit != 0).map(|(_, name, value)| (name.to_owned(), value)));
        Value::Object(arguments)
    }

    fn hello(&mut self, version: &str, id: Value) -> Value {
        let client = json!({ "name": "fuzz", "version": "1" });
        let params =
            json!({ "protocolVersion": version, "capabilities": { "roots": { "listChanged": true } }, "clientInfo": client });
        json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params })
    }

    fn next(&mut self, before: &[u8]) -> Vec<u8> {
        let kind = self.byte();
        let value = match kind >> 4 {
            0..=7 => {
                let (id, tool) = (self.id(kind), self.of(&TOOLS));
                let arguments = self.arguments();
                self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
            }
            8 | 9 => {
                let (id, uri) = (self.id(kind), self.path());
                self.request(id, "resources/read", json!({ "uri": uri }))
            }
            10 => {
                let (id, method) = (self.id(kind), self.of(&METHODS));
                let params = if self.byte() & 1 == 0 { json!({}) } else { json!({ "cursor": self.path() }) };
                self.request(id, method, params)
            }
            11 => {
                let (id, method) = (self.id(kind), self.of(&NOTICES));
                json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": id, "progressToken": id, "progress": 1 } })
            }
            12 => {
                let id = self.id(kind);
                if kind & 8 == 0 {
                    json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": [{ "uri": self.path() }] } })
                } else {
                    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": 1, "message": "no" } })
                }
            }
            13 => {
                let (id, version) = (self.id(kind), self.of(&VERSIONS));
                self.hello(version, id)
            }
            14 => return self.spoilt(before),
            _ => return self.some(usize::from(kind & 15) * 2).to_vec(),
        };
        value.to_string().into_bytes()
    }

    /// The line before, with something done to it.
    fn spoilt(&mut self, before: &[u8]) -> Vec<u8> {
        let mut line = before.to_vec();
        for _ in 0..1 + self.byte() % 4 {
            let (how, at) = (self.byte(), usize::from(self.byte()) * 256 + usize::from(self.byte()));
            let at = at % (line.len() + 1);
            match how % 8 {
                0 => line.truncate(at),
                1..=2 => line.insert(at, self.byte()),
                3 if at < line.len() => drop(line.remove(at)),
                4..=5 if at < line.len() => line[at] = self.byte(),
                6 => line.splice(at..at, self.some(8).iter().copied()).for_each(drop),
                _ => line.extend_from_within(at..),
            }
        }
        line
    }
}

/// The lines, of which the last one is a request whose id no other has.
pub(crate) fn session(flags: u8, bytes: &[u8], places: &[(&'static str, String)]) -> Vec<u8> {
    let era = usize::from(flags >> 1) % VERSIONS.len();
    let mut picks = Picks { bytes, modern: matches!(era, 4 | 5), places, last: 100 };
    let mut lines = Vec::new();
    // The last era begins with whatever comes.
    let begin = match era {
        4 => None,
        5 => Some(picks.request(json!(1), "server/discover", json!({}))),
        7 => None,
        era => Some(picks.hello(VERSIONS[era], json!(1))),
    };
    let mut last = begin.map(|begin| begin.to_string().into_bytes()).unwrap_or_default();
    lines.extend_from_slice(&last);
    lines.push(b'\n');
    for _ in 0..LINES {
        if picks.bytes.is_empty() {
            break;
        }
        last = picks.next(&last);
        lines.extend_from_slice(&last);
        lines.push(b'\n');
    }
    lines.extend_from_slice(br#"{"id":"the end","jsonrpc":"2.0","method":"ping"}"#);
    lines
}

/// Whether a session may have changed something.
pub(crate) fn writes(lines: &[u8]) -> bool {
    let text = String::from_utf8_lossy(lines);
    TOOLS[CHANGING..].iter().any(|tool| text.contains(tool))
}
