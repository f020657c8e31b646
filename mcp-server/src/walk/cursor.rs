//! The mark to go on from: what an earlier call answered last, sealed so that it fits that call alone.
//!
//! May touch: `arguments`, `context`. A mark opens nothing: the walk is done again, judged again, and what lies before the mark is passed over.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cap_roots::{Error, ErrorKind, Result, Roots};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::arguments::Arguments;

/// How long a mark holds. Long enough for a model to think, short enough that it tells of a tree that is about the same.
const HOLDS: Duration = Duration::from_secs(15 * 60);
/// Longest mark that is looked at.
const LENGTH: usize = 16 << 10;
/// Of the time and the measure before the path, and of the seal behind it.
const NUMBER: usize = 8;
const SEAL: usize = 32;
/// Beside twice the path, the longest that a mark is.
pub(super) const OVERHEAD: usize = 2 * (2 * NUMBER + SEAL);

/// Where an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Below the start, with slashes.
    path: Vec<u8>,
    /// How much of the entry itself was answered; 0 if all of it.
    pub(super) within: u64,
}

impl Mark {
    pub(super) fn at(path: &OsStr, within: u64) -> Self {
        Self { path: path.as_encoded_bytes().to_vec(), within }
    }

    /// The same as [`Mark::at`], in the memory of this one.
    pub(super) fn move_to(&mut self, path: &OsStr) {
        self.path.clear();
        self.path.extend_from_slice(path.as_encoded_bytes());
        self.within = 0;
    }

    /// How long its path is.
    pub(super) fn len(&self) -> usize {
        self.path.len()
    }

    /// Whether the mark is behind `path` in the order of the walk, or at it: by names, a directory before what is in it.
    pub(super) fn is_behind(&self, path: &OsStr) -> bool {
        let slash = |byte: &u8| *byte == b'/';
        path.as_encoded_bytes().split(slash).cmp(self.path.split(slash)) != Ordering::Greater
    }

    pub(super) fn is_at(&self, path: &OsStr) -> bool {
        path.as_encoded_bytes() == self.path
    }

    /// Whether it is `path`, or lies in it.
    pub(super) fn is_in(&self, path: &OsStr) -> bool {
        self.path.strip_prefix(path.as_encoded_bytes()).is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
    }
}

/// What seals marks: a key that this process made and nobody else has.
#[derive(Clone)]
pub(crate) struct Cursors(Arc<Key>);

struct Key {
    key: [u8; 32],
    start: Instant,
}

impl std::fmt::Debug for Cursors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursors").finish_non_exhaustive()
    }
}

/// What a mark fits.
pub(super) struct For<'a> {
    pub(super) tool: &'a str,
    pub(super) roots: &'a Roots,
    pub(super) arguments: &'a Arguments,
}

impl For<'_> {
    /// The call but for its cursor.
    fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let mut part = |text: &[u8]| {
            digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            digest.update(text);
        };
        part(self.tool.as_bytes());
        for root in self.roots.list() {
            part(root.uri().as_bytes());
            part(root.real_path().as_os_str().as_encoded_bytes());
        }
        part(b"");
        let mut arguments: Vec<_> =
            self.arguments.0.iter().filter(|(name, value)| *name != "cursor" && !value.is_null()).collect();
        arguments.sort_by_key(|(name, _)| *name);
        for (name, value) in arguments {
            part(name.as_bytes());
            part(value.to_string().as_bytes());
        }
        digest.finalize().into()
    }
}

impl Cursors {
    pub(crate) fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self(Arc::new(Key { key, start: Instant::now() })))
    }

    pub(super) fn seal(&self, mark: &Mark, call: &For<'_>) -> Option<String> {
        self.seal_at(mark, call, Instant::now())
    }

    fn seal_at(&self, mark: &Mark, call: &For<'_>, now: Instant) -> Option<String> {
        let ends = (now + HOLDS).saturating_duration_since(self.0.start).as_secs();
        let mut token = ends.to_be_bytes().to_vec();
        token.extend(mark.within.to_be_bytes());
        token.extend(&mark.path);
        let seal = self.mac(&token, call)?.finalize().into_bytes();
        token.extend(seal);
        let token = URL_SAFE_NO_PAD.encode(token);
        (token.len() <= LENGTH).then_some(token)
    }

    /// # Errors
    /// `stale-cursor` for what this process did not seal for this very call, or too long ago.
    pub(super) fn open(&self, token: &str, call: &For<'_>) -> Result<Mark> {
        self.open_at(token, call, Instant::now())
    }

    fn open_at(&self, token: &str, call: &For<'_>, now: Instant) -> Result<Mark> {
        self.opened(token, call, now).ok_or_else(stale)
    }

    fn opened(&self, token: &str, call: &For<'_>, now: Instant) -> Option<Mark> {
        let token = (token.len() <= LENGTH).then(|| URL_SAFE_NO_PAD.decode(token).ok()).flatten()?;
        let (sealed, seal) = token.split_at_checked(token.len().checked_sub(SEAL)?)?;
        self.mac(sealed, call)?.verify_slice(seal).ok()?;
        let (ends, rest) = sealed.split_at_checked(NUMBER)?;
        let (within, path) = rest.split_at_checked(NUMBER)?;
        let ends = u64::from_be_bytes(ends.try_into().ok()?);
        let holds = now.saturating_duration_since(self.0.start).as_secs() <= ends;
        holds.then(|| Some(Mark { path: path.to_vec(), within: u64::from_be_bytes(within.try_into().ok()?) })).flatten()
    }

    fn mac(&self, sealed: &[u8], call: &For<'_>) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0.key).ok()?;
        mac.update(&call.digest());
        mac.update(sealed);
        Some(mac)
    }
}

pub(super) fn stale() -> Error {
    Error::from(ErrorKind::StaleCursor)
        .advise("a cursor holds for 15 minutes and for the call that it came from: repeat that call without cursor")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn arguments(value: Value) -> Arguments {
        Arguments(value.as_object().unwrap().clone())
    }

    /// Catches: a mark that is taken for another tool, other arguments, other roots, another process, too late, or with a bit changed.
    #[test]
    fn a_mark_fits_its_call_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| {
            let dir = folder.path().join(name);
            std::fs::create_dir(&dir).unwrap();
            Roots::builder().grant(cap_roots::Grant::new(dir)).open().unwrap()
        });
        let given = arguments(json!({ "path": ".", "pattern": "*", "cursor": "x" }));
        let call = For { tool: "search_files", roots: &one, arguments: &given };
        let cursors = Cursors::new().unwrap();
        let now = Instant::now();
        let mark = Mark { path: b"a/b\xff".to_vec(), within: 3 };
        let token = cursors.seal_at(&mark, &call, now).unwrap();
        assert_eq!(cursors.open_at(&token, &call, now + HOLDS).unwrap(), mark);
        let same = arguments(json!({ "pattern": "*", "path": ".", "maxResults": null }));
        assert_eq!(cursors.open(&token, &For { arguments: &same, ..call }).unwrap(), mark);

        let other = arguments(json!({ "path": ".", "pattern": "**" }));
        let refused = |cursors: &Cursors, token: &str, call: &For<'_>, now: Instant| {
            assert_eq!(cursors.open_at(token, call, now).unwrap_err().code(), "stale-cursor");
        };
        refused(&cursors, &token, &For { tool: "directory_tree", ..call }, now);
        refused(&cursors, &token, &For { roots: &two, ..call }, now);
        refused(&cursors, &token, &For { arguments: &other, ..call }, now);
        refused(&cursors, &token, &call, now + HOLDS + Duration::from_secs(2));
        refused(&Cursors::new().unwrap(), &token, &call, now);
        let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            refused(&cursors, &URL_SAFE_NO_PAD.encode(bytes), &call, now);
        }
        for token in ["", "x", "AAAA", "\u{e9}", token.trim_start_matches('A'), &"A".repeat(LENGTH + 1)] {
            refused(&cursors, token, &call, now);
        }
    }

    /// Catches: paths compared as text, so that `a-b` comes before what is in `a`.
    #[test]
    fn order_is_that_of_the_walk() {
        let mark = Mark { path: b"a/b".to_vec(), within: 0 };
        for (path, behind, inside) in [
            ("a", true, true),
            ("a/b", true, true),
            ("a/a", true, false),
            ("a/b/c", false, false),
            ("a-b", false, false),
            ("A", true, false),
        ] {
            assert_eq!((mark.is_behind(path.as_ref()), mark.is_in(path.as_ref())), (behind, inside), "{path}");
        }
    }
}
