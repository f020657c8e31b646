//! How much of everything there may be: what one client leaves undone must not be at the cost of the others.
//!
//! May touch: nothing of the other rooms.

use std::time::Duration;

/// The bounds of one server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Most connections. Each takes one request at a time.
    pub(super) connections: usize,
    /// Most connections above those that are told that there is no room; more are closed without a word.
    pub(super) turned_away: usize,
    /// How long the head of a request may take to arrive, and a connection be idle.
    pub(super) head_time: Duration,
    /// How long a message may take to arrive.
    pub(super) message_time: Duration,
    /// How long a client may not read while it is written to.
    pub(super) patience: Duration,
    /// Most messages that are held at once, from the first byte of the body to the last of the answer.
    pub(super) messages: usize,
    /// How long a request waits for that, before it is sent away.
    pub(super) turn: Duration,
    /// How much longer than a call may take a message may go without an answer.
    pub(super) late: Duration,
    /// Most streams that stand open for what the server has to say.
    pub(super) streams: usize,
    /// Most sessions.
    pub(super) sessions: usize,
    /// A session that was asked within this is not ended to make room for another one.
    pub(super) quiet: Duration,
    /// How long messages that were taken may go on when the server stops.
    pub(super) finish: Duration,
}

impl Bounds {
    pub(super) const USUAL: Self = Self {
        connections: 256,
        turned_away: 32,
        head_time: Duration::from_secs(30),
        message_time: Duration::from_secs(30),
        patience: Duration::from_secs(30),
        messages: 64,
        turn: Duration::from_secs(5),
        late: Duration::from_secs(10),
        streams: 128,
        sessions: 256,
        quiet: Duration::from_secs(60),
        finish: Duration::from_secs(5),
    };
}

/// Longest message that is taken, in bytes.
pub(super) const MESSAGE_BYTES: usize = 4 << 20;
/// Longest head of a request, in bytes and in headers.
pub(super) const HEAD_BYTES: usize = 32 << 10;
pub(super) const HEADERS: usize = 64;
