//! The lexical rules of a platform as a value, so that both are tested everywhere.
//!
//! May touch: nothing but the error details.

use std::borrow::Cow;
use std::ffi::OsStr;

use crate::error::Detail;
use crate::path::NAME_LIMIT;

/// Which platform's rules a path text is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PathStyle {
    /// `/` separates; every other character is part of a name.
    Unix,
    /// `/` and `\` separate; drives, shares and reserved names have their meaning.
    Windows,
}

impl PathStyle {
    /// The style of the platform that this was compiled for.
    pub(crate) const fn host() -> Self {
        if cfg!(windows) { PathStyle::Windows } else { PathStyle::Unix }
    }

    pub(crate) fn is_separator(self, c: char) -> bool {
        c == '/' || (self == PathStyle::Windows && c == '\\')
    }

    /// Whether `name` (not empty, no separator, neither `.` nor `..`) can be one name on this platform.
    pub(crate) fn check_name(self, name: &str) -> Result<(), Detail> {
        let length = match self {
            PathStyle::Unix => name.len(),
            PathStyle::Windows => name.encode_utf16().count(),
        };
        if length > NAME_LIMIT {
            return Err(Detail::NameTooLong { limit: NAME_LIMIT });
        }
        if self == PathStyle::Windows && !is_windows_name(name) {
            return Err(Detail::WindowsName);
        }
        Ok(())
    }

    /// Whether this platform takes `name`, one from the disk, for exactly this name. One that is made by ways that Windows itself has no
    /// words for is listed, and nothing is done to it.
    pub(crate) fn check_os_name(self, name: &OsStr) -> Result<(), std::io::ErrorKind> {
        let is_plain = match self {
            PathStyle::Unix => true,
            PathStyle::Windows => name.to_str().is_some_and(|name| !name.is_empty() && is_windows_name(name)),
        };
        if is_plain { Ok(()) } else { Err(std::io::ErrorKind::InvalidFilename) }
    }

    /// Whether two names of the operator's and a caller's text are one. On Windows names that differ in case only are.
    pub(crate) fn same_name(self, a: &str, b: &str) -> bool {
        a == b || (self == PathStyle::Windows && a.to_lowercase() == b.to_lowercase())
    }

    /// Whether two names are one in another Unicode form (NFC), for choosing a root where no text fits as it is.
    pub(crate) fn like_name(self, a: &str, b: &str) -> bool {
        self.same_name(&composed(a), &composed(b))
    }

    /// [`PathStyle::same_name`] for names from the disk, which may be no text.
    pub(crate) fn same_os_name(self, a: &OsStr, b: &OsStr) -> bool {
        a == b || a.to_str().zip(b.to_str()).is_some_and(|(a, b)| self.same_name(a, b))
    }

    /// [`PathStyle::like_name`] for names from the disk, which may be no text.
    pub(crate) fn like_os_name(self, a: &OsStr, b: &OsStr) -> bool {
        a == b || a.to_str().zip(b.to_str()).is_some_and(|(a, b)| self.like_name(a, b))
    }

    /// What all names have in common that [`PathStyle::same_os_name`] takes for one, and no others.
    pub(crate) fn key_of_same(self, name: &OsStr) -> Cow<'_, OsStr> {
        match name.to_str() {
            Some(text) if self == PathStyle::Windows => Cow::Owned(text.to_lowercase().into()),
            _ => Cow::Borrowed(name),
        }
    }

    /// The same for [`PathStyle::like_os_name`].
    pub(crate) fn key_of_like(self, name: &OsStr) -> Cow<'_, OsStr> {
        match name.to_str().map(composed) {
            Some(Cow::Owned(text)) => Cow::Owned(self.key_of_same(text.as_ref()).into_owned()),
            Some(Cow::Borrowed(_)) | None => self.key_of_same(name),
        }
    }
}

/// `name` in NFC (UAX #15).
fn composed(name: &str) -> Cow<'_, str> {
    use unicode_normalization::UnicodeNormalization;
    if name.is_ascii() { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

/// `name` in the form in which names that look alike are one: NFC (UAX #15), and the no-break spaces that some systems put into
/// file names as the plain space that people type.
pub(crate) fn folded(name: &str) -> Cow<'_, str> {
    let composed = composed(name);
    if composed.contains(is_no_break_space) { Cow::Owned(composed.replace(is_no_break_space, " ")) } else { composed }
}

/// What file names hold where people type a space.
pub(crate) fn is_no_break_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{202f}')
}

/// Names that reach a file of that name and nothing else: no stream (`:`), no wildcard, no trailing dot or space that the system
/// would cut off, no device. Source: "Naming Files, Paths, and Namespaces" in the Win32 documentation.
fn is_windows_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(' ').to_ascii_uppercase();
    !name.ends_with(['.', ' '])
        && !name.contains(|c: char| c < ' ' || matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*' | '\\' | '/'))
        && !is_windows_device(&stem)
}

/// The superscript digits count as digits in device names, see CVE-2024-51756.
fn is_windows_device(stem: &str) -> bool {
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|rest| {
            let mut rest = rest.chars();
            matches!((rest.next(), rest.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
        })
    };
    matches!(stem, "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$") || numbered("COM") || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_refuses_devices_streams_and_trimmed_names() {
        for name in
            ["NUL", "nul.txt", "con", "COM1.log", "com²", "LPT9", "CONIN$", "nul .txt", "a:b", "a.", "a ", "a?", "a\u{1}b"]
        {
            assert!(PathStyle::Windows.check_name(name).is_err(), "{name:?}");
        }
        for name in ["null", "com", "com10", "console", "a.b", " a", "naïve.txt", "LPTx"] {
            assert!(PathStyle::Windows.check_name(name).is_ok(), "{name:?}");
        }
    }

    /// Catches: a stream, a device or a trimmed name that comes from a link or a listing, where no caller typed it.
    #[test]
    fn names_from_the_disk_are_taken_as_they_are_or_not_at_all() {
        for name in ["NUL", "con.txt", "a:b", "a::$DATA", "a.", "a ", "a. .", "com\u{b9}", "a\\b", ""] {
            let name = OsStr::new(name);
            assert!(PathStyle::Windows.check_os_name(name).is_err(), "{name:?}");
            assert!(PathStyle::Unix.check_os_name(name).is_ok(), "{name:?}");
        }
        for name in ["a", ".env", "GIT~1", "caf\u{e9}", " a"] {
            assert!(PathStyle::Windows.check_os_name(OsStr::new(name)).is_ok(), "{name:?}");
        }
    }

    /// WIN-12: the rules of one platform are not applied on the other.
    #[test]
    fn unix_takes_what_windows_refuses() {
        for name in ["NUL", "a:b", "name.", "a ", "a\\b"] {
            assert!(PathStyle::Unix.check_name(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn names_have_255_bytes_at_most() {
        assert!(PathStyle::Unix.check_name(&"n".repeat(255)).is_ok());
        assert!(PathStyle::Unix.check_name(&"n".repeat(256)).is_err());
        assert!(PathStyle::Unix.check_name(&"é".repeat(128)).is_err());
        assert!(PathStyle::Windows.check_name(&"é".repeat(255)).is_ok());
    }

    /// Catches: a root that is not found by a name which is its own.
    #[test]
    fn names_that_are_one_have_one_key() {
        let names = [
            "a",
            "A",
            "caf\u{e9}",
            "cafe\u{301}",
            "CAF\u{c9}",
            "\u{212a}",
            "k",
            "K",
            "\u{130}",
            "i\u{307}",
            "\u{3a3}",
            "\u{3c3}",
        ];
        for style in [PathStyle::Unix, PathStyle::Windows] {
            for (one, other) in names.iter().flat_map(|one| names.map(|other| (OsStr::new(*one), OsStr::new(other)))) {
                let said = (style.same_os_name(one, other), style.like_os_name(one, other));
                let keys =
                    (style.key_of_same(one) == style.key_of_same(other), style.key_of_like(one) == style.key_of_like(other));
                assert_eq!(keys, said, "{style:?} {one:?} {other:?}");
            }
        }
    }

    #[test]
    fn routing_sees_through_unicode_forms() {
        assert!(PathStyle::Unix.like_name("caf\u{e9}", "cafe\u{301}"));
        assert!(!PathStyle::Unix.same_name("caf\u{e9}", "cafe\u{301}"));
        assert!(!PathStyle::Unix.like_name("Cafe", "cafe"));
        assert!(!PathStyle::Unix.like_name("a b", "a\u{a0}b"));
        assert!(PathStyle::Windows.like_name("C\u{c9}", "cE\u{301}"));
    }
}
