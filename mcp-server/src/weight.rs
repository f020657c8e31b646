//! How much an answer holds while it waits to be written.
//!
//! May touch: rmcp's messages.

use rmcp::model::{CallToolResult, ContentBlock, ReadResourceResult, ResourceContents};
use serde_json::Value;

/// What needs no turn to be counted by: each request is counted for this much and more, whatever it asks.
pub(crate) const SMALL: usize = 16 << 10;

/// What has a weight, in bytes. More than it is where that would take long to tell.
pub(crate) trait Weighed {
    fn weight(&self) -> usize;
}

impl Weighed for CallToolResult {
    fn weight(&self) -> usize {
        let block = |block: &ContentBlock| match block {
            ContentBlock::Text(content) => content.text.len(),
            _ => usize::MAX,
        };
        // Each answer is text in both places.
        let structured = match &self.structured_content {
            None => 0,
            Some(Value::Object(object)) => sum(object.values().map(|value| value.as_str().map_or(usize::MAX, str::len))),
            Some(_) => usize::MAX,
        };
        sum(self.content.iter().map(block)).saturating_add(structured)
    }
}

impl Weighed for ReadResourceResult {
    fn weight(&self) -> usize {
        // A directory's is an item for each name.
        sum(self.contents.iter().map(|contents| match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => size_of_val(contents) + uri.len() + text.len(),
            ResourceContents::BlobResourceContents { uri, blob, .. } => size_of_val(contents) + uri.len() + blob.len(),
            _ => usize::MAX,
        }))
    }
}

fn sum(weights: impl Iterator<Item = usize>) -> usize {
    weights.fold(0, usize::saturating_add)
}
