//! Calls and their operations, with a queue that is too small for them.

use std::sync::mpsc::{Receiver, Sender, channel};

use cap_roots::Access;

use super::queue::Sink;
use super::*;

/// Takes a batch when it is told to.
struct Slow {
    go: Receiver<()>,
    written: Sender<String>,
}

impl Sink for Slow {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.go.recv_timeout(Duration::from_secs(20)).map_err(io::Error::other)?;
        let _ = self.written.send(String::from_utf8_lossy(lines).into_owned());
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn header(&self, _: &str) -> Vec<u8> {
        Vec::new()
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Catches: an operation that is done without room for its line; room that is lost by a call that ends without an answer.
#[test]
fn an_operation_needs_a_place_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let roots = Roots::builder().named("r", folder.path(), Access::Write).open().unwrap();
    let ((go, went), (send, written)) = (channel(), channel());
    let audit = Audit(Some(Queue::start(2, Slow { go: went, written: send }).unwrap()));
    let call = audit.call(None, "write_file").unwrap();
    let watched = call.watch(roots.clone());
    watched.write("one", "1").unwrap();
    // Two paths, and one place at most.
    let begun = std::time::Instant::now();
    assert_eq!(watched.write("two", "2").unwrap_err().kind(), ErrorKind::Busy);
    assert!(begun.elapsed() < Duration::from_secs(5) && !folder.path().join("two").exists());
    assert_eq!(audit.call(None, "read_file").err().map(|error| error.kind()), Some(ErrorKind::Busy));
    drop(call);
    (0..4).for_each(|_| go.send(()).unwrap());
    let mut told = String::new();
    while !told.contains("unanswered") {
        told += &written.recv_timeout(Duration::from_secs(20)).unwrap();
    }
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["path"], &lines[0]["bytes"]), (&Value::from("one"), &Value::from(1)));
    let declined: u64 = lines.iter().filter_map(|line| line["count"].as_u64()).sum();
    assert!(told.contains("\"code\":\"unanswered\"") && declined == 2, "{told}");
    (0..4).for_each(|_| {
        let _ = go.send(());
    });
    audit.stop();
}
