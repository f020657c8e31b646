//! Laws of `file:` and `root://` URIs in both path styles.
//!
//! What a URI says is written down here a second time, from RFC 3986, RFC 8089, path_resolution(7) and the crate's documentation; what ours
//! accepts, a URL parser that follows another standard reads as the same, but for the listed differences.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use cap_roots::Hint;
use cap_roots::internals::{Place, Style, place};
use url::Url;

use crate::location::agree;
use crate::{pieces, windows};

/// What a location says, read by the oracle.
#[derive(Debug, PartialEq, Eq)]
pub struct Reading {
    /// As in [`Place`].
    pub form: &'static str,
    /// As in [`Place`].
    pub start: String,
    /// As in [`Place`].
    pub steps: Vec<Vec<u8>>,
    /// As in [`Place`].
    pub directory: bool,
}

/// A segment with every escape read, once; `None` if one is malformed.
fn decoded(segment: &str) -> Option<Vec<u8>> {
    let mut pieces = segment.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(piece[2..].bytes());
    }
    Some(bytes)
}

/// A segment as one name.
fn name(segment: &str, style: Style) -> Option<Vec<u8>> {
    let bytes = decoded(segment)?;
    let good = match style {
        Style::Windows => std::str::from_utf8(&bytes).is_ok_and(windows::is_name),
        _ => bytes.len() <= 255 && !bytes.contains(&b'/'),
    };
    (good && !bytes.contains(&0) && !matches!(&bytes[..], b"" | b"." | b"..")).then_some(bytes)
}

/// The segments of a path. A slash at the end says that it is a directory. `dots`: plain dot segments are steps.
fn steps(path: &str, style: Style, dots: bool) -> Option<(Vec<Vec<u8>>, bool)> {
    let mut segments: Vec<&str> = path.split('/').collect();
    let closed = segments.last() == Some(&"");
    if closed {
        segments.pop();
    }
    let mut directory = true;
    let mut steps = Vec::new();
    for segment in segments {
        directory = dots && matches!(segment, "." | "..");
        match segment {
            "." if dots => {}
            ".." if dots => steps.push(b"..".to_vec()),
            segment => steps.push(name(segment, style)?),
        }
    }
    let length: usize = steps.iter().map(|step| step.len() + 1).sum();
    (steps.len() <= 256 && length <= 4096).then_some((steps, directory || closed))
}

/// What a URI of one of the two schemes says; `None` if it is to be refused.
#[must_use]
pub fn read(text: &str, style: Style) -> Option<Reading> {
    if text.chars().any(|c| c.is_control() || "?#\\".contains(c)) {
        return None;
    }
    let (scheme, rest) = text.split_once("://")?;
    if scheme.eq_ignore_ascii_case("root") {
        let (root, path) = rest.split_once('/').unwrap_or((rest, ""));
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        if rest.len() > 3 * 4095 || root.len() > 64 || !root.chars().all(good) || root.trim_matches('.').is_empty() {
            return None;
        }
        let (steps, directory) = steps(path, style, true)?;
        return Some(Reading { form: "named", start: root.to_owned(), steps, directory });
    }
    let (host, path) = rest.split_once('/')?;
    let hosts = ["", "localhost"];
    if text.len() > 3 * 4095 || !scheme.eq_ignore_ascii_case("file") || !hosts.contains(&&*host.to_ascii_lowercase()) {
        return None;
    }
    let (first, behind) = path.split_once('/').unwrap_or((path, ""));
    let drive = match decoded(first).as_deref() {
        Some([letter, colon @ (b':' | b'|')]) if letter.is_ascii_alphabetic() => Some((char::from(*letter), *colon)),
        _ => None,
    };
    let (start, path) = match (style, drive) {
        (Style::Unix, None) => ("/".to_owned(), path),
        (Style::Windows, Some((letter, b':'))) => (format!("{}:\\", letter.to_ascii_uppercase()), behind),
        _ => return None,
    };
    let (steps, directory) = steps(path, style, false)?;
    Some(Reading { form: "host", start, steps, directory })
}

/// What an input means.
pub(crate) fn print(bytes: &[u8]) -> String {
    format!("{:?}", pieces::text(bytes, pieces::OF_URIS))
}

/// Runs what bytes stand for.
pub fn check_bytes(bytes: &[u8]) {
    if let Some(text) = pieces::text(bytes, pieces::OF_URIS) {
        check(&text);
    }
}

/// Panics if a text is read otherwise than it has to be.
pub fn check(text: &str) {
    let has_scheme = |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let is_ours = has_scheme("root://") || has_scheme("file:/");
    let own = read(text, Style::Unix);
    if is_ours {
        for (style, own) in [(Style::Windows, &read(text, Style::Windows)), (Style::Unix, &own)] {
            let ours = place(text, style);
            agree(text, style, own.as_ref(), &ours, "invalid-uri");
            if let (Ok(ours), Style::Unix) = (&ours, style) {
                parsed_by_another(text, ours);
            }
        }
    }
    // As a client's root.
    if text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("root://")) {
        assert!(Hint::parse(text).is_err(), "{text:?}");
        return;
    }
    let hint = Hint::parse(text);
    let own = own.filter(|own| own.form == "host");
    assert_eq!(hint.is_ok(), own.is_some(), "{text:?}: {hint:?}");
    match (hint, own) {
        (Ok(hint), Some(own)) => as_a_path(text, &hint.into_trusted_path(), &own),
        (Err(error), _) => {
            let told = error.to_string();
            assert!(error.code() == "invalid-uri" && !told.contains(char::is_control) && told.len() < 400, "{told:?}");
        }
        _ => {}
    }
}

/// The path of a `file:` URI, and as an argument the same as the plain path; written by another, it is read as the same again.
fn as_a_path(text: &str, path: &PathBuf, own: &Reading) {
    let joined: PathBuf = std::iter::once(OsStr::new("/")).chain(own.steps.iter().map(|step| OsStr::from_bytes(step))).collect();
    assert_eq!(*path, joined, "{text:?}");
    let again = Url::from_file_path(path).unwrap_or_else(|()| panic!("{text:?} is no path"));
    assert_eq!(Hint::parse(again.as_str()).map(Hint::into_trusted_path).as_ref(), Ok(path), "{text:?}: {again}");
    let plain = path.to_str().filter(|plain| plain.len() <= 4095 && !plain.contains(char::is_control));
    if let Some(plain) = plain {
        let plain = place(plain, Style::Unix).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let same = plain.steps.iter().map(|step| step.as_bytes()).eq(own.steps.iter().map(Vec::as_slice));
        assert!(same && plain.start == own.start, "{text:?}: {plain:?}");
    }
}

/// The intended differences where both accept: a blank at the end is part of the name, and not cut off; dot segments are steps that are
/// taken on the disk, and not cleaned away.
fn parsed_by_another(text: &str, ours: &Place) {
    if text.ends_with(' ') {
        let last = ours.steps.last().map_or(ours.start.as_bytes(), |step| step.as_bytes());
        assert!(last.ends_with(b" "), "{text:?}");
        return;
    }
    if text.split('/').any(|segment| matches!(segment, "." | "..")) {
        return;
    }
    let other = Url::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    if ours.form == "named" {
        assert_eq!((other.host_str(), other.username(), other.port()), (Some(ours.start.as_str()), "", None), "{text:?}");
        assert!(other.query().is_none() && other.fragment().is_none(), "{text:?}");
    }
    let segments = other.path().split('/').filter(|segment| !segment.is_empty());
    let names: Vec<Vec<u8>> = segments.map(|segment| decoded(segment).unwrap_or_default()).collect();
    assert!(names.iter().map(Vec::as_slice).eq(ours.steps.iter().map(|step| step.as_bytes())), "{text:?}: {other}");
}
