//! Rules, from their documentation: a glob over names with a ceiling of access. Matching is by trying, not by an automaton, so that a
//! fault of the automaton is not repeated here.

use cap_roots::Access;

/// A rule of the operator, where its root is.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The names that lead to its root, from the base of the world.
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
        let root = root.iter().map(|name| name.as_ref().to_owned()).collect();
        let (body, dir_only) = glob.strip_suffix('/').map_or((glob, false), |body| (body, true));
        let mut parts: Vec<String> = body.split('/').filter(|part| !part.is_empty()).map(folded).collect();
        if !body.contains('/') {
            parts.insert(0, "**".to_owned());
        }
        Self { root, parts, dir_only, access }
    }

    /// The rule that a directory and all in it has no more than this access.
    pub fn on_directory<S: AsRef<str>>(names: &[S], access: Access) -> Self {
        Self { root: names.iter().map(|name| name.as_ref().to_owned()).collect(), parts: Vec::new(), dir_only: false, access }
    }

    /// The rule that a directory stays what it is.
    pub fn guard<S: AsRef<str>>(names: &[S]) -> Self {
        Self { parts: vec!["**".to_owned()], ..Self::on_directory(names, Access::Write) }
    }

    /// Whether it is the same rule, known to another root: one from the top of a root means another place in each.
    fn is_like(&self, other: &Rule) -> bool {
        self.parts.first().is_some_and(|part| part == "**")
            && self.parts == other.parts
            && self.dir_only == other.dir_only
            && self.access == other.access
    }

    /// What it says of the last of these names (from the base), which is a directory or link, or is not.
    pub fn matches<S: AsRef<str>>(&self, names: &[S], dir: bool) -> Match {
        let names: Vec<String> = names.iter().map(|name| folded(name.as_ref())).collect();
        if names.len() < self.root.len() || !self.root.iter().zip(&names).all(|(own, name)| folded(own) == *name) {
            return Match::Nothing;
        }
        let names = &names[self.root.len()..];
        if let Some((last, before)) = self.parts.split_last()
            && last == "**"
        {
            return if (0..names.len()).any(|end| fits(before, &names[..end])) {
                // All that is left of what is below a guarded name is everything.
                if self.access == Access::Write { Match::Nothing } else { Match::Covered }
            } else if fits(before, names) {
                Match::Guarded
            } else {
                Match::Nothing
            };
        }
        let counts = |end: usize| !self.dir_only || end < names.len() || dir;
        if (0..=names.len()).any(|end| counts(end) && fits(&self.parts, &names[..end])) { Match::Covered } else { Match::Nothing }
    }
}

/// The most that all rules together leave of a name. Names that the crate keeps for itself have nothing.
pub fn ceiling<S: AsRef<str>>(rules: &[Rule], names: &[S], dir: bool) -> Access {
    if names.iter().any(|name| is_reserved(name.as_ref())) {
        return Access::None;
    }
    let each = rules.iter().map(|rule| match rule.matches(names, dir) {
        Match::Nothing => Access::Write,
        Match::Guarded => Access::Read,
        Match::Covered => rule.access,
    });
    each.min().unwrap_or(Access::Write)
}

/// Names that tell rules of the generator apart.
const PROBES: &[&str] = &["a", "b", "h", ".env", ".git", "hooks", "secret", "s1", "\u{e9}", ".env.", "other"];

/// Whether every rule says the same of all names below one directory as below another: tried with all names of the vocabulary and of
/// the rule, as deep as it has parts and at most three.
pub fn same_below<S: AsRef<str>>(rules: &[Rule], old: &[S], new: &[S]) -> bool {
    let own = |names: &[S]| names.iter().map(|name| name.as_ref().to_owned()).collect::<Vec<_>>();
    rules.iter().all(|rule| {
        let plain = |part: &&String| !part.contains(['*', '?', '[']);
        let names = rule.root.iter().chain(rule.parts.iter().filter(plain)).map(String::as_str);
        let probes: Vec<&str> = PROBES.iter().copied().chain(names).collect();
        // One that is known to several roots is one rule all the same.
        let alike: Vec<&Rule> = rules.iter().filter(|other| std::ptr::eq(*other, rule) || other.is_like(rule)).collect();
        let above = rule.root.len().saturating_sub(old.len().min(new.len()));
        same(&alike, &probes, &mut own(old), &mut own(new), (above + rule.parts.len()).clamp(1, 3))
    })
}

/// The most that rules which are one say of a name.
fn most<S: AsRef<str>>(rules: &[&Rule], names: &[S], dir: bool) -> Match {
    let each = rules.iter().map(|rule| rule.matches(names, dir));
    each.max_by_key(|found| match found {
        Match::Nothing => 0,
        Match::Guarded => 1,
        Match::Covered => 2,
    })
    .unwrap_or(Match::Nothing)
}

fn same(rules: &[&Rule], probes: &[&str], old: &mut Vec<String>, new: &mut Vec<String>, depth: usize) -> bool {
    depth == 0
        || probes.iter().all(|name| {
            old.push((*name).to_owned());
            new.push((*name).to_owned());
            let alike = [false, true].iter().all(|dir| most(rules, old, *dir) == most(rules, new, *dir));
            let alike = alike && (most(rules, old, true) == Match::Covered || same(rules, probes, old, new, depth - 1));
            old.pop();
            new.pop();
            alike
        })
}

/// Whether the crate keeps the name for itself.
pub fn is_reserved(name: &str) -> bool {
    let name = folded(name);
    name.starts_with(".cap-roots-") && name.ends_with(".tmp")
}

/// The form in which rules compare names: of what the vocabulary has, letters by case and one accent.
fn folded(name: &str) -> String {
    name.replace("e\u{301}", "\u{e9}").replace("E\u{301}", "\u{c9}").to_lowercase()
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

fn class(set: &[char], letter: char) -> bool {
    let (set, wanted) = set.strip_prefix(&['!']).map_or((set, true), |set| (set, false));
    let mut rest = set;
    let mut found = false;
    while let Some((low, after)) = rest.split_first() {
        rest = after;
        let high = match after {
            ['-', high, ..] => {
                rest = &after[2..];
                high
            }
            _ => low,
        };
        found |= (*low..=*high).contains(&letter);
    }
    found == wanted
}
