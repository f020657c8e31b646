//! How a walk speaks of what it shows: in the form that its caller used, as text that leads back to the entry.
//!
//! May touch: `context`.

use std::ffi::OsString;
use std::path::{MAIN_SEPARATOR, Path};

use cap_roots::{ErrorKind, Result};

use super::Found;
use crate::context::Context;

#[derive(Debug)]
pub(super) struct Label {
    /// What stands before a path below the start; `None` where an entry is named by its URI.
    prefix: Option<String>,
    /// The start's URI, by its real names where something is judged by them.
    uri: String,
    /// The names from the root to the start, with slashes.
    names: OsString,
}

impl Label {
    /// `judges`: whether lists of what is left out are judged by the names from the root. Then they are those that the path leads to, since links and
    /// `..` in its text may go by any others.
    ///
    /// # Errors
    /// As [`Roots::within`](cap_roots::Roots::within), where it judges.
    pub(super) fn of(context: &Context, path: &str, judges: bool) -> Result<Self> {
        let uri = if judges {
            let start = context.roots.within(path)?;
            start.list().next().map(|root| root.uri()).ok_or(ErrorKind::NotFound)?
        } else {
            context.roots.uri(path)?
        };
        let names = names(&uri);
        // A spelling that must be escaped would not lead back.
        let own = !context.hide_host_paths && !path.contains("://") && cap_roots::escape(path) == path;
        let prefix = own.then(|| match path.trim_end_matches(['/', MAIN_SEPARATOR]) {
            "." => String::new(),
            bare => format!("{bare}/"),
        });
        Ok(Self { prefix, uri, names })
    }

    pub(super) fn of_entry(&self, found: &Found) -> String {
        match (&self.prefix, found.path().to_str()) {
            (Some(prefix), Some(path)) if found.plain => format!("{prefix}{path}"),
            _ => found.entry.uri(),
        }
    }

    /// The names from the root to the start.
    pub(super) fn names(&self) -> &Path {
        Path::new(&self.names)
    }

    /// The URIs of the directories from the root to the start, each with the names from there to the start.
    pub(super) fn down_to_start(&self) -> Vec<(String, OsString)> {
        let bare = self.uri.trim_end_matches('/');
        let top = bare.match_indices('/').nth(2).map_or(bare.len(), |(at, _)| at);
        let ends = bare.match_indices('/').map(|(at, _)| at).filter(|at| *at >= top).chain([bare.len()]);
        let mut above: Vec<_> = ends
            .filter_map(|end| Some((format!("{}/", bare.get(..end)?), decode(bare.get(end..)?.trim_start_matches('/')))))
            .collect();
        above.dedup();
        above
    }
}

/// The names of a `root://NAME/names` URI.
fn names(uri: &str) -> OsString {
    decode(uri.splitn(4, '/').nth(3).unwrap_or_default().trim_end_matches('/'))
}

/// The library's own percent escapes, undone.
fn decode(text: &str) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    let digit = |rest: &mut std::str::Bytes<'_>| {
        rest.next().and_then(|byte| char::from(byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok())
    };
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => bytes.push(digit(&mut rest).unwrap_or_default() << 4 | digit(&mut rest).unwrap_or_default()),
            byte => bytes.push(byte),
        }
    }
    os_string(bytes)
}

#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(uri: &str) -> Label {
        Label { prefix: None, uri: uri.to_owned(), names: names(uri) }
    }

    #[test]
    fn names_are_those_below_the_root() {
        for (uri, want) in [("root://ws/", ""), ("root://ws/a%20b/c", "a b/c"), ("root://ws/a/", "a")] {
            assert_eq!(label(uri).names(), Path::new(want), "{uri}");
        }
    }

    #[test]
    fn directories_above_are_named_from_the_root_on() {
        let above = |uri| label(uri).down_to_start();
        assert_eq!(above("root://ws/"), [("root://ws/".to_owned(), OsString::new())]);
        let want = [("root://ws/", "a b/c"), ("root://ws/a%20b/", "c"), ("root://ws/a%20b/c/", "")];
        assert_eq!(above("root://ws/a%20b/c"), want.map(|(uri, names)| (uri.to_owned(), OsString::from(names))));
    }
}
