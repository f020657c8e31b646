//! `get_file_info`.
//!
//! May touch: `arguments`, `context`, `work`.

use std::time::SystemTime;

use cap_roots::{Metadata, Operation, Result};
use jiff::Timestamp;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer, input, path_property, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::work::Work;

pub(super) const GET_FILE_INFO: Definition = Definition {
    name: "get_file_info",
    title: "Get File Info",
    description: "Tells size in bytes, times, type and permission bits of a file or directory without reading it. A link is followed as \
        long as it stays inside. Errors start with a code: not-found, list the parent directory; outside-roots, see \
        list_allowed_directories.",
    operation: Operation::Metadata,
    effect: Effect::Reads,
    input: schema,
    output: text_output,
    run,
};

fn schema() -> Value {
    input(json!({ "path": path_property() }), &["path"])
}

fn run(context: &Context, _: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let metadata = context.roots.metadata(arguments.text("path")?)?;
    let lines = [
        format!("size: {}", metadata.len()),
        format!("created: {}", time(metadata.created())),
        format!("modified: {}", time(metadata.modified())),
        format!("accessed: {}", time(metadata.accessed())),
        format!("isDirectory: {}", metadata.is_dir()),
        format!("isFile: {}", metadata.is_file()),
        format!("permissions: {}", permissions(&metadata)),
    ];
    Ok(answer(lines.join("\n"), None))
}

/// A time in the form that the reference server's dates have, always in UTC.
fn time(time: Option<SystemTime>) -> String {
    match time.and_then(|time| Timestamp::try_from(time).ok()) {
        Some(time) => time.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)").to_string(),
        None => "unknown".to_owned(),
    }
}

#[cfg(unix)]
fn permissions(metadata: &Metadata) -> String {
    format!("{:03o}", metadata.mode() & 0o777)
}

#[cfg(not(unix))]
fn permissions(metadata: &Metadata) -> String {
    if metadata.is_readonly() { "444" } else { "666" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_utc() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_041_817);
        assert_eq!(time(Some(at)), "Mon Nov 30 2026 12:30:17 GMT+0000 (Coordinated Universal Time)");
        assert_eq!(time(None), "unknown");
    }
}
