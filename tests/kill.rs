//! A process that writes is killed at random moments: the file is the old one or the new one, whole, and what is left behind is nobody's
//! and is swept by the next one that writes there. With files that have no name until they are complete, and with named ones.
//!
//! Catches: writing in place; a rename before the content is complete; leftovers that are listed, opened, kept for ever, or swept under a
//! living writer; a rename that is not between a sync of the file and one of its directory.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "the counts are the evidence")]
#![allow(clippy::disallowed_methods, reason = "looks at the tree by path")]

mod support;

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cap_roots::{Access, Roots};
use cap_roots_oracle::needs;
use support::{child, privilege};

/// Numbers of eight bytes in the file, the same one all over.
const NUMBERS: usize = 1 << 20;
const MODE: u32 = 0o640;
/// What a process leaves that still lives.
const LIVING: &str = ".cap-roots-00000000deadbeef.tmp";
/// Whether the child is to work with named files.
const NAMED: &str = "CAP_ROOTS_NAMED";
const FIRST: &str = "CAP_ROOTS_FIRST";

fn kills() -> usize {
    std::env::var("CAP_ROOTS_KILLS").map_or(200, |kills| kills.parse().unwrap())
}

fn open(place: &Path) -> Roots {
    Roots::builder().named("root", place, Access::Write).open().unwrap()
}

fn whole(generation: u64) -> Vec<u8> {
    generation.to_le_bytes().repeat(NUMBERS)
}

/// The generation that the file is wholly of; `None`: it is torn.
fn generation(place: &Path) -> Option<u64> {
    let bytes = fs::read(place.join("file")).unwrap();
    let generation = u64::from_le_bytes(*bytes.first_chunk()?);
    (bytes == whole(generation)).then_some(generation)
}

fn leftovers(place: &Path) -> Vec<String> {
    let names = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".cap-roots-") && name != LIVING).collect()
}

#[test]
#[ignore = "the part of a child process"]
fn writes_until_it_is_killed() {
    let Some(place) = child::place() else { return };
    if std::env::var_os(NAMED).is_some() {
        privilege::refuse_links();
    }
    let roots = open(&place);
    // The first write in the directory sweeps it.
    roots.write("small", "small").unwrap();
    println!("\nready");
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    for generation in first.. {
        roots.write("file", whole(generation)).unwrap();
    }
}

/// Ends the child if the test fails.
struct Kill(Child);

impl Drop for Kill {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(place: &Path, first: u64, named: bool) -> Kill {
    let mut command = child::command("writes_until_it_is_killed", place);
    command.env(FIRST, first.to_string()).stdout(Stdio::piped());
    if named {
        command.env(NAMED, "1");
    }
    let mut child = Kill(command.spawn().unwrap());
    let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "ready"), "the child ended before it began");
    child
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// What has a reserved name is neither shown nor opened.
fn is_hidden(place: &Path, name: &str) {
    let roots = open(place);
    let listed: Vec<_> = roots.read_dir(".").unwrap().map(|entry| entry.unwrap().name().to_owned()).collect();
    let walked: Vec<_> = roots.walk(".").unwrap().map(|entry| entry.unwrap().name().to_owned()).collect();
    assert!(listed.len() == 2 && walked.len() == 2, "{listed:?} {walked:?}");
    for code in [roots.open(name).map(drop), roots.remove_file(name), roots.write(name, ""), roots.metadata(name).map(drop)] {
        assert_eq!(code.unwrap_err().code(), "protected");
    }
}

fn kill_often(way: &str, named: bool) {
    let begin = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    fs::write(place.join("file"), whole(0)).unwrap();
    fs::set_permissions(place.join("file"), fs::Permissions::from_mode(MODE)).unwrap();
    let living = File::create(place.join(LIVING)).unwrap();
    living.try_lock().unwrap();

    // Moments in a time in which a few generations are written; how long that takes changes with what else the machine does.
    let probe = Instant::now();
    drop(start(place, 1, named));
    let mut span = probe.elapsed().max(Duration::from_millis(40)) * 2;

    let (mut last, mut torn, mut advanced, mut left) = (generation(place), 0, 0, 0);
    let mut swept = Vec::<String>::new();
    let kills = kills();
    for round in 1..=u64::try_from(kills).unwrap() {
        let mut child = start(place, round * 1_000_000, named);
        // The new process has written once, and so it has swept.
        let still = leftovers(place);
        assert!(swept.iter().all(|name| !still.contains(name)), "not swept: {swept:?}");
        let nanos = u64::try_from(span.as_nanos()).unwrap();
        std::thread::sleep(Duration::from_nanos(random() % nanos));
        child.0.kill().unwrap();
        child.0.wait().unwrap();

        let now = generation(place);
        torn += usize::from(now.is_none());
        assert!(now.is_none() || now >= last, "generation {last:?} came back as {now:?}");
        advanced += usize::from(now != last);
        span = if now == last { span * 17 / 16 } else { span * 31 / 32 };
        last = now;
        assert_eq!(fs::metadata(place.join("file")).unwrap().permissions().mode() & 0o7777, MODE);
        swept = leftovers(place);
        left += usize::from(!swept.is_empty());
        swept.iter().for_each(|name| is_hidden(place, name));
        is_hidden(place, LIVING);
        assert!(place.join(LIVING).exists(), "swept under its owner's lock");
    }
    // As everybody's who opens the directory anew; the lock that is held still counts.
    open(place).write("small", "small").unwrap();
    assert!(leftovers(place).is_empty() && place.join(LIVING).exists());
    drop(living);
    // A process that another test starts at this moment holds what this one held, until it is the other program.
    let is_swept = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        open(place).write("small", "small").unwrap();
        !place.join(LIVING).exists()
    });
    assert!(is_swept, "nobody holds it any more");
    let seconds = begin.elapsed().as_secs_f32();
    println!(
        "proof: kills, {way}: {kills}, {torn} torn, {advanced} behind a new generation, {left} with something left, {seconds:.1} s"
    );
    assert_eq!(torn, 0);
    assert!(advanced >= kills / 4, "it was hardly ever writing");
    assert!(advanced < kills || kills < 50, "it was never in its first write");
    assert!(!named || left >= kills / 10, "it was hardly ever between the creation of a name and the rename");
}

#[test]
fn a_killed_writer_leaves_a_whole_file() {
    kill_often("files without a name", false);
}

#[test]
fn a_killed_writer_leaves_a_whole_file_by_named_files_too() {
    kill_often("named files", true);
}

#[test]
#[ignore = "the part of a child process"]
fn writes_over_and_anew() {
    let Some(place) = child::place() else { return };
    if std::env::var_os(NAMED).is_some() {
        privilege::refuse_links();
    }
    let roots = open(&place);
    if std::env::var_os(NAMED).is_some() {
        // The first one finds out that links are refused.
        roots.write("file", "first").unwrap();
        roots.write("file", "second").unwrap();
    }
    roots.create_dir("mark").unwrap();
    roots.write("file", "new").unwrap();
    roots.remove_dir("mark").unwrap();
}

/// What the kernel was asked for between the two marks: the calls that sync or name something, with the paths of their descriptors.
fn traced(place: &Path, named: bool) -> Option<Vec<String>> {
    let log = place.join("../trace");
    if !needs::strace() {
        return None;
    }
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-e", "trace=mkdirat,mkdir,fsync,fdatasync,rename,renameat,renameat2,linkat,unlinkat,rmdir", "-o"]);
    command.arg(&log).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "writes_over_and_anew", "--ignored", "--nocapture"]).env(child::PLACE, place);
    if named {
        command.env(NAMED, "1");
    }
    child::succeed(command);
    let text = fs::read_to_string(log).unwrap();
    let calls = text.lines().skip_while(|line| !line.contains("\"mark\"")).skip(1).take_while(|line| !line.contains("\"mark\""));
    Some(calls.filter(|line| line.contains("= 0")).map(str::to_owned).collect())
}

fn is_in_order(named: bool) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("root");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("file"), "old").unwrap();
    let Some(calls) = traced(&place, named) else { return };
    println!("{}", calls.join("\n"));
    let dir = format!("<{}>", place.canonicalize().unwrap().display());
    let is_sync = |call: &str| call.contains("fsync(") || call.contains("fdatasync(");
    let at = |what: &dyn Fn(&str) -> bool| calls.iter().position(|call| what(call)).unwrap_or_else(|| panic!("{calls:#?}"));
    let file = at(&|call| is_sync(call) && !call.contains(&dir));
    let rename = at(&|call| call.contains("rename") && call.contains("\"file\""));
    let synced = at(&|call| is_sync(call) && call.contains(&dir));
    assert!(file < rename && rename < synced, "{calls:#?}");
    assert_eq!(fs::read_to_string(place.join("file")).unwrap(), "new");
}

#[test]
fn a_rename_stands_between_two_syncs() {
    is_in_order(false);
    is_in_order(true);
}

/// Files in the tree that is copied.
const FILES: usize = 20;

/// Whoever begins to write in a directory sweeps it, and not what another process has just begun with there.
fn is_not_swept_away(what: &str, mut write: impl FnMut(&Roots) -> &'static str) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    fs::create_dir(place.join("tree")).unwrap();
    for number in 0..FILES {
        fs::write(place.join(format!("tree/{number}")), "text").unwrap();
    }
    let done = std::sync::atomic::AtomicBool::new(false);
    let (mut codes, mut sweeps) = (std::collections::BTreeMap::new(), 0);
    std::thread::scope(|scope| {
        let sweeper = scope.spawn(|| {
            let mut sweeps = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                // Each set of roots sweeps once, as a process does.
                open(place).write("other", "text").unwrap();
                sweeps += 1;
            }
            sweeps
        });
        let roots = open(place);
        for _ in 0..2_000 {
            *codes.entry(write(&roots)).or_insert(0) += 1;
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        sweeps = sweeper.join().unwrap();
    });
    println!("{what}: {codes:?} beside {sweeps} sweeps");
    assert!(codes.len() == 1 && codes.contains_key("ok"), "{what}: {codes:?}");
}

#[test]
fn a_tree_that_is_begun_is_not_swept_away() {
    is_not_swept_away("copy of a tree", |roots| {
        let mut code = support::code(roots.copy("tree", "made"));
        if code == "ok" && roots.read_dir("made").unwrap().count() != FILES {
            code = "ok, and a part is missing";
        }
        let _ = roots.remove_dir_all("made");
        code
    });
}

#[test]
#[ignore = "the part of a child process"]
fn writes_named_beside_a_sweeper() {
    if child::place().is_none() {
        return;
    }
    privilege::refuse_links();
    is_not_swept_away("named files", |roots| support::code(roots.write("written", "text")));
    let _ = std::io::stdout().flush();
}

/// In a process of its own: what is refused there, is refused for good.
#[test]
fn a_named_file_that_is_begun_is_not_swept_away() {
    let folder = tempfile::tempdir().unwrap();
    print!("{}", child::succeed(child::command("writes_named_beside_a_sweeper", folder.path())));
}
