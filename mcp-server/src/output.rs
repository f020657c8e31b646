//! Standard output, also where somebody set its descriptor not to wait: what reads it slowly is waited for.
//!
//! May touch: standard output.

use std::io::{self, ErrorKind, Stdout, Write};
use std::thread;
use std::time::Duration;

/// How often a descriptor that does not wait is looked at.
const AGAIN: Duration = Duration::from_millis(5);

pub(crate) fn stdout() -> Output<Stdout> {
    Output(io::stdout())
}

/// Waits where the stream under it does not.
#[derive(Debug)]
pub(crate) struct Output<W>(pub(crate) W);

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        again(|| self.0.write(bytes))
    }

    /// Standard output keeps the end of what it took in a part, and gives it back to nobody: it has to be asked again.
    fn flush(&mut self) -> io::Result<()> {
        again(|| self.0.flush())
    }
}

fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(AGAIN),
            done => return done,
        }
    }
}
