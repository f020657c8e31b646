//! Without a client: one call, or one explanation. For people, scripts and first tries.

use std::io::{self, Write};
use std::process::ExitCode;

use cap_roots::{Error, ErrorKind, Operation};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::context::Context;
use crate::tools;
use crate::work::Work;

const REFUSED: u8 = 1;
/// As `clap` ends for a command line that does not parse.
pub(crate) const MISUSE: u8 = 2;

/// `--call`: the answer on standard output, a refusal on standard error.
pub(crate) fn call(context: &Context, tool: &str, arguments: &str) -> io::Result<ExitCode> {
    let outcome =
        match serde_json::from_str(arguments) {
            Ok(Value::Object(arguments)) => tools::call(context, &Work::default(), tool, arguments),
            _ => Err(Error::invalid_argument("the arguments are not a JSON object")
                .advise("give them as in --args '{\"path\":\".\"}'")),
        };
    match outcome {
        Ok(result) => print(&result).map(|()| ExitCode::SUCCESS),
        Err(error) => {
            writeln!(io::stderr(), "{error}")?;
            let misuse = error.kind() == ErrorKind::InvalidArgument;
            Ok(ExitCode::from(if misuse { MISUSE } else { REFUSED }))
        }
    }
}

/// The content on standard output, so that it can be piped; notices on standard error.
fn print(result: &CallToolResult) -> io::Result<()> {
    let mut blocks = result.content.iter();
    match blocks.next() {
        Some(ContentBlock::Text(content)) => {
            let end = if content.text.is_empty() || content.text.ends_with('\n') { "" } else { "\n" };
            write!(io::stdout(), "{}{end}", content.text)?;
        }
        Some(block) => writeln!(io::stdout(), "{}", serde_json::to_string(block)?)?,
        None => {}
    }
    for block in blocks {
        if let ContentBlock::Text(notice) = block {
            writeln!(io::stderr(), "{}", notice.text)?;
        }
    }
    Ok(())
}

/// `--explain`: which root the path's text leads to, what was granted there and by which rules it is less, the verdicts on reading and
/// writing, and what the disk has for a reader. The status is that of reading: writing is not tried.
pub(crate) fn explain(context: &Context, path: &str) -> io::Result<ExitCode> {
    let roots = &context.roots;
    let mut out = io::stdout();
    let explained = roots.explain(path, Operation::Open);
    match roots.list().find(|root| Some(root.name()) == explained.root()) {
        Some(root) => writeln!(out, "root      {} at {}, access {}", root.name(), root.host_path().display(), root.access())?,
        None => writeln!(out, "root      none")?,
    }
    writeln!(out, "path      {}", explained.uri().unwrap_or("below no root"))?;
    for operation in [Operation::ReadDir, Operation::Open, Operation::Write, Operation::RemoveFile] {
        writeln!(out, "grant     {}", roots.explain(path, operation))?;
    }
    // Opened for real, since only that tells where the links on the way lead.
    let outcome = roots
        .metadata(path)
        .and_then(|metadata| if metadata.is_dir() { roots.read_dir(path).map(drop) } else { roots.open(path).map(drop) });
    match outcome {
        Ok(()) => {
            writeln!(out, "outcome   can be opened")?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            writeln!(out, "outcome   {error}")?;
            Ok(ExitCode::from(REFUSED))
        }
    }
}
