//! The names of all patterns of a set, each once: one look at a name tells which of them it matches.
//!
//! May touch: `glob`. No I/O (PURE-CORE). Of each pattern a text is kept that stands in whatever it matches, and all these texts are one tree,
//! which a name is led through from each of its characters: what that costs grows with the name, and not with the number of patterns.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::glob::{Name, Token};

/// What a text begins or ends with that is at the beginning or the end of a name.
const EDGE: [Option<char>; 1] = [None];

/// A pattern, by its place in [`Names`].
pub(super) type Id = usize;

#[derive(Debug, Default)]
pub(super) struct Names {
    patterns: Vec<Arc<[Token]>>,
    /// The first is where every text starts.
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    next: BTreeMap<Option<char>, usize>,
    /// The patterns whose text ends here, and whether that text alone makes a match.
    here: Vec<(Id, bool)>,
}

/// Takes patterns in.
#[derive(Default)]
pub(super) struct Collector {
    names: Names,
    known: HashMap<Arc<[Token]>, Id>,
}

impl Collector {
    pub(super) fn add(&mut self, pattern: &Arc<[Token]>) -> Id {
        if let Some(id) = self.known.get(pattern) {
            return *id;
        }
        let id = self.names.patterns.len();
        self.known.insert(Arc::clone(pattern), id);
        self.names.patterns.push(Arc::clone(pattern));
        self.names.keep(id, pattern);
        id
    }

    pub(super) fn finish(self) -> Names {
        self.names
    }
}

impl Names {
    fn keep(&mut self, id: Id, pattern: &[Token]) {
        let text = needed(pattern);
        let plain = text.iter().flatten().count();
        let sure = pattern.iter().filter(|token| **token != Token::Any).count() == plain;
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let mut at = 0;
        for c in text {
            let new = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else { return };
            at = *node.next.entry(c).or_insert(new);
            if at == new {
                self.nodes.push(Node::default());
            }
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.here.push((id, sure));
        }
    }

    /// The patterns that match, in order.
    pub(super) fn matching(&self, name: &Name) -> Vec<Id> {
        let mut found = self.candidates(name);
        found.sort_unstable();
        // Of two readings of a name, one may be sure where the other is not.
        found.dedup_by_key(|(id, _)| *id);
        let matches = |id: &Id| self.patterns.get(*id).is_some_and(|pattern| name.matches(pattern));
        found.into_iter().filter(|(id, unsure)| !unsure || matches(id)).map(|(id, _)| id).collect()
    }

    /// The patterns whose text stands in the name, and whether they have to be looked at more closely.
    fn candidates(&self, name: &Name) -> Vec<(Id, bool)> {
        let mut found = Vec::new();
        for chars in name.readings() {
            let all: Vec<_> = EDGE.into_iter().chain(chars.iter().copied().map(Some)).chain(EDGE).collect();
            let mut ahead = all.as_slice();
            while let Some((_, behind_the_first)) = ahead.split_first() {
                let mut at = self.nodes.first();
                for c in ahead {
                    at = at.and_then(|node| self.nodes.get(*node.next.get(c)?));
                    let Some(node) = at else { break };
                    found.extend(node.here.iter().map(|(id, sure)| (*id, !sure)));
                }
                ahead = behind_the_first;
            }
        }
        found
    }
}

/// The longest text that stands in whatever the pattern matches.
fn needed(pattern: &[Token]) -> Vec<Option<char>> {
    let mut runs = vec![EDGE.to_vec()];
    for token in pattern {
        match (token, runs.last_mut()) {
            (Token::Char(c), Some(run)) => run.push(Some(*c)),
            _ => runs.push(Vec::new()),
        }
    }
    runs.last_mut().into_iter().for_each(|run| run.extend(EDGE));
    runs.into_iter().max_by_key(|run| (run.iter().flatten().count(), run.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::glob::tokens;
    use super::*;

    fn names(globs: impl IntoIterator<Item = String>) -> Names {
        let mut collector = Collector::default();
        for glob in globs {
            collector.add(&tokens(&glob).unwrap().into());
        }
        collector.finish()
    }

    /// Catches: a look at every pattern for each name.
    #[test]
    fn few_of_a_thousand_patterns_are_looked_at() {
        let kinds: [fn(usize) -> String; 5] = [
            |index| format!("secret-{index}"),
            |index| format!("*.x{index}"),
            |index| format!("*k{index}k*"),
            |index| format!("?{index}[ab]"),
            |index| format!("f{index}-*-[a-z]-?"),
        ];
        for kind in kinds {
            let names = names((0..1000).map(kind));
            let looked_at = |name: &str| names.candidates(&Name::new(name)).into_iter().collect::<BTreeSet<_>>().len();
            assert_eq!([looked_at("main.rs"), looked_at("Cargo.toml"), looked_at("\u{e9}t\u{e9}")], [0; 3]);
            // Those of which the text is a part of another one's.
            assert!((1..=10).contains(&looked_at(&kind(117).replace(['*', '?', '[', ']'], ""))), "{}", kind(117));
        }
    }

    #[test]
    fn a_pattern_is_kept_once() {
        let mut collector = Collector::default();
        let ids = ["a*", "b", "a*"].map(|glob| collector.add(&tokens(glob).unwrap().into()));
        assert_eq!((ids, collector.finish().patterns.len()), ([0, 1, 0], 2));
    }

    /// Catches: a text that is not in all that its pattern matches, and one that is taken for a match and is none.
    #[test]
    fn what_is_found_is_what_each_pattern_says_itself() {
        let globs = [
            "*", "?", "a", "*a", "a*", "*a*", "a*a", "??", "[ab]", "[!a]*", "*.b", "a.*", "*.*", "**", "a?b*", "*a?b", "ss",
            "s?", "\u{e9}", "*\u{e9}*", "fi", "?i", "[\u{df}]", "*\u{1f0}",
        ];
        let all = names(globs.map(str::to_owned));
        let letters = ["", "a", "b", ".", "A", "s", "\u{df}", "e\u{301}", "\u{e9}", "\u{fb01}", "\u{1f0}", "j\u{30c}", "\u{316}"];
        for (one, two, three) in
            letters.iter().flat_map(|one| letters.iter().flat_map(move |two| letters.map(|three| (one, two, three))))
        {
            let text = format!("{one}{two}{three}");
            let name = Name::new(&text);
            let each: Vec<Id> = (0..globs.len()).filter(|id| name.matches(&tokens(globs[*id]).unwrap())).collect();
            assert_eq!(all.matching(&name), each, "{text}");
        }
    }
}
