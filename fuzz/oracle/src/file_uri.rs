//! Laws of `file:` URIs on Unix, beside a URL parser that follows another standard.
//!
//! Where ours accepts, both mean the same path, but for the listed differences; where it refuses, one of the listed reasons is there to be
//! seen, written down here a second time from RFC 3986, RFC 8089 and path_resolution(7).

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::LazyLock;

use cap_roots::{Access, Hint, Roots};
use url::Url;

static ALL: LazyLock<Roots> =
    LazyLock::new(|| Roots::builder().named("all", "/", Access::Read).open().unwrap_or_else(|error| panic!("{error}")));

/// What ours refuses and the other parser repairs.
fn is_refused(text: &str) -> bool {
    let odd = |c: char| c.is_control() || "?#\\".contains(c);
    let Some((scheme, rest)) = text.split_once("://") else { return true };
    let Some((host, path)) = rest.split_once('/') else { return true };
    if text.len() > 3 * 4095 || text.contains(odd) || !scheme.eq_ignore_ascii_case("file") {
        return true;
    }
    if !matches!(host.to_ascii_lowercase().as_str(), "" | "localhost") {
        return true;
    }
    let segments: Vec<&str> = path.split('/').collect();
    let names = segments.strip_suffix(&[""]).unwrap_or(&segments);
    let decoded: Vec<Option<Vec<u8>>> = names.iter().map(|name| decoded(name)).collect();
    let bad = |name: &Option<Vec<u8>>| match name.as_deref() {
        None | Some(b"" | b"." | b"..") => true,
        Some(name) => name.len() > 255 || name.contains(&0) || name.contains(&b'/'),
    };
    let length: usize = decoded.iter().flatten().map(|name| name.len() + 1).sum();
    let is_drive = matches!(decoded.first(), Some(Some(first)) if matches!(first[..], [letter, b':' | b'|'] if letter.is_ascii_alphabetic()));
    decoded.iter().any(bad) || decoded.len() > 256 || length > 4096 || is_drive
}

/// A segment with every escape read; `None` if one is malformed.
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

/// Panics if a text is read otherwise than it has to be.
pub fn check(text: &str) {
    let hint = Hint::parse(text);
    assert_eq!(hint.is_err(), is_refused(text), "{text:?}: {hint:?}");
    let path = match hint {
        Ok(hint) => hint.into_trusted_path(),
        Err(error) => {
            let told = error.to_string();
            assert!(error.code() == "invalid-uri" && !told.contains(char::is_control) && told.len() < 400, "{told:?}");
            return;
        }
    };
    agrees(text, &path);
    // Written by another, it is read as the same again; and as an argument it means the same as the plain path.
    let again = Url::from_file_path(&path).unwrap_or_else(|()| panic!("{text:?} is no path"));
    assert_eq!(Hint::parse(again.as_str()).map(Hint::into_trusted_path).as_ref(), Ok(&path), "{text:?}: {again}");
    let as_argument = ALL.uri(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    if let Some(plain) = path.to_str().filter(|plain| !plain.contains(char::is_control)) {
        assert_eq!(ALL.uri(plain).as_deref(), Ok(as_argument.as_str()), "{text:?}");
    }
}

/// The intended differences where both accept: a blank at the end is part of the name, and not cut off.
fn agrees(text: &str, path: &PathBuf) {
    if text.ends_with(' ') {
        assert!(path.as_os_str().as_bytes().ends_with(b" "), "{text:?}");
        return;
    }
    let other = Url::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(other.to_file_path().as_ref(), Ok(path), "{text:?}: {other}");
}
