//! A log that cannot be written: nothing is done, until it can.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cap_roots_oracle::needs;
use serde_json::json;

use crate::support::wire::Session;
use crate::support::{SERVER, eras};
use crate::{Place, code, lines, place, tool, write};

/// The disk takes nothing more: nothing is changed, until it does.
fn goes_busy_and_on(place: &Place, session: &mut Session, free: impl FnOnce(&Session)) {
    let mut done = 0;
    let busy = loop {
        write(session, done, &format!("f{done}"));
        let answer = session.answer(done);
        match code(&answer) {
            None => done += 1,
            Some(code) => {
                assert_eq!(code, "busy", "{answer}");
                let text = answer["result"]["content"][0]["text"].as_str().unwrap();
                assert!(text.contains("no record of it can be made now; try again in a moment"), "{text}");
                break done;
            }
        }
        assert!(done < 20_000, "the disk is never full");
    };
    let changes = [
        ("write_file", json!({ "path": "new", "content": "x" })),
        ("write_file", json!({ "path": "a.txt", "content": "x" })),
        ("append_file", json!({ "path": "a.txt", "content": "x" })),
        ("edit_file", json!({ "path": "a.txt", "edits": [{ "oldText": "t", "newText": "x" }] })),
        ("move_file", json!({ "source": "a.txt", "destination": "new" })),
        ("copy_file", json!({ "source": "a.txt", "destination": "new" })),
        ("delete_file", json!({ "path": "a.txt" })),
        ("create_directory", json!({ "path": "new/er" })),
        ("read_text_file", json!({ "path": "a.txt" })),
        ("read_text_file", json!({ "path": "/etc/hostname" })),
        ("list_allowed_directories", json!({})),
    ];
    for (number, (name, arguments)) in changes.into_iter().enumerate() {
        tool(session, 50_000 + number, name, arguments);
        assert_eq!(code(&session.answer(50_000 + number)), Some("busy"), "{name}");
    }
    let read = session.ask("resources/read", json!({ "uri": "root://ws/a.txt" }));
    assert!(read["error"]["message"].as_str().unwrap().starts_with("busy: "), "{read}");
    assert_eq!(fs::read_to_string(place.at("ws/a.txt")).unwrap(), "text");
    assert_eq!(fs::read_dir(place.at("ws")).unwrap().count(), 1 + busy, "what was answered with busy was not done");
    free(session);
    let begun = Instant::now();
    let mut id = 60_000;
    loop {
        write(session, id, "later");
        if code(&session.answer(id)).is_none() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not go on");
        std::thread::sleep(Duration::from_millis(20));
        id += 1;
    }
    write(session, 70_000, "last");
    assert_eq!(code(&session.answer(70_000)), None);
}

/// Each file that is there is in the log, in whole lines; and how many calls were declined.
fn complete(place: &Place, files: &[&str]) {
    let all: Vec<_> = files.iter().flat_map(|file| lines(&place.at(file))).collect();
    let mut written: Vec<_> =
        all.iter().filter(|line| line["verdict"] == "allowed").map(|line| line["path"].as_str().unwrap()).collect();
    written.sort_unstable();
    let mut there: Vec<_> =
        fs::read_dir(place.at("ws")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.retain(|name| name != "a.txt");
    there.sort_unstable();
    assert_eq!(written, there);
    let declined: u64 = all.iter().filter(|line| line["event"] == "declined").map(|line| line["count"].as_u64().unwrap()).sum();
    assert!(declined >= 12, "{declined}");
    assert_eq!(all.last().unwrap()["event"], "stop");
}

/// A file that may not grow, until it is rotated.
#[test]
fn a_size_limit_stops_everything_until_the_file_is_rotated() {
    let place = place();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 32; exec \"$@\"", "sh", SERVER, "--audit"]).arg(place.at("log/audit")).arg(place.at("ws"));
    let mut session = Session::of(&eras()[1], {
        command.stderr(Stdio::piped());
        command
    });
    goes_busy_and_on(&place, &mut session, |session| {
        fs::rename(place.at("log/audit"), place.at("log/audit.1")).unwrap();
        session.signal("-HUP");
    });
    let told = session.end_and_hear();
    assert_eq!(told.lines().filter(|line| line.contains("the audit log cannot be written")).count(), 1, "{told}");
    assert_eq!(told.lines().filter(|line| line.contains("written again")).count(), 1, "{told}");
    complete(&place, &["log/audit.1", "log/audit"]);
    // At the limit already: an error, and no signal.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 0; exec \"$@\"", "sh", SERVER, "--audit", "log/audit", "ws"]).current_dir(place.folder.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_full_disk_stops_everything_until_there_is_room() {
    if !needs::mounts() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=256k none \"$AUDIT_DISK\"; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-ec", script, "sh"]).arg(std::env::current_exe().unwrap()).env("AUDIT_DISK", folder.path());
    let output = command.args(["--exact", "full::fills_the_disk", "--ignored", "--nocapture"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "the part of a child process"]
fn fills_the_disk() {
    let Some(disk) = std::env::var_os("AUDIT_DISK").map(PathBuf::from) else { return };
    let place = place();
    fs::remove_dir(place.at("log")).unwrap();
    std::os::unix::fs::symlink(&disk, place.at("log")).unwrap();
    fs::write(disk.join("ballast"), vec![0; 128 << 10]).unwrap();
    let mut session = place.start();
    goes_busy_and_on(&place, &mut session, |_| fs::remove_file(disk.join("ballast")).unwrap());
    session.end();
    complete(&place, &["log/audit"]);
}
