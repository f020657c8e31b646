//! Operations with two ends, from rename(2) and their own documentation.

use cap_roots::Access;

use super::place::{End, Path};
use super::resolve::{Last, Spot};
use super::rules;
use super::world::{Id, Object, READ, SEARCH, WRITE};
use super::{Code, Model, Outcome, Seen};

impl Model {
    pub(super) fn rename(&mut self, from: &End, to: &End, replace: bool) -> Outcome {
        self.decide(from, false)?;
        self.decide(to, replace)?;
        if from.slot.root != to.slot.root && from.slot.no_delete {
            return Err("cross-root");
        }
        let (source, id) = self.kept(from)?;
        self.names_entry(to, "invalid-path")?;
        let target = self.resolve(to, Last::Free)?;
        if self.world.is_dir_or_link(id) {
            if to.slot.only.is_some() {
                return Err("outside-roots");
            }
            self.judge(&to.slot, &target.names, Access::Write, true)?;
            // A link stands for the directory that it may lead to.
            self.same_rules(from, &source, to, &target)?;
        }
        let dir = self.world.is_dir(id);
        let old = target.id.map(|old| (old, self.world.is_dir(old)));
        match old {
            Some(_) if !replace => return Err("already-exists"),
            _ if target.slash && !dir => return Err("not-a-directory"),
            Some((_, false)) if target.slash => return Err("not-a-directory"),
            _ if dir && self.world.is_within(target.parent, id) => return Err("invalid-argument"),
            Some((old, _)) if old == id => return Ok(Seen::Done),
            Some((_, false)) if dir => return Err("not-a-directory"),
            Some((_, true)) if !dir => return Err("is-a-directory"),
            Some((old, _)) if !self.world.entries(old).is_empty() => return Err("not-empty"),
            _ => {}
        }
        self.may_change(&source)?;
        self.may_change(&target)?;
        if dir && source.parent != target.parent {
            // Its own entry `..` is changed.
            self.world.may(id, WRITE)?;
        }
        self.world.detach(source.parent, source.name());
        self.world.attach(target.parent, target.name(), id);
        Ok(Seen::Done)
    }

    /// Rules go by names: below a directory's new name they have to say what they said below its old one.
    fn same_rules(&self, from: &End, source: &Spot, to: &End, target: &Spot) -> Result<(), Code> {
        let (old, new) = (self.full(&from.slot, &source.names), self.full(&to.slot, &target.names));
        match rules::same_below(&self.rules, &old, &new) {
            true => Ok(()),
            false if from.slot.root != to.slot.root => Err("cross-root"),
            false => Err("protected"),
        }
    }

    pub(super) fn copy(&mut self, from: &End, to: &End, replace: bool) -> Outcome {
        self.decide(from, false)?;
        self.decide(to, false)?;
        let source = self.resolve(from, Last::Follow)?;
        let id = source.there()?;
        if self.world.is_dir(id) { self.copy_tree(from, &source, id, to) } else { self.copy_file(id, to, replace) }
    }

    fn copy_file(&mut self, id: Id, to: &End, replace: bool) -> Outcome {
        let text = self.open(id, READ)?;
        self.names_entry(to, "invalid-path")?;
        let last = if replace { Last::Make } else { Last::Free };
        let target = self.resolve(&to.at(Path { dir: false, ..to.path.clone() }), last)?;
        match target.id {
            Some(_) if !replace => return Err("already-exists"),
            _ if to.path.dir => return Err("not-a-directory"),
            Some(old) if old == id => return Err("invalid-argument"),
            Some(old) => drop(self.open(old, WRITE)?),
            None if target.slash => return Err("is-a-directory"),
            None => {}
        }
        self.put(&target, text, self.world.modes[id]).and(Ok(Seen::Copied(0)))
    }

    fn copy_tree(&mut self, from: &End, source: &Spot, id: Id, to: &End) -> Outcome {
        self.names_entry(to, "invalid-path")?;
        let target = self.resolve(&End { dir: true, ..to.clone() }, Last::Free)?;
        self.same_rules(from, source, to, &target)?;
        if target.id.is_some() {
            return Err("already-exists");
        }
        if self.world.is_within(target.parent, id) {
            return Err("invalid-argument");
        }
        self.judge_tree(&from.slot, id, &source.names, Access::Read)?;
        self.judge_tree(&to.slot, id, &target.names, Access::Write)?;
        self.may_change(&target)?;
        self.may_below(id, READ | SEARCH, true)?;
        Ok(Seen::Copied(self.copy_dir(id, target.parent, target.name())))
    }

    fn copy_dir(&mut self, id: Id, parent: Id, name: &str) -> u64 {
        let copy = self.world.make_dir(parent, name);
        let mut skipped = 0;
        for (name, entry) in self.world.entries(id).clone() {
            match self.world.objects[entry].clone() {
                Object::Dir { .. } => skipped += self.copy_dir(entry, copy, &name),
                file @ Object::File(_) => {
                    let new = self.world.make(copy, &name, file);
                    self.world.modes[new] = self.world.modes[entry];
                }
                Object::Link(_) | Object::Special => skipped += 1,
            }
        }
        self.world.modes[copy] = self.world.modes[id];
        skipped
    }
}
