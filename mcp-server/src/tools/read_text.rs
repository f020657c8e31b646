//! `read_text_file`, and `read_file`, its older name.
//!
//! May touch: `arguments`, `context`, `page`, `work`.

use cap_roots::{Error, Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer_exact, input, path_property, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::page::{self, Part};
use crate::work::Work;

pub(super) const READ_TEXT_FILE: Definition = Definition {
    name: "read_text_file",
    title: "Read Text File",
    description: "Reads a UTF-8 text file, whole or in part: `head` gives the first lines, `tail` the last ones, `offset` and `limit` \
        a page of lines (from 1). Use one of the three. Errors start with a code: not-found, list the parent directory to see the \
        names; too-large, read pages with offset and limit; not-utf8, use read_media_file; is-a-directory, use list_directory; \
        outside-roots, the path is not in an allowed directory (see list_allowed_directories) and cannot be read.",
    operation: Operation::Open,
    effect: Effect::Reads,
    input: schema,
    output: text_output,
    run,
};

pub(super) const READ_FILE: Definition = Definition {
    name: "read_file",
    title: "Read File (Deprecated)",
    description: "The older name of read_text_file, with the same arguments and errors. Prefer read_text_file.",
    ..READ_TEXT_FILE
};

fn schema() -> Value {
    let lines = |what: &str| json!({ "type": "integer", "minimum": 1, "description": what });
    input(
        json!({
            "path": path_property(),
            "head": lines("Only the first N lines"),
            "tail": lines("Only the last N lines"),
            "offset": lines("First line of the page, from 1"),
            "limit": lines("Most lines in the page"),
        }),
        &["path"],
    )
}

fn run(context: &Context, work: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let path = arguments.text("path")?;
    let part = part(arguments)?;
    let file = context.roots.open(path)?;
    let page = page::read(file, part, context.limits.text_bytes, work).map_err(|error| error.about(context.label(path)))?;
    Ok(answer_exact(page.text, page.notice))
}

fn part(arguments: &Arguments) -> Result<Part> {
    let [head, tail, offset, limit] = ["head", "tail", "offset", "limit"].map(|name| arguments.count(name));
    match (head?, tail?, offset?, limit?) {
        (None, None, None, None) => Ok(Part::Whole),
        (Some(lines), None, None, None) => Ok(Part::Head(lines)),
        (None, Some(lines), None, None) => Ok(Part::Tail(lines)),
        (None, None, offset, limit) => Ok(Part::Lines { offset: offset.unwrap_or(1), limit }),
        _ => Err(Error::invalid_argument("\"head\", \"tail\" and \"offset\" with \"limit\" exclude each other")
            .advise("give one of them")),
    }
}
