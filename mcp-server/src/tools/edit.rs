//! `edit_file`.
//!
//! May touch: `arguments`, `context`, `edit`, `work`.

use std::time::{Duration, Instant};

use cap_roots::{Error, ErrorKind, Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::advice::to_change;
use super::{Definition, Effect, answer, input, path_property, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::edit::{Edit, Edited, apply, unified_diff};
use crate::work::Work;

/// Largest file after an edit; the library reads no larger one whole.
const FILE_BYTES: u32 = 64 << 20;
/// Most edits that are named because they change nothing.
const NAMED: usize = 20;
/// How long the search for the smallest diff may take: less than what a call that is over its time is waited for, since by then the edit
/// is in the file.
const DIFF_TIME: Duration = Duration::from_millis(400);

pub(super) const EDIT_FILE: Definition = Definition {
    name: "edit_file",
    title: "Edit File",
    description: "Replaces text in a UTF-8 file, and answers with the change as a diff. Each edit replaces `oldText`, copied exactly from the \
        file with its spaces and line breaks, by `newText`; it must fit in one place, unless `replaceAll` is true. Edits are made one \
        after the other, all or none, and edits of one file by several calls at once all count; one that changes nothing is told. Line endings stay as the file has \
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
    let edits = edits(arguments)?;
    let (old, edited) = change(context, work, path, &edits, arguments.flag("dryRun")?)?;
    let limit = usize::try_from(context.limits.text_bytes).unwrap_or(usize::MAX);
    let diff = unified_diff(&context.label(path), &old, &edited.text, limit, Instant::now() + DIFF_TIME);
    Ok(answer(diff, idle(&edited, edits.len())))
}

fn edits(arguments: &Arguments) -> Result<Vec<Edit>> {
    let beside = arguments.is_given("oldText") || arguments.is_given("newText");
    let edits = if beside && !arguments.is_given("edits") { Vec::new() } else { arguments.objects("edits")? };
    if beside && edits.is_empty() {
        let wrong = Error::invalid_argument("\"oldText\" and \"newText\" belong in \"edits\", a list, and there is none");
        return Err(wrong.advise("give \"edits\": [{\"oldText\": \"...\", \"newText\": \"...\"}]"));
    }
    edits.iter().map(edit).collect()
}

/// A sentence on edits that changed nothing.
fn idle(edited: &Edited, count: usize) -> Option<String> {
    let numbers: Vec<_> = edited.idle.iter().take(NAMED).map(usize::to_string).collect();
    let more = edited.idle.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let why = "its new text is the old one, or differs only in line endings or the byte order mark, which stay as they are";
    match edited.idle.len() {
        0 => None,
        1 if count == 1 => Some(format!("The edit changes nothing: {why}.")),
        _ => Some(format!("Of {count} edits these change nothing: {}{more}. Of each, {why}.", numbers.join(", "))),
    }
}

fn edit(edit: &Arguments) -> Result<Edit> {
    let text = |name| edit.text(name).map(str::to_owned);
    Ok(Edit { old: text("oldText")?, new: text("newText")?, all: edit.flag("replaceAll")? })
}

/// The text before and after, which is in the file now. `only_look`: all that the change needs is asked for, and then it is given up, so that it
/// is refused exactly where the change would be. So is one that changes nothing: the file keeps its time.
fn change(context: &Context, work: &Work, path: &str, edits: &[Edit], only_look: bool) -> Result<(String, Edited)> {
    let mut change = (String::new(), Edited::default());
    let mut given_up = false;
    let done = context.roots.update(path, |bytes| {
        change = edited(bytes, edits, work)?;
        given_up = only_look || change.0 == change.1.text;
        if given_up { Err(ErrorKind::Cancelled.into()) } else { Ok(change.1.text.clone().into_bytes()) }
    });
    match done {
        Err(_) if given_up => Ok(change),
        done => done.map(|()| change).map_err(to_change),
    }
}

fn edited(bytes: Vec<u8>, edits: &[Edit], work: &Work) -> Result<(String, Edited)> {
    let not_text = |_| Error::from(ErrorKind::NotUtf8).advise("only text is edited; read_media_file shows its bytes");
    let old = String::from_utf8(bytes).map_err(not_text)?;
    let edited = apply(&old, edits, usize::try_from(FILE_BYTES).unwrap_or(usize::MAX), work)?;
    Ok((old, edited))
}
