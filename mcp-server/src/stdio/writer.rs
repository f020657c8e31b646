//! The thread that writes: a line for each message, and as many lines at once as wait.
//!
//! May touch: the stream, by `output`. A line is written while it is made, so that a large answer is not there a second time as JSON.

use std::io::{self, Write};
use std::sync::mpsc;

use rmcp::service::{RoleServer, TxJsonRpcMessage};
use tokio::sync::oneshot;

use super::budget::Share;
use super::frame::Fault;
use super::unanswered::Slot;
use crate::output::Output;

/// How much is written at once: what a pipe holds.
const BLOCK: usize = 1 << 16;

/// What is to be written.
pub(super) enum Outgoing {
    Message {
        message: Box<TxJsonRpcMessage<RoleServer>>,
        slot: Option<Slot>,
        /// Where somebody waits for it.
        written: Option<oneshot::Sender<io::Result<()>>>,
    },
    /// Counted for until it is written.
    Fault(Fault, Share),
    End,
}

/// What a line holds until it is written.
enum Held {
    Answer(#[expect(dead_code, reason = "held, not read")] Slot),
    Fault(#[expect(dead_code, reason = "held, not read")] Share),
    Waited(oneshot::Sender<io::Result<()>>),
}

/// Writes until the end or the first failure.
pub(super) fn run(outgoing: &mpsc::Receiver<Outgoing>, output: impl Write) -> io::Result<()> {
    let mut block = Block { output: Output(output), lines: Vec::with_capacity(BLOCK), taken: 0 };
    let mut held = Vec::new();
    let mut ended = false;
    while !ended {
        let Ok(first) = outgoing.recv() else { break };
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Outgoing::End => {
                    ended = true;
                    break;
                }
                Outgoing::Fault(fault, share) => {
                    serde_json::to_writer(&mut block, &fault.to_json())?;
                    held.push(Held::Fault(share));
                }
                Outgoing::Message { message, slot, written } => {
                    serde_json::to_writer(&mut block, &message)?;
                    held.extend(slot.map(Held::Answer));
                    held.extend(written.map(Held::Waited));
                }
            }
            block.write_all(b"\n")?;
            next = if block.taken < BLOCK / 2 { outgoing.try_recv().ok() } else { None };
        }
        block.flush()?;
        for held in held.drain(..) {
            if let Held::Waited(written) = held {
                // Nobody waits for it where the server is closing.
                let _ = written.send(Ok(()));
            }
        }
    }
    Ok(())
}

/// Lines on their way out.
struct Block<W> {
    output: Output<W>,
    lines: Vec<u8>,
    /// How many bytes came since the last flush.
    taken: usize,
}

impl<W: Write> Block<W> {
    fn write_out(&mut self) -> io::Result<()> {
        self.output.write_all(&self.lines)?;
        self.lines.clear();
        Ok(())
    }
}

impl<W: Write> Write for Block<W> {
    /// Takes all of it.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.taken = self.taken.saturating_add(bytes.len());
        for part in bytes.chunks(BLOCK) {
            if self.lines.len() + part.len() > BLOCK {
                self.write_out()?;
            }
            self.lines.extend_from_slice(part);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.taken = 0;
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, LineWriter};

    use rmcp::model::{EmptyObject, RequestId, ServerJsonRpcMessage, ServerResult};

    use super::*;

    /// A pipe that is full after each part, and does not wait.
    struct Full {
        taken: mpsc::Sender<Vec<u8>>,
        part: usize,
        is_full: bool,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.is_full = !self.is_full;
            if !self.is_full {
                return Err(ErrorKind::WouldBlock.into());
            }
            let part = bytes.get(..self.part).unwrap_or(bytes);
            self.taken.send(part.to_vec()).map_err(io::Error::other)?;
            Ok(part.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Catches: a client that reads slowly from a descriptor that does not wait, taken for one that has gone because the end of a line was kept back.
    #[test]
    fn what_is_kept_back_is_written_later() {
        for part in 1..80 {
            let (taken, written) = mpsc::channel();
            // As that of the process is.
            let output = LineWriter::new(Full { taken, part, is_full: false });
            let (outgoing, to_write) = mpsc::channel();
            for id in 0..5 {
                let message = ServerJsonRpcMessage::response(ServerResult::EmptyResult(EmptyObject {}), RequestId::Number(id));
                assert!(outgoing.send(Outgoing::Message { message: Box::new(message), slot: None, written: None }).is_ok());
            }
            drop(outgoing);
            run(&to_write, output).unwrap();
            let text = String::from_utf8(written.iter().flatten().collect()).unwrap();
            let ids = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].clone());
            assert_eq!(ids.collect::<Vec<_>>(), [0, 1, 2, 3, 4].map(serde_json::Value::from), "{part}");
        }
    }
}
