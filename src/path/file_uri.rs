//! `file:` URIs, read as absolute host paths: in tool arguments, and as a client sends its roots.
//!
//! May touch: `host`, `relative`, `style`, `uri` for decoding, the error details. No I/O.
//!
//! Syntax after RFC 8089, on the raw text and narrower than what URL parsers take: they repair, and what they make of a damaged URI is
//! often a wider directory. `file:` and two slashes, no host but `localhost`, no query, no fragment, no backslash, no dot segment; split
//! before it is decoded, decoded once.

use crate::error::Detail;
use crate::path::PATH_LIMIT;
use crate::path::host::HostPath;
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;
use crate::path::uri;

/// Whether `text` is meant as a `file:` URI (RFC 8089 allows one slash).
pub(crate) fn is_file_uri(text: &str) -> bool {
    uri::has_scheme(text, "file:/")
}

/// Reads `file:///absolute/path`, by the rules of `style`.
pub(crate) fn parse(text: &str, style: PathStyle) -> Result<HostPath, Detail> {
    if text.len() > PATH_LIMIT * 3 {
        return Err(Detail::PathTooLong { limit: PATH_LIMIT });
    }
    // Whatever a URL parser would cut off, fold or repair, anywhere in the text.
    if text.contains(|c: char| c.is_control() || matches!(c, '?' | '#' | '\\')) {
        return Err(Detail::UriCharacter);
    }
    let rest = text.get("file://".len()..).filter(|_| uri::has_scheme(text, "file://")).ok_or(Detail::FileUriForm)?;
    let (host, path) = rest.split_once('/').ok_or(Detail::FileUriForm)?;
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Err(Detail::FileUriHost);
    }
    let (drive, path) = match (style, split_drive(path)) {
        (PathStyle::Unix, None) => (None, path),
        (PathStyle::Windows, Some((letter, ':', rest))) => (Some(letter), rest),
        _ => return Err(Detail::FileUriDrive),
    };
    let rest = segments(path, style)?;
    if rest.as_os_str().len() > PATH_LIMIT {
        return Err(Detail::PathTooLong { limit: PATH_LIMIT });
    }
    Ok(HostPath::of(drive, rest.checked_depth()?, style))
}

/// A first segment that is a letter and `:`, or the `|` of old, whichever way they are written; and what follows its slash.
fn split_drive(path: &str) -> Option<(char, char, &str)> {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    match uri::unescape(first).ok()?.as_slice() {
        [letter, colon @ (b':' | b'|')] if letter.is_ascii_alphabetic() => Some((char::from(*letter), char::from(*colon), rest)),
        _ => None,
    }
}

fn segments(path: &str, style: PathStyle) -> Result<RelPath, Detail> {
    let mut names = RelPath::typed();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            // One slash at the end says that it is a directory; any other empty segment is a mistake or a trick.
            "" if segments.peek().is_none() => names.push_dot(),
            "" | "." | ".." => return Err(Detail::UriSegment),
            segment => names.push_name(&uri::decode(segment, style)?),
        }
    }
    Ok(names)
}
