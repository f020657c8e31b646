//! Sequences on a disk, by the crate, beside the model.

use std::collections::BTreeSet;

use cap_roots::Builder;

use super::disk::{Picture, Watch};
use super::generate::Case;
use super::model::Seen;
use super::stage::Stage;
use super::step::Step;
use crate::ground::{self, Ground};
use crate::privilege;

/// When the whole tree is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    AfterEachStep,
    AtTheEnd,
}

/// A fuzzer's input: the first byte picks the way, the rest makes the case. The tree is looked at once, at the end; if it is not what the
/// model says, the same is done again with a look after each step, to tell which one it was. A case does the same each time.
pub fn fuzz(input: &[u8]) {
    privilege::drop_override_once();
    let (first, bytes) = input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
    check_end(bytes, if first % 2 == 0 { |builder| builder } else { Builder::without_openat2 });
}

/// The same by the fast way, and by the guarded walk, with a look after each step.
pub fn check_both(input: &[u8]) {
    privilege::drop_override_once();
    let bytes = input.get(1..).unwrap_or_default();
    check(bytes, |builder| builder);
    check(bytes, Builder::without_openat2);
}

/// Panics unless each step of the case that the bytes make ends as the model says, with the answer and the tree that it says; and if
/// anything of the outside or of a sealed file comes back, or one of them changes.
pub fn check(bytes: &[u8], way: fn(Builder) -> Builder) {
    let case = Case::generate(bytes);
    if let Err(difference) = attempt(&case, way, Look::AfterEachStep) {
        panic!("{case}{difference}");
    }
}

/// The same with one look at the end.
pub(crate) fn check_end(bytes: &[u8], way: fn(Builder) -> Builder) {
    let case = Case::generate(bytes);
    if let Err(difference) = attempt(&case, way, Look::AtTheEnd) {
        let again = attempt(&case, way, Look::AfterEachStep).err();
        panic!("{case}{}", again.unwrap_or_else(|| format!("{difference}\nand nothing after each step")));
    }
}

fn attempt(case: &Case, way: fn(Builder) -> Builder, look: Look) -> Result<(), String> {
    ground::with(&case.lines, |ground| beside_the_model(case, way, look, ground)).unwrap_or_else(|error| panic!("{case}{error}"))
}

fn beside_the_model(case: &Case, way: fn(Builder) -> Builder, look: Look, ground: &Ground) -> Result<(), String> {
    let io = |error: std::io::Error| error.to_string();
    let tree = ground.tree();
    let mut told = Told { case, step: None };
    let mut model = case.model(tree.base_text());
    let mut stage = Stage::open(case, tree, way);
    let mut watch = Watch::nothing(case.ruled());
    case.lines.iter().try_for_each(|line| watch.look_at(tree.held(), line)).map_err(io)?;
    for (number, step) in case.steps.iter().enumerate() {
        told.step = Some(number);
        let want = model.run(step);
        let ours = match step {
            // Whether its name is free is the model's to say: the trees were the same until here.
            Step::Plant(line) => {
                if want == Ok(Seen::Bool(true)) {
                    tree.plant(line).and_then(|()| watch.look_at(tree.held(), line)).map_err(io)?;
                }
                want.clone()
            }
            step => stage.run(step),
        };
        if ours != want {
            return Err(format!("step {number}, {step}: ours is {ours:?}, and the model's {want:?}"));
        }
        if look == Look::AfterEachStep {
            let picture = Picture::of(tree.base()).map_err(io)?;
            let after = |difference| format!("after step {number}, {step}: {difference}");
            same_tree(&picture.lines(), &model.world.lines()).map_err(after)?;
            watch.compare(&picture).map_err(after)?;
            untouched(ground).map_err(after)?;
        }
    }
    let of_root = |line: &String| line.split(' ').nth(1).is_some_and(|path| path == "ROOT" || path.starts_with("ROOT/"));
    let picture = ground.take_down().map_err(io)?;
    same_tree(&picture.lines(), &model.world.lines().into_iter().filter(of_root).collect::<Vec<_>>())?;
    watch.compare(&picture)?;
    untouched(ground)
}

fn untouched(ground: &Ground) -> Result<(), String> {
    let changed = ground.changed_beside().map_err(|error| error.to_string())?;
    if changed.is_empty() { Ok(()) } else { Err(format!("the outside changed: {changed:#?}")) }
}

/// Writes the case down if the check does not come to its end.
struct Told<'a> {
    case: &'a Case,
    step: Option<usize>,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}failed at step {:?}", self.case, self.step);
        }
    }
}

/// Only what differs, since a tree is long.
fn same_tree(disk: &[String], model: &[String]) -> Result<(), String> {
    if disk == model {
        return Ok(());
    }
    let (disk, model): (BTreeSet<_>, BTreeSet<_>) = (disk.iter().collect(), model.iter().collect());
    let (only_disk, only_model): (Vec<_>, Vec<_>) = (disk.difference(&model).collect(), model.difference(&disk).collect());
    Err(format!("the trees differ\n on the disk: {only_disk:#?}\nin the model: {only_model:#?}"))
}
