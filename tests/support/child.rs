//! A process of its own: this test binary once more, in one of its ignored tests that are there for that.

use std::path::Path;
use std::process::Command;

/// Where the child works; without it, a test that is a child's part does nothing.
pub(crate) const PLACE: &str = "CAP_ROOTS_CHILD_IN";

/// The test `part` of this binary as a process, to work in `place`.
pub(crate) fn command(part: &str, place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments(part)).env(PLACE, place);
    command
}

/// As `command`, at the end of a shell script that `program` runs, which prepares the process and calls it as `"$@"`.
pub(crate) fn behind(program: &str, before: &[&str], script: &str, part: &str, place: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(before).args(["sh", "-ec", script, "sh"]).arg(std::env::current_exe().unwrap());
    command.args(arguments(part)).env(PLACE, place);
    command
}

fn arguments(part: &str) -> [&str; 4] {
    ["--exact", part, "--ignored", "--nocapture"]
}

/// The place, if this process is a child.
pub(crate) fn place() -> Option<std::path::PathBuf> {
    std::env::var_os(PLACE).map(Into::into)
}

/// Runs it to its end, which must be a good one; what it printed.
pub(crate) fn succeed(mut command: Command) -> String {
    let output = command.output().unwrap();
    let [told, wrong] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{:?}\n{told}\n{wrong}", output.status);
    assert!(told.contains("1 passed"), "the child's part was not run: {told}");
    told
}
