//! Where a path leads: one name after the other, each judged before it is looked up (path_resolution(7), symlink(7)).

use std::collections::VecDeque;

use cap_roots::Access;

use super::place::{End, Path, Slot, form};
use super::world::{Id, Object, SEARCH};
use super::{Code, Model};

/// Most links that are followed (path_resolution(7)).
const LINKS: usize = 40;

/// What becomes of the last name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// A link is followed, and something has to be there.
    Follow,
    /// A link is followed, and nothing need be there.
    Make,
    /// Itself; a link with a slash behind it is followed, as POSIX does.
    Keep,
    /// A free name: never followed, and nothing need be there.
    Free,
}

/// What a path led to.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    /// The names from the floor.
    pub names: Vec<String>,
    /// The directory that the last name stands in, or where the path ended with `..`, anything.
    pub parent: Id,
    pub id: Option<Id>,
    /// A slash or dot stands behind the last name, typed or in the text of a link.
    pub slash: bool,
    /// The last name that was typed is a link and was followed.
    pub followed: bool,
}

impl Spot {
    pub(super) fn name(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    pub(super) fn there(&self) -> Result<Id, Code> {
        self.id.ok_or("not-found")
    }
}

impl Model {
    pub(super) fn resolve(&self, end: &End, last: Last) -> Result<Spot, Code> {
        let (slot, floor) = (&end.slot, self.floor(&end.slot)?);
        let only = slot.only.is_some();
        let mut way: Vec<(String, Id)> = Vec::new();
        let mut todo: VecDeque<(String, bool)> = end.path.steps.iter().map(|step| (step.clone(), !only)).collect();
        // A dot that a caller typed says no more than a slash; one in a link's text is looked up, as any name is.
        let (mut slash, mut dot, mut links, mut followed) = (end.path.dir, false, 0, false);
        while let Some((step, typed)) = todo.pop_front() {
            let at = way.last().map_or(floor, |(_, id)| *id);
            if step == ".." {
                self.world.may(at, SEARCH)?;
                way.pop().ok_or("outside-roots")?;
                continue;
            }
            let ends = todo.is_empty();
            let named = ends && (!slash || last == Last::Free);
            let need = if ends { end.need } else { Access::List };
            let mut names: Vec<String> = way.iter().map(|(name, _)| name).chain([&step]).cloned().collect();
            self.judge(slot, &names, need, !ends || slash || end.dir)?;
            // Of a root that is a file: while that is a link or a directory, or is to become one, there is nothing.
            let is_file = |id| !self.world.is_dir_or_link(id);
            if only && (end.dir || !self.world.lookup(at, &step).is_none_or(is_file)) {
                return Err("outside-roots");
            }
            let Some((found, id)) = self.find(at, &step, typed)? else {
                let may_miss = ends && matches!(last, Last::Make | Last::Free);
                return if may_miss { Ok(Spot { names, parent: at, id: None, slash, followed }) } else { Err("not-found") };
            };
            names.pop();
            names.push(found.clone());
            if self.world.is_dir_or_link(id) {
                self.judge(slot, &names, need, true)?;
            }
            match &self.world.objects[id] {
                Object::Link(text) if !named || matches!(last, Last::Follow | Last::Make) => {
                    links += 1;
                    if links > LINKS {
                        return Err("symlink-loop");
                    }
                    followed |= typed && ends;
                    let target = if text.starts_with('/') {
                        way.clear();
                        self.absolute_link(slot, text)?
                    } else {
                        Path::of(text.split('/'))
                    };
                    slash |= ends && target.dir;
                    dot |= ends && target.dot;
                    target.steps.into_iter().rev().for_each(|step| todo.push_front((step, false)));
                }
                Object::Dir { .. } if !named => way.push((found, id)),
                _ if named => return Ok(Spot { names, parent: at, id: Some(id), slash, followed }),
                _ => return Err("not-a-directory"),
            }
        }
        // Arrived at a directory, by a name with a slash, by `..`, or at the floor itself.
        let names: Vec<String> = way.iter().map(|(name, _)| name.clone()).collect();
        self.judge(slot, &names, end.need, true)?;
        let id = way.pop().map_or(floor, |(_, id)| id);
        // No name: what is held, and not looked up.
        if dot {
            self.world.may(id, SEARCH)?;
        }
        let parent = way.last().map_or(floor, |(_, id)| *id);
        Ok(Spot { names, parent, id: Some(id), slash, followed })
    }

    /// The directory that a root is narrowed to, looked for anew each time and through no link, unless it is held.
    fn floor(&self, slot: &Slot) -> Result<Id, Code> {
        if let Some((id, _)) = slot.held {
            return Ok(id);
        }
        slot.floor.iter().try_fold(self.roots[slot.root].dir, |at, name| {
            self.world.may(at, SEARCH)?;
            let id = self.world.lookup(at, name).ok_or("not-found")?;
            if self.world.is_dir(id) { Ok(id) } else { Err("not-a-directory") }
        })
    }

    /// The entry that a name means: its very bytes, or, where a caller typed it, the only one that differs in Unicode form.
    fn find(&self, dir: Id, name: &str, typed: bool) -> Result<Option<(String, Id)>, Code> {
        self.world.may(dir, SEARCH)?;
        if let Some(id) = self.world.lookup(dir, name) {
            return Ok(Some((name.to_owned(), id)));
        }
        if !typed || (name.is_ascii() && !name.contains(' ')) {
            return Ok(None);
        }
        let mut fits = self.world.entries(dir).iter().filter(|(entry, _)| form(entry) == form(name));
        match (fits.next(), fits.next()) {
            (None, _) => Ok(None),
            (Some((entry, id)), None) => Ok(Some((entry.clone(), *id))),
            (Some(_), Some(_)) => Err("ambiguous"),
        }
    }
}
