//! Globs over the paths of a walk, with the meaning that the reference server's users rely on: `*`, `?` and `[a-z]` stand within a
//! name, `**` for any number of names, `{a,b}` for one of several; names that begin with a dot are names. A slash at the end means
//! directories only, as in lists of files to ignore.
//!
//! May touch: nothing. A glob becomes a regular expression without counts, so that matching is linear and its size is bounded.

mod braces;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use cap_roots::{Error, Result};
use regex_automata::meta::Regex;
use unicode_normalization::UnicodeNormalization;

/// Longest glob, in bytes.
const LENGTH: usize = 1_024;
/// Most bytes of all globs of one argument, once their braces are written out.
const WRITTEN_OUT: usize = 256 << 10;
/// What is wrong with a bracket.
const UNCLOSED: &str = r"has a [ without its ]; write \[ for the character itself";
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
        let (mut all, mut directories, mut length) = (Vec::new(), Vec::new(), 0);
        for glob in globs {
            let meant = meant(glob, fold).map_err(|what| wrong(glob, what).advise("correct the glob"))?;
            length += meant.iter().map(String::len).sum::<usize>();
            if length > WRITTEN_OUT {
                return Err(wrong(glob, "or one before it has too many braces").advise("give fewer or simpler globs"));
            }
            for one in &meant {
                let pattern = pattern(one, anchor.floats(glob)).map_err(|what| wrong(glob, what).advise("correct the glob"))?;
                if one.ends_with('/') { directories.push(pattern) } else { all.push(pattern) }
            }
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

/// The globs without braces that a glob stands for, in the form in which they are compared.
fn meant(glob: &str, fold: bool) -> Parsed<Vec<String>> {
    if glob.len() > LENGTH {
        return Err("is longer than 1024 bytes");
    }
    if glob.starts_with('!') {
        return Err(
            r"begins with !, which would turn it round; leave names out with excludePatterns, or write \! for such a name",
        );
    }
    let bare = glob.strip_prefix("./").unwrap_or(glob);
    if bare.trim_matches('/').is_empty() {
        return Err("is empty");
    }
    let mut meant = braces::written_out(&form(bare, fold))?;
    // Braces may leave nothing of one, which then fits nothing.
    meant.retain(|one| !one.trim_matches('/').is_empty());
    Ok(meant)
}

/// `glob`: without braces that mean anything.
fn pattern(glob: &str, floats: bool) -> Parsed<String> {
    let bare = glob.trim_matches('/');
    let mut parser = Parser { rest: bare.chars().peekable(), out: String::from(if floats { r"\A(?s:.*/)?" } else { r"\A" }) };
    parser.all()?;
    Ok(parser.out + r"\z")
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

impl Parser<'_> {
    fn all(&mut self) -> Parsed<()> {
        // Whether a name may start here.
        let mut starts = true;
        while let Some(c) = self.rest.next() {
            match c {
                '*' => self.stars(starts),
                '?' => self.out.push_str("[^/]"),
                '[' => self.class()?,
                '\\' => {
                    let escaped = self.rest.next().ok_or("ends with a backslash")?;
                    self.literal(escaped);
                }
                '/' => self.slash(),
                c => self.literal(c),
            }
            starts = c == '/';
        }
        Ok(())
    }

    /// Several are one, as in paths.
    fn slash(&mut self) {
        while self.rest.next_if_eq(&'/').is_some() {}
        self.out.push('/');
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '/' | '_' | '<' | '>') && !c.is_ascii_control() {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    /// `**` as a whole name is any number of names; anything else is any text within a name.
    fn stars(&mut self, starts: bool) {
        let mut count = 1;
        while self.rest.next_if_eq(&'*').is_some() {
            count += 1;
        }
        let next = self.rest.peek().copied();
        let ends = next.is_none_or(|c| c == '/');
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
                self.stars(true);
            }
        }
    }

    fn class(&mut self) -> Parsed<()> {
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
}
