//! Operations with two ends.

use cap_roots::Access;

use super::model::{Code, Model, Outcome, Seen};
use super::place::End;
use super::resolve::{Last, Spot};
use super::rules;
use super::world::{Id, Object};

impl Model {
    pub(super) fn rename(&mut self, from: &End, to: &End, replace: bool) -> Outcome {
        self.decide(from, Access::Write, false, false)?;
        self.decide(to, Access::Write, replace, false)?;
        if from.slot.root != to.slot.root && from.slot.no_delete {
            return Err("cross-root");
        }
        let (source, id) = self.kept(from)?;
        self.names_entry(to)?;
        let target = self.resolve(to, &to.path, Last::Free, Access::Write, false)?;
        if self.world.is_dir_or_link(id) {
            if to.slot.only.is_some() {
                return Err("outside-roots");
            }
            self.judge(&to.slot, &target.names, Access::Write, true)?;
            // A link stands for the directory that it may lead to.
            self.same_rules(from, &source, to, &target)?;
        }
        let dir = self.world.is_dir(id);
        match target.id {
            Some(_) if !replace => return Err("already-exists"),
            _ if target.slash && !dir => return Err("not-a-directory"),
            // What is there is no directory, wherever it is.
            Some(old) if target.slash && !self.world.is_dir(old) => return Err("not-a-directory"),
            _ => {}
        }
        if dir && self.world.is_within(target.parent, id) {
            return Err("invalid-argument");
        }
        match target.id {
            Some(old) if old == id => return Ok(Seen::Done),
            Some(old) => match (dir, self.world.is_dir(old)) {
                (true, false) => return Err("not-a-directory"),
                (false, true) => return Err("is-a-directory"),
                (true, true) if !self.world.entries(old).is_empty() => return Err("not-empty"),
                _ => {}
            },
            None => {}
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
        self.decide(from, Access::Read, false, false)?;
        self.decide(to, Access::Write, false, false)?;
        let source = self.resolve(from, &from.path, Last::Follow, Access::Read, false)?;
        let id = source.id.ok_or("not-found")?;
        match self.world.object(id) {
            Object::Dir { .. } => self.copy_tree(from, &source, id, to),
            Object::File(text) => {
                let text = text.clone();
                self.copy_file(id, text, to, replace)
            }
            Object::Special | Object::Link(_) => Err("special-file"),
        }
    }

    fn copy_file(&mut self, id: Id, text: String, to: &End, replace: bool) -> Outcome {
        self.names_entry(to)?;
        let last = if replace { Last::Make } else { Last::Free };
        let path = super::place::Path { dir: false, ..to.path.clone() };
        let target = self.resolve(to, &path, last, Access::Write, false)?;
        match target.id {
            Some(_) if !replace => return Err("already-exists"),
            _ if to.path.dir => return Err("not-a-directory"),
            Some(old) if old == id => return Err("invalid-argument"),
            Some(_) => drop(self.regular(&target)?),
            None if target.slash => return Err("is-a-directory"),
            None => {}
        }
        self.put(&target, text)?;
        Ok(Seen::Copied(0))
    }

    fn copy_tree(&mut self, from: &End, source: &Spot, id: Id, to: &End) -> Outcome {
        self.names_entry(to)?;
        let target = self.resolve(to, &to.path, Last::Free, Access::Write, true)?;
        self.same_rules(from, source, to, &target)?;
        if target.id.is_some() {
            return Err("already-exists");
        }
        if self.world.is_within(target.parent, id) {
            return Err("invalid-argument");
        }
        self.judge_tree(&from.slot, id, &source.names, Access::Read)?;
        self.judge_tree(&to.slot, id, &target.names, Access::Write)?;
        Ok(Seen::Copied(self.copy_dir(id, target.parent, target.name())))
    }

    fn copy_dir(&mut self, id: Id, parent: Id, name: &str) -> u64 {
        let copy = self.world.make_dir(parent, name);
        let mut skipped = 0;
        for (name, entry) in self.world.entries(id).clone() {
            match self.world.object(entry).clone() {
                Object::Dir { .. } => skipped += self.copy_dir(entry, copy, &name),
                Object::File(text) => drop(self.world.make(copy, &name, Object::File(text))),
                Object::Link(_) | Object::Special => skipped += 1,
            }
        }
        skipped
    }
}
