//! `list_directory` and `list_directory_with_sizes`.
//!
//! May touch: `arguments`, `context`, `listing`, `work`.

use std::cmp::Reverse;

use cap_roots::{Entry, ErrorKind, FileType, Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer, input, path_property, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::listing::{Listing, entries};
use crate::work::Work;

pub(super) const LIST_DIRECTORY: Definition = Definition {
    name: "list_directory",
    title: "List Directory",
    description: "Lists the names in a directory, sorted, one a line: [DIR] a directory, [FILE] a regular file, [LINK] a symbolic link \
        (it may lead outside; reading through it then answers outside-roots), [SPECIAL] a pipe, socket or device, which cannot be \
        read. A name that is not plain text stands as root://NAME/... and can be used like that. Names that the operator hides are \
        left out, and counted at the end. Errors start with a code: not-found, \
        list the parent; not-a-directory, read it instead; outside-roots, see list_allowed_directories.",
    operation: Operation::ReadDir,
    effect: Effect::Reads,
    input: schema,
    output: text_output,
    run: list,
};

pub(super) const LIST_DIRECTORY_WITH_SIZES: Definition = Definition {
    name: "list_directory_with_sizes",
    title: "List Directory with Sizes",
    description: "Lists the names in a directory as list_directory does, with the size of each file and the totals; `sortBy` is name or \
        size (largest first). A link has its own size, not that of what it leads to. Errors as in list_directory.",
    input: schema_with_sort,
    run: list_with_sizes,
    ..LIST_DIRECTORY
};

fn schema() -> Value {
    input(json!({ "path": path_property() }), &["path"])
}

fn schema_with_sort() -> Value {
    let sort = json!({ "type": "string", "enum": SORTS, "default": "name", "description": "Order of the entries" });
    input(json!({ "path": path_property(), "sortBy": sort }), &["path"])
}

const SORTS: &[&str] = &["name", "size"];

fn mark(entry: &Entry) -> &'static str {
    match entry.file_type() {
        FileType::Dir => "[DIR]",
        FileType::File => "[FILE]",
        FileType::Symlink => "[LINK]",
        _ => "[SPECIAL]",
    }
}

fn list(context: &Context, work: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let (entries, left_out) = entries(context, work, arguments.text("path")?)?;
    let mut listing = Listing::new(context, left_out);
    let _ = entries.iter().all(|entry| listing.add(format_args!("{} {}", mark(entry), entry.name_text())));
    Ok(answer(listing.text.trim_end_matches('\n').to_owned(), listing.left_out.notice()))
}

fn list_with_sizes(context: &Context, work: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let by_size = arguments.choice("sortBy", SORTS)? == "size";
    let (entries, left_out) = entries(context, work, arguments.text("path")?)?;
    let mut sized: Vec<(Entry, u64)> = Vec::with_capacity(entries.len());
    for entry in entries {
        work.check()?;
        // An entry that went away meanwhile has no size, and stays as it was listed; one that nobody looked at is not said to be empty.
        let size = match entry.metadata() {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == ErrorKind::Busy => return Err(error),
            Err(_) => 0,
        };
        sized.push((entry, size));
    }
    if by_size {
        sized.sort_by_key(|(_, size)| Reverse(*size));
    }
    let mut listing = Listing::new(context, left_out);
    let (mut files, mut directories, mut bytes) = (0, 0, 0u64);
    for (entry, size) in &sized {
        let is_dir = entry.file_type() == FileType::Dir;
        let shown = if is_dir { String::new() } else { format!("{:>10}", human(*size)) };
        if !listing.add(format_args!("{} {:<30} {shown}", mark(entry), entry.name_text())) {
            break;
        }
        if is_dir {
            directories += 1;
        } else {
            files += 1;
            bytes = bytes.saturating_add(*size);
        }
    }
    let totals = format!("\nTotal: {files} files, {directories} directories\nCombined size: {}", human(bytes));
    Ok(answer(listing.text + &totals, listing.left_out.notice()))
}

/// Bytes as the reference server writes them: powers of 1024, two decimals above bytes.
fn human(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
    let mut value = bytes as f64 / 1024.0;
    let mut units = UNITS.iter().copied();
    let mut unit = units.next().unwrap_or_default();
    while value >= 1024.0 {
        let Some(next) = units.next() else { break };
        (value, unit) = (value / 1024.0, next);
    }
    format!("{value:.2} {unit}")
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn sizes_for_people() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KB"),
            (4096, "4.00 KB"),
            (1_572_864, "1.50 MB"),
            (5 << 40, "5.00 TB"),
            (5 << 50, "5120.00 TB"),
        ] {
            assert_eq!(human(bytes), text);
        }
    }
}
