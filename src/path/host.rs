//! Absolute paths of the host, as text to compare: roots' spellings, callers' absolute paths, absolute link targets.
//!
//! May touch: `style`, `relative`, the error details. No I/O; nothing here opens anything (TEXT-ROUTES-ONLY).

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::error::Detail;
use crate::path::relative::{RelPath, Step};
use crate::path::style::PathStyle;

/// Where an absolute path starts.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Anchor {
    /// `/`.
    Slash,
    /// `C:\`, the letter in upper case.
    Drive(char),
    /// `\\server\share`, both folded to lower case.
    Share(String, String),
}

/// An absolute path: an anchor and the names behind it. No `Debug`: it is a host path.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct HostPath {
    anchor: Anchor,
    rest: RelPath,
    style: PathStyle,
}

impl HostPath {
    /// Reads `text` if it is absolute by the rules of `style`; `None` if it is relative.
    pub(crate) fn parse(text: &str, style: PathStyle) -> Result<Option<Self>, Detail> {
        let Some((anchor, rest)) = split_anchor(text, style)? else { return Ok(None) };
        Ok(Some(Self { anchor, rest: RelPath::parse(rest, style)?, style }))
    }

    /// Reads an absolute path that the operator's system gave, or a link's target; `None` if it is relative or has no form of ours.
    pub(crate) fn from_disk(path: &Path) -> Option<Self> {
        let style = PathStyle::host();
        if style == PathStyle::Unix {
            return path.has_root().then(|| Self { anchor: Anchor::Slash, rest: RelPath::from_disk(path), style });
        }
        let text = path.to_str()?;
        Self::parse(&of_verbatim(text), style).ok().flatten()
    }

    /// The absolute path of names that a URI spelled: behind `/`, or behind a drive.
    pub(crate) fn of(drive: Option<char>, rest: RelPath, style: PathStyle) -> Self {
        let anchor = drive.map_or(Anchor::Slash, |letter| Anchor::Drive(letter.to_ascii_uppercase()));
        Self { anchor, rest, style }
    }

    /// Where it starts, as it is written.
    pub(crate) fn anchor_text(&self) -> String {
        match &self.anchor {
            Anchor::Slash => "/".to_owned(),
            Anchor::Drive(letter) => format!("{letter}:\\"),
            Anchor::Share(server, share) => format!("\\\\{server}\\{share}\\"),
        }
    }

    pub(crate) fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// The names behind the start.
    pub(crate) fn names(&self) -> &RelPath {
        &self.rest
    }

    /// For opening it where the operator said that it is authority.
    pub(crate) fn to_path_buf(&self) -> PathBuf {
        let mut path = PathBuf::from(self.anchor_text());
        path.extend(self.rest.steps().map(|step| match step {
            Step::Name(name) => name,
            Step::Parent => OsStr::new(".."),
        }));
        path
    }

    /// If `self` is `prefix` or lies below it by text, the names behind `prefix`.
    pub(crate) fn below(&self, prefix: &HostPath) -> Option<RelPath> {
        self.below_by(prefix, PathStyle::same_os_name)
    }

    /// As [`HostPath::below`], where names in another Unicode form count as one.
    pub(crate) fn like_below(&self, prefix: &HostPath) -> Option<RelPath> {
        self.below_by(prefix, PathStyle::like_os_name)
    }

    fn below_by(&self, prefix: &HostPath, one: fn(PathStyle, &OsStr, &OsStr) -> bool) -> Option<RelPath> {
        let same_anchor = self.anchor == prefix.anchor;
        same_anchor.then(|| self.rest.below_by(&prefix.rest, |own, other| one(self.style, own, other))).flatten()
    }

    /// This path, then `rest`.
    pub(crate) fn join(&self, rest: &RelPath) -> Self {
        Self { anchor: self.anchor.clone(), rest: self.rest.join(rest), style: self.style }
    }

    pub(crate) fn depth(&self) -> usize {
        self.rest.depth()
    }
}

/// A verbatim Windows path (`\\?\C:\x`, `\\?\UNC\server\share\x`) as it is otherwise written.
fn of_verbatim(text: &str) -> Cow<'_, str> {
    match text.strip_prefix(r"\\?\") {
        None => Cow::Borrowed(text),
        Some(rest) => match rest.strip_prefix(r"UNC\") {
            None => Cow::Borrowed(rest),
            Some(share) => Cow::Owned(format!(r"\\{share}")),
        },
    }
}

/// The anchor of an absolute text and what follows it; `None` for a relative text.
fn split_anchor(text: &str, style: PathStyle) -> Result<Option<(Anchor, &str)>, Detail> {
    if style == PathStyle::Unix {
        return Ok(text.strip_prefix('/').map(|rest| (Anchor::Slash, rest)));
    }
    let mut chars = text.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some(a), Some(b), c) if style.is_separator(a) && style.is_separator(b) => {
            if matches!(c, Some('?' | '.')) {
                return Err(Detail::DeviceNamespace);
            }
            let mut pieces = chars.as_str().splitn(3, |c| style.is_separator(c));
            // The third character was taken off above, and belongs to the server's name.
            let server = format!("{}{}", c.map(String::from).unwrap_or_default(), pieces.next().unwrap_or_default());
            let (share, rest) = (pieces.next().unwrap_or_default(), pieces.next().unwrap_or_default());
            if server.is_empty() || share.is_empty() || c.is_some_and(|c| style.is_separator(c)) {
                return Err(Detail::WindowsName);
            }
            // `..` as a share, which ends in a dot, would be cleaned away by the system: what follows would be another share.
            style.check_name(&server)?;
            style.check_name(share)?;
            Ok(Some((Anchor::Share(server.to_lowercase(), share.to_lowercase()), rest)))
        }
        (Some(letter), Some(':'), separator) if letter.is_ascii_alphabetic() => match separator {
            Some(c) if style.is_separator(c) => Ok(Some((Anchor::Drive(letter.to_ascii_uppercase()), chars.as_str()))),
            // `C:` and `C:x` mean the current directory of that drive: nobody's intention, and not ours to know.
            _ => Err(Detail::NotAbsolute),
        },
        (Some(first), Some('?'), Some('?')) if style.is_separator(first) => Err(Detail::DeviceNamespace),
        (Some(first), _, _) if style.is_separator(first) => Err(Detail::NotAbsolute),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str, style: PathStyle) -> HostPath {
        HostPath::parse(text, style).ok().flatten().unwrap()
    }

    fn below(text: &str, prefix: &str, style: PathStyle) -> Option<String> {
        path(text, style).below(&path(prefix, style)).map(|rest| rest.as_os_str().to_str().unwrap().to_owned())
    }

    #[test]
    fn prefixes_are_compared_by_name() {
        let unix = PathStyle::Unix;
        assert_eq!(below("/srv/ws/a", "/srv/ws", unix).as_deref(), Some("a"));
        assert_eq!(below("/srv/ws", "/srv/ws/", unix).as_deref(), Some("."));
        assert_eq!(below("/srv//./ws/a", "/srv/ws", unix).as_deref(), Some("a"));
        assert_eq!(below("/a", "/", unix).as_deref(), Some("a"));
        assert_eq!(below("/srv/ws-old/a", "/srv/ws", unix), None);
        assert_eq!(below("/srv", "/srv/ws", unix), None);
        assert_eq!(below("/srv/x/../ws/a", "/srv/ws", unix), None);
        assert_eq!(below("/srv/ws/../out", "/srv/ws", unix).as_deref(), Some("../out"));
    }

    #[test]
    fn drives_and_shares_fold_case() {
        let windows = PathStyle::Windows;
        assert_eq!(below(r"c:\Demo\ws\a", r"C:\demo", windows).as_deref(), Some("ws/a"));
        assert_eq!(below("C:/demo/a", r"c:\demo", windows).as_deref(), Some("a"));
        assert_eq!(below(r"Z:\", r"Z:\", windows).as_deref(), Some("."));
        assert_eq!(below(r"\\Host\Share\d\x", r"\\host\share\d", windows).as_deref(), Some("x"));
        assert_eq!(below(r"\\host\share2\x", r"\\host\share", windows), None);
        assert_eq!(below(r"D:\demo\a", r"C:\demo", windows), None);
    }

    #[test]
    fn half_absolute_and_device_texts_are_refused() {
        for text in [
            "C:",
            "C:a",
            r"\a",
            "/a",
            r"\\?\C:\a",
            r"\\.\pipe\x",
            r"\??\C:\a",
            r"\\",
            r"\\host",
            r"\\\host\share",
            r"\\host\..\x",
            r"\\host\.\x",
            r"\\host\a:b",
            r"\\ho*st\share",
            r"\\host\share.\x",
        ] {
            assert!(HostPath::parse(text, PathStyle::Windows).is_err(), "{text}");
        }
        assert!(matches!(HostPath::parse("a/b", PathStyle::Windows), Ok(None)));
        assert!(matches!(HostPath::parse(r"C:\a", PathStyle::Unix), Ok(None)));
        assert!(matches!(HostPath::parse(r"1:\a", PathStyle::Windows), Ok(None)), "no drive, and no name either");
    }

    /// Catches: the system's own form of a share that is no path of any root, and callers that are let in by such a form.
    #[test]
    fn verbatim_paths_of_the_system_are_the_plain_ones() {
        for (verbatim, plain) in [
            (r"\\?\C:\a\b", r"C:\a\b"),
            (r"\\?\UNC\server\share\d", r"\\server\share\d"),
            (r"C:\a", r"C:\a"),
            (r"\\s\t", r"\\s\t"),
        ] {
            assert_eq!(of_verbatim(verbatim), plain);
            assert!(verbatim == plain || HostPath::parse(verbatim, PathStyle::Windows).is_err());
        }
    }

    /// Catches: names from the disk that are read as text of ours, and a form that is not seen through.
    #[cfg(unix)]
    #[test]
    fn what_the_disk_gives_is_taken_as_it_is() {
        use std::os::unix::ffi::OsStrExt;
        let (top, odd) = (path("/w", PathStyle::Unix), Path::new(OsStr::from_bytes(b"/w/\xff/..")));
        let below = HostPath::from_disk(odd).and_then(|odd| odd.below(&top)).unwrap();
        assert_eq!((below.as_os_str().as_bytes(), below.is_typed()), (&b"\xff/.."[..], false));
        assert!(
            HostPath::from_disk(&Path::new("/w").join("n".repeat(5000))).is_some()
                && HostPath::from_disk(Path::new("w")).is_none()
        );
        let (composed, other) = (path("/w/caf\u{e9}/x", PathStyle::Unix), path("/w/cafe\u{301}", PathStyle::Unix));
        assert!(composed.below(&other).is_none());
        assert_eq!(composed.like_below(&other).unwrap().as_os_str(), "x");
        assert!(composed.like_below(&path("/w/cafe", PathStyle::Unix)).is_none());
    }
}
