//! What the operator is told when the server starts: what was opened, what is missing, how a client is told to start it.

use std::io::{self, Write};
use std::path::Path;

use cap_roots::{Access, Error, Roots};

use crate::context::Context;
use crate::settings::Settings;

/// A path on one line, whatever is in it.
fn shown(path: &Path) -> String {
    cap_roots::escape(&path.to_string_lossy())
}

/// The grants made real, or the line that says why not. The operator reads it, so it may name the directory.
pub(crate) fn open(settings: &Settings) -> Result<Roots, String> {
    let roots = settings.builder().open().map_err(|error: Error| {
        let file = settings.file.as_ref().map(|file| format!("configuration file: {}", shown(file)));
        let mut known = Vec::new();
        if error.root_name().is_some() {
            let given: Vec<_> = settings.paths().map(shown).collect();
            let hints: String = (0..given.len()).map(|index| settings.meant_as_name(index)).collect();
            known.push(format!("directories given: {}{hints}", given.join(", ")));
        }
        known.extend(file);
        if known.is_empty() { error.to_string() } else { format!("{error} ({})", known.join("; ")) }
    })?;
    for root in roots.list() {
        if let Some(outer) = root.inside() {
            tracing::warn!(
                "the directory {} lies inside root {outer:?}, which has more access; what is not allowed in it is refused there as well",
                shown(&root.host_path())
            );
        }
        if let Some(other) = root.named_through() {
            tracing::warn!(
                "the directory {} is named through a link in root {other:?}, which may be written: a client may choose where it leads at the \
                 next start; name it as {}",
                shown(&root.host_path()),
                shown(&root.real_path())
            );
        }
    }
    let absent: Vec<_> = roots.list().enumerate().filter(|(_, root)| root.is_absent()).collect();
    for (index, root) in &absent {
        let path = root.host_path();
        tracing::warn!(
            "the directory {} is missing; its files cannot be reached until it is there{}",
            shown(&path),
            settings.meant_as_name(*index)
        );
    }
    if !absent.is_empty() && absent.len() == roots.list().count() {
        let missing: Vec<_> = absent.iter().map(|(_, root)| shown(&root.host_path())).collect();
        return Err(format!(
            "root-absent: none of the directories exists: {}; create one, or correct the path",
            missing.join(", ")
        ));
    }
    Ok(roots)
}

/// Started by hand: say what is served and what is protected, and how a client is told to start it, with the same grants and no more.
pub(crate) fn hint(context: &Context, settings: &Settings) -> io::Result<()> {
    let mut err = io::stderr();
    writeln!(err, "cap-roots-mcp serves, to an MCP client on standard input and output:")?;
    for root in context.roots.list() {
        let access = match (root.access(), root.may_delete()) {
            (Access::Write, true) => "read, write, delete",
            (Access::Write, false) => "read, write",
            (Access::Read, _) => "read",
            (Access::List, _) => "list",
            (Access::None, _) => "nothing",
        };
        writeln!(err, "  {} ({access}) as {}", shown(&root.host_path()), root.uri())?;
    }
    if settings.trusts_clients() {
        writeln!(err, "  whatever the client names as its roots")?;
    }
    for (glob, access) in &settings.rules {
        writeln!(err, "  {} at most: {access}", cap_roots::escape(glob))?;
    }
    let arguments = settings.arguments(&context.roots);
    let program = std::env::current_exe().map_or_else(|_| "cap-roots-mcp".to_owned(), |path| path.display().to_string());
    let entry = serde_json::json!({ "mcpServers": { "files": { "command": program, "args": arguments } } });
    writeln!(err, "A client is configured with: {entry}")?;
    writeln!(err, "To try it without a client: cap-roots-mcp --call list_directory --args '{{\"path\":\".\"}}' DIR")?;
    writeln!(err, "Waiting for a client; end with Ctrl-D or Ctrl-C.")
}
