//! All patterns of a set as one automaton: patterns that begin alike share their states, so that a directory stands in few of them however many
//! rules there are.
//!
//! May touch: `names`. No I/O (PURE-CORE).

use std::collections::BTreeMap;

use super::Rule;
use super::glob::{Name, Piece};
use super::names::{Collector, Id, Names};

/// A state, by its place in [`Tree`].
pub(super) type State = usize;

#[derive(Debug)]
pub(super) struct Tree {
    /// The first is where every pattern starts.
    nodes: Vec<Node>,
    names: Names,
}

#[derive(Debug, Default)]
struct Node {
    next: BTreeMap<Id, State>,
    /// Reached without a name: behind `**`.
    also: Option<State>,
    /// It is behind `**`, so any name leads to itself.
    stays: bool,
    /// The rules that have come so far, and how many of their pieces are behind them.
    rules: Vec<(usize, usize)>,
    /// Those of them that have come to their end.
    ends: Vec<usize>,
}

impl Tree {
    pub(super) fn new(rules: &[Rule]) -> Self {
        let mut tree = Self { nodes: vec![Node::default()], names: Names::default() };
        let mut names = Collector::default();
        for (index, rule) in rules.iter().enumerate() {
            for behind in rule.starts() {
                tree.insert(index, rule, behind, &mut names);
            }
        }
        tree.names = names.finish();
        tree
    }

    /// Adds what is left of a rule with `behind` pieces behind it.
    fn insert(&mut self, index: usize, rule: &Rule, behind: usize, names: &mut Collector) {
        let mut at = 0;
        self.pass(at, index, behind);
        for (passed, piece) in rule.pieces.iter().enumerate().skip(behind) {
            let new = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else { return };
            at = match piece {
                Piece::Depth => *node.also.get_or_insert(new),
                Piece::Name(pattern) => *node.next.entry(names.add(pattern)).or_insert(new),
            };
            if at == new {
                self.nodes.push(Node { stays: *piece == Piece::Depth, ..Node::default() });
            }
            self.pass(at, index, passed + 1);
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.ends.push(index);
        }
    }

    fn pass(&mut self, at: State, rule: usize, behind: usize) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.rules.push((rule, behind));
        }
    }

    fn of<'a>(&'a self, states: &'a [State]) -> impl Iterator<Item = &'a Node> {
        states.iter().filter_map(|state| self.nodes.get(*state))
    }

    /// Where the top stands.
    pub(super) fn start(&self) -> Vec<State> {
        let mut start = Vec::new();
        self.enter(0, &mut start);
        start.sort_unstable();
        start
    }

    /// A state, and those that are reached from it without a name.
    fn enter(&self, state: State, into: &mut Vec<State>) {
        let also = |state: &State| self.nodes.get(*state)?.also;
        into.extend(std::iter::successors(Some(state), also));
    }

    /// Where a name leads.
    pub(super) fn step(&self, states: &[State], name: &str) -> Vec<State> {
        let mut next: Vec<State> = Vec::new();
        let matching =
            if self.of(states).all(|node| node.next.is_empty()) { Vec::new() } else { self.names.matching(&Name::new(name)) };
        for (state, node) in states.iter().zip(self.of(states)) {
            if node.stays {
                self.enter(*state, &mut next);
            }
            // Whichever are fewer.
            if matching.len() < node.next.len() {
                matching.iter().filter_map(|id| node.next.get(id)).for_each(|state| self.enter(*state, &mut next));
            } else {
                let fits = node.next.iter().filter(|(id, _)| matching.binary_search(id).is_ok());
                fits.for_each(|(_, state)| self.enter(*state, &mut next));
            }
        }
        next.sort_unstable();
        next.dedup();
        next
    }

    /// The rules that have come to their end, in order.
    pub(super) fn ended(&self, states: &[State]) -> Vec<usize> {
        let mut ended: Vec<usize> = self.of(states).flat_map(|node| &node.ends).copied().collect();
        ended.sort_unstable();
        ended.dedup();
        ended
    }

    /// Every rule that has come somewhere, and how many of its pieces are behind it. What is behind `**` is before it as well.
    pub(super) fn places<'a>(&'a self, states: &'a [State]) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.of(states).flat_map(|node| {
            let before =
                node.rules.iter().filter(|_| node.stays).filter_map(|(rule, behind)| Some((*rule, behind.checked_sub(1)?)));
            node.rules.iter().copied().chain(before)
        })
    }
}
