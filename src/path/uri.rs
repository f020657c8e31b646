//! `root://NAME/relative`, read and written.
//!
//! May touch: `style`, `relative`, the error details. No I/O.
//!
//! Syntax after RFC 3986: the text is split before it is decoded, and decoded once. `..` as a segment of its own is a step to be
//! taken, as in a plain path; encoded, or born of decoding, it is refused.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use crate::error::Detail;
use crate::path::PATH_LIMIT;
use crate::path::relative::{RelPath, Step};
use crate::path::style::PathStyle;

const SCHEME: &str = "root://";
const ROOT_NAME_LIMIT: usize = 64;

/// A root's name: 1 to 64 of `a-z 0-9 . _ -`, not dots alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RootName(String);

impl RootName {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let good = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
        ((1..=ROOT_NAME_LIMIT).contains(&text.len()) && text.bytes().all(good) && text.bytes().any(|byte| byte != b'.'))
            .then(|| Self(text.to_owned()))
    }

    /// A name for a directory whose last component is `last`: lower case, other characters as `-`.
    pub(crate) fn from_directory(last: &str) -> Self {
        let text: String = last
            .to_lowercase()
            .chars()
            .map(|c| if matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-') { c } else { '-' })
            .take(ROOT_NAME_LIMIT - 12)
            .collect();
        let plain = text.chars().all(|c| matches!(c, '.' | '-'));
        if plain { Self("root".to_owned()) } else { Self(text) }
    }

    /// The same name for the `count`th root that would have it.
    pub(crate) fn numbered(&self, count: usize) -> Self {
        Self(format!("{}-{count}", self.0))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether `text` is meant as a `root://` URI.
pub(crate) fn is_root_uri(text: &str) -> bool {
    has_scheme(text, SCHEME)
}

/// Schemes are compared without case (RFC 3986 section 3.1).
pub(crate) fn has_scheme(text: &str, scheme: &str) -> bool {
    text.as_bytes().get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
}

/// Reads `root://NAME/relative`.
pub(crate) fn parse(text: &str, style: PathStyle) -> Result<(RootName, RelPath), Detail> {
    let Some(rest) = text.get(SCHEME.len()..).filter(|_| is_root_uri(text)) else { return Err(Detail::UriName) };
    if rest.len() > PATH_LIMIT * 3 {
        return Err(Detail::PathTooLong { limit: PATH_LIMIT });
    }
    if rest.contains(|c: char| c.is_control() || matches!(c, '?' | '#' | '\\')) {
        return Err(Detail::UriCharacter);
    }
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let name = RootName::parse(name).ok_or(Detail::UriName)?;
    let mut relative = RelPath::typed();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            // One slash at the end says that it is a directory; any other empty segment is a mistake or a trick.
            "" if segments.peek().is_none() => relative.push_dot(),
            "" => return Err(Detail::UriSegment),
            "." => relative.push_dot(),
            ".." => relative.push_parent(),
            segment => relative.push_name(&decode(segment, style)?),
        }
    }
    if relative.as_os_str().len() > PATH_LIMIT {
        return Err(Detail::PathTooLong { limit: PATH_LIMIT });
    }
    Ok((name, relative.checked_depth()?))
}

/// One segment, decoded once. A segment is one name: nothing that is or becomes a separator or a dot segment.
pub(crate) fn decode(segment: &str, style: PathStyle) -> Result<OsString, Detail> {
    let bytes = unescape(segment)?;
    let separator = |byte: &u8| *byte == 0 || (byte.is_ascii() && style.is_separator(char::from(*byte)));
    if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.iter().any(separator) {
        return Err(Detail::UriSegment);
    }
    match String::from_utf8(bytes) {
        Ok(name) => style.check_name(&name).map(|()| name.into()),
        Err(error) if style == PathStyle::Unix => raw_name(error.into_bytes()),
        Err(_) => Err(Detail::UriEscape),
    }
}

/// What the escapes of a segment stand for.
pub(crate) fn unescape(segment: &str) -> Result<Vec<u8>, Detail> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(Detail::UriEscape) };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| Detail::UriEscape)?);
    }
    Ok(bytes)
}

#[cfg(unix)]
fn raw_name(bytes: Vec<u8>) -> Result<OsString, Detail> {
    use std::os::unix::ffi::OsStringExt;
    if bytes.len() > crate::path::NAME_LIMIT {
        return Err(Detail::NameTooLong { limit: crate::path::NAME_LIMIT });
    }
    Ok(OsString::from_vec(bytes))
}

#[cfg(not(unix))]
fn raw_name(_: Vec<u8>) -> Result<OsString, Detail> {
    Err(Detail::UriEscape)
}

/// Writes `root://NAME/relative`, so that [`parse`] gives the same steps back.
pub(crate) fn write(name: &RootName, path: &RelPath) -> String {
    let mut text = format!("{SCHEME}{}", name.as_str());
    if path.is_empty() {
        text.push('/');
    }
    for step in path.steps() {
        text.push('/');
        encode(
            &mut text,
            match step {
                Step::Parent => OsStr::new(".."),
                Step::Name(name) => name,
            },
        );
    }
    text
}

/// Everything but unreserved characters and a few that are safe in a path segment (RFC 3986 section 3.3) becomes `%XX`.
pub(crate) fn encode(text: &mut String, name: &OsStr) {
    for byte in name.as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'+' | b'@' | b',' | b'=' => {
                text.push(char::from(*byte));
            }
            byte => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, OsString, bool), Detail> {
        parse(text, PathStyle::Unix)
            .map(|(name, path)| (name.as_str().to_owned(), path.as_os_str().to_owned(), path.must_be_dir()))
    }

    #[test]
    fn plain_uris() {
        assert_eq!(read("root://ws/a/b.md").unwrap(), ("ws".into(), "a/b.md".into(), false));
        assert_eq!(read("ROOT://ws/a%20b/").unwrap(), ("ws".into(), "a b".into(), true));
        for text in ["root://ws", "root://ws/"] {
            assert_eq!(read(text).unwrap(), ("ws".into(), ".".into(), true));
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for text in [
            "root://",
            "root:///a",
            "root://WS/a",
            "root://w s/a",
            "root://../a",
            "root://ws//",
            "root://ws/a//b",
            "root:////",
            "root://ws/a//",
            "root://ws/%2e%2e/a",
            "root://ws/.%2e/a",
            "root://ws/%2E/a",
            "root://ws/a%2fb",
            "root://ws/a%2Fb",
            "root://ws/a%00b",
            "root://ws/a%",
            "root://ws/a%2",
            "root://ws/a%zz",
            "root://ws/a?b",
            "root://ws/a#b",
            "root://ws/a\\b",
            "root://ws/a\nb",
            "root://user@ws/a",
            "root://ws:80/a",
            "file:///a",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(parse("root://ws/a%5Cb", PathStyle::Windows).is_err());
        assert_eq!(read("root://ws/a%5Cb").unwrap().1, "a\\b");
    }

    #[test]
    fn dot_segments_are_steps() {
        assert_eq!(read("root://ws/a/../b").unwrap().1, "a/../b");
        assert_eq!(read("root://ws/./a/.").unwrap(), ("ws".into(), "a".into(), true));
    }

    #[test]
    fn decoded_once() {
        assert_eq!(read("root://ws/%252e%252e").unwrap().1, "%2e%2e");
    }

    #[cfg(unix)]
    #[test]
    fn every_byte_of_a_name_survives() {
        use std::os::unix::ffi::OsStrExt;
        let bytes: Vec<u8> = (1..=255).filter(|byte| *byte != b'/').collect();
        let name = RootName::parse("ws").unwrap();
        let path = RelPath::single(OsStr::from_bytes(&bytes));
        let (back, steps) = parse(&write(&name, &path), PathStyle::Unix).unwrap();
        assert_eq!((back, steps.as_os_str()), (name, path.as_os_str()));
    }

    #[test]
    fn names_of_roots() {
        for good in ["a", "my-notes_2.x", &"a".repeat(64)] {
            assert!(RootName::parse(good).is_some(), "{good}");
        }
        for bad in ["", "A", "a b", "a/b", "..", ".", "é", &"a".repeat(65)] {
            assert!(RootName::parse(bad).is_none(), "{bad}");
        }
        assert_eq!(RootName::from_directory("My Notes").as_str(), "my-notes");
        assert_eq!(RootName::from_directory("音").as_str(), "root");
        assert_eq!(RootName::from_directory("a").numbered(2).as_str(), "a-2");
        assert!(RootName::parse(RootName::from_directory(&"x".repeat(300)).numbered(100).as_str()).is_some());
    }
}
