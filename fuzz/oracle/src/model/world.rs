//! A disk in memory: directories, files, links and special files with their permission bits, where a file may have several names.

use std::collections::BTreeMap;

use super::Code;
pub use crate::notation::names_of;

/// What a name leads to; two names with one of these are hard links.
pub type Id = usize;

/// The directory that holds `ROOT` and `outside`.
pub const BASE: Id = 0;

/// What the owner's permission bits allow (inode(7)).
pub const READ: u32 = 0o400;
/// Changes a file's content, and a directory's entries.
pub const WRITE: u32 = 0o200;
/// Looks names up in a directory.
pub const SEARCH: u32 = 0o100;

/// Something on the disk.
#[derive(Clone, Debug)]
pub enum Object {
    Dir { entries: BTreeMap<String, Id>, parent: Id },
    File(String),
    Link(String),
    Special,
}

/// All of it. What has lost its last name stays, for those who hold it open.
#[derive(Clone, Debug)]
pub struct World {
    pub objects: Vec<Object>,
    /// The permission bits of each.
    pub modes: Vec<u32>,
    /// The absolute path of `BASE`, for `$BASE` and `$ROOT` in the texts of links.
    pub base: String,
}

impl World {
    /// The base, with an empty root in it.
    pub fn new(base: &str) -> Self {
        let top = Object::Dir { entries: BTreeMap::new(), parent: BASE };
        let mut world = Self { objects: vec![top], modes: vec![0o755], base: base.to_owned() };
        world.make_dir(BASE, "ROOT");
        world
    }

    /// `text` with `$ROOT` and `$BASE` filled in.
    pub fn expand(&self, text: &str) -> String {
        text.replace("$ROOT", &format!("{}/ROOT", self.base)).replace("$BASE", &self.base)
    }

    /// What the names lead to from `BASE`, through plain directories only.
    pub fn plain<S: AsRef<str>>(&self, names: &[S]) -> Option<Id> {
        names.iter().try_fold(BASE, |at, name| self.lookup(at, name.as_ref()))
    }

    /// The entry of exactly this name.
    pub fn lookup(&self, dir: Id, name: &str) -> Option<Id> {
        self.entries(dir).get(name).copied()
    }

    /// The entries of a directory; of anything else there are none.
    pub fn entries(&self, dir: Id) -> &BTreeMap<String, Id> {
        static NOTHING: BTreeMap<String, Id> = BTreeMap::new();
        match &self.objects[dir] {
            Object::Dir { entries, .. } => entries,
            _ => &NOTHING,
        }
    }

    pub fn is_dir(&self, id: Id) -> bool {
        matches!(self.objects[id], Object::Dir { .. })
    }

    /// Links count as directories where a rule is about directories: they may lead to one.
    pub fn is_dir_or_link(&self, id: Id) -> bool {
        matches!(self.objects[id], Object::Dir { .. } | Object::Link(_))
    }

    /// `dir`, `file`, `link` or `special`.
    pub fn kind(&self, id: Id) -> &'static str {
        match self.objects[id] {
            Object::Dir { .. } => "dir",
            Object::File(_) => "file",
            Object::Link(_) => "link",
            Object::Special => "special",
        }
    }

    /// Whether the permission bits allow all of this.
    pub fn may(&self, id: Id, bits: u32) -> Result<(), Code> {
        if self.modes[id] & bits == bits { Ok(()) } else { Err("os-denied") }
    }

    /// How many names lead to it.
    pub fn link_count(&self, id: Id) -> usize {
        let dirs = 0..self.objects.len();
        dirs.map(|dir| self.entries(dir).values().filter(|entry| **entry == id).count()).sum()
    }

    /// Whether `dir` is `above` or below it.
    pub fn is_within(&self, dir: Id, above: Id) -> bool {
        match self.objects[dir] {
            _ if dir == above => true,
            Object::Dir { parent, .. } if parent != dir => self.is_within(parent, above),
            _ => false,
        }
    }

    /// A new object under a name, in place of what had it. The bits are those of a umask of 022.
    pub fn make(&mut self, dir: Id, name: &str, object: Object) -> Id {
        self.modes.push(if matches!(object, Object::Dir { .. }) { 0o755 } else { 0o644 });
        self.objects.push(object);
        let id = self.objects.len() - 1;
        self.attach(dir, name, id);
        id
    }

    pub fn make_dir(&mut self, dir: Id, name: &str) -> Id {
        self.make(dir, name, Object::Dir { entries: BTreeMap::new(), parent: dir })
    }

    /// Gives an object a name, in place of what had it.
    pub fn attach(&mut self, dir: Id, name: &str, id: Id) {
        if let Object::Dir { entries, .. } = &mut self.objects[dir] {
            entries.insert(name.to_owned(), id);
        }
        if let Object::Dir { parent, .. } = &mut self.objects[id] {
            *parent = dir;
        }
    }

    /// Takes a name away.
    pub fn detach(&mut self, dir: Id, name: &str) {
        if let Object::Dir { entries, .. } = &mut self.objects[dir] {
            entries.remove(name);
        }
    }

    /// Takes a name away, and all names below it.
    pub fn remove_tree(&mut self, dir: Id, name: &str) {
        let Some(id) = self.lookup(dir, name) else { return };
        for below in self.entries(id).keys().cloned().collect::<Vec<_>>() {
            self.remove_tree(id, &below);
        }
        self.detach(dir, name);
    }

    /// Each name below a directory, in order, and with what it leads to.
    pub fn visit(&self, dir: Id, prefix: &str, visitor: &mut dyn FnMut(&str, Id)) {
        for (name, id) in self.entries(dir) {
            let path = format!("{prefix}{name}");
            visitor(&path, *id);
            self.visit(*id, &format!("{path}/"), visitor);
        }
    }
}
