//! The bounds, made small: clients that are slow, and more of them than there is room for.

use std::time::Duration;

use cap_roots::Roots;
use cap_roots_rmcp::ClientRoots;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::*;
use crate::context::{Context, Limits};
use crate::turns::Turns;

/// For ever, as far as a test can wait.
const HANG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);
const HEAD: &str =
    "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n";
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

struct Running {
    at: std::net::SocketAddr,
    gate: Arc<Gate>,
    stage: watch::Sender<Stage>,
}

/// A server on nothing, within `bounds`.
async fn serve_within(bounds: Bounds) -> Running {
    let roots = Roots::builder().open().unwrap();
    let offered = crate::tools::offered(
        &roots,
        cap_roots::Access::Read,
        false,
        &crate::tools::Chosen::of(None, std::iter::empty()).unwrap(),
    );
    let limits = Limits { text_bytes: 1, media_bytes: 1, entries: 1, depth: 1 };
    let (walks, audit) = (crate::context::Walks::default(), crate::audit::Audit::default());
    let context = Context { roots: roots.clone(), offered, limits, walks, hide_host_paths: false, audit };
    let server = Server::new(context, ClientRoots::off(roots), HANG, Turns::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let gate = Arc::new(Gate::new(Names::new(at.ip(), Vec::new()), None, server, bounds));
    let (stage, stages) = watch::channel(Stage::Serves);
    let accepting = Arc::clone(&gate);
    tokio::spawn(async move { accept(listener, &accepting, &stages, bounds).await });
    Running { at, gate, stage }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at).await.unwrap()
    }

    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    async fn hello(&self) -> String {
        rest(self.send(&whole("connection: close\r\n", HELLO)).await).await
    }
}

fn whole(headers: &str, body: &str) -> String {
    format!("{HEAD}{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// What comes until the server closes.
async fn rest(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    let read = tokio::time::timeout(HANG, stream.read_to_end(&mut text)).await.expect("the server waits for ever");
    // Closed with something unread is closed as well.
    let _ = read;
    String::from_utf8(text).unwrap()
}

/// What comes at first.
async fn first(stream: &mut TcpStream) -> String {
    let mut text = [0; 4096];
    let length = tokio::time::timeout(HANG, stream.read(&mut text)).await.expect("no answer").unwrap();
    String::from_utf8(text[..length].to_vec()).unwrap()
}

/// Catches: a server that waits for ever for a head, a body, or the next request, and one that waits for the bytes instead of the time.
#[tokio::test]
async fn slow_requests_end() {
    let server = serve_within(Bounds { head_time: SHORT, message_time: SHORT, ..Bounds::USUAL }).await;
    let trickle = async {
        let mut stream = server.connect().await;
        for byte in HEAD.bytes().chain(std::iter::repeat(b'x')) {
            if stream.write_all(&[byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (silent, half, body, idle, trickled) = tokio::join!(
        async { rest(server.connect().await).await },
        async { rest(server.send("POST /mcp HTTP/1.1\r\nhost: loc").await).await },
        async { rest(server.send(&format!("{HEAD}content-length: 10\r\n\r\n{{")).await).await },
        async { rest(server.send(&whole("", HELLO)).await).await },
        tokio::time::timeout(HANG, trickle),
    );
    assert!(!silent.contains("200 OK") && !half.contains("200 OK"), "{silent} {half}");
    assert!(body.starts_with("HTTP/1.1 408 ") && body.contains("connection: close"), "{body}");
    assert!(idle.starts_with("HTTP/1.1 200 ") && idle.contains("serverInfo"), "{idle}");
    trickled.expect("a byte at a time is taken for ever");
    assert!(server.hello().await.starts_with("HTTP/1.1 200 "));
}

/// Catches: connections without a bound, a place that is not given back, and an answer that is lost with the connection.
#[tokio::test]
async fn connections_are_counted() {
    let server = serve_within(Bounds { connections: 2, turned_away: 1, ..Bounds::USUAL }).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = server.send(&whole("", HELLO)).await;
        assert!(first(&mut stream).await.starts_with("HTTP/1.1 200 "));
        held.push(stream);
    }
    let answer = server.hello().await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("retry-after: 1"), "{answer}");
    held.pop();
    until(async || server.hello().await.starts_with("HTTP/1.1 200 ")).await;
}

/// Catches: bodies that are read without a bound on how many, and standing streams that take the place of messages.
#[tokio::test]
async fn messages_and_streams_are_counted() {
    let server = serve_within(Bounds { messages: 1, turn: SHORT, streams: 1, ..Bounds::USUAL }).await;
    let answer = server.hello().await;
    let session = answer.split("mcp-session-id: ").nth(1).unwrap().split("\r\n").next().unwrap().to_owned();
    let stand = format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n");
    let mut standing = server.send(&stand).await;
    assert!(first(&mut standing).await.starts_with("HTTP/1.1 200 "));
    let second = first(&mut server.send(&stand).await).await;
    assert!(second.starts_with("HTTP/1.1 503 ") && second.contains("retry-after: 1"), "{second}");
    let mut half = server.send(&format!("{HEAD}content-length: {}\r\n\r\n", HELLO.len())).await;
    until(async || server.gate.taken() == 1).await;
    let (busy, waited) = tokio::join!(server.hello(), async {
        tokio::time::sleep(SHORT / 3).await;
        server.hello().await
    });
    assert!(busy.starts_with("HTTP/1.1 503 ") && waited.starts_with("HTTP/1.1 503 "), "{busy} {waited}");
    half.write_all(HELLO.as_bytes()).await.unwrap();
    assert!(first(&mut half).await.starts_with("HTTP/1.1 200 "));
    until(async || server.hello().await.starts_with("HTTP/1.1 200 ")).await;
    drop(standing);
    until(async || first(&mut server.send(&stand).await).await.starts_with("HTTP/1.1 200 ")).await;
}

/// Catches: sessions without a bound, and a place that is not given back when a session ends.
#[tokio::test]
async fn sessions_are_counted() {
    let server = serve_within(Bounds { sessions: 1, ..Bounds::USUAL }).await;
    let answer = server.hello().await;
    let session = answer.split("mcp-session-id: ").nth(1).unwrap().split("\r\n").next().unwrap().to_owned();
    let full = server.hello().await;
    assert!(full.starts_with("HTTP/1.1 503 ") && full.contains("retry-after: 1") && full.contains("sessions"), "{full}");
    let end = format!("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {session}\r\nconnection: close\r\n\r\n");
    assert!(rest(server.send(&end).await).await.starts_with("HTTP/1.1 202 "));
    until(async || server.hello().await.starts_with("HTTP/1.1 200 ")).await;
}

/// Catches: an end that cuts off a message that was taken, waits for a standing stream, or takes new ones; and one that waits for ever.
#[tokio::test]
async fn what_was_taken_is_finished() {
    let server = serve_within(Bounds { finish: Duration::from_secs(2), ..Bounds::USUAL }).await;
    let answer = server.hello().await;
    let session = answer.split("mcp-session-id: ").nth(1).unwrap().split("\r\n").next().unwrap().to_owned();
    let stand = format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n");
    let mut standing = server.send(&stand).await;
    assert!(first(&mut standing).await.starts_with("HTTP/1.1 200 "));
    let stuck = server.send(&format!("{HEAD}content-length: 5\r\n\r\n")).await;
    let mut half = server.send(&format!("{HEAD}content-length: {}\r\n\r\n", HELLO.len())).await;
    let waiting = server.connect().await;
    until(async || server.gate.taken() == 2).await;
    server.gate.close();
    server.stage.send(Stage::Finishes).unwrap();
    let finished = finish(&server.gate, &server.stage, Bounds { finish: Duration::from_secs(2), ..Bounds::USUAL });
    let client = async {
        assert_eq!(rest(waiting).await, "");
        half.write_all(HELLO.as_bytes()).await.unwrap();
        let answer = rest(half).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("serverInfo"), "{answer}");
        let late = server.hello().await;
        assert!(late.is_empty() || late.starts_with("HTTP/1.1 503 ") && late.contains("stopping"), "{late}");
        rest(standing).await;
    };
    let begun = tokio::time::Instant::now();
    tokio::time::timeout(HANG, async { tokio::join!(finished, client) }).await.expect("the end does not come");
    assert!(begun.elapsed() >= Duration::from_secs(2));
    drop(stuck);
}

/// Waits until something holds.
async fn until(mut holds: impl AsyncFnMut() -> bool) {
    tokio::time::timeout(HANG, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("it never holds");
}
