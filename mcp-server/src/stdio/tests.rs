//! The transport between two pipes, with a service that the test plays.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{EmptyObject, RequestId, ServerJsonRpcMessage, ServerResult};
use serde_json::Value;

use super::*;

const SMALL: Limits = Limits { message: 1 << 12, unanswered: 64 << 10, overhead: 1 << 10, linger: Duration::from_millis(200) };
const HANG: Duration = Duration::from_secs(30);

struct Wire {
    transport: Stdio,
    streams: Streams,
    input: Option<PipeWriter>,
    output: PipeReader,
}

fn wire() -> Wire {
    let (from, input) = pipe().unwrap();
    let (output, to) = pipe().unwrap();
    let (transport, streams) = of(BufReader::new(from), to, SMALL).unwrap();
    Wire { transport, streams, input: Some(input), output }
}

impl Wire {
    fn write(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The id of the next request, or the method of the next notification.
    async fn next(&mut self) -> Option<String> {
        let message = tokio::time::timeout(HANG, self.transport.receive()).await.expect("nothing is received");
        message.map(|message| match message {
            JsonRpcMessage::Request(request) => request.id.to_string(),
            other => serde_json::to_value(&other).unwrap()["method"].as_str().unwrap().to_owned(),
        })
    }

    fn answer(&mut self, id: i64) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.transport.send(done(RequestId::Number(id)))
    }

    fn read_all(self) -> Vec<Value> {
        let Self { streams, mut output, transport, .. } = self;
        streams.finish(HANG);
        drop(transport);
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn done(id: RequestId) -> TxJsonRpcMessage<RoleServer> {
    ServerJsonRpcMessage::response(ServerResult::EmptyResult(EmptyObject {}), id)
}

/// A request that a client may begin with.
fn ask(id: i64) -> String {
    let meta = "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}";
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\",\"params\":{{\"_meta\":{meta}}}}}\n")
}

fn cancel(id: i64) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}\n")
}

/// Catches: messages that overtake each other, so that a call is served by roots that were taken back before it; a last line that is lost.
#[tokio::test]
async fn messages_come_in_the_order_of_the_wire() {
    let mut wire = wire();
    let changed = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}\r\n";
    let lines = [&ask(1), changed, "\n", "\u{feff}  ", &ask(2), changed, changed, ask(3).trim_end()].concat();
    wire.write(&lines);
    wire.input = None;
    let changed = "notifications/roots/list_changed";
    for want in ["1", changed, "2", changed, changed, "3"] {
        assert_eq!(wire.next().await.as_deref(), Some(want));
    }
}

/// Catches: requests and answers that pile up for a client that does not read, without bound.
#[tokio::test]
async fn a_client_that_does_not_read_is_not_read() {
    const ALL: usize = 5_000;
    let Wire { mut transport, input, output, streams } = wire();
    let served = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&served);
    let mut input = input.unwrap();
    let writer = thread::spawn(move || (0..ALL).for_each(|id| input.write_all(ask(id as i64).as_bytes()).unwrap()));
    // As rmcp does: an answer is begun at once, and its end is waited for beside.
    let service = tokio::spawn(async move {
        while let Some(JsonRpcMessage::Request(request)) = transport.receive().await {
            tokio::spawn(transport.send(done(request.id)));
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut before = usize::MAX;
    while before != served.load(Ordering::SeqCst) {
        before = served.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let line = serde_json::to_string(&done(RequestId::Number(1000))).unwrap().len();
    let most = SMALL.unanswered / SMALL.overhead + (64 << 10) / line + 10;
    assert!(before < most && most < ALL, "{before}");
    let answers =
        tokio::task::spawn_blocking(move || BufReader::new(output).lines().take(ALL).map(Result::unwrap).collect::<Vec<_>>());
    let mut ids: Vec<_> =
        answers.await.unwrap().iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..ALL as u64).collect::<Vec<_>>());
    writer.join().unwrap();
    tokio::time::timeout(HANG, service).await.unwrap().unwrap();
    streams.finish(HANG);
}

/// Catches: a request that is withdrawn and holds its place for ever; an id that is taken twice, so that one of the two has no answer.
#[tokio::test]
async fn an_id_is_in_use_until_it_is_answered_or_withdrawn() {
    let mut wire = wire();
    wire.write(&[ask(1), ask(1), ask(2), cancel(2)].concat());
    for want in ["1", "2", "notifications/cancelled"] {
        assert_eq!(wire.next().await.as_deref(), Some(want));
    }
    wire.write(&[ask(2), ask(3)].concat());
    for want in ["2", "3"] {
        assert_eq!(wire.next().await.as_deref(), Some(want));
    }
    wire.answer(1).await.unwrap();
    wire.write(&ask(1));
    assert_eq!(wire.next().await.as_deref(), Some("1"));
    let answers = wire.read_all();
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&1.into(), &(-32600).into()), "{answers:?}");
    assert_eq!((&answers[1]["id"], &answers[1]["result"].is_object()), (&1.into(), &true), "{answers:?}");
    assert_eq!(answers.len(), 2);
}

/// Catches: a call that was withdrawn and is at work still, and whose end answers another request that has its id by then.
#[tokio::test]
async fn an_id_that_is_withdrawn_is_in_use_until_its_call_has_ended() {
    let mut wire = wire();
    wire.write(&[ask(1), cancel(1), ask(1), ask(2)].concat());
    let call = tokio::time::timeout(HANG, wire.transport.receive()).await.unwrap();
    for want in ["notifications/cancelled", "2"] {
        assert_eq!(wire.next().await.as_deref(), Some(want));
    }
    drop(call);
    wire.write(&ask(1));
    assert_eq!(wire.next().await.as_deref(), Some("1"));
    let answers = wire.read_all();
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&1.into(), &(-32600).into()), "{answers:?}");
    assert_eq!(answers.len(), 1);
}

/// Catches: withdrawn requests that count for ever, so that nothing is read after some of them.
#[tokio::test]
async fn what_is_withdrawn_gives_its_part_back() {
    let mut wire = wire();
    for id in 0..1_000 {
        wire.write(&[ask(id), cancel(id)].concat());
        // The call, as rmcp drops it.
        drop(wire.next().await);
        drop(wire.next().await);
    }
}

/// Catches: an end of the input that takes the answers with it, and calls that hold the end for ever.
#[tokio::test]
async fn the_end_waits_for_the_answers_and_not_for_ever() {
    let mut wire = wire();
    wire.write(&[ask(1), ask(2)].concat());
    wire.input = None;
    assert_eq!((wire.next().await.as_deref(), wire.next().await.as_deref()), (Some("1"), Some("2")));
    let soon = Duration::from_millis(20);
    assert!(tokio::time::timeout(soon, wire.transport.receive()).await.is_err(), "two answers are owed");
    wire.answer(1).await.unwrap();
    assert!(tokio::time::timeout(soon, wire.transport.receive()).await.is_err(), "one answer is owed");
    assert!(tokio::time::timeout(soon, wire.streams.stopped()).await.is_err());
    // What does not end in time is to be stopped.
    assert!(tokio::time::timeout(SMALL.linger * 2, wire.transport.receive()).await.is_err());
    tokio::time::timeout(HANG, wire.streams.stopped()).await.unwrap();
    wire.answer(2).await.unwrap();
    assert!(wire.next().await.is_none());
    assert_eq!(wire.read_all().len(), 2);
}

/// Catches: a server that works on for a client that is gone and has left its input open.
#[tokio::test]
async fn whoever_does_not_read_any_more_is_not_worked_for() {
    let mut wire = wire();
    wire.write(&ask(1));
    assert_eq!(wire.next().await.as_deref(), Some("1"));
    let Wire { mut transport, streams, output, input: _input } = wire;
    drop(output);
    let _ = transport.send(done(RequestId::Number(1))).await;
    tokio::time::timeout(HANG, streams.stopped()).await.unwrap();
    while transport.send(done(RequestId::Number(2))).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
