//! POSIX pathname resolution in memory, confined to a root: written from path_resolution(7), symlink(7), readlink(2) and open(2), and
//! from what the crate documents of its own (absolute links inside, Unicode forms, which texts of links are shown). Not from its
//! resolver: a fault there must not be repeated here.

use std::collections::BTreeMap;

/// A code of `cap_roots::ErrorKind`.
pub type Code = &'static str;

/// Most links that are followed (path_resolution(7)).
const LINKS: usize = 40;

type Id = usize;

#[derive(Debug)]
enum Object {
    Dir { entries: BTreeMap<String, Id>, parent: Id, depth: usize, searchable: bool },
    File(String),
    Link(String),
    Special,
}

/// A tree as `Tree::build` makes it, from the same lines.
#[derive(Debug)]
pub struct Model {
    objects: Vec<Object>,
    /// The root's absolute path: absolute links below it are followed.
    root_path: String,
}

/// What resolution arrived at.
#[derive(Clone, Copy, Debug)]
struct Place {
    id: Id,
    /// The directory in which the object's name stands.
    parent: Id,
}

const ROOT: Id = 0;

impl Model {
    /// The part of the tree below the root. Lines about `../` are outside, and so nothing to the model.
    pub fn build<S: AsRef<str>>(lines: impl IntoIterator<Item = S>, root_path: &str, base_path: &str) -> Self {
        let top = Object::Dir { entries: BTreeMap::new(), parent: ROOT, depth: 0, searchable: true };
        let mut model = Self { objects: vec![top], root_path: root_path.to_owned() };
        for line in lines {
            let (kind, rest) = line.as_ref().split_once(' ').unwrap_or_else(|| panic!("a line without a kind"));
            let split = |separator| rest.split_once(separator).unwrap_or_else(|| panic!("a line without its {separator}"));
            if rest.starts_with("../") {
                continue;
            }
            match kind {
                "dir" => drop(model.directory(rest)),
                "file" => model.add(split("=").0, Object::File(split("=").1.to_owned())),
                "link" => {
                    let target = split(" -> ").1.replace("$ROOT", root_path).replace("$BASE", base_path);
                    model.add(split(" -> ").0, Object::Link(target));
                }
                "fifo" | "sock" => model.add(rest, Object::Special),
                "mode" => {
                    let id = model.directory(split(" ").1);
                    if let Object::Dir { searchable, .. } = &mut model.objects[id] {
                        *searchable = false;
                    }
                }
                _ => panic!("no such line: {kind}"),
            }
        }
        model
    }

    fn add(&mut self, path: &str, object: Object) {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = self.directory(dir);
        let id = self.objects.len();
        self.objects.push(object);
        if let Object::Dir { entries, .. } = &mut self.objects[dir] {
            entries.insert(name.to_owned(), id);
        }
    }

    fn directory(&mut self, path: &str) -> Id {
        let mut at = ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let new = self.objects.len();
            let Object::Dir { entries, depth, .. } = &mut self.objects[at] else { panic!("{path} is no directory") };
            let (id, depth) = (*entries.entry(name.to_owned()).or_insert(new), *depth + 1);
            if id == new {
                self.objects.push(Object::Dir { entries: BTreeMap::new(), parent: at, depth, searchable: true });
            }
            at = id;
        }
        at
    }

    /// The content of a regular file.
    pub fn read(&self, path: &str) -> Result<String, Code> {
        match &self.objects[self.follow(path)?.id] {
            Object::File(text) => Ok(text.clone()),
            Object::Dir { .. } => Err("is-a-directory"),
            Object::Special | Object::Link(_) => Err("special-file"),
        }
    }

    /// The names in a directory.
    pub fn read_dir(&self, path: &str) -> Result<Vec<String>, Code> {
        match &self.objects[self.follow(path)?.id] {
            Object::Dir { searchable: false, .. } => Err("os-denied"),
            Object::Dir { entries, .. } => Ok(entries.keys().cloned().collect()),
            _ => Err("not-a-directory"),
        }
    }

    /// The type of what a path leads to: `dir`, `file`, `link`, `special`.
    pub fn metadata(&self, path: &str) -> Result<&'static str, Code> {
        Ok(self.kind(self.follow(path)?.id))
    }

    /// The type of what a path names.
    pub fn symlink_metadata(&self, path: &str) -> Result<&'static str, Code> {
        Ok(self.kind(self.name(path)?.id))
    }

    /// The text of a link, where it is shown: relative, and by text not above the root.
    pub fn read_link(&self, path: &str) -> Result<String, Code> {
        let place = self.name(path)?;
        let Object::Link(text) = &self.objects[place.id] else { return Err("invalid-argument") };
        let Object::Dir { depth, .. } = self.objects[place.parent] else { panic!("a parent is a directory") };
        let mut level = i64::try_from(depth).unwrap_or(i64::MAX);
        let mut out = text.starts_with('/');
        for name in text.split('/') {
            level += match name {
                "" | "." => 0,
                ".." => -1,
                _ => 1,
            };
            out |= level < 0;
        }
        if out { Err("outside-roots") } else { Ok(text.clone()) }
    }

    fn kind(&self, id: Id) -> &'static str {
        match self.objects[id] {
            Object::Dir { .. } => "dir",
            Object::File(_) => "file",
            Object::Link(_) => "link",
            Object::Special => "special",
        }
    }

    fn follow(&self, path: &str) -> Result<Place, Code> {
        self.resolve(Place { id: ROOT, parent: ROOT }, path, true, true, &mut 0)
    }

    fn name(&self, path: &str) -> Result<Place, Code> {
        self.resolve(Place { id: ROOT, parent: ROOT }, path, false, true, &mut 0)
    }

    /// `from` is a directory. `typed`: by the caller, and not a link's text.
    fn resolve(&self, from: Place, path: &str, follow_last: bool, typed: bool, links: &mut usize) -> Result<Place, Code> {
        let mut at = from;
        let names: Vec<&str> = path.split('/').collect();
        for (index, name) in names.iter().enumerate() {
            let last = index + 1 == names.len();
            // Whatever stands before a slash must be a directory.
            let Object::Dir { entries, parent, searchable, .. } = &self.objects[at.id] else { return Err("not-a-directory") };
            // A dot that a caller typed says no more than a slash; one in a link's text is looked up, as any name is.
            if name.is_empty() || (*name == "." && typed) {
                continue;
            }
            if !searchable {
                return Err("os-denied");
            }
            if *name == "." {
                continue;
            }
            if *name == ".." {
                if at.id == ROOT {
                    return Err("outside-roots");
                }
                at = Place { id: *parent, parent: *parent };
                continue;
            }
            let place = Place { id: lookup(entries, name, typed)?, parent: at.id };
            at = match &self.objects[place.id] {
                // A last link is followed if asked for; a slash behind it makes it not the last.
                Object::Link(text) if follow_last || !last => {
                    *links += 1;
                    if *links > LINKS {
                        return Err("symlink-loop");
                    }
                    self.link(at, text, links)?
                }
                _ => place,
            };
        }
        Ok(at)
    }

    fn link(&self, dir: Place, text: &str, links: &mut usize) -> Result<Place, Code> {
        if !text.starts_with('/') {
            return self.resolve(dir, text, true, false, links);
        }
        let rest = text.strip_prefix(&self.root_path).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        self.resolve(Place { id: ROOT, parent: ROOT }, rest.ok_or("outside-roots")?, true, false, links)
    }
}

fn lookup(entries: &BTreeMap<String, Id>, name: &str, typed: bool) -> Result<Id, Code> {
    if let Some(id) = entries.get(name) {
        return Ok(*id);
    }
    if !typed || (name.is_ascii() && !name.contains(' ')) {
        return Err("not-found");
    }
    // The forms that the vocabulary has: e with an acute accent, and the narrow no-break space.
    let form = |name: &str| name.replace("e\u{301}", "\u{e9}").replace('\u{202f}', " ");
    let mut fits = entries.iter().filter(|(entry, _)| form(entry) == form(name));
    match (fits.next(), fits.next()) {
        (None, _) => Err("not-found"),
        (Some((_, id)), None) => Ok(*id),
        (Some(_), Some(_)) => Err("ambiguous"),
    }
}
