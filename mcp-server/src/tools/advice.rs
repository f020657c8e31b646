//! What a refusal advises, where the tool, or the tools that there are, know the next step better than the library does.
//!
//! May touch: the tools' table, `context`.

use std::cmp::Reverse;

use cap_roots::{Access, Error, ErrorKind};

use super::{LIST_ALLOWED_DIRECTORIES, Offered, TOOLS};
use crate::context::Context;

/// Most characters of names in a refusal. With the rest it stays below what the library shows of a message, so that no name is cut.
const NAMES: usize = 250;
/// Most characters of a name that is none.
const TYPED: usize = 50;

/// A refusal of any tool.
pub(super) fn of_any(context: &Context, error: Error) -> Error {
    match error.kind() {
        ErrorKind::OutsideRoots if context.offered.has(LIST_ALLOWED_DIRECTORIES) => {
            error.advise("name the file by its own path below an allowed directory; list_allowed_directories lists them")
        }
        _ => error,
    }
}

/// A refusal of a tool that writes a file: some of what the library advises is for readers.
pub(super) fn to_write(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => error.advise("check its directory; create_directory makes a missing one"),
        ErrorKind::TooLarge => error.advise("write less: files of this size are not taken"),
        _ => error,
    }
}

/// A refusal of a tool that changes a file that is there.
pub(super) fn to_change(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => error.advise("check the name in a listing of its directory; write_file creates a file"),
        _ => to_write(error),
    }
}

/// Why there is no such tool: nothing allows it here, or it is none of ours.
pub(super) fn not_offered(context: &Context, name: &str) -> Error {
    let names = names(&context.offered, name);
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let typed = shortened(name);
        return Error::invalid_argument(format!("there is no tool \"{typed}\"; the tools are {names}"))
            .advise("call one of them");
    };
    if context.offered.is_switched_off(name) {
        return switched_off(&context.offered, name);
    }
    let needed = tool.operation.needs_at_target().unwrap_or(tool.operation.needs());
    let is_short_of_access = !context.roots.list().any(|root| root.access() >= needed);
    Error::not_granted(format!("no directory allows {name}; the tools are {names}")).advise(match needed {
        _ if !is_short_of_access => {
            "call one of them, or ask the operator to allow deletion (--no-delete, or no_delete in the configuration, forbids it)"
        }
        Access::Write => "call one of them, or ask the operator for a directory that may be written (--rw DIR)",
        _ => "call one of them, or ask the operator for more access",
    })
}

/// The refusal of a tool that there would be, had the operator not said otherwise.
pub(super) fn switched_off(offered: &Offered, name: &str) -> Error {
    let why = format!("the operator has switched {name} off; the tools are {}", names(offered, name));
    Error::not_granted(why).advise("call one of them")
}

/// Cut after it is escaped, since that makes it longer.
fn shortened(name: &str) -> String {
    let mut rest = name.escape_debug();
    let mut short: String = rest.by_ref().take(TYPED).collect();
    if rest.next().is_some() {
        short.push('…');
    }
    short
}

/// The tools that there are; of more than fit, the ones most like `name` first, and how many more.
fn names(offered: &Offered, name: &str) -> String {
    let mut names: Vec<_> = offered.tools().map(|tool| tool.name).collect();
    let all = names.join(", ");
    if all.len() <= NAMES {
        return all;
    }
    let typed = shortened(name).to_lowercase().replace(['-', ' ', '.', '/'], "_");
    names.sort_by_key(|name| (Reverse(shared_words(&typed, name)), strsim::damerau_levenshtein(&typed, name)));
    let mut told = String::new();
    let mut count = 0;
    for name in &names {
        if told.len() + name.len() + ", and 99 more".len() > NAMES {
            break;
        }
        told.push_str(if count > 0 { ", " } else { "" });
        told.push_str(name);
        count += 1;
    }
    format!("{told} and {} more", names.len() - count)
}

/// Whether they begin with the same word, which says what is done, and how many words they share.
fn shared_words(typed: &str, name: &str) -> (bool, usize) {
    let shared = name.split('_').filter(|word| typed.split('_').any(|typed| typed == *word)).count();
    (typed.split('_').next() == name.split('_').next(), shared)
}
