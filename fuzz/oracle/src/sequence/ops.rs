//! Operations on one path.

use cap_roots::Access;

use super::model::{Code, Model, Outcome, Seen, View};
use super::place::{End, Slot};
use super::resolve::{Last, Spot};
use super::rules;
use super::step::Op;
use super::world::{Id, Object};

impl Model {
    /// Does the operation at an end that was found by its text.
    pub(super) fn one_ended(&mut self, end: &End, op: &Op) -> Outcome {
        match op {
            Op::Read(_) => self.read(end),
            Op::ReadDir(_) => self.listed(end).map(|(names, _, hidden)| Seen::Names(names, hidden)),
            Op::Walk(_) => self.walked(end),
            Op::Metadata(_) => self.seen(end, Last::Follow).map(|spot| Seen::Kind(self.kind(&spot))),
            Op::SymlinkMetadata(_) => self.seen(end, Last::Keep).map(|spot| Seen::Kind(self.kind(&spot))),
            Op::Exists(_) => match self.seen(end, Last::Follow) {
                Err("not-found") => self.unless_root_is_gone(end),
                other => other.map(|_| Seen::Bool(true)),
            },
            Op::ReadLink(_) => self.read_link(end),
            Op::Write(_, text) => self.write(end, text),
            Op::Update(_, text) => self.update(end, text),
            Op::CreateNew(_) => self.create_new(end),
            Op::Append(_, text) => self.append(end, text),
            Op::SetLen(_, len) => self.set_len(end, *len),
            Op::CreateDir(_) => self.create_dir(end),
            Op::CreateDirAll(_) => self.create_dir_all(end),
            Op::RemoveFile(_) => self.remove_file(end),
            Op::RemoveDir(_) => self.remove_dir(end),
            Op::RemoveDirAll(_) => self.remove_dir_all(end),
            Op::SetPermissions(_, mode) if mode & !0o777 != 0 => {
                self.decide(end, Access::Write, false, false)?;
                Err("invalid-argument")
            }
            Op::SetPermissions(..) | Op::SetTimes(_) => self.set_attributes(end),
            Op::Rename(..) | Op::RenameReplace(..) | Op::Copy(..) | Op::CopyReplace(..) => panic!("{op} has two ends"),
        }
    }

    /// The floor and root that a narrowed set gets.
    pub(super) fn within(&self, view: &View, path: &str) -> Result<Slot, Code> {
        let end = self.locate(view, path)?;
        let spot = self.directory(&end);
        let gone = |code| if code == "not-found" && self.root_is_gone(&end) { "root-absent" } else { code };
        let spot = spot.map_err(gone)?;
        Ok(Slot { floor: [end.slot.floor.clone(), spot.names].concat(), only: None, ..end.slot })
    }

    pub(super) fn kind(&self, spot: &Spot) -> &'static str {
        spot.id.map_or("nothing", |id| self.world.kind(id))
    }

    fn unless_root_is_gone(&self, end: &End) -> Outcome {
        if self.root_is_gone(end) { Err("root-absent") } else { Ok(Seen::Bool(false)) }
    }

    fn seen(&self, end: &End, last: Last) -> Result<Spot, Code> {
        self.decide(end, Access::List, false, false)?;
        self.resolve(end, &end.path, last, Access::List, false)
    }

    fn read(&self, end: &End) -> Outcome {
        self.decide(end, Access::Read, false, false)?;
        let spot = self.resolve(end, &end.path, Last::Follow, Access::Read, false)?;
        self.regular(&spot).map(|(_, text)| Seen::Content(text))
    }

    /// The file that was found, with its content.
    pub(super) fn regular(&self, spot: &Spot) -> Result<(Id, String), Code> {
        let id = spot.id.ok_or("not-found")?;
        match self.world.object(id) {
            Object::File(text) => Ok((id, text.clone())),
            Object::Dir { .. } => Err("is-a-directory"),
            Object::Special | Object::Link(_) => Err("special-file"),
        }
    }

    fn directory(&self, end: &End) -> Result<Spot, Code> {
        let spot = self.seen(end, Last::Follow)?;
        if self.kind(&spot) == "dir" { Ok(spot) } else { Err("not-a-directory") }
    }

    /// The names in the directory that rules leave, with their objects; and how many they do not leave.
    fn left(&self, slot: &Slot, dir: Id, names: &[String]) -> (Vec<(String, Id)>, u64) {
        let full = self.full(slot, names);
        let shown = |(name, id): &(&String, &Id)| {
            let names = [full.clone(), vec![(*name).clone()]].concat();
            rules::ceiling(&self.rules, &names, self.world.is_dir_or_link(**id)) >= Access::List
        };
        let entries = self.world.entries(dir);
        let left: Vec<_> = entries.iter().filter(shown).map(|(name, id)| (name.clone(), *id)).collect();
        let hidden = u64::try_from(entries.len() - left.len()).unwrap_or(u64::MAX);
        (left, hidden)
    }

    fn listed(&self, end: &End) -> Result<(Vec<String>, Spot, u64), Code> {
        let spot = self.directory(end)?;
        let (left, hidden) = self.left(&end.slot, spot.id.ok_or("not-found")?, &spot.names);
        Ok((left.into_iter().map(|(name, _)| name).collect(), spot, hidden))
    }

    fn walked(&self, end: &End) -> Outcome {
        let spot = self.directory(end)?;
        let mut found = Vec::new();
        let mut hidden = 0;
        let mut dirs = vec![(spot.id.ok_or("not-found")?, spot.names)];
        while let Some((dir, names)) = dirs.pop() {
            let (left, more) = self.left(&end.slot, dir, &names);
            hidden += more;
            for (name, id) in left {
                found.push(format!("{} {name}", self.world.kind(id)));
                if self.world.is_dir(id) {
                    dirs.push((id, [names.clone(), vec![name]].concat()));
                }
            }
        }
        found.sort();
        Ok(Seen::Names(found, hidden))
    }

    /// The text of a link, where it is shown: relative, and by text not above the floor.
    fn read_link(&self, end: &End) -> Outcome {
        let spot = self.seen(end, Last::Keep)?;
        let Object::Link(text) = self.world.object(spot.id.ok_or("not-found")?) else { return Err("invalid-argument") };
        let mut level = i64::try_from(spot.names.len()).unwrap_or(i64::MAX) - 1;
        let mut out = text.starts_with('/');
        for name in text.split('/') {
            level += match name {
                "" | "." => 0,
                ".." => -1,
                _ => 1,
            };
            out |= level < 0;
        }
        if out { Err("outside-roots") } else { Ok(Seen::Text(text.clone())) }
    }

    /// Where a file is written that may be new. A path that cannot be a file's is refused after what stands before it.
    pub(super) fn file_to_make(&self, end: &End) -> Result<Spot, Code> {
        if !end.path.names_something() {
            self.resolve(end, &end.path, Last::Follow, Access::Write, false)?;
            return Err("is-a-directory");
        }
        if end.path.dir {
            self.resolve(end, &end.path.parent(), Last::Follow, Access::List, false)?;
            return Err("is-a-directory");
        }
        let spot = self.resolve(end, &end.path, Last::Make, Access::Write, false)?;
        match spot.id {
            None if spot.slash => Err("is-a-directory"),
            None => Ok(spot),
            Some(_) => self.regular(&spot).map(|_| spot),
        }
    }

    /// A new file in the place of the old one, whose other names keep what they have.
    pub(super) fn put(&mut self, spot: &Spot, text: String) -> Outcome {
        self.world.make(spot.parent, spot.name(), Object::File(text));
        Ok(Seen::Done)
    }

    fn change(&mut self, id: Id, text: String) -> Outcome {
        if self.world.link_count(id) > 1 {
            return Err("hard-linked");
        }
        *self.world.object_mut(id) = Object::File(text);
        Ok(Seen::Done)
    }

    fn write(&mut self, end: &End, text: &str) -> Outcome {
        self.decide(end, Access::Write, false, false)?;
        let spot = self.file_to_make(end)?;
        self.put(&spot, text.to_owned())
    }

    fn existing(&self, end: &End) -> Result<Spot, Code> {
        self.decide(end, Access::Write, false, false)?;
        self.resolve(end, &end.path, Last::Follow, Access::Write, false)
    }

    fn update(&mut self, end: &End, text: &str) -> Outcome {
        let spot = self.existing(end)?;
        let (_, old) = self.regular(&spot)?;
        self.put(&spot, old + text)
    }

    fn create_new(&mut self, end: &End) -> Outcome {
        self.decide(end, Access::Write, false, false)?;
        if !end.path.names_something() {
            self.resolve(end, &end.path, Last::Follow, Access::Write, false)?;
            return Err("already-exists");
        }
        if end.path.dir {
            return self.file_to_make(end).map(|_| Seen::Done);
        }
        let spot = self.resolve(end, &end.path, Last::Free, Access::Write, false)?;
        if spot.id.is_some() { Err("already-exists") } else { self.put(&spot, String::new()) }
    }

    fn append(&mut self, end: &End, text: &str) -> Outcome {
        self.decide(end, Access::Write, false, false)?;
        let spot = self.file_to_make(end)?;
        match spot.id {
            None => self.put(&spot, text.to_owned()),
            Some(_) => {
                let (id, old) = self.regular(&spot)?;
                self.change(id, old + text)
            }
        }
    }

    fn set_len(&mut self, end: &End, len: u64) -> Outcome {
        let spot = self.existing(end)?;
        let (id, old) = self.regular(&spot)?;
        let text = old.chars().chain(std::iter::repeat('\0')).take(usize::try_from(len).unwrap_or(usize::MAX)).collect();
        self.change(id, text)
    }

    fn create_dir(&mut self, end: &End) -> Outcome {
        self.decide(end, Access::Write, false, true)?;
        if !end.path.names_something() {
            self.resolve(end, &end.path, Last::Follow, Access::Write, true)?;
            return Err("already-exists");
        }
        let spot = self.resolve(end, &end.path, Last::Free, Access::Write, true)?;
        if spot.id.is_some() {
            return Err("already-exists");
        }
        self.world.make_dir(spot.parent, spot.name());
        Ok(Seen::Done)
    }

    fn create_dir_all(&mut self, end: &End) -> Outcome {
        self.decide(end, Access::Write, false, true)?;
        let steps = end.path.steps.len();
        if steps == 0 {
            self.resolve(end, &end.path, Last::Follow, Access::Write, true)?;
        }
        for count in 1..=steps {
            let last = count == steps;
            let so_far = end.path.first(count);
            let need = if last { Access::Write } else { Access::List };
            let error = match self.resolve(end, &so_far, Last::Follow, need, true) {
                Ok(_) => continue,
                Err(error) if error == "protected" || !so_far.names_something() => return Err(error),
                Err(error) => error,
            };
            // All before it resolved, so it is this name: missing, or no directory.
            let spot = self.resolve(end, &so_far, Last::Free, need, true)?;
            return match spot.id {
                Some(_) if last => Err("already-exists"),
                Some(_) => Err(error),
                None => self.make_dirs(end, &spot, &end.path.steps[count..]),
            };
        }
        Ok(Seen::Done)
    }

    /// A missing directory and those below it, all judged before the first is made. Nothing leads back from what is not there.
    fn make_dirs(&mut self, end: &End, first: &Spot, below: &[String]) -> Outcome {
        if below.iter().any(|step| step == "..") {
            return Err("not-found");
        }
        let mut names = first.names.clone();
        self.judge(&end.slot, &names, Access::Write, true)?;
        for name in below {
            names.push(name.clone());
            self.judge(&end.slot, &names, Access::Write, true)?;
        }
        let mut at = self.world.make_dir(first.parent, first.name());
        for name in below {
            at = self.world.make_dir(at, name);
        }
        Ok(Seen::Done)
    }

    /// A path that is `.` or ends with `..` names no entry; that is said once it leads somewhere.
    pub(super) fn names_entry(&self, end: &End) -> Result<(), Code> {
        if end.path.names_something() {
            return Ok(());
        }
        self.resolve(end, &end.path, Last::Follow, Access::Write, false)?;
        Err("invalid-path")
    }

    /// What is removed or moved: by its own name, and with a slash behind it a directory.
    pub(super) fn kept(&self, end: &End) -> Result<(Spot, Id), Code> {
        self.names_entry(end)?;
        let spot = self.resolve(end, &end.path, Last::Keep, Access::Write, false)?;
        let id = spot.id.ok_or("not-found")?;
        if spot.followed { Err("not-a-directory") } else { Ok((spot, id)) }
    }

    fn remove_file(&mut self, end: &End) -> Outcome {
        self.decide(end, Access::Write, true, false)?;
        let (spot, id) = self.kept(end)?;
        if self.world.is_dir(id) {
            return Err("is-a-directory");
        }
        self.world.detach(spot.parent, spot.name());
        Ok(Seen::Done)
    }

    fn remove_dir(&mut self, end: &End) -> Outcome {
        self.decide(end, Access::Write, true, false)?;
        let (spot, id) = self.kept(end)?;
        if !self.world.is_dir(id) {
            return Err("not-a-directory");
        }
        if !self.world.entries(id).is_empty() {
            return Err("not-empty");
        }
        self.world.detach(spot.parent, spot.name());
        Ok(Seen::Done)
    }

    fn remove_dir_all(&mut self, end: &End) -> Outcome {
        self.decide(end, Access::Write, true, false)?;
        let (spot, id) = self.kept(end)?;
        match self.world.object(id) {
            Object::Link(_) => {}
            Object::Dir { .. } => self.judge_tree(&end.slot, id, &spot.names, Access::Write)?,
            Object::File(_) | Object::Special => return Err("not-a-directory"),
        }
        self.world.remove_tree(spot.parent, spot.name());
        Ok(Seen::Done)
    }

    /// Whether rules leave this much of every name below a directory, as if it stood at `names`.
    pub(super) fn judge_tree(&self, slot: &Slot, dir: Id, names: &[String], need: Access) -> Result<(), Code> {
        for (name, id) in self.world.entries(dir) {
            let names = [names, std::slice::from_ref(name)].concat();
            self.judge(slot, &names, need, self.world.is_dir_or_link(*id))?;
            self.judge_tree(slot, *id, &names, need)?;
        }
        Ok(())
    }

    /// Permissions and times: not part of the model's world, but who may change them is.
    fn set_attributes(&self, end: &End) -> Outcome {
        let spot = self.existing(end)?;
        let id = spot.id.ok_or("not-found")?;
        match self.world.object(id) {
            Object::File(_) if self.world.link_count(id) > 1 => Err("hard-linked"),
            Object::File(_) | Object::Dir { .. } => Ok(Seen::Done),
            Object::Special | Object::Link(_) => Err("special-file"),
        }
    }
}
