//! `cap-roots-mcp`: a filesystem MCP server on [`cap_roots`].
//!
//! Operator configuration to roots, roots to tools, tools to a transport; nothing else. Standard output carries protocol messages
//! only, or the answer of `--call`.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests build trees by path"))]

mod arguments;
mod client_roots;
mod edit;
mod listing;
mod once;
mod options;
mod page;
mod resources;
mod server;
mod settings;
mod signals;
mod tools;
mod work;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cap_roots::{Access, Error, Roots, config};
use cap_roots_rmcp::ClientRoots;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio;

use options::Options;
use server::Server;
use settings::Settings;
use tools::Context;

/// Threads for the protocol's own input and output, beside those of the calls and of their clients' roots: what hangs must not stop the others'
/// answers.
const IO_THREADS: usize = 8;
/// Longest message that is taken, as JSON. A longer one is dropped by the protocol library, without an answer.
const MESSAGE_BYTES: usize = 64 << 20;
/// How long threads that are still at work may take to end once the client has gone and the protocol library has waited for answers.
const GRACE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let (options, grants) = Options::read();
    start_logging();
    let done = if options.config_schema {
        writeln!(io::stdout(), "{}", config::json_schema()).map(|()| ExitCode::SUCCESS)
    } else {
        match Settings::of(&options, grants).and_then(|settings| Ok((open(&settings)?, settings))) {
            Ok((roots, settings)) => run(roots, &options, &Arc::new(settings)),
            Err(line) => return fail(&line),
        }
    };
    match done {
        Ok(status) => status,
        // Whoever reads has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(&format!("standard input or output failed: {error}")),
    }
}

fn run(roots: Roots, options: &Options, settings: &Arc<Settings>) -> io::Result<ExitCode> {
    let offered = tools::offered(&roots, client_roots::most(settings), !settings.no_delete);
    let context = Context { roots, offered, limits: settings.limits, hide_host_paths: settings.hide_host_paths };
    match (&options.call, &options.explain) {
        (Some(tool), _) => signals::ignore_size_limit_by_itself().and_then(|()| once::call(&context, tool, &options.args)),
        (None, Some(path)) => once::explain(&context, path),
        (None, None) => serve(context, settings),
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

/// A path on one line, whatever is in it.
fn shown(path: &Path) -> String {
    cap_roots::escape(&path.to_string_lossy())
}

/// The grants made real, or the line that says why not. The operator reads it, so it may name the directory.
fn open(settings: &Settings) -> Result<Roots, String> {
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

fn serve(context: Context, settings: &Arc<Settings>) -> io::Result<ExitCode> {
    let client = match client_roots::client_roots(settings, context.roots.clone()) {
        Ok(client) => client,
        Err(error) => return Ok(fail(&error.to_string())),
    };
    if context.roots.list().next().is_none() && !settings.trusts_clients() {
        tracing::warn!("no directory was given, so every call answers no-roots; start the server as cap-roots-mcp DIR");
    }
    if io::stdin().is_terminal() {
        hint(&context, settings)?;
    }
    let deadline = Duration::from_secs(settings.seconds);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(server::CALLS + ClientRoots::THREADS + IO_THREADS)
        .enable_all()
        .build()?;
    {
        let _entered = runtime.enter();
        signals::ignore_size_limit()?;
    }
    let ended = runtime.block_on(async {
        let (input, output) = stdio();
        let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES);
        let transport = client.watch(transport);
        match Server::new(context, client, deadline).serve(transport).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // A client that leaves before it has said anything is no fault.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
                Err(io::Error::other("the client began with something else than a request of the protocol"))
            }
            Err(error) => Err(io::Error::other(error)),
        }
    });
    runtime.shutdown_timeout(GRACE);
    ended.map(|()| ExitCode::SUCCESS)
}

/// Started by hand: say what is served and what is protected, and how a client is told to start it, with the same grants and no more.
fn hint(context: &Context, settings: &Settings) -> io::Result<()> {
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
