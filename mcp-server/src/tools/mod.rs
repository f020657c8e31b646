//! The tools: one file each, and the one table that says which there are.
//!
//! Names, arguments and the shape of answers are those of the reference filesystem server, so that this one takes its place without a
//! change in prompts; the deliberate differences are in docs/migration.md. Descriptions are for a model that has to recover from errors.
//!
//! May touch: `arguments`, `context`, `work`.

mod advice;
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

use cap_roots::{Access, Operation, Result, RootInfo, Roots};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

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

const LIST_ALLOWED_DIRECTORIES: &str = allowed::LIST_ALLOWED_DIRECTORIES.name;

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
    /// Made once: answers that are not read yet share the schemas.
    described: Arc<[Tool]>,
}

/// The tools that read files, and those that list directories: resources give the same, so they go as far as these do.
pub(crate) const READING: &[&str] = &["read_text_file", "read_file", "read_multiple_files", "read_media_file"];
pub(crate) const LISTING: &[&str] = &["list_directory", "list_directory_with_sizes"];

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
        self.described.to_vec()
    }

    /// Whether what these tools do may be done in another way. What no directory allows is not for the operator's choice to refuse.
    ///
    /// # Errors
    /// `not-granted` where the operator has switched all of them off.
    pub(crate) fn allow(&self, tools: &[&str]) -> Result<()> {
        match tools.iter().find(|name| self.is_switched_off(name)) {
            Some(name) if !tools.iter().any(|name| self.has(name)) => Err(advice::switched_off(self, name)),
            _ => Ok(()),
        }
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
    let described = tools.iter().map(|(_, tool)| describe(tool)).collect();
    let indexes = |tools: Vec<(usize, _)>| tools.into_iter().map(|(index, _)| index).collect();
    Offered { tools: indexes(tools), switched_off: indexes(off), described }
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
    let tool = context.offered.tools().find(|tool| tool.name == name).ok_or_else(|| advice::not_offered(context, name))?;
    (tool.run)(&context.until_stopped(work), work, &Arguments(arguments)).map_err(|error| advice::of_any(context, error))
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

/// Where a program finds the notice of an answer that has one, whatever the tool.
const NOTICE_KEY: &str = "cap-roots/notice";

/// What stands between text and notice in the structured form, which has one field.
#[derive(Clone, Copy, Debug)]
enum Between {
    /// Lines that are read as they are: a client that shows that form alone must not take a part for the whole.
    Line,
    /// Parts with a mark between them: the notice is the last part, so that it is not taken for the end of a file.
    Part,
    /// What has a form of its own, such as the text of a file or JSON: it is that alone.
    Nothing,
}

/// An answer of lines, in both places where clients look.
fn answer(text: String, notice: Option<String>) -> CallToolResult {
    answer_with(text, notice, Between::Line)
}

/// An answer whose structured form is the text and nothing else.
fn answer_exact(text: String, notice: Option<String>) -> CallToolResult {
    answer_with(text, notice, Between::Nothing)
}

/// A notice is a block of its own, so that it is not taken for content, and stands in `_meta` by its key, so that it can be told from content.
fn answer_with(text: String, notice: Option<String>, between: Between) -> CallToolResult {
    let Some(notice) = notice else {
        let structured = json!({ "content": &text });
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = Some(structured);
        return result;
    };
    let structured = match between {
        Between::Line => json!({ "content": format!("{text}\n[{notice}]") }),
        Between::Part => json!({ "content": format!("{text}\n---\n[{notice}]") }),
        Between::Nothing => json!({ "content": &text }),
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text), ContentBlock::text(format!("[{notice}]"))]);
    result.structured_content = Some(structured);
    result.meta = Some(MetaObject(Map::from_iter([(NOTICE_KEY.to_owned(), Value::from(notice))])));
    result
}

/// The `path` argument of most tools.
fn path_property() -> Value {
    cap_roots_rmcp::path_schema("File or directory")
}
