//! Laws of path arguments in both path styles. What a text says is written down here a second time: for Unix from path_resolution(7) and the
//! crate's documentation, for Windows from the Win32 documentation of file names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use cap_roots::Error;
use cap_roots::internals::{Place, Style, may_alias, place};

use crate::uri::{self, Reading};
use crate::{pieces, windows};

/// Names between separators.
fn steps(text: &str, style: Style) -> Option<(Vec<Vec<u8>>, bool)> {
    let pieces: Vec<&str> = match style {
        Style::Windows => text.split(['/', '\\']).collect(),
        _ => text.split('/').collect(),
    };
    let directory = matches!(pieces.last(), Some(&("" | "." | "..")));
    let steps: Vec<&str> = pieces.into_iter().filter(|piece| !matches!(*piece, "" | ".")).collect();
    let good = |name: &&str| match style {
        Style::Windows => windows::is_name(name),
        _ => name.len() <= 255,
    };
    let all = steps.len() <= 256 && steps.iter().filter(|step| **step != "..").all(good);
    all.then(|| (steps.iter().map(|step| step.as_bytes().to_vec()).collect(), directory))
}

/// What a plain text says; `None` if it is to be refused.
pub(crate) fn read(text: &str, style: Style) -> Option<Reading> {
    if text.is_empty() || text.len() > 4095 || text.chars().any(char::is_control) {
        return None;
    }
    let separates = |c: char| c == '/' || style == Style::Windows && c == '\\';
    let (form, start, rest) = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with(separates) => ("home", String::new(), rest),
        _ if style == Style::Windows => windows_start(text)?,
        _ => text.strip_prefix('/').map_or(("relative", String::new(), text), |rest| ("host", "/".to_owned(), rest)),
    };
    let (steps, directory) = steps(rest, style)?;
    Some(Reading { form, start, steps, directory })
}

/// Where a text starts on Windows: a drive, a share, or nowhere. `None`: relative to a drive (`C:x`, `\x`), past the file system (`\\.\`, `\\?\`,
/// `\??\`), or a share without a name.
fn windows_start(text: &str) -> Option<(&'static str, String, &str)> {
    let same = text.replace('/', "\\");
    if let Some(unc) = same.strip_prefix("\\\\") {
        let mut parts = unc.splitn(3, '\\');
        let (server, share) = (parts.next()?, parts.next()?);
        let named = !server.starts_with(['?', '.']) && windows::is_name(server) && windows::is_name(share) && share != "..";
        let rest = text.get(2 + server.len() + 1 + share.len()..)?;
        let start = format!("\\\\{}\\{}\\", server.to_lowercase(), share.to_lowercase());
        return named.then_some(("host", start, rest));
    }
    if same.starts_with('\\') {
        return None;
    }
    match same.as_bytes() {
        [letter, b':', rest @ ..] if letter.is_ascii_alphabetic() => {
            let start = format!("{}:\\", char::from(*letter).to_ascii_uppercase());
            rest.starts_with(b"\\").then(|| ("host", start, &text[3..]))
        }
        _ => Some(("relative", String::new(), text)),
    }
}

/// What an input means.
pub(crate) fn print(bytes: &[u8]) -> String {
    format!("{:?}", pieces::text(bytes, pieces::OF_PATHS))
}

/// Runs what bytes stand for.
pub fn check_bytes(bytes: &[u8]) {
    if let Some(text) = pieces::text(bytes, pieces::OF_PATHS) {
        check(&text);
    }
}

/// Panics if a text is read otherwise than it has to be, in either style.
pub fn check(text: &str) {
    let has_scheme = |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let is_uri = has_scheme("root://") || has_scheme("file:/");
    let [unix, windows] = [Style::Unix, Style::Windows].map(|style| {
        let own = if is_uri { uri::read(text, style) } else { read(text, style) };
        let ours = place(text, style);
        agree(text, style, own.as_ref(), &ours, if is_uri { "invalid-uri" } else { "invalid-path" });
        ours.ok()
    });
    // What Windows takes without its own separator, Unix takes as the same, if no name is longer for it.
    if let Some(windows) = windows.filter(|windows| windows.form != "host" && !text.contains('\\')) {
        let short = windows.steps.iter().all(|step| step.len() <= 255);
        assert!(!short || unix.as_ref() == Some(&windows), "{text:?}: {windows:?} {unix:?}");
    }
}

/// Panics unless the crate reads a text as the oracle does; and what it reads has one text form, which means the same.
pub(crate) fn agree(text: &str, style: Style, own: Option<&Reading>, ours: &Result<Place, Error>, code: &str) {
    let (own, ours) = match (own, ours) {
        (None, Err(error)) => {
            let told = error.to_string();
            assert!(error.code() == code && told.starts_with(code), "{style:?} {text:?}: {told}");
            assert!(!told.contains(char::is_control) && told.len() < 400, "{told:?}");
            return;
        }
        (Some(own), Ok(ours)) => (own, ours),
        _ => panic!("{style:?} {text:?}: {ours:?}, and by the documents {own:?}"),
    };
    let steps: Vec<&[u8]> = ours.steps.iter().map(|step| step.as_bytes()).collect();
    assert!(steps.iter().eq(own.steps.iter()), "{style:?} {text:?}: {ours:?}, and by the documents {own:?}");
    assert_eq!((ours.form, &ours.start, ours.directory), (own.form, &own.start, own.directory), "{style:?} {text:?}");
    assert!(ours.uri.starts_with("root://") && ours.uri.is_ascii(), "{text:?} gives {}", ours.uri);
    let again = place(&ours.uri, style).unwrap_or_else(|error| panic!("{style:?} {text:?} gives {}: {error}", ours.uri));
    assert_eq!((&again.steps, &again.uri), (&ours.steps, &ours.uri), "{style:?} {text:?}");
    for step in steps.into_iter().filter(|step| *step != b"..") {
        // Names with other names: short ones, composed and folded ones, trimmed ones, streams.
        let other =
            step.iter().any(|byte| !byte.is_ascii() || b"~:".contains(byte)) || step.ends_with(b" ") || step.ends_with(b".");
        assert_eq!(may_alias(OsStr::from_bytes(step)), other, "{text:?}");
    }
}
