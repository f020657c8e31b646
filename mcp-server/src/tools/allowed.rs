//! `list_allowed_directories`.
//!
//! May touch: `arguments`, `context`, `work`.

use cap_roots::{ErrorKind, Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer, input, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::work::Work;

pub(super) const LIST_ALLOWED_DIRECTORIES: Definition = Definition {
    name: "list_allowed_directories",
    title: "List Allowed Directories",
    description: "Lists the directories that can be used, one a line. Everything below them can be used too, and nothing else. Paths that \
        are not absolute start at the first one.",
    operation: Operation::Metadata,
    effect: Effect::Reads,
    input: schema,
    output: text_output,
    run,
};

fn schema() -> Value {
    let mut schema = input(json!({}), &[]);
    if let Some(object) = schema.as_object_mut() {
        object.remove("required");
    }
    schema
}

fn run(context: &Context, _: &Work, _: &Arguments) -> Result<CallToolResult> {
    let mut lines = vec!["Allowed directories:".to_owned()];
    let (mut absent, mut expired) = (Vec::new(), Vec::new());
    for root in context.roots.list() {
        // The one answer that tells host paths, to whoever the operator lets use them.
        let line = if context.hide_host_paths { root.uri() } else { root.host_path().display().to_string() };
        let state = context.roots.explain(root.uri(), Operation::Metadata).verdict();
        if state == Err(ErrorKind::Expired) {
            expired.push(line);
        } else if root.is_absent() {
            absent.push(line);
        } else {
            lines.push(line);
        }
    }
    if lines.len() == 1 && absent.is_empty() && expired.is_empty() {
        return Err(ErrorKind::NoRoots.into());
    }
    let told = |why: &str, roots: Vec<String>| (!roots.is_empty()).then(|| format!("{why}: {}", roots.join(", ")));
    let notices = [told("Missing now", absent), told("Expired, until the operator grants them again", expired)];
    let notice = notices.into_iter().flatten().reduce(|one, other| format!("{one}; {other}"));
    Ok(answer(lines.join("\n"), notice))
}
