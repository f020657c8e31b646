//! `create_directory`.
//!
//! May touch: `arguments`, `context`, `work`.

use cap_roots::{ErrorKind, Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer, input, path_property, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::work::Work;

pub(super) const CREATE_DIRECTORY: Definition = Definition {
    name: "create_directory",
    title: "Create Directory",
    description: "Creates a directory and the missing ones above it; one that is there already is fine. Errors start with a code: \
        already-exists, something else has the name; not-a-directory, a name on the way is a file; not-granted or protected, the \
        operator does not allow it, so work elsewhere; outside-roots, see list_allowed_directories.",
    operation: Operation::CreateDirAll,
    effect: Effect::Makes,
    input: schema,
    output: text_output,
    run,
};

fn schema() -> Value {
    input(json!({ "path": path_property() }), &["path"])
}

fn run(context: &Context, _: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let path = arguments.text("path")?;
    context.roots.create_dir_all(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => error.advise("something that is no directory has this name; choose another one"),
        _ => error,
    })?;
    Ok(answer(format!("Successfully created directory {}", context.label(path)), None))
}
