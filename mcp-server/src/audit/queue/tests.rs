//! The queue with a disk that is full, slow, or in order.

use super::*;

/// A file that can be full, or take its time.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Written>>);

#[derive(Default)]
struct Written {
    text: String,
    full: bool,
    reopened: usize,
    batches: usize,
    slow: Duration,
}

impl Disk {
    fn set(&self, change: impl FnOnce(&mut Written)) {
        change(&mut self.0.lock().unwrap());
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().text.clone()
    }
}

impl Sink for Disk {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let slow = self.0.lock().unwrap().slow;
        std::thread::sleep(slow);
        let mut disk = self.0.lock().unwrap();
        if disk.full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        disk.batches += 1;
        disk.text.push_str(str::from_utf8(lines).unwrap());
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.set(|disk| disk.reopened += 1);
        Ok(())
    }

    fn header(&self, event: &str) -> Vec<u8> {
        format!("{event}\n").into_bytes()
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn queue(capacity: usize, disk: &Disk) -> Arc<Queue> {
    Queue::with_patience(capacity, Duration::from_millis(50), disk.clone()).unwrap()
}

fn until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
}

const GRACE: Duration = Duration::from_secs(5);

/// Catches: a place beyond the bound, a place that is lost when it is given up, a line that is lost.
#[test]
fn places_are_counted() {
    let disk = Disk::default();
    let queue = queue(3, &disk);
    let mut places: Vec<_> = (0..3).map(|_| queue.reserve().unwrap()).collect();
    assert!(queue.reserve().is_none());
    drop(places.pop());
    places.push(queue.reserve().expect("the place that was given up"));
    assert!(queue.reserve().is_none());
    places.pop().unwrap().fill(b"one\n".to_vec());
    until(|| queue.reserve().is_some());
    let last = queue.reserve().unwrap();
    places.pop().unwrap().fill(b"two\n".to_vec());
    last.fill(b"three\n".to_vec());
    drop(places);
    assert_eq!(queue.stop(GRACE), 0);
    let text = disk.text();
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('{')).collect();
    assert_eq!(lines, ["one", "two", "three"]);
    assert!(text.contains(r#""event":"declined""#) && text.trim_end().ends_with(r#""unfinished":0}"#), "{text}");
    assert!(queue.reserve().is_none(), "nothing is done behind the end");
}

/// Catches: room that is given while the disk refuses, a line that is lost by it, and a server that stays busy afterwards.
#[test]
fn a_disk_that_refuses_stops_everything_until_it_does_not() {
    let disk = Disk::default();
    let queue = queue(100, &disk);
    disk.set(|disk| disk.full = true);
    let held = queue.reserve().unwrap();
    queue.reserve().unwrap().fill(b"one\n".to_vec());
    until(|| queue.reserve().is_none());
    held.fill(b"two\n".to_vec());
    // Tried out in a moment, and not waited for.
    let begun = Instant::now();
    assert!((0..100).all(|_| queue.reserve().is_none()) && begun.elapsed() < Duration::from_secs(2));
    queue.reopen();
    until(|| disk.0.lock().unwrap().reopened == 1);
    disk.set(|disk| disk.full = false);
    until(|| queue.reserve().is_some());
    assert_eq!(queue.stop(GRACE), 0);
    let text = disk.text();
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('{')).collect();
    assert_eq!(lines, ["reopen", "one", "two"], "a new file begins with its header");
}

/// Catches: `busy` where lines only come faster than they are written.
#[test]
fn a_rate_that_is_too_high_waits() {
    let disk = Disk::default();
    disk.set(|disk| disk.slow = Duration::from_millis(2));
    let queue = Queue::start(8, disk.clone()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..250).for_each(|_| queue.reserve().expect("room").fill(b"line\n".to_vec())));
        }
    });
    assert_eq!(queue.stop(GRACE), 0);
    assert_eq!(disk.text().matches("line\n").count(), 1000);
    assert!(disk.0.lock().unwrap().batches >= 1000 / 8);
}

/// Catches: an end that waits for a disk for ever, or says that all is written.
#[test]
fn the_end_is_bounded() {
    let disk = Disk::default();
    let queue = queue(8, &disk);
    let open = queue.reserve().unwrap();
    disk.set(|disk| disk.full = true);
    queue.reserve().unwrap().fill(b"one\n".to_vec());
    let begun = Instant::now();
    assert_eq!(queue.stop(Duration::from_millis(300)), 2);
    assert!(begun.elapsed() < Duration::from_secs(3));
    drop(open);
}

/// Catches: an end that does not wait for what is under way.
#[test]
fn the_end_waits_for_what_was_begun() {
    let disk = Disk::default();
    let queue = queue(8, &disk);
    let open = queue.reserve().unwrap();
    let ending = std::thread::spawn({
        let queue = Arc::clone(&queue);
        move || queue.stop(GRACE)
    });
    until(|| queue.reserve().is_none());
    open.fill(b"late\n".to_vec());
    assert_eq!(ending.join().unwrap(), 0);
    assert!(disk.text().starts_with("late\n"), "{}", disk.text());
}
