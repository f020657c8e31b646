//! The crate's side of a case: what was opened, and what each step answers in the model's words.

use std::fmt::Debug;

use cap_roots::{Builder, Error, Hint, Operation, Roots};

use super::generate::{Case, SEALED};
use super::model::{Code, Outcome, Seen};
use super::step::{Op, Step};
use crate::act::Act;
use crate::poison::CANARY;
use crate::tree::Tree;

/// The sets of roots of a case: the one that was opened, and those narrowed from it.
pub struct Stage<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) views: Vec<Roots>,
    /// What errors said, without the place where the tree lies.
    pub(crate) told: Vec<String>,
}

impl<'a> Stage<'a> {
    /// Opens the case's grants on its tree.
    pub fn open(case: &Case, tree: &'a Tree, way: fn(Builder) -> Builder) -> Self {
        let mut builder = way(Roots::builder());
        for (glob, access) in &case.rules {
            builder = builder.rule(*glob, *access);
        }
        for grant in &case.grants {
            let path = grant.names.iter().fold(tree.base().to_owned(), |path, name| path.join(name));
            let mut made = cap_roots::Grant::new(path).name(grant.name).access(grant.access);
            if grant.no_delete {
                made = made.no_delete();
            }
            for (glob, access) in &grant.rules {
                made = made.rule(*glob, *access);
            }
            builder = builder.grant(made);
        }
        let views = vec![builder.open().unwrap_or_else(|error| panic!("{error}"))];
        Self { tree, views, told: Vec::new() }
    }

    /// Does a step that is the crate's to do.
    pub fn run(&mut self, step: &Step) -> Outcome {
        let count = self.views.len();
        let of = |view: &usize| self.views[view % count].clone();
        let made = match step {
            Step::Do { view, op } => {
                let rehearsed = rehearse(&of(view), op, self.tree);
                let outcome = operate(&of(view), op, self.tree);
                let shown = self.shown(outcome, op);
                assert!(is_as_rehearsed(rehearsed, &shown, op), "{op}: rehearsed as {rehearsed:?}, and done it is {shown:?}");
                return shown;
            }
            Step::Plant(line) => panic!("not the crate's to do: {line}"),
            Step::Within { view, path } => {
                let text = self.tree.expand(path);
                of(view).within(&text).map_err(|error| self.code(&error, &[&text]))?
            }
            Step::Hint { view, paths } => {
                let (made, told) = self.hinted(&of(view), paths);
                self.views.push(made);
                return Ok(told);
            }
            Step::Limit { view, access } => of(view).limit(*access),
            Step::NoDelete { view } => of(view).without_delete(),
            Step::Revoke => {
                self.views[0].revoke();
                return Ok(Seen::Done);
            }
        };
        self.views.push(made);
        Ok(Seen::Done)
    }

    fn hinted(&mut self, roots: &Roots, paths: &[String]) -> (Roots, Seen) {
        let parse =
            |path: &String| Hint::parse(&format!("file://{}", self.tree.expand(path))).unwrap_or_else(|error| panic!("{error}"));
        let hints: Vec<Hint> = paths.iter().map(parse).collect();
        let narrowed = roots.narrow(&hints);
        for (_, error) in narrowed.refused() {
            self.code(error, &[]);
        }
        let refused = u64::try_from(narrowed.refused().len()).unwrap_or(u64::MAX);
        let told = narrowed.roots().list().map(|root| root.uri()).collect();
        (narrowed.into_roots(), Seen::Names(told, refused))
    }

    /// The outcome in the model's words; nothing of the outside or of sealed files is in it.
    fn shown(&mut self, outcome: Result<Seen, Error>, op: &Op) -> Outcome {
        match outcome {
            Ok(seen) => {
                clean(&seen);
                Ok(seen)
            }
            Err(error) => {
                let typed = [op.path(), op.two_ends().map_or("", |(_, to)| to)].map(|text| self.tree.expand(text));
                Err(self.code(&error, &[&typed[0], &typed[1]]))
            }
        }
    }

    /// The code of an error that tells nothing of the host but what the caller typed.
    fn code(&mut self, error: &Error, typed: &[&str]) -> Code {
        let words = format!("{error} {error:?}");
        clean_text(&words);
        let base = self.tree.base_text();
        if words.contains(base) {
            let own = typed.iter().filter(|text| text.contains(base));
            let words = own.fold(words.clone(), |words, text| words.replace(text, ""));
            assert!(!words.contains(base), "a host path in: {words}");
        }
        self.told.push(words.replace(base, "$BASE"));
        error.code()
    }
}

fn clean(seen: &impl Debug) {
    clean_text(&format!("{seen:?}"));
}

fn clean_text(words: &str) {
    assert!(!words.contains(CANARY), "outside content: {words}");
    assert!(!words.contains(SEALED), "content that rules seal: {words}");
}

fn operate(roots: &Roots, op: &Op, tree: &Tree) -> Result<Seen, Error> {
    let to = op.two_ends().map(|(_, to)| tree.expand(to)).unwrap_or_default();
    roots.act_on(op, &tree.expand(op.path()), &to)
}

/// How an operation would end; `None` for what is no operation of its own, and for what is refused for its mode. That nothing is changed by it is
/// seen by the tree.
fn rehearse(roots: &Roots, op: &Op, tree: &Tree) -> Option<Result<(), Code>> {
    if matches!(op, Op::SetPermissions(_, mode) if mode & !0o777 != 0) {
        return None;
    }
    let name = if matches!(op, Op::Read(_)) { "open" } else { op.name() };
    let operation = Operation::ALL.iter().find(|operation| operation.name() == name)?;
    let rehearsal = roots.rehearse(tree.expand(op.path()), *operation);
    Some(rehearsal.outcome().map(drop).map_err(Error::code))
}

/// Whether an operation ends as its rehearsal did, but for what only doing it tells: what the system does not allow, what is in a directory, and
/// the other end.
fn is_as_rehearsed(rehearsed: Option<Result<(), Code>>, done: &Outcome, op: &Op) -> bool {
    match (rehearsed, done) {
        (None, _) | (Some(Ok(())), Ok(_)) => true,
        (Some(Ok(())), Err(code)) => {
            op.two_ends().is_some() || matches!(*code, "os-denied") || op.removes() && matches!(*code, "not-empty" | "protected")
        }
        (Some(Err(_)), Ok(_)) => false,
        (Some(Err(said)), Err(code)) => op.two_ends().is_some() || said == *code,
    }
}
