//! `search_files`.
//!
//! May touch: `arguments`, `context`, `walk`, `work`.

use cap_roots::{Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer, input, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::walk::{Anchor, Ask, Cut, Globs, Step, Walking, properties};
use crate::work::Work;

pub(super) const SEARCH_FILES: Definition = Definition {
    name: "search_files",
    title: "Search Files",
    description: "Finds files and directories by name, one path a line in the form that `path` has (absolute if `path` is); what is in them is not looked at. `pattern` is a plain name such \
        as users.go, found at any depth, or a glob over the path from `path` on: *.md fits directly in it, **/*.md at any depth; also ?, \
        [a-z] and {a,b}; a slash at the end: directories only. Names with a dot in front count. `excludePatterns` takes the same; what it leaves out is not gone into. An \
        answer that is cut ends with a cursor: repeat the call with it. Errors start with a code: invalid-argument, says what is wrong with \
        the glob; not-found, list the parent of `path`; not-a-directory, name its directory; stale-cursor, repeat the call without \
        cursor; outside-roots, see list_allowed_directories.",
    operation: Operation::Walk,
    effect: Effect::Reads,
    input: schema,
    output: text_output,
    run,
};

fn schema() -> Value {
    let pattern = json!({ "type": "string", "description": "Plain name or glob; ** stands for any number of directories" });
    let most = json!({ "type": "integer", "minimum": 1, "description": "End after this many matches" });
    input(properties(json!({ "pattern": pattern, "maxResults": most })), &["path", "pattern"])
}

fn run(context: &Context, work: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    let ask = Ask::read(context, SEARCH_FILES.name, arguments, Anchor::PlainNamesFloat)?;
    let pattern = arguments.text("pattern")?;
    let globs = Globs::of("pattern", &[pattern], Anchor::PlainNamesFloat, ask.fold())?;
    let most = arguments.count("maxResults")?;
    let limits = context.limits;
    let going_on = ask.goes_on();
    let mut walking = Walking::start(context, work, ask)?;
    let mut text = String::new();
    let mut count = 0;
    while let Some(step) = walking.next()? {
        let Step::Entry(found) = step else { continue };
        if !globs.fits(found.path(), found.is_dir()) {
            continue;
        }
        if most.is_some_and(|most| usize::try_from(most).is_ok_and(|most| count >= most)) {
            walking.end(Cut::Asked(most.unwrap_or_default()));
            break;
        }
        if count >= limits.entries {
            walking.end(Cut::Entries(limits.entries));
            break;
        }
        let label = walking.label(&found);
        // The first one is told however little room there is, or nothing would ever be.
        let length = u64::try_from(text.len() + label.len() + 1).unwrap_or(u64::MAX);
        if count > 0 && length > limits.text_bytes {
            walking.end(Cut::Bytes(limits.text_bytes));
            break;
        }
        if count > 0 {
            text.push('\n');
        }
        text.push_str(&label);
        count += 1;
    }
    let report = walking.report();
    if count > 0 {
        return Ok(answer(text, report.notice(None)));
    }
    let none = match (report.why_cut(), going_on) {
        (Some(_), _) => "No matches found so far",
        (None, true) => "No further matches found",
        (None, false) => "No matches found",
    };
    Ok(answer(none.to_owned(), report.notice(hint(context, pattern))))
}

/// What whoever found nothing may have meant.
fn hint(context: &Context, pattern: &str) -> Option<String> {
    const CONTENTS: &str = "search_file_contents";
    let wild = pattern.contains(['*', '?', '[', '{']);
    if wild && !pattern.contains("**") && !pattern.trim_end_matches('/').contains('/') {
        return Some(format!(
            "A pattern with a wildcard and without a slash fits directly in the directory; **/{} fits at any depth.",
            cap_roots::escape(pattern)
        ));
    }
    if pattern.starts_with('/') {
        return Some("The pattern is compared with paths from the directory on, so that a host path fits nothing.".to_owned());
    }
    (!wild && context.offered.has(CONTENTS)).then(|| format!("Only names were looked at; {CONTENTS} looks into files."))
}
