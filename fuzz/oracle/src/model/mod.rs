//! One model of everything that the crate does with paths: a POSIX tree in memory, roots on it, and what each operation answers and does.
//!
//! Written from POSIX, the man pages (path_resolution(7), symlink(7), inode(7), open(2), rename(2), unlink(2), mkdir(2)) and the crate's
//! documentation, and not from its resolver: a fault there must not be repeated here. `world` is the tree, `place` what a text means,
//! `resolve` where a path leads, `rules` what the operator's globs leave; `ops` and `ends` are the operations, `hints` a client's.

use cap_roots::Access;

use self::place::{End, Slot};
use self::resolve::Last;
use self::rules::Rule;
use self::world::{Id, World, names_of};
use crate::sequence::step::{Op, Step};

pub mod place;
pub mod rules;
pub mod world;

mod ends;
mod hints;
mod ops;
mod resolve;

#[cfg(test)]
mod pages;
#[cfg(test)]
mod tests;

/// A code of `cap_roots::ErrorKind`.
pub type Code = &'static str;

/// What a caller gets to see of an operation that went well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Done,
    Content(String),
    /// Names (of a walk: each with its type), sorted, and how many were left out.
    Names(Vec<String>, u64),
    Kind(&'static str),
    Text(String),
    Bool(bool),
    /// How many links and special files a copy left out.
    Copied(u64),
}

pub type Outcome = Result<Seen, Code>;

/// A root, as the operator granted it.
#[derive(Clone, Debug)]
pub struct Root {
    pub name: String,
    /// The names that led to it when it was opened.
    pub names: Vec<String>,
    access: Access,
    dir: Id,
}

/// A world with roots on it, and the sets of roots that a program holds: the one that was opened, and those narrowed from it.
#[derive(Clone, Debug)]
pub struct Model {
    pub world: World,
    /// The operator's option: of a file with more names than one, nothing is read.
    pub refuse_hard_links: bool,
    roots: Vec<Root>,
    rules: Vec<Rule>,
    views: Vec<Vec<Slot>>,
    revoked: bool,
}

impl Model {
    pub fn new(world: World) -> Self {
        let (roots, rules, views) = (Vec::new(), Vec::new(), vec![Vec::new()]);
        Self { world, refuse_hard_links: false, roots, rules, views, revoked: false }
    }

    /// The world of these lines with one root on it, for reading.
    pub fn reading<S: AsRef<str>>(lines: impl IntoIterator<Item = S>, base: &str) -> Self {
        let mut model = Self::new(World::build(lines, base));
        model.grant("root", &["ROOT"], Access::Read, false);
        model
    }

    /// Opens a root at the names from the base. One inside another with less access is a rule on the other.
    pub fn grant<S: AsRef<str>>(&mut self, name: &str, names: &[S], access: Access, no_delete: bool) {
        let dir = self.world.plain(names).unwrap_or_else(|| panic!("a root that is not there"));
        let names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
        for outer in &self.roots {
            if names.len() > outer.names.len() && names.starts_with(&outer.names) {
                // A root's directory stays where it is, and what it is.
                self.rules.push(Rule::guard(&names));
            }
            if names.starts_with(&outer.names) && access < outer.access {
                self.rules.push(Rule::on_directory(&names, access));
            }
        }
        let root = self.roots.len();
        self.views[0].push(Slot { root, access, no_delete, ended: None, floor: Vec::new(), held: None, only: None });
        self.roots.push(Root { name: name.to_owned(), names, access, dir });
    }

    /// Adds a rule to one root. It holds for what is in that root, by whichever root it is reached.
    pub fn rule(&mut self, root: usize, glob: &str, access: Access) {
        let rule = Rule::parse(&self.roots[root].names, glob, access);
        if !self.rules.iter().any(|outer| rule.repeats(outer)) {
            self.rules.push(rule);
        }
    }

    /// Does one step.
    pub fn run(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Do { view, op } => return self.operate(*view, op),
            Step::Plant(line) => return Ok(Seen::Bool(self.plants(line) && self.world.plant(line, false))),
            Step::Hint { view, paths } => return self.hinted(&self.view(*view).to_vec(), paths),
            Step::Within { view, path } => {
                let (end, names) = self.directory(*view, path)?;
                self.views.push(vec![Slot { floor: [end.slot.floor.clone(), names].concat(), only: None, ..end.slot }]);
            }
            Step::Limit { view, access } => self.narrow(*view, |slot| slot.access = slot.access.min(*access)),
            Step::NoDelete { view } => self.narrow(*view, |slot| slot.no_delete = true),
            Step::Revoke => self.revoked = true,
        }
        Ok(Seen::Done)
    }

    /// Opens a directory: the set is then that directory by handle, and moves with it.
    pub fn hold(&mut self, view: usize, path: &str) -> Outcome {
        let (end, names) = self.directory(view, path)?;
        let opened_by = [end.slot.opened_by(), &end.path.steps].concat();
        let id = self.resolve(&end, Last::Follow)?.there()?;
        let floor = [end.slot.floor.clone(), names].concat();
        self.views.push(vec![Slot { floor, held: Some((id, opened_by)), only: None, ..end.slot }]);
        Ok(Seen::Done)
    }

    /// Ends a set that is narrowed from another, by its time (`expired`) or by a flag (`cancelled`).
    pub fn end(&mut self, view: usize, code: Code) {
        self.narrow(view, |slot| slot.ended = Some(code));
    }

    /// Whether the other side keeps to what the operator cannot be helped against: who gives a file that may not be read a second name
    /// lets it be read.
    fn plants(&self, line: &str) -> bool {
        let source = line.strip_prefix("hard ").and_then(|rest| rest.split_once(" = "));
        source.is_none_or(|(_, source)| rules::ceiling(&self.rules, &names_of(source), false) >= Access::Read)
    }

    fn view(&self, number: usize) -> &[Slot] {
        &self.views[number % self.views.len()]
    }

    /// ACCESS-SHRINKS: what a set is narrowed by, it has in each of its roots.
    fn narrow(&mut self, view: usize, less: impl Fn(&mut Slot)) {
        let mut slots = self.view(view).to_vec();
        slots.iter_mut().for_each(less);
        self.views.push(slots);
    }

    /// The real names of a directory.
    fn directory(&self, view: usize, path: &str) -> Result<(End, Vec<String>), Code> {
        let end = self.locate(self.view(view), path, Access::List, false)?;
        self.decide(&end, false)?;
        let spot = self.resolve(&end, Last::Follow)?;
        if self.world.is_dir(spot.there()?) { Ok((end, spot.names)) } else { Err("not-a-directory") }
    }

    /// What an operation that changes nothing answers.
    pub fn look(&self, view: usize, op: &Op) -> Outcome {
        let need = if matches!(op, Op::Read(_)) { Access::Read } else { Access::List };
        self.look_at(&self.locate(self.view(view), op.path(), need, false)?, op)
    }

    fn operate(&mut self, view: usize, op: &Op) -> Outcome {
        if op.looks() {
            return self.look(view, op);
        }
        let copies = matches!(op, Op::Copy(..) | Op::CopyReplace(..));
        let makes_dir = matches!(op, Op::CreateDir(_) | Op::CreateDirAll(_));
        let need = if copies { Access::Read } else { Access::Write };
        let from = self.locate(self.view(view), op.path(), need, makes_dir)?;
        let Some((_, to)) = op.two_ends() else { return self.change(&from, op) };
        let to = self.locate(self.view(view), to, Access::Write, false)?;
        let replace = matches!(op, Op::RenameReplace(..) | Op::CopyReplace(..));
        if copies { self.copy(&from, &to, replace) } else { self.rename(&from, &to, replace) }
    }

    /// The decision, before anything is looked at.
    fn decide(&self, end: &End, deletes: bool) -> Result<(), Code> {
        let slot = &end.slot;
        if self.revoked {
            return Err("revoked");
        }
        if let Some(code) = slot.ended {
            return Err(code);
        }
        if slot.access < end.need || (deletes && slot.no_delete) {
            return Err("not-granted");
        }
        let mut names: Vec<&str> = Vec::new();
        for (index, step) in end.path.steps.iter().enumerate() {
            let last = index + 1 == end.path.steps.len();
            if step != ".." {
                names.push(step);
            } else if names.pop().is_none() {
                // Above the root: what the names would be is not known, and resolution refuses it.
                return Ok(());
            }
            self.judge(slot, &names, if last { end.need } else { Access::List }, !last || end.path.dir || end.dir)?;
        }
        self.judge(slot, &names, end.need, names.is_empty() || end.path.dir || end.dir)
    }

    /// Whether rules leave this much of the names below the floor.
    fn judge<S: AsRef<str>>(&self, slot: &Slot, names: &[S], need: Access, dir: bool) -> Result<(), Code> {
        if rules::ceiling(&self.rules, &self.full(slot, names), dir) < need { Err("protected") } else { Ok(()) }
    }

    /// The names from the base, as they were when the roots were opened.
    fn full<S: AsRef<str>>(&self, slot: &Slot, names: &[S]) -> Vec<String> {
        let above = self.roots[slot.root].names.iter().chain(&slot.floor).cloned();
        above.chain(names.iter().map(|name| name.as_ref().to_owned())).collect()
    }
}
