//! What each operation answers and does, from its documentation.

use cap_roots::Access;

use super::place::{End, Slot};
use super::rules::{self, Rule};
use super::step::{Op, Step};
use super::world::{Id, World, names_of};

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
    pub access: Access,
    pub no_delete: bool,
    dir: Id,
}

/// A set of roots: the one that was opened, or one narrowed from it.
#[derive(Clone, Debug)]
pub struct View {
    pub slots: Vec<Slot>,
}

/// A name in one of its Unicode forms; the vocabulary has one letter with two.
pub(super) fn form(name: &str) -> String {
    name.replace("e\u{301}", "\u{e9}")
}

/// A world with roots on it, and the sets of roots that a program holds.
#[derive(Debug)]
pub struct Model {
    pub world: World,
    pub(super) roots: Vec<Root>,
    pub(super) rules: Vec<Rule>,
    pub(super) views: Vec<View>,
    revoked: bool,
}

impl Model {
    pub fn new(world: World) -> Self {
        Self { world, roots: Vec::new(), rules: Vec::new(), views: vec![View { slots: Vec::new() }], revoked: false }
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
        let slot = Slot { root: self.roots.len(), access, no_delete, floor: Vec::new(), only: None };
        self.roots.push(Root { name: name.to_owned(), names, access, no_delete, dir });
        self.views[0].slots.push(slot);
    }

    /// Adds a rule to one root. It holds for what is in that root, by whichever root it is reached.
    pub fn rule(&mut self, root: usize, glob: &str, access: Access) {
        self.rules.push(Rule::parse(&self.roots[root].names, glob, access));
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub fn view_count(&self) -> usize {
        self.views.len()
    }

    /// Does one step.
    pub fn run(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Do { view, op } => {
                let view = self.view(*view);
                self.operate(&view, op)
            }
            Step::Plant(line) => Ok(Seen::Bool(self.plants(line) && self.world.plant(line, false))),
            Step::Within { view, path } => {
                let view = self.view(*view);
                let floor = self.within(&view, path)?;
                self.views.push(View { slots: vec![floor] });
                Ok(Seen::Done)
            }
            Step::Hint { view, paths } => {
                let view = self.view(*view);
                self.hinted(&view, paths)
            }
            Step::Limit { view, access } => {
                let less = |slot: Slot| Slot { access: slot.access.min(*access), ..slot };
                self.narrowed(*view, less)
            }
            Step::NoDelete { view } => self.narrowed(*view, |slot| Slot { no_delete: true, ..slot }),
            Step::Revoke => {
                self.revoked = true;
                Ok(Seen::Done)
            }
        }
    }

    /// Whether the other side keeps to what the operator cannot be helped against: who gives a file that may not be read a second name
    /// lets it be read.
    fn plants(&self, line: &str) -> bool {
        let source = line.strip_prefix("hard ").and_then(|rest| rest.split_once(" = "));
        source.is_none_or(|(_, source)| rules::ceiling(&self.rules, &names_of(source), false) >= Access::Read)
    }

    fn view(&self, number: usize) -> View {
        self.views[number % self.views.len()].clone()
    }

    fn narrowed(&mut self, view: usize, less: impl FnMut(Slot) -> Slot) -> Outcome {
        let slots = self.view(view).slots.into_iter().map(less).collect();
        self.views.push(View { slots });
        Ok(Seen::Done)
    }

    fn operate(&mut self, view: &View, op: &Op) -> Outcome {
        if let Some((from, to)) = op.two_ends() {
            let from_end = self.locate(view, from)?;
            let to_end = self.locate(view, to)?;
            let outcome = match op {
                Op::Rename(..) => self.rename(&from_end, &to_end, false),
                Op::RenameReplace(..) => self.rename(&from_end, &to_end, true),
                Op::Copy(..) => self.copy(&from_end, &to_end, false),
                _ => self.copy(&from_end, &to_end, true),
            };
            return self.unless_gone(&to_end, self.unless_gone(&from_end, outcome));
        }
        let end = self.locate(view, op.path())?;
        let outcome = self.one_ended(&end, op);
        self.unless_gone(&end, outcome)
    }

    /// A root whose directory was removed has nothing in it: that is said instead of `not-found`.
    fn unless_gone(&self, end: &End, outcome: Outcome) -> Outcome {
        let refused = matches!(outcome, Err("revoked" | "not-granted" | "protected" | "cross-root"));
        let on_root = end.path.steps.is_empty() && end.slot.floor.is_empty() && !refused;
        if self.root_is_gone(end) && (on_root || outcome == Err("not-found")) { Err("root-absent") } else { outcome }
    }

    pub(super) fn root_is_gone(&self, end: &End) -> bool {
        self.world.is_gone(self.roots[end.slot.root].dir)
    }

    /// The decision, before anything is looked at. `dir`: the last name is about to be a directory.
    pub(super) fn decide(&self, end: &End, need: Access, deletes: bool, dir: bool) -> Result<(), Code> {
        if self.revoked {
            return Err("revoked");
        }
        if end.slot.access < need || (deletes && end.slot.no_delete) {
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
            let dir = !last || end.path.dir || dir;
            self.judge(&end.slot, &names, if last { need } else { Access::List }, dir)?;
        }
        self.judge(&end.slot, &names, need, end.path.steps.is_empty() || end.path.dir || dir)
    }

    /// Whether rules leave this much of the names below the floor.
    pub(super) fn judge<S: AsRef<str>>(&self, slot: &Slot, names: &[S], need: Access, dir: bool) -> Result<(), Code> {
        let names = self.full(slot, names);
        if rules::ceiling(&self.rules, &names, dir) < need { Err("protected") } else { Ok(()) }
    }

    /// The names from the base, as they were when the roots were opened.
    pub(super) fn full<S: AsRef<str>>(&self, slot: &Slot, names: &[S]) -> Vec<String> {
        let above = self.roots[slot.root].names.iter().chain(&slot.floor).cloned();
        above.chain(names.iter().map(|name| name.as_ref().to_owned())).collect()
    }

    /// The directory that a root is narrowed to, looked for anew each time and through no link.
    pub(super) fn floor(&self, slot: &Slot) -> Result<Id, Code> {
        slot.floor.iter().try_fold(self.roots[slot.root].dir, |at, name| {
            let id = self.world.lookup(at, name).ok_or("not-found")?;
            if self.world.is_dir(id) { Ok(id) } else { Err("not-a-directory") }
        })
    }
}
