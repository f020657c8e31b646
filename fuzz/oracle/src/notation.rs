//! How what the model knows is written: its world, out of the lines of a tree (see `tree`) and into lines that tell all that is there;
//! and names in URIs.

use std::collections::BTreeMap;

use crate::model::Code;
use crate::model::world::{BASE, Id, Object, World};

impl World {
    /// The world that `Tree::build` makes of the same lines.
    pub fn build<S: AsRef<str>>(lines: impl IntoIterator<Item = S>, base: &str) -> Self {
        let mut world = Self::new(base);
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
        let (path, argument) = match kind {
            "file" => split("="),
            "link" => split(" -> "),
            "hard" => split(" = "),
            "mode" => return self.plant_mode(split(" ")),
            _ => (rest, ""),
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
            "file" => drop(self.make(at, name, Object::File(argument.to_owned()))),
            "link" => drop(self.make(at, name, Object::Link(self.expand(argument)))),
            "fifo" | "sock" => drop(self.make(at, name, Object::Special)),
            "hard" => match self.plain(&names_of(argument)) {
                Some(id) if self.kind(id) == "file" => self.attach(at, name, id),
                _ => return false,
            },
            _ => panic!("no such line: {line}"),
        }
        true
    }

    fn plant_mode(&mut self, (mode, path): (&str, &str)) -> bool {
        let mode = u32::from_str_radix(mode, 8).unwrap_or_else(|error| panic!("{mode}: {error}"));
        self.plain(&names_of(path)).map(|id| self.modes[id] = mode).is_some()
    }

    /// Every name with its type, and content, text or the other names of the same file: to be compared with the disk's.
    pub fn lines(&self) -> Vec<String> {
        let mut first: BTreeMap<Id, String> = BTreeMap::new();
        let mut lines = Vec::new();
        self.visit(BASE, "", &mut |path, id| {
            lines.push(match &self.objects[id] {
                Object::Dir { .. } => format!("dir {path}"),
                Object::File(text) => {
                    let same = first.entry(id).or_insert_with(|| path.to_owned());
                    format!("file {path} (as {same}) = {text}")
                }
                Object::Link(text) => format!("link {path} -> {text}"),
                Object::Special => format!("special {path}"),
            });
        });
        lines
    }
}

/// The names from `BASE` of a path as tree lines have it: from `ROOT`, or beside it after `../`.
pub fn names_of(path: &str) -> Vec<&str> {
    match path.strip_prefix("../") {
        Some(beside) => beside.split('/').collect(),
        None => std::iter::once("ROOT").chain(path.split('/')).filter(|name| !name.is_empty()).collect(),
    }
}

/// Most bytes of a name (limits.h(0p), `NAME_MAX`).
pub(crate) const NAME: usize = 255;

/// The names that the path of a `root://NAME/...` URI has, decoded.
pub(crate) fn uri_path(text: &str) -> Result<Vec<String>, Code> {
    let pieces: Vec<&str> = text.split('/').collect();
    // One slash at the end is a directory; another empty segment is a mistake.
    if pieces[..pieces.len() - 1].contains(&"") {
        return Err("invalid-uri");
    }
    let name = |piece: &&str| decode(piece).filter(|name| name.len() <= NAME && !name.contains('\0'));
    pieces.iter().map(name).collect::<Option<_>>().ok_or("invalid-uri")
}

fn decode(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(piece.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}
