//! Rules: a glob over names with a ceiling of access, and where a directory stands in all of them.
//!
//! May touch: `access`, the error details. No I/O (PURE-CORE). Each pattern is an automaton over names: a directory stands in a set of its
//! states, and that set alone says what the pattern will match below. This is what lets `rename` compare two places exactly. Here is one
//! rule; `set` is all that hold in a root, and `automaton` their patterns as one.

mod automaton;
mod glob;
#[cfg(test)]
mod laws;
mod set;
#[cfg(test)]
mod table;

use std::sync::Arc;

use crate::access::Access;
use crate::error::Detail;
use crate::path::relative::{RelPath, Step};
use glob::{Piece, tokens};
pub(crate) use glob::{RESERVED_END, RESERVED_START, fold, is_reserved, may_alias, may_be_short_for_reserved};
pub(crate) use set::{Level, Rules, Sets};

/// Most names in one pattern: its states fit into one word.
const PIECES: usize = 62;
/// Longest pattern, in bytes.
const PATTERN_LIMIT: usize = 4095;

/// One pattern with its ceilings. Cheap to clone: a rule for all roots is in each of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    /// The pattern as the operator wrote it.
    glob: Arc<str>,
    pieces: Arc<[Piece]>,
    /// Where it stands at the top: a bit for each number of pieces that may be behind it.
    start: u64,
    dirs_only: bool,
    /// The ceiling of a name that matches.
    own: Access,
    /// The ceiling of everything below it.
    below: Access,
}

/// A pattern, and what it says where it matches.
pub(crate) type Shape<'a> = (&'a [Piece], bool, Access, Access);

impl Rule {
    /// Reads `glob`: `*`, `?`, `[...]` within a name, `**` alone as a name. Without a slash before its end it matches at any depth; with
    /// one, from the top. A slash at the end means directories only.
    pub(crate) fn parse(glob: &str, access: Access) -> Result<Self, Detail> {
        let refuse = |why| Err(Detail::Rule(why));
        if glob.len() > PATTERN_LIMIT {
            return Err(Detail::PathTooLong { limit: PATTERN_LIMIT });
        }
        if glob.contains(char::is_control) {
            return Err(Detail::Control);
        }
        if glob.contains('\\') {
            return refuse("names are separated by /; write a literal * as [*]");
        }
        if glob.contains(['{', '}']) {
            return refuse("{ and } have no meaning here; give one rule for each name, and ? for such a character");
        }
        if glob.trim() != glob {
            return refuse("a space at an end of it would be part of a name; write it as [ ]");
        }
        if glob.starts_with('!') {
            return refuse("a rule only takes away, so nothing can be excepted with !");
        }
        if glob == "~" || glob.starts_with("~/") {
            return refuse("a rule is written from the top of a root, not from the home directory");
        }
        let (text, dirs_only) = match glob.strip_suffix('/') {
            Some(text) => (text, true),
            None => (glob, false),
        };
        let anchored = text.contains('/');
        let text = text.strip_prefix('/').unwrap_or(text);
        let mut pieces = if anchored { Vec::new() } else { vec![Piece::Depth] };
        for name in text.split('/') {
            match name {
                "" => return refuse("it has an empty name"),
                "." | ".." => return refuse("it has . or .. as a name"),
                "**" => pieces.push(Piece::Depth),
                name if name.contains("**") => return refuse("** stands alone between slashes"),
                name => pieces.push(Piece::Name(
                    tokens(name).ok_or(Detail::Rule("a [ has no ], holds nothing, or a range that goes backwards"))?.into(),
                )),
            }
        }
        pieces.dedup_by(|a, b| *a == Piece::Depth && *b == Piece::Depth);
        // `X/**` is about what is below X; X itself must stay what it is, or another X could be put there.
        let inside = pieces.pop_if(|last| *last == Piece::Depth).is_some();
        if pieces.len() > PIECES {
            return refuse("it has too many names");
        }
        let own = if inside { access.max(Access::Read) } else { access };
        Ok(Self { glob: glob.into(), pieces: pieces.into(), start: 1, dirs_only: dirs_only && !inside, own, below: access })
    }

    /// A rule for one place: its own ceiling, and that of everything below it. `None`: too deep to be told.
    pub(crate) fn place(names: &RelPath, own: Access, below: Access) -> Option<Self> {
        let pieces = literal(names);
        let glob = format!("/{}", names.as_os_str().to_string_lossy()).into();
        (pieces.len() <= PIECES).then(|| Self { glob, pieces: pieces.into(), start: 1, dirs_only: false, own, below })
    }

    /// The same rule of a root that lies at `names` below another, seen from that one. `None`: too deep to be told.
    pub(crate) fn seen_from_above(&self, names: &RelPath) -> Option<Self> {
        let mut pieces = literal(names);
        pieces.extend(self.pieces.iter().cloned());
        let depth = if self.is_at_any_depth() { "**/" } else { "" };
        let glob = format!("/{}/{depth}{}", names.as_os_str().to_string_lossy(), self.glob.trim_start_matches('/'));
        (pieces.len() <= PIECES).then(|| Self { glob: glob.into(), pieces: pieces.into(), ..self.clone() })
    }

    /// Two rules of one shape match alike from the same state on.
    pub(crate) fn shape(&self) -> Shape<'_> {
        self.left_behind(0)
    }

    /// What is left of it behind its first pieces, and what it says where that matches.
    fn left_behind(&self, pieces: usize) -> Shape<'_> {
        (self.pieces.get(pieces..).unwrap_or_default(), self.dirs_only, self.own, self.below)
    }

    pub(crate) fn is_at_any_depth(&self) -> bool {
        self.pieces.first() == Some(&Piece::Depth)
    }

    pub(crate) fn access(&self) -> Access {
        self.below.min(self.own)
    }

    pub(crate) fn glob(&self) -> &str {
        &self.glob
    }
}

fn literal(names: &RelPath) -> Vec<Piece> {
    let name = |step| match step {
        Step::Name(name) => Some(Piece::Name(glob::literal(&name.to_string_lossy()).collect())),
        Step::Parent => None,
    };
    names.steps().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::style::PathStyle;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text, PathStyle::Unix).unwrap()
    }

    fn rules(globs: &[(&str, Access)]) -> Rules {
        Rules::new(globs.iter().map(|(glob, access)| Rule::parse(glob, *access).unwrap()), Access::Write)
    }

    fn ceilings(glob: &str, name: &str) -> (Access, Access) {
        let level = rules(&[(glob, Access::None)]).level(&path(name));
        (level.as_file, level.as_dir)
    }

    /// Written out by hand: what a glob covers, and what it does not.
    #[test]
    fn what_globs_cover() {
        let (none, read, all) = (Access::None, Access::Read, Access::Write);
        for (glob, name, file, dir) in [
            (".env", ".env", none, none),
            (".env", "a/b/.env", none, none),
            (".env", "a/.env/deep/er", none, none),
            (".env", ".envrc", all, all),
            ("/.env", "a/.env", all, all),
            ("a/b", "a/b", none, none),
            ("a/b", "x/a/b", all, all),
            ("**/a/b", "x/a/b/c", none, none),
            ("a/**/b", "a/b", none, none),
            ("a/**/b", "a/x/y/b", none, none),
            ("a/**/b", "b", all, all),
            ("a/", "a", all, none),
            ("a/", "x/a/f", none, none),
            ("a/**", "a", read, read),
            ("a/**", "a/f", none, none),
            ("a/**", "ab/f", all, all),
            ("**", "anything", none, none),
        ] {
            assert_eq!(ceilings(glob, name), (file, dir), "{glob} {name}");
        }
    }

    #[test]
    fn the_strictest_rule_holds() {
        let rules = rules(&[("a", Access::Read), ("a/b", Access::Write), ("*/c", Access::List)]);
        let ceiling = |text| rules.level(&path(text)).as_file;
        assert_eq!(
            [ceiling("a/b"), ceiling("a/c"), ceiling("x/c"), ceiling("x/d")],
            [Access::Read, Access::List, Access::List, Access::Write]
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for glob in ["", "/", "//a", "a//b", "a/../b", "./a", "!a", "a\\b", "~/a", "a**", "**a/b", "[", "a/[/]", "a\nb"] {
            assert!(Rule::parse(glob, Access::None).is_err(), "{glob:?}");
        }
        assert!(Rule::parse(&"a/".repeat(PIECES + 1), Access::None).is_err());
    }

    /// Catches: comparing only what matched so far, which lets a prepared directory be renamed into a rule.
    #[test]
    fn places_are_alike_where_rules_match_the_same_below() {
        let rules = rules(&[("**/.git/hooks/**", Access::Read), (".env", Access::None), ("a/secret", Access::None)]);
        let alike = |one: &str, other: &str| rules.stand_alike(&rules.level(&path(one)), &rules, &rules.level(&path(other)));
        assert!(alike("x", "y") && alike("x", "x/y/z"));
        assert!(!alike("h", ".git") && !alike("a", "b") && !alike("x/.git", "x/git"));
        assert!(alike("b/.git", "c/.GIT"));
    }

    /// A root inside another knows the other's rules from where it lies, and they are the same rules.
    #[test]
    fn rules_are_seen_from_inside_and_from_above() {
        let outer = rules(&[("a/b/c", Access::None), (".env", Access::None)]);
        let (seen, ceiling) = outer.seen_from_inside(&path("a/b"));
        let inner = Rules::new(seen, ceiling);
        assert_eq!((inner.level(&path("c")).as_file, inner.level(&path("x/.env")).as_file), (Access::None, Access::None));
        assert_eq!(inner.level(&path("b/c")).as_file, Access::Write);
        assert!(inner.stand_alike(&inner.level(&path("x")), &outer, &outer.level(&path("y"))));
        let above = Rule::parse("c", Access::Read).unwrap().seen_from_above(&path("in")).unwrap();
        let above = Rules::new(vec![above], Access::Write);
        assert_eq!((above.level(&path("in/x/c")).as_file, above.level(&path("c")).as_file), (Access::Read, Access::Write));
        assert_eq!(outer.seen_from_inside(&path("x/.env")).1, Access::None);
    }
}
