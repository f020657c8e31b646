//! Reading by any path: in the poison tree, and in generated trees against the model.
//!
//! The trees are made once and kept, so that an execution is system calls on paths and nothing else; none of them changes anything.
//! Encoding of an input: the first byte picks the tree and the way, the rest is the path.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use cap_roots::{Access, Error, FileType, Metadata, Roots};

use crate::generate::{self, Picks};
use crate::kernel::{self, Kernel, Said};
use crate::model::Model;
use crate::tree::Tree;
use crate::{agree, poison, privilege, vocabulary, without};

const TREES: u8 = 16;
const OBJECTS: usize = 24;

/// A tree with roots on it by both ways.
struct Stage {
    tree: Tree,
    model: Option<Model>,
    fast: Roots,
    walk: Roots,
    /// The same with access to write, for whose handles there is no condition.
    held_fast: Roots,
    held_walk: Roots,
    kernel: Kernel,
}

impl Stage {
    fn new(tree: Tree, model: Option<Model>, absolute: bool) -> Self {
        let open = |builder: cap_roots::Builder, access| {
            builder.named("root", tree.root(), access).open().unwrap_or_else(|error| panic!("{error}"))
        };
        let both = |access| (open(Roots::builder(), access), open(Roots::builder().without_openat2(), access));
        let ((fast, walk), (held_fast, held_walk)) = (both(Access::Read), both(Access::Write));
        let kernel = Kernel::of(&tree.root(), absolute).unwrap_or_else(|error| panic!("{error}"));
        Self { tree, model, fast, walk, held_fast, held_walk, kernel }
    }

    fn poisoned() -> Self {
        Self::new(poison::build().unwrap_or_else(|error| panic!("{error}")), None, true)
    }

    fn generated(seed: u8) -> Self {
        let lines = lines(seed);
        let tree = Tree::build(&lines).unwrap_or_else(|error| panic!("{error}"));
        let model = Model::reading(&lines, &tree.base().to_string_lossy());
        Self::new(tree, Some(model), kernel::has_absolute_links(&lines))
    }
}

/// The lines of a tree that is made once.
fn lines(seed: u8) -> Vec<String> {
    // A linear congruential generator: any bytes will do, as long as they are the same each time.
    let mut state = u32::from(seed).wrapping_mul(2_654_435_761);
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    })
    .take(OBJECTS * 8)
    .collect();
    generate::tree(&mut Picks(&bytes), OBJECTS)
}

/// What an input means, as text.
pub(crate) fn print(input: &[u8]) -> String {
    let (first, picks) = input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
    let way = first / TREES % 3;
    match first % TREES {
        0 => format!("way {way}, the poison tree, {:?}", vocabulary::path(picks)),
        seed => {
            let (text, path) = generate::path(&mut Picks(picks), "$ROOT");
            format!("way {way}, {text:?} for {path:?} in {:#?}", lines(seed))
        }
    }
}

thread_local! {
    static STAGES: Vec<Arc<Stage>> = {
        privilege::drop_override();
        std::iter::once(Stage::poisoned()).chain((1..TREES).map(Stage::generated)).map(Arc::new).collect()
    };
}

/// One path on one stage.
struct Question {
    stage: Arc<Stage>,
    text: String,
    /// What the kernel says of a relative path that means the same.
    said: Option<Said>,
}

/// What comes back where there is no model.
#[derive(Debug, PartialEq)]
struct Answers {
    content: Result<Vec<u8>, Error>,
    kinds: [Result<(FileType, u64), Error>; 2],
    link: Result<PathBuf, Error>,
    names: Result<Vec<OsString>, Error>,
}

/// Panics if anything of the outside comes back, if an answer is not the model's, if the ways answer differently, or if the walk opens
/// something else than the kernel would.
pub fn check(input: &[u8]) {
    let (first, picks) = input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
    let question = Arc::new(Question::new(STAGES.with(|stages| Arc::clone(&stages[usize::from(first % TREES)])), picks));
    poison::bounded(|| ask(&question, first / TREES % 3));
}

fn ask(question: &Arc<Question>, way: u8) {
    let stage = &question.stage;
    let answers = match way {
        0 => question.ask(&stage.fast, None),
        1 => question.ask(&stage.walk, Some(&stage.held_walk)),
        _ => without::openat2({
            let question = Arc::clone(question);
            move || question.ask(&question.stage.fast, Some(&question.stage.held_fast))
        }),
    };
    if answers.is_some() {
        let other = if way == 0 { &stage.walk } else { &stage.fast };
        assert_eq!(answers, question.ask(other, None), "the ways disagree on {:?}", question.text);
    }
}

impl Question {
    fn new(stage: Arc<Stage>, picks: &[u8]) -> Self {
        let (text, path) = match &stage.model {
            None => (vocabulary::path(picks), None),
            Some(_) => {
                let (text, path) = generate::path(&mut Picks(picks), &stage.tree.root().to_string_lossy());
                (text, Some(path))
            }
        };
        let said = path.as_deref().or_else(|| kernel::relative(&text)).map(|path| stage.kernel.find(path));
        Self { stage, text, said }
    }

    /// `held`: roots to ask for handles as well.
    fn ask(&self, roots: &Roots, held: Option<&Roots>) -> Option<Answers> {
        let Self { stage, text, said } = self;
        if let (Some(held), Some(said)) = (held, said) {
            kernel::check(held, said, text);
        }
        if let Some(model) = &stage.model {
            agree::check(roots, model, 0, &stage.tree.base().to_string_lossy(), text);
            return None;
        }
        poison::probe(roots, &stage.tree, text);
        let kind = |metadata: Metadata| (metadata.file_type(), metadata.len());
        Some(Answers {
            content: roots.read(text),
            kinds: [roots.metadata(text).map(kind), roots.symlink_metadata(text).map(kind)],
            link: roots.read_link(text),
            names: names(roots, text),
        })
    }
}

fn names(roots: &Roots, path: &str) -> Result<Vec<OsString>, Error> {
    let mut names = roots.read_dir(path)?.map(|entry| Ok(entry?.name().to_owned())).collect::<Result<Vec<_>, Error>>()?;
    names.sort();
    Ok(names)
}
