//! `delete_file` and `delete_directory`.
//!
//! May touch: `arguments`, `context`, `work`.

use cap_roots::{Error, ErrorKind, Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer, input, path_property, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::work::Work;

pub(super) const DELETE_FILE: Definition = Definition {
    name: "delete_file",
    title: "Delete File",
    description: "Deletes a file for good, or a link itself and not what it leads to. Errors start with a code: is-a-directory, use \
        delete_directory; not-found, it is gone already or has another name; not-granted or protected, the operator does not allow \
        it, so leave it; outside-roots, see list_allowed_directories.",
    operation: Operation::RemoveFile,
    effect: Effect::Deletes,
    input: file_schema,
    output: text_output,
    run: delete_file,
};

pub(super) const DELETE_DIRECTORY: Definition = Definition {
    name: "delete_directory",
    title: "Delete Directory",
    description: "Deletes an empty directory for good; with `recursive`, everything in it too, but nothing that links in it lead to. Errors \
        start with a code: not-empty, list it, and give recursive only if all of it may go; protected, it has something in it that \
        the operator protects, and nothing was deleted; not-a-directory, use delete_file; the others as in delete_file. A call that \
        was stopped half-way leaves the rest: list it before repeating.",
    operation: Operation::RemoveDir,
    input: directory_schema,
    run: delete_directory,
    ..DELETE_FILE
};

fn file_schema() -> Value {
    input(json!({ "path": path_property() }), &["path"])
}

fn directory_schema() -> Value {
    let recursive = json!({ "type": "boolean", "default": false, "description": "Delete everything in it as well" });
    input(json!({ "path": path_property(), "recursive": recursive }), &["path"])
}

fn delete_file(context: &Context, _: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let path = arguments.text("path")?;
    context.roots.remove_file(path).map_err(|error| match error.kind() {
        ErrorKind::IsADirectory => error.advise("use delete_directory"),
        _ => error,
    })?;
    Ok(answer(format!("Successfully deleted {}", context.label(path)), None))
}

fn delete_directory(context: &Context, _: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let path = arguments.text("path")?;
    let recursive = arguments.flag("recursive")?;
    // The library would remove the link itself; who asks for a directory does not mean that.
    let is_link = recursive
        && match context.roots.symlink_metadata(path) {
            Ok(metadata) => metadata.is_symlink(),
            // Not looked at, it is not known to be none.
            Err(error) if error.kind() == ErrorKind::Busy => return Err(error),
            Err(_) => false,
        };
    if is_link {
        let refusal = Error::from(ErrorKind::NotADirectory)
            .advise("it is a link: delete_file deletes the link and leaves what it leads to");
        return Err(refusal.about(context.label(path)));
    }
    let done = match recursive {
        true => context.roots.remove_dir_all(path),
        false => context.roots.remove_dir(path),
    };
    done.map_err(|error| match error.kind() {
        ErrorKind::NotADirectory => error.advise("use delete_file for what is no directory"),
        ErrorKind::NotEmpty => error.advise("list it, and give recursive: true only if all of it may go"),
        _ => error,
    })?;
    Ok(answer(format!("Successfully deleted directory {}", context.label(path)), None))
}
