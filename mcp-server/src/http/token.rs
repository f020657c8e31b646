//! The bearer token: who has it may do what the server may.
//!
//! May touch: the one file that the operator named, before anything is served. A token is in no text but the one that tells it at the start.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hyper::HeaderMap;
use hyper::http::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

/// Bytes of chance in a token of ours.
const BYTES: usize = 32;
/// Fewest characters of a token that somebody else made.
const SHORTEST: usize = 16;
/// Longest file that is read for one.
const FILE: u64 = 4096;

/// What every request must bring along.
#[derive(Clone)]
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// What a request brought along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    None,
    Wrong,
    Right,
}

impl Token {
    /// A new one, by the system's source of chance.
    pub(crate) fn random() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The one in the operator's file, or the end of a sentence about that file.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let read = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => "does not exist; make it with (umask 077; openssl rand -hex 32 >FILE)".to_owned(),
            _ => format!("cannot be read: {error}; let the user of this server read it, and no other"),
        };
        let file = open(path).map_err(read)?;
        let metadata = file.metadata().map_err(read)?;
        if !metadata.is_file() {
            return Err("is not a regular file; name one".to_owned());
        }
        #[cfg(unix)]
        if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0 {
            return Err("may be used by other users of this machine; chmod 600 it".to_owned());
        }
        let mut text = Vec::new();
        file.take(FILE + 1).read_to_end(&mut text).map_err(read)?;
        if text.len() as u64 > FILE {
            return Err(format!("is longer than {FILE} bytes; name the one with the token"));
        }
        Self::parse(&text).ok_or_else(|| {
            format!(
                "must hold one token of at least {SHORTEST} characters (a-z A-Z 0-9 - . _ ~ + /, = at its end) and nothing else; \
                 make it anew with (umask 077; openssl rand -hex 32 >FILE)"
            )
        })
    }

    /// What a header can carry as a token (RFC 6750, section 2.1).
    fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim();
        let own = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c);
        (text.len() >= SHORTEST && text.trim_end_matches('=').chars().all(own)).then(|| Self(text.to_owned()))
    }

    /// For the one text that tells it.
    pub(crate) fn tell(&self) -> &str {
        &self.0
    }

    /// In the header alone: what stands in an address gets into logs and histories.
    pub(crate) fn claim(&self, headers: &HeaderMap) -> Claim {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = values.next() else { return Claim::None };
        let bearer = value.as_bytes().split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
        let Some((_, token)) = bearer.filter(|_| values.next().is_none()) else { return Claim::Wrong };
        // The time that this takes tells the length at most.
        if bool::from(token.trim_ascii_start().ct_eq(self.0.as_bytes())) { Claim::Right } else { Claim::Wrong }
    }
}

/// Without blocking: a pipe is refused, and not waited for.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
#[expect(clippy::disallowed_methods, reason = "a file of the operator, named by the operator, outside of every root")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(token: &str, headers: &[&str]) -> Claim {
        let mut map = HeaderMap::new();
        for header in headers {
            map.append(AUTHORIZATION, header.parse().unwrap());
        }
        Token::parse(token.as_bytes()).unwrap().claim(&map)
    }

    /// Catches: a prefix that is enough, a comparison without case, a scheme that is not asked for, the first of two headers.
    #[test]
    fn claims() {
        let token = "abcdefghijklmnopqrstuvwxyz";
        for (headers, expected) in [
            (&[][..], Claim::None),
            (&["Bearer abcdefghijklmnopqrstuvwxyz"], Claim::Right),
            (&["bearer  abcdefghijklmnopqrstuvwxyz"], Claim::Right),
            (&["Bearer abcdefghijklmnopqrstuvwxy"], Claim::Wrong),
            (&["Bearer abcdefghijklmnopqrstuvwxyzz"], Claim::Wrong),
            (&["Bearer ABCDEFGHIJKLMNOPQRSTUVWXYZ"], Claim::Wrong),
            (&["Bearer "], Claim::Wrong),
            (&["Bearer"], Claim::Wrong),
            (&["Basic abcdefghijklmnopqrstuvwxyz"], Claim::Wrong),
            (&["abcdefghijklmnopqrstuvwxyz"], Claim::Wrong),
            (&["Bearer abcdefghijklmnopqrstuvwxyz", "Bearer x"], Claim::Wrong),
            (&["Bearer x", "Bearer abcdefghijklmnopqrstuvwxyz"], Claim::Wrong),
        ] {
            assert_eq!(claim(token, headers), expected, "{headers:?}");
        }
    }

    /// Catches: a token that is always the same, one that no header can carry, one that is told by `Debug`.
    #[test]
    fn tokens_of_ours() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(one.tell() != other.tell() && one.tell().len() == 43, "{}", one.tell());
        assert_eq!(Token::parse(one.tell().as_bytes()).unwrap().tell(), one.tell());
        assert!(!format!("{one:?}").contains(one.tell()));
    }

    /// Catches: an empty or short file that lets everybody in, and two lines taken for one token.
    #[test]
    fn tokens_of_others() {
        for right in ["0123456789abcdef", "  0123456789abcdef\n", "a.b_c~d+e/f-0123=="] {
            assert_eq!(Token::parse(right.as_bytes()).unwrap().tell(), right.trim());
        }
        for wrong in [
            "",
            "\n",
            "0123456789abcde",
            "0123456789abcdef\n0123456789abcdef",
            "0123456789 abcdef",
            "0123=456789abcdef",
            "passwörter-passwörter",
        ] {
            assert!(Token::parse(wrong.as_bytes()).is_none(), "{wrong:?}");
        }
    }
}
