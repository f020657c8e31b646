//! A state machine over sessions: lists are set and taken back, calls sent, questions answered soon, late or by the list of before, in generated
//! orders and bursts. No call may be served by a root that was taken back before it began, in the order of the wire. Catches an adapter that
//! sees notices late, or drops its cache after the question; the control at the end shows that the test can tell.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "builds trees by path")]

mod support;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use cap_roots_rmcp::ClientRoots;
use serde_json::{Value, json};
use support::{Kind, Server, Tree, Wire, changed, list, text};

const DIRS: [&str; 3] = ["granted/a", "granted/b", "granted/ab"];

/// Small, seeded, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Which of [`DIRS`] are in a list.
type Set = [bool; 3];

struct Call {
    dir: usize,
    /// How many lists there had been when it was sent; its own is the last of them.
    began: usize,
}

/// What the client has said and been asked.
struct Client<'a> {
    tree: &'a Tree,
    announces: bool,
    wire: Wire,
    random: Random,
    lists: Vec<Set>,
    calls: HashMap<u64, Call>,
    /// Questions with the list of the moment when they came.
    questions: VecDeque<(Value, Set)>,
    checked: usize,
    stale: Vec<String>,
    missed: Vec<String>,
}

impl Client<'_> {
    fn now(&self) -> Set {
        *self.lists.last().unwrap()
    }

    fn result(&self, set: Set) -> Value {
        list(&DIRS.iter().zip(set).filter(|(_, sent)| *sent).map(|(dir, _)| self.tree.uri(dir)).collect::<Vec<_>>())
    }

    fn step(&mut self) -> Option<Value> {
        match self.random.below(8) {
            0 => {
                let set = [0; 3].map(|_: usize| self.random.below(2) == 0);
                self.lists.push(set);
                self.announces.then(changed)
            }
            1..=4 => {
                let dir = self.random.below(DIRS.len());
                let (id, call) = self.wire.call("read", &format!("root://{}/name", DIRS[dir]));
                self.calls.insert(id, Call { dir, began: self.lists.len() });
                Some(call)
            }
            // By the list of then, as an answer that crossed a notice; the other way is an answer that came late.
            5..=6 => {
                let (id, then) = self.questions.pop_front()?;
                Some(json!({ "jsonrpc": "2.0", "id": id, "result": self.result(then) }))
            }
            _ => None,
        }
    }

    /// Takes what the server has sent until it is quiet for a moment.
    async fn listen(&mut self, quiet: Duration) {
        while let Ok(message) = tokio::time::timeout(quiet, self.wire.receive()).await {
            self.take(&message);
        }
    }

    fn take(&mut self, message: &Value) {
        if message["method"] == "roots/list" {
            self.questions.push_back((message["id"].clone(), self.now()));
            return;
        }
        let Some(Call { dir, began }) = self.calls.remove(&message["id"].as_u64().unwrap()) else { panic!("{message}") };
        let (text, lists) = (text(message), &self.lists[began - 1..]);
        self.checked += 1;
        let served = text == DIRS[dir];
        if served && !lists.iter().any(|set| set[dir]) {
            self.stale.push(format!("{} was taken back before the call began", DIRS[dir]));
        }
        if !served {
            assert!(["no-roots", "outside-roots", "cancelled"].contains(&&*text), "{message}");
            // With one list from its beginning to its end there is one right answer.
            if lists.len() == 1 && lists[0][dir] {
                self.missed.push(format!("{} is in the list: {message}", DIRS[dir]));
            }
        }
    }
}

/// What came of sessions: how many calls were checked, which were served by what was taken back, and which were not served though they had to be.
#[derive(Default)]
struct Found {
    checked: usize,
    stale: Vec<String>,
    missed: Vec<String>,
}

async fn session(seed: u64, server: Server, kind: &Kind, announces: bool, tree: &Tree, found: &mut Found) {
    let wire = Wire::legacy(server, kind, json!({ "roots": { "listChanged": announces } })).await;
    let mut client = Client {
        tree,
        announces,
        wire,
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        lists: vec![[true, false, true]],
        calls: HashMap::new(),
        questions: VecDeque::new(),
        checked: 0,
        stale: Vec::new(),
        missed: Vec::new(),
    };
    for _ in 0..12 {
        let steps = 1 + client.random.below(6);
        let burst: Vec<Value> = (0..steps).filter_map(|_| client.step()).collect();
        client.wire.send_all(&burst).await;
        if client.random.below(2) == 0 {
            client.listen(Duration::from_micros(300)).await;
        }
    }
    while !client.calls.is_empty() {
        while let Some((id, then)) = client.questions.pop_front() {
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": client.result(then) });
            client.wire.send(answer).await;
        }
        let message =
            tokio::time::timeout(Duration::from_secs(10), client.wire.receive()).await.expect("a call is never answered");
        client.take(&message);
    }
    found.checked += client.checked;
    found.stale.extend(client.stale.into_iter().map(|what| format!("seed {seed}: {what}")));
    found.missed.extend(client.missed.into_iter().map(|what| format!("seed {seed}: {what}")));
}

/// Sessions one after the other, with as many seeds.
async fn sessions(count: u64, kind: &Kind, notices: bool, announces: bool) -> Found {
    let tree = Tree::new();
    let mut found = Found::default();
    for seed in 0..count {
        let mut server = Server::new(&ClientRoots::narrow(tree.granted()));
        server.notices = notices;
        session(seed, server, kind, announces, &tree, &mut found).await;
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_call_is_served_by_roots_that_were_taken_back_before_it_began() {
    for (notices, announces) in [(true, true), (false, true), (true, false)] {
        let found = sessions(250, &Kind::Watched, notices, announces).await;
        assert!(found.checked > 3000, "{} calls", found.checked);
        assert_eq!((found.stale, found.missed), Default::default());
    }
}

/// The control: with nobody who sees the notices, the same test finds what it looks for.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_notices_the_test_finds_stale_roots() {
    let found = sessions(30, &Kind::Plain, false, true).await;
    assert!(!found.stale.is_empty() && !found.missed.is_empty());
}
