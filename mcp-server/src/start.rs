//! What the operator is told when the server starts: what was opened, what is missing, how a client is told to start it.
//!
//! May touch: `audit`, `context`, `fence`, `settings`.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use cap_roots::{Access, Error, ErrorKind, RootInfo, Roots};

use crate::audit;
use crate::context::Context;
use crate::fence::Raised;
use crate::settings::Settings;

/// A path on one line, whatever is in it.
pub(crate) fn shown(path: &Path) -> String {
    cap_roots::escape(&path.to_string_lossy())
}

/// The grants made real and the directory of the audit log, or the line that says why not. The operator reads it, so it may name the directory.
pub(crate) fn open(settings: &mut Settings) -> Result<(Roots, Option<audit::Place>), String> {
    let audit = settings.audit.as_deref().map(audit::Place::of).transpose()?;
    let opened = match settings.builder().open() {
        // One that is wrong does not stop the others.
        Err(error) if error.kind() == ErrorKind::NotADirectory && settings.leave_out_files() => settings.builder().open(),
        opened => opened,
    };
    let roots = opened.map_err(|error| refusal(settings, &error))?;
    let missing: Vec<_> = roots.list().filter(RootInfo::is_absent).map(|root| shown(&root.host_path())).collect();
    if !missing.is_empty() && missing.len() == roots.list().count() {
        return Err(format!(
            "root-absent: none of the directories exists: {}; create one, or correct the path",
            missing.join(", ")
        ));
    }
    settings.judge_twice(&roots)?;
    roots.list().for_each(|root| warn_of(&root));
    Ok((roots, audit))
}

/// Why the directories cannot be served.
fn refusal(settings: &Settings, error: &Error) -> String {
    if let Some((what, file)) = settings.at_fault() {
        return if error.root_name().is_some() {
            format!("{error} (the {what} file: {})", shown(file))
        } else {
            format!("{error} (its directory is needed for the {what} file: {}; create it, or correct the path)", shown(file))
        };
    }
    let mut known = Vec::new();
    if error.root_name().is_some() {
        let given: Vec<_> = settings.paths().map(shown).collect();
        let hints: String = (0..given.len()).map(|index| settings.meant_as_name(index)).collect();
        known.push(format!("directories given: {}{hints}", given.join(", ")));
    }
    known.extend(settings.file.as_ref().map(|file| format!("configuration file: {}", shown(file))));
    if known.is_empty() { error.to_string() } else { format!("{error} ({})", known.join("; ")) }
}

/// What the operator should know of one directory.
fn warn_of(root: &RootInfo) {
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
    if let Some(wide) = too_wide(root).filter(|_| root.access() == Access::Write) {
        tracing::warn!(
            "clients may write in {wide} ({}); name a directory further down unless that is meant, or use --ro",
            shown(&root.host_path())
        );
    }
}

/// Of a directory that is more than anybody works in: what it is.
fn too_wide(root: &RootInfo) -> Option<&'static str> {
    let real = root.real_path();
    if real.parent().is_none() {
        return Some("the whole disk");
    }
    let home = Roots::builder().root("~/", Access::List).open().ok()?.list().next()?.real_path();
    match (home == real, home.starts_with(&real)) {
        (true, _) => Some("the whole home directory"),
        (false, true) => Some("a directory with the home directory in it"),
        (false, false) => None,
    }
}

/// What may be done in a root, and for how long, in words.
pub(crate) fn terms(root: &RootInfo) -> String {
    let access = match (root.access(), root.may_delete()) {
        (Access::Write, true) => "read, write, delete",
        (Access::Write, false) => "read, write",
        (Access::Read, _) => "read",
        (Access::List, _) => "list",
        (Access::None, _) => "nothing",
    };
    match root.time_left() {
        None => access.to_owned(),
        Some(Duration::ZERO) => format!("{access}; its time has run out"),
        Some(left) => format!("{access}; for {}", lasting(left)),
    }
}

/// A time in its two largest units.
fn lasting(time: Duration) -> String {
    let seconds = time.as_secs();
    let parts = [(seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let told = parts.into_iter().skip_while(|(count, _)| *count == 0).take(2).filter(|(count, _)| *count > 0);
    let told: Vec<_> = told.map(|(count, unit)| format!("{count} {unit}")).collect();
    if told.is_empty() { "less than a second".to_owned() } else { told.join(" ") }
}

/// Started by hand: say what is served and what is protected, and how a client is told to start it, with the same grants and no more.
pub(crate) fn hint(context: &Context, settings: &Settings, fence: &Raised) -> io::Result<()> {
    tell(&mut io::stderr(), context, settings, fence)
}

fn tell(err: &mut impl Write, context: &Context, settings: &Settings, fence: &Raised) -> io::Result<()> {
    let over = if settings.http.is_some() { "to MCP clients over HTTP" } else { "to an MCP client on standard input and output" };
    writeln!(err, "cap-roots-mcp serves, {over}:")?;
    let is_for_all = |glob: &str, access| settings.rules.iter().any(|(other, ceiling)| other == glob && *ceiling == access);
    for root in context.roots.list() {
        writeln!(err, "  {} ({}) as {}", shown(&root.host_path()), terms(&root), root.uri())?;
        for (glob, access) in root.rules().filter(|(glob, access)| !is_for_all(glob, *access)) {
            writeln!(err, "    {} at most: {access}", cap_roots::escape(glob))?;
        }
    }
    if settings.trusts_clients() {
        writeln!(err, "  whatever the client names as its roots")?;
    }
    for (glob, access) in &settings.rules {
        writeln!(err, "  {} at most: {access}", cap_roots::escape(glob))?;
    }
    let limits = context.limits;
    writeln!(
        err,
        "  at most {} bytes of text, {} bytes of media and {} entries in an answer, {} seconds for a call",
        limits.text_bytes, limits.media_bytes, limits.entries, settings.seconds
    )?;
    writeln!(err, "  {fence}")?;
    if settings.http.is_some() {
        // How a client comes there is told when that is known.
        return Ok(());
    }
    let arguments = settings.arguments(&context.roots);
    let program = std::env::current_exe().map_or_else(|_| "cap-roots-mcp".to_owned(), |path| path.display().to_string());
    let entry = serde_json::json!({ "mcpServers": { "files": { "command": program, "args": arguments } } });
    writeln!(err, "A client is configured with: {entry}")?;
    writeln!(err, "To try it without a client: cap-roots-mcp --call list_directory --args '{{\"path\":\".\"}}' DIR")?;
    writeln!(err, "Waiting for a client; end with Ctrl-D or Ctrl-C.")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::options::Options;
    use crate::tools;

    /// Catches: a hint that tells the rules for all directories and not those of one, nor when it ends.
    #[test]
    fn the_hint_tells_the_terms_of_each_directory() {
        let folder = tempfile::tempdir().unwrap();
        for dir in ["etc", "a", "b"] {
            fs::create_dir(folder.path().join(dir)).unwrap();
        }
        let file = folder.path().join("etc/c.toml");
        let config = "rules = { x = \"read\" }\nlimits.max_seconds = 7\n\
            [[root]]\npath = \"../a\"\naccess = \"write\"\nno_delete = true\nrules = { own = \"none\" }\nexpires = \"2h 1m\"\n\
            [[root]]\npath = \"../b\"\naccess = \"read\"\nexpires = 2001-01-01T00:00:00Z\n";
        fs::write(&file, config).unwrap();
        let (options, grants) = Options::of(&format!("x --config {} --max-entries 9", file.display()));
        let settings = Settings::of(&options, grants).unwrap();
        let roots = settings.builder().open().unwrap();
        let offered = tools::offered(&roots, Access::Write, true, &settings.tools);
        let context = Context {
            roots,
            offered,
            limits: settings.limits,
            walks: crate::context::Walks::default(),
            hide_host_paths: false,
            audit: audit::Audit::default(),
        };
        let mut told = Vec::new();
        tell(&mut told, &context, &settings, &Raised::Not("a reason".to_owned())).unwrap();
        let told = String::from_utf8(told).unwrap();
        let lines: Vec<_> = told.lines().collect();
        let at = |part: &str| lines.iter().position(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}: {told}"));
        let first = at("a (read, write; for 2 h");
        assert_eq!(at("own at most: none"), first + 1);
        assert_eq!(at("b (read; its time has run out)"), first + 2);
        assert!(at("  x at most: read") > first + 2);
        assert_eq!(told.matches("x at most").count(), 1, "{told}");
        at("and 9 entries in an answer, 7 seconds for a call");
        at("  no fence by the kernel: a reason");
    }

    #[test]
    fn times_are_told_in_two_units() {
        for (seconds, told) in [(0, "less than a second"), (59, "59 s"), (3600, "1 h"), (7325, "2 h 2 min"), (90_000, "1 d 1 h")]
        {
            assert_eq!(lasting(Duration::from_secs(seconds)), told);
        }
    }
}
