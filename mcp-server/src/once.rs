//! Without a client: one call. For people, scripts and first tries.
//!
//! May touch: `context`, `output`, `server`, `shutdown`, `signals`, `tools`, `work`.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use cap_roots::{Error, ErrorKind};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::context::Context;
use crate::work::Work;
use crate::{output, server, shutdown, signals, tools};

pub(crate) const REFUSED: u8 = 1;
/// As `clap` ends for a command line that does not parse.
pub(crate) const MISUSE: u8 = 2;

/// Most bytes of arguments that are read from standard input: those of a message.
const ARGUMENTS: u64 = 64 << 20;

/// `--call`: the answer on standard output, a refusal on standard error.
pub(crate) fn call(context: &Context, tool: &str, arguments: &str, deadline: Duration) -> io::Result<ExitCode> {
    // A thread for the call, one for its answer and one for what is to be said of it: none of them has to end.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(3).build()?;
    let ended = answer(&runtime, context, tool, arguments, deadline);
    // A thread that the system does not let go must not hold the end.
    runtime.shutdown_background();
    ended
}

fn answer(runtime: &Runtime, context: &Context, tool: &str, arguments: &str, deadline: Duration) -> io::Result<ExitCode> {
    let read = if arguments == "-" { read_arguments()? } else { arguments.to_owned() };
    let outcome = match context.audit.call(None, tool) {
        Ok(call) => {
            let outcome = match serde_json::from_str(&read) {
                Ok(Value::Object(arguments)) => {
                    let context = Context { roots: call.watch(context.roots.clone()), ..context.clone() };
                    runtime.block_on(run(&context, tool, arguments, deadline))?
                }
                _ => Err(Error::invalid_argument("the arguments are not a JSON object")
                    .advise("give them as in --args '{\"path\":\".\"}', or by standard input with --args -")),
            };
            call.answered(&outcome);
            outcome
        }
        Err(busy) => Err(busy),
    };
    let (line, status) = match outcome {
        Ok(result) => match runtime.block_on(unless_asked_to_end(move || print(&result)))? {
            Some(()) => return Ok(ExitCode::SUCCESS),
            None => ("cancelled: the answer was not read to its end; what the call did is done".to_owned(), REFUSED),
        },
        Err(error) if error.kind() == ErrorKind::InvalidArgument => (error.to_string(), MISUSE),
        Err(error) => (error.to_string(), REFUSED),
    };
    runtime.block_on(unless_asked_to_end(move || writeln!(io::stderr(), "{line}")))?;
    Ok(ExitCode::from(status))
}

/// What stands on standard input; nothing that parses where that is too much or no text.
fn read_arguments() -> io::Result<String> {
    let mut arguments = Vec::new();
    io::stdin().take(ARGUMENTS + 1).read_to_end(&mut arguments)?;
    let fits = u64::try_from(arguments.len()).is_ok_and(|length| length <= ARGUMENTS);
    Ok(String::from_utf8(arguments).ok().filter(|_| fits).unwrap_or_default())
}

/// The call on a thread of its own, until it is done, its time is over, or the process is asked to end.
async fn run(
    context: &Context,
    tool: &str,
    arguments: JsonObject,
    deadline: Duration,
) -> io::Result<Result<CallToolResult, Error>> {
    signals::ignore_size_limit()?;
    let work = Work::until(deadline);
    let (context, tool, at_work) = (context.clone(), tool.to_owned(), work.clone());
    let call = tokio::task::spawn_blocking(move || tools::call(&context, &at_work, &tool, arguments));
    let working = async { call.await.map_err(|fault| ErrorData::internal_error(fault.to_string(), None)) };
    let stopped = async {
        tokio::select! {
            () = shutdown::asked() => ErrorKind::Cancelled,
            () = tokio::time::sleep(deadline) => ErrorKind::Timeout,
        }
    };
    server::outcome(working, stopped, || work.stop(), server::GRACE).await.map_err(io::Error::other)
}

/// Writes on a thread of its own: whoever reads slowly is waited for until the process is asked to end.
async fn unless_asked_to_end(write: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<Option<()>> {
    let writing = tokio::task::spawn_blocking(write);
    tokio::select! {
        done = writing => done.map_err(io::Error::other)?.map(Some),
        () = shutdown::asked() => Ok(None),
    }
}

/// The content on standard output, so that it can be piped; notices on standard error.
fn print(result: &CallToolResult) -> io::Result<()> {
    let (mut out, mut blocks) = (output::stdout(), result.content.iter());
    match blocks.next() {
        Some(ContentBlock::Text(content)) => {
            let end = if content.text.is_empty() || content.text.ends_with('\n') { "" } else { "\n" };
            write!(out, "{}{end}", content.text)?;
        }
        Some(block) => writeln!(out, "{}", serde_json::to_string(block)?)?,
        None => {}
    }
    out.flush()?;
    for block in blocks {
        if let ContentBlock::Text(notice) = block {
            writeln!(io::stderr(), "{}", notice.text)?;
        }
    }
    Ok(())
}
