//! `move_file` and `copy_file`.
//!
//! May touch: `arguments`, `context`, `work`.

use cap_roots::{Error, ErrorKind, Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer, input, path_property, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::work::Work;

pub(super) const MOVE_FILE: Definition = Definition {
    name: "move_file",
    title: "Move File",
    description: "Moves or renames a file, a directory with all that is in it, or a link itself. Nothing is replaced. Errors start with a \
        code and name the path they are about: already-exists, choose another destination; not-found, the source, or a directory on \
        the way to the destination, is missing; not-granted or protected, the operator does not allow it at one of the two; \
        cross-root, move within one allowed directory, or copy and delete; unsupported, the two are on different disks, so copy and \
        delete; outside-roots, see list_allowed_directories.",
    operation: Operation::Rename,
    effect: Effect::Changes,
    input: schema,
    output: text_output,
    run: rename,
};

pub(super) const COPY_FILE: Definition = Definition {
    name: "copy_file",
    title: "Copy File",
    description: "Copies a file, or a directory with all that is in it, as a whole or not at all. Nothing is replaced; links, pipes and devices \
        in a directory are skipped and counted. Errors start with a code and name the path they are about: protected, the directory \
        has something in it that the operator protects, so copy its other parts one by one; limit, the directory is too large for one \
        call; the others as in move_file.",
    operation: Operation::Copy,
    effect: Effect::Adds,
    run: copy,
    ..MOVE_FILE
};

fn schema() -> Value {
    input(json!({ "source": path_property(), "destination": path_property() }), &["source", "destination"])
}

fn rename(context: &Context, _: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let (source, destination) = (arguments.text("source")?, arguments.text("destination")?);
    context.roots.rename(source, destination).map_err(from_one_to_another)?;
    Ok(answer(format!("Successfully moved {} to {}", context.label(source), context.label(destination)), None))
}

fn copy(context: &Context, _: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let (source, destination) = (arguments.text("source")?, arguments.text("destination")?);
    let copied = context.roots.copy(source, destination).map_err(from_one_to_another)?;
    let counts = format!("files: {}, directories: {}, skipped: {}", copied.files, copied.dirs, copied.skipped);
    let said = format!("Successfully copied {} to {} ({counts})", context.label(source), context.label(destination));
    const SKIPPED: &str =
        "Links, pipes, sockets, devices and, with --one-file-system, what lies on another mount are skipped, not copied.";
    let notice = (copied.skipped > 0).then(|| SKIPPED.to_owned());
    Ok(answer(said, notice))
}

/// What is missing may be the source, or the directory that the destination is to be in; the refusal names which.
fn from_one_to_another(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => error.advise(
            "list the directory of the source to see its names; create_directory makes a missing one for the destination",
        ),
        ErrorKind::AlreadyExists => {
            error.advise("choose another destination; to go into a directory that is there, give the new name below it: DIR/NAME")
        }
        _ => error,
    }
}
