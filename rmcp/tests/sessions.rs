//! The era of sessions, where a list is kept. Catches a cache that is dropped after the question instead of before, an answer that is used though a
//! notice overtook it, sets that outlive their list, questions asked for nothing, and clients whose silence adds up.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "builds trees by path")]

mod support;

use std::sync::atomic::Ordering;
use std::time::Duration;

use cap_roots_rmcp::ClientRoots;
use rmcp::ServiceExt;
use serde_json::json;
use support::{Kind, Server, Tree, Wire, changed, list, text};
use tokio::time::Instant;

const DEADLINE: Duration = Duration::from_secs(5);

fn roots() -> serde_json::Value {
    json!({ "roots": { "listChanged": true } })
}

#[tokio::test]
async fn asked_at_the_first_call_and_not_again() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/a")])).await, "granted/a");
    for _ in 0..3 {
        assert_eq!(wire.known("read", "name").await, "granted/a");
    }
    wire.changed().await;
    assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/b")])).await, "granted/b");
    assert_eq!(wire.known("read", "name").await, "granted/b");
    assert_eq!(wire.asked, 2);
}

/// The list is kept, not what it came to: a directory that appears is there.
#[tokio::test]
async fn a_directory_that_appears_is_seen() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    let sent = list(&[tree.uri("granted/new"), tree.uri("granted/newer")]);
    assert_eq!(wire.asked("list", "", sent).await, "no-roots");
    std::fs::create_dir(tree.base.join("granted/newer")).unwrap();
    assert_eq!(wire.known("list", "").await.trim_end_matches('/'), "root://granted/newer");
    std::fs::create_dir(tree.base.join("granted/new")).unwrap();
    assert_eq!(wire.known("list", "").await.split(' ').count(), 2);
}

#[tokio::test]
async fn withdrawing_everything_closes_everything() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted")])).await, "granted");
    wire.changed().await;
    assert_eq!(wire.asked("read", "name", list(&[])).await, "no-roots");
    assert_eq!(wire.known("read", "name").await, "no-roots");
}

#[tokio::test]
async fn calls_at_once_share_one_question() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    let (ids, calls): (Vec<_>, Vec<_>) = (0..16).map(|_| wire.call("read", "name")).unzip();
    wire.send_all(&calls).await;
    let question = wire.question().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    wire.answer(&question, list(&[tree.uri("granted/b")])).await;
    for id in ids {
        assert_eq!(text(&wire.reply(id).await), "granted/b");
    }
    assert_eq!(wire.asked, 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_answers_costs_one_deadline() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    let start = Instant::now();
    let (ids, calls): (Vec<_>, Vec<_>) = (0..16).map(|_| wire.call("read", "name")).unzip();
    wire.send_all(&calls).await;
    for id in ids {
        assert_eq!(text(&wire.reply(id).await), "no-roots");
    }
    assert!((DEADLINE..DEADLINE * 2).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert_eq!(wire.asked, 1);
    // For a while it is taken for silent, then asked again.
    assert_eq!(wire.known("read", "name").await, "no-roots");
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/a")])).await, "granted/a");
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_that_says_something_is_asked_at_once() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted()).deadline(Duration::from_millis(300))).await;
    let (id, call) = wire.call("read", "name");
    wire.send(call).await;
    assert_eq!(text(&wire.reply(id).await), "no-roots");
    wire.changed().await;
    assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/a")])).await, "granted/a");
}

/// It cannot even be told that its answer is no longer waited for.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_holds_no_call() {
    let tree = Tree::new();
    let server = Server::new(&ClientRoots::narrow(tree.granted()));
    let begun = server.begun.clone();
    let mut wire = Wire::with_room(16, |stream| server.serve(stream));
    wire.initialize(roots()).await;
    let (_, call) = wire.call("read", "name");
    wire.send(call).await;
    tokio::time::sleep(DEADLINE * 2).await;
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn late_and_double_answers_count_for_nothing() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    let (id, call) = wire.call("read", "name");
    wire.send(call).await;
    let late = wire.question().await;
    assert_eq!(text(&wire.reply(id).await), "no-roots");
    wire.answer(&late, list(&[tree.uri("granted/a")])).await;
    assert_eq!(wire.known("read", "name").await, "no-roots");
    tokio::time::sleep(Duration::from_secs(11)).await;
    let (id, call) = wire.call("read", "name");
    wire.send(call).await;
    let question = wire.question().await;
    assert_ne!(question, late);
    wire.answer(&late, list(&[tree.uri("granted/a")])).await;
    wire.answer(&question, list(&[tree.uri("granted/b")])).await;
    wire.answer(&question, list(&[tree.uri("granted/a")])).await;
    assert_eq!(text(&wire.reply(id).await), "granted/b");
    assert_eq!(wire.known("read", "name").await, "granted/b");
}

#[tokio::test]
async fn an_error_is_shared_by_those_that_waited_and_then_asked_again() {
    let tree = Tree::new();
    for code in [-32601, -32603, 1] {
        let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
        let (ids, calls): (Vec<_>, Vec<_>) = (0..4).map(|_| wire.call("read", "name")).unzip();
        wire.send_all(&calls).await;
        let question = wire.question().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let error = json!({ "code": code, "message": "/home/secret" });
        wire.send(json!({ "jsonrpc": "2.0", "id": question, "error": error })).await;
        for id in ids {
            let reply = wire.reply(id).await;
            assert_eq!(text(&reply), "no-roots");
            assert!(reply.to_string().contains("could not say which") && !reply.to_string().contains("secret"), "{reply}");
        }
        assert_eq!(wire.asked, 1);
        assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/a")])).await, "granted/a");
    }
}

/// The answer to a question that a notice overtook may be the old list.
#[tokio::test]
async fn a_notice_while_asking_makes_the_answer_void() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    let (id, call) = wire.call("read", "name");
    wire.send(call).await;
    let question = wire.question().await;
    let old = json!({ "jsonrpc": "2.0", "id": question, "result": list(&[tree.uri("granted/a")]) });
    wire.send_all(&[changed(), old]).await;
    let question = wire.question().await;
    // The other order: the notice is behind the answer, and both are there before anybody looks.
    let old = json!({ "jsonrpc": "2.0", "id": question, "result": list(&[tree.uri("granted/ab")]) });
    let (next, call) = wire.call("read", "name");
    wire.send_all(&[old, changed(), call]).await;
    let question = wire.question().await;
    wire.answer(&question, list(&[tree.uri("granted/b")])).await;
    assert_eq!(text(&wire.reply(next).await), "granted/b");
    // The first call may have been served before the notice; by the old list only if it had ended by then.
    let first = text(&wire.reply(id).await);
    assert!(["granted/b", "granted/ab", "cancelled"].contains(&&*first), "{first}");
    assert_eq!(wire.asked, 3);
}

#[tokio::test]
async fn a_client_that_changes_its_mind_for_ever_is_given_up() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    let (id, call) = wire.call("read", "name");
    wire.send(call).await;
    for _ in 0..8 {
        let question = wire.question().await;
        let old = json!({ "jsonrpc": "2.0", "id": question, "result": list(&[tree.uri("granted/a")]) });
        wire.send_all(&[changed(), old]).await;
    }
    let reply = wire.reply(id).await;
    assert!(reply.to_string().contains("keeps changing"), "{reply}");
    assert_eq!(wire.asked, 8);
}

/// Pipelined behind a notice, with the cache full: none of them may see the old list.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_behind_a_notice_see_the_new_list() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    let dirs = ["granted/a", "granted/b"];
    assert_eq!(wire.asked("read", "name", list(&[tree.uri(dirs[0])])).await, dirs[0]);
    for round in 1..100 {
        let dir = dirs[round % 2];
        let (ids, calls): (Vec<_>, Vec<_>) = (0..8).map(|_| wire.call("read", "name")).unzip();
        wire.send_all(&[&[changed()][..], &calls].concat()).await;
        let question = wire.question().await;
        wire.answer(&question, list(&[tree.uri(dir)])).await;
        for id in ids {
            assert_eq!(text(&wire.reply(id).await), dir, "round {round}");
        }
        assert_eq!(wire.asked, round + 1);
    }
}

/// A call at work holds what was taken back: it ends.
#[tokio::test]
async fn calls_at_work_lose_what_is_taken_back() {
    let tree = Tree::new();
    for kind in [Kind::Watched, Kind::Plain] {
        let server = Server::new(&ClientRoots::narrow(tree.granted()));
        let (gate, begun) = (server.gate.clone(), server.begun.clone());
        let mut wire = Wire::legacy(server, &kind, roots()).await;
        let (id, call) = wire.call("hold", "name");
        wire.send(call).await;
        let question = wire.question().await;
        Server::one_more(&begun, wire.answer(&question, list(&[tree.uri("granted/a")]))).await;
        assert_eq!(wire.known("read", "name").await, "granted/a");
        wire.changed().await;
        assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/a")])).await, "granted/a");
        gate.add_permits(1);
        assert_eq!(text(&wire.reply(id).await), "cancelled");
    }
}

/// With both ways in use, the slower one must not close what was asked for since.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_notice_counts_once() {
    let tree = Tree::new();
    let server = Server::new(&ClientRoots::narrow(tree.granted()));
    let gate = server.gate.clone();
    let mut wire = Wire::legacy(server, &Kind::Watched, roots()).await;
    for round in 0..50 {
        let (id, call) = wire.call("hold", "name");
        wire.send_all(&[changed(), call]).await;
        let question = wire.question().await;
        wire.answer(&question, list(&[tree.uri("granted/a")])).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        gate.add_permits(1);
        assert_eq!(text(&wire.reply(id).await), "granted/a", "round {round}");
        assert_eq!(wire.asked, round + 1);
    }
}

#[tokio::test]
async fn a_client_that_initializes_again_is_another_one() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/a")])).await, "granted/a");
    wire.initialize(roots()).await;
    assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/b")])).await, "granted/b");
    wire.initialize(json!({})).await;
    assert_eq!(wire.known("read", "name").await, "granted");
}

/// A client that announces no changes can only be asked; calls that began before a question share it.
#[tokio::test]
async fn a_client_that_announces_nothing_is_asked_for_each_call() {
    let tree = Tree::new();
    let server = Server::new(&ClientRoots::narrow(tree.granted()));
    let (gate, begun) = (server.gate.clone(), server.begun.clone());
    let mut wire = Wire::legacy(server, &Kind::Watched, json!({ "roots": {} })).await;
    for dir in ["granted/a", "granted/b", "granted/a"] {
        assert_eq!(wire.asked("read", "name", list(&[tree.uri(dir)])).await, dir);
    }
    // One at work goes on while the list stays the same, and ends when it is another one.
    let (first, call) = wire.call("hold", "name");
    wire.send(call).await;
    let question = wire.question().await;
    Server::one_more(&begun, wire.answer(&question, list(&[tree.uri("granted/a")]))).await;
    assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/a")])).await, "granted/a");
    gate.add_permits(1);
    assert_eq!(text(&wire.reply(first).await), "granted/a");
    let (second, call) = wire.call("hold", "name");
    wire.send(call).await;
    let question = wire.question().await;
    Server::one_more(&begun, wire.answer(&question, list(&[tree.uri("granted/a")]))).await;
    assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/b")])).await, "granted/b");
    gate.add_permits(1);
    assert_eq!(text(&wire.reply(second).await), "cancelled");
    let before = wire.asked;
    let (ids, calls): (Vec<_>, Vec<_>) = (0..16).map(|_| wire.call("read", "name")).unzip();
    wire.send_all(&calls).await;
    let mut served = 0;
    while served < ids.len() {
        let message = wire.receive().await;
        if message["method"] == "roots/list" {
            // Long enough for the others to begin: they wait for this question, and share the next one.
            tokio::time::sleep(Duration::from_millis(100)).await;
            wire.answer(&message["id"].clone(), list(&[tree.uri("granted/a")])).await;
        } else {
            assert_eq!(text(&message), "granted/a");
            served += 1;
        }
    }
    // Two, unless the machine is slow.
    assert!((2..8).contains(&(wire.asked - before)), "asked {} times", wire.asked - before);
}

/// A notice of one client is nothing to another one, on whichever way it comes.
#[tokio::test]
async fn clients_do_not_mix() {
    let tree = Tree::new();
    let client = ClientRoots::narrow(tree.granted());
    for kind in [Kind::Watched, Kind::Plain] {
        let mut one = Wire::legacy(Server::new(&client), &kind, roots()).await;
        let mut two = Wire::legacy(Server::new(&client), &kind, roots()).await;
        assert_eq!(one.asked("read", "name", list(&[tree.uri("granted/a")])).await, "granted/a");
        assert_eq!(two.asked("read", "name", list(&[tree.uri("granted/b")])).await, "granted/b");
        one.changed().await;
        assert_eq!(one.asked("read", "name", list(&[])).await, "no-roots");
        assert_eq!(two.known("read", "name").await, "granted/b");
    }
}

/// A call that is withdrawn while it asks ends, and the next one in the queue asks for itself.
#[tokio::test]
async fn a_withdrawn_call_leaves_the_turn() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&ClientRoots::narrow(tree.granted())).await;
    let (first, call) = wire.call("read", "name");
    let (second, other) = wire.call("read", "name");
    wire.send(call).await;
    let void = wire.question().await;
    wire.send(other).await;
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": first } })).await;
    let question = wire.question().await;
    assert_ne!(void, question);
    wire.answer(&question, list(&[tree.uri("granted/a")])).await;
    assert_eq!(text(&wire.reply(second).await), "granted/a");
}

/// On one connection with different lists at once; and a stray notice, which that era does not have, ends nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn modern_calls_keep_nothing_and_do_not_mix() {
    let tree = Tree::new();
    let server = Server::new(&ClientRoots::narrow(tree.granted()));
    let gate = server.gate.clone();
    let mut wire = Wire::new(server, &Kind::Watched);
    let dirs = ["granted/a", "granted/b", "granted/ab", "granted", "out"];
    let calls: Vec<_> = (0..100)
        .map(|round| {
            let answer = json!({ "client_roots": list(&[tree.uri(dirs[round % dirs.len()])]) });
            let params = json!({ "name": "hold", "arguments": { "path": "name" }, "inputResponses": answer });
            wire.modern("tools/call", params, roots())
        })
        .collect();
    wire.send_all(&calls.iter().map(|(_, call)| call.clone()).collect::<Vec<_>>()).await;
    wire.changed().await;
    let (id, call) = wire.modern("tools/call", json!({ "name": "read" }), roots());
    wire.send(call).await;
    assert_eq!(wire.reply(id).await["result"]["resultType"], "input_required", "what another call brought is not kept");
    gate.add_permits(100);
    for (round, (id, _)) in calls.iter().enumerate() {
        let expected = ["granted/a", "granted/b", "granted/ab", "granted", "no-roots"][round % dirs.len()];
        assert_eq!(text(&wire.reply(*id).await), expected, "call {round}");
    }
}

/// However the notice is written, what it is about is taken back; and a setting that comes behind the watched transport changes nothing.
#[tokio::test]
async fn a_notice_counts_in_any_form() {
    let tree = Tree::new();
    let client = ClientRoots::narrow(tree.granted());
    for notice in [
        json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed", "params": { "odd": 1 } }),
        json!({ "jsonrpc": "2.0", "id": 77, "method": "notifications/roots/list_changed" }),
    ] {
        let mut wire = Wire::usual(&client).await;
        assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/a")])).await, "granted/a");
        wire.send(notice.clone()).await;
        if let Some(id) = notice["id"].as_u64() {
            assert!(wire.reply(id).await["error"].is_object());
        }
        assert_eq!(wire.asked("read", "name", list(&[tree.uri("granted/b")])).await, "granted/b", "{notice}");
    }
}
