//! Path arguments: which root a text means, and the steps below it.

use std::cmp::Reverse;

use cap_roots::Access;

use super::world::Id;
use super::{Code, Model};
use crate::notation::{NAME, uri_path};

/// The steps that a text takes, without `.`.
#[derive(Clone, Debug, Default)]
pub struct Path {
    pub steps: Vec<String>,
    /// Has to be a directory: a slash, a dot or `..` stands at the end.
    pub dir: bool,
    /// A dot stands at the end.
    pub dot: bool,
}

impl Path {
    pub fn of<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let mut path = Self::default();
        for piece in pieces {
            path.dir = matches!(piece, "" | "." | "..");
            path.dot = piece == "." || (piece.is_empty() && path.dot);
            if !matches!(piece, "" | ".") {
                path.steps.push(piece.to_owned());
            }
        }
        path
    }

    /// Whether it ends in a name, and not in `..` or nothing at all.
    pub fn names_something(&self) -> bool {
        self.steps.last().is_some_and(|step| step != "..")
    }

    /// The first steps, up to a directory.
    pub fn first(&self, count: usize) -> Self {
        Self { steps: self.steps[..count].to_vec(), dir: true, dot: false }
    }

    fn climbs(&self) -> bool {
        let mut depth = 0i32;
        self.steps.iter().any(|step| {
            depth += if step == ".." { -1 } else { 1 };
            depth < 0
        })
    }

    /// What is left behind these names; not exactly: where they may have another Unicode form.
    pub fn below(&self, names: &[String], exact: bool) -> Option<Self> {
        let rest = self.steps.get(names.len()..)?.to_vec();
        let same = |(name, step): (&String, &String)| name == step || (!exact && form(name) == form(step));
        let starts = names.iter().zip(&self.steps).all(same);
        starts.then_some(Self { dir: self.dir || rest.is_empty(), steps: rest, dot: self.dot })
    }
}

/// A name in one of its Unicode forms: of what the vocabulary has, one accent and two spaces.
pub(crate) fn form(name: &str) -> String {
    name.replace("e\u{301}", "\u{e9}").replace(['\u{202f}', '\u{a0}'], " ")
}

/// A root as one set of roots has it, perhaps narrowed to a directory.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Which of the model's roots.
    pub root: usize,
    pub access: Access,
    pub no_delete: bool,
    /// The code with which it answers since it has come to its end.
    pub ended: Option<Code>,
    /// The names from the root to the directory that it is narrowed to.
    pub floor: Vec<String>,
    /// That directory, if it is a handle, and the steps by which it was opened.
    pub held: Option<(Id, Vec<String>)>,
    /// The one file in there that it is narrowed to.
    pub only: Option<String>,
}

impl Slot {
    /// The names from the root to what it is narrowed to.
    pub fn path(&self) -> Vec<String> {
        self.floor.iter().chain(&self.only).cloned().collect()
    }

    /// The steps by which its directory was opened.
    pub fn opened_by(&self) -> &[String] {
        self.held.as_ref().map_or(&self.floor, |(_, opened_by)| opened_by)
    }
}

/// One end of an operation, not yet looked at.
#[derive(Clone, Debug)]
pub struct End {
    pub slot: Slot,
    pub path: Path,
    /// What has to be left of the last name.
    pub need: Access,
    /// The last name is about to be a directory.
    pub dir: bool,
}

impl End {
    /// The same operation on another path.
    pub fn at(&self, path: Path) -> Self {
        Self { path, ..self.clone() }
    }
}

impl Model {
    /// Text to root and steps.
    pub(super) fn locate(&self, view: &[Slot], text: &str, need: Access, dir: bool) -> Result<End, Code> {
        let text = self.world.expand(text);
        let is_uri = text.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("root://"));
        let found = if is_uri {
            let (name, path) = text[7..].split_once('/').unwrap_or((&text[7..], ""));
            let path = Path::of(uri_path(path)?.iter().map(String::as_str));
            by_text(view, |_, slot| (self.roots[slot.root].name == name).then(|| (0, path.clone())))
        } else if text.is_empty() || text.contains(char::is_control) || text.split('/').any(|name| name.len() > NAME) {
            Err("invalid-path")
        } else if text.starts_with('/') {
            self.by_host_path(view, &Path::of(text.split('/')))
        } else {
            // From the first directory; where there are files alone, the one of that name.
            let path = Path::of(text.split('/'));
            let first = view.iter().position(|slot| slot.only.is_none());
            by_text(view, |index, slot| {
                let steps = [slot.floor.clone(), path.steps.clone()].concat();
                first.is_none_or(|first| first == index).then_some((0, Path { steps, ..path }))
            })
        };
        let (index, path) = found?;
        let slot = view[index].clone();
        // A handle of a directory knows no other texts.
        if slot.held.is_some() && (is_uri || text.starts_with('/')) {
            return Err("outside-roots");
        }
        Ok(End { slot, path, need, dir })
    }

    /// The place in the view, and the path below its floor, that an absolute path means: in the deepest root.
    pub(super) fn by_host_path(&self, view: &[Slot], path: &Path) -> Result<(usize, Path), Code> {
        by_text(view, |_, slot| Some((self.roots[slot.root].names.len(), path.below(&self.spelling(slot.root), true)?)))
    }

    /// The names of a root's absolute path.
    pub(super) fn spelling(&self, root: usize) -> Vec<String> {
        let base = self.world.base.split('/').filter(|name| !name.is_empty()).map(str::to_owned);
        base.chain(self.roots[root].names.iter().cloned()).collect()
    }

    /// Where an absolute link leads from the floor, by its text.
    pub(super) fn absolute_link(&self, slot: &Slot, text: &str) -> Result<Path, Code> {
        let path = Path::of(text.split('/')).below(&self.spelling(slot.root), true);
        path.and_then(|path| path.below(slot.opened_by(), true)).ok_or("outside-roots")
    }
}

/// The slot that a text means. `from_root`: the path from the slot's root, if the text names that, and how good a fit that is.
fn by_text(view: &[Slot], from_root: impl Fn(usize, &Slot) -> Option<(usize, Path)>) -> Result<(usize, Path), Code> {
    if view.is_empty() {
        return Err("no-roots");
    }
    let best = |exact| {
        let fits = view.iter().enumerate().filter_map(|(index, slot)| {
            let (fit, path) = from_root(index, slot)?;
            Some((fit, index, admitted(slot, path.below(&slot.floor, exact)?, exact)?))
        });
        // One that the rest does not climb out of comes first; of two alike the earlier.
        let (_, index, path) = fits.max_by_key(|(fit, index, path)| (!path.climbs(), *fit, Reverse(*index)))?;
        Some((index, path))
    };
    // Names as they are come first, and names in another form where nothing fits.
    best(true).or_else(|| best(false)).ok_or("outside-roots")
}

/// A path from the floor; of a root that is narrowed to a file, there is but one.
fn admitted(slot: &Slot, path: Path, exact: bool) -> Option<Path> {
    let Some(only) = &slot.only else { return Some(path) };
    path.below(std::slice::from_ref(only), exact).filter(|rest| rest.steps.is_empty())?;
    Some(Path { steps: vec![only.clone()], ..path })
}
