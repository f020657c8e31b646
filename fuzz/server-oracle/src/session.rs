//! Sessions by the lines of the wire, in this process: each request gets one answer, nothing of the outside comes back, and whatever was
//! sent before, the last request is answered.
//!
//! The server, its roots and its runtime are made once; a session is two threads and its lines. One root is the poison tree, to be read,
//! and one is small, to be written, and made anew once something was written. What a line has to be answered with is judged here by a reading of
//! JSON-RPC of its own, in `expect`; `line` makes the lines.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cap_roots::{Access, Roots};
use cap_roots_mcp::internals::Host;
use cap_roots_oracle::poison::{self, CANARY};
use cap_roots_oracle::privilege;
use cap_roots_oracle::tree::Tree;
use serde_json::Value;

use crate::expect::{self, Expected};
use crate::line;

/// The content of a canary file as media, but for its last characters.
const CANARY_AS_MEDIA: &str = "Q0FOQVJZLTdmM2";
/// Longer than any session of these may take.
const FOR_EVER: Duration = Duration::from_secs(30);

struct Stage {
    poison: Tree,
    outside: Vec<String>,
    written: Tree,
    plain: Host,
    hidden: Host,
}

const WRITTEN: [&str; 6] = [
    "file n=one\\ntwo",
    "file d/f=inside",
    "file d/e/f=inside",
    "link d/up -> ..",
    "link out -> ../outside/secret",
    "file ../outside/secret=CANARY-7f3a",
];

impl Stage {
    fn new() -> Self {
        privilege::drop_override();
        let fail = |error| -> Tree { panic!("{error}") };
        let (poison, written) = (poison::build().unwrap_or_else(fail), Tree::build(WRITTEN).unwrap_or_else(fail));
        let host = |hide| {
            let roots = Roots::builder()
                .named("ro", poison.root(), Access::Read)
                .named("rw", written.root(), Access::Write)
                .rule("**/ruled", Access::None)
                .hide_host_paths(hide)
                .open()
                .unwrap_or_else(|error| panic!("{error}"));
            Host::new(roots, hide, &[], 40).unwrap_or_else(|error| panic!("{error}"))
        };
        let (plain, hidden) = (host(false), host(true));
        let outside = poison::outside(&poison).unwrap_or_else(|error| panic!("{error}"));
        Self { plain, hidden, outside, poison, written }
    }

    /// What the last session may have left.
    fn tidy(&self) {
        let root = self.written.root();
        for entry in fs::read_dir(&root).into_iter().flatten().flatten() {
            let path = entry.path();
            let _ =
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        for line in &WRITTEN[..5] {
            self.written.plant(line).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

thread_local! {
    static STAGE: Stage = Stage::new();
}

/// Where the answers go.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What an input means, with the places by their names.
pub(crate) fn print(input: &[u8]) -> String {
    let (flags, picks) = input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
    format!("{} {}", flags & 1, String::from_utf8_lossy(&line::session(flags, picks, &[])))
}

/// Panics if a session breaks a promise of the protocol or of the server.
pub fn check(input: &[u8]) {
    STAGE.with(|stage| {
        let (flags, picks) = input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
        let places =
            [("$BASE", stage.poison.base().to_path_buf()), ("$ROOT", stage.poison.root()), ("$RW", stage.written.root())];
        let lines = line::session(flags, picks, &places.map(|(name, path)| (name, path.to_string_lossy().into_owned())));
        let host = if flags & 1 == 0 { &stage.plain } else { &stage.hidden };
        let output = Output::default();
        let begin = Instant::now();
        let ended = host.session(Cursor::new(lines.clone()), output.clone());
        let took = begin.elapsed();
        let output = std::mem::take(&mut *output.0.lock().unwrap_or_else(PoisonError::into_inner));
        let told = || format!("\nsent:\n{}\ngot:\n{}", String::from_utf8_lossy(&lines), String::from_utf8_lossy(&output));
        assert!(ended.is_ok(), "{ended:?}{}", told());
        assert!(took < FOR_EVER, "{took:?}{}", told());
        if let Err(what) = judge(&lines, &output) {
            panic!("{what}{}", told());
        }
        if let Err(what) = stage.silent(&lines, &output, flags & 1 != 0) {
            panic!("{what}{}", told());
        }
        if line::writes(&lines) {
            let secret = fs::read_to_string(stage.written.base().join("outside/secret"));
            assert_eq!(secret.ok().as_deref(), Some(CANARY), "it was written outside{}", told());
            assert_eq!(fs::read_dir(stage.written.base()).map_or(0, Iterator::count), 2, "something was made outside{}", told());
            stage.tidy();
            let outside = poison::outside(&stage.poison).unwrap_or_else(|error| panic!("{error}{}", told()));
            assert_eq!(outside, stage.outside, "the outside was changed{}", told());
        }
    });
}

impl Stage {
    /// Nothing in the answers comes from outside.
    fn silent(&self, lines: &[u8], output: &[u8], hidden: bool) -> Result<(), String> {
        let (sent, got) = (String::from_utf8_lossy(lines), String::from_utf8_lossy(output));
        if !sent.contains("CANARY") && (got.contains(CANARY) || got.contains(CANARY_AS_MEDIA)) {
            return Err("content of the outside".to_owned());
        }
        for tree in [&self.poison, &self.written] {
            let base = tree.base().to_string_lossy();
            // The one answer that tells them is asked for it.
            let told = sent.contains(&*base) || (!hidden && sent.contains("list_allowed_directories"));
            if !told && got.contains(&*base) {
                return Err("a host path that nobody typed".to_owned());
            }
        }
        if got.contains("ended abnormally") { Err("a call panicked".to_owned()) } else { Ok(()) }
    }
}

/// How often something is answered: at least and at most.
#[derive(Clone, Copy, Debug, Default)]
struct Times(usize, usize);

impl Times {
    fn add(&mut self, least: usize, most: usize) {
        self.0 += least;
        self.1 += most;
    }
}

/// Whether the answers are those that the lines have to get.
fn judge(lines: &[u8], output: &[u8]) -> Result<(), String> {
    let expected: Vec<Expected> = expect::lines(lines);
    let withdrawn: Vec<&Value> =
        expected.iter().filter_map(|line| if let Expected::Silence(Some(id)) = line { Some(id) } else { None }).collect();
    let (mut by_id, mut all) = (BTreeMap::<String, Times>::new(), Times::default());
    for line in &expected {
        let (id, least, most) = match line {
            Expected::Silence(_) => continue,
            Expected::Answer(id) => (Some(id), usize::from(!withdrawn.contains(&id)), 1),
            Expected::Fault(id) => (id.as_ref(), 0, 1),
            Expected::Either(id) => (id.as_ref(), 0, 1),
        };
        // A fault is answered in any case, by its id or none.
        all.add(if matches!(line, Expected::Fault(_)) { 1 } else { least }, most);
        if !matches!(line, Expected::Answer(_)) {
            by_id.entry(Value::Null.to_string()).or_default().add(0, 1);
        }
        if let Some(id) = id.filter(|id| !id.is_null()) {
            by_id.entry(id.to_string()).or_default().add(least, most);
        }
    }
    let (mut count, mut counts) = (0, BTreeMap::<String, usize>::new());
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let answer: Value = serde_json::from_slice(line).map_err(|error| format!("an answer is no JSON: {error}"))?;
        if answer["jsonrpc"] != "2.0" {
            return Err(format!("no JSON-RPC: {answer}"));
        }
        if answer.get("method").is_some() {
            continue;
        }
        if answer.get("result").is_some() == answer.get("error").is_some() {
            return Err(format!("neither a result nor an error: {answer}"));
        }
        count += 1;
        *counts.entry(answer["id"].to_string()).or_default() += 1;
    }
    for (id, count) in &counts {
        if !by_id.contains_key(id) {
            return Err(format!("{count} answers to {id}, which nobody asked"));
        }
    }
    for (id, Times(least, most)) in by_id {
        let count = counts.get(&id).copied().unwrap_or(0);
        if count < least || count > most {
            return Err(format!("{count} answers to {id}, not {least} to {most}"));
        }
    }
    if count < all.0 || count > all.1 { Err(format!("{count} answers, not {} to {}", all.0, all.1)) } else { Ok(()) }
}
