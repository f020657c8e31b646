//! Reading by any path: in the poison tree, and in generated trees against the model.
//!
//! The trees are made once and kept, so that an execution is system calls on paths and nothing else. Encoding of an input: the first
//! byte picks the tree, the rest is the path, so that a stored input keeps its meaning as long as the lists in `vocabulary` and
//! `generate` only grow at their ends.

use std::ffi::OsString;
use std::fmt::Debug;

use cap_roots::{Access, Error, Metadata, Roots};

use crate::generate::{self, Picks};
use crate::model::Model;
use crate::tree::Tree;
use crate::{agree, poison, privilege, vocabulary};

const TREES: u8 = 16;
const OBJECTS: usize = 24;

/// A tree with roots on it by both ways.
struct Stage {
    tree: Tree,
    model: Option<Model>,
    fast: Roots,
    walk: Roots,
}

impl Stage {
    fn new(tree: Tree, model: Option<Model>) -> Self {
        let open = |builder: cap_roots::Builder| {
            builder.named("root", tree.root(), Access::Read).open().unwrap_or_else(|error| panic!("{error}"))
        };
        let (fast, walk) = (open(Roots::builder()), open(Roots::builder().without_openat2()));
        Self { tree, model, fast, walk }
    }

    fn poisoned() -> Self {
        Self::new(poison::build().unwrap_or_else(|error| panic!("{error}")), None)
    }

    fn generated(seed: u8) -> Self {
        // A linear congruential generator: any bytes will do, as long as they are the same each time.
        let mut state = u32::from(seed).wrapping_mul(2_654_435_761);
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        })
        .take(OBJECTS * 8)
        .collect();
        let lines = generate::tree(&mut Picks(&bytes), OBJECTS);
        let tree = Tree::build(&lines).unwrap_or_else(|error| panic!("{error}"));
        let model = Model::reading(&lines, &tree.base().to_string_lossy());
        Self::new(tree, Some(model))
    }
}

thread_local! {
    static STAGES: Vec<Stage> = {
        privilege::drop_override();
        std::iter::once(Stage::poisoned()).chain((1..TREES).map(Stage::generated)).collect()
    };
}

/// Panics if anything of the outside comes back, if an answer is not the model's, or if the two ways answer differently.
pub fn check(input: &[u8]) {
    let (first, picks) = input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
    STAGES.with(|stages| {
        let stage = &stages[usize::from(first % TREES)];
        let Some(model) = &stage.model else { return poisoned(stage, &vocabulary::path(picks)) };
        let (text, _) = generate::path(&mut Picks(picks), &stage.tree.root().to_string_lossy());
        for roots in [&stage.fast, &stage.walk] {
            agree::check(roots, model, 0, &stage.tree.base().to_string_lossy(), &text);
        }
    });
}

fn poisoned(Stage { tree, fast, walk, .. }: &Stage, path: &str) {
    for roots in [fast, walk] {
        poison::probe(roots, tree, path);
    }
    same(path, fast.read(path), walk.read(path));
    let kind = |metadata: Metadata| (metadata.file_type(), metadata.len());
    same(path, fast.metadata(path).map(kind), walk.metadata(path).map(kind));
    same(path, fast.symlink_metadata(path).map(kind), walk.symlink_metadata(path).map(kind));
    same(path, fast.read_link(path), walk.read_link(path));
    same(path, names(fast, path), names(walk, path));
}

fn same<T: PartialEq + Debug>(path: &str, fast: Result<T, Error>, walk: Result<T, Error>) {
    assert_eq!(fast, walk, "the two ways disagree on {path:?}");
}

fn names(roots: &Roots, path: &str) -> Result<Vec<OsString>, Error> {
    let mut names = roots.read_dir(path)?.map(|entry| Ok(entry?.name().to_owned())).collect::<Result<Vec<_>, Error>>()?;
    names.sort();
    Ok(names)
}
