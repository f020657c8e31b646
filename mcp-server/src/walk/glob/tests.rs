//! Globs of callers: what they fit, what they cost, what is refused.

use super::*;

/// A path that ends with a slash is that of a directory.
fn fits(glob: &str, path: &str) -> bool {
    let globs = Globs::of("pattern", &[glob], Anchor::PlainNamesFloat, false).unwrap();
    globs.fits(Path::new(path.trim_end_matches('/')), path.ends_with('/'))
}

/// Catches: a glob over the last name only, a star that goes over slashes, names with a dot left out, bytes counted as characters.
#[test]
fn globs_mean_what_users_rely_on() {
    for (glob, path, want) in [
        ("*.md", "a.md", true),
        ("*.md", "docs/a.md", false),
        ("**/*.md", "a.md", true),
        ("**/*.md", "docs/deep/.b.md", true),
        ("docs/**", "docs/a/b", true),
        ("docs/**", "docs", false),
        ("**", ".a/b", true),
        ("a/**/b", "a/b", true),
        ("a/**/b", "a/x/y/b", true),
        ("a/**/b", "a/xb", false),
        ("**/**/b", "b", true),
        ("**/**", "b", true),
        ("a**b", "axb", true),
        ("a**b", "a/b", false),
        ("*", ".hidden", true),
        ("caf?", "café", true),
        ("caf?", "cafe\u{301}", true),
        ("caf[é]", "cafe\u{301}", true),
        ("a[+-9]b", "a/b", false),
        ("a[!x]b", "a/b", false),
        ("[]a]", "]", true),
        ("[^a]x", "bx", true),
        ("[a-c]x", "dx", false),
        ("[a-]", "-", true),
        ("[&&a]", "&", true),
        ("*.{js,ts}", "a.ts", true),
        ("*.{js,{ts,tsx}}", "a.tsx", true),
        ("{**/a,b}", "x/a", true),
        ("a{,.bak}", "a", true),
        ("{src/,lib/}**", "lib/a/b", true),
        ("{a,**}/b", "b", true),
        ("**{/a,/b}", "x/y/b", true),
        ("{**,b}*", "x/y", true),
        ("{,x}", "y", false),
        (r"docs\/**", "docs/a/b", true),
        ("{a}", "{a}", true),
        ("a}", "a}", true),
        (r"\[x\]", "[x]", true),
        (r"\!x", "!x", true),
        ("a b(1).txt", "a b(1).txt", true),
        ("users.go", "a/b/users.go", true),
        ("users.go", "a/b/xusers.go", false),
        ("/users.go", "a/users.go", false),
        ("./users.go", "users.go", true),
        ("a/users.go", "x/a/users.go", false),
        ("docs/", "docs/", true),
        ("docs/", "docs", false),
        ("docs/", "x/docs/", true),
        ("./docs/", "x/docs/", false),
        ("*/", "docs/", true),
        ("*/", "a.md", false),
        ("**/", "x/docs/", true),
        ("**/", "x/a.md", false),
        ("docs", "docs/", true),
        ("docs//a.md", "docs/a.md", true),
        ("**//a.md", "x/a.md", true),
        ("docs/**//a.md", "docs/a.md", true),
        (".//docs//*", "docs/a", true),
        ("//docs", "docs", true),
        (r"*\(1).txt", "a (1).txt", true),
        ("[*](1).txt", "*(1).txt", true),
        ("a+(", "a+(", true),
        ("*\n*", "a\nb", true),
        ("x.y", "xay", false),
    ] {
        assert_eq!(fits(glob, path), want, "{glob:?} {path:?}");
    }
}

#[test]
fn without_a_star_what_is_left_out_floats() {
    for (glob, path, want) in
        [("docs", "x/docs", true), ("a/b", "x/a/b", true), ("*.txt", "x/a.txt", false), ("/docs", "x/docs", false)]
    {
        let globs = Globs::of("excludePatterns", &[glob], Anchor::WithoutStarFloats, false).unwrap();
        assert_eq!(globs.fits(Path::new(path), false), want, "{glob:?} {path:?}");
    }
}

#[test]
fn case_is_folded_if_asked() {
    let globs = Globs::of("pattern", &["**/*STRASSE[A-Z]É*"], Anchor::PlainNamesFloat, true).unwrap();
    assert!(globs.fits(Path::new("x/HauptstrasseQe\u{301}.PDF"), false));
    assert!(!fits("*A*", "a"));
}

/// Catches: a malformed glob that fits nothing and is answered with `No matches found`.
#[test]
fn malformed_globs_are_errors() {
    let long = "a".repeat(LENGTH + 1);
    let deep = "{a,".repeat(braces::NESTED + 1) + &"}".repeat(braces::NESTED + 1);
    let many = "{a,b}".repeat(9);
    for glob in [
        "[",
        "[a",
        "[]",
        "{a,b",
        "a\\",
        "",
        "/",
        "!a",
        "+(a|b)",
        "*(foo)",
        "**(foo)",
        "?(foo)",
        "x!(foo)",
        "x/@(foo).c",
        "{a,+(b)}",
        "[z-a]",
        "[[:alpha:]]",
        "{1..3}",
        &long,
        &deep,
        &many,
    ] {
        let error = Globs::of("pattern", &[glob], Anchor::PlainNamesFloat, false).unwrap_err();
        assert_eq!(error.code(), "invalid-argument", "{glob}");
        assert!(error.to_string().contains("\"pattern\", the glob"), "{error}");
    }
}

/// Catches: text of a glob that the regular expression takes for its own.
#[test]
fn every_character_is_itself() {
    for c in ('\u{1}'..'\u{250}').filter(|c| !"*?[{\\/!".contains(*c)) {
        assert!(fits(&format!("a{c}b"), &format!("a{c}b")), "{c:?}");
        assert!(fits(&format!("a\\{c}b"), &format!("a{c}b")), "{c:?}");
        assert!(!fits(&format!("a{c}b"), "axyb"), "{c:?}");
        if !"^]".contains(c) {
            assert!(fits(&format!("a[{c}]b"), &format!("a{c}b")) && !fits(&format!("a[{c}]b"), "a/b"), "{c:?}");
        }
    }
}
