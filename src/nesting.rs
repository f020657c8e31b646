//! Roots inside roots: what each adds to the rules of the other.
//!
//! May touch: held directories of roots, by names from an outer one. Which root lies in which is told by identity up the chain of parents;
//! by which names is told by text, and proved by walking them.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::Path;

use crate::access::Access;
use crate::ambient::Missing;
use crate::error::{Detail, Error, ErrorKind, Result, Subject};
use crate::identity::Identity;
use crate::opened::Opened;
use crate::path::relative::RelPath;
use crate::resolve::mounts::Mounts;
use crate::resolve::step::{self, Entered};
use crate::rule::{Rule, Rules, Shape};

/// What the other roots add to one.
#[derive(Debug)]
pub(crate) struct Nested {
    pub(crate) rules: Vec<Rule>,
    pub(crate) ceiling: Access,
    /// The nearest root around it that has more access, and how many names deep it lies there.
    pub(crate) inside: Option<(usize, String)>,
    /// A root that may be written and holds a link by which this one is named.
    pub(crate) through: Option<String>,
}

/// Roots by their directories, so that nobody has to look at every pair of them.
pub(crate) struct Directories<'a> {
    opened: &'a [Opened],
    held: HashMap<Identity, Vec<usize>>,
    /// By the nearest ancestor that is there, and the names missing below it.
    missing: HashMap<(Identity, &'a [OsString]), Vec<usize>>,
}

impl<'a> Directories<'a> {
    pub(crate) fn of(opened: &'a [Opened]) -> Self {
        let (mut held, mut missing): (HashMap<_, Vec<_>>, HashMap<_, Vec<_>>) = Default::default();
        for (index, root) in opened.iter().enumerate() {
            if let Some(identity) = root.identity() {
                held.entry(identity).or_default().push(index);
            }
            if let Some(lacks) = root.missing() {
                missing.entry((lacks.ancestor.identity, lacks.names.as_slice())).or_default().push(index);
            }
        }
        Self { opened, held, missing }
    }

    /// The roots that may be the same directory, or one around it: all that are, in order.
    fn around(&self, root: &Opened) -> Vec<(usize, &'a Opened)> {
        let held = root.ancestors.iter().copied().chain(root.identity()).filter_map(|identity| self.held.get(&identity));
        let missing = root.missing().into_iter().flat_map(|lacks| {
            let starts = (1..=lacks.names.len()).filter_map(|count| lacks.names.get(..count));
            starts.filter_map(|names| self.missing.get(&(lacks.ancestor.identity, names)))
        });
        self.in_order(held.chain(missing))
    }

    fn in_order<'b>(&self, found: impl Iterator<Item = &'b Vec<usize>>) -> Vec<(usize, &'a Opened)> {
        let mut found: Vec<usize> = found.flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|index| Some((index, self.opened.get(index)?))).collect()
    }

    /// The first root that may be written and holds a link by which `root` is named.
    pub(crate) fn names(&self, root: &Opened) -> Option<&'a Opened> {
        let held = root.links_in.iter().flatten().filter_map(|identity| self.held.get(identity));
        self.in_order(held).into_iter().map(|(_, other)| other).find(|other| root.is_named_through(other))
    }

    /// Whether somebody who may write could choose what appears in the place of `root`.
    pub(crate) fn can_be_planted(&self, root: &Opened) -> bool {
        self.around(root).iter().any(|(_, outer)| root.can_be_planted_in(outer))
    }
}

/// What is the same for all roots inside one.
struct Outer<'a> {
    rules: Rules,
    shapes: HashSet<Shape<'a>>,
}

/// In the order of `opened`.
pub(crate) fn nest(directories: &Directories<'_>) -> Result<Vec<Nested>> {
    let opened = directories.opened;
    let mut all: Vec<Nested> =
        opened.iter().map(|_| Nested { rules: Vec::new(), ceiling: Access::Write, inside: None, through: None }).collect();
    let mut outers: HashMap<usize, Outer<'_>> = HashMap::new();
    for (index, inner) in opened.iter().enumerate() {
        for (other, outer) in directories.around(inner) {
            if other < index && inner.is(outer) {
                return Err(refusal(inner, Detail::DuplicateRoot { other: outer.name.as_str().to_owned() }));
            }
            if !inner.is_inside(outer) {
                continue;
            }
            let names = inner
                .names_below(outer)
                .ok_or_else(|| refusal(inner, Detail::NestedRoot { outer: outer.name.as_str().to_owned() }))?;
            let too_deep = || refusal(inner, Detail::NestedRoot { outer: outer.name.as_str().to_owned() });
            let known = outers.entry(other).or_insert_with(|| Outer {
                rules: Rules::new(outer.rules.iter().cloned(), Access::Write),
                shapes: outer.rules.iter().map(Rule::shape).collect(),
            });
            let seen_inside = known.rules.seen_from_inside(&names);
            if let Some(nested) = all.get_mut(index) {
                nested.rules.extend(seen_inside.0);
                // Its place stays what it is, by its own name too.
                nested.rules.extend(Rule::place(&RelPath::default(), Access::Read, Access::Write));
                nested.ceiling = nested.ceiling.min(seen_inside.1);
                if inner.reach() < outer.reach() {
                    // The rule that this is for the outer one holds by the inner one's names as well.
                    nested.ceiling = nested.ceiling.min(inner.grant.access);
                    let nearer = nested.inside.as_ref().is_none_or(|(depth, _)| names.depth() < *depth);
                    if nearer {
                        nested.inside = Some((names.depth(), outer.name.as_str().to_owned()));
                    }
                }
            }
            if let Some(nested) = all.get_mut(other) {
                nested.rules.extend(inner.as_rules_of(&names, outer, &known.shapes).ok_or_else(too_deep)?);
            }
        }
    }
    Ok(all)
}

fn refusal(root: &Opened, detail: Detail) -> Error {
    Error::detailed(ErrorKind::InvalidArgument, detail).on(Subject::Root(root.name.as_str().to_owned()))
}

impl Opened {
    fn missing(&self) -> Option<&Missing> {
        self.directory.as_ref().err()?.as_ref()
    }

    /// What it allows, as far as access can say it: a grant that deletes nothing is less than one that does.
    fn reach(&self) -> (Access, bool) {
        (self.grant.access, !self.grant.no_delete)
    }

    /// Whether both are one directory: by identity, or, where they are missing, by the names missing below the same ancestor.
    pub(crate) fn is(&self, other: &Opened) -> bool {
        match (self.missing(), other.missing()) {
            (Some(a), Some(b)) => a.ancestor.identity == b.ancestor.identity && a.names == b.names,
            (None, None) => self.identity().is_some() && self.identity() == other.identity(),
            _ => false,
        }
    }

    /// Whether it lies, or would lie, inside `outer`.
    pub(crate) fn is_inside(&self, outer: &Opened) -> bool {
        if let Some(identity) = outer.identity() {
            return self.ancestors.contains(&identity);
        }
        let (Some(inner), Some(outer)) = (self.missing(), outer.missing()) else { return false };
        let same_start = inner.ancestor.identity == outer.ancestor.identity && inner.names.starts_with(&outer.names);
        same_start && inner.names.len() > outer.names.len()
    }

    /// The names from `outer` to it; `None` if no names are found that really lead there.
    fn names_below(&self, outer: &Opened) -> Option<RelPath> {
        let path = |names: &[OsString]| {
            let mut path = RelPath::default();
            names.iter().for_each(|name| path.push_name(name));
            path
        };
        let found = match (&outer.directory, self.missing()) {
            (Ok(found), _) => found,
            (Err(_), Some(missing)) => return Some(path(missing.names.get(outer.missing()?.names.len()..)?)),
            (Err(_), None) => return None,
        };
        let (canonical, identity, rest): (&Path, Identity, &[OsString]) = match (&self.directory, self.missing()) {
            (Ok(inner), _) => (&inner.canonical, inner.identity, &[]),
            (Err(_), Some(missing)) => (&missing.ancestor.canonical, missing.ancestor.identity, &missing.names),
            (Err(_), None) => return None,
        };
        let mut names: Vec<OsString> = canonical.strip_prefix(&found.canonical).ok()?.iter().map(ToOwned::to_owned).collect();
        let mut at = found.dir.try_clone().ok()?;
        for name in &names {
            let Entered::Dir(dir) = step::enter(&at, name, Mounts::Any).ok()? else { return None };
            at = dir;
        }
        if Identity::of(&at).ok()? != identity {
            return None;
        }
        names.extend_from_slice(rest);
        Some(path(&names))
    }

    /// What `outer`, which it lies in by `names` and whose rules have these shapes, has to know of it: its place stays what it is, less access holds there as well, and so do
    /// its rules.
    fn as_rules_of(&self, names: &RelPath, outer: &Opened, shapes: &HashSet<Shape<'_>>) -> Option<Vec<Rule>> {
        let ceiling = if self.grant.access < outer.grant.access {
            self.grant.access
        } else if self.grant.no_delete != outer.grant.no_delete {
            // Neither may be left for the other one that deletes. What deletes nothing is more than reading, but no rule can say so.
            Access::Read
        } else {
            Access::Write
        };
        let mut rules = vec![Rule::place(names, ceiling.min(Access::Read), ceiling)?];
        let known = |rule: &&Rule| rule.is_at_any_depth() && shapes.contains(&rule.shape());
        for rule in self.rules.iter().filter(|rule| !known(rule)) {
            rules.push(rule.seen_from_above(names)?);
        }
        Some(rules)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::grant::Grant;
    use crate::path::uri::RootName;

    /// Catches: a pair of roots that is overlooked, and a look at every pair.
    #[test]
    fn only_roots_around_one_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("a/b/c")).unwrap();
        std::os::unix::fs::symlink("a/b", base.join("link")).unwrap();
        let siblings: Vec<String> = (0..30).map(|index| format!("s{index}")).collect();
        siblings.iter().for_each(|name| fs::create_dir(base.join(name)).unwrap());
        let nested = ["a", "a/b/c", "link", "link/c", "a/x", "a/x/y", "link/z/y", "a/b/z", "z/z", "z", "none"];
        let open = |(index, path): (usize, &str)| {
            let name = RootName::parse(&format!("r{index}")).unwrap();
            Opened::open(name, Grant::new(base.join(path)).access(Access::Write), index, Arc::from([])).unwrap()
        };
        let opened: Vec<Opened> = nested.into_iter().chain(siblings.iter().map(String::as_str)).enumerate().map(open).collect();
        let directories = Directories::of(&opened);
        let mut pairs = 0;
        for (index, inner) in opened.iter().enumerate() {
            let around: Vec<usize> = directories.around(inner).into_iter().map(|(other, _)| other).collect();
            let fits = |other: &usize| opened.get(*other).is_some_and(|outer| inner.is(outer) || inner.is_inside(outer));
            let expected: Vec<usize> = (0..opened.len()).filter(fits).collect();
            assert_eq!(around, expected, "{:?}", inner.given);
            pairs += around.len();
            let named = opened.iter().find(|other| inner.is_named_through(other)).map(|other| other.position);
            assert_eq!(directories.names(inner).map(|other| other.position), named, "{:?}", inner.given);
            assert_eq!(directories.can_be_planted(inner), opened.iter().any(|outer| inner.can_be_planted_in(outer)), "{index}");
        }
        assert!(pairs < 3 * opened.len(), "{pairs}");
    }
}
