//! `cap-roots-mcp`: a filesystem MCP server on [`cap_roots`], as a program. This library is no API: it has one function, which is the
//! program.
//!
//! Operator configuration to roots, roots to tools, tools to a transport; nothing else. Standard output carries protocol messages
//! only, or the answer of `--call`.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests build trees by path"))]

mod arguments;
mod audit;
mod client_roots;
mod context;
mod doctor;
mod edit;
mod explain;
mod fence;
mod grep;
mod http;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod listing;
mod logs;
mod once;
mod options;
mod output;
mod page;
mod progress;
mod resources;
mod screen;
mod serve;
mod server;
mod settings;
mod shutdown;
mod signals;
mod start;
mod stdio;
mod tools;
mod turns;
mod walk;
mod weight;
mod work;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cap_roots::{Roots, config};

use audit::Audit;
use context::{Context, Walks};
use options::Options;
use settings::Settings;
use walk::Cursors;

/// The program: reads its command line, and serves until its client has left or it is told to end.
#[must_use]
pub fn main() -> ExitCode {
    let (options, grants) = match Options::read() {
        Ok(read) => read,
        Err(line) => return fail(&line),
    };
    logs::start(options.log_format);
    options.choose_colours();
    let done = if options.config_schema {
        writeln!(output::stdout(), "{}", config::json_schema()).map(|()| ExitCode::SUCCESS)
    } else if options.doctor {
        match Settings::of(&options, grants) {
            Ok(settings) => doctor::doctor(&settings),
            Err(line) => return fail(&line),
        }
    } else {
        match Settings::of(&options, grants).and_then(|mut settings| Ok((start::open(&mut settings)?, settings))) {
            Ok(((roots, audit), settings)) => run(roots, &options, &Arc::new(settings), audit),
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

fn run(roots: Roots, options: &Options, settings: &Arc<Settings>, audit: Option<audit::Place>) -> io::Result<ExitCode> {
    let offered = tools::offered(&roots, client_roots::most(settings), !settings.no_delete, &settings.tools);
    if offered.is_empty() {
        return Ok(fail("invalid-argument: no tool is left to be offered; name more in --tools, or fewer in --disable-tools"));
    }
    let without_client = options.call.is_some() || options.explain.is_some();
    let walks = Walks {
        ignored: settings.ignored.clone(),
        gitignore: settings.gitignore,
        // The key ends with the process.
        cursors: if without_client { None } else { Some(Cursors::new()?) },
    };
    // What listens is made before the fence, which lets nothing listen.
    let bound = match settings.http.as_ref().map(http::Bound::of).transpose() {
        Ok(bound) => bound,
        Err(line) => return Ok(fail(&line)),
    };
    // An explanation is for the operator, and is none of a client's doings.
    let audit = audit.filter(|_| options.explain.is_none());
    work::processors();
    let fence = if options.explain.is_some() {
        fence::rehearse(settings, &roots)
    } else {
        match fence::raise(settings, &roots, audit.as_ref()) {
            Ok(fence) => fence,
            Err(line) => return Ok(fail(&line)),
        }
    };
    if audit.is_some() {
        // The log may have come to the limit already.
        signals::ignore_size_limit_by_itself()?;
    }
    let audit = match Audit::start(audit, &roots) {
        Ok(audit) => audit,
        Err(line) => return Ok(fail(&line)),
    };
    fence.warn(settings, &roots);
    tracing::info!("{fence}");
    let context = Context {
        roots,
        offered,
        limits: settings.limits,
        walks,
        hide_host_paths: settings.hide_host_paths,
        audit: audit.clone(),
    };
    let done = match (&options.call, &options.explain) {
        (Some(tool), _) => once::call(&context, tool, &options.args, Duration::from_secs(settings.seconds)),
        (None, Some(path)) => explain::explain(&context, path, options.op),
        (None, None) => serve::serve(context, settings, bound, &fence),
    };
    audit.stop();
    done
}

/// One line on standard error, and a status that is not 0.
fn fail(line: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "cap-roots-mcp: {line}");
    ExitCode::from(once::MISUSE)
}
