//! A disk in memory: directories, files, links and special files, where a file may have several names.

use std::collections::BTreeMap;

/// What a name leads to; two names with one of these are hard links.
pub type Id = usize;

/// The directory that holds `ROOT` and `outside`.
pub const BASE: Id = 0;

/// Something on the disk.
#[derive(Clone, Debug)]
pub enum Object {
    Dir { entries: BTreeMap<String, Id>, parent: Id },
    File(String),
    Link(String),
    Special,
}

/// All of it.
#[derive(Debug)]
pub struct World {
    objects: Vec<Object>,
    /// The absolute path of `BASE`, for `$BASE` and `$ROOT` in the texts of links.
    base: String,
}

impl World {
    /// The world that `Tree::build` makes of the same lines.
    pub fn build<S: AsRef<str>>(lines: impl IntoIterator<Item = S>, base: &str) -> Self {
        let top = Object::Dir { entries: BTreeMap::new(), parent: BASE };
        let mut world = Self { objects: vec![top], base: base.to_owned() };
        world.make_dir(BASE, "ROOT");
        for line in lines {
            let line = line.as_ref();
            assert!(world.plant(line, true), "not made: {line}");
        }
        world
    }

    /// Adds what a line describes, if its parent is a plain directory and its name is free. `parents`: missing ones are made.
    pub fn plant(&mut self, line: &str, parents: bool) -> bool {
        let (kind, rest) = line.split_once(' ').unwrap_or_else(|| panic!("a line without a kind: {line}"));
        let split = |separator| rest.split_once(separator).unwrap_or_else(|| panic!("a line without its {separator}: {line}"));
        let path = match kind {
            "file" => split("=").0,
            "link" => split(" -> ").0,
            "hard" => split(" = ").0,
            _ => rest,
        };
        let names = names_of(path);
        let Some((name, above)) = names.split_last() else { return false };
        let mut at = BASE;
        for step in above {
            at = match self.lookup(at, step) {
                Some(id) if self.is_dir(id) => id,
                None if parents => self.make_dir(at, step),
                _ => return false,
            };
        }
        if self.lookup(at, name).is_some() {
            return parents && kind == "dir";
        }
        match kind {
            "dir" => drop(self.make_dir(at, name)),
            "file" => drop(self.make(at, name, Object::File(split("=").1.to_owned()))),
            "link" => {
                let text = self.expand(split(" -> ").1);
                self.make(at, name, Object::Link(text));
            }
            "hard" => {
                let Some(id) = self.plain(&names_of(split(" = ").1)) else { return false };
                if !matches!(self.objects[id], Object::File(_)) {
                    return false;
                }
                self.attach(at, name, id);
            }
            "fifo" => drop(self.make(at, name, Object::Special)),
            _ => panic!("no such line: {line}"),
        }
        true
    }

    /// `text` with `$ROOT` and `$BASE` filled in.
    pub fn expand(&self, text: &str) -> String {
        text.replace("$ROOT", &format!("{}/ROOT", self.base)).replace("$BASE", &self.base)
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn object(&self, id: Id) -> &Object {
        &self.objects[id]
    }

    pub fn object_mut(&mut self, id: Id) -> &mut Object {
        &mut self.objects[id]
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

    /// How many names lead to it.
    pub fn link_count(&self, id: Id) -> usize {
        let names = |object: &Object| match object {
            Object::Dir { entries, .. } => entries.values().filter(|entry| **entry == id).count(),
            _ => 0,
        };
        self.objects.iter().map(names).sum()
    }

    /// Whether `dir` is `above` or below it.
    pub fn is_within(&self, dir: Id, above: Id) -> bool {
        let mut at = dir;
        loop {
            if at == above {
                return true;
            }
            match self.objects[at] {
                Object::Dir { parent, .. } if parent != at => at = parent,
                _ => return false,
            }
        }
    }

    /// A new object under a name, in place of what had it.
    pub fn make(&mut self, dir: Id, name: &str, object: Object) -> Id {
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

    /// Whether a directory was removed: nothing leads to it any more.
    pub fn is_gone(&self, dir: Id) -> bool {
        dir != BASE && self.link_count(dir) == 0
    }

    /// Every name with its type, and content, text or the other names of the same file: to be compared with the disk's.
    pub fn lines(&self) -> Vec<String> {
        let mut first: BTreeMap<Id, String> = BTreeMap::new();
        let mut lines = Vec::new();
        self.describe(BASE, "", &mut first, &mut lines);
        lines
    }

    fn describe(&self, dir: Id, prefix: &str, first: &mut BTreeMap<Id, String>, lines: &mut Vec<String>) {
        for (name, id) in self.entries(dir) {
            let path = format!("{prefix}{name}");
            match &self.objects[*id] {
                Object::Dir { .. } => {
                    lines.push(format!("dir {path}"));
                    self.describe(*id, &format!("{path}/"), first, lines);
                }
                Object::File(text) => {
                    let same = first.entry(*id).or_insert_with(|| path.clone());
                    lines.push(format!("file {path} (as {same}) = {text}"));
                }
                Object::Link(text) => lines.push(format!("link {path} -> {text}")),
                Object::Special => lines.push(format!("special {path}")),
            }
        }
    }
}

/// The names from `BASE` of a path as tree lines have it: from `ROOT`, or beside it after `../`.
pub fn names_of(path: &str) -> Vec<&str> {
    match path.strip_prefix("../") {
        Some(beside) => beside.split('/').collect(),
        None => std::iter::once("ROOT").chain(path.split('/')).filter(|name| !name.is_empty()).collect(),
    }
}
