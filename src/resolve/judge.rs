//! What the rules say, asked for each name before the name is opened (NO-LAUNDERING: links and `..` are names like any other).
//!
//! May touch: `rule`. No I/O: the walk tells where it goes, and does not go where it is refused.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use crate::access::Access;
use crate::error::ErrorKind;
use crate::path::relative::{RelPath, Step};
use crate::root::Place;
use crate::rule::{Level, Rules, is_reserved, may_alias, may_be_short_for_reserved};

/// Is asked about every name before the name is opened, and told when the walk goes back.
pub(crate) trait Judge {
    /// About to look at `name` in the current directory. `last`: no name comes behind it. `dir`: it has to be a directory.
    fn enter(&mut self, name: &OsStr, last: bool, dir: bool) -> Result<(), ErrorKind>;
    /// The name entered last turned out to be a link that is to be followed.
    fn link(&mut self, last: bool) -> Result<(), ErrorKind>;
    /// The walk ends in the directory that it stands in.
    fn arrive(&self) -> Result<(), ErrorKind>;
    /// Back to the parent of the name entered last.
    fn leave(&mut self);
    /// Back to the floor.
    fn restart(&mut self);
    /// Whether `name` counts only where the directory's own listing holds it to the byte.
    fn is_exact(&self, name: &OsStr) -> bool;
    /// What the rules say of where the walk stands.
    fn level(&self) -> Level;
}

/// Judges by the rules of the root, along the names that are really walked.
pub(crate) struct RuleJudge<'a> {
    rules: &'a Rules,
    /// Nothing but this name in the floor is seen.
    only: Option<&'a OsStr>,
    floor: Cow<'a, Level>,
    /// Of the name entered last; to begin with of where the walk began.
    at: Cow<'a, Level>,
    /// From where the walk began down to the one above.
    above: Vec<Cow<'a, Level>>,
    need: Access,
    /// What the path leads to will be a directory, whatever it is called.
    makes_dir: bool,
}

impl<'a> RuleJudge<'a> {
    pub(crate) fn new(place: &'a Place, need: Access, makes_dir: bool) -> Self {
        Self {
            rules: &place.root().rules,
            only: place.only.as_deref(),
            floor: place.floor_level(),
            at: place.start_level(),
            above: Vec::new(),
            makes_dir,
            need,
        }
    }

    /// Whether there is nothing to judge but reserved names.
    pub(crate) fn is_empty(&self) -> bool {
        self.only.is_none() && self.rules.is_empty()
    }

    /// Whether a path can be judged only while it is walked: by `..`, or by a name that a disk may take for another one.
    #[cfg_attr(any(not(target_os = "linux"), cap_roots_portable), allow(dead_code, reason = "asked by the fast way"))]
    pub(crate) fn needs_walk(&self, path: &RelPath) -> bool {
        let ambiguous = |step| match step {
            Step::Parent => true,
            Step::Name(name) => may_alias(name),
        };
        !self.is_empty() && path.steps().any(ambiguous)
    }

    /// The names walked were exactly the ones that this level stands for.
    #[cfg_attr(any(not(target_os = "linux"), cap_roots_portable), allow(dead_code, reason = "asked by the fast way"))]
    pub(crate) fn stand_at(&mut self, level: &'a Level) {
        self.at = Cow::Borrowed(level);
    }

    /// What the path led to allows what is to be done.
    pub(crate) fn finish(&self, dir_or_link: bool) -> Result<(), ErrorKind> {
        if (dir_or_link || self.makes_dir) && self.only.is_some() {
            return Err(ErrorKind::OutsideRoots);
        }
        allow(self.at.ceiling(dir_or_link) >= self.need)
    }
}

impl Judge for RuleJudge<'_> {
    fn enter(&mut self, name: &OsStr, last: bool, dir: bool) -> Result<(), ErrorKind> {
        if self.only.is_some_and(|only| !last || name != only) {
            return Err(ErrorKind::OutsideRoots);
        }
        let level = self.rules.enter(&self.at.stand, name);
        let need = if last { self.need } else { Access::List };
        // Without rules the kernel follows links unseen, and typed names were looked at before.
        let reserved = !self.is_empty() && is_reserved(name);
        allow(!reserved && level.ceiling(!last || dir || self.makes_dir) >= need)?;
        self.above.push(std::mem::replace(&mut self.at, Cow::Owned(level)));
        Ok(())
    }

    fn link(&mut self, last: bool) -> Result<(), ErrorKind> {
        if self.only.is_some() {
            return Err(ErrorKind::OutsideRoots);
        }
        allow(self.at.as_dir >= if last { self.need } else { Access::List })
    }

    fn arrive(&self) -> Result<(), ErrorKind> {
        self.finish(true)
    }

    fn leave(&mut self) {
        self.at = self.above.pop().unwrap_or_else(|| self.floor.clone());
    }

    fn restart(&mut self) {
        self.above.clear();
        self.at = self.floor.clone();
    }

    fn is_exact(&self, name: &OsStr) -> bool {
        (!self.is_empty() && may_alias(name)) || (cfg!(windows) && may_be_short_for_reserved(name))
    }

    fn level(&self) -> Level {
        Level::clone(&self.at)
    }
}

fn allow(allowed: bool) -> Result<(), ErrorKind> {
    if allowed { Ok(()) } else { Err(ErrorKind::Protected) }
}

/// Judges as another one does, and keeps the names from the floor up to where the walk ended.
pub(crate) struct Traced<J> {
    judge: J,
    names: Vec<OsString>,
}

impl<J> Traced<J> {
    pub(crate) fn new(judge: J) -> Self {
        Self { judge, names: Vec::new() }
    }

    pub(crate) fn names(&self) -> RelPath {
        let mut path = RelPath::default();
        self.names.iter().for_each(|name| path.push_name(name));
        path
    }
}

impl<J: Judge> Judge for Traced<J> {
    fn enter(&mut self, name: &OsStr, last: bool, dir: bool) -> Result<(), ErrorKind> {
        // One that is refused as well: it is what is asked for.
        self.names.push(name.to_owned());
        self.judge.enter(name, last, dir)
    }
    fn link(&mut self, last: bool) -> Result<(), ErrorKind> {
        self.judge.link(last)
    }
    fn arrive(&self) -> Result<(), ErrorKind> {
        self.judge.arrive()
    }
    fn leave(&mut self) {
        self.names.pop();
        self.judge.leave();
    }
    fn restart(&mut self) {
        self.names.clear();
        self.judge.restart();
    }
    fn is_exact(&self, name: &OsStr) -> bool {
        self.judge.is_exact(name)
    }
    fn level(&self) -> Level {
        self.judge.level()
    }
}

/// For a path that was judged already, and is only measured.
pub(crate) struct NoRules;

impl Judge for NoRules {
    fn enter(&mut self, _: &OsStr, _: bool, _: bool) -> Result<(), ErrorKind> {
        Ok(())
    }
    fn link(&mut self, _: bool) -> Result<(), ErrorKind> {
        Ok(())
    }
    fn arrive(&self) -> Result<(), ErrorKind> {
        Ok(())
    }
    fn leave(&mut self) {}
    fn restart(&mut self) {}
    fn is_exact(&self, _: &OsStr) -> bool {
        false
    }
    fn level(&self) -> Level {
        Level::free()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::style::PathStyle;
    use crate::roots::Roots;

    /// Catches: `..` left to the kernel where there are rules. Between a name and the `..` behind it the directory may be renamed, and
    /// then `..` leads to names that nobody judged.
    #[test]
    fn what_text_cannot_judge_is_walked() {
        let folder = tempfile::tempdir().unwrap();
        let needs = |rule: Option<&str>, path: &str| {
            let builder = Roots::builder().root(folder.path(), Access::Write);
            let builder = rule.into_iter().fold(builder, |builder, rule| builder.rule(rule, Access::None));
            let place = builder.open().unwrap().place_of_first();
            RuleJudge::new(&place, Access::Read, false).needs_walk(&RelPath::parse(path, PathStyle::Unix).unwrap())
        };
        for path in ["a/../b", "..", "caf\u{e9}", "A~1/b", "a./b"] {
            assert!(needs(Some("x"), path), "{path}");
            assert!(!needs(None, path), "{path}");
        }
        assert!(!needs(Some("x"), "a/b/.c"));
    }

    fn place(rules: &[(&str, Access)]) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let builder = Roots::builder().root(folder.path(), Access::Write);
        rules.iter().fold(builder, |builder, (rule, access)| builder.rule(*rule, *access)).open().unwrap().place_of_first()
    }

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    const OUTSIDE: Result<(), ErrorKind> = Err(ErrorKind::OutsideRoots);
    const PROTECTED: Result<(), ErrorKind> = Err(ErrorKind::Protected);

    /// Catches: a name that is judged as a file where it has to be a directory, or as the end where another name comes behind it.
    #[test]
    fn a_name_is_judged_as_what_it_has_to_be() {
        let place = place(&[("x/", Access::None), ("l", Access::List)]);
        let enter =
            |text: &str, last, dir, makes_dir| RuleJudge::new(&place, Access::Read, makes_dir).enter(name(text), last, dir);
        assert_eq!(enter("x", true, false, false), Ok(()));
        for (last, dir, makes_dir) in [(false, false, false), (true, true, false), (true, false, true)] {
            assert_eq!(enter("x", last, dir, makes_dir), PROTECTED, "{last} {dir} {makes_dir}");
            assert_eq!(enter("y", last, dir, makes_dir), Ok(()));
        }
        assert_eq!((enter("l", false, false, false), enter("l", true, false, false)), (Ok(()), PROTECTED));
        assert_eq!(enter(".cap-roots-1.tmp", true, false, false), PROTECTED);
        let end = |dir_or_link, makes_dir| {
            let mut judge = RuleJudge::new(&place, Access::Write, makes_dir);
            judge.enter(name("x"), true, false).and_then(|()| judge.finish(dir_or_link))
        };
        assert_eq!((end(false, false), end(true, false)), (Ok(()), PROTECTED));
    }

    /// Catches: a walk that goes on by the rules of where it was, or ends where it may not.
    #[test]
    fn the_judge_stands_where_the_walk_does() {
        let place = place(&[("a/secret", Access::None), ("l", Access::List)]);
        let mut judge = RuleJudge::new(&place, Access::Read, false);
        judge.enter(name("a"), false, false).unwrap();
        assert_eq!(judge.enter(name("secret"), true, false), PROTECTED);
        judge.leave();
        assert_eq!((judge.enter(name("secret"), false, false), judge.enter(name("a"), false, false)), (Ok(()), Ok(())));
        judge.restart();
        assert_eq!((judge.level(), judge.enter(name("a"), false, false)), (place.floor_level().into_owned(), Ok(())));
        assert_eq!((judge.link(false), judge.enter(name("secret"), true, false)), (Ok(()), PROTECTED));
        judge.restart();
        judge.leave();
        judge.enter(name("l"), false, false).unwrap();
        assert_eq!((judge.link(false), judge.link(true), judge.arrive()), (Ok(()), PROTECTED, PROTECTED));
        judge.leave();
        assert_eq!(judge.arrive(), Ok(()));
    }

    /// Catches: a set of one file that lets another name, a directory or a link through.
    #[test]
    fn where_one_name_counts_nothing_else_is_passed() {
        let mut place = place(&[]);
        place.only = Some(OsString::from("f"));
        let judge = |makes_dir| RuleJudge::new(&place, Access::Read, makes_dir);
        let enter = |text: &str, last| judge(false).enter(name(text), last, false);
        assert_eq!((enter("f", true), enter("f", false), enter("g", true)), (Ok(()), OUTSIDE, OUTSIDE));
        assert_eq!(
            (judge(false).finish(false), judge(false).finish(true), judge(true).finish(false)),
            (Ok(()), OUTSIDE, OUTSIDE)
        );
        assert_eq!((judge(false).link(true), judge(false).arrive()), (OUTSIDE, OUTSIDE));
    }

    #[test]
    fn names_that_a_disk_may_take_for_others_count_to_the_byte_under_rules() {
        let (ruled, free) = (place(&[(".env", Access::None)]), place(&[]));
        let exact = |place: &Place, text: &str| {
            let judge = RuleJudge::new(place, Access::Read, false);
            (judge.is_exact(name(text)), Traced::new(judge).is_exact(name(text)))
        };
        assert_eq!(
            (exact(&ruled, "caf\u{e9}"), exact(&ruled, "a"), exact(&free, "caf\u{e9}")),
            ((true, true), (false, false), (false, false))
        );
        assert!(!NoRules.is_exact(name("caf\u{e9}")));
        // What may be the alias of a temporary file is one on Windows alone.
        assert_eq!(exact(&free, "CAP-RO~1.TMP"), (cfg!(windows), cfg!(windows)));
    }

    /// Catches: names that are kept after they were left, and a judge that is not asked any more once it is traced.
    #[test]
    fn a_traced_judge_judges_and_its_names_are_those_of_the_way() {
        let place = place(&[("secret", Access::None), ("l", Access::List)]);
        let mut judge = Traced::new(RuleJudge::new(&place, Access::Read, false));
        let told = |judge: &Traced<_>| judge.names().as_os_str().to_owned();
        judge.enter(name("a"), false, false).unwrap();
        judge.enter(name("b"), false, false).unwrap();
        judge.leave();
        assert_eq!(judge.enter(name("secret"), true, false), PROTECTED);
        assert_eq!(told(&judge), "a/secret", "the refused one is what is asked for");
        judge.restart();
        assert_eq!((told(&judge).to_str(), judge.level()), (Some("."), place.floor_level().into_owned()));
        judge.enter(name("l"), false, false).unwrap();
        assert_eq!((judge.link(true), judge.arrive(), told(&judge).to_str()), (PROTECTED, PROTECTED, Some("l")));
    }
}
