//! Both ways and their parts, by tables: what is found, by which way, and what is refused.
//!
//! Catches: a walk that follows where it should not, forgets what a slash or a dot behind a link's text asks for, takes another Unicode form for what
//! the disk said, counts links wrongly or loses how deep it stands; a retry without an end; a look that sees what the rules or the set do not let
//! be seen; directories that were let go and come back as others.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use cap_roots_oracle::privilege::drop_override;
use cap_std::fs::Dir;

use super::judge::{NoRules, RuleJudge};
use super::mounts::Mounts;
use super::step::{self, Target};
use super::{Found, Slot, Want, check_names, is_kernel_file, names_until_refused, rehearse, slot, walk};
use crate::access::{Access, Operation};
use crate::error::{Error, ErrorKind};
use crate::explain::Resolver;
use crate::metadata::{FileType, Metadata};
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;
use crate::permit::Permit;
use crate::root::{Floor, Place, Start};
use crate::rule::Level;
use crate::{Builder, Roots};
use Want::{File as Content, LinkText, Metadata as Far, Name, OwnMetadata as Near};

fn kind(metadata: &Metadata) -> &'static str {
    match metadata.file_type() {
        FileType::Dir => "a directory",
        FileType::Symlink => "a link",
        FileType::File => "a file",
        FileType::Special => "special",
    }
}

pub(super) fn told(outcome: Result<Found, Error>) -> String {
    match outcome {
        Err(error) => error.code().to_owned(),
        Ok(Found::Dir(..)) => "held".to_owned(),
        Ok(Found::File(_, metadata)) => format!("open: {}", kind(&metadata)),
        Ok(Found::Metadata(metadata)) => kind(&metadata).to_owned(),
        Ok(Found::Link { text, depth }) => {
            format!("-> {}{}", text.display(), depth.map_or(String::new(), |depth| format!(" at {depth}")))
        }
        Ok(Found::Slot(slot)) => format!("slot {}{}", slot.name.display(), if slot.only_file { " for a file" } else { "" }),
    }
}

pub(super) fn path(text: &str) -> RelPath {
    RelPath::parse(text, PathStyle::Unix).unwrap()
}

fn opened(path: impl AsRef<Path>) -> File {
    fs::OpenOptions::new().read(true).open(path).unwrap()
}

pub(super) fn held(path: &Path) -> Dir {
    Dir::from_std_file(opened(path))
}

/// Whether the kernel has the one call that the fast way is; where it has not, there is nothing to be seen of that.
pub(super) fn has_openat2() -> bool {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let has = openat2(CWD, ".", OFlags::PATH, Mode::empty(), ResolveFlags::BENEATH).is_ok();
    cap_roots_oracle::needs::or_skipped(has, "no openat2 here")
}

pub(super) fn close(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// In a thread without the right to pass by permission bits, which cases about them need.
pub(super) fn unprivileged<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let run = || {
        drop_override();
        work()
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

/// Files, directories, links of every kind, a socket and a pipe.
pub(super) struct Case {
    folder: tempfile::TempDir,
    _socket: UnixListener,
}

impl Case {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        for dir in ["d/e", "shut", "dark"] {
            fs::create_dir_all(at.join(dir)).unwrap();
        }
        for file in ["f", "d/f", "cafe\u{301}", "\u{212a}x"] {
            fs::write(at.join(file), "").unwrap();
        }
        for (name, text) in [
            ("l", "d/f"),
            ("dl", "d"),
            ("out", "../.."),
            ("self", "self"),
            ("form", "caf\u{e9}"),
            ("slash", "d/f/"),
            ("d/back", "../f"),
            ("d/e/back", "../../f"),
            ("to-shut", "shut"),
            ("slash-shut", "shut/"),
            ("in-shut", "shut/."),
            ("in-dark", "dark/./"),
            ("40", "f"),
        ] {
            symlink(text, at.join(name)).unwrap();
        }
        for number in 0..40 {
            symlink((number + 1).to_string(), at.join(number.to_string())).unwrap();
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, at.join("p"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        let _socket = UnixListener::bind(at.join("s")).unwrap();
        Self { folder, _socket }
    }

    pub(super) fn at(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn place(&self, shape: impl FnOnce(Builder) -> Builder) -> Place {
        shape(Roots::builder().root(self.folder.path(), Access::Write)).open().unwrap().place_of_first()
    }
}

fn walked(place: &Place, text: &str, want: Want) -> String {
    told(walk::walk(place, &path(text), want, &mut NoRules))
}

#[test]
fn what_the_walk_finds() {
    let case = Case::new();
    let place = case.place(|builder| builder);
    for (text, want, answer) in [
        ("d/f", Content, "open: a file"),
        ("d/f/", Content, "not-a-directory"),
        ("d", Want::Dir, "held"),
        ("dl", Want::Dir, "held"),
        ("f", Want::Dir, "not-a-directory"),
        ("l", Content, "open: a file"),
        ("l", Far, "a file"),
        ("l", Near, "a link"),
        ("dl/", Near, "a directory"),
        ("l", LinkText, "-> d/f at 0"),
        ("d/back", LinkText, "-> ../f at 1"),
        ("dl/back", LinkText, "-> ../f at 1"),
        ("d/f", LinkText, "a file"),
        ("d/back", Content, "open: a file"),
        ("slash", Content, "not-a-directory"),
        ("slash", Far, "not-a-directory"),
        ("out", Far, "outside-roots"),
        ("out/x", Content, "outside-roots"),
        ("s", Content, "special-file"),
        ("p", Content, "open: special"),
        ("self", Far, "symlink-loop"),
        // 40 links, and 41.
        ("1", Far, "a file"),
        ("0", Far, "symlink-loop"),
        // Another form is for what was typed, and only where it can be one.
        ("caf\u{e9}", Content, "open: a file"),
        ("form", Content, "not-found"),
        ("Kx", Content, "not-found"),
        ("caf\u{e9}", Name, "slot cafe\u{301}"),
        ("form", Want::Target, "slot caf\u{e9}"),
        ("Kx", Name, "slot Kx"),
        ("d/f", Name, "slot f"),
        ("d/new", Name, "slot new"),
        ("l", Name, "slot l"),
        ("l", Want::Target, "slot f"),
        ("d/f", Want::Target, "slot f"),
        ("d/..", Name, "held"),
    ] {
        assert_eq!(walked(&place, text, want), answer, "{text} {want:?}");
    }
    let ruled = case.place(|builder| builder.rule("secret", Access::None));
    let judged = |text| told(walk::walk(&ruled, &path(text), Content, &mut RuleJudge::new(&ruled, Access::Read, false)));
    assert_eq!((judged("cafe\u{301}"), judged("caf\u{e9}")), ("open: a file".to_owned(), "open: a file".to_owned()));
}

/// Where the walk starts below the floor, its own depth is not all.
#[test]
fn how_deep_a_link_lies() {
    let case = Case::new();
    let from = |start: &str| {
        let mut place = case.place(|builder| builder);
        place.start =
            Some(std::sync::Arc::new(Start { dir: held(&case.at(start)).into(), path: path("d"), level: Level::free() }));
        place
    };
    assert_eq!(walked(&from("d"), "back", LinkText), "-> ../f at 1");
    assert_eq!(walked(&from("d"), "e/back", LinkText), "-> ../../f at 2");
    assert_eq!(walked(&from("d/e"), "back", LinkText), "-> ../../f", "the path leads to another directory by now");
}

#[test]
fn permission_bits_are_asked_as_the_kernel_does() {
    let case = Case::new();
    let place = case.place(|builder| builder);
    for (name, mode) in [("shut", 0o600), ("dark", 0o100), ("d/f", 0), ("p", 0)] {
        close(&case.at(name), mode);
    }
    let answers = unprivileged(|| {
        [
            ("to-shut", Far),
            ("slash-shut", Far),
            ("in-shut", Far),
            ("in-dark", Far),
            ("shut/..", Far),
            ("dark/..", Far),
            ("shut/new", Name),
            ("d/f", Content),
            ("p", Content),
        ]
        .map(|(text, want)| walked(&place, text, want))
    });
    let denied = "os-denied";
    assert_eq!(answers, ["a directory", "a directory", denied, "a directory", denied, "a directory", denied, denied, "special"]);
}

/// Catches: a link of procfs that is followed by its text, which is not where it leads, and one with a text that is taken for such a one.
#[test]
fn magic_links_are_known() {
    let link = |dir: &str, name: &str| match step::see(&held(Path::new(dir)), OsStr::new(name), Mounts::Any).unwrap().link {
        Some(Target::Text(_)) => "text",
        Some(Target::Magic) => "magic",
        None => "none",
    };
    assert_eq!((link("/proc", "self"), link("/proc/self", "cwd"), link("/proc/self", "stat")), ("text", "magic", "none"));
}

fn by(place: &Place, text: &str, operation: Operation, want: Want) -> (Resolver, String) {
    let (by, found) = rehearse(&Permit::issue(place.clone(), path(text), operation).unwrap(), want);
    (by, told(found))
}

/// Catches: the slow way where the fast one would do, and the fast one where it cannot tell.
#[test]
fn which_way_answers() {
    let case = Case::new();
    let (free, ruled) = (case.place(|builder| builder), case.place(|builder| builder.rule("secret", Access::None)));
    let slow = case.place(Builder::without_openat2);
    let open = |place: &Place, text: &str| by(place, text, Operation::Open, Content).0;
    if !has_openat2() {
        return;
    }
    assert_eq!(
        (open(&free, "d/../f"), open(&ruled, "f"), open(&ruled, "d/../f")),
        (Resolver::OneCall, Resolver::OneCall, Resolver::Walk)
    );
    assert_eq!((open(&slow, "f"), open(&ruled, "l")), (Resolver::Walk, Resolver::Walk));
    let text = |name| by(&free, name, Operation::ReadLink, LinkText);
    assert_eq!(text("l"), (Resolver::OneCall, "-> d/f".to_owned()));
    assert_eq!(text("d/back"), (Resolver::Walk, "-> ../f at 1".to_owned()), "whether it stays inside depends on where it lies");
    assert_eq!(text("out").1, "outside-roots");
    assert_eq!(text("f").1, "invalid-argument");
}

#[test]
fn a_set_of_one_file_has_no_place_for_anything_else() {
    let case = Case::new();
    let slot = |name: &str| {
        let mut place = case.place(|builder| builder);
        place.only = Some(name.into());
        by(&place, name, Operation::Write, Name).1
    };
    let found = ["f", "new", "d", "l"].map(slot);
    assert_eq!(found, ["slot f for a file", "slot new for a file", "outside-roots", "outside-roots"]);
}

#[test]
fn names_up_to_the_one_that_is_refused() {
    let case = Case::new();
    let place = case.place(|builder| builder.rule("d/f", Access::None));
    let permit = Permit::issue(place, path("dl/f"), Operation::Open).unwrap();
    assert_eq!(names_until_refused(&permit, Content).unwrap().as_os_str(), "d/f");
}

#[test]
fn files_with_several_names() {
    let case = Case::new();
    let one = Metadata::of(&opened(case.at("f"))).unwrap().links();
    fs::hard_link(case.at("f"), case.at("g")).unwrap();
    let two = Metadata::of(&opened(case.at("f"))).unwrap().links();
    let (any, picky) = (case.place(|builder| builder), case.place(Builder::refuse_hard_links));
    assert_eq!([(&any, one), (&any, two), (&picky, one)].map(|(place, file)| check_names(place, file)), [Ok(()); 3]);
    assert_eq!(check_names(&picky, two), Err(ErrorKind::HardLinked));
}

#[test]
fn what_is_seen_at_a_slot() {
    let case = Case::new();
    let seen = |dir: &str, name: &str, level: (Access, Access), only_file| {
        let level = Level { as_file: level.0, as_dir: level.1, ..Level::free() };
        let slot = Slot {
            dir: held(&case.at(dir)),
            name: name.into(),
            level,
            must_be_dir: false,
            exact: false,
            only_file,
            mounts: Mounts::Any,
        };
        slot.see().map_or_else(
            |error| error.code(),
            |seen| seen.map_or("nothing", |seen| kind(&Metadata::from_cap_std(&seen.metadata))),
        )
    };
    let (all, files, dirs) = ((Access::Write, Access::Write), (Access::Write, Access::Read), (Access::Read, Access::Write));
    for (name, level, only_file, answer) in [
        ("f", all, false, "a file"),
        ("f", all, true, "a file"),
        ("f", files, false, "a file"),
        ("f", dirs, false, "protected"),
        ("d", all, false, "a directory"),
        ("d", dirs, false, "a directory"),
        ("d", files, false, "protected"),
        ("d", all, true, "outside-roots"),
        ("l", all, false, "a link"),
        ("l", files, false, "protected"),
        ("l", all, true, "outside-roots"),
        ("new", all, true, "nothing"),
    ] {
        assert_eq!(seen(".", name, level, only_file), answer, "{name} {level:?} {only_file}");
    }
    close(&case.at("shut"), 0o600);
    assert_eq!(unprivileged(|| seen("shut", "f", all, false)), "os-denied");
    let listed = |name| slot::holds_exactly(&held(&case.at(".")), OsStr::new(name)).unwrap();
    assert_eq!((listed("f"), listed("F"), listed("new")), (true, false, false));
}

/// Catches: a thing that is judged by its name where its kind decides, and a look that is taken for the thing.
#[test]
fn what_is_found_is_judged_as_what_it_is() {
    let case = Case::new();
    let free = case.place(|builder| builder);
    let mut narrow = free.clone();
    narrow.floor = Floor::Names(path("d").into());
    let listed = case.place(|builder| builder.rule("d/", Access::List));
    for (place, text, operation, want, answer) in [
        (&free, "f", Operation::Open, Content, "open: a file"),
        (&free, "p", Operation::Open, Content, "special-file"),
        (&free, "d", Operation::Open, Content, "is-a-directory"),
        (&free, "f", Operation::Metadata, Far, "a file"),
        (&free, "f", Operation::Write, Name, "slot f"),
        (&listed, "d", Operation::Open, Content, "protected"),
        (&listed, "d", Operation::Metadata, Far, "a directory"),
        (&narrow, "e", Operation::OpenDir, Want::Dir, "held"),
        (&narrow, "../f", Operation::Open, Content, "outside-roots"),
    ] {
        assert_eq!(by(place, text, operation, want).1, answer, "{text} {operation:?}");
    }
    let metadata = |name: &str| Metadata::from_cap_std(&held(&case.at(".")).symlink_metadata(name).unwrap());
    let rules_for_dirs = ["f", "d", "l"].map(|name| Found::Metadata(metadata(name)).is_dir_or_link());
    assert_eq!(rules_for_dirs, [false, true, true]);
    let exact = slot::look(&held(&case.at(".")), OsStr::new("f"), false, true, Mounts::Any);
    assert!(matches!(exact, Ok(slot::Spot::Entry { .. })));
    // Made up by the kernel, below a root that is not; in one that is, that is what was granted.
    let stat = opened("/proc/self/stat");
    let identity = |file: &File| Metadata::of(file).unwrap().identity;
    let own = opened(case.at("f"));
    let procfs = Roots::builder().root("/proc", Access::Read).open().unwrap().place_of_first();
    let is_made_up = |place, file| is_kernel_file(place, file, identity(file)).unwrap();
    assert!(is_made_up(&free, &stat) && !is_made_up(&procfs, &stat) && !is_made_up(&free, &own));
}

/// Catches: trying again for ever. A file system, or a filter, that says EAGAIN may never say anything else.
#[test]
fn a_storm_of_eagain_ends() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let (number, arch) = match std::env::consts::ARCH {
        "x86_64" => (257, seccompiler::TargetArch::x86_64),
        "aarch64" => (56, seccompiler::TargetArch::aarch64),
        _ => return,
    };
    let case = Case::new();
    let dir = held(&case.at("."));
    let storm = move || {
        let calls = [(number, Vec::new()), (437, Vec::new())].into();
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, SeccompAction::Errno(11), arch).unwrap();
        seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
        let fast = super::linux::open(&dir, &path("f"), Content, &Level::free(), true, Mounts::Any);
        let name = OsStr::new("f");
        let (changed, read) =
            (step::open_for_change(&dir, name, false, Mounts::Any).map(drop), step::open(&dir, name, Mounts::Any).map(drop));
        (matches!(fast, super::linux::Fast::Undecided), changed.unwrap_err().kind(), read.unwrap_err().kind())
    };
    let ended = std::thread::spawn(storm).join().unwrap();
    assert_eq!(ended, (true, std::io::ErrorKind::WouldBlock, std::io::ErrorKind::ResourceBusy));
}
