//! The child: one operation between two marks, in a process of its own and without other threads, so that calls can be counted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::time::{Duration, SystemTime};

use cap_roots::{Access, Error, ErrorKind, Roots};

use crate::support::filter;

pub(crate) const PLACE: &str = "CAP_ROOTS_FAULTS_IN";
pub(crate) const OPERATION: &str = "CAP_ROOTS_FAULTS_OPERATION";
pub(crate) const WAY: &str = "CAP_ROOTS_FAULTS_WAY";
/// What the operation has to answer, if it answers at all.
pub(crate) const ANSWER: &str = "CAP_ROOTS_FAULTS_ANSWER";
/// Set where calls go on failing behind the operation.
pub(crate) const STORM: &str = "CAP_ROOTS_FAULTS_STORM";
/// Where the answer is written to, while it is not known yet.
pub(crate) const TELL: &str = "CAP_ROOTS_FAULTS_TELL";

/// How it ended. Not told in writing, since writing may be what fails.
pub(crate) mod ended {
    pub(crate) const WRONG_ANSWER: i32 = 2;
    pub(crate) const LEAK: i32 = 3;
    pub(crate) const USELESS: i32 = 4;
    pub(crate) const UNUSABLE: i32 = 5;
    pub(crate) const REFUSED: i32 = 20;
}

/// Sizes in which halves and doubles are seen.
pub(crate) fn content(byte: u8) -> Vec<u8> {
    (0..40_000u32).map(|number| byte ^ number.to_le_bytes()[1]).collect()
}

pub(crate) const TIME: Duration = Duration::from_secs(1_000_000_000);

/// An operation: what it answers, as text.
pub(crate) type Operation = (&'static str, fn(&Roots) -> Result<String, Error>);

fn done<T>(result: Result<T, Error>) -> Result<String, Error> {
    result.map(|_| String::new())
}

fn names(entries: impl Iterator<Item = Result<cap_roots::Entry, Error>>) -> Result<String, Error> {
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        names.push(format!("{} {:?}", entry.name_text(), entry.file_type()));
    }
    names.sort();
    Ok(names.join(","))
}

fn bytes(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    format!("{} bytes, {sum}", bytes.len())
}

pub(crate) const OPERATIONS: [Operation; 35] = [
    ("read", |roots| roots.read("dir/file").map(|read| bytes(&read))),
    ("read behind links", |roots| roots.read("dir/up/up/file").map(|read| bytes(&read))),
    ("read in another form", |roots| roots.read("dir/caf\u{e9}").map(|read| bytes(&read))),
    ("open and read", |roots| roots.open("dir/file")?.read_all(1 << 20).map(|read| bytes(&read))),
    ("metadata", |roots| roots.metadata("dir/up").map(|metadata| format!("{:?} {}", metadata.file_type(), metadata.is_dir()))),
    ("metadata of a name", |roots| roots.symlink_metadata("dir/up").map(|metadata| format!("{:?}", metadata.file_type()))),
    ("exists", |roots| roots.exists("dir/none").map(|exists| exists.to_string())),
    ("read a link", |roots| roots.read_link("dir/up").map(|text| text.display().to_string())),
    ("list", |roots| names(roots.read_dir("dir")?)),
    ("list a directory", |roots| names(roots.open_dir("dir")?.entries()?)),
    ("walk", |roots| names(roots.walk(".")?)),
    ("write over", |roots| done(roots.write("dir/file", content(1)))),
    ("write anew", |roots| done(roots.write("dir/new", content(1)))),
    ("write in another form", |roots| done(roots.write("dir/caf\u{e9}", content(1)))),
    ("update", |roots| {
        done(roots.update("dir/file", |mut old| {
            old.extend(content(2));
            Ok(old)
        }))
    }),
    ("create a file", |roots| done(roots.create_new("dir/new"))),
    ("append", |roots| done(roots.append("dir/file", content(3)))),
    ("append anew", |roots| done(roots.append("dir/new", content(3)))),
    ("cut", |roots| done(roots.set_len("dir/file", 20_000))),
    ("create a directory", |roots| done(roots.create_dir("dir/new"))),
    ("create directories", |roots| done(roots.create_dir_all("dir/a/b/c"))),
    ("remove a file", |roots| done(roots.remove_file("dir/file"))),
    ("remove a directory", |roots| done(roots.remove_dir("empty"))),
    ("remove a tree", |roots| done(roots.remove_dir_all("tree"))),
    ("rename a file", |roots| done(roots.rename("dir/file", "tree/new"))),
    ("rename a directory", |roots| done(roots.rename("tree", "dir/new"))),
    ("rename a link", |roots| done(roots.rename("dir/up", "dir/new"))),
    ("rename over", |roots| done(roots.rename_replace("dir/file", "tree/one"))),
    ("copy a file", |roots| roots.copy("dir/file", "new").map(|copied| format!("{copied:?}"))),
    ("copy over", |roots| roots.copy_replace("dir/file", "tree/one").map(|copied| format!("{copied:?}"))),
    ("copy a tree", |roots| roots.copy("tree", "dir/new").map(|copied| format!("{copied:?}"))),
    ("set a mode", |roots| done(roots.set_permissions("dir/file", 0o600))),
    ("set times", |roots| done(roots.set_times("dir/file", None, Some(SystemTime::UNIX_EPOCH + TIME)))),
    ("grant", |roots| {
        let place = roots.list().next().map(|root| root.host_path().to_path_buf());
        done(builder(&place.unwrap_or_default()))
    }),
    ("what is there", |roots| Ok(roots.list().map(|root| format!("{:?}", root.support().is_some())).collect())),
];

fn builder(place: &Path) -> Result<Roots, Error> {
    let builder = Roots::builder().named("root", place, Access::Write);
    let builder = if std::env::var_os(WAY).is_some_and(|way| way == "walk") { builder.without_openat2() } else { builder };
    builder.open()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Seen in a trace, and made by nothing else.
fn mark(place: &Path) {
    std::env::set_current_dir(place).unwrap();
}

fn is_usable(roots: &Roots) -> bool {
    let used = || {
        roots.write("again", "again")?;
        let read = roots.read("again")?;
        roots.remove_file("again")?;
        Ok::<_, Error>(read == b"again")
    };
    used().unwrap_or(false)
}

/// Runs it, if this process is a child.
pub(crate) fn run() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let wanted = std::env::var_os(OPERATION).unwrap();
    let (_, operation) = OPERATIONS.iter().find(|(name, _)| wanted == **name).unwrap();
    let storm = std::env::var_os(STORM).is_some();
    let tell = std::env::var_os(TELL);
    let answer = std::env::var(ANSWER).ok();
    if let Some(list) = std::env::var(WAY).unwrap().strip_prefix("without ") {
        filter::deny(list).unwrap();
    }
    let root = place.join("ROOT");
    let roots = builder(&root).unwrap_or_else(|_| exit(ended::USELESS));
    // The first change of a mode without a handle keeps one of /proc for all that follow.
    let dir = cap_std::fs::Dir::open_ambient_dir(&root, cap_std::ambient_authority()).unwrap();
    let permissions = dir.metadata("tree/one").unwrap().permissions();
    dir.set_permissions("tree/one", permissions).unwrap();
    let before = descriptors();
    mark(&place);
    let outcome = operation(&roots);
    if storm {
        exit(code(&outcome, answer.as_deref()));
    }
    mark(&place);
    if let (Some(file), Ok(answer)) = (tell, &outcome) {
        std::fs::write(file, answer).unwrap();
    }
    if descriptors() != before {
        exit(ended::LEAK);
    }
    if !is_usable(&roots) {
        exit(ended::UNUSABLE);
    }
    exit(code(&outcome, answer.as_deref()));
}

fn code(outcome: &Result<String, Error>, answer: Option<&str>) -> i32 {
    match outcome {
        Ok(told) if answer.is_some_and(|answer| answer != told) => ended::WRONG_ANSWER,
        Ok(_) => 0,
        Err(error) => {
            let number = ErrorKind::ALL.iter().position(|kind| *kind == error.kind()).unwrap();
            ended::REFUSED + i32::try_from(number).unwrap()
        }
    }
}

/// The refusal that an end stands for.
pub(crate) fn refusal(end: i32) -> Option<&'static str> {
    let number = usize::try_from(end.checked_sub(ended::REFUSED)?).ok()?;
    ErrorKind::ALL.get(number).map(|kind| kind.code())
}

/// A child for one operation.
pub(crate) fn environment(place: &Path, operation: &str, way: &str) -> [(&'static str, OsString); 3] {
    [(PLACE, place.into()), (OPERATION, operation.into()), (WAY, way.into())]
}
