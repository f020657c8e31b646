//! Operations while another thread exchanges names under them, by a schedule that the input gives.
//!
//! Each operation has the outcomes that it may have, by what the attacker exchanges; nothing outside is read, made or changed, and no answer
//! holds a word of it. The same input gives the same schedule again: which names, in which order, with how many pauses. Between which
//! of its system calls the operation meets an exchange is the scheduler's, so that an input that showed a fault may need to be replayed many
//! times.
//!
//! Encoding of an input: a byte for the way and the operation, one for how often it is done, and the rest is the schedule, a byte for each step:
//! its low bits pick the exchange, its high bits the pause behind it. The tree is kept and put right between inputs.

use std::fs;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cap_roots::{Access, Error, Roots};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};

use crate::poison::{self, CANARY};
use crate::privilege;
use crate::tree::Tree;

/// Most steps of a schedule, which begins again where it ends.
const STEPS: usize = 64;
/// Longer than anything here may take.
const FOR_EVER: Duration = Duration::from_secs(20);

/// The tree, without the links of the attacker, which wait beside the root.
const LINES: [&str; 6] =
    ["file d/e/file=inside", "file d/e/sub/file=inside", "dir g", "file x=inside", "file d/file=inside", "link l -> d/e/file"];
/// What is outside, with the same names as inside: whoever gets there finds what it looks for.
const OUTSIDE: [&str; 5] = [
    "file ../outside/file=CANARY-7f3a",
    "file ../outside/e/file=CANARY-7f3a",
    "file ../outside/sub/file=CANARY-7f3a",
    "file ../outside/e/sub/file=CANARY-7f3a",
    "file ../outside/canary-name=CANARY-7f3a",
];
/// A name inside and what the attacker puts in its place: directories, an ancestor, the last name; links to outside by both ways of writing,
/// within, to nothing and in a ring, and a pipe.
const EXCHANGES: [[&str; 2]; 8] = [
    ["d/e", "evil/e -> ../../outside"],
    ["d", "evil/d -> $BASE/outside"],
    ["d/e/file", "evil/file -> ../../../outside/file"],
    ["d/e/file", "evil/pipe"],
    ["d/e", "evil/ring -> ring"],
    ["d/e/file", "evil/nothing -> ../../../outside/nothing"],
    ["d/e/sub", "evil/sub -> $BASE/outside/sub"],
    ["l", "evil/l -> ../outside/file"],
];

/// An operation, and the codes that it may end with, whatever is exchanged: the names that are exchanged have always something, be it a
/// directory, a file, a pipe or a link.
struct Operation {
    run: fn(&Roots) -> Result<Vec<u8>, Error>,
    allowed: &'static [&'static str],
}

/// A link that leads out, and one that leads to a name that is not there.
const ON_THE_WAY: &[&str] = &["outside-roots", "not-found"];
/// The last name may be a pipe's as well.
const OF_A_FILE: &[&str] = &["outside-roots", "not-found", "special-file"];
/// What was looked at may not be what is there any more.
const OF_A_CHANGE: &[&str] = &["outside-roots", "not-found", "special-file", "conflict"];
/// Whatever has the name is in the way.
const OF_A_NEW_NAME: &[&str] = &["outside-roots", "not-found", "already-exists"];

const OPERATIONS: [Operation; 16] = [
    Operation { run: |roots| roots.read("d/e/file"), allowed: OF_A_FILE },
    Operation { run: |roots| roots.read("l"), allowed: OF_A_FILE },
    Operation { run: |roots| roots.metadata("d/e/file").map(|found| format!("{found:?}").into_bytes()), allowed: ON_THE_WAY },
    Operation {
        run: |roots| listed(roots.read_dir("d/e")?.map(|entry| entry.and_then(|entry| entry.read().or(Ok(named(&entry)))))),
        allowed: ON_THE_WAY,
    },
    Operation { run: |roots| roots.open_dir("d/e")?.read("file"), allowed: OF_A_FILE },
    Operation {
        run: |roots| listed(roots.walk("d")?.map(|entry| entry.and_then(|entry| entry.read().or(Ok(named(&entry)))))),
        allowed: &["outside-roots"],
    },
    Operation { run: |roots| nothing(roots.write("d/e/file", "inside too")), allowed: OF_A_CHANGE },
    Operation { run: |roots| nothing(roots.append("d/e/file", "+")), allowed: OF_A_CHANGE },
    Operation {
        run: |roots| {
            nothing(roots.update("d/e/file", |old| {
                if has_canary(&old) { panic!("content of the outside") } else { Ok(b"inside".to_vec()) }
            }))
        },
        allowed: OF_A_CHANGE,
    },
    Operation { run: |roots| nothing(roots.create_new("d/e/new").map(drop)), allowed: OF_A_NEW_NAME },
    Operation { run: |roots| nothing(roots.rename("d/e/file", "g/moved")), allowed: ON_THE_WAY },
    Operation { run: |roots| nothing(roots.remove_file("d/e/file")), allowed: ON_THE_WAY },
    // `busy`: what keeps changing each time that it is looked at.
    Operation {
        run: |roots| nothing(roots.create_dir_all("d/e/p/q")),
        allowed: &["outside-roots", "not-found", "already-exists", "conflict", "busy"],
    },
    // It is emptied by its handle and then removed by its name, a link is removed by its name; another thing may have it by then.
    Operation {
        run: |roots| nothing(roots.remove_dir_all("d/e/sub")),
        allowed: &["outside-roots", "not-found", "not-a-directory", "is-a-directory", "not-empty", "conflict"],
    },
    Operation { run: |roots| nothing(roots.copy("d/e", "g/copy").map(drop)), allowed: OF_A_NEW_NAME },
    Operation {
        run: |roots| nothing(roots.copy("x", "d/e/file").map(drop)),
        // Nothing has the name when it is looked at, and something when the copy is to get it.
        allowed: &["outside-roots", "not-found", "already-exists", "conflict"],
    },
];

fn nothing(done: Result<(), Error>) -> Result<Vec<u8>, Error> {
    done.map(|()| Vec::new())
}

fn named(entry: &cap_roots::Entry) -> Vec<u8> {
    entry.name_text().into_owned().into_bytes()
}

fn listed(entries: impl Iterator<Item = Result<Vec<u8>, Error>>) -> Result<Vec<u8>, Error> {
    // An entry may be gone again; what was seen is looked at in any case.
    Ok(entries.flatten().collect::<Vec<_>>().concat())
}

fn has_canary(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()) || bytes.windows(11).any(|part| part == b"canary-name")
}

/// One step: the exchange, and how long to wait behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    exchange: usize,
    pause: u32,
}

/// What an input stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    walk: bool,
    operation: usize,
    times: u32,
    steps: Vec<Step>,
}

impl Schedule {
    /// The same bytes are the same schedule.
    pub fn of(input: &[u8]) -> Self {
        let byte = |at: usize| input.get(at).copied().unwrap_or(0);
        let step =
            |byte: &u8| Step { exchange: usize::from(byte & 7), pause: [0, 1, 3, 8, 20, 50, 120, 300][usize::from(byte >> 5)] };
        let steps: Vec<Step> = input.iter().skip(2).take(STEPS).map(step).collect();
        Self { walk: byte(0) & 0x80 != 0, operation: usize::from(byte(0) & 15), times: 1 + u32::from(byte(1) & 15), steps }
    }
}

/// What an input means: the schedule, with what it exchanges.
pub(crate) fn print(input: &[u8]) -> String {
    let schedule = Schedule::of(input);
    let exchanged: Vec<_> = schedule.steps.iter().map(|step| EXCHANGES[step.exchange]).collect();
    format!("{schedule:?} {exchanged:?}")
}

struct Stage {
    tree: Tree,
    outside: Vec<String>,
    fast: Roots,
    walk: Roots,
}

impl Stage {
    fn new() -> Self {
        privilege::drop_override();
        let tree = Tree::build(OUTSIDE).unwrap_or_else(|error| panic!("{error}"));
        let open = |builder: cap_roots::Builder| {
            builder.named("root", tree.root(), Access::Write).open().unwrap_or_else(|error| panic!("{error}"))
        };
        let (fast, walk) = (open(Roots::builder()), open(Roots::builder().without_openat2()));
        let outside = poison::outside(&tree).unwrap_or_else(|error| panic!("{error}"));
        Self { tree, outside, fast, walk }
    }

    /// The inside as it was at first.
    fn put_right(&self) {
        let fail = |error: std::io::Error| panic!("{error}");
        for entry in fs::read_dir(self.tree.root()).unwrap_or_else(|error| panic!("{error}")).flatten() {
            let path = entry.path();
            let removed =
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.unwrap_or_else(fail);
        }
        LINES.iter().for_each(|line| self.tree.plant(line).unwrap_or_else(fail));
        for [_, evil] in EXCHANGES {
            let line = if evil.contains(" -> ") { format!("link {evil}") } else { format!("fifo {evil}") };
            self.tree.plant(&line).unwrap_or_else(fail);
        }
    }
}

thread_local! {
    static STAGE: Stage = Stage::new();
}

/// Panics if an operation does anything outside, tells anything of it, ends with a code that it cannot have, or does not end.
pub fn check(input: &[u8]) {
    run(input);
}

/// How many exchanges there were.
fn run(input: &[u8]) -> usize {
    let schedule = Schedule::of(input);
    STAGE.with(|stage| {
        stage.put_right();
        let names = EXCHANGES.map(|names| names.map(|name| End::of(stage, name.split(" -> ").next().unwrap_or(name))));
        let stop = AtomicBool::new(false);
        let begin = Instant::now();
        let exchanges = std::thread::scope(|scope| {
            let attacker = scope.spawn(|| attack(&schedule, &names, &stop));
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| operate(stage, &schedule)));
            stop.store(true, Ordering::Relaxed);
            match (done, attacker.join()) {
                (Err(panic), _) | (_, Err(panic)) => std::panic::resume_unwind(panic),
                (Ok(()), Ok(count)) => count,
            }
        });
        assert!(begin.elapsed() < FOR_EVER, "{schedule:?}");
        let outside = poison::outside(&stage.tree).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outside, stage.outside, "the outside was changed: {schedule:?}");
        exchanges
    })
}

/// A name in a directory that is held: the attacker does not go by links of its own, which would lead it outside.
struct End {
    dir: OwnedFd,
    name: &'static str,
}

impl End {
    fn of(stage: &Stage, path: &'static str) -> Self {
        let (dir, name) = path.rsplit_once('/').unwrap_or((".", path));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(CWD, stage.tree.root().join(dir), flags, Mode::empty()).unwrap_or_else(|error| panic!("{error}"));
        Self { dir, name }
    }
}

/// How many exchanges there were.
fn attack(schedule: &Schedule, names: &[[End; 2]; 8], stop: &AtomicBool) -> usize {
    let mut count = 0;
    for step in schedule.steps.iter().cycle() {
        let [one, other] = &names[step.exchange];
        // One of them may be missing: what is in the way of an operation is in the way here.
        count += usize::from(renameat_with(&one.dir, one.name, &other.dir, other.name, RenameFlags::EXCHANGE).is_ok());
        for _ in 0..step.pause {
            std::hint::spin_loop();
        }
        if step.pause == 0 {
            std::thread::yield_now();
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    count
}

fn operate(stage: &Stage, schedule: &Schedule) {
    let roots = if schedule.walk { &stage.walk } else { &stage.fast };
    let operation = &OPERATIONS[schedule.operation];
    let base = stage.tree.base().to_string_lossy();
    for _ in 0..schedule.times {
        match (operation.run)(roots) {
            Ok(bytes) => assert!(!has_canary(&bytes), "content of the outside: {schedule:?}"),
            Err(error) => {
                assert!(operation.allowed.contains(&error.code()), "{error}: {schedule:?}");
                let told = format!("{error} {error:?}");
                assert!(!told.contains(&*base) && !told.contains("outside/") && !told.contains(CANARY), "{told}: {schedule:?}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an attacker that exchanges nothing, beside which every operation is safe.
    #[test]
    fn there_are_exchanges() {
        for exchange in 0..8u8 {
            // One at least is made in any case; where processors are few, more of them come only sometimes.
            let count = || (0..16u8).map(|operation| run(&[operation, 15, exchange])).sum::<usize>();
            assert!((0..100).any(|_| count() > 16), "no exchanges by {exchange}");
        }
    }

    /// Catches: a file that is opened for a change by what its name leads to by then; a code that is another one's.
    #[test]
    fn schedules_by_both_ways() {
        let mut state: u64 = 0x0dd_ba11;
        for _ in 0..3_000 {
            // xorshift64 (Marsaglia, 2003).
            let mut byte = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state.to_le_bytes()[0]
            };
            let steps = usize::from(byte() % 8);
            check(&(0..3 + steps).map(|_| byte()).collect::<Vec<_>>());
        }
    }

    /// Catches: a schedule that is made of anything but the input, so that a crash could not be replayed.
    #[test]
    fn the_same_input_is_the_same_schedule() {
        for seed in 0..=255u8 {
            let input: Vec<u8> = (0..40).map(|at: u8| seed.wrapping_mul(31).wrapping_add(at.wrapping_mul(seed))).collect();
            assert_eq!(Schedule::of(&input), Schedule::of(&input));
        }
        assert_ne!(Schedule::of(&[0, 0, 1]), Schedule::of(&[0, 0, 2]));
        assert_eq!(Schedule::of(&[]), Schedule::of(&[0, 0]));
    }
}
