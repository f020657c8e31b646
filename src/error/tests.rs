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
