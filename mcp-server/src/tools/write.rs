//! `write_file` and `append_file`.
//!
//! May touch: `arguments`, `context`, `work`.

use cap_roots::{Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::advice::to_write;
use super::{Definition, Effect, answer, input, path_property, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::work::Work;

pub(super) const WRITE_FILE: Definition = Definition {
    name: "write_file",
    title: "Write File",
    description: "Writes `content` as UTF-8 to a file: creates it, or replaces all that is in it, as a whole or not at all. To change a part \
        use edit_file. A link is followed as long as it stays inside. Errors start with a code: not-found, a directory on the way is \
        missing, make it with create_directory; is-a-directory, name a file in it; not-granted or protected, the operator does not \
        allow it, so work elsewhere; conflict, another program changed the file just now, read it again; outside-roots, see \
        list_allowed_directories. After any error the old content is still there. \
        Content of many megabytes is better added in parts, with append_file.",
    operation: Operation::Write,
    effect: Effect::Replaces,
    input: schema,
    output: text_output,
    run: write,
};

pub(super) const APPEND_FILE: Definition = Definition {
    name: "append_file",
    title: "Append to File",
    description: "Adds `content` as UTF-8 to the end of a file, or creates it; no line end is put in between. Errors start with a code: \
        hard-linked, the file has a second name that would change with it, so read it and use write_file; the others as in write_file.",
    operation: Operation::Append,
    effect: Effect::Adds,
    run: append,
    ..WRITE_FILE
};

fn schema() -> Value {
    let content = json!({ "type": "string", "description": "The text, taken as it is" });
    input(json!({ "path": path_property(), "content": content }), &["path", "content"])
}

fn write(context: &Context, _: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let (path, content) = (arguments.text("path")?, arguments.text("content")?);
    context.roots.write(path, content).map_err(to_write)?;
    Ok(answer(format!("Successfully wrote to {}", context.label(path)), None))
}

fn append(context: &Context, _: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let (path, content) = (arguments.text("path")?, arguments.text("content")?);
    context.roots.append(path, content).map_err(to_write)?;
    Ok(answer(format!("Successfully appended to {}", context.label(path)), None))
}
