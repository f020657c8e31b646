//! `edit_file`.

use std::time::{Duration, Instant};

use cap_roots::{Error, ErrorKind, Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer, input, path_property, text_output, to_write};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::edit::{Edit, apply, unified_diff};
use crate::work::Work;

/// Largest file after an edit; the library reads no larger one whole.
const FILE_BYTES: u32 = 64 << 20;
/// How long the search for the smallest diff may take: less than what a call that is over its time is waited for, since by then the edit
/// is in the file.
const DIFF_TIME: Duration = Duration::from_millis(400);

pub(super) const EDIT_FILE: Definition = Definition {
    name: "edit_file",
    title: "Edit File",
    description: "Replaces text in a UTF-8 file, and answers with the change as a diff. Each edit replaces `oldText`, copied exactly from the \
        file with its spaces and line breaks, by `newText`; it must fit in one place, unless `replaceAll` is true. Edits are made one \
        after the other, all or none, and edits of one file by several calls at once all count. Line endings stay as the file has \
        them. `dryRun` shows the diff and changes nothing. Errors start with a code: no-match, says what differs, so read the file \
        again; ambiguous, give more text around the place, or replaceAll; not-utf8, it is no text; not-found, write_file creates; \
        not-granted or protected, the operator does not allow it; conflict, another program changed the file just now, read it again.",
    operation: Operation::Update,
    effect: Effect::Changes,
    input: schema,
    output: text_output,
    run,
};

fn schema() -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let flag = |what: &str| json!({ "type": "boolean", "default": false, "description": what });
    let edit = json!({
        "type": "object",
        "properties": {
            "oldText": text("Text that is in the file, to the character"),
            "newText": text("Text to put in its place, taken as it is"),
            "replaceAll": flag("Replace it in every place instead of in exactly one"),
        },
        "required": ["oldText", "newText"]
    });
    let edits = json!({ "type": "array", "items": edit, "description": "Made in this order, all or none" });
    let dry_run = flag("Show the diff and change nothing");
    input(json!({ "path": path_property(), "edits": edits, "dryRun": dry_run }), &["path", "edits"])
}

fn run(context: &Context, work: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let path = arguments.text("path")?;
    let edits = arguments.objects("edits")?.iter().map(edit).collect::<Result<Vec<_>>>()?;
    let (old, new) = if arguments.flag("dryRun")? || edits.is_empty() {
        preview(context, work, path, &edits)?
    } else {
        change(context, work, path, &edits)?
    };
    let limit = usize::try_from(context.limits.text_bytes).unwrap_or(usize::MAX);
    Ok(answer(unified_diff(&context.label(path), &old, &new, limit, Instant::now() + DIFF_TIME), None))
}

fn edit(edit: &Arguments) -> Result<Edit> {
    let text = |name| edit.text(name).map(str::to_owned);
    Ok(Edit { old: text("oldText")?, new: text("newText")?, all: edit.flag("replaceAll")? })
}

/// The text before and after, which is in the file now.
fn change(context: &Context, work: &Work, path: &str, edits: &[Edit]) -> Result<(String, String)> {
    let mut change = (String::new(), String::new());
    let done = context.roots.update(path, |bytes| {
        change = edited(bytes, edits, work)?;
        Ok(change.1.clone().into_bytes())
    });
    done.map_err(to_write)?;
    Ok(change)
}

/// The same without the change: all that it would need is asked for, and then it is given up. Refused exactly where the change would be.
fn preview(context: &Context, work: &Work, path: &str, edits: &[Edit]) -> Result<(String, String)> {
    let mut seen = None;
    let given_up = context.roots.update(path, |bytes| {
        seen = Some(edited(bytes, edits, work)?);
        Err(ErrorKind::Cancelled.into())
    });
    match seen {
        Some(seen) => Ok(seen),
        None => given_up.map(|()| Default::default()).map_err(to_write),
    }
}

fn edited(bytes: Vec<u8>, edits: &[Edit], work: &Work) -> Result<(String, String)> {
    let not_text = |_| Error::from(ErrorKind::NotUtf8).advise("only text is edited; read_media_file shows its bytes");
    let old = String::from_utf8(bytes).map_err(not_text)?;
    let new = apply(&old, edits, usize::try_from(FILE_BYTES).unwrap_or(usize::MAX), work)?;
    Ok((old, new))
}
