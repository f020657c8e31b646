//! Lengths to the byte, in every form of a path.
//!
//! Catches: a limit that is off by one, one that is asked of one length only, and one that is asked of another text than the one that counts.

use crate::error::Detail;
#[cfg(unix)]
use crate::path::NAME_LIMIT;
use crate::path::location::Location;
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;
use crate::path::{PATH_LIMIT, file_uri, uri};

const UNIX: PathStyle = PathStyle::Unix;
const LONG: Detail = Detail::PathTooLong { limit: PATH_LIMIT };

/// Names and slashes of `length` bytes.
fn text(length: usize) -> String {
    const NAME: usize = 128;
    let whole = (length - 1) / NAME;
    format!("{}{}", format!("{}/", "n".repeat(NAME - 1)).repeat(whole), "n".repeat(length - whole * NAME))
}

#[test]
fn paths() {
    let relative = |length| RelPath::parse(&text(length), UNIX).map(drop);
    let absolute = |length| Location::parse(&format!("/{}", text(length - 1)), UNIX).map(drop).map_err(|error| error.code());
    let named = |length| uri::parse(&format!("root://ws/{}", text(length)), UNIX).map(drop);
    let file = |length| file_uri::parse(&format!("file:///{}", text(length)), UNIX).map(drop);
    assert_eq!(
        (relative(PATH_LIMIT), absolute(PATH_LIMIT), named(PATH_LIMIT), file(PATH_LIMIT)),
        (Ok(()), Ok(()), Ok(()), Ok(()))
    );
    for longer in [PATH_LIMIT + 1, PATH_LIMIT + 2, PATH_LIMIT * 2] {
        assert_eq!(
            (relative(longer), absolute(longer), named(longer), file(longer)),
            (Err(LONG), Err("invalid-path"), Err(LONG), Err(LONG)),
            "{longer}"
        );
    }
}

/// Before a URI is read it may be three times as long, since each byte may be escaped.
#[test]
fn uris_before_they_are_read() {
    let dots = |count: usize| uri::parse(&format!("root://ws/{}", "./".repeat(count)), UNIX).map(drop);
    let fits = (PATH_LIMIT * 3 - "ws/".len()) / 2;
    assert_eq!(
        (fits * 2 + "ws/".len(), dots(fits), dots(fits + 1), dots(fits * 2)),
        (PATH_LIMIT * 3, Ok(()), Err(LONG), Err(LONG))
    );
    let slashes = |length: usize| file_uri::parse(&format!("file:///{}", "/".repeat(length - "file:///".len())), UNIX).err();
    assert_eq!(slashes(PATH_LIMIT * 3), Some(Detail::UriSegment));
    assert_eq!((slashes(PATH_LIMIT * 3 + 1), slashes(PATH_LIMIT * 6)), (Some(LONG), Some(LONG)));
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text() {
    let name = |length| uri::parse(&format!("root://ws/{}", "%ff".repeat(length)), UNIX).map(drop);
    let long = Err(Detail::NameTooLong { limit: NAME_LIMIT });
    assert_eq!((name(NAME_LIMIT), name(NAME_LIMIT + 1), name(NAME_LIMIT + 2)), (Ok(()), long.clone(), long));
}
