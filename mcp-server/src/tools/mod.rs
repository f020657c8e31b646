//! The tools: one file each, and the one table that says which there are.
//!
//! Names, arguments and the shape of answers are those of the reference filesystem server, so that this one takes its place without a
//! change in prompts; the deliberate differences are in docs/migration.md. Descriptions are for a model that has to recover from errors.

mod allowed;
mod chosen;
mod delete;
mod edit;
mod info;
mod list;
mod make;
mod read_many;
mod read_media;
mod read_text;
mod search;
mod search_contents;
mod transfer;
mod tree;
mod write;

use std::sync::Arc;

use cap_roots::{Access, Error, ErrorKind, Operation, Result, RootInfo, Roots};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::context::Context;
use crate::work::Work;

pub(crate) use chosen::Chosen;

/// What calling a tool does to files: the hints that it is described with, as the reference server gives them for its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Nothing.
    Reads,
    /// Makes what is missing, and leaves what is there.
    Makes,
    /// Adds something each time, and leaves what is there.
    Adds,
    /// Puts something in the place of what is there, the same each time.
    Replaces,
    /// Changes what is there.
    Changes,
    /// Takes names away: only where a grant allows that too.
    Deletes,
}

impl Effect {
    fn hints(self) -> ToolAnnotations {
        let hints = ToolAnnotations::new().read_only(self == Effect::Reads).open_world(false);
        let (idempotent, destructive) = match self {
            Effect::Reads => return hints,
            Effect::Makes => (true, false),
            Effect::Adds => (false, false),
            Effect::Replaces => (true, true),
            Effect::Changes | Effect::Deletes => (false, true),
        };
        hints.idempotent(idempotent).destructive(destructive)
    }
}

/// A tool, as data.
struct Definition {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// What some root must allow, where the operation ends, for the tool to be offered.
    operation: Operation,
    effect: Effect,
    input: fn() -> Value,
    output: fn() -> Value,
    run: fn(&Context, &Work, &Arguments) -> Result<CallToolResult>,
}

const TOOLS: &[Definition] = &[
    read_text::READ_FILE,
    read_text::READ_TEXT_FILE,
    read_media::READ_MEDIA_FILE,
    read_many::READ_MULTIPLE_FILES,
    list::LIST_DIRECTORY,
    list::LIST_DIRECTORY_WITH_SIZES,
    tree::DIRECTORY_TREE,
    search::SEARCH_FILES,
    search_contents::SEARCH_FILE_CONTENTS,
    write::WRITE_FILE,
    edit::EDIT_FILE,
    write::APPEND_FILE,
    make::CREATE_DIRECTORY,
    transfer::MOVE_FILE,
    transfer::COPY_FILE,
    delete::DELETE_FILE,
    delete::DELETE_DIRECTORY,
    info::GET_FILE_INFO,
    allowed::LIST_ALLOWED_DIRECTORIES,
];

/// The tools that there are, by their index.
#[derive(Clone, Debug)]
pub(crate) struct Offered {
    tools: Arc<[usize]>,
    /// What the roots would allow, and the operator has not chosen.
    switched_off: Arc<[usize]>,
}

impl Offered {
    fn tools(&self) -> impl Iterator<Item = &'static Definition> {
        self.tools.iter().filter_map(|index| TOOLS.get(*index))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    fn is_switched_off(&self, name: &str) -> bool {
        self.switched_off.iter().filter_map(|index| TOOLS.get(*index)).any(|tool| tool.name == name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools().any(|tool| tool.name == name)
    }

    /// For `tools/list`.
    pub(crate) fn describe(&self) -> Vec<Tool> {
        self.tools().map(describe).collect()
    }
}

/// The tools that the operator has chosen and the roots' access allows. Where there is no root, those for what one might have, so that a call can say what to do.
pub(crate) fn offered(roots: &Roots, most: Access, may_delete: bool, chosen: &Chosen) -> Offered {
    let none = roots.list().next().is_none();
    let is_offered = |tool: &Definition| {
        let needed = tool.operation.needs_at_target().unwrap_or(tool.operation.needs());
        let deletes = tool.effect == Effect::Deletes;
        let allows = |root: RootInfo| root.access() >= needed && (!deletes || root.may_delete());
        (none && most >= needed && (!deletes || may_delete)) || roots.list().any(allows)
    };
    let allowed = TOOLS.iter().enumerate().filter(|(_, tool)| is_offered(tool));
    let (tools, off): (Vec<_>, Vec<_>) = allowed.partition(|(_, tool)| chosen.has(tool.name));
    let indexes = |tools: Vec<(usize, _)>| tools.into_iter().map(|(index, _)| index).collect();
    Offered { tools: indexes(tools), switched_off: indexes(off) }
}

/// Whether a call of this tool may leave something changed even if it was stopped.
pub(crate) fn changes_files(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.name == name && tool.effect != Effect::Reads)
}

/// Whether a call walks a tree or a file of any size, so that short ones must not wait behind it.
pub(crate) fn is_long(name: &str, arguments: Option<&JsonObject>) -> bool {
    let walking = [
        tree::DIRECTORY_TREE,
        search::SEARCH_FILES,
        search_contents::SEARCH_FILE_CONTENTS,
        delete::DELETE_DIRECTORY,
        transfer::COPY_FILE,
    ];
    let walks = walking.iter().any(|tool| tool.name == name);
    // Lines are counted from the start of the file.
    let counts = arguments.is_some_and(|arguments| arguments.get("offset").is_some_and(|offset| !offset.is_null()));
    walks || counts
}

fn describe(tool: &Definition) -> Tool {
    let mut described = Tool::new(tool.name, tool.description, object((tool.input)()));
    described.title = Some(tool.title.to_owned());
    described.output_schema = Some(object((tool.output)()));
    described.annotations = Some(tool.effect.hints());
    described
}

fn object(schema: Value) -> Arc<JsonObject> {
    Arc::new(match schema {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    })
}

/// Runs a tool. Blocks on the disk, so it belongs on a thread that may block.
pub(crate) fn call(context: &Context, work: &Work, name: &str, arguments: JsonObject) -> Result<CallToolResult> {
    let tool = context.offered.tools().find(|tool| tool.name == name).ok_or_else(|| not_offered(context, name))?;
    (tool.run)(&context.until_stopped(work), work, &Arguments(arguments))
}

/// Why there is no such tool: nothing allows it here, or it is none of ours.
fn not_offered(context: &Context, name: &str) -> Error {
    let names: Vec<_> = context.offered.tools().map(|tool| tool.name).collect();
    let names = names.join(", ");
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        return Error::invalid_argument(format!("there is no tool {name:?}; the tools are {names}")).advise("call one of them");
    };
    if context.offered.is_switched_off(name) {
        let why = format!("the operator has switched {name} off; the tools are {names}");
        return Error::not_granted(why).advise("call one of them");
    }
    let needed = tool.operation.needs_at_target().unwrap_or(tool.operation.needs());
    let is_short_of_access = !context.roots.list().any(|root| root.access() >= needed);
    Error::not_granted(format!("no directory allows {name}; the tools are {names}")).advise(match needed {
        _ if !is_short_of_access => {
            "call one of them, or ask the operator to allow deletion (--no-delete, or no_delete in the configuration, forbids it)"
        }
        Access::Write => "call one of them, or ask the operator for a directory that may be written (--rw DIR)",
        _ => "call one of them, or ask the operator for more access",
    })
}

/// A schema of an object with these properties. Unknown arguments are allowed, and ignored.
fn input(properties: Value, required: &[&str]) -> Value {
    json!({ "$schema": DRAFT, "type": "object", "properties": properties, "required": required })
}

/// The schema of every answer that is text: `{"content": TEXT}`.
fn text_output() -> Value {
    json!({
        "$schema": DRAFT, "type": "object", "properties": { "content": { "type": "string" } },
        "required": ["content"], "additionalProperties": false
    })
}

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// An answer of text, in both places where clients look. A notice is a block of its own, so that it is not taken for content; in the
/// structured form, which has one field, it is the last line, so that a client that shows that form alone shows it too.
fn answer(text: String, notice: Option<String>) -> CallToolResult {
    let Some(notice) = notice.map(|notice| format!("[{notice}]")) else {
        let structured = json!({ "content": &text });
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = Some(structured);
        return result;
    };
    let structured = json!({ "content": format!("{text}\n{notice}") });
    let mut result = CallToolResult::success(vec![ContentBlock::text(text), ContentBlock::text(notice)]);
    result.structured_content = Some(structured);
    result
}

/// As [`answer`], for text that is JSON: its structured form is that alone, so that it stays JSON. It says itself what is missing.
fn answer_json(text: String, notice: Option<String>) -> CallToolResult {
    let structured = json!({ "content": &text });
    let mut result = answer(text, notice);
    result.structured_content = Some(structured);
    result
}

/// The `path` argument of most tools.
fn path_property() -> Value {
    cap_roots_rmcp::path_schema("File or directory")
}

/// A refusal, advising whoever wanted to write: some of what the library advises is for readers.
fn to_write(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => error.advise("check its directory; create_directory makes a missing one"),
        ErrorKind::TooLarge => error.advise("write less: files of this size are not taken"),
        _ => error,
    }
}
