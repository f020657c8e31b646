//! `cap-roots-mcp`: a filesystem MCP server on [`cap_roots`].
//!
//! Operator configuration to roots, roots to tools, tools to a transport; nothing else. Standard output carries protocol messages
//! only, or the answer of `--call`.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests build trees by path"))]

mod arguments;
mod edit;
mod listing;
mod once;
mod options;
mod page;
mod resources;
mod server;
mod signals;
mod tools;
mod work;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use cap_roots::{Access, Error, Roots};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio;

use options::{Grant, Options};
use server::Server;
use tools::{Context, Limits};

/// Threads for the protocol's own input and output, beside those of the calls: a call that hangs must not stop the others' answers.
const IO_THREADS: usize = 8;
/// Longest message that is taken, as JSON. A longer one is dropped by the protocol library, without an answer.
const MESSAGE_BYTES: usize = 64 << 20;
/// How long threads that are still at work may take to end once the client has gone and the protocol library has waited for answers.
const GRACE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let (options, grants) = Options::read();
    start_logging();
    let roots = match open(&options, &grants) {
        Ok(roots) => roots,
        Err(line) => return fail(&line),
    };
    let context = Context {
        roots,
        limits: Limits {
            text_bytes: options.max_text_bytes,
            media_bytes: options.max_media_bytes,
            entries: usize::try_from(options.max_entries).unwrap_or(usize::MAX),
        },
        hide_host_paths: options.hide_host_paths,
    };
    let done = match (&options.call, &options.explain) {
        (Some(tool), _) => signals::ignore_size_limit_by_itself().and_then(|()| once::call(&context, tool, &options.args)),
        (None, Some(path)) => once::explain(&context, path),
        (None, None) => serve(context, &options, &grants),
    };
    match done {
        Ok(status) => status,
        // Whoever reads has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(&format!("standard input or output failed: {error}")),
    }
}

/// One line on standard error, and a status that is not 0.
fn fail(line: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "cap-roots-mcp: {line}");
    ExitCode::from(once::MISUSE)
}

fn start_logging() {
    // The protocol library warns of each request that is refused, and a client may ask for as many as it likes.
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn,rmcp::service=error".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(false).init();
}

/// The grants made real, or the line that says why not. The operator reads it, so it may name the directory.
fn open(options: &Options, grants: &[Grant]) -> Result<Roots, String> {
    if grants.iter().any(|grant| grant.path.as_os_str().is_empty()) {
        return Err("invalid-argument: the path of a directory is empty; give it as DIR or NAME=DIR".to_owned());
    }
    if options.call.is_some() && grants.iter().any(|grant| grant.path.as_os_str().as_encoded_bytes().starts_with(b"{")) {
        return Err(
            "invalid-argument: a directory's path looks like JSON; give the arguments of --call as --args JSON".to_owned()
        );
    }
    let mut builder = Roots::builder().hide_host_paths(options.hide_host_paths);
    for (glob, access) in options.rules()? {
        builder = builder.rule(glob, access);
    }
    for grant in grants {
        builder = builder.grant(grant.for_library(options.no_delete));
    }
    let roots = builder.open().map_err(|error: Error| {
        if error.root_name().is_none() {
            return error.to_string();
        }
        let given: Vec<_> = grants.iter().map(|grant| grant.path.display().to_string()).collect();
        let hints: String = grants.iter().map(meant_as_name).collect();
        format!("{error} (directories given: {}{hints})", given.join(", "))
    })?;
    for root in roots.list() {
        if let Some(outer) = root.inside() {
            tracing::warn!(
                "the directory {} lies inside root {outer:?}, which has more access; what is not allowed in it is refused there as well",
                root.host_path().display()
            );
        }
    }
    let absent: Vec<_> = roots.list().zip(grants).filter(|(root, _)| root.is_absent()).collect();
    for (root, grant) in &absent {
        let path = root.host_path();
        tracing::warn!(
            "the directory {} is missing; its files cannot be reached until it is there{}",
            path.display(),
            meant_as_name(grant)
        );
    }
    if !grants.is_empty() && absent.len() == grants.len() {
        let missing: Vec<_> = absent.iter().map(|(root, _)| root.host_path().display().to_string()).collect();
        return Err(format!(
            "root-absent: none of the directories exists: {}; create one, or correct the path",
            missing.join(", ")
        ));
    }
    Ok(roots)
}

/// `Docs=DIR` is a path by the rule of names; where it leads nowhere, a name may have been meant.
fn meant_as_name(grant: &Grant) -> String {
    let path = grant.path.to_string_lossy();
    match path.split_once('=') {
        Some((name, _)) if grant.name.is_none() && !name.contains('/') => {
            format!("; if {name:?} was meant as a name: names have only a-z 0-9 . _ -")
        }
        _ => String::new(),
    }
}

fn serve(context: Context, options: &Options, grants: &[Grant]) -> io::Result<ExitCode> {
    if context.roots.list().next().is_none() {
        tracing::warn!("no directory was given, so every call answers no-roots; start the server as cap-roots-mcp DIR");
    }
    if io::stdin().is_terminal() {
        hint(&context, options, grants)?;
    }
    let deadline = Duration::from_secs(options.max_seconds);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(server::CALLS + IO_THREADS)
        .enable_all()
        .build()?;
    {
        let _entered = runtime.enter();
        signals::ignore_size_limit()?;
    }
    let ended = runtime.block_on(async {
        let (input, output) = stdio();
        let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES);
        match Server::new(context, deadline).serve(transport).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // A client that leaves before it has said anything is no fault.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    });
    runtime.shutdown_timeout(GRACE);
    ended.map(|()| ExitCode::SUCCESS)
}

/// Started by hand: say what is served and what is protected, and how a client is told to start it, with the same grants and no more.
fn hint(context: &Context, options: &Options, grants: &[Grant]) -> io::Result<()> {
    let mut err = io::stderr();
    writeln!(err, "cap-roots-mcp serves, to an MCP client on standard input and output:")?;
    let mut arguments = Vec::new();
    for (root, grant) in context.roots.list().zip(grants) {
        let access = match (root.access() == Access::Write, root.may_delete()) {
            (true, true) => "read, write, delete",
            (true, false) => "read, write",
            (false, _) => "read",
        };
        let path = cap_roots::escape(&root.host_path().to_string_lossy());
        writeln!(err, "  {path} ({access}) as {}", root.uri())?;
        arguments.extend(grant.arguments(&root.host_path()));
    }
    for (glob, access) in options.rules().unwrap_or_default() {
        writeln!(err, "  {} at most: {access}", cap_roots::escape(&glob))?;
    }
    arguments.extend(options.arguments());
    let program = std::env::current_exe().map_or_else(|_| "cap-roots-mcp".to_owned(), |path| path.display().to_string());
    let entry = serde_json::json!({ "mcpServers": { "files": { "command": program, "args": arguments } } });
    writeln!(err, "A client is configured with (limits as by default): {entry}")?;
    writeln!(err, "To try it without a client: cap-roots-mcp --call list_directory --args '{{\"path\":\".\"}}' DIR")?;
    writeln!(err, "Waiting for a client; end with Ctrl-D or Ctrl-C.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Catches: a line to copy that grants more than was granted.
    #[test]
    fn the_hint_grants_the_same() {
        let grant = |name: Option<&str>, access| Grant { name: name.map(str::to_owned), path: "x".into(), access };
        let path = Path::new("/srv/x");
        assert_eq!(grant(Some("docs"), Access::Read).arguments(path), ["--ro", "docs=/srv/x"]);
        assert_eq!(grant(None, Access::Write).arguments(path), ["--rw", "/srv/x"]);
    }
}
