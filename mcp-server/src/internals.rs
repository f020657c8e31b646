//! What the fuzz targets call: the edits, the globs, a tool, a session. No part of any API; it changes with every version.
//!
//! May touch: everything beside it, as the program does; nothing beside it may touch this.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use cap_roots::{Access, Result, Roots};
use cap_roots_rmcp::ClientRoots;
use rmcp::model::{CallToolResult, JsonObject};
use tokio::runtime::Runtime;

use crate::audit::Audit;
use crate::context::{Context, Limits, Walks};
use crate::edit;
use crate::serve;
use crate::server::Server;
use crate::stdio;
use crate::tools::{self, Chosen};
use crate::turns::Turns;
use crate::walk::{self, Cursors, Ignored};
use crate::work::Work;

/// Old text, new text, and whether every place is meant.
pub type Edit<'a> = (&'a str, &'a str, bool);

/// `text` after all of `edits`, each of which may leave at most `limit` bytes, and the numbers of those that changed nothing.
///
/// # Errors
/// As `edit_file`, that of the first edit that fails.
pub fn edit(text: &str, edits: &[Edit<'_>], limit: usize) -> Result<(String, Vec<usize>)> {
    let edits: Vec<_> =
        edits.iter().map(|(old, new, all)| edit::Edit { old: (*old).to_owned(), new: (*new).to_owned(), all: *all }).collect();
    edit::apply(text, &edits, limit, &Work::default()).map(|edited| (edited.text, edited.idle))
}

/// What `edit_file` answers with. `late`: there is no time left to look for the smallest one.
#[must_use]
pub fn diff(path: &str, old: &str, new: &str, limit: usize, late: bool) -> String {
    let time = Duration::from_secs(if late { 0 } else { 60 });
    edit::unified_diff(path, old, new, limit, Instant::now() + time)
}

/// Which globs fit at any depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Floats {
    /// Those without wildcard or slash.
    PlainNames,
    /// Those without `*`.
    WithoutStar,
    /// Those without a slash.
    WithoutSlash,
}

/// Globs of callers.
#[derive(Debug)]
pub struct Globs(walk::Globs);

impl Globs {
    /// `fold`: whether case counts not.
    ///
    /// # Errors
    /// `invalid-argument` that says what is wrong with which glob.
    pub fn new(globs: &[&str], floats: Floats, fold: bool) -> Result<Self> {
        let anchor = match floats {
            Floats::PlainNames => walk::Anchor::PlainNamesFloat,
            Floats::WithoutStar => walk::Anchor::WithoutStarFloats,
            Floats::WithoutSlash => walk::Anchor::WithoutSlashFloats,
        };
        walk::Globs::of("pattern", globs, anchor, fold).map(Self)
    }

    /// Whether one of them fits a path below the directory that is walked.
    #[must_use]
    pub fn fits(&self, path: &str, is_dir: bool) -> bool {
        self.0.fits(Path::new(path), is_dir)
    }
}

/// How long a call may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// The server on some roots, without a command line. Sessions come one after the other.
pub struct Host {
    context: Context,
    client: ClientRoots,
    turns: Turns,
    runtime: Runtime,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("context", &self.context).finish_non_exhaustive()
    }
}

impl Host {
    /// `ignored`: lines as for `--ignore`; `entries`: most in one answer.
    ///
    /// # Errors
    /// Those of the system, and `invalid-argument` for a line that cannot be read.
    pub fn new(roots: Roots, hide_host_paths: bool, ignored: &[&str], entries: usize) -> io::Result<Self> {
        let chosen = Chosen::of(None, std::iter::empty()).map_err(|(_, line)| io::Error::other(line))?;
        let turns = Turns::new(roots.list().count());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(turns.most() + ClientRoots::THREADS)
            .enable_all()
            .build()?;
        let context = Context {
            offered: tools::offered(&roots, Access::Write, true, &chosen),
            limits: Limits { text_bytes: 64 << 10, media_bytes: 64 << 10, entries, depth: 60 },
            walks: Walks {
                ignored: Ignored::of(ignored.iter().copied()).map_err(io::Error::other)?,
                gitignore: false,
                cursors: Some(Cursors::new()?),
            },
            hide_host_paths,
            audit: Audit::default(),
            roots,
        };
        Ok(Self { client: ClientRoots::off(context.roots.clone()), context, turns, runtime })
    }

    /// One call of a tool, without a protocol around it; and how many entries it looked at.
    pub fn call(&self, tool: &str, arguments: JsonObject) -> (Result<CallToolResult>, u64) {
        let work = Work::until(DEADLINE);
        (tools::call(&self.context, &work, tool, arguments), work.seen())
    }

    /// One session, by the lines of the wire, until `input` ends and all is answered.
    ///
    /// # Errors
    /// Those that end the program with one line.
    pub fn session(&self, input: impl BufRead + Send + 'static, output: impl Write + Send + 'static) -> io::Result<()> {
        let server = Server::new(self.context.clone(), self.client.clone(), DEADLINE, self.turns.clone());
        self.runtime.block_on(async {
            let streams = stdio::of(input, output, stdio::Limits::default())?;
            serve::over(streams, server, &self.client, &self.turns, std::future::pending()).await
        })
    }
}
