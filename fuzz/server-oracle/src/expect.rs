//! What a line has to be answered with: a reading of JSON-RPC 2.0 of its own, as loose as it must be and no looser.

use serde_json::Value;

/// What a line has to be answered with.
#[derive(Debug)]
pub(crate) enum Expected {
    /// Nothing. With the id of a request that it withdraws, which need not be answered any more.
    Silence(Option<Value>),
    /// One answer with this id.
    Answer(Value),
    /// One error, with the id of the line or without one.
    Fault(Option<Value>),
    /// A line that can be read in more than one way: at most one answer, with its id or without one.
    Either(Option<Value>),
}

pub(crate) fn lines(lines: &[u8]) -> Vec<Expected> {
    let mut all: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').collect();
    // The last line needs no end, and is none where it is empty.
    if all.last().is_some_and(|line| line.is_empty()) {
        all.pop();
    }
    all.into_iter().map(line).collect()
}

fn line(line: &[u8]) -> Expected {
    let Ok(text) = std::str::from_utf8(line) else { return Expected::Fault(None) };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_matches(|c: char| c.is_ascii_whitespace());
    if text.is_empty() {
        return Expected::Silence(None);
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else { return Expected::Fault(None) };
    let Some(object) = value.as_object() else { return Expected::Fault(None) };
    let id = object.get("id");
    // A name that is there twice is not seen any more in the value; nor is a number or a text that was written otherwise.
    if value.to_string().len() != text.len() {
        return Expected::Either(id.cloned());
    }
    let has = |name| object.contains_key(name);
    let params = object.get("params");
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") || (has("method") && !value["method"].is_string()) {
        return Expected::Fault(id.cloned());
    }
    match (has("method"), id) {
        (true, _) if has("result") || has("error") => Expected::Fault(id.cloned()),
        (true, _) if params.is_some_and(|params| !(params.is_object() || params.is_null() || params.is_array())) => {
            Expected::Fault(id.cloned())
        }
        (true, Some(id)) if id.is_string() || id.is_i64() => Expected::Answer(id.clone()),
        (true, Some(id)) => Expected::Fault(Some(id.clone())),
        (true, None) => {
            let withdrawn = (value["method"] == "notifications/cancelled").then(|| value["params"].get("requestId").cloned());
            Expected::Silence(withdrawn.flatten())
        }
        // A response may be to nothing that was asked, or be broken.
        (false, _) if has("result") != has("error") => Expected::Either(id.cloned()),
        (false, _) => Expected::Fault(id.cloned()),
    }
}
