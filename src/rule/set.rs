//! The rules that hold in a root, and where a directory stands in all of them.
//!
//! May touch: `automaton`, `access`. No I/O (PURE-CORE). The rules are compiled once; roots that have the same share that.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::sync::Arc;

use super::automaton::{Automaton, Places};
use super::glob::is_reserved;
use super::{Rule, Shape};
use crate::access::Access;
use crate::path::relative::{RelPath, Step};

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

/// The rules that hold in one root: its own, and those of the roots around and inside it. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    compiled: Arc<Compiled>,
    top: Level,
}

/// Sets that were compiled, so that roots with the same rules have one.
#[derive(Default)]
pub(crate) struct Sets {
    known: HashMap<(Vec<Rule>, Access), Rules>,
    /// The last one of rules that were given without more: most roots have the rules for all, and these need not be compared each time.
    last: Option<(Arc<[Rule]>, Rules)>,
}

impl Sets {
    /// As [`Rules::new`] of the rules and `more`.
    pub(crate) fn of(&mut self, rules: &Arc<[Rule]>, more: Vec<Rule>, ceiling: Access) -> Rules {
        let plain = more.is_empty() && ceiling == Access::Write;
        match &self.last {
            Some((last, set)) if plain && Arc::ptr_eq(last, rules) => return set.clone(),
            _ => {}
        }
        let key = (rules.iter().cloned().chain(more).collect::<Vec<_>>(), ceiling);
        let set = match self.known.get(&key) {
            Some(set) => set.clone(),
            None => Rules::new(key.0.iter().cloned(), ceiling),
        };
        self.known.insert(key, set.clone());
        if plain {
            self.last = Some((Arc::clone(rules), set.clone()));
        }
        set
    }
}

#[derive(Debug)]
struct Compiled {
    rules: Vec<Rule>,
    automaton: Automaton,
}

impl Compiled {
    /// The rules that match at these places.
    fn matched(&self, places: &Places) -> impl Iterator<Item = (usize, &Rule)> {
        self.automaton.matched(places).filter_map(|number| Some((number, self.rules.get(number)?)))
    }

    /// Each rule, and the places of its own pattern where it stands.
    fn parts<'a>(&'a self, stand: &'a Stand) -> impl Iterator<Item = (&'a Rule, u64)> {
        self.rules.iter().enumerate().map(|(number, rule)| (rule, self.automaton.part(&stand.places, number)))
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
}

impl Rules {
    /// `ceiling`: of everything in the root, from rules of the roots around it.
    pub(crate) fn new(rules: impl IntoIterator<Item = Rule>, ceiling: Access) -> Self {
        // A ceiling of everything takes nothing away.
        let rules: Vec<Rule> = rules.into_iter().filter(|rule| rule.access() < Access::Write).collect();
        let automaton = Automaton::new(rules.iter().map(|rule| &*rule.pieces));
        let compiled = Compiled { rules, automaton };
        let top = compiled.settle(compiled.automaton.start(compiled.rules.iter().map(|rule| rule.start)), ceiling);
        Self { compiled: Arc::new(compiled), top }
    }

    #[cfg(test)]
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.compiled, &other.compiled)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.compiled.rules.is_empty() && self.top.stand.below == Access::Write
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
        self.compiled.settle(self.compiled.automaton.step(&stand.places, name), stand.below)
    }

    /// Every rule, as `(glob, access)`.
    pub(crate) fn list(&self) -> impl Iterator<Item = (&str, Access)> {
        self.compiled.rules.iter().map(|rule| (rule.glob(), rule.access()))
    }

    /// The rules that match a name of `path`, as far as text tells, as `GLOB=ACCESS`, each with what it leaves of the path.
    pub(crate) fn that_match(&self, from: &Level, path: &RelPath) -> Vec<(String, Access)> {
        let mut places = from.stand.places.clone();
        let mut found = Vec::new();
        let mut steps = path.steps().peekable();
        while let Some(Step::Name(name)) = steps.next() {
            places = self.compiled.automaton.step(&places, name);
            for (_, rule) in self.compiled.matched(&places) {
                let left = if steps.peek().is_some() { rule.access() } else { rule.own };
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
        let rules = self.compiled.parts(&level.stand).filter(|(_, start)| *start != 0);
        (rules.map(|(rule, start)| Rule { start, ..rule.clone() }).collect(), level.stand.below)
    }

    /// Whether the rules match below one directory exactly what the rules of `other` match below another: only then may what is in one be in
    /// the other as well. What is left of a pattern is compared, so that a rule known to several roots is one rule.
    pub(crate) fn stand_alike(&self, own: &Level, other: &Rules, others: &Level) -> bool {
        own.stand.below == others.stand.below && self.left_of(&own.stand) == other.left_of(&others.stand)
    }

    /// What can still match something below.
    fn left_of<'a>(&'a self, stand: &'a Stand) -> HashSet<Shape<'a>> {
        let left = |(rule, places): (&'a Rule, u64)| {
            let behind = (0..rule.pieces.len()).filter(move |behind| places & (1 << behind) != 0);
            behind.map(|behind| rule.left_behind(behind))
        };
        self.compiled.parts(stand).flat_map(left).collect()
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
