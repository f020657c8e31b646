//! Rules: a glob over names with a ceiling of access, and where a directory stands in all of them.
//!
//! May touch: `access`, the error details. No I/O (PURE-CORE). Each pattern is an automaton over names: a directory stands in a set of its
//! states, and that set alone says what the pattern will match below. This is what lets `rename` compare two places exactly.

mod automaton;
mod glob;
#[cfg(test)]
mod table;

use std::ffi::OsStr;

use crate::access::Access;
use crate::error::Detail;
use crate::path::relative::{RelPath, Step};
use automaton::{Automaton, Places};
use glob::{Piece, tokens};
pub(crate) use glob::{RESERVED_END, RESERVED_START, fold, is_reserved, may_alias};

/// Most names in one pattern: its states fit into one word.
const PIECES: usize = 62;
/// Longest pattern, in bytes.
const PATTERN_LIMIT: usize = 4095;

/// One pattern with its ceilings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The pattern as the operator wrote it.
    glob: String,
    pieces: Vec<Piece>,
    /// Where it stands at the top.
    start: u64,
    dirs_only: bool,
    /// The ceiling of a name that matches.
    own: Access,
    /// The ceiling of everything below it.
    below: Access,
}

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
                    tokens(name).ok_or(Detail::Rule("a [ has no ], holds nothing, or a range that goes backwards"))?,
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
        Ok(Self { glob: glob.to_owned(), pieces, start: 1, dirs_only: dirs_only && !inside, own, below: access })
    }

    /// A rule for one place: its own ceiling, and that of everything below it. `None`: too deep to be told.
    pub(crate) fn place(names: &RelPath, own: Access, below: Access) -> Option<Self> {
        let pieces = literal(names);
        let glob = format!("/{}", names.as_os_str().to_string_lossy());
        (pieces.len() <= PIECES).then_some(Self { glob, pieces, start: 1, dirs_only: false, own, below })
    }

    /// The same rule of a root that lies at `names` below another, seen from that one. `None`: too deep to be told.
    pub(crate) fn seen_from_above(&self, names: &RelPath) -> Option<Self> {
        let mut pieces = literal(names);
        pieces.extend(self.pieces.iter().cloned());
        let depth = if self.is_at_any_depth() { "**/" } else { "" };
        let glob = format!("/{}/{depth}{}", names.as_os_str().to_string_lossy(), self.glob.trim_start_matches('/'));
        (pieces.len() <= PIECES).then(|| Self { glob, pieces, ..self.clone() })
    }

    /// Whether both match alike from the same state on.
    pub(crate) fn is_like(&self, other: &Rule) -> bool {
        let shape = |rule: &Rule| (rule.dirs_only, rule.own, rule.below);
        self.pieces == other.pieces && shape(self) == shape(other)
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

/// Where a directory stands in every rule: what is true of all names below it. Two directories that stand alike have rules that match
/// the same names below them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    places: Places,
    /// The ceiling of everything below, from rules that matched on the way.
    below: Access,
}

/// What the rules say of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// Its ceiling if it is neither a directory nor a link.
    pub(crate) as_file: Access,
    /// Its ceiling if it is a directory, or a link, which may lead to one.
    pub(crate) as_dir: Access,
    pub(crate) stand: Stand,
}

impl Level {
    /// Of a place without rules.
    pub(crate) fn free() -> Self {
        let all = Access::Write;
        Self { as_file: all, as_dir: all, stand: Stand { places: Places::default(), below: all } }
    }

    /// The ceiling once the type is known.
    pub(crate) fn ceiling(&self, dir_or_link: bool) -> Access {
        if dir_or_link { self.as_dir } else { self.as_file }
    }
}

/// The rest of a pattern, and what it says where it matches.
type Left<'a> = (&'a [Piece], bool, Access, Access);

/// The rules that hold in one root: its own, and those of the roots around and inside it.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
    automaton: Automaton,
    top: Level,
}

impl Rules {
    /// `ceiling`: of everything in the root, from rules of the roots around it.
    pub(crate) fn new(rules: Vec<Rule>, ceiling: Access) -> Self {
        // A ceiling of everything takes nothing away.
        let rules: Vec<Rule> = rules.into_iter().filter(|rule| rule.own.min(rule.below) < Access::Write).collect();
        let automaton = Automaton::new(rules.iter().map(|rule| rule.pieces.as_slice()));
        let mut all = Self { rules, automaton, top: Level::free() };
        all.top = all.settle(all.automaton.start(all.rules.iter().map(|rule| rule.start)), ceiling);
        all
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.top.stand.below == Access::Write
    }

    /// The root itself.
    pub(crate) fn top(&self) -> &Level {
        &self.top
    }

    /// `name` in a directory that stands at `stand`.
    pub(crate) fn enter(&self, stand: &Stand, name: &OsStr) -> Level {
        if stand.places.is_none() {
            let below = stand.below;
            return Level { as_file: below, as_dir: below, stand: stand.clone() };
        }
        self.settle(self.automaton.step(&stand.places, name), stand.below)
    }

    /// The level of a name whose rules stand at `places`, below a place whose ceiling is `below`.
    fn settle(&self, mut places: Places, below: Access) -> Level {
        let (mut as_file, mut as_dir, mut further) = (below, below, below);
        if !self.automaton.has_matched(&places) {
            return Level { as_file, as_dir, stand: Stand { places, below } };
        }
        for (number, rule) in self.matched(&places.clone()) {
            as_dir = as_dir.min(rule.own);
            if !rule.dirs_only {
                as_file = as_file.min(rule.own);
            }
            further = further.min(rule.below);
            // Everything below is covered, so where the pattern stands makes no difference any more.
            if rule.below <= rule.own {
                self.automaton.forget(&mut places, number);
            }
        }
        Level { as_file, as_dir, stand: Stand { places, below: further } }
    }

    /// The rules that match at these places.
    fn matched(&self, places: &Places) -> impl Iterator<Item = (usize, &Rule)> {
        self.automaton.matched(places).filter_map(|number| Some((number, self.rules.get(number)?)))
    }

    /// Every rule, as `(glob, access)`.
    pub(crate) fn list(&self) -> impl Iterator<Item = (&str, Access)> {
        self.rules.iter().map(|rule| (rule.glob(), rule.access()))
    }

    /// The rules that match a name of `path`, as far as text tells, as `GLOB=ACCESS`, each with what it leaves of the path.
    pub(crate) fn that_match(&self, from: &Level, path: &RelPath) -> Vec<(String, Access)> {
        let mut places = from.stand.places.clone();
        let mut found = Vec::new();
        let mut steps = path.steps().peekable();
        while let Some(Step::Name(name)) = steps.next() {
            places = self.automaton.step(&places, name);
            for (_, rule) in self.matched(&places) {
                let left = if steps.peek().is_some() { rule.own.min(rule.below) } else { rule.own };
                found.push((format!("{}={}", rule.glob(), rule.access()), left));
            }
        }
        found
    }

    /// The directory at `names` below the root.
    pub(crate) fn level(&self, names: &RelPath) -> Level {
        let mut level = self.top.clone();
        for step in names.steps() {
            if let Step::Name(name) = step {
                level = self.enter(&level.stand, name);
            }
        }
        level
    }

    /// The rules as they hold in a root at `names` below this one, and the ceiling of everything in it.
    pub(crate) fn seen_from_inside(&self, names: &RelPath) -> (Vec<Rule>, Access) {
        let level = self.level(names);
        let rules = self.parts(&level.stand).filter(|(_, start)| *start != 0);
        (rules.map(|(rule, start)| Rule { start, ..rule.clone() }).collect(), level.stand.below)
    }

    /// Whether the rules match below one directory exactly what the rules of `other` match below another: only then may what is in one be in
    /// the other as well. What is left of a pattern is compared, so that a rule known to several roots is one rule.
    pub(crate) fn stand_alike(&self, own: &Level, other: &Rules, others: &Level) -> bool {
        let (mine, theirs) = (self.left_of(&own.stand), other.left_of(&others.stand));
        own.stand.below == others.stand.below
            && mine.iter().all(|left| theirs.contains(left))
            && theirs.iter().all(|left| mine.contains(left))
    }

    /// Each rule, and the places of its own pattern where it stands.
    fn parts<'a>(&'a self, stand: &'a Stand) -> impl Iterator<Item = (&'a Rule, u64)> {
        self.rules.iter().enumerate().map(|(number, rule)| (rule, self.automaton.part(&stand.places, number)))
    }

    /// What can still match something below.
    fn left_of<'a>(&'a self, stand: &'a Stand) -> Vec<Left<'a>> {
        let states = |(rule, states): (&'a Rule, u64)| {
            let left = (0..rule.pieces.len()).filter(move |index| states & (1 << index) != 0);
            left.filter_map(|index| Some((rule.pieces.get(index..)?, rule.dirs_only, rule.own, rule.below)))
        };
        self.parts(stand).flat_map(states).collect()
    }

    /// Judges typed text, as far as text goes: every name on the way must at least be listed, the last one allow `need`. `None` where one
    /// does not; else the level of the last name. `..` takes a name back by text; the walk judges where it really leads.
    /// `dir`: what is named will be a directory, with a slash behind it or without.
    pub(crate) fn judge_text(&self, from: &Level, path: &RelPath, need: Access, dir: bool) -> Option<Level> {
        if self.is_empty() && !path.steps().any(|step| matches!(step, Step::Name(name) if is_reserved(name))) {
            return Some(from.clone());
        }
        let mut at = from.clone();
        // Only `..` goes back to where a name was entered.
        let (climbs, mut above) = (path.has_parent(), Vec::new());
        let mut steps = path.steps().peekable();
        while let Some(step) = steps.next() {
            match step {
                Step::Parent => match above.pop() {
                    Some(parent) => at = parent,
                    // Above the start only the walk knows.
                    None => return Some(at),
                },
                Step::Name(name) => {
                    let level = self.enter(&at.stand, name);
                    let last = steps.peek().is_none();
                    let allowed = match (last, dir || path.must_be_dir()) {
                        (false, _) => level.as_dir >= Access::List,
                        (true, true) => level.as_dir >= need,
                        (true, false) => level.as_file >= need,
                    };
                    if is_reserved(name) || !allowed {
                        return None;
                    }
                    let outer = std::mem::replace(&mut at, level);
                    if climbs {
                        above.push(outer);
                    }
                }
            }
        }
        Some(at).filter(|level| !path.must_be_dir() || level.as_dir >= need)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::style::PathStyle;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text, PathStyle::Unix).unwrap()
    }

    fn rules(globs: &[(&str, Access)]) -> Rules {
        Rules::new(globs.iter().map(|(glob, access)| Rule::parse(glob, *access).unwrap()).collect(), Access::Write)
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
