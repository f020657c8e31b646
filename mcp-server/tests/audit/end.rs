//! Files that are rotated, and every way to end.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::wire::Session;
use crate::{code, lines, place, write};

/// Rotated again and again while calls come: each line is in one of the files.
#[test]
fn a_rotation_loses_no_line() {
    let place = place();
    let mut session = place.start();
    let (mut asked, mut files) = (0, Vec::new());
    for round in 0..10 {
        for _ in 0..40 {
            write(&mut session, asked, &format!("f{asked}"));
            asked += 1;
        }
        // In the middle of them.
        let file = format!("log/audit.{round}");
        fs::rename(place.at("log/audit"), place.at(&file)).unwrap();
        session.signal("-HUP");
        files.push(file);
        let begun = Instant::now();
        // Until its first line is there: one that is moved away before that would be empty.
        while fs::metadata(place.at("log/audit")).map_or(0, |file| file.len()) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "it is not opened anew");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    (0..asked).for_each(|id| assert_eq!(code(&session.answer(id)), None));
    session.end();
    files.push("log/audit".to_owned());
    let mut told = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let lines = lines(&place.at(file));
        assert_eq!(lines[0]["event"], if number == 0 { "start" } else { "reopen" }, "{file}");
        assert_eq!(lines[0]["roots"][0]["name"], "ws");
        told.extend(
            lines
                .into_iter()
                .filter(|line| line.get("request").is_some())
                .map(|line| (line["request"].as_u64().unwrap(), line["event"].to_string())),
        );
    }
    told.sort();
    let wanted: Vec<_> =
        (0..asked as u64).flat_map(|id| [(id, "\"answer\"".to_owned()), (id, "\"decision\"".to_owned())]).collect();
    assert_eq!(told, wanted);
}

/// Catches: an end that leaves lines behind, be it asked for by the client or by a signal.
#[test]
fn the_end_leaves_no_line_behind() {
    ends_complete(Session::end);
}

#[test]
fn nor_does_an_end_by_a_signal() {
    for signal in ["-TERM", "-INT"] {
        ends_complete(|mut session| {
            session.signal(signal);
            session.wait();
        });
    }
}

/// What was done is in the log, with its answer; what was not begun any more is not there.
fn ends_complete(end: impl FnOnce(Session)) {
    let place = place();
    let mut session = place.start();
    (0..200).for_each(|id| write(&mut session, id, &format!("f{id}")));
    session.answer(50);
    end(session);
    let lines = place.lines();
    assert_eq!(lines.last().unwrap()["event"], "stop");
    let requests = |key: &str, value: &str| -> Vec<u64> {
        let mut found: Vec<_> =
            lines.iter().filter(|line| line[key] == value).map(|line| line["request"].as_u64().unwrap()).collect();
        found.sort_unstable();
        found
    };
    let (allowed, answered) = (requests("verdict", "allowed"), requests("event", "answer"));
    let mut there: Vec<u64> = fs::read_dir(place.at("ws"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().unwrap().strip_prefix('f').map(|id| id.parse().unwrap()))
        .collect();
    there.sort_unstable();
    assert_eq!(allowed, there);
    assert!(allowed.len() > 10 && allowed.iter().all(|id| answered.contains(id)));
    assert!(answered.windows(2).all(|pair| pair[0] < pair[1]), "a call is answered twice");
}

/// Killed, it leaves whole lines, and one at most that is not; and goes on behind it.
#[test]
fn killed_in_the_middle() {
    let place = place();
    for round in 0..5 {
        let mut session = place.start();
        (0..200).for_each(|id| write(&mut session, id, &format!("f{round}-{id}")));
        session.answer(20 * round);
        session.signal("-KILL");
        session.wait();
    }
    let text = fs::read_to_string(place.at("log/audit")).unwrap();
    let torn = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).count();
    assert!(torn <= 5, "{torn}");
    assert_eq!(text.matches("\"event\":\"start\"").count(), 5);
}
