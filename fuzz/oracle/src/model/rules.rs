//! Rules, from their documentation: a glob over names with a ceiling of access. Matching is by trying, not by an automaton, so that a
//! fault of the automaton is not repeated here.

use cap_roots::Access;

/// A rule of the operator, where its root is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The names that lead to its root, from the base of the world, folded.
    root: Vec<String>,
    parts: Vec<String>,
    /// Ends with a slash: counts for directories and links only.
    dir_only: bool,
    access: Access,
}

/// What one rule says of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    Nothing,
    /// The name before a `/**`: it stays as it is.
    Guarded,
    /// The name, or one above it.
    Covered,
}

impl Rule {
    /// Reads a glob that stands at the root of these names.
    pub fn parse<S: AsRef<str>>(root: &[S], glob: &str, access: Access) -> Self {
        let (body, dir_only) = glob.strip_suffix('/').map_or((glob, false), |body| (body, true));
        let anywhere = (!body.contains('/')).then(|| "**".to_owned());
        let parts = anywhere.into_iter().chain(body.split('/').filter(|part| !part.is_empty()).map(folded)).collect();
        Self { root: all_folded(root), parts, dir_only, access }
    }

    /// The rule that a directory and all in it has no more than this access.
    pub fn on_directory<S: AsRef<str>>(names: &[S], access: Access) -> Self {
        Self { root: all_folded(names), parts: Vec::new(), dir_only: false, access }
    }

    /// The rule that a directory stays what it is.
    pub fn guard<S: AsRef<str>>(names: &[S]) -> Self {
        Self { parts: vec!["**".to_owned()], ..Self::on_directory(names, Access::Write) }
    }

    /// Whether it says nothing that the other, of a root around its own, does not say: both count at any depth.
    pub(super) fn repeats(&self, outer: &Rule) -> bool {
        self.parts.first().is_some_and(|part| part == "**")
            && self.root.starts_with(&outer.root)
            && Rule { root: outer.root.clone(), ..self.clone() } == *outer
    }

    /// Behind which of its parts the names below this directory go on: then the rest of it is for them to fit. `None`: it says the same of all.
    pub(super) fn left(&self, dir: &[String]) -> Option<Vec<usize>> {
        let own = self.parts.strip_suffix(&["**".to_owned()]).unwrap_or(&self.parts);
        let parts = [&self.root, own].concat();
        let settled = (0..=dir.len()).any(|end| fits(&parts, &dir[..end]));
        (!settled).then(|| (0..=parts.len()).filter(|at| fits(&parts[..*at], dir)).collect())
    }

    /// What it says of the last of these names (from the base), which is a directory or link, or is not.
    pub fn matches<S: AsRef<str>>(&self, names: &[S], dir: bool) -> Match {
        self.matches_folded(&all_folded(names), dir)
    }

    fn matches_folded(&self, names: &[String], dir: bool) -> Match {
        let Some(names) = names.strip_prefix(&self.root[..]) else { return Match::Nothing };
        match self.parts.split_last() {
            Some((last, before)) if last == "**" => {
                if (0..names.len()).any(|end| fits(before, &names[..end])) {
                    // All that is left of what is below a guarded name is everything.
                    if self.access == Access::Write { Match::Nothing } else { Match::Covered }
                } else if fits(before, names) {
                    Match::Guarded
                } else {
                    Match::Nothing
                }
            }
            _ => {
                let counts = |end: usize| !self.dir_only || end < names.len() || dir;
                let covered = (0..=names.len()).any(|end| counts(end) && fits(&self.parts, &names[..end]));
                if covered { Match::Covered } else { Match::Nothing }
            }
        }
    }
}

/// The most that all rules together leave of a name. Names that the crate keeps for itself have nothing.
pub fn ceiling<S: AsRef<str>>(rules: &[Rule], names: &[S], dir: bool) -> Access {
    let names = all_folded(names);
    if names.iter().any(|name| name.starts_with(".cap-roots-") && name.ends_with(".tmp")) {
        return Access::None;
    }
    let each = rules.iter().map(|rule| match rule.matches_folded(&names, dir) {
        Match::Nothing => Access::Write,
        Match::Guarded => Access::Read,
        Match::Covered => rule.access,
    });
    each.min().unwrap_or(Access::Write)
}

/// Whether every rule says the same of all names below one directory as below another. Where it has the same left to ask that is plain, and
/// else it is tried.
pub fn same_below<S: AsRef<str>>(rules: &[Rule], old: &[S], new: &[S]) -> bool {
    let (old, new) = (all_folded(old), all_folded(new));
    old == new || rules.iter().all(|rule| rule.left(&old) == rule.left(&new) || tried(rule, &old, &new))
}

/// Names that tell rules of the generator apart.
const PROBES: &[&str] = &["a", "b", "h", ".env", ".git", "hooks", "secret", "s1", "\u{e9}", ".env.", "other"];

/// Whether a rule says the same below both: tried with all names of the vocabulary and of the rule, as deep as it has parts and at most three.
pub(super) fn tried(rule: &Rule, old: &[String], new: &[String]) -> bool {
    let plain = |part: &&String| !part.contains(['*', '?', '[']);
    let names = rule.root.iter().chain(rule.parts.iter().filter(plain)).map(String::as_str);
    let probes: Vec<&str> = PROBES.iter().copied().chain(names).collect();
    let above = rule.root.len().saturating_sub(old.len().min(new.len()));
    same(rule, &probes, old, new, (above + rule.parts.len()).clamp(1, 3))
}

fn same(rule: &Rule, probes: &[&str], old: &[String], new: &[String], depth: usize) -> bool {
    depth == 0
        || probes.iter().all(|name| {
            let (old, new) = ([old, &[(*name).to_owned()]].concat(), [new, &[(*name).to_owned()]].concat());
            let says = |names: &[String]| [false, true].map(|dir| rule.matches_folded(names, dir));
            let said = says(&old);
            said == says(&new) && (said[1] == Match::Covered || same(rule, probes, &old, &new, depth - 1))
        })
}

/// The form in which rules compare names: of what the vocabulary has, letters by case and one accent.
fn folded(name: &str) -> String {
    name.to_lowercase().replace("e\u{301}", "\u{e9}")
}

pub(super) fn all_folded<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    names.iter().map(|name| folded(name.as_ref())).collect()
}

/// Whether the parts are used up by exactly these names.
fn fits(parts: &[String], names: &[String]) -> bool {
    let Some((part, parts)) = parts.split_first() else { return names.is_empty() };
    if part == "**" {
        return (0..=names.len()).any(|skip| fits(parts, &names[skip..]));
    }
    let Some((name, names)) = names.split_first() else { return false };
    glob(&part.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>()) && fits(parts, names)
}

fn glob(pattern: &[char], name: &[char]) -> bool {
    let Some((first, pattern)) = pattern.split_first() else { return name.is_empty() };
    if *first == '*' {
        return (0..=name.len()).any(|skip| glob(pattern, &name[skip..]));
    }
    let Some((letter, name)) = name.split_first() else { return false };
    match (first, pattern.iter().position(|c| *c == ']')) {
        ('?', _) => glob(pattern, name),
        ('[', Some(end)) => class(&pattern[..end], *letter) && glob(&pattern[end + 1..], name),
        _ => first == letter && glob(pattern, name),
    }
}

/// Letters and ranges of letters; with `!` before them all others.
fn class(set: &[char], letter: char) -> bool {
    let (mut set, wanted) = set.strip_prefix(&['!']).map_or((set, true), |set| (set, false));
    let mut found = false;
    while let [low, rest @ ..] = set {
        let (high, rest) = if let ['-', high, rest @ ..] = rest { (high, rest) } else { (low, rest) };
        found |= (*low..=*high).contains(&letter);
        set = rest;
    }
    found == wanted
}
