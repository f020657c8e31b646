//! What rules answer, written out: what is told of them, what is one rule, and how typed text is judged.
//!
//! Catches: limits that are off by one, a judgement of typed names that stops early, takes `..` for an end or forgets the slash behind a name,
//! places that are compared by what is behind them, and rules that are told by another name or access than they have.

use super::*;
use crate::path::style::PathStyle;

const ALL: Access = Access::Write;

fn path(text: &str) -> RelPath {
    RelPath::parse(text, PathStyle::Unix).unwrap()
}

fn rule(glob: &str, access: Access) -> Rule {
    Rule::parse(glob, access).unwrap()
}

fn rules(globs: &[(&str, Access)]) -> Rules {
    Rules::new(globs.iter().map(|(glob, access)| rule(glob, *access)), ALL)
}

#[test]
fn patterns_are_bounded_to_the_byte_and_the_name() {
    let parse = |glob: &str| Rule::parse(glob, Access::None).map(drop);
    assert_eq!(parse(&"a".repeat(PATTERN_LIMIT)), Ok(()));
    for longer in [PATTERN_LIMIT + 1, PATTERN_LIMIT + 2] {
        assert_eq!(parse(&"a".repeat(longer)), Err(Detail::PathTooLong { limit: PATTERN_LIMIT }));
    }
    let names = |count: usize| vec!["a"; count].join("/");
    assert_eq!(parse(&names(PIECES)), Ok(()));
    assert!(parse(&names(PIECES + 1)).is_err() && parse(&names(PIECES + 2)).is_err());
    let deepest = rules(&[(&names(PIECES), Access::None)]);
    let ceiling = |count| deepest.level(&path(&names(count))).as_file;
    assert_eq!((ceiling(PIECES - 1), ceiling(PIECES), ceiling(PIECES + 1)), (ALL, Access::None, Access::None));
    let placed = |count| Rule::place(&path(&names(count)), Access::None, Access::None).is_some();
    assert_eq!((placed(PIECES), placed(PIECES + 1), placed(PIECES + 2)), (true, false, false));
    let above = |count| rule("b", Access::None).seen_from_above(&path(&names(count))).is_some();
    assert_eq!((above(PIECES - 2), above(PIECES - 1), above(PIECES)), (true, false, false));
}

#[test]
fn rules_are_told_as_they_are() {
    let place = |own, below| Rule::place(&path("a/b"), own, below).unwrap();
    let above = |glob| rule(glob, Access::Read).seen_from_above(&path("in")).unwrap();
    let told =
        |rule: Rule| Rules::new(vec![rule], ALL).list().map(|(glob, access)| format!("{glob}={access}")).collect::<Vec<_>>();
    for (rule, text) in [
        (rule(".env", Access::None), ".env=none"),
        (rule("a/**", Access::List), "a/**=list"),
        (place(Access::List, Access::None), "/a/b=none"),
        (place(Access::Read, ALL), "/a/b=read"),
        (above(".env"), "/in/**/.env=read"),
        (above("**/x"), "/in/**/**/x=read"),
        (above("/x/y"), "/in/x/y=read"),
    ] {
        assert_eq!(told(rule), [text]);
    }
    let placed = Rules::new(vec![place(Access::List, Access::None)], ALL);
    let ceiling = |text| placed.level(&path(text)).as_file;
    assert_eq!([ceiling("a"), ceiling("a/b"), ceiling("a/b/c"), ceiling("b")], [ALL, Access::List, Access::None, ALL]);
}

#[test]
fn one_rule_is_one_whichever_way_it_is_written() {
    let (none, read) = (Access::None, Access::Read);
    let like = |one: (&str, Access), other: (&str, Access)| rule(one.0, one.1).shape() == rule(other.0, other.1).shape();
    assert!(like(("a/b", none), ("/a/b", none)) && like((".ENV", none), ("**/.env", none)));
    assert!(!like(("a/b", none), ("a/c", none)), "another pattern");
    assert!(!like(("a/b", none), ("a/b", read)), "another access");
    assert!(!like(("a/b", none), ("a/b/", none)), "another kind");
    assert!(!like(("a/b", none), ("a/b/**", none)), "another reach");
}

#[test]
fn rules_that_match_are_named_in_the_order_of_the_names() {
    let rules = rules(&[(".env", Access::None), ("a", Access::Read), ("x/**", Access::List)]);
    let named = |text| rules.that_match(rules.top(), &path(text));
    let row = |text: &str, access| (text.to_owned(), access);
    assert_eq!(named("a/.env"), [row("a=read", Access::Read), row(".env=none", Access::None)]);
    assert_eq!(named("x"), [row("x/**=list", Access::Read)], "X itself may be read");
    assert_eq!(named("x/y"), [row("x/**=list", Access::List)]);
    assert_eq!(named("b/c"), []);
    assert_eq!(named("a/../.env"), [row("a=read", Access::Read)], "behind `..` only the walk knows");
}

/// What can still match is compared, and nothing else: neither rules that are behind, nor where a rule stood that covers everything.
#[test]
fn places_are_alike_by_what_is_ahead() {
    let (behind, none) = (rules(&[("a/secret", Access::None)]), rules(&[]));
    let alike = |one: &Rules, at: &str, other: &Rules| one.stand_alike(&one.level(&path(at)), other, other.top());
    assert!(alike(&behind, "b", &none) && alike(&none, "b", &none));
    assert!(!alike(&behind, "a", &none) && !alike(&none, ".", &behind));
    let covered = rules(&[("**/a/b", Access::None)]);
    let level = |text| covered.level(&path(text));
    assert!(covered.stand_alike(&level("a/b"), &covered, &level("a/b/a")), "all is covered in both");
    assert!(!covered.stand_alike(&level("a/b"), &covered, &level("a")));
}

#[test]
fn typed_text_is_judged_name_by_name() {
    let rules = rules(&[("secret", Access::None), ("shown", Access::List), ("x/", Access::None), ("d/deep", Access::Read)]);
    let (list, read, write) = (Access::List, Access::Read, Access::Write);
    let judged = |text: &str, need, dir| rules.judge_text(rules.top(), &path(text), need, dir).map(|level| level.as_file);
    for (text, need, dir, ceiling) in [
        ("a/b", write, false, Some(write)),
        ("a/", write, false, Some(write)),
        ("a", write, true, Some(write)),
        ("secret", list, false, None),
        ("secret/a", list, false, None),
        ("a/secret", list, false, None),
        ("secret/../a", list, false, None),
        ("a/../secret", list, false, None),
        ("a/b/../../secret", list, false, None),
        ("shown", list, false, Some(list)),
        ("shown", read, false, None),
        ("shown/", read, false, None),
        ("shown/a", list, false, Some(list)),
        ("shown/a/..", list, false, Some(list)),
        ("shown/a/..", read, false, None),
        // A file of that name is none of the rule's business.
        ("x", write, false, Some(write)),
        ("x", write, true, None),
        ("x/", list, false, None),
        ("x/a", list, false, None),
        ("d/deep", read, false, Some(read)),
        ("d/deep/../b", write, false, Some(write)),
        // Above the start only the walk knows.
        ("..", write, false, Some(write)),
        ("../secret", write, false, Some(write)),
        ("a/../..", write, false, Some(write)),
        (".", write, false, Some(write)),
        // Names of our temporary files.
        (".cap-roots-1.tmp", list, false, None),
        ("a/.cap-roots-1.tmp/b", list, false, None),
    ] {
        assert_eq!(judged(text, need, dir), ceiling, "{text} {need} {dir}");
    }
    let free = Rules::new(Vec::new(), ALL);
    let judged = |text: &str| free.judge_text(free.top(), &path(text), ALL, false);
    assert_eq!(
        (judged("a/../secret"), judged(".cap-roots-1.tmp"), judged("a/.cap-roots-1.tmp")),
        (Some(Level::free()), None, None)
    );
}
