//! The same operations on the same tree by each way of resolving: the fast one, the guarded walk, and the walk in a thread for which the
//! kernel has no `openat2`. No model: what is compared are outcomes, answers, the words of errors, and the tree afterwards with its modes.
//!
//! Small trees and few steps, so that an execution is short; `sequence` has the long ones.

use std::sync::Arc;

use cap_roots::{Access, Builder};

use crate::ground::{self, Ground};
use crate::kernel::{self, Kernel, Said};
use crate::sequence::disk::Watch;
use crate::sequence::generate::Case;
use crate::sequence::model::Outcome;
use crate::sequence::stage::Stage;
use crate::sequence::step::Step;
use crate::{privilege, without};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Fast,
    Walk,
    WithoutOpenat2,
}

/// What came of a case.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    outcomes: Vec<Outcome>,
    /// What errors said.
    told: Vec<String>,
    /// The tree, with modes.
    tree: Vec<String>,
}

/// A fuzzer's input: the first byte picks the way that the fast one is compared with, the rest makes the case.
pub fn fuzz(input: &[u8]) {
    let (first, bytes) = input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
    compare(bytes, if first % 2 == 0 { &[Way::Walk] } else { &[Way::WithoutOpenat2] });
}

/// The same, compared with both.
pub fn check_all(input: &[u8]) {
    check(input.get(1..).unwrap_or_default());
}

/// Panics if the ways differ, if the walk opens something else than the kernel, or if anything of the outside or of a sealed file comes
/// back or changes.
pub fn check(bytes: &[u8]) {
    compare(bytes, &[Way::Walk, Way::WithoutOpenat2]);
}

fn compare(bytes: &[u8], ways: &[Way]) {
    privilege::drop_override_once();
    let case = Arc::new(Case::small(bytes));
    let by = |way| by(&case, way).unwrap_or_else(|error| panic!("{case}{way:?}: {error}"));
    let fast = by(Way::Fast);
    for way in ways {
        let other = by(*way);
        assert!(fast == other, "{case}the ways differ\n by the fast way: {fast:#?}\n{way:?}: {other:#?}");
    }
}

fn by(case: &Arc<Case>, way: Way) -> Result<Ended, String> {
    let io = |error: std::io::Error| error.to_string();
    let ended = ground::with(&case.lines, |ground| {
        let mut watch = Watch::nothing(case.ruled());
        case.lines.iter().try_for_each(|line| watch.look_at(ground.tree().held(), line)).map_err(io)?;
        let (outcomes, told) = match way {
            Way::Fast => steps(case, ground, |builder| builder, None),
            Way::Walk => steps(case, ground, Builder::without_openat2, asked(case, ground)),
            Way::WithoutOpenat2 => {
                let (case, ground, asked) = (Arc::clone(case), Arc::clone(ground), asked(case, ground));
                without::openat2(move || steps(&case, &ground, |builder| builder, asked))
            }
        };
        let picture = ground.take_down().map_err(io)?;
        watch.compare(&picture)?;
        match ground.changed_beside().map_err(io)? {
            changed if changed.is_empty() => Ok(Ended { outcomes, told, tree: picture.with_modes(ground.tree().base_text()) }),
            changed => Err(format!("the outside changed: {changed:#?}")),
        }
    });
    ended.map_err(io)?
}

/// What the kernel says of the first path of a case, before anything is done.
fn asked(case: &Case, ground: &Ground) -> Option<Said> {
    let [grant] = &case.grants[..] else { return None };
    let Some(Step::Do { op, .. }) = case.steps.first() else { return None };
    // Only of such a root handles are given out without more.
    if grant.access < Access::Write || grant.no_delete || !(case.rules.is_empty() && grant.rules.is_empty()) {
        return None;
    }
    let path = kernel::relative(op.path())?;
    let kernel = Kernel::of(&ground.tree().root(), kernel::has_absolute_links(&case.lines));
    Some(kernel.unwrap_or_else(|error| panic!("{error}")).find(path))
}

fn steps(case: &Case, ground: &Ground, way: fn(Builder) -> Builder, asked: Option<Said>) -> (Vec<Outcome>, Vec<String>) {
    let mut stage = Stage::open(case, ground.tree(), way);
    if let (Some(said), Some(Step::Do { op, .. })) = (asked, case.steps.first()) {
        kernel::check(&stage.views[0], &said, op.path());
    }
    let outcomes = case.steps.iter().map(|step| stage.run(step)).collect();
    (outcomes, stage.told)
}
