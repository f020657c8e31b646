//! `directory_tree`.
//!
//! May touch: `arguments`, `context`, `walk`, `work`.

mod outline;

use cap_roots::{FileType, Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer_exact, input, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::walk::{Anchor, Ask, Cut, Found, Step, Walking, properties};
use crate::work::Work;
use outline::Tree;

pub(super) const DIRECTORY_TREE: Definition = Definition {
    name: "directory_tree",
    title: "Directory Tree",
    description: "Gives a directory and all that is in it as JSON: each entry has `name` and `type` (file, directory, symlink, special), \
        a directory also `children`, sorted by name. `excludePatterns` leaves out names at any depth, or, with a `*`, paths from here on; \
        `maxDepth` goes less deep. Links are not followed. A directory with `cut` was not gone into: depth, ask for it by its own path; \
        unreadable, leave it. An answer that is too long ends with an entry of type `cut`: repeat the call with its `cursor`, and \
        entries that are only `continued` were given before. Errors start with a code: not-found, list the parent; not-a-directory, read it \
        instead; stale-cursor, repeat the call without cursor; invalid-argument, correct the glob; outside-roots, see \
        list_allowed_directories.",
    operation: Operation::Walk,
    effect: Effect::Reads,
    input: schema,
    output: text_output,
    run,
};

fn schema() -> Value {
    input(properties(json!({})), &["path"])
}

fn kind(found: &Found) -> &'static str {
    match found.entry().file_type() {
        FileType::Dir => "directory",
        FileType::File => "file",
        FileType::Symlink => "symlink",
        _ => "special",
    }
}

fn run(context: &Context, work: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let ask = Ask::read(context, DIRECTORY_TREE.name, arguments, Anchor::WithoutStarFloats)?;
    let limits = context.limits;
    let mut walking = Walking::start(context, work, ask)?;
    let mut tree = Tree::new(usize::try_from(limits.text_bytes).unwrap_or(usize::MAX));
    while let Some(step) = walking.next()? {
        let found = match step {
            Step::Unreadable => {
                tree.mark("unreadable");
                continue;
            }
            Step::Entry(found) => found,
        };
        if tree.entries() >= limits.entries {
            walking.end(Cut::Entries(limits.entries));
            break;
        }
        let cut = (found.is_dir() && walking.is_deepest(&found)).then_some("depth");
        let name = |depth| walking.name(depth);
        if !tree.add(found.depth(), name, kind(&found), found.is_dir(), cut, walking.cursor_bytes()) {
            walking.end(Cut::Bytes(limits.text_bytes));
            break;
        }
    }
    let report = walking.report();
    let text = tree.finish(report.why_cut().map(|(cut, cursor)| (cut.word(), cursor)));
    Ok(answer_exact(text, report.notice(None)))
}
