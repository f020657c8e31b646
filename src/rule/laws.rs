//! The compiled set beside each of its rules alone, over generated rules and paths.
//!
//! Catches: patterns that are taken for each other, a rule that is lost where others begin alike, and one that still counts where it covered
//! everything, or no longer where it did not.

use std::ffi::OsStr;

use proptest::prelude::*;

use super::glob::{Name, Piece};
use super::*;

const LEVELS: [Access; 4] = [Access::None, Access::List, Access::Read, Access::Write];

/// Rules, one beside the other: each stands in a set of its own states, which are numbers of pieces that are behind it.
#[derive(Clone)]
struct Alone {
    rules: Vec<(Rule, u64)>,
    below: Access,
}

impl Alone {
    /// With what the top itself allows.
    fn new(rules: &[Rule], ceiling: Access) -> (Self, (Access, Access)) {
        let rules = rules.iter().filter(|rule| rule.access() < Access::Write);
        let at_top = |rule: &Rule| (rule.clone(), close(rule, rule.start));
        Self { rules: rules.map(at_top).collect(), below: ceiling }.settle()
    }

    fn enter(&self, name: &OsStr) -> (Self, (Access, Access)) {
        let name = Name::new(&name.to_string_lossy());
        let step = |(rule, states): &(Rule, u64)| (rule.clone(), step(rule, *states, &name));
        Self { rules: self.rules.iter().map(step).collect(), below: self.below }.settle()
    }

    fn settle(mut self) -> (Self, (Access, Access)) {
        let (mut as_file, mut as_dir) = (self.below, self.below);
        for (rule, states) in &mut self.rules {
            if *states & (1 << rule.pieces.len()) == 0 {
                continue;
            }
            as_dir = as_dir.min(rule.own);
            as_file = if rule.dirs_only { as_file } else { as_file.min(rule.own) };
            self.below = self.below.min(rule.below);
            if rule.below <= rule.own {
                *states = 0;
            }
        }
        (self, (as_file, as_dir))
    }

    fn left(&self) -> Vec<(&[Piece], bool, Access, Access)> {
        let left =
            |(rule, states): &'_ (Rule, u64)| (0..rule.pieces.len()).filter(|at| states & (1 << at) != 0).collect::<Vec<_>>();
        self.rules
            .iter()
            .flat_map(|of| left(of).into_iter().map(move |at| (&of.0.pieces[at..], of.0.dirs_only, of.0.own, of.0.below)))
            .collect()
    }

    fn is_like(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.left(), other.left());
        self.below == other.below
            && mine.iter().all(|left| theirs.contains(left))
            && theirs.iter().all(|left| mine.contains(left))
    }

    fn seen_inside(&self) -> Vec<Rule> {
        self.rules.iter().filter(|(_, states)| *states != 0).map(|(rule, start)| Rule { start: *start, ..rule.clone() }).collect()
    }
}

fn close(rule: &Rule, mut states: u64) -> u64 {
    for (at, piece) in rule.pieces.iter().enumerate() {
        if *piece == Piece::Depth && states & (1 << at) != 0 {
            states |= 1 << (at + 1);
        }
    }
    states
}

fn step(rule: &Rule, states: u64, name: &Name) -> u64 {
    let leads = |(at, piece): (usize, &Piece)| match piece {
        _ if states & (1 << at) == 0 => 0,
        Piece::Depth => 1 << at,
        Piece::Name(tokens) if name.matches(tokens) => 1 << (at + 1),
        Piece::Name(_) => 0,
    };
    close(rule, rule.pieces.iter().enumerate().map(leads).fold(0, |all, one| all | one))
}

fn names(most: usize) -> impl Strategy<Value = RelPath> {
    let name = prop::sample::select(vec!["a", "b", "ab", "A", "c", "\u{df}", "ss"]);
    prop::collection::vec(name, 0..most).prop_map(|names| {
        let mut path = RelPath::default();
        names.into_iter().for_each(|name| path.push_name(OsStr::new(name)));
        path
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let piece = prop::sample::select(vec!["a", "b", "*", "**", "a*", "?", "*b", "[ab]", "ss", "s?"]);
    let access = prop::sample::select(LEVELS.to_vec());
    let glob = (any::<bool>(), prop::collection::vec(piece, 1..5), any::<bool>());
    let written = (glob, access.clone()).prop_filter_map("no glob", |((top, pieces, dir), access)| {
        let glob = format!("{}{}{}", if top { "/" } else { "" }, pieces.join("/"), if dir { "/" } else { "" });
        Rule::parse(&glob, access).ok()
    });
    let placed =
        (names(3), access.clone(), access).prop_filter_map("too deep", |(names, own, below)| Rule::place(&names, own, below));
    let above = (written.clone(), names(3)).prop_filter_map("too deep", |(rule, names)| rule.seen_from_above(&names));
    prop_oneof![4 => written, 1 => placed, 1 => above]
}

/// The same rules both ways, led to the same directory.
fn both(rules: &[Rule], ceiling: Access, path: &RelPath) -> (Rules, Level, Alone) {
    let set = Rules::new(rules.to_vec(), ceiling);
    let (mut alone, mut told) = Alone::new(rules, ceiling);
    let mut level = set.top().clone();
    assert_eq!((level.as_file, level.as_dir), told);
    for step in path.steps() {
        let Step::Name(name) = step else { continue };
        level = set.enter(&level.stand, name);
        (alone, told) = alone.enter(name);
        assert_eq!((level.as_file, level.as_dir), told, "{rules:?} {:?}", path.as_os_str());
    }
    (set, level, alone)
}

proptest! {
    #[test]
    fn a_set_says_what_its_rules_say_alone(
        rules in prop::collection::vec(rule(), 0..8),
        more in prop::collection::vec(rule(), 0..4),
        ceiling in prop::sample::select(LEVELS.to_vec()),
        one in names(5),
        two in names(5),
        rest in names(4),
    ) {
        let (set, at, alone) = both(&rules, ceiling, &one);
        let (_, there, alone_there) = both(&rules, ceiling, &two);
        prop_assert_eq!(set.stand_alike(&at, &set, &there), alone.is_like(&alone_there));
        let all: Vec<Rule> = rules.iter().rev().chain(&more).cloned().collect();
        let (wider, there, alone_there) = both(&all, ceiling, &two);
        prop_assert_eq!(set.stand_alike(&at, &wider, &there), alone.is_like(&alone_there));
        // From inside: the same rules, which go on alike.
        let (seen, below) = set.seen_from_inside(&one);
        let expected = alone.seen_inside();
        prop_assert_eq!((&seen, below), (&expected, alone.below));
        let (inner, inside, _) = both(&seen, below, &rest);
        prop_assert!(inner.stand_alike(&inside, &set, &set.level(&one.join(&rest))));
    }
}
