//! What is really there, read without the crate: by held directories, one name at a time, following nothing.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use cap_roots::Access;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, SeekFrom, fstat, openat, readlinkat, seek, statat, unlinkat};

use super::rules::{self, Rule};

const DIR: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Non-blocking, so that a pipe in a file's place does not wait for its other end.
const FILE: OFlags = OFlags::NONBLOCK.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Every name below `base` in the form of `World::lines`.
pub fn lines(base: &Path) -> io::Result<Vec<String>> {
    Ok(Picture::of(base)?.lines())
}

/// Everything below a directory: in the order of names, each directory before what is in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Picture {
    seen: Vec<(String, Object)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Object {
    Dir(u32),
    File(u64, Kept),
    Link(String),
    Special,
}

/// What a file was when it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    text: String,
    mode: u32,
    modified: (i64, i64),
}

impl Picture {
    pub fn of(base: &Path) -> io::Result<Self> {
        let mut picture = Self::default();
        picture.visit(openat(CWD, base, DIR, Mode::empty())?.as_fd(), "", false)?;
        Ok(picture)
    }

    /// What is below `name` in a directory, and `name` itself; all of it is gone afterwards.
    pub(crate) fn taken_down(from: BorrowedFd<'_>, name: &str) -> io::Result<Self> {
        let dir = openat(from, name, DIR, Mode::empty())?;
        let mut picture = Self { seen: vec![(name.to_owned(), Object::Dir(fstat(&dir)?.st_mode))] };
        picture.visit(dir.as_fd(), &format!("{name}/"), true)?;
        unlinkat(from, name, AtFlags::REMOVEDIR)?;
        Ok(picture)
    }

    fn visit(&mut self, dir: BorrowedFd<'_>, prefix: &str, removes: bool) -> io::Result<()> {
        let mut entries = entries(dir)?;
        entries.sort();
        for (name, kind) in entries {
            let path = format!("{prefix}{}", name.to_string_lossy());
            let mut flags = AtFlags::empty();
            match kind {
                Kind::Dir => {
                    let inner = openat(dir, &name, DIR, Mode::empty())?;
                    let below = format!("{path}/");
                    self.seen.push((path, Object::Dir(fstat(&inner)?.st_mode)));
                    self.visit(inner.as_fd(), &below, removes)?;
                    flags = AtFlags::REMOVEDIR;
                }
                Kind::File => {
                    let (inode, kept) = file(dir, &name)?;
                    self.seen.push((path, Object::File(inode, kept)));
                }
                Kind::Link => {
                    let text = readlinkat(dir, &name, Vec::new())?.to_string_lossy().into_owned();
                    self.seen.push((path, Object::Link(text)));
                }
                Kind::Special => self.seen.push((path, Object::Special)),
            }
            if removes {
                unlinkat(dir, &name, flags)?;
            }
        }
        Ok(())
    }

    /// In the form of `World::lines`.
    pub fn lines(&self) -> Vec<String> {
        let mut first: BTreeMap<u64, &str> = BTreeMap::new();
        let line = |(path, object): &'_ (String, Object), same: &str| match object {
            Object::Dir(_) => format!("dir {path}"),
            Object::File(_, Kept { text, .. }) => format!("file {path} (as {same}) = {text}"),
            Object::Link(text) => format!("link {path} -> {text}"),
            Object::Special => format!("special {path}"),
        };
        let mut lines = Vec::with_capacity(self.seen.len());
        for entry in &self.seen {
            let same = if let Object::File(inode, _) = entry.1 { *first.entry(inode).or_insert(&entry.0) } else { "" };
            lines.push(line(entry, same));
        }
        lines
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.seen.iter().map(|(path, _)| path.as_str())
    }

    /// The same with modes, and without what no two trees share: `base` in the texts of links.
    pub(crate) fn with_modes(&self, base: &str) -> Vec<String> {
        let mode = |(_, object): &(String, Object)| match object {
            Object::Dir(mode) | Object::File(_, Kept { mode, .. }) => *mode,
            Object::Link(_) | Object::Special => 0,
        };
        let both = self.lines().into_iter().zip(self.seen.iter().map(mode));
        both.map(|(line, mode)| format!("{mode:o} {}", line.replace(base, "$BASE"))).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Dir,
    File,
    Link,
    Special,
}

fn entries(dir: BorrowedFd<'_>) -> io::Result<Vec<(CString, Kind)>> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = Vec::new();
    let mut reader = RawDir::new(dir, &mut buffer);
    while let Some(entry) = reader.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Not every file system tells it with the name.
            FileType::Unknown => FileType::from_raw_mode(statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode),
            kind => kind,
        };
        let kind = match kind {
            FileType::Directory => Kind::Dir,
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Link,
            _ => Kind::Special,
        };
        entries.push((name.to_owned(), kind));
    }
    Ok(entries)
}

/// The names in a directory that is held, and may have been read before.
pub(crate) fn names(dir: BorrowedFd<'_>) -> io::Result<Vec<String>> {
    seek(dir, SeekFrom::Start(0))?;
    Ok(entries(dir)?.into_iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect())
}

fn file(dir: BorrowedFd<'_>, name: impl rustix::path::Arg) -> io::Result<(u64, Kept)> {
    let mut file = File::from(openat(dir, name, FILE, Mode::empty())?);
    let stat = fstat(&file)?;
    let mut bytes = vec![0; usize::try_from(stat.st_size).unwrap_or(0)];
    file.read_exact(&mut bytes)?;
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let modified = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(-1));
    Ok((stat.st_ino, Kept { text, mode: stat.st_mode, modified }))
}

/// NO-LAUNDERING, without the model: files that rules keep from being written stay what they are, under a name that the rules leave as
/// little of.
#[derive(Debug)]
pub struct Watch {
    rules: Vec<Rule>,
    kept: BTreeMap<u64, (String, Access, Kept)>,
}

impl Watch {
    pub fn new(base: &Path, rules: Vec<Rule>) -> io::Result<Self> {
        let mut watch = Self::nothing(rules);
        watch.look(base)?;
        Ok(watch)
    }

    pub(crate) fn nothing(rules: Vec<Rule>) -> Self {
        Self { rules, kept: BTreeMap::new() }
    }

    /// Takes in what the other side has made.
    pub fn look(&mut self, base: &Path) -> io::Result<()> {
        for (inode, (path, access, kept)) in self.found(&Picture::of(base)?) {
            if access < Access::Write {
                self.kept.entry(inode).or_insert_with(|| (path.to_owned(), access, kept.clone()));
            }
        }
        Ok(())
    }

    /// The same of a line that was made just now: nothing else has changed, and what was there is known.
    pub(crate) fn look_at(&mut self, base: BorrowedFd<'_>, line: &str) -> io::Result<()> {
        let (path, _) = match line.split_once(' ') {
            Some(("file", rest)) => rest.split_once('=').unwrap_or((rest, "")),
            Some(("hard", rest)) => rest.split_once(" = ").unwrap_or((rest, "")),
            _ => return Ok(()),
        };
        if self.rules.is_empty() || path.starts_with("../") {
            return Ok(());
        }
        let path = format!("ROOT/{path}");
        let access = self.access(&path);
        if access < Access::Write {
            let (inode, kept) = file(base, &path)?;
            let entry = self.kept.entry(inode).or_insert_with(|| (path.clone(), access, kept));
            // Of two names the one counts that rules leave less of.
            if access < entry.1 {
                (entry.0, entry.1) = (path, access);
            }
        }
        Ok(())
    }

    /// Panics if one of them has changed.
    pub fn check(&self, base: &Path) -> io::Result<()> {
        self.compare(&Picture::of(base)?).map_err(|changed| panic!("{changed}"))
    }

    /// `Err`: what has changed.
    pub(crate) fn compare(&self, picture: &Picture) -> Result<(), String> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let found = self.found(picture);
        for (inode, (path, access, kept)) in &self.kept {
            let Some((_, now, is)) = found.get(inode) else { return Err(format!("{path} is gone, where rules leave {access}")) };
            if *is != kept {
                return Err(format!("{path} has changed, where rules leave {access}: {kept:?}, and now {is:?}"));
            }
            if now > access {
                return Err(format!("{path} had {access} by the rules, and has {now}"));
            }
        }
        Ok(())
    }

    fn access(&self, path: &str) -> Access {
        rules::ceiling(&self.rules, &path.split('/').collect::<Vec<_>>(), false)
    }

    /// Each file below the roots by its inode, with the least that rules leave of one of its names.
    fn found<'a>(&self, picture: &'a Picture) -> BTreeMap<u64, (&'a str, Access, &'a Kept)> {
        let mut found: BTreeMap<u64, (&str, Access, &Kept)> = BTreeMap::new();
        for (path, object) in &picture.seen {
            let Object::File(inode, kept) = object else { continue };
            if !path.starts_with("ROOT/") {
                continue;
            }
            let access = self.access(path);
            let entry = found.entry(*inode).or_insert((path, access, kept));
            if access < entry.1 {
                (entry.0, entry.1) = (path, access);
            }
        }
        found
    }
}
