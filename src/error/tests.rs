//! The contract of errors: codes, faults, texts, and what stands for which failure of the system.

use super::*;

#[test]
fn codes_are_the_contract() {
    let codes: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
    let contract = "outside-roots no-roots root-absent not-granted protected revoked expired not-found already-exists \
        not-a-directory is-a-directory not-empty special-file hard-linked too-large limit invalid-path invalid-uri \
        invalid-argument symlink-loop not-utf8 cross-root no-match ambiguous conflict busy timeout cancelled stale-cursor \
        no-space os-denied unsupported io";
    assert_eq!(codes, contract.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn text_is_code_sentence_mend_on_one_line() {
    for kind in ErrorKind::ALL {
        let text = Error::from(*kind).about("a\nb\u{202e}c").to_string();
        assert!(text.starts_with(&format!("{}: ", kind.code())), "{text}");
        assert!(text.contains("; "), "{text}");
        assert!(text.contains(r#""a\u{a}b\u{202e}c""#), "{text}");
        assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
    }
}

#[test]
fn long_spellings_are_cut() {
    let text = Error::from(ErrorKind::NotFound).about("x".repeat(10_000)).to_string();
    assert!(text.len() < 1_000, "{}", text.len());
}

#[test]
fn messages_of_a_tool_are_escaped_and_cut() {
    for make in [Error::invalid_argument, Error::no_match, Error::ambiguous] as [fn(String) -> Error; 3] {
        let text = make(format!("a\nb\u{202e}{}", "x".repeat(10_000))).about("p").to_string();
        assert!(text.contains(r": a\u{a}b\u{202e}x"), "{text}");
        assert!(text.len() < 1_000, "{}", text.len());
    }
    assert_eq!(Error::no_match("m").kind(), ErrorKind::NoMatch);
    assert_eq!(Error::ambiguous("m").kind(), ErrorKind::Ambiguous);
}

/// Catches: a refusal of the untrusted side that is put down as the operator's fault, or the other way round.
#[test]
fn faults_are_told_apart() {
    let of = |fault| ErrorKind::ALL.iter().filter(|kind| kind.fault() == fault).map(|kind| kind.code()).collect::<Vec<_>>();
    assert_eq!(of(Fault::Misuse), ["no-roots"]);
    let environment = "root-absent limit conflict busy timeout cancelled no-space os-denied unsupported io";
    assert_eq!(of(Fault::Environment), environment.split(' ').collect::<Vec<_>>());
    assert!(of(Fault::Bug).is_empty());
    assert_eq!(Error::from(ErrorKind::NoRoots).fault(), Fault::Misuse);
}

/// Catches: an advice that sends a fenced process to look for what it can never open.
#[test]
fn behind_a_fence_the_mend_is_a_new_start() {
    let closed = Error::fenced();
    assert_eq!((closed.code(), closed.fault()), ("unsupported", Fault::Environment));
    let absent = Error::from(ErrorKind::RootAbsent).absent_since_start().about("root://gone/x");
    for (text, mend) in [(closed.to_string(), "start the process anew"), (absent.to_string(), "start the program anew")] {
        assert!(text.contains(mend) && text.lines().count() == 1, "{text}");
    }
}

#[test]
fn what_an_error_is_about() {
    let error = Error::not_granted("tree is switched off");
    assert_eq!((error.code(), error.root_name()), ("not-granted", None));
    assert!(error.to_string().starts_with("not-granted: tree is switched off"), "{error}");
}

/// ONE-MOUTH: what is in a detail from elsewhere is escaped. Catches: a detail that is two lines, that repeats another's words, or that
/// passes on control characters of a name.
#[test]
fn every_detail_is_one_plain_clause() {
    let odd = || "a\nb\u{202e}\u{1b}c".to_owned();
    let details = [
        Detail::Empty,
        Detail::Nul,
        Detail::Control,
        Detail::PathTooLong { limit: 7777 },
        Detail::NameTooLong { limit: 7777 },
        Detail::TooDeep { limit: 7777 },
        Detail::NotAbsolute,
        Detail::DeviceNamespace,
        Detail::WindowsName,
        Detail::UriName,
        Detail::UriEscape,
        Detail::UriSegment,
        Detail::UriCharacter,
        Detail::FileUriForm,
        Detail::FileUriHost,
        Detail::FileUriDrive,
        Detail::NotALink,
        Detail::LinkTextLeavesRoot,
        Detail::OtherMount,
        Detail::SeveralForms,
        Detail::NoEntry,
        Detail::Inside,
        Detail::NotRecorded,
        Detail::Rule("why"),
        Detail::TooManyBytes { limit: 7777 },
        Detail::DuplicateRoot { other: odd() },
        Detail::RootName,
        Detail::NestedRoot { outer: odd() },
        Detail::NotADirectoryRoot,
        Detail::NamedAsDirectory,
        Detail::HoldsKeptFile,
        Detail::TooWide,
        Detail::ThroughRoot,
        Detail::OsError(7777),
        Detail::Message(odd()),
    ];
    let texts: std::collections::BTreeSet<String> = details.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), details.len(), "two say the same");
    for (detail, text) in details.iter().map(|detail| (detail, detail.to_string())) {
        assert!(text.starts_with(|c: char| c.is_ascii_lowercase()) && !text.ends_with('.'), "{text}");
        assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
        let told = format!("{detail:?}").contains("7777");
        assert_eq!(told, text.contains("7777"), "the number is what helps: {text}");
        let whole = Error::detailed(ErrorKind::InvalidPath, detail.clone()).about("p").to_string();
        assert!(whole.contains(&text), "{whole}");
    }
}

/// Catches: a failure of the system under a code that sends the reader the wrong way (errno(3)).
#[test]
#[cfg(target_os = "linux")]
fn what_the_system_says_has_one_code() {
    let table = [
        (1, "os-denied"),
        (2, "not-found"),
        (5, "io"),
        (11, "busy"),
        (13, "os-denied"),
        (16, "busy"),
        (17, "already-exists"),
        (18, "unsupported"),
        (20, "not-a-directory"),
        (21, "is-a-directory"),
        (22, "io"),
        (23, "limit"),
        (24, "limit"),
        (26, "busy"),
        (27, "too-large"),
        (28, "no-space"),
        (30, "os-denied"),
        (35, "busy"),
        (36, "invalid-path"),
        (38, "unsupported"),
        (39, "not-empty"),
        (40, "conflict"),
        (95, "unsupported"),
        (110, "timeout"),
        (116, "io"),
        (122, "no-space"),
    ];
    for (number, code) in table {
        assert_eq!(Error::from_io(&std::io::Error::from_raw_os_error(number)).code(), code, "errno {number}");
    }
    let invalid = std::io::Error::new(std::io::ErrorKind::InvalidData, "not text");
    assert_eq!(Error::from_io(&invalid).code(), "not-utf8");
}

/// Catches: a refusal that a program which knows `std::io` alone takes for a missing file, or for a full disk.
#[test]
fn refusals_are_errors_of_the_standard_library() {
    use std::io::ErrorKind as Io;
    for kind in ErrorKind::ALL {
        let expected = match kind.code() {
            "not-found" | "root-absent" => Io::NotFound,
            "already-exists" => Io::AlreadyExists,
            "not-utf8" => Io::InvalidData,
            "invalid-path" | "invalid-uri" | "invalid-argument" => Io::InvalidInput,
            "outside-roots" | "not-granted" | "protected" | "os-denied" => Io::PermissionDenied,
            _ => Io::Other,
        };
        let error = std::io::Error::from(Error::from(*kind).about("p"));
        assert_eq!(error.kind(), expected, "{}", kind.code());
        assert!(error.to_string().starts_with(kind.code()), "{error}");
    }
}
