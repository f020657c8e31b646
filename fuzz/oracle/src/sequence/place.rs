//! Path arguments: which root a text means, and the steps below it.

use cap_roots::Access;

use super::model::{Code, Model, View, form};

/// The steps that a text takes, without `.`.
#[derive(Clone, Debug, Default)]
pub struct Path {
    pub steps: Vec<String>,
    /// Has to be a directory: a slash, a dot or `..` stands at the end.
    pub dir: bool,
}

impl Path {
    pub fn of<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let mut path = Self::default();
        for piece in pieces {
            path.dir = matches!(piece, "" | "." | "..");
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

    /// The directory that its last name stands in.
    pub fn parent(&self) -> Self {
        self.first(self.steps.len().saturating_sub(1))
    }

    /// The first steps, up to a directory.
    pub fn first(&self, count: usize) -> Self {
        Self { steps: self.steps[..count].to_vec(), dir: true }
    }

    fn climbs(&self) -> bool {
        let mut depth = 0i32;
        self.steps.iter().any(|step| {
            depth += if step == ".." { -1 } else { 1 };
            depth < 0
        })
    }

    /// The same, by names in another Unicode form.
    fn like_below(&self, names: &[String]) -> Option<Self> {
        let forms = |names: &[String]| names.iter().map(|name| form(name)).collect::<Vec<_>>();
        let count = Self { steps: forms(&self.steps), dir: self.dir }.below(&forms(names))?.steps.len();
        let steps = self.steps[self.steps.len() - count..].to_vec();
        Some(Self { dir: self.dir || steps.is_empty(), steps })
    }

    /// What is left behind these names.
    fn below<S: AsRef<str>>(&self, names: &[S]) -> Option<Self> {
        let starts = self.steps.len() >= names.len() && names.iter().zip(&self.steps).all(|(name, step)| name.as_ref() == step);
        let steps = self.steps.get(names.len()..)?.to_vec();
        starts.then_some(Self { dir: self.dir || steps.is_empty(), steps })
    }
}

/// A root as one set of roots has it, perhaps narrowed to a directory.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Which of the model's roots.
    pub root: usize,
    pub access: Access,
    pub no_delete: bool,
    /// The names from the root to the directory that it is narrowed to.
    pub floor: Vec<String>,
    /// The one file in there that it is narrowed to.
    pub only: Option<String>,
}

impl Slot {
    /// The names from the root to what it is narrowed to.
    pub fn path(&self) -> Vec<String> {
        self.floor.iter().chain(&self.only).cloned().collect()
    }
}

/// One end of an operation, not yet looked at.
#[derive(Clone, Debug)]
pub struct End {
    pub slot: Slot,
    pub path: Path,
}

impl Model {
    /// Text to root and steps.
    pub fn locate(&self, view: &View, text: &str) -> Result<End, Code> {
        let text = self.world.expand(text);
        if text.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("root://")) {
            let (name, path) = text[7..].split_once('/').unwrap_or((&text[7..], ""));
            let path = uri_path(path)?;
            if view.slots.is_empty() {
                return Err("no-roots");
            }
            let named = |exact| {
                let slots = view.slots.iter().filter(|slot| self.roots[slot.root].name == name);
                slots.filter_map(|slot| on_floor(slot, &path, exact)).min_by_key(|end| end.path.climbs())
            };
            return WAYS.into_iter().find_map(named).ok_or("outside-roots");
        }
        if text.is_empty() {
            return Err("invalid-path");
        }
        let path = Path::of(text.split('/'));
        if !text.starts_with('/') {
            return by_relative_path(view, &path);
        }
        self.by_host_path(view, &path).map(|(_, end)| end)
    }

    /// The root, by its number in the view, that an absolute path means.
    pub(super) fn by_host_path(&self, view: &View, path: &Path) -> Result<(usize, End), Code> {
        if view.slots.is_empty() {
            return Err("no-roots");
        }
        let best = |exact| {
            let fits = view.slots.iter().enumerate().filter_map(|(index, slot)| {
                let end = on_floor(slot, &path.below(&self.spelling(slot.root))?, exact)?;
                Some((index, self.roots[slot.root].names.len(), end))
            });
            // The deepest; but one that the rest does not climb out of comes first, and of two alike the earlier.
            fits.max_by_key(|(index, depth, end)| (!end.path.climbs(), *depth, std::cmp::Reverse(*index)))
        };
        WAYS.into_iter().find_map(best).map(|(index, _, end)| (index, end)).ok_or("outside-roots")
    }

    /// The names of a root's absolute path.
    pub(super) fn spelling(&self, root: usize) -> Vec<String> {
        let base = self.world.base().split('/').filter(|name| !name.is_empty()).map(str::to_owned);
        base.chain(self.roots[root].names.iter().cloned()).collect()
    }

    /// Where an absolute link leads from the floor, by its text.
    pub(super) fn absolute_link(&self, slot: &Slot, text: &str) -> Result<Path, Code> {
        let path = Path::of(text.split('/')).below(&self.spelling(slot.root)).ok_or("outside-roots")?;
        path.below(&slot.floor).ok_or("outside-roots")
    }
}

/// Names as they are come first, and names in another form where nothing fits.
const WAYS: [bool; 2] = [true, false];

/// From the first directory; where there are files alone, the one of that name.
fn by_relative_path(view: &View, path: &Path) -> Result<End, Code> {
    if view.slots.is_empty() {
        return Err("no-roots");
    }
    if let Some(slot) = view.slots.iter().find(|slot| slot.only.is_none()) {
        return Ok(End { slot: slot.clone(), path: path.clone() });
    }
    let file = |exact| view.slots.iter().find_map(|slot| admitted(slot, path.clone(), exact));
    WAYS.into_iter().find_map(file).ok_or("outside-roots")
}

/// A path from the root, in a root that may be narrowed.
fn on_floor(slot: &Slot, path: &Path, exact: bool) -> Option<End> {
    let rest = if exact { path.below(&slot.floor) } else { path.like_below(&slot.floor) };
    admitted(slot, rest?, exact)
}

/// A path from the floor; of a root that is narrowed to a file, there is but one.
fn admitted(slot: &Slot, mut path: Path, exact: bool) -> Option<End> {
    if let Some(only) = &slot.only {
        let [step] = &mut path.steps[..] else { return None };
        if (exact && step != only) || form(step) != form(only) {
            return None;
        }
        step.clone_from(only);
    }
    Some(End { slot: slot.clone(), path })
}

fn uri_path(text: &str) -> Result<Path, Code> {
    let pieces: Vec<&str> = text.split('/').collect();
    // One slash at the end is a directory; another empty segment is a mistake.
    if pieces[..pieces.len() - 1].contains(&"") {
        return Err("invalid-uri");
    }
    let decoded = pieces.iter().map(|piece| decode(piece)).collect::<Option<Vec<_>>>().ok_or("invalid-uri")?;
    Ok(Path::of(decoded.iter().map(String::as_str)))
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).ok()
}
