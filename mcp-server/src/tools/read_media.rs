//! `read_media_file`.
//!
//! May touch: `arguments`, `context`, `work`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cap_roots::{Error, Operation, Result};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use super::{DRAFT, Definition, Effect, input, path_property};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::work::Work;

pub(super) const READ_MEDIA_FILE: Definition = Definition {
    name: "read_media_file",
    title: "Read Media File",
    description: "Reads a file of any kind as base64: images and sound as image and audio content, anything else as an embedded \
        resource with its MIME type. For text use read_text_file, which costs less. Errors start with a code: too-large, the file is \
        over the operator's limit and cannot be read this way; the others as in read_text_file.",
    operation: Operation::Open,
    effect: Effect::Reads,
    input: schema,
    output: output_schema,
    run,
};

fn schema() -> Value {
    input(json!({ "path": path_property() }), &["path"])
}

fn output_schema() -> Value {
    let text = || json!({ "type": "string" });
    let media = json!({
        "type": "object",
        "properties": { "type": { "type": "string", "enum": ["image", "audio"] }, "data": text(), "mimeType": text() },
        "required": ["type", "data", "mimeType"], "additionalProperties": false
    });
    let contents = json!({
        "type": "object", "properties": { "uri": text(), "mimeType": text(), "blob": text() },
        "required": ["uri", "blob"], "additionalProperties": false
    });
    let resource = json!({
        "type": "object", "properties": { "type": { "type": "string", "const": "resource" }, "resource": contents },
        "required": ["type", "resource"], "additionalProperties": false
    });
    json!({
        "$schema": DRAFT, "type": "object",
        "properties": { "content": { "type": "array", "items": { "anyOf": [media, resource] } } },
        "required": ["content"], "additionalProperties": false
    })
}

fn run(context: &Context, _: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let path = arguments.text("path")?;
    let limit = context.limits.media_bytes;
    let bytes = context.roots.open(path)?.read_all(limit).map_err(|error: Error| error.about(context.label(path)))?;
    let data = STANDARD.encode(bytes);
    let mime = mime_guess::from_path(path).first_or_octet_stream();
    let block = match mime.type_().as_str() {
        "image" => ContentBlock::image(data, mime.essence_str()),
        "audio" => ContentBlock::audio(data, mime.essence_str()),
        _ => ContentBlock::resource(ResourceContents::BlobResourceContents {
            uri: context.roots.uri(path)?,
            mime_type: Some(mime.essence_str().to_owned()),
            blob: data,
            meta: None,
        }),
    };
    let structured = json!({ "content": [&block] });
    let mut result = CallToolResult::success(vec![block]);
    result.structured_content = Some(structured);
    Ok(result)
}
