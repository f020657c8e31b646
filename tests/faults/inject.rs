//! One system call of a child made to fail, by strace, from outside.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::child;

/// Longer than any child needs, and shorter than anybody waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often a call is interrupted that goes on being so; it is made again until it is done.
const INTERRUPTED: usize = 500;

/// What fails: the number of the call is counted from the start of the process.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) call: String,
    pub(crate) number: usize,
    pub(crate) error: &'static str,
    /// All that follow fail as well.
    pub(crate) storm: bool,
}

/// What has nothing to do with files.
const OTHERS: [&str; 16] = [
    "mmap",
    "munmap",
    "mremap",
    "mprotect",
    "madvise",
    "brk",
    "futex",
    "getrandom",
    "sched_yield",
    "clock_nanosleep",
    "clock_gettime",
    "chdir",
    "rt_sigaction",
    "rt_sigprocmask",
    // The system closes a descriptor whatever it answers.
    "close",
    "prctl",
];

fn strace(log: &str, arguments: &[String], place: &Path, operation: &str, way: &str) -> Command {
    let mut command = Command::new("strace");
    // To be ended by a signal (`-I`), and its child with it.
    command.args(["-qq", "-I", "2", "-o", log]).args(arguments).arg(std::env::current_exe().unwrap());
    command.envs(child::environment(place, operation, way)).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// The child without anything that fails.
pub(crate) fn plain(place: &Path, operation: &str, way: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.envs(child::environment(place, operation, way)).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// The calls that the operation makes, each with its numbers; and what it answers.
pub(crate) fn calls(place: &Path, operation: &str, way: &str) -> (Vec<(String, usize)>, String) {
    let folder = tempfile::tempdir().unwrap();
    let (log, told) = (folder.path().join("log"), folder.path().join("told"));
    let mut command = strace(log.to_str().unwrap(), &[], place, operation, way);
    let output = command.env(child::TELL, &told).output().unwrap();
    assert!(output.status.success(), "{operation}, {way}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(log).unwrap();
    let (mut counts, mut calls, mut marks) = (BTreeMap::<String, usize>::new(), Vec::new(), 0);
    for line in text.lines() {
        let Some((call, _)) = line.split_once('(') else { continue };
        let number = counts.entry(call.to_owned()).or_default();
        *number += 1;
        marks += usize::from(call == "chdir");
        if marks == 1 && !OTHERS.contains(&call) {
            calls.push((call.to_owned(), *number));
        }
    }
    assert_eq!(marks, 2, "{text}");
    (calls, std::fs::read_to_string(told).unwrap())
}

/// How the operation ends with the fault; `None`: it does not.
pub(crate) fn run(fault: &Fault, place: &Path, operation: &str, way: &str, answer: &str) -> (Option<ExitStatus>, String) {
    let Fault { call, number, error, storm } = fault;
    let when = match (*storm, *error) {
        (false, _) => number.to_string(),
        (true, "EINTR") => format!("{number}..{}", number + INTERRUPTED),
        (true, _) => format!("{number}+"),
    };
    let arguments =
        ["-e".to_owned(), format!("trace={call}"), "-e".to_owned(), format!("inject={call}:error={error}:when={when}")];
    let mut command = strace("/dev/null", &arguments, place, operation, way);
    command.env(child::ANSWER, answer);
    if *storm {
        command.env(child::STORM, "1");
    }
    let mut running = command.spawn().unwrap();
    let begin = Instant::now();
    let status = loop {
        match running.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if begin.elapsed() > PATIENCE => break None,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    if status.is_none() {
        let _ = Command::new("kill").arg(running.id().to_string()).status();
    }
    let told = running.wait_with_output().map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
    (status, told.unwrap_or_default())
}
