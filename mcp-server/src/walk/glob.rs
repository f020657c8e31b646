//! Globs over the paths of a walk, with the meaning that the reference server's users rely on: `*`, `?` and `[a-z]` stand within a
//! name, `**` for any number of names, `{a,b}` for one of several; names that begin with a dot are names. A slash at the end means
//! directories only, as in lists of files to ignore.
//!
//! May touch: nothing. A glob becomes a regular expression without counts, so that matching is linear and its size is bounded.

use std::borrow::Cow;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use cap_roots::{Error, Result};
use regex_automata::meta::Regex;
use unicode_normalization::UnicodeNormalization;

/// Longest glob, in bytes.
const LENGTH: usize = 1_024;
/// Most braces one inside the other.
const NESTED: usize = 8;
/// Largest program of all globs of one argument.
const PROGRAM: usize = 4 << 20;

/// Which globs fit at any depth, and which from the directory that is walked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// A plain name fits at any depth; with a wildcard or a slash it is anchored.
    PlainNamesFloat,
    /// What has no `*` fits at any depth.
    WithoutStarFloats,
    /// What has no slash fits at any depth.
    WithoutSlashFloats,
}

impl Anchor {
    fn floats(self, glob: &str) -> bool {
        // One at the end says what kind of entry is meant, and not where it lies.
        let glob = glob.trim_end_matches('/');
        match self {
            Anchor::PlainNamesFloat => !glob.contains(['*', '?', '[', '{', '/', '\\']),
            // A slash at the front anchors, as in lists of files to ignore.
            Anchor::WithoutSlashFloats => !glob.contains('/'),
            Anchor::WithoutStarFloats => !glob.contains('*') && !glob.starts_with('/'),
        }
    }
}

/// Some globs as one. Those that end with a slash fit directories only.
#[derive(Clone, Debug)]
pub(crate) struct Globs {
    all: Option<Regex>,
    directories: Option<Regex>,
    fold: bool,
}

impl Globs {
    /// `argument` names them in an error; `fold`: whether case counts not.
    ///
    /// # Errors
    /// `invalid-argument` that says what is wrong with which glob.
    pub(crate) fn of(argument: &str, globs: &[&str], anchor: Anchor, fold: bool) -> Result<Self> {
        let wrong = |glob: &str, what: &str| Error::invalid_argument(format!("in {argument:?}, the glob {glob:?} {what}"));
        let (mut all, mut directories) = (Vec::new(), Vec::new());
        for glob in globs {
            let pattern = pattern(glob, anchor, fold).map_err(|what| wrong(glob, what).advise("correct the glob"))?;
            if glob.ends_with('/') { directories.push(pattern) } else { all.push(pattern) }
        }
        let too_much =
            || wrong(globs.first().unwrap_or(&""), "or one behind it cannot be read").advise("give fewer or simpler globs");
        let built = |patterns| built(patterns).map_err(|_| too_much());
        Ok(Self { all: built(&all)?, directories: built(&directories)?, fold })
    }

    /// Whether one of them fits a path below the directory that is walked. Bytes that are no text count as one unknown character.
    pub(crate) fn fits(&self, path: &Path, is_dir: bool) -> bool {
        let fits = |regex: &Option<Regex>| {
            regex.as_ref().is_some_and(|regex| regex.is_match(&*form(&path.to_string_lossy(), self.fold)))
        };
        fits(&self.all) || (is_dir && fits(&self.directories))
    }
}

fn built(patterns: &[String]) -> std::result::Result<Option<Regex>, Box<regex_automata::meta::BuildError>> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let config = Regex::config().nfa_size_limit(Some(PROGRAM)).which_captures(regex_automata::nfa::thompson::WhichCaptures::None);
    Regex::builder().configure(config).build_many(patterns).map(Some).map_err(Box::new)
}

/// Text as it is compared: in one Unicode form, whatever the disk and the caller have, and in one case if that does not count.
fn form(text: &str, fold: bool) -> Cow<'_, str> {
    match (text.is_ascii(), fold) {
        (true, false) => Cow::Borrowed(text),
        (true, true) => Cow::Owned(text.to_ascii_lowercase()),
        (false, false) => Cow::Owned(text.nfc().collect()),
        (false, true) => Cow::Owned(text.nfc().flat_map(char::to_lowercase).nfc().collect()),
    }
}

type Parsed<T> = std::result::Result<T, &'static str>;

fn pattern(glob: &str, anchor: Anchor, fold: bool) -> Parsed<String> {
    if glob.len() > LENGTH {
        return Err("is longer than 1024 bytes");
    }
    if glob.starts_with('!') {
        return Err(
            r"begins with !, which would turn it round; leave names out with excludePatterns, or write \! for such a name",
        );
    }
    let floats = anchor.floats(glob);
    let bare = glob.strip_prefix("./").unwrap_or(glob).trim_end_matches('/');
    let bare = bare.trim_start_matches('/');
    if bare.is_empty() {
        return Err("is empty");
    }
    let formed = form(bare, fold);
    let mut parser = Parser { rest: formed.chars().peekable(), out: String::from(if floats { r"\A(?s:.*/)?" } else { r"\A" }) };
    parser.sequence(0, true)?;
    Ok(parser.out + r"\z")
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

impl Parser<'_> {
    /// Up to the end, or in braces up to the comma or brace that ends it, which is left. `starts`: whether a name may start here.
    fn sequence(&mut self, nested: usize, mut starts: bool) -> Parsed<()> {
        while let Some(&c) = self.rest.peek() {
            if nested > 0 && matches!(c, ',' | '}') {
                return Ok(());
            }
            self.rest.next();
            if matches!(c, '*' | '?' | '+' | '@' | '!') && self.is_group() {
                return Err(r"has a group such as +(a|b), which is not known; write {a,b}, or \( for the character itself");
            }
            match c {
                '*' => self.stars(nested, starts),
                '?' => self.out.push_str("[^/]"),
                '[' => self.class()?,
                '{' => self.braces(nested, starts)?,
                '\\' => {
                    let escaped = self.rest.next().ok_or("ends with a backslash")?;
                    self.literal(escaped);
                }
                '/' => self.slash(),
                c => self.literal(c),
            }
            starts = c == '/';
        }
        if nested > 0 { Err("has a { without its }") } else { Ok(()) }
    }

    /// Several are one, as in paths.
    fn slash(&mut self) {
        while self.rest.next_if_eq(&'/').is_some() {}
        self.out.push('/');
    }

    /// Whether a group in parentheses follows.
    fn is_group(&self) -> bool {
        let mut ahead = self.rest.clone().skip_while(|c| *c == '*');
        ahead.next() == Some('(') && ahead.any(|c| c == ')')
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '/' | '_' | '<' | '>') && !c.is_ascii_control() {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    /// `**` as a whole name is any number of names; anything else is any text within a name.
    fn stars(&mut self, nested: usize, starts: bool) {
        let mut count = 1;
        while self.rest.next_if_eq(&'*').is_some() {
            count += 1;
        }
        let next = self.rest.peek().copied();
        let ends = next.is_none_or(|c| c == '/' || (nested > 0 && matches!(c, ',' | '}')));
        if count < 2 || !starts || !ends {
            self.out.push_str("[^/]*");
        } else if self.rest.next_if_eq(&'/').is_none() {
            self.out.push_str("(?s:.+)");
        } else {
            // The slash is a part of it, so that there may be no name at all.
            while self.rest.next_if_eq(&'/').is_some() {}
            self.out.push_str("(?s:.*/)?");
            if let Some('*') = self.rest.peek() {
                self.rest.next();
                self.stars(nested, true);
            }
        }
    }

    fn class(&mut self) -> Parsed<()> {
        const UNCLOSED: &str = r"has a [ without its ]; write \[ for the character itself";
        self.out.push_str("[[");
        if self.rest.next_if(|c| matches!(c, '!' | '^')).is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let mut from = self.rest.next().ok_or(UNCLOSED)?;
            match from {
                ']' if !first => break,
                '[' if self.rest.peek() == Some(&':') => return Err("has a named class such as [:alpha:], which is not known"),
                '\\' => from = self.rest.next().ok_or(UNCLOSED)?,
                _ => {}
            }
            first = false;
            self.member(from);
            let mut ahead = self.rest.clone();
            if ahead.next() == Some('-') && ahead.peek().is_some_and(|c| *c != ']') {
                self.rest.next();
                let mut to = self.rest.next().ok_or(UNCLOSED)?;
                if to == '\\' {
                    to = self.rest.next().ok_or(UNCLOSED)?;
                }
                if to < from {
                    return Err("has a range in [ ] that ends before it begins");
                }
                self.out.push('-');
                self.member(to);
            }
        }
        // Never the slash between two names.
        self.out.push_str("]&&[^/]]");
        Ok(())
    }

    fn member(&mut self, c: char) {
        if c.is_ascii_punctuation() && !matches!(c, '<' | '>' | '_') {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    /// `{a,b}`; without a comma the braces are characters.
    fn braces(&mut self, nested: usize, starts: bool) -> Parsed<()> {
        if nested >= NESTED {
            return Err("has too many braces one inside the other");
        }
        let at = self.out.len();
        self.out.push_str("(?:");
        let mut several = false;
        let inner = self.rest.clone();
        loop {
            self.sequence(nested + 1, starts)?;
            match self.rest.next() {
                Some(',') => {
                    several = true;
                    self.out.push('|');
                }
                _ => break,
            }
        }
        self.out.push(')');
        if several {
            return Ok(());
        }
        let text: String = inner.take_while(|c| *c != '}').collect();
        if text.split_once("..").is_some_and(|(from, to)| !from.is_empty() && !to.is_empty() && !text.contains('/')) {
            return Err("has a range in { }, which is not known; list what is meant, as in {1,2,3}");
        }
        self.out.insert_str(at, r"\{");
        self.out.push_str(r"\}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
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
        let deep = "{a,".repeat(NESTED + 1) + &"}".repeat(NESTED + 1);
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
}
