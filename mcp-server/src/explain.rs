//! `--explain`: how an operation on a path would be judged, by what, and what would come of it. For the operator, so host paths are told.
//!
//! May touch: `context`, `once`, `screen`, `start`, the roots, without changing anything.

use std::io::{self, Write};
use std::process::ExitCode;

use cap_roots::{Access, FileType, Operation, Rehearsal, Roots};

use crate::context::Context;
use crate::once::REFUSED;
use crate::screen::{self, Tone};
use crate::start::shown;

/// What is told of a path where no operation is named.
const USUAL: [Operation; 4] = [Operation::ReadDir, Operation::Open, Operation::Write, Operation::RemoveFile];

/// Which root the path's text leads to, what was granted there, which rules make it less, the verdict on `operation`, which way of resolution
/// answers, and what would come of it. Without one, the usual operations are judged, and the outcome and the status are those of reading.
pub(crate) fn explain(context: &Context, path: &str, operation: Option<Operation>) -> io::Result<ExitCode> {
    let roots = &context.roots;
    let mut out = screen::out();
    let mut line = |label: &str, text: &str| writeln!(out, "{} {text}", Tone::Heading.paint(format_args!("{label:<9}")));
    let explained = roots.explain(path, operation.unwrap_or(Operation::Open));
    match roots.list().find(|root| Some(root.name()) == explained.root()) {
        Some(root) => {
            line("root", &format!("{} at {}, access {}", root.name(), shown(&root.host_path()), root.access()))?;
        }
        None => line("root", "none")?,
    }
    line("path", explained.uri().unwrap_or("below no root"))?;
    let judged = operation.map_or_else(|| USUAL.to_vec(), |operation| vec![operation]);
    let rehearsal = rehearse(roots, path, operation);
    let mut deciding: Vec<_> = rehearsal.deciding_rule().map(str::to_owned).into_iter().collect();
    for operation in judged {
        let explained = roots.explain(path, operation);
        let tone = if explained.verdict().is_ok() { Tone::Plain } else { Tone::Bad };
        line("grant", &tone.paint(&explained))?;
        deciding.extend(explained.deciding_rule().map(str::to_owned));
    }
    deciding.sort();
    deciding.dedup();
    for rule in deciding {
        line("rule", &format!("{} decides", cap_roots::escape(&rule)))?;
    }
    if let Some(resolver) = rehearsal.resolver() {
        line("resolver", &resolver.to_string())?;
    }
    match rehearsal.outcome() {
        Ok(()) => {
            let told = operation.map_or_else(|| "can be opened".to_owned(), |operation| outcome(operation, &rehearsal));
            line("outcome", &Tone::Good.paint(told))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            line("outcome", &Tone::Bad.paint(error))?;
            Ok(ExitCode::from(REFUSED))
        }
    }
}

/// Without an operation: what a reader would do with it.
fn rehearse(roots: &Roots, path: &str, operation: Option<Operation>) -> Rehearsal {
    let Some(operation) = operation else {
        let looked = roots.rehearse(path, Operation::Metadata);
        return match (looked.outcome(), looked.leads_to()) {
            (Ok(()), Some(FileType::Dir)) => roots.rehearse(path, Operation::ReadDir),
            (Ok(()), _) => roots.rehearse(path, Operation::Open),
            // What keeps a reader from opening it comes first, and then that nothing can be seen.
            (Err(_), _) if roots.explain(path, Operation::Metadata).verdict().is_ok() => looked,
            (Err(_), _) => roots.rehearse(path, Operation::Open),
        };
    };
    roots.rehearse(path, operation)
}

/// What can be told without acting.
fn outcome(operation: Operation, rehearsal: &Rehearsal) -> String {
    let there = match rehearsal.leads_to() {
        Some(FileType::File) => "it leads to a file",
        Some(FileType::Dir) => "it leads to a directory",
        Some(FileType::Symlink) => "it is a link",
        Some(_) => "it leads to a pipe, socket or device",
        None => "nothing is there yet",
    };
    let name = operation.name();
    if operation.needs() < Access::Write && operation.needs_at_target().is_none() {
        return format!("{name} can be done: {there}");
    }
    let target = if operation.needs_at_target().is_some() { ", and the other path is not judged" } else { "" };
    format!("{name} was not done: {there}; nothing that can be told without acting is against it{target}")
}
