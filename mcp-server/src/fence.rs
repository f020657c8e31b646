//! `--landlock`: the kernel keeps the whole process to what is served, beside what the library does.
//!
//! May touch: `audit`, `settings`, `start`, the roots and the directory of the audit log, as held directories; a socket of HTTP listens already.
//! Raised before the first thread, since the kernel fences in one thread and those that it starts.

use std::fmt;
use std::path::PathBuf;

use cap_roots::config::Landlock;
use cap_roots::landlock::{Fence, Status, kernel};
use cap_roots::{Access, Error, RootInfo, Roots};

use crate::audit;
use crate::settings::Settings;
use crate::start::shown;

/// What came of it.
pub(crate) enum Raised {
    /// The kernel refuses this much; and the directory of the log, where that is more than one of logs.
    Up { status: Status, wide: Option<PathBuf> },
    /// No fence, for this reason.
    Not(String),
}

/// The least level at which nothing is taken away from what tools do: below it, every move between two directories is refused.
const MOVES: u32 = 2;

/// Raises it as the operator wants it, or says in one line why that cannot be.
pub(crate) fn raise(settings: &Settings, roots: &Roots, audit: Option<&audit::Place>) -> Result<Raised, String> {
    let required = match settings.landlock {
        Landlock::Off => return Ok(Raised::Not("it is switched off".to_owned())),
        Landlock::Require => true,
        _ => false,
    };
    if settings.trusts_clients() {
        tracing::warn!("the roots of clients are grants and are opened later, so the kernel does not fence this process in");
        return Ok(Raised::Not("the roots of clients are grants, and are opened later".to_owned()));
    }
    let writes = roots.list().any(|root| root.access() == Access::Write);
    if !required && writes && kernel().is_ok_and(|level| level < MOVES) {
        return Ok(Raised::Not("this kernel's Landlock would refuse every move between two directories".to_owned()));
    }
    let wide = audit.and(settings.audit.as_deref()).and_then(|file| too_wide(file.parent()?.to_owned(), roots));
    let raised = fence(roots, audit).and_then(|fence| if required { fence.require() } else { fence.apply() });
    match raised {
        Ok(Status::None { why, .. }) => Ok(Raised::Not(why.to_string())),
        Ok(status) => Ok(Raised::Up { status, wide }),
        Err(error) if required => Err(error
            .advise("start it on Linux 6.12 or newer with Landlock, or with --landlock auto for what there is")
            .to_string()),
        Err(error) => {
            tracing::warn!("the kernel does not fence this process in: {error}");
            Ok(Raised::Not("the kernel does not take it".to_owned()))
        }
    }
}

fn fence(roots: &Roots, audit: Option<&audit::Place>) -> Result<Fence, Error> {
    let fence = Fence::around(roots)?;
    Ok(match audit {
        Some(place) => fence.log_directory(place.directory()?),
        None => fence,
    })
}

/// The real path of the log's directory, if a root or the home directory lies in it.
fn too_wide(dir: PathBuf, roots: &Roots) -> Option<PathBuf> {
    let real = |path: PathBuf| Some(Roots::builder().root(path, Access::List).open().ok()?.list().next()?.real_path());
    let dir = real(dir)?;
    let below = |path: PathBuf| path.starts_with(&dir);
    (roots.list().any(|root| below(root.real_path())) || real("~/".into()).is_some_and(below)).then_some(dir)
}

impl Raised {
    /// What the operator should know of the log's directory, and of directories that are missing.
    pub(crate) fn warn(&self, settings: &Settings, roots: &Roots) {
        if let Self::Up { wide: Some(dir), .. } = self {
            tracing::warn!(
                "the audit file's directory {} holds more than logs, and the kernel has to let files below it be written; name a file in a directory \
                 of its own",
                shown(dir)
            );
        }
        let until = match self {
            Self::Up { .. } => "it is there and the server was started anew",
            Self::Not(_) => "it is there",
        };
        for root in roots.list().filter(RootInfo::is_absent) {
            tracing::warn!(
                "the directory {} is missing; its files cannot be reached until {until}{}",
                shown(&root.host_path()),
                settings.meant_as_name(root.position())
            );
        }
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Up { status, .. } => status.fmt(f),
            Self::Not(why) => write!(f, "no fence by the kernel: {why}"),
        }
    }
}
