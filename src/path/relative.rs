//! The names below a root: what every resolution works on.
//!
//! May touch: `style`, the error details. No I/O.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};

use crate::error::Detail;
use crate::path::style::PathStyle;
use crate::path::{DEPTH_LIMIT, NAME_LIMIT, PATH_LIMIT};

/// One step of a resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// `..`, to be taken from where the walk then stands; it is never cleaned away by text.
    Parent,
    /// One name: not empty, no separator, no NUL, neither `.` nor `..`.
    Name(&'a OsStr),
}

/// Steps in order, without `.` and without empty ones, and whether the result has to be a directory (a slash or a dot at the end).
/// The slash itself is not kept: a slash behind a link's name is what GHSA-hp8f-xmx4-4qrg was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RelPath {
    /// The steps, joined by `/`.
    joined: OsString,
    depth: usize,
    must_be_dir: bool,
    /// `..` is among them.
    has_parent: bool,
    /// Typed by a caller, who may use another Unicode form than the disk.
    typed: bool,
}

impl RelPath {
    /// Reads text that a caller typed, by the rules of `style`.
    pub(crate) fn parse(text: &str, style: PathStyle) -> Result<Self, Detail> {
        if text.len() > PATH_LIMIT {
            return Err(Detail::PathTooLong { limit: PATH_LIMIT });
        }
        if style == PathStyle::Unix
            && let Some(depth) = plain_names(text)
        {
            return Self { joined: text.into(), depth, ..Self::typed() }.checked_depth();
        }
        let mut path = Self { joined: OsString::with_capacity(text.len()), ..Self::typed() };
        for piece in text.split(|c| style.is_separator(c)) {
            match piece {
                "" | "." => path.push_dot(),
                ".." => path.push_parent(),
                name => {
                    style.check_name(name)?;
                    path.push_name(OsStr::new(name));
                }
            }
        }
        path.checked_depth()
    }

    /// The start of a path that a caller typed.
    pub(crate) fn typed() -> Self {
        Self { typed: true, ..Self::default() }
    }

    /// `self`, unless it is too deep to be asked for.
    pub(crate) fn checked_depth(self) -> Result<Self, Detail> {
        if self.depth > DEPTH_LIMIT { Err(Detail::TooDeep { limit: DEPTH_LIMIT }) } else { Ok(self) }
    }

    /// Reads text that the file system gave: a link's target, or part of the operator's path. Bytes are kept as they are, and the
    /// system's own limits are the limits.
    pub(crate) fn from_disk(text: &Path) -> Self {
        let mut path = Self::default();
        for component in text.components() {
            match component {
                Component::ParentDir => path.push_parent(),
                Component::Normal(name) => path.push_name(name),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        let bytes = text.as_os_str().as_encoded_bytes();
        let slash = |bytes: &[u8]| bytes.last().is_some_and(|last| std::path::is_separator(char::from(*last)));
        path.must_be_dir |= path.joined.is_empty() || slash(bytes) || bytes.strip_suffix(b".").is_some_and(slash);
        path
    }

    /// Reads the text of a link that is relative. `None`: on Windows, one that names a drive, a stream or a device.
    pub(crate) fn of_link(text: &Path, style: PathStyle) -> Option<Self> {
        let is_name = |component| match component {
            Component::Prefix(_) | Component::RootDir => false,
            Component::CurDir | Component::ParentDir => true,
            Component::Normal(name) => style.check_os_name(name).is_ok(),
        };
        text.components().all(is_name).then(|| Self::from_disk(text))
    }

    /// One name from a listing.
    pub(crate) fn single(name: &OsStr) -> Self {
        Self { joined: name.to_owned(), depth: 1, ..Self::default() }
    }

    pub(crate) fn push_name(&mut self, name: &OsStr) {
        self.push(name);
        self.must_be_dir = false;
    }

    pub(crate) fn push_parent(&mut self) {
        self.push(OsStr::new(".."));
        self.must_be_dir = true;
        self.has_parent = true;
    }

    /// `.` or an empty piece: it only says that what stands before it is a directory.
    pub(crate) fn push_dot(&mut self) {
        self.must_be_dir = true;
    }

    fn push(&mut self, piece: &OsStr) {
        if !self.joined.is_empty() {
            self.joined.push("/");
        }
        self.joined.push(piece);
        self.depth += 1;
    }

    fn push_step(&mut self, step: Step<'_>) {
        match step {
            Step::Parent => self.push_parent(),
            Step::Name(name) => self.push_name(name),
        }
    }

    /// `self`, then `rest` from there.
    pub(crate) fn join(&self, rest: &RelPath) -> RelPath {
        let mut path = Self { typed: rest.typed, ..self.clone() };
        rest.steps().for_each(|step| path.push_step(step));
        path.must_be_dir |= rest.must_be_dir;
        path
    }

    /// What is left behind the first `count` steps.
    pub(crate) fn skip(&self, count: usize) -> RelPath {
        let mut path = Self { typed: self.typed, ..Self::default() };
        self.steps().skip(count).for_each(|step| path.push_step(step));
        path.must_be_dir |= self.must_be_dir || path.is_empty();
        path
    }

    /// The path of the directory and the last name in it; `None` where the path ends with `..` or is empty, and so names no entry.
    pub(crate) fn split_last(&self) -> Option<(RelPath, &OsStr)> {
        let Some(Step::Name(name)) = self.steps().next_back() else { return None };
        let mut parent = Self { typed: self.typed, ..Self::default() };
        self.steps().take(self.depth - 1).for_each(|step| parent.push_step(step));
        parent.must_be_dir = true;
        Some((parent, name))
    }

    /// The same path, whatever kind of thing it names.
    pub(crate) fn of_any_kind(&self) -> RelPath {
        Self { must_be_dir: self.joined.is_empty() || self.has_parent_at_end(), ..self.clone() }
    }

    fn has_parent_at_end(&self) -> bool {
        self.steps().next_back() == Some(Step::Parent)
    }

    /// If the names of `prefix` come first in `self`, to the byte, the rest.
    pub(crate) fn below(&self, prefix: &RelPath) -> Option<RelPath> {
        self.below_by(prefix, |own, other| own == other)
    }

    /// The same, where `one` tells which names are one.
    pub(crate) fn below_by(&self, prefix: &RelPath, one: impl Fn(&OsStr, &OsStr) -> bool) -> Option<RelPath> {
        let same = |(own, other): (Step<'_>, Step<'_>)| match (own, other) {
            (Step::Name(own), Step::Name(other)) => one(own, other),
            // `..` in either: what it leads to is not known here, so the texts do not match.
            (Step::Parent, _) | (_, Step::Parent) => false,
        };
        let starts = self.depth >= prefix.depth && self.steps().zip(prefix.steps()).all(same);
        starts.then(|| self.skip(prefix.depth))
    }

    /// The same path with `name` as its last name, spelled as the disk has it.
    pub(crate) fn renamed_last(&self, name: &OsStr) -> RelPath {
        let (mut path, _) = self.split_last().unwrap_or_default();
        path.push_name(name);
        Self { must_be_dir: self.must_be_dir, typed: false, ..path }
    }

    /// The steps.
    #[cfg(unix)]
    pub(crate) fn steps(&self) -> impl DoubleEndedIterator<Item = Step<'_>> {
        use std::os::unix::ffi::OsStrExt;
        // The empty path is split into one empty piece.
        let pieces = self.joined.as_bytes().split(|byte| *byte == b'/').filter(|piece| !piece.is_empty());
        pieces.map(|piece| if piece == b".." { Step::Parent } else { Step::Name(OsStr::from_bytes(piece)) })
    }

    /// The steps. They are `Normal` and `ParentDir` only, since the text is made of nothing else.
    #[cfg(not(unix))]
    pub(crate) fn steps(&self) -> impl DoubleEndedIterator<Item = Step<'_>> {
        Path::new(&self.joined).components().map(|component| match component {
            Component::ParentDir => Step::Parent,
            other => Step::Name(other.as_os_str()),
        })
    }

    /// The text for a system call: the steps joined by `/`, `.` for the root itself, never with a slash at the end.
    pub(crate) fn as_os_str(&self) -> &OsStr {
        if self.joined.is_empty() { OsStr::new(".") } else { &self.joined }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.joined.is_empty()
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn must_be_dir(&self) -> bool {
        self.must_be_dir
    }

    /// Whether `..` is among the steps.
    pub(crate) fn has_parent(&self) -> bool {
        self.has_parent
    }

    /// Whether a name on disk in another Unicode form could be meant by one of its names.
    #[cfg_attr(any(not(target_os = "linux"), cap_roots_portable), allow(dead_code, reason = "asked by the fast way"))]
    pub(crate) fn may_fold(&self) -> bool {
        self.typed && may_fold(&self.joined)
    }

    /// Whether a caller typed it.
    pub(crate) fn is_typed(&self) -> bool {
        self.typed
    }

    /// Whether `..` takes it more than `depth` directories above its start at some point, were all names plain directories. A
    /// statement about text: for routing and for showing link texts, never for opening.
    pub(crate) fn climbs_above(&self, depth: usize) -> bool {
        if !self.has_parent {
            return false;
        }
        let mut depth = depth;
        for step in self.steps() {
            depth = match (step, depth) {
                (Step::Name(_), depth) => depth + 1,
                (Step::Parent, 0) => return true,
                (Step::Parent, depth) => depth - 1,
            };
        }
        false
    }
}

/// How many names a Unix path has that is made of nothing else: no dots, no slash too many, no name that is too long. Most are, and are taken
/// as they are.
fn plain_names(text: &str) -> Option<usize> {
    let mut count = 0;
    for piece in text.as_bytes().split(|byte| *byte == b'/') {
        if matches!(piece, b"" | b"." | b"..") || piece.len() > NAME_LIMIT {
            return None;
        }
        count += 1;
    }
    Some(count)
}

/// Whether a text has a character that other texts may stand for: only those that are not ASCII, and spaces.
pub(crate) fn may_fold(text: &OsStr) -> bool {
    text.as_encoded_bytes().iter().any(|byte| *byte == b' ' || !byte.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: on Windows, a link's text that names a stream, a device, or a place on a drive, taken for names below the root.
    #[test]
    fn a_link_names_what_a_caller_could() {
        let read = |text: &str, style| RelPath::of_link(Path::new(text), style).map(|path| path.as_os_str().to_owned());
        for text in ["a/NUL", "f:stream", "f::$DATA", "a./b", "b /c", "../con.txt"] {
            assert_eq!(read(text, PathStyle::Windows), None, "{text}");
            assert_eq!(read(text, PathStyle::Unix).is_some(), cfg!(unix) || !text.contains(':'), "{text}");
        }
        assert_eq!(read("../a/./b", PathStyle::Windows).unwrap(), "../a/b");
        #[cfg(windows)]
        for text in ["C:a", "C:", r"\a", r"C:\a", r"\\server\share"] {
            assert_eq!(read(text, PathStyle::Windows), None, "{text}");
        }
    }

    fn parse(text: &str) -> RelPath {
        RelPath::parse(text, PathStyle::Unix).unwrap()
    }

    #[test]
    fn dots_and_slashes_become_a_flag() {
        for (text, joined, dir) in [
            ("a/b", "a/b", false),
            ("./a//b", "a/b", false),
            ("a/", "a", true),
            ("a/.", "a", true),
            ("a/./", "a", true),
            (".", ".", true),
            ("./", ".", true),
            ("a/..", "a/..", true),
            ("a/../b", "a/../b", false),
        ] {
            let path = parse(text);
            assert_eq!((path.as_os_str(), path.must_be_dir()), (OsStr::new(joined), dir), "{text}");
        }
    }

    #[test]
    fn dot_dot_is_never_cleaned() {
        assert_eq!(parse("a/../../b").steps().count(), 4);
        assert!(parse("a/../../b").climbs_above(0));
        assert!(!parse("a/../../b").climbs_above(1));
        assert!(!parse("a/../b").climbs_above(0));
    }

    #[test]
    fn limits_are_ours() {
        assert_eq!(RelPath::parse(&"./".repeat(2048), PathStyle::Unix), Err(Detail::PathTooLong { limit: PATH_LIMIT }));
        assert_eq!(RelPath::parse(&"a/".repeat(257), PathStyle::Unix), Err(Detail::TooDeep { limit: DEPTH_LIMIT }));
        assert!(RelPath::parse(&"a/".repeat(256), PathStyle::Unix).is_ok());
    }

    #[test]
    fn windows_text_has_two_separators() {
        let path = RelPath::parse(r"a\b/..\c\", PathStyle::Windows).unwrap();
        assert_eq!((path.as_os_str(), path.must_be_dir()), (OsStr::new("a/b/../c"), true));
        assert_eq!(parse(r"a\b").depth(), 1);
    }

    /// Catches: memory that grows piece by piece with a text of a caller.
    #[test]
    fn memory_is_asked_for_once() {
        let text = "./".repeat(500);
        assert!(parse(&text).joined.capacity() >= text.len());
    }

    #[test]
    fn link_texts_keep_their_end() {
        for (text, dir) in [("a", false), ("a/", true), ("a/.", true), (".", true), ("..", true), ("../a", false)] {
            assert_eq!(RelPath::from_disk(Path::new(text)).must_be_dir(), dir, "{text}");
        }
    }

    #[test]
    fn the_last_name_is_split_off_where_there_is_one() {
        let split = |text| parse(text).split_last().map(|(parent, name)| (parent.as_os_str().to_owned(), name.to_owned()));
        for (text, parent, name) in [("a/b/c/", "a/b", "c"), ("a", ".", "a"), ("../a", "..", "a")] {
            assert_eq!(split(text), Some((parent.into(), name.into())), "{text}");
        }
        for text in [".", "..", "a/..", "a/../"] {
            assert_eq!(split(text), None, "{text}");
        }
    }

    /// Catches: a name from the disk that may be meant in another Unicode form, or a typed one that may not.
    #[test]
    fn what_was_typed_stays_so_until_the_disk_names_it() {
        let (typed, disk) = (parse("a/caf\u{e9}"), RelPath::from_disk(Path::new("a/caf\u{e9}")));
        assert!(typed.is_typed() && typed.skip(1).is_typed() && typed.split_last().unwrap().0.is_typed());
        assert!(!disk.is_typed() && !disk.skip(1).is_typed() && !RelPath::single(OsStr::new("a")).is_typed());
        assert!(disk.join(&typed).is_typed() && !typed.join(&disk).is_typed());
        let renamed = typed.renamed_last(OsStr::new("b"));
        assert_eq!((renamed.as_os_str(), renamed.is_typed()), (OsStr::new("a/b"), false));
        assert!(typed.may_fold() && parse("a b/c").may_fold() && !parse("a/b").may_fold() && !disk.may_fold());
        assert_eq!((RelPath::single(OsStr::new("a")).depth(), disk.depth()), (1, 2));
    }

    #[test]
    fn the_kind_is_forgotten_where_the_text_leaves_it_open() {
        for (text, dir) in [("a", false), ("a/", false), ("a/b/.", false), ("a/..", true), ("a/../", true), (".", true)] {
            let path = parse(text).of_any_kind();
            assert_eq!((path.as_os_str(), path.must_be_dir()), (parse(text).as_os_str(), dir), "{text}");
        }
    }

    #[test]
    fn skip_and_join_are_inverse() {
        let path = parse("a/b/../c");
        for cut in 0..=4 {
            let mut head = RelPath::default();
            path.steps().take(cut).for_each(|step| head.push_step(step));
            assert_eq!(head.join(&path.skip(cut)).as_os_str(), path.as_os_str());
        }
    }
}
