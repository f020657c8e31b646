//! Operations on one path, from open(2), unlink(2), mkdir(2), chmod(2) and their own documentation.

use cap_roots::Access;

use super::place::{End, Slot};
use super::resolve::{Last, Spot};
use super::world::{Id, Object, READ, SEARCH, WRITE};
use super::{Code, Model, Outcome, Seen};
use crate::sequence::step::Op;

const DONE: Outcome = Ok(Seen::Done);

/// The bits of a new file, with a umask of 022.
const NEW: u32 = 0o644;

impl Model {
    /// What looking at one end shows.
    pub(super) fn look_at(&self, end: &End, op: &Op) -> Outcome {
        self.decide(end, false)?;
        let last = if matches!(op, Op::SymlinkMetadata(_) | Op::ReadLink(_)) { Last::Keep } else { Last::Follow };
        let spot = match self.resolve(end, last) {
            Err("not-found") if matches!(op, Op::Exists(_)) => return Ok(Seen::Bool(false)),
            spot => spot?,
        };
        let id = spot.there()?;
        Ok(match op {
            Op::Read(_) => Seen::Content(self.open(id, READ)?),
            Op::ReadDir(_) | Op::Walk(_) => {
                let (mut names, hidden) = self.list(&end.slot, id, &spot.names, matches!(op, Op::Walk(_)))?;
                names.sort();
                Seen::Names(names, hidden)
            }
            Op::Exists(_) => Seen::Bool(true),
            Op::ReadLink(_) => Seen::Text(self.link_text(id, &spot)?),
            _ => Seen::Kind(self.world.kind(id)),
        })
    }

    /// The content of a regular file.
    pub(super) fn open(&self, id: Id, bits: u32) -> Result<String, Code> {
        match &self.world.objects[id] {
            Object::File(_) if self.refuse_hard_links && self.world.link_count(id) > 1 => Err("hard-linked"),
            Object::File(text) => self.world.may(id, bits).map(|()| text.clone()),
            Object::Dir { .. } => Err("is-a-directory"),
            Object::Special | Object::Link(_) => Err("special-file"),
        }
    }

    /// The names in a directory that rules leave, and how many they do not leave; with all below it, and then with their types.
    fn list(&self, slot: &Slot, dir: Id, names: &[String], deep: bool) -> Result<(Vec<String>, u64), Code> {
        if !self.world.is_dir(dir) {
            return Err("not-a-directory");
        }
        self.world.may(dir, READ)?;
        let (mut found, mut hidden) = (Vec::new(), 0);
        for (name, id) in self.world.entries(dir) {
            let names = [names, std::slice::from_ref(name)].concat();
            if self.judge(slot, &names, Access::List, self.world.is_dir_or_link(*id)).is_err() {
                hidden += 1;
                continue;
            }
            found.push(if deep { format!("{} {name}", self.world.kind(*id)) } else { name.clone() });
            if deep && self.world.is_dir(*id) {
                let (below, more) = self.list(slot, *id, &names, deep)?;
                found.extend(below);
                hidden += more;
            }
        }
        Ok((found, hidden))
    }

    /// The text of a link, where it is shown: relative, and by text not above the floor.
    fn link_text(&self, id: Id, spot: &Spot) -> Result<String, Code> {
        let Object::Link(text) = &self.world.objects[id] else { return Err("invalid-argument") };
        let mut level = spot.names.len();
        for name in text.split('/') {
            level = match name {
                "" | "." => level,
                // The link's own name is not a level.
                ".." if level > 1 => level - 1,
                ".." => return Err("outside-roots"),
                _ => level + 1,
            };
        }
        if text.starts_with('/') { Err("outside-roots") } else { Ok(text.clone()) }
    }

    /// Does what changes something at one end.
    pub(super) fn change(&mut self, end: &End, op: &Op) -> Outcome {
        self.decide(end, op.removes())?;
        match op {
            Op::Write(_, text) => {
                let spot = self.file_to_make(end)?;
                self.put(&spot, text.clone(), NEW)
            }
            Op::Update(_, text) => {
                let spot = self.resolve(end, Last::Follow)?;
                let old = self.open(spot.there()?, READ | WRITE)?;
                self.put(&spot, old + text, NEW)
            }
            Op::Append(_, text) => {
                let spot = self.file_to_make(end)?;
                match spot.id {
                    None => self.put(&spot, text.clone(), NEW),
                    Some(id) => self.in_place(id, |old| old + text),
                }
            }
            Op::SetLen(_, len) => {
                let id = self.resolve(end, Last::Follow)?.there()?;
                let zeros = std::iter::repeat('\0');
                self.in_place(id, |old| old.chars().chain(zeros).take(usize::try_from(*len).unwrap_or(0)).collect())
            }
            Op::CreateNew(_) => {
                self.names_entry(end, "already-exists")?;
                if end.path.dir {
                    self.file_to_make(end)?;
                }
                let spot = self.free(end)?;
                self.put(&spot, String::new(), NEW)
            }
            Op::CreateDir(_) => {
                self.names_entry(end, "already-exists")?;
                let spot = self.free(end)?;
                self.make_dirs(end, &spot, &[])
            }
            Op::CreateDirAll(_) => self.create_dir_all(end),
            Op::RemoveFile(_) | Op::RemoveDir(_) | Op::RemoveDirAll(_) => self.remove(end, op),
            // Refused with the decision: the path is not looked at.
            Op::SetPermissions(_, mode) if mode & !0o777 != 0 => Err("invalid-argument"),
            Op::SetPermissions(_, mode) => {
                let id = self.attributes(end, true)?;
                self.world.modes[id] = *mode;
                DONE
            }
            _ => self.attributes(end, false).map(|_| Seen::Done),
        }
    }

    /// Where a file is written that may be new. A path that cannot be a file's is refused after what stands before it.
    fn file_to_make(&self, end: &End) -> Result<Spot, Code> {
        self.names_entry(end, "is-a-directory")?;
        if end.path.dir {
            let parent = end.at(end.path.first(end.path.steps.len() - 1));
            self.resolve(&End { need: Access::List, ..parent }, Last::Follow)?;
            return Err("is-a-directory");
        }
        let spot = self.resolve(end, Last::Make)?;
        match spot.id {
            None if spot.slash => return Err("is-a-directory"),
            None => {}
            Some(id) => drop(self.open(id, WRITE)?),
        }
        Ok(spot)
    }

    /// A new file, or one in the place and with the bits of the old one, whose other names keep what they have.
    pub(super) fn put(&mut self, spot: &Spot, text: String, mode: u32) -> Outcome {
        self.may_change(spot)?;
        let mode = spot.id.map_or(mode, |old| self.world.modes[old]);
        let id = self.world.make(spot.parent, spot.name(), Object::File(text));
        self.world.modes[id] = mode;
        DONE
    }

    /// Whether entries may be made and removed where this one stands. A directory that was removed takes none.
    pub(super) fn may_change(&self, spot: &Spot) -> Result<(), Code> {
        if self.world.link_count(spot.parent) == 0 {
            return Err("not-found");
        }
        self.world.may(spot.parent, WRITE | SEARCH)
    }

    fn in_place(&mut self, id: Id, edit: impl FnOnce(String) -> String) -> Outcome {
        let old = self.open(id, WRITE)?;
        if self.world.link_count(id) > 1 {
            return Err("hard-linked");
        }
        self.world.objects[id] = Object::File(edit(old));
        DONE
    }

    /// A path that is `.` or ends with `..` names no entry; that is said once it leads somewhere.
    pub(super) fn names_entry(&self, end: &End, otherwise: Code) -> Result<(), Code> {
        if end.path.names_something() { Ok(()) } else { self.resolve(end, Last::Follow).and(Err(otherwise)) }
    }

    /// A name that nothing has.
    fn free(&self, end: &End) -> Result<Spot, Code> {
        let spot = self.resolve(end, Last::Free)?;
        if spot.id.is_some() { Err("already-exists") } else { Ok(spot) }
    }

    /// What is there already is fine, up to the first name that is missing.
    fn create_dir_all(&mut self, end: &End) -> Outcome {
        let steps = &end.path.steps;
        for count in 0..=steps.len() {
            let last = count == steps.len();
            let need = if last { Access::Write } else { Access::List };
            let so_far = End { need, ..end.at(end.path.first(count)) };
            let error = match self.resolve(&so_far, Last::Follow) {
                Ok(_) => continue,
                Err(error) if error == "protected" || !so_far.path.names_something() => return Err(error),
                Err(error) => error,
            };
            // All before it resolved, so it is this name: missing, or no directory.
            let spot = self.resolve(&so_far, Last::Free)?;
            return match spot.id {
                Some(_) if last => Err("already-exists"),
                Some(_) => Err(error),
                // Nothing leads back from what is not there.
                None if steps[count..].iter().any(|step| step == "..") => Err("not-found"),
                None => self.make_dirs(end, &spot, &steps[count..]),
            };
        }
        DONE
    }

    /// A directory and those below it, all judged before the first is made.
    fn make_dirs(&mut self, end: &End, first: &Spot, below: &[String]) -> Outcome {
        let names = [&first.names, below].concat();
        (first.names.len()..=names.len()).try_for_each(|count| self.judge(&end.slot, &names[..count], Access::Write, true))?;
        self.may_change(first)?;
        let made = self.world.make_dir(first.parent, first.name());
        below.iter().fold(made, |at, name| self.world.make_dir(at, name));
        DONE
    }

    /// What is removed or moved: by its own name, and with a slash behind it a directory.
    pub(super) fn kept(&self, end: &End) -> Result<(Spot, Id), Code> {
        self.names_entry(end, "invalid-path")?;
        let spot = self.resolve(end, Last::Keep)?;
        let id = spot.there()?;
        if spot.followed { Err("not-a-directory") } else { Ok((spot, id)) }
    }

    fn remove(&mut self, end: &End, op: &Op) -> Outcome {
        let (spot, id) = self.kept(end)?;
        match (op, self.world.kind(id)) {
            (Op::RemoveFile(_), "dir") => return Err("is-a-directory"),
            (Op::RemoveFile(_), _) | (Op::RemoveDirAll(_), "link") => {}
            (_, "file" | "link" | "special") => return Err("not-a-directory"),
            (Op::RemoveDir(_), _) if !self.world.entries(id).is_empty() => return Err("not-empty"),
            _ => self.judge_tree(&end.slot, id, &spot.names, Access::Write)?,
        }
        self.may_change(&spot)?;
        if !self.world.entries(id).is_empty() {
            self.may_below(id, READ | WRITE | SEARCH, false)?;
        }
        self.world.remove_tree(spot.parent, spot.name());
        DONE
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

    /// Whether permission bits allow this of a directory and of those in it; and whether the files in it can be read.
    pub(super) fn may_below(&self, dir: Id, bits: u32, open: bool) -> Result<(), Code> {
        self.world.may(dir, bits)?;
        self.world.entries(dir).values().try_for_each(|id| match self.world.kind(*id) {
            "dir" => self.may_below(*id, bits, open),
            "file" if open => self.open(*id, READ).map(drop),
            _ => Ok(()),
        })
    }

    /// What may be given other permission bits or times. What can be opened in no way has only its bits changed, by its name, and that not
    /// beside rules.
    fn attributes(&self, end: &End, by_name: bool) -> Result<Id, Code> {
        let id = self.resolve(end, Last::Follow)?.there()?;
        match self.world.kind(id) {
            "file" if self.world.link_count(id) > 1 => Err("hard-linked"),
            "file" | "dir" if by_name && self.rules.is_empty() => Ok(id),
            "file" => self.world.may(id, READ).or_else(|_| self.world.may(id, WRITE)).map(|()| id),
            "dir" => self.world.may(id, READ).map(|()| id),
            _ => Err("special-file"),
        }
    }
}
