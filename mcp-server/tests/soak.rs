//! Hours in minutes: four clients over stdio and HTTP call all tools at once, while another party changes the tree and roots are taken back.
//!
//! Catches: an answer that is not what the client's own calls led to, content from outside, a root that works after it was taken back, memory or
//! descriptors that grow with the number of calls.
//!
//! A few seconds by default; `CAP_ROOTS_SOAK=600 cargo test --release -p cap-roots-mcp --test soak -- --nocapture` is the whole.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]
#![allow(clippy::cast_possible_truncation, clippy::print_stdout, reason = "a test that tells its counts")]

#[path = "soak/disk.rs"]
mod disk;
#[path = "soak/own.rs"]
mod own;
mod support;

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use disk::{Cost, INSIDE, cost, disturb, servers};
use own::Own;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use support::roots::{Rooted, rooted};
use support::{Client, client, eras};

/// Memory that may come and go without being a leak: caches of the allocator, buffers of large answers.
const SLACK: u64 = 8 << 10;

/// Parts of the time, with a rest behind each, at which what is held is counted.
const PARTS: u32 = 5;

/// One of the clients.
enum Way<'a> {
    Stdio(Client),
    /// Narrowed by its own roots, some of which it takes back now and then.
    Narrowed(Rooted),
    Http(Mutex<support::http::Client<'a>>),
}

impl Way<'_> {
    async fn call(&self, tool: &str, arguments: &Value) -> Value {
        let told = |result: CallToolResult| serde_json::to_value(result).unwrap();
        match self {
            Self::Stdio(client) => told(support::call(client, tool, arguments.clone()).await),
            Self::Narrowed(client) => told(support::call(client, tool, arguments.clone()).await),
            Self::Http(client) => {
                let answer = client.lock().unwrap().ask("tools/call", json!({ "name": tool, "arguments": arguments }));
                answer["result"].clone()
            }
        }
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// What comes of a look at what another party is changing: inside content or a refusal, never anything else.
async fn look(way: &Way<'_>, turn: u64) {
    let (tool, arguments) = match turn % 6 {
        0 => ("read_text_file", json!({ "path": "shared/target" })),
        1 => ("read_text_file", json!({ "path": "shared/dir/secret" })),
        2 => ("directory_tree", json!({ "path": "shared" })),
        3 => ("search_file_contents", json!({ "path": "shared", "pattern": "e" })),
        4 => ("read_text_file", json!({ "path": "root://moving/kept" })),
        _ => ("read_multiple_files", json!({ "paths": ["shared/dir/secret", "root://moving/secret", "shared/target"] })),
    };
    let answer = way.call(tool, &arguments).await;
    assert!(!answer.to_string().contains("SECRET"), "{tool} {arguments}: {answer}");
    let text = answer["content"][0]["text"].as_str().unwrap();
    if tool == "read_text_file" {
        let known = ["not-found", "outside-roots", "is-a-directory", "not-a-directory", "root-absent", "busy", "symlink-loop"];
        let code = answer["_meta"]["cap-roots/code"].as_str();
        // Seen between its making and its first byte, it is empty.
        assert!(code.map_or([INSIDE, "kept\n", ""].contains(&text), |code| known.contains(&code)), "{arguments}: {answer}");
    }
}

/// Calls until the time is over; gives the number of calls.
async fn work(way: &Way<'_>, base: &Path, name: &str, end: Instant, calls: &AtomicU64) {
    let mut own = Own::new(name.to_owned(), name.bytes().map(u64::from).sum());
    let mut turn = 0;
    while Instant::now() < end {
        turn += 1;
        let asked = own.next();
        asked.check(&way.call(asked.tool, &asked.arguments).await);
        look(way, turn).await;
        calls.fetch_add(2, Ordering::Relaxed);
        if let Way::Narrowed(client) = way
            && turn % 20 == 0
        {
            client.change(&[uri(&base.join("moving"))]).await;
            let answer = way.call("list_directory", &json!({ "path": base.join("work").join(name) })).await;
            assert_eq!(answer["isError"], true, "a root that was taken back: {answer}");
            client.change(&[uri(&base.join("work")), uri(&base.join("moving"))]).await;
        }
    }
}

/// Nothing is under way: what the servers hold now they keep.
fn at_rest() -> Vec<Cost> {
    std::thread::sleep(Duration::from_millis(500));
    servers().into_iter().map(cost).collect()
}

#[test]
fn nothing_grows_and_no_answer_is_wrong() {
    let seconds: u64 = std::env::var("CAP_ROOTS_SOAK").map_or(6, |seconds| seconds.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    for dir in ["work/shared", "moving", "outside"] {
        fs::create_dir_all(base.join(dir)).unwrap();
    }
    for (name, content) in
        [("outside/secret", "SECRET"), ("outside/kept", "SECRET"), ("work/shared/kept", "kept\n"), ("moving/kept", "kept\n")]
    {
        fs::write(base.join(name), content).unwrap();
    }
    let [work_dir, moving] = ["work", "moving"].map(|name| base.join(name).to_str().unwrap().to_owned());
    let dirs = [work_dir.as_str(), moving.as_str()];
    let uris = dirs.map(|dir| uri(Path::new(dir)));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let [legacy, modern] = eras();
    let http = support::http::Server::start(&dirs);
    let ways = [
        Way::Stdio(runtime.block_on(client(modern, &dirs))),
        Way::Narrowed(runtime.block_on(rooted(legacy, &["--client-roots", "narrow", dirs[0], dirs[1]], &uris))),
        Way::Http(Mutex::new(http.client(false))),
        Way::Http(Mutex::new(http.client(true))),
    ];
    assert_eq!(servers().len(), 3, "a server for each client on stdio, and one for both on HTTP");
    let (done, calls) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut costs = Vec::new();
    std::thread::scope(|scope| {
        // Whatever comes, the other party ends.
        let _end = OnDrop(&done);
        scope.spawn(|| disturb(&base, &done));
        for part in 0..PARTS {
            let end = Instant::now() + Duration::from_secs(seconds) / PARTS;
            std::thread::scope(|scope| {
                for (way, name) in ways.iter().zip(["c0", "c1", "c2", "c3"]) {
                    let _ = fs::remove_dir_all(base.join("work").join(name));
                    fs::create_dir(base.join("work").join(name)).unwrap();
                    let (runtime, base, calls) = (runtime.handle(), &base, &calls);
                    scope.spawn(move || runtime.block_on(work(way, base, name, end, calls)));
                }
            });
            costs.push(at_rest());
            println!("part {part}: {} calls, {:?}", calls.load(Ordering::Relaxed), costs.last().unwrap());
        }
    });
    // The first part warms up; from then on nothing may grow.
    let (first, last) = (&costs[1], costs.last().unwrap());
    assert_eq!(last.len(), 3, "a server is gone");
    for (first, last) in first.iter().zip(last) {
        assert!(last.memory <= first.memory + SLACK, "memory grows: {first:?}, {last:?}");
        assert!(last.descriptors <= first.descriptors, "descriptors grow: {first:?}, {last:?}");
    }
    println!("proof: soak: {} answers, each asserted to be what its client's calls led to", calls.load(Ordering::Relaxed));
    for way in ways {
        match way {
            Way::Stdio(client) => drop(runtime.block_on(client.cancel()).unwrap()),
            Way::Narrowed(client) => runtime.block_on(client.close()),
            Way::Http(_) => {}
        }
    }
}

struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
