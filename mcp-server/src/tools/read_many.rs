//! `read_multiple_files`.
//!
//! May touch: `arguments`, `context`, `page`, `work`.

use std::fmt::Write as _;

use cap_roots::{Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Between, Definition, Effect, advice, answer, answer_with, input, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::page::{self, Part};
use crate::work::Work;

/// Most paths in one call.
const PATHS: usize = 1_000;

pub(super) const READ_MULTIPLE_FILES: Definition = Definition {
    name: "read_multiple_files",
    title: "Read Multiple Files",
    description: "Reads several UTF-8 text files in one call. Each is given as its path, a colon and its text; the files are separated \
        by lines of ---. A file that cannot be read does not stop the others: its part says `Error -` and the code, with the meaning \
        that read_text_file gives it. All files together must fit into one answer; what does not fit is too-large.",
    operation: Operation::Open,
    effect: Effect::Reads,
    input: schema,
    output: text_output,
    run,
};

fn schema() -> Value {
    let paths = json!({
        "type": "array", "minItems": 1, "maxItems": PATHS, "items": { "type": "string" },
        "description": "Paths of the files, each in any of the forms that read_text_file takes"
    });
    input(json!({ "paths": paths }), &["paths"])
}

fn run(context: &Context, work: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let limit = context.limits.text_bytes;
    let mut text = String::new();
    let paths = arguments.texts("paths", PATHS)?;
    for (done, path) in paths.iter().enumerate() {
        work.check()?;
        // Labels and refusals count as well: nothing that a caller asks for makes an answer larger than the limit, but for its last part.
        let left = limit.saturating_sub(u64::try_from(text.len()).unwrap_or(u64::MAX));
        if left == 0 {
            let notice = format!("Cut at the limit of {limit} bytes; {} files are left out.", paths.len() - done);
            return Ok(answer_with(text, Some(notice), Between::Part));
        }
        if !text.is_empty() {
            text.push_str("\n---\n");
        }
        let label = context.label(path);
        let page = context.roots.open(path).and_then(|file| page::read(file, Part::Whole, left, work));
        let _ = match page {
            Ok(page) => write!(text, "{label}:\n{}\n", page.text),
            Err(error) => write!(text, "{label}: Error - {}", advice::of_any(context, error.about(label.clone()))),
        };
    }
    Ok(answer(text, None))
}
