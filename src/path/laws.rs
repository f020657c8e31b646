//! Laws of parsing, over generated texts and both path styles.

#[cfg(unix)]
use std::ffi::OsStr;

use proptest::prelude::*;

use crate::path::host::HostPath;
use crate::path::location::Location;
use crate::path::relative::{RelPath, Step};
use crate::path::style::PathStyle;
use crate::path::uri::{self, RootName};

/// Texts out of pieces that mean something to a parser somewhere.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "/",
            "\\",
            ".",
            "..",
            "a",
            "B",
            "~",
            ":",
            "C:",
            "%2e",
            "%2F",
            "%00",
            "%",
            "root://",
            "root://ws/",
            "file://",
            "?",
            "#",
            " ",
            "e\u{301}",
            "\u{e9}",
            "\u{202e}",
            "\0",
            "\n",
            "NUL",
            "com1",
            "server",
            "share",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn style() -> impl Strategy<Value = PathStyle> {
    // What is joined is taken apart by the rules of where it runs, and on Windows those have no Unix names.
    prop::sample::select(if cfg!(windows) { vec![PathStyle::Windows] } else { vec![PathStyle::Unix, PathStyle::Windows] })
}

fn same(a: &RelPath, b: &RelPath) -> bool {
    (a.as_os_str(), a.must_be_dir()) == (b.as_os_str(), b.must_be_dir())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    /// Reading what was read changes nothing: the joined steps are their own meaning.
    #[test]
    fn reading_is_idempotent(text in text(), style in style()) {
        if let Ok(path) = RelPath::parse(&text, style) {
            let joined = path.as_os_str().to_str().unwrap();
            let again = RelPath::parse(joined, style).unwrap();
            prop_assert_eq!(again.as_os_str(), path.as_os_str());
            prop_assert_eq!(again.must_be_dir(), path.must_be_dir() && path.steps().next_back().is_none_or(|last| last == Step::Parent));
        }
    }

    /// What reaches a system call: steps of one name each, no empty one, no `.`, no separator, no slash at either end.
    #[test]
    fn steps_are_single_names(text in text(), style in style()) {
        if let Ok(path) = RelPath::parse(&text, style) {
            for step in path.steps() {
                let Step::Name(name) = step else { continue };
                let name = name.to_str().unwrap();
                prop_assert!(!name.is_empty() && name != "." && name != ".." && !name.contains('/'));
                prop_assert!(style == PathStyle::Unix || !name.contains(['\\', ':']));
            }
            let joined = path.as_os_str().to_str().unwrap();
            prop_assert!(!joined.starts_with('/') && !joined.ends_with('/') && !joined.contains("//"));
        }
    }

    /// The `root://` form of any place means that place.
    #[test]
    fn text_forms_round_trip(text in text(), style in style()) {
        let name = RootName::parse("ws").unwrap();
        let path = match Location::parse(&text, style) {
            Ok(Location::Relative(path) | Location::Home(path) | Location::Named(_, path)) => path,
            Ok(Location::Host(_)) | Err(_) => return Ok(()),
        };
        let written = uri::write(&name, &path);
        prop_assert!(written.is_ascii() && !written.contains(|c: char| c.is_control() || c == ' '));
        let (named, read) = uri::parse(&written, style).unwrap();
        prop_assert_eq!(named, name.clone());
        prop_assert_eq!(read.as_os_str(), path.as_os_str());
        prop_assert_eq!(uri::write(&name, &read), written);
    }

    /// Every name that a Unix disk can hold has a form that means it.
    #[cfg(unix)]
    #[test]
    fn every_name_has_a_form(bytes in prop::collection::vec((1u8..).prop_map(|byte| if byte == b'/' { b'%' } else { byte }), 1..255)) {
        use std::os::unix::ffi::OsStrExt;
        let name = OsStr::from_bytes(&bytes);
        prop_assume!(name != "." && name != "..");
        let path = RelPath::single(name);
        let (_, read) = uri::parse(&uri::write(&RootName::parse("ws").unwrap(), &path), PathStyle::Unix).unwrap();
        prop_assert_eq!(read.as_os_str(), name);
    }

    /// TEXT-ROUTES-ONLY: below a prefix means the prefix joined with the rest, so nothing beside it matches.
    #[test]
    fn below_is_the_inverse_of_join(prefix in "(/[a-c]{1,2}){1,3}", rest in text()) {
        let style = PathStyle::host();
        let prefix = if cfg!(windows) { format!("C:{prefix}") } else { prefix };
        let prefix = HostPath::parse(&prefix, style).unwrap().unwrap();
        let Ok(rest) = RelPath::parse(&rest, style) else { return Ok(()) };
        let below = prefix.join(&rest).below(&prefix).unwrap();
        prop_assert!(same(&below, &rest) || rest.is_empty());
    }

    /// A text is one kind of location or an error, whatever it holds; never a panic, and no control character gets through.
    #[test]
    fn every_text_has_an_answer(text in any::<String>(), style in style()) {
        if let Ok(Location::Relative(path) | Location::Home(path)) = Location::parse(&text, style) {
            prop_assert!(!path.as_os_str().to_str().unwrap().contains(char::is_control));
        }
    }
}
