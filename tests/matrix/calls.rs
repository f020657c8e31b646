//! Every operation: how it is asked of `Roots`, and the plain calls that do the same by path.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use cap_roots::{Error, FileType, Roots};
use rustix::fs::{CWD, OFlags, RenameFlags};
use rustix::io::Errno;

pub(crate) type Ours = fn(&Roots, &str) -> Result<String, Error>;
/// The root, and the path of what the name leads to.
pub(crate) type Plain = fn(&str, &str) -> io::Result<String>;

/// What is done with a link as the last name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// Followed.
    Follow,
    /// The link itself is meant, unless a slash stands behind it.
    Keep,
    /// A new name: whatever has it is in the way.
    New,
    /// Followed, so that what it names is made or replaced; with a slash behind it no file is meant.
    Put,
}

/// One operation; of one with two paths, one end.
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) changes: bool,
    pub(crate) last: Last,
    pub(crate) ours: Ours,
    pub(crate) plain: Plain,
}

const fn reads(name: &'static str, last: Last, ours: Ours, plain: Plain) -> Call {
    Call { name, changes: false, last, ours, plain }
}

const fn changes(name: &'static str, last: Last, ours: Ours, plain: Plain) -> Call {
    Call { name, changes: true, last, ours, plain }
}

fn nothing<T, E>(result: Result<T, E>) -> Result<String, E> {
    result.map(|_| String::new())
}

fn then() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)
}

pub(crate) const CALLS: [Call; 37] = [
    reads("open", Last::Follow, |roots, path| roots.open(path).map(|mut file| text(&mut file)), |_, path| read(path)),
    reads(
        "read",
        Last::Follow,
        |roots, path| roots.read(path).map(|bytes| String::from_utf8(bytes).unwrap()),
        |_, path| read(path),
    ),
    reads("read_to_string", Last::Follow, |roots, path| roots.read_to_string(path), |_, path| read(path)),
    reads(
        "metadata",
        Last::Follow,
        |roots, path| roots.metadata(path).map(|metadata| kind(metadata.file_type()).to_owned()),
        |_, path| fs::metadata(path).map(|metadata| plain_kind(metadata.file_type()).to_owned()),
    ),
    reads(
        "symlink_metadata",
        Last::Keep,
        |roots, path| roots.symlink_metadata(path).map(|metadata| kind(metadata.file_type()).to_owned()),
        |_, path| fs::symlink_metadata(path).map(|metadata| plain_kind(metadata.file_type()).to_owned()),
    ),
    reads(
        "exists",
        Last::Follow,
        |roots, path| roots.exists(path).map(|exists| exists.to_string()),
        |_, path| fs::exists(path).map(|exists| exists.to_string()),
    ),
    reads("read_dir", Last::Follow, |roots, path| roots.read_dir(path).and_then(names), |_, path| plain_names(path)),
    reads("open_dir", Last::Follow, |roots, path| roots.open_dir(path)?.entries().and_then(names), |_, path| plain_names(path)),
    reads("within", Last::Follow, |roots, path| roots.within(path)?.read_dir(".").and_then(names), |_, path| plain_names(path)),
    reads(
        "read_link",
        Last::Keep,
        |roots, path| roots.read_link(path).map(|text| text.display().to_string()),
        |_, path| fs::read_link(path).map(|text| text.display().to_string()),
    ),
    reads("walk", Last::Follow, walk, |_, path| plain_walk(path)),
    changes("write", Last::Put, |roots, path| nothing(roots.write(path, "NEW")), |_, path| nothing(put(path, "NEW"))),
    changes(
        "update",
        Last::Follow,
        |roots, path| nothing(roots.update(path, |old| Ok([old, b"+".to_vec()].concat()))),
        |_, path| read(path).and_then(|old| nothing(put(path, &format!("{old}+")))),
    ),
    changes(
        "append",
        Last::Put,
        |roots, path| nothing(roots.append(path, "+")),
        |_, path| nothing(opened(path, OpenOptions::new().append(true).create(true)).and_then(|mut file| file.write_all(b"+"))),
    ),
    changes(
        "set_len",
        Last::Follow,
        |roots, path| nothing(roots.set_len(path, 3)),
        |_, path| nothing(opened(path, OpenOptions::new().write(true)).and_then(|file| file.set_len(3))),
    ),
    changes(
        "create_new",
        Last::New,
        |roots, path| nothing(roots.create_new(path)),
        |_, path| nothing(opened(path, OpenOptions::new().write(true).create_new(true))),
    ),
    changes("create_dir", Last::New, |roots, path| nothing(roots.create_dir(path)), |_, path| nothing(fs::create_dir(path))),
    changes(
        "create_dir_all",
        Last::New,
        |roots, path| nothing(roots.create_dir_all(path)),
        |_, path| nothing(fs::create_dir_all(path)),
    ),
    changes("remove_file", Last::Keep, |roots, path| nothing(roots.remove_file(path)), |_, path| nothing(fs::remove_file(path))),
    changes("remove_dir", Last::Keep, |roots, path| nothing(roots.remove_dir(path)), |_, path| nothing(fs::remove_dir(path))),
    changes(
        "remove_dir_all",
        Last::Keep,
        |roots, path| nothing(roots.remove_dir_all(path)),
        |_, path| nothing(fs::remove_dir_all(path)),
    ),
    changes(
        "set_permissions",
        Last::Follow,
        |roots, path| nothing(roots.set_permissions(path, 0o750)),
        |_, path| nothing(fs::set_permissions(path, fs::Permissions::from_mode(0o750))),
    ),
    changes(
        "set_times",
        Last::Follow,
        |roots, path| {
            roots.set_times(path, None, Some(then())).map(|()| format!("{:?}", roots.metadata(path).unwrap().modified()))
        },
        |_, path| set_times(path).map(|()| format!("{:?}", fs::metadata(path).unwrap().modified().ok())),
    ),
    changes(
        "rename it",
        Last::Keep,
        |roots, path| nothing(roots.rename(path, "new")),
        |root, path| rename(path, &at(root, "new")),
    ),
    changes(
        "rename a file to it",
        Last::New,
        |roots, path| nothing(roots.rename("f", path)),
        |root, path| rename(&at(root, "f"), path),
    ),
    changes(
        "rename a directory to it",
        Last::New,
        |roots, path| nothing(roots.rename("full", path)),
        |root, path| rename(&at(root, "full"), path),
    ),
    changes(
        "rename_replace it",
        Last::Keep,
        |roots, path| nothing(roots.rename_replace(path, "new")),
        |root, path| nothing(fs::rename(path, at(root, "new"))),
    ),
    changes(
        "rename_replace a file by it",
        Last::Keep,
        |roots, path| nothing(roots.rename_replace(path, "f")),
        |root, path| nothing(fs::rename(path, at(root, "f"))),
    ),
    changes(
        "rename_replace a directory by it",
        Last::Keep,
        |roots, path| nothing(roots.rename_replace(path, "d")),
        |root, path| nothing(fs::rename(path, at(root, "d"))),
    ),
    changes(
        "rename_replace it by a file",
        Last::New,
        |roots, path| nothing(roots.rename_replace("f", path)),
        |root, path| nothing(fs::rename(at(root, "f"), path)),
    ),
    changes(
        "rename_replace it by a directory",
        Last::New,
        |roots, path| nothing(roots.rename_replace("full", path)),
        |root, path| nothing(fs::rename(at(root, "full"), path)),
    ),
    changes(
        "copy it",
        Last::Follow,
        |roots, path| nothing(roots.copy(path, "new")),
        |root, path| copy(root, path, &at(root, "new"), false),
    ),
    changes(
        "copy a file to it",
        Last::New,
        |roots, path| nothing(roots.copy("f", path)),
        |root, path| copy(root, &at(root, "f"), path, false),
    ),
    changes(
        "copy a directory to it",
        Last::New,
        |roots, path| nothing(roots.copy("full", path)),
        |root, path| copy(root, &at(root, "full"), path, false),
    ),
    changes(
        "copy_replace a file by it",
        Last::Follow,
        |roots, path| nothing(roots.copy_replace(path, "f")),
        |root, path| copy(root, path, &at(root, "f"), true),
    ),
    changes(
        "copy_replace it by a file",
        Last::Follow,
        |roots, path| nothing(roots.copy_replace("f", path)),
        |root, path| copy(root, &at(root, "f"), path, true),
    ),
    changes(
        "copy_replace it by a directory",
        Last::New,
        |roots, path| nothing(roots.copy_replace("full", path)),
        |root, path| copy(root, &at(root, "full"), path, true),
    ),
];

fn at(root: &str, name: &str) -> String {
    format!("{root}/{name}")
}

fn text(file: &mut impl Read) -> String {
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

/// Without waiting for the other end of a pipe.
fn opened(path: &str, options: &OpenOptions) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
    options.clone().custom_flags(flags).open(path)
}

fn read(path: &str) -> io::Result<String> {
    let mut text = String::new();
    opened(path, OpenOptions::new().read(true))?.read_to_string(&mut text).map(|_| text)
}

fn put(path: &str, text: &str) -> io::Result<()> {
    opened(path, OpenOptions::new().write(true).create(true).truncate(true))?.write_all(text.as_bytes())
}

fn set_times(path: &str) -> io::Result<()> {
    let then = rustix::fs::Timespec { tv_sec: 1_000_000, tv_nsec: 0 };
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let times = rustix::fs::Timestamps { last_access: now, last_modification: then };
    Ok(rustix::fs::utimensat(CWD, path, &times, rustix::fs::AtFlags::empty())?)
}

fn rename(from: &str, to: &str) -> io::Result<String> {
    Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map(|()| String::new())?)
}

/// A file, or a tree without its links and special files: no call of the system does it, so this is how it is put together from some. What is new
/// gets its name by a rename.
fn copy(root: &str, from: &str, to: &str, replace: bool) -> io::Result<String> {
    let made = format!("{root}-being-copied");
    if fs::metadata(from)?.is_dir() {
        in_the_way(to)?;
        plain_readable(from)?;
        let parent = fs::canonicalize(Path::new(to).parent().unwrap())?;
        if parent.starts_with(fs::canonicalize(from)?) {
            return Err(Errno::INVAL.into());
        }
        fs::create_dir(to)?;
        return copy_below(Path::new(from), Path::new(to)).map(|()| String::new());
    }
    let mut source = opened(from, OpenOptions::new().read(true))?;
    let mode = source.metadata()?.permissions();
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes)?;
    let existed = fs::exists(to).unwrap_or(false);
    if replace && !to.ends_with('/') {
        let mut target = opened(to, OpenOptions::new().write(true).create(true).truncate(true))?;
        target.write_all(&bytes)?;
        return if existed { Ok(String::new()) } else { nothing(target.set_permissions(mode)) };
    }
    fs::write(&made, bytes)?;
    fs::set_permissions(&made, mode)?;
    let outcome = if replace { nothing(fs::rename(&made, to)) } else { rename(&made, to) };
    if outcome.is_err() {
        fs::remove_file(made)?;
    }
    outcome
}

fn in_the_way(path: &str) -> io::Result<()> {
    match fs::symlink_metadata(path.trim_end_matches('/')) {
        Ok(_) => Err(Errno::EXIST.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn plain_readable(dir: &str) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            plain_readable(entry.path().to_str().unwrap())?;
        }
    }
    Ok(())
}

fn copy_below(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, into) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir(&into)?;
            copy_below(&entry.path(), &into)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &into)?;
        }
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

fn names(entries: cap_roots::ReadDir) -> Result<String, Error> {
    let names = entries.map(|entry| Ok(entry?.name().to_string_lossy().into_owned())).collect::<Result<Vec<_>, Error>>()?;
    Ok(sorted(names))
}

fn plain_names(path: &str) -> io::Result<String> {
    let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect::<io::Result<Vec<_>>>().map(sorted)
}

fn sorted(mut names: Vec<String>) -> String {
    names.sort();
    names.join(",")
}

fn walk(roots: &Roots, path: &str) -> Result<String, Error> {
    let mut names = Vec::new();
    for entry in roots.walk(path)? {
        match entry {
            Ok(entry) => names.push(format!("{} {}", entry.name().to_string_lossy(), kind(entry.file_type()))),
            Err(error) => names.push(error.code().to_owned()),
        }
    }
    Ok(sorted(names))
}

fn plain_walk(path: &str) -> io::Result<String> {
    let (mut names, mut left) = (Vec::new(), vec![fs::read_dir(path)?]);
    while let Some(entries) = left.pop() {
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            names.push(format!("{} {}", entry.file_name().to_string_lossy(), plain_kind(kind)));
            if kind.is_dir() {
                match fs::read_dir(entry.path()) {
                    Ok(below) => left.push(below),
                    Err(_) => names.push("os-denied".to_owned()),
                }
            }
        }
    }
    Ok(sorted(names))
}

fn kind(kind: FileType) -> &'static str {
    match kind {
        FileType::File => "file",
        FileType::Dir => "dir",
        FileType::Symlink => "link",
        _ => "special",
    }
}

fn plain_kind(kind: fs::FileType) -> &'static str {
    if kind.is_file() {
        "file"
    } else if kind.is_dir() {
        "dir"
    } else if kind.is_symlink() {
        "link"
    } else {
        "special"
    }
}
