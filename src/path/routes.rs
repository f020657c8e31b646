//! The roots of a set by what paths to them begin with, so that finding one costs what the path is long, and not what the set is.
//!
//! May touch: the rest of `path`. No I/O (TEXT-ROUTES-ONLY): what is found here are the roots worth a look; [`locate`](super::locate) looks.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::iter;

use crate::path::host::{Anchor, HostPath};
use crate::path::region::{Region, Same};
use crate::path::relative::{RelPath, Step};
use crate::path::style::PathStyle;
use crate::path::uri::RootName;

/// What routing knows of a root, or of a part of one.
pub(crate) struct Route {
    pub(crate) name: RootName,
    /// The root's path as given and in canonical form.
    pub(crate) spellings: Vec<HostPath>,
    /// What of it is seen.
    pub(crate) region: Region,
}

/// What the names of a path start from.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Start {
    Host(Anchor),
    Root(RootName),
    /// A path that names a file which is all that is seen of its root.
    File,
}

/// All routes of a set.
pub(crate) struct Routes {
    all: Vec<Route>,
    /// The first that is no single file.
    first: Option<usize>,
    /// By the first of [`Same::ways`], and by the second where that makes a difference.
    trees: Vec<(Same, Tree)>,
}

/// Routes by their names, one after the other.
#[derive(Default)]
struct Tree {
    starts: HashMap<Start, usize>,
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    /// By what is the same of all names that are one.
    next: BTreeMap<OsString, usize>,
    routes: Vec<usize>,
}

impl Routes {
    pub(crate) fn new(all: Vec<Route>) -> Self {
        let first = all.iter().position(|route| route.region.only().is_none());
        let tree = |one| {
            let mut tree = Tree::default();
            for (index, route) in all.iter().enumerate() {
                let region = route.region.path();
                for spelling in &route.spellings {
                    tree.insert(index, Start::Host(spelling.anchor().clone()), [spelling.names(), &region], one);
                }
                tree.insert(index, Start::Root(route.name.clone()), [&region], one);
                if let Some(only) = route.region.only() {
                    tree.insert(index, Start::File, [&RelPath::single(only)], one);
                }
            }
            (one, tree)
        };
        let ways @ [as_it_is, in_any_form] = Same::ways(PathStyle::host());
        let differs = |step: Step<'_>| matches!(step, Step::Name(name) if as_it_is.key(name) != in_any_form.key(name));
        let is_plain = |path: &RelPath| !path.steps().any(differs);
        let is_one =
            all.iter().all(|route| is_plain(&route.region.path()) && route.spellings.iter().all(|at| is_plain(at.names())));
        let trees = ways.into_iter().take(if is_one { 1 } else { 2 }).map(tree).collect();
        Self { all, first, trees }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn first_directory(&self) -> Option<usize> {
        self.first
    }

    /// The routes that the path may lie in: all that do, in no order. One may come twice.
    pub(crate) fn around<'a>(&'a self, start: &Start, path: &'a RelPath, one: Same) -> impl Iterator<Item = (usize, &'a Route)> {
        let nodes = self.tree(one).into_iter().flat_map(move |tree| tree.along(start, path, one).map_while(|node| node));
        nodes.flat_map(|node| &node.routes).filter_map(|index| Some((*index, self.all.get(*index)?)))
    }

    /// The routes that lie at the path or below it: all that do, in order.
    pub(crate) fn below(&self, path: &HostPath, one: Same) -> Vec<usize> {
        let Some(tree) = self.tree(one) else { return Vec::new() };
        let start = Start::Host(path.anchor().clone());
        let last = tree.along(&start, path.names(), one).last().flatten();
        let mut found = Vec::new();
        let mut ahead: Vec<&Node> = last.into_iter().collect();
        while let Some(node) = ahead.pop() {
            found.extend(&node.routes);
            ahead.extend(node.next.values().filter_map(|next| tree.nodes.get(*next)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn tree(&self, one: Same) -> Option<&Tree> {
        self.trees.iter().find(|(of, _)| *of == one).or(self.trees.first()).map(|(_, tree)| tree)
    }
}

impl Tree {
    /// What has `..` in it lies nowhere, as far as text tells.
    fn insert<const N: usize>(&mut self, route: usize, start: Start, paths: [&RelPath; N], one: Same) {
        let steps = || paths.iter().flat_map(|path| path.steps());
        if steps().any(|step| step == Step::Parent) {
            return;
        }
        let new = self.nodes.len();
        let mut at = *self.starts.entry(start).or_insert(new);
        if at == new {
            self.nodes.push(Node::default());
        }
        for step in steps() {
            let Step::Name(name) = step else { return };
            let new = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else { return };
            at = *node.next.entry(one.key(name).into_owned()).or_insert(new);
            if at == new {
                self.nodes.push(Node::default());
            }
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.routes.push(route);
        }
    }

    /// The nodes along a path from its start on, and `None` where nothing lies any more.
    fn along<'a>(&'a self, start: &Start, path: &'a RelPath, one: Same) -> impl Iterator<Item = Option<&'a Node>> {
        let mut at = self.starts.get(start).and_then(|index| self.nodes.get(*index));
        let rest = path.steps().map(move |step| {
            at = match step {
                Step::Name(name) => at.and_then(|node| self.nodes.get(*node.next.get(Borrow::<OsStr>::borrow(&one.key(name)))?)),
                Step::Parent => None,
            };
            at
        });
        iter::once(at).chain(rest)
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text, PathStyle::Unix).unwrap()
    }

    fn host(text: &str) -> HostPath {
        HostPath::parse(text, PathStyle::Unix).ok().flatten().unwrap()
    }

    fn route(name: &str, spelling: &str, region: Region) -> Route {
        Route { name: RootName::parse(name).unwrap(), spellings: vec![host(spelling)], region }
    }

    const AS_IT_IS: Same = Same::AsItIs(PathStyle::Unix);

    /// Catches: a look at every root for each path.
    #[test]
    fn few_of_a_thousand_roots_are_looked_at() {
        let all = (0..1000).map(|index| route(&format!("r{index}"), &format!("/srv/all/r{index}"), Region::default()));
        let routes = Routes::new(all.collect());
        let looked_at = |start, text| routes.around(&start, &path(text), AS_IT_IS).map(|(index, _)| index).collect::<Vec<_>>();
        let top = || Start::Host(host("/").anchor().clone());
        assert_eq!(looked_at(top(), "srv/all/r7/a/b"), [7]);
        assert!(looked_at(top(), "srv/all/r7x").is_empty());
        assert_eq!(looked_at(Start::Root(RootName::parse("r999").unwrap()), "a"), [999]);
        assert_eq!(routes.below(&host("/srv/all/r10"), AS_IT_IS), [10]);
        assert_eq!(routes.below(&host("/srv"), AS_IT_IS).len(), 1000);
    }

    fn names() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec!["a", "b", "caf\u{e9}", "cafe\u{301}", "A", "a.", ".."]);
        prop::collection::vec(name, 0..4).prop_map(|names| names.join("/"))
    }

    fn region() -> impl Strategy<Value = Region> {
        (names(), any::<bool>()).prop_map(|(names, file)| match Region::file(&path(&names)).filter(|_| file) {
            Some(file) => file,
            None => Region::directory(path(&names)),
        })
    }

    proptest! {
        /// Catches: a root that is not found by a path which lies in it, however that is written.
        #[cfg(unix)]
        #[test]
        fn what_fits_is_among_what_is_found(
            roots in prop::collection::vec((0..3usize, names(), region()), 0..6),
            text in names(),
        ) {
            let all = || roots.iter().map(|(name, at, region)| route(&format!("r{name}"), &format!("/{at}"), region.clone()));
            let routes = Routes::new(all().collect());
            let (path, absolute) = (path(&text), host(&format!("/{text}")));
            for one in Same::ways(PathStyle::host()) {
                let by = |start: Start| routes.around(&start, &path, one).map(|(index, _)| index).collect::<Vec<_>>();
                let (top, below) = (by(Start::Host(absolute.anchor().clone())), routes.below(&absolute, one));
                let (named, file) = (by(Start::Root(RootName::parse("r1").unwrap())), by(Start::File));
                for (index, route) in all().enumerate() {
                    let spelling = &route.spellings[0];
                    let fits = one.below(&absolute, spelling).and_then(|rest| route.region.strip(&rest, one)).is_some();
                    prop_assert!(!fits || top.contains(&index));
                    let whole = one.below(&spelling.join(&route.region.path()), &absolute);
                    let fits = whole.is_some_and(|rest| rest.steps().all(|step| step != Step::Parent));
                    prop_assert!(!fits || below.contains(&index));
                    let fits = route.name.as_str() == "r1" && route.region.strip(&path, one).is_some();
                    prop_assert!(!fits || named.contains(&index));
                    let fits = route.region.only().is_some() && route.region.admit(path.clone(), one).is_some();
                    prop_assert!(!fits || file.contains(&index));
                }
            }
        }
    }
}
