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
    // One thread for the call, which the system may not let go, and one for its answer.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(2).build()?;
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
    let told = match outcome {
        Ok(result) => runtime.block_on(printed(result)),
        Err(error) => Ok(Err(error)),
    };
    // A thread that the system does not let go must not hold the end.
    runtime.shutdown_background();
    let Err(error) = told? else { return Ok(ExitCode::SUCCESS) };
    writeln!(io::stderr(), "{error}")?;
    let misuse = error.kind() == ErrorKind::InvalidArgument;
    Ok(ExitCode::from(if misuse { MISUSE } else { REFUSED }))
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

/// The answer, on a thread of its own as well: whoever reads slowly is waited for until the process is asked to end.
async fn printed(result: CallToolResult) -> io::Result<Result<(), Error>> {
    let printing = tokio::task::spawn_blocking(move || print(&result));
    tokio::select! {
        done = printing => done.map_err(io::Error::other)?.map(Ok),
        () = shutdown::asked() => Ok(Err(ErrorKind::Cancelled.into())),
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
