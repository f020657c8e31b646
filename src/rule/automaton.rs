//! The patterns of all rules as one automaton over names: a bit for each place in each of them.
//!
//! May touch: `glob`. No I/O (PURE-CORE). One step for all at once: where patterns have a plain name next, the name is looked up among those;
//! only names with wildcards are compared one by one.

use std::ffi::OsStr;
use std::ops::Range;

use tinyvec::TinyVec;

use super::glob::{self, Name, Piece, Token};

/// Where patterns stand, as bits. Those of some forty patterns take no memory of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places(TinyVec<[u64; 2]>);

impl Places {
    fn none(count: usize) -> Self {
        Self(std::iter::repeat_n(0, count.div_ceil(64)).collect())
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word & (1 << (place % 64)) != 0)
    }

    fn set(&mut self, place: usize, on: bool) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word = if on { *word | (1 << (place % 64)) } else { *word & !(1 << (place % 64)) };
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }

    fn of_both(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
        both
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Automaton {
    /// The places of each pattern; the last one is where it has matched.
    spans: Vec<Range<usize>>,
    /// The places at `**`. Never two in a row.
    depths: Places,
    /// The last places.
    ends: Places,
    /// By hash.
    plain: Vec<Plain>,
    wild: Vec<Wild>,
    /// What a name must have to match each of `wild`, see [`marks`]: most names lack some, and are told by these alone.
    marks: Vec<u128>,
}

/// A name without wildcards, folded, and the places at which it is next.
#[derive(Clone, Debug)]
struct Plain {
    hash: u64,
    text: String,
    tokens: Vec<Token>,
    places: Vec<usize>,
}

/// A name with wildcards, and the places at which it is next.
#[derive(Clone, Debug)]
struct Wild {
    tokens: Vec<Token>,
    places: Vec<usize>,
}

impl Automaton {
    pub(super) fn new<'a>(patterns: impl Iterator<Item = &'a [Piece]>) -> Self {
        let mut own = Self::default();
        let (mut end, mut depths) = (0, Vec::new());
        for pieces in patterns {
            let start = end;
            for piece in pieces {
                match piece {
                    Piece::Depth => depths.push(end),
                    Piece::Name(tokens) => own.add(tokens, end),
                }
                end += 1;
            }
            end += 1;
            own.spans.push(start..end);
        }
        own.plain.sort_by_key(|plain| plain.hash);
        let bits = |places: &mut dyn Iterator<Item = usize>| {
            let mut bits = Places::none(end);
            places.for_each(|place| bits.set(place, true));
            bits
        };
        own.depths = bits(&mut depths.into_iter());
        own.ends = bits(&mut own.spans.iter().filter_map(|span| span.end.checked_sub(1)));
        own
    }

    fn add(&mut self, tokens: &[Token], place: usize) {
        let plain = |token: &Token| if let Token::Char(c) = token { Some(*c) } else { None };
        match tokens.iter().map(plain).collect::<Option<String>>() {
            Some(text) => match self.plain.iter_mut().find(|plain| plain.text == text) {
                Some(plain) => plain.places.push(place),
                None => {
                    let hash = hash(text.as_bytes());
                    self.plain.push(Plain { hash, text, tokens: tokens.to_vec(), places: vec![place] });
                }
            },
            None => match self.wild.iter_mut().find(|wild| wild.tokens == tokens) {
                Some(wild) => wild.places.push(place),
                None => {
                    self.marks.push(marks(tokens.iter().map(|token| plain(token).and_then(|c| u8::try_from(c).ok()))));
                    self.wild.push(Wild { tokens: tokens.to_vec(), places: vec![place] });
                }
            },
        }
    }

    /// The places at which the patterns stand that each stand at `starts`, as bits of its own.
    pub(super) fn start(&self, starts: impl Iterator<Item = u64>) -> Places {
        let mut places = self.spans.last().map_or_else(Places::default, |span| Places::none(span.end));
        for (span, bits) in self.spans.iter().zip(starts) {
            span.clone().enumerate().filter(|(index, _)| bits & (1 << index) != 0).for_each(|(_, place)| places.set(place, true));
        }
        self.close(&mut places);
        places
    }

    /// Where one pattern stands, as bits of its own.
    pub(super) fn part(&self, places: &Places, pattern: usize) -> u64 {
        let span = self.spans.get(pattern).cloned().unwrap_or_default();
        span.enumerate().filter(|(_, place)| places.has(*place)).fold(0, |bits, (index, _)| bits | (1 << index))
    }

    /// The patterns that have matched.
    pub(super) fn matched(&self, places: &Places) -> impl Iterator<Item = usize> {
        let has_matched = |span: &Range<usize>| span.end.checked_sub(1).is_some_and(|end| places.has(end));
        self.spans.iter().enumerate().filter(move |(_, span)| has_matched(span)).map(|(pattern, _)| pattern)
    }

    /// Whether any has.
    pub(super) fn has_matched(&self, places: &Places) -> bool {
        places.meets(&self.ends)
    }

    /// Takes a pattern out.
    pub(super) fn forget(&self, places: &mut Places, pattern: usize) {
        self.spans.get(pattern).cloned().unwrap_or_default().for_each(|place| places.set(place, false));
    }

    /// Where the patterns stand one name further.
    pub(super) fn step(&self, from: &Places, name: &OsStr) -> Places {
        let mut next = from.of_both(&self.depths);
        let mut take = |places: &[usize]| {
            places.iter().filter(|place| from.has(**place)).for_each(|place| next.set(place + 1, true));
        };
        let can_be_next = |places: &[usize]| places.iter().any(|place| from.has(*place));
        let bytes = name.as_encoded_bytes();
        if bytes.is_ascii() {
            let hash = hash(bytes);
            let first = self.plain.partition_point(|plain| plain.hash < hash);
            for plain in self.plain.iter().skip(first).take_while(|plain| plain.hash == hash) {
                if plain.text.as_bytes().eq_ignore_ascii_case(bytes) {
                    take(&plain.places);
                }
            }
            let own = if self.wild.is_empty() { 0 } else { marks(bytes.iter().map(|byte| Some(byte.to_ascii_lowercase()))) };
            for (_, wild) in self.marks.iter().zip(&self.wild).filter(|(marks, _)| *marks & !own == 0) {
                if can_be_next(&wild.places) && glob::matches_ascii(&wild.tokens, bytes) {
                    take(&wild.places);
                }
            }
        } else {
            let name = Name::new(&name.to_string_lossy());
            let plain = self.plain.iter().map(|plain| (&plain.tokens, &plain.places));
            for (tokens, places) in plain.chain(self.wild.iter().map(|wild| (&wild.tokens, &wild.places))) {
                if can_be_next(places) && name.matches(tokens) {
                    take(places);
                }
            }
        }
        self.close(&mut next);
        next
    }

    /// And all places that can be reached from these without a name.
    fn close(&self, places: &mut Places) {
        let mut carry = 0;
        for (word, depths) in places.0.iter_mut().zip(&self.depths.0) {
            let at_depth = *word & depths;
            *word |= at_depth << 1 | carry;
            carry = at_depth >> 63;
        }
    }
}

/// Of a text in lower case, or of one that is ASCII in any (FNV-1a). The texts looked among are the operator's, so names can be made to meet one of
/// them, and no more.
fn hash(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A bit for each two characters that stand side by side, and for the last one. `None` is what may be any. Whatever matches has all the bits of
/// what it matches; that it has them says nothing, since pairs share bits.
fn marks(text: impl Iterator<Item = Option<u8>>) -> u128 {
    let bit = |first: u8, second: u8| 1 << (first.wrapping_mul(37).wrapping_add(second) & 127);
    let (mut marks, mut before) = (0, None);
    for next in text {
        if let (Some(first), Some(second)) = (before, next) {
            marks |= bit(first, second);
        }
        before = next;
    }
    before.map_or(marks, |last| marks | bit(last, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::glob::tokens;

    /// Catches: a quick way for common names that says otherwise than the slow one, which knows all names.
    #[test]
    fn ascii_names_match_by_either_way_alike() {
        const GLOBS: [&str; 18] = [
            "a", "ab", "A.B", "*", "?", "??", "*a", "a*", "*.b", "a*b", "*a*b*", "[a-b]?", "[!a]*", "[A-Z]", "?*a", "**a",
            "[.]*", "\u{17f}a",
        ];
        let letters = ["a", "B", ".", "s", "z"];
        let mut names = vec![String::new()];
        for _ in 0..4 {
            let longer: Vec<String> = names.iter().flat_map(|name| letters.map(|letter| format!("{name}{letter}"))).collect();
            names.extend(longer);
        }
        let mut matched = 0;
        for glob in GLOBS {
            let pieces = [Piece::Name(tokens(glob).unwrap().into())];
            let automaton = Automaton::new([&pieces[..]].into_iter());
            for name in names.iter().filter(|name| !name.is_empty()) {
                let step = automaton.step(&automaton.start([1].into_iter()), OsStr::new(name));
                let expected = Name::new(name).matches(&tokens(glob).unwrap());
                assert_eq!(automaton.matched(&step).count() == 1, expected, "{glob} {name}");
                matched += usize::from(expected);
            }
        }
        assert!(matched > 1000);
    }

    /// Catches: places of many patterns that run into one another, or get lost where one word of bits ends.
    #[test]
    fn patterns_stand_each_for_itself() {
        let pieces = |count: usize| {
            let name = |index: usize| Piece::Name(tokens(&format!("n{index}")).unwrap().into());
            std::iter::once(Piece::Depth).chain((0..count).map(name)).collect::<Vec<_>>()
        };
        let patterns: Vec<_> = (0..40).map(|index| pieces(1 + index % 9)).collect();
        let automaton = Automaton::new(patterns.iter().map(Vec::as_slice));
        let mut places = automaton.start(std::iter::repeat_n(1, patterns.len()));
        for depth in 0..9 {
            places = automaton.step(&places, OsStr::new(&format!("N{depth}")));
            let alone = |pattern: &[Piece]| {
                let alone = Automaton::new(std::iter::once(pattern));
                let mut places = alone.start(std::iter::once(1));
                (0..=depth).for_each(|depth| places = alone.step(&places, OsStr::new(&format!("n{depth}"))));
                (alone.part(&places, 0), alone.matched(&places).count())
            };
            for (index, pattern) in patterns.iter().enumerate() {
                let matched = automaton.matched(&places).filter(|matched| *matched == index).count();
                assert_eq!((automaton.part(&places, index), matched), alone(pattern), "{index} {depth}");
            }
        }
        let all = |places: &Places| (0..40).map(|index| automaton.part(places, index)).collect::<Vec<_>>();
        let mut rest = all(&places);
        automaton.forget(&mut places, 7);
        assert_ne!(std::mem::take(&mut rest[7]), 0);
        assert_eq!(all(&places), rest);
    }
}
