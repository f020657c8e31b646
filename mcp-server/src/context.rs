//! What every call works with: its roots, the tools that there are, and what an answer may cost.
//!
//! May touch: `audit`, `tools`, `work`, the tools' table as a list, what `walk` keeps between calls.

use cap_roots::Roots;

use crate::audit::Audit;
use crate::tools::Offered;
use crate::walk::{Cursors, Ignored};
use crate::work::Work;

/// What one answer may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most bytes of text in one answer, over all its files.
    pub(crate) text_bytes: u64,
    /// Largest file that is answered as media, before base64.
    pub(crate) media_bytes: u64,
    /// Most entries in one listing.
    pub(crate) entries: usize,
    /// How deep walks go.
    pub(crate) depth: usize,
}

/// What walks leave out, and how they are gone on with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walks {
    /// The operator's list.
    pub(crate) ignored: Ignored,
    /// Whether `.gitignore` files count where a call does not say.
    pub(crate) gitignore: bool,
    /// Where there is nobody to go on, there are none.
    pub(crate) cursors: Option<Cursors>,
}

/// What every call works with.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) roots: Roots,
    /// The tools that there are, whatever a call can reach.
    pub(crate) offered: Offered,
    pub(crate) limits: Limits,
    pub(crate) walks: Walks,
    pub(crate) hide_host_paths: bool,
    pub(crate) audit: Audit,
}

impl Context {
    /// The same for one call. Beside the loops here, each step of the library ends with it: a deletion or a copy stops in the middle of a
    /// tree.
    pub(crate) fn until_stopped(&self, work: &Work) -> Context {
        Context { roots: self.roots.until_cancelled(work.flag()), ..self.clone() }
    }

    /// How to speak of `path` in an answer: as the caller wrote it, unless host paths are hidden and it may be one.
    pub(crate) fn label(&self, path: &str) -> String {
        if !self.hide_host_paths {
            return cap_roots::escape(path);
        }
        self.roots.uri(path).unwrap_or_else(|_| "a path outside".to_owned())
    }
}
