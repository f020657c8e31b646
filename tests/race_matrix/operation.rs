//! The operations: what is meant to be at the path, what comes back, and what is different afterwards.

use std::fs::{self, FileTimes, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use cap_roots::{Error, FileType, Metadata, ReadDir, Roots};
use cap_roots_oracle::poison::CANARY;

use crate::support::race::Held;
use crate::swap::{LINK_IN, LINK_RULED, clear, letter};

/// The path that is raced for, and the other end of what has two, which is left alone.
pub(crate) const PATH: &str = "x/y/name";
pub(crate) const FROM: &str = "s/from";
pub(crate) const TO: &str = "s/to";

/// Every operation of `Roots`, those with two ends once for each, and those that make or replace once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Open,
    Read,
    OpenDir,
    ReadDir,
    Walk,
    Metadata,
    SymlinkMetadata,
    Exists,
    ReadLink,
    Write,
    WriteNew,
    Update,
    Append,
    AppendNew,
    SetLen,
    CreateNew,
    CreateDir,
    CreateDirAll,
    RemoveFile,
    RemoveDir,
    RemoveDirAll,
    RenameFrom,
    RenameTo,
    RenameReplaceFrom,
    RenameReplaceTo,
    CopyFrom,
    CopyTreeFrom,
    CopyTo,
    CopyReplaceFrom,
    CopyReplaceTo,
    SetPermissions,
    SetTimes,
}

use Operation as O;

impl Operation {
    #[rustfmt::skip]
    pub(crate) const ALL: [Self; 32] = [
        O::Open, O::Read, O::OpenDir, O::ReadDir, O::Walk, O::Metadata, O::SymlinkMetadata, O::Exists, O::ReadLink,
        O::Write, O::WriteNew, O::Update, O::Append, O::AppendNew, O::SetLen, O::CreateNew, O::CreateDir, O::CreateDirAll,
        O::RemoveFile, O::RemoveDir, O::RemoveDirAll, O::RenameFrom, O::RenameTo, O::RenameReplaceFrom, O::RenameReplaceTo,
        O::CopyFrom, O::CopyTreeFrom, O::CopyTo, O::CopyReplaceFrom, O::CopyReplaceTo, O::SetPermissions, O::SetTimes,
    ];
}

/// What is meant to be at the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    EmptyDir,
    Tree,
    Link,
    Nothing,
}

impl Kind {
    pub(crate) fn lines(self, at: &str, text: &str) -> Vec<String> {
        match self {
            Self::File => vec![format!("file {at}={text}")],
            Self::EmptyDir => vec![format!("dir {at}")],
            Self::Tree => vec![format!("file {at}/file={text}"), format!("file {at}/d/file={text}")],
            Self::Link => vec![format!("link {at} -> kin")],
            Self::Nothing => Vec::new(),
        }
    }

    /// The directory `at`, inside, with the object.
    pub(crate) fn lines_in(self, at: &str) -> Vec<String> {
        [vec![format!("dir {at}")], self.lines(&format!("{at}/name"), "inside")].concat()
    }

    /// The same names below `at`, where nothing may be reached.
    pub(crate) fn lines_outside(self, at: &str) -> Vec<String> {
        let name = format!("{at}/x/y/name");
        let lines = match self {
            Self::Link => vec![format!("link {name} -> canary-name")],
            Self::Tree => [self.lines(&name, CANARY), vec![format!("file {name}/canary-name={CANARY}")]].concat(),
            _ => self.lines(&name, CANARY),
        };
        [vec![format!("file {at}/x/y/canary-name={CANARY}"), format!("file {at}/s/from={CANARY}")], lines].concat()
    }

    pub(crate) fn make(self, at: &Path) {
        match self {
            Self::File => fs::write(at, "inside").unwrap(),
            Self::EmptyDir => fs::create_dir(at).unwrap(),
            Self::Tree => {
                fs::create_dir_all(at.join("d")).unwrap();
                fs::write(at.join("file"), "inside").unwrap();
                fs::write(at.join("d/file"), "inside").unwrap();
            }
            Self::Link => symlink("kin", at).unwrap(),
            Self::Nothing => {}
        }
    }

    pub(crate) fn letter(self) -> Option<char> {
        match self {
            Self::File => Some('f'),
            Self::EmptyDir | Self::Tree => Some('d'),
            Self::Link => Some('l'),
            Self::Nothing => None,
        }
    }
}

/// What shows that an operation was carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Content,
    Appears,
    Vanishes,
    Mode,
    Time,
}

const MODE: u32 = 0o600;
const OLD_TIME: Duration = Duration::from_secs(2_000);
const NEW_TIME: Duration = Duration::from_secs(1_000);
const LISTING: &str = "d file=inside";
const TREE: &str = "d file=inside file=inside";

impl Operation {
    pub(crate) fn meant(self) -> Kind {
        match self {
            O::OpenDir | O::ReadDir | O::Walk | O::RemoveDirAll | O::CopyTreeFrom => Kind::Tree,
            O::RemoveDir => Kind::EmptyDir,
            O::ReadLink => Kind::Link,
            O::WriteNew | O::AppendNew | O::CreateNew | O::CreateDir | O::CreateDirAll | O::RenameTo | O::CopyTo => Kind::Nothing,
            _ => Kind::File,
        }
    }

    /// What has the same name outside. That `exists` told of something there could not be seen if the answer were the same.
    pub(crate) fn outside(self) -> Kind {
        if self == O::Exists { Kind::Nothing } else { self.meant() }
    }

    fn effect(self) -> Option<Effect> {
        Some(match self {
            O::Write | O::Update | O::Append | O::SetLen | O::RenameReplaceTo | O::CopyReplaceTo | O::CopyReplaceFrom => {
                Effect::Content
            }
            O::WriteNew | O::AppendNew | O::CreateNew | O::CreateDir | O::CreateDirAll | O::RenameTo | O::CopyTo => {
                Effect::Appears
            }
            O::CopyFrom | O::CopyTreeFrom => Effect::Appears,
            O::RemoveFile | O::RemoveDir | O::RemoveDirAll | O::RenameFrom | O::RenameReplaceFrom => Effect::Vanishes,
            O::SetPermissions => Effect::Mode,
            O::SetTimes => Effect::Time,
            _ => return None,
        })
    }

    /// Whether it changes what has the name.
    pub(crate) fn changes(self) -> bool {
        self.effect().is_some() && !self.is_copy_from()
    }

    fn is_copy_from(self) -> bool {
        matches!(self, O::CopyFrom | O::CopyTreeFrom | O::CopyReplaceFrom)
    }

    /// What may come back. Anything else is from elsewhere.
    pub(crate) fn answers(self) -> &'static [&'static str] {
        match self {
            O::Open | O::Read => &["inside"],
            O::OpenDir | O::ReadDir => &[LISTING],
            O::Walk => &[TREE],
            O::Metadata => &["file 6", "dir", "special"],
            O::SymlinkMetadata => &["file 6", "dir", "special", "link"],
            O::Exists => &["true"],
            O::ReadLink => &["kin", LINK_IN, LINK_RULED],
            O::Update => &["inside", "inside+"],
            O::CopyFrom | O::CopyTreeFrom | O::CopyReplaceFrom => &["inside", TREE],
            _ => &[""],
        }
    }

    /// What came back, in words.
    pub(crate) fn act(self, roots: &Roots) -> Result<String, Error> {
        let done = |(): ()| String::new();
        match self {
            O::Open => {
                let mut text = String::new();
                roots.open(PATH)?.read_to_string(&mut text).unwrap();
                Ok(text)
            }
            O::Read => roots.read_to_string(PATH),
            O::OpenDir => roots.open_dir(PATH)?.entries().and_then(listing),
            O::ReadDir => roots.read_dir(PATH).and_then(listing),
            O::Walk => {
                let tell = |entry: Result<cap_roots::Entry, Error>| {
                    let entry = entry?;
                    let name = entry.name_text().into_owned();
                    if entry.file_type() == FileType::File { Ok(format!("{name}={}", entry.read_to_string()?)) } else { Ok(name) }
                };
                Ok(roots.walk(PATH)?.map(tell).collect::<Result<Vec<_>, Error>>()?.join(" "))
            }
            O::Metadata => roots.metadata(PATH).map(|metadata| tell(&metadata)),
            O::SymlinkMetadata => roots.symlink_metadata(PATH).map(|metadata| tell(&metadata)),
            O::Exists => roots.exists(PATH).map(|exists| exists.to_string()),
            O::ReadLink => roots.read_link(PATH).map(|text| text.to_str().unwrap().to_owned()),
            O::Write | O::WriteNew => roots.write(PATH, "written").map(done),
            O::Update => {
                let mut seen = String::new();
                roots.update(PATH, |old| {
                    seen = String::from_utf8(old).unwrap();
                    Ok(b"inside+".to_vec())
                })?;
                Ok(seen)
            }
            O::Append | O::AppendNew => roots.append(PATH, "+").map(done),
            O::SetLen => roots.set_len(PATH, 3).map(done),
            O::CreateNew => roots.create_new(PATH).map(|mut file| file.write_all(b"made").unwrap()).map(done),
            O::CreateDir => roots.create_dir(PATH).map(done),
            O::CreateDirAll => roots.create_dir_all(PATH).map(done),
            O::RemoveFile => roots.remove_file(PATH).map(done),
            O::RemoveDir => roots.remove_dir(PATH).map(done),
            O::RemoveDirAll => roots.remove_dir_all(PATH).map(done),
            O::RenameFrom => roots.rename(PATH, TO).map(done),
            O::RenameTo => roots.rename(FROM, PATH).map(done),
            O::RenameReplaceFrom => roots.rename_replace(PATH, TO).map(done),
            O::RenameReplaceTo => roots.rename_replace(FROM, PATH).map(done),
            O::CopyFrom | O::CopyTreeFrom => roots.copy(PATH, TO).map(|_| String::new()),
            O::CopyTo => roots.copy(FROM, PATH).map(|_| String::new()),
            O::CopyReplaceFrom => roots.copy_replace(PATH, TO).map(|_| String::new()),
            O::CopyReplaceTo => roots.copy_replace(FROM, PATH).map(|_| String::new()),
            O::SetPermissions => roots.set_permissions(PATH, MODE).map(done),
            O::SetTimes => roots.set_times(PATH, None, Some(SystemTime::UNIX_EPOCH + NEW_TIME)).map(done),
        }
    }
}

fn tell(metadata: &Metadata) -> String {
    match metadata.file_type() {
        FileType::File => format!("file {}", metadata.len()),
        FileType::Dir => "dir".to_owned(),
        FileType::Symlink => "link".to_owned(),
        _ => "special".to_owned(),
    }
}

fn listing(entries: ReadDir) -> Result<String, Error> {
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.name_text().into_owned();
        names.push(if entry.file_type() == FileType::File { format!("{name}={}", entry.read_to_string()?) } else { name });
    }
    names.sort();
    Ok(names.join(" "))
}

/// The directories in which an operation may show its effect, by their handles: those that the path may lead to, and the one of the
/// other end.
pub(crate) struct Stage {
    /// None where the last name itself is exchanged, and is put back by whoever does that.
    pub(crate) seats: Vec<Held>,
    pub(crate) other_end: Held,
}

impl Stage {
    /// Everything is as the operation is meant to find it.
    pub(crate) fn prepare(&self, operation: Operation) {
        let (from, to) = (self.other_end.at("from"), self.other_end.at("to"));
        match operation {
            O::RenameTo | O::RenameReplaceTo | O::CopyTo | O::CopyReplaceTo if letter(&from).is_none() => {
                fs::write(&from, "moved").unwrap();
            }
            O::RenameFrom | O::CopyFrom | O::CopyTreeFrom => clear(&to),
            O::RenameReplaceFrom | O::CopyReplaceFrom => {
                clear(&to);
                fs::write(&to, "old").unwrap();
            }
            _ => {}
        }
        for at in self.seats.iter().map(|seat| seat.at("name")) {
            match operation.effect() {
                None => {}
                _ if operation.is_copy_from() => {}
                Some(Effect::Content) => fs::write(&at, "inside").unwrap(),
                Some(Effect::Appears) => clear(&at),
                Some(Effect::Vanishes) => {
                    let half = operation.meant() == Kind::Tree && letter(&at.join("d/file")).is_none();
                    if half || letter(&at).is_none() {
                        clear(&at);
                        operation.meant().make(&at);
                    }
                }
                Some(Effect::Mode) => fs::set_permissions(&at, Permissions::from_mode(0o644)).unwrap(),
                Some(Effect::Time) => {
                    let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + OLD_TIME);
                    fs::OpenOptions::new().write(true).open(&at).unwrap().set_times(times).unwrap();
                }
            }
        }
    }

    /// In how many places the operation was carried out; `None` where that is not to be told.
    pub(crate) fn effects(&self, operation: Operation) -> Option<usize> {
        let effect = operation.effect()?;
        let is_done = |at: &Path, before: &str| match effect {
            Effect::Content => fs::read_to_string(at).map_or(true, |text| text != before),
            Effect::Appears => letter(at).is_some(),
            Effect::Vanishes => letter(at).is_none(),
            Effect::Mode => fs::metadata(at).unwrap().mode() & 0o777 == MODE,
            Effect::Time => fs::metadata(at).unwrap().mtime() == NEW_TIME.as_secs().cast_signed(),
        };
        if operation.is_copy_from() {
            return Some(usize::from(is_done(&self.other_end.at("to"), "old")));
        }
        let done = self.seats.iter().filter(|seat| is_done(&seat.at("name"), "inside")).count();
        (!self.seats.is_empty()).then_some(done)
    }

    /// What a copy has brought.
    pub(crate) fn brought(&self, operation: Operation) -> Option<String> {
        operation.is_copy_from().then(|| describe(&self.other_end.at("to")))
    }
}

/// Names and contents in order, as a walk tells them.
fn describe(path: &Path) -> String {
    if letter(path) != Some('d') {
        return fs::read_to_string(path).unwrap_or_else(|error| error.to_string());
    }
    let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let tell = |name: &String| {
        let (separator, at) = (if letter(&path.join(name)) == Some('d') { ' ' } else { '=' }, path.join(name));
        format!("{name}{separator}{}", describe(&at))
    };
    names.iter().map(tell).collect::<Vec<_>>().join(" ")
}
