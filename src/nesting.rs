//! Roots inside roots: what each adds to the rules of the other.
//!
//! May touch: held directories of roots, by names from an outer one. Which root lies in which is told by identity up the chain of parents;
//! by which names is told by text, and proved by walking them.

use std::ffi::OsString;
use std::path::Path;

use crate::access::Access;
use crate::ambient::Missing;
use crate::error::{Detail, Error, ErrorKind, Result, Subject};
use crate::identity::Identity;
use crate::opened::Opened;
use crate::path::relative::RelPath;
use crate::resolve::step::{self, Entered};
use crate::rule::{Rule, Rules};

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

/// In the order of `opened`.
pub(crate) fn nest(opened: &[Opened]) -> Result<Vec<Nested>> {
    let mut all: Vec<Nested> =
        opened.iter().map(|_| Nested { rules: Vec::new(), ceiling: Access::Write, inside: None, through: None }).collect();
    for (index, inner) in opened.iter().enumerate() {
        for (other, outer) in opened.iter().enumerate() {
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
            let seen_inside = Rules::new(outer.rules.clone(), Access::Write).seen_from_inside(&names);
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
                nested.rules.extend(inner.as_rules_of(&names, outer).ok_or_else(too_deep)?);
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
            let Entered::Dir(dir) = step::enter(&at, name).ok()? else { return None };
            at = dir;
        }
        if Identity::of(&at).ok()? != identity {
            return None;
        }
        names.extend_from_slice(rest);
        Some(path(&names))
    }

    /// What `outer`, which it lies in by `names`, has to know of it: its place stays what it is, less access holds there as well, and so do
    /// its rules.
    fn as_rules_of(&self, names: &RelPath, outer: &Opened) -> Option<Vec<Rule>> {
        let ceiling = if self.grant.access < outer.grant.access {
            self.grant.access
        } else if self.grant.no_delete != outer.grant.no_delete {
            // Neither may be left for the other one that deletes. What deletes nothing is more than reading, but no rule can say so.
            Access::Read
        } else {
            Access::Write
        };
        let mut rules = vec![Rule::place(names, ceiling.min(Access::Read), ceiling)?];
        let known = |rule: &&Rule| rule.is_at_any_depth() && outer.rules.iter().any(|own| own.is_like(rule));
        for rule in self.rules.iter().filter(|rule| !known(rule)) {
            rules.push(rule.seen_from_above(names)?);
        }
        Some(rules)
    }
}
