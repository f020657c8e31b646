//! The forms in which a caller may name a place.
//!
//! May touch: the rest of `path`, the error type. No I/O.

use crate::error::{Detail, Error, ErrorKind};
use crate::path::PATH_LIMIT;
use crate::path::file_uri;
use crate::path::host::HostPath;
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;
use crate::path::uri::{self, RootName};

/// A parsed path argument. It names a place and grants nothing.
pub(crate) enum Location {
    /// An absolute host path, plain or as a `file:` URI.
    Host(HostPath),
    /// `~` or `~/...`: below the home directory of whoever runs the program.
    Home(RelPath),
    /// Relative to the first root.
    Relative(RelPath),
    /// `root://NAME/relative`.
    Named(RootName, RelPath),
}

impl Location {
    /// Reads `text` by the rules of `style`.
    pub(crate) fn parse(text: &str, style: PathStyle) -> Result<Self, Error> {
        if uri::is_root_uri(text) {
            let (name, path) = uri::parse(text, style).map_err(|detail| Error::detailed(ErrorKind::InvalidUri, detail))?;
            return Ok(Location::Named(name, path));
        }
        if file_uri::is_file_uri(text) {
            let path = file_uri::parse(text, style).map_err(|detail| Error::detailed(ErrorKind::InvalidUri, detail))?;
            return Ok(Location::Host(path));
        }
        Self::parse_plain(text, style).map_err(|detail| Error::detailed(ErrorKind::InvalidPath, detail))
    }

    fn parse_plain(text: &str, style: PathStyle) -> Result<Self, Detail> {
        if text.is_empty() {
            return Err(Detail::Empty);
        }
        if text.len() > PATH_LIMIT {
            return Err(Detail::PathTooLong { limit: PATH_LIMIT });
        }
        // Most texts are ASCII, of which bytes tell.
        if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            if text.contains('\0') {
                return Err(Detail::Nul);
            }
            if text.contains(char::is_control) {
                return Err(Detail::Control);
            }
        }
        if let Some(rest) = text.strip_prefix('~')
            && (rest.is_empty() || rest.starts_with(|c| style.is_separator(c)))
        {
            return Ok(Location::Home(RelPath::parse(rest, style)?));
        }
        Ok(match HostPath::parse(text, style)? {
            Some(path) => Location::Host(path),
            None => Location::Relative(RelPath::parse(text, style)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str, style: PathStyle) -> &'static str {
        match Location::parse(text, style) {
            Ok(Location::Host(_)) => "host",
            Ok(Location::Home(_)) => "home",
            Ok(Location::Relative(_)) => "relative",
            Ok(Location::Named(..)) => "named",
            Err(error) => error.code(),
        }
    }

    #[test]
    fn forms_are_told_apart() {
        for (text, unix, windows) in [
            ("a/b", "relative", "relative"),
            (".", "relative", "relative"),
            ("/a", "host", "invalid-path"),
            (r"C:\a", "relative", "host"),
            ("~", "home", "home"),
            ("~/a", "home", "home"),
            ("~a", "relative", "relative"),
            ("./~", "relative", "relative"),
            ("root://a/b", "named", "named"),
            ("root:/a", "relative", "invalid-path"),
            ("", "invalid-path", "invalid-path"),
            ("a\0b", "invalid-path", "invalid-path"),
            ("a\u{7f}b", "invalid-path", "invalid-path"),
            ("a\nb", "invalid-path", "invalid-path"),
            ("a\u{85}b", "invalid-path", "invalid-path"),
            ("root://a/b?c", "invalid-uri", "invalid-uri"),
            ("file:///a", "host", "invalid-uri"),
            ("file:///c:/a", "invalid-uri", "host"),
            ("FILE://a", "invalid-uri", "invalid-uri"),
            ("file:/a", "invalid-uri", "invalid-uri"),
            ("file:a", "relative", "invalid-path"),
        ] {
            assert_eq!((form(text, PathStyle::Unix), form(text, PathStyle::Windows)), (unix, windows), "{text:?}");
        }
    }
}
