//! Hints of a client: which parts of a set of roots they leave.

use cap_roots::Access;

use super::place::{End, Path, Slot, form};
use super::resolve::Last;
use super::{Code, Model, Outcome, Seen};

impl Model {
    /// The set that is left, in the order of the roots and names; the answer is what it has, and how many hints selected nothing.
    pub(super) fn hinted(&mut self, view: &[Slot], hints: &[String]) -> Outcome {
        let mut left: Vec<(usize, String, Slot)> = Vec::new();
        let mut refused = 0;
        for hint in hints {
            let text = self.world.expand(hint);
            let path = Path::of(text.trim_start_matches('/').split('/'));
            match self.selected(view, &path) {
                Ok(slots) => left.extend(slots.into_iter().map(|(index, slot)| (index, dotted(&slot.path()), slot))),
                Err(_) => refused += 1,
            }
        }
        left.sort_by(|(a, path_a, _), (b, path_b, _)| (a, path_a).cmp(&(b, path_b)));
        left.dedup_by(|(a, path_a, _), (b, path_b, _)| (&*a, &*path_a) == (&*b, &*path_b));
        let covered = |index: usize, slot: &Slot| {
            left.iter().any(|(other, _, wide)| {
                *other == index && wide.only.is_none() && wide.path() != slot.path() && slot.path().starts_with(&wide.floor)
            })
        };
        let slots: Vec<Slot> =
            left.iter().filter(|(index, _, slot)| !covered(*index, slot)).map(|(_, _, slot)| slot.clone()).collect();
        let uri = |slot: &Slot| format!("root://{}/{}", self.roots[slot.root].name, escaped(&slot.path().join("/")));
        let told = slots.iter().map(uri).collect();
        self.views.push(slots);
        Ok(Seen::Names(told, refused))
    }

    /// The roots that lie in the hint whole, and the part of one that the hint lies in.
    fn selected(&self, view: &[Slot], path: &Path) -> Result<Vec<(usize, Slot)>, Code> {
        let whole = |exact: bool| -> Vec<(usize, Slot)> {
            let same = |(own, hint): (&String, &String)| own == hint || (!exact && form(own) == form(hint));
            let is_in = |slot: &Slot| {
                let own = [self.spelling(slot.root), slot.path()].concat();
                own.len() >= path.steps.len() && own.iter().zip(&path.steps).all(same)
            };
            view.iter().cloned().enumerate().filter(|(_, slot)| is_in(slot)).collect()
        };
        let mut selected = whole(true);
        match self.inside(view, path) {
            Ok(Some(part)) => selected.push(part),
            Ok(None) if selected.is_empty() => return Ok(whole(false)),
            Err("outside-roots") if selected.is_empty() => {
                return Some(whole(false)).filter(|like| !like.is_empty()).ok_or("outside-roots");
            }
            Err(code) if selected.is_empty() => return Err(code),
            Ok(None) | Err(_) => {}
        }
        Ok(selected)
    }

    /// The part of the deepest root that holds the path; nothing where that is all of it.
    fn inside(&self, view: &[Slot], path: &Path) -> Result<Option<(usize, Slot)>, Code> {
        let (index, path) = self.by_host_path(view, path)?;
        if path.steps.is_empty() {
            return Ok(None);
        }
        let end = End { slot: view[index].clone(), path, need: Access::List, dir: false };
        self.decide(&end, false)?;
        let mut spot = self.resolve(&end, Last::Follow)?;
        let only = match self.world.kind(spot.there()?) {
            "dir" => None,
            "file" => spot.names.pop(),
            _ => return Err("special-file"),
        };
        Ok(Some((index, Slot { floor: [end.slot.floor.clone(), spot.names].concat(), only, ..end.slot })))
    }
}

/// The whole of a root is called by a dot.
fn dotted(path: &[String]) -> String {
    if path.is_empty() { ".".to_owned() } else { path.join("/") }
}

/// As a URI has it. The vocabulary's names need escapes for nothing but letters that are not ASCII.
fn escaped(path: &str) -> String {
    path.bytes().map(|byte| if byte.is_ascii() { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
