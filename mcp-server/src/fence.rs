//! `--landlock`: the kernel keeps the whole process to what is served, beside what the library does.
//!
//! May touch: `audit`, `settings`, `start`, the roots and the directory of the audit log, as held directories; a socket of HTTP listens already.
//! Raised before the first thread, since the kernel fences in one thread and those that it starts.

use std::fmt;
use std::path::PathBuf;

use cap_roots::config::Landlock;
use cap_roots::landlock::{Fence, Status, Why, kernel, outlook};
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
    /// Nothing is served now; whether there would be one.
    Rehearsed(bool),
}

/// The least level at which nothing is taken away from what tools do: below it, every move between two directories is refused.
const MOVES: u32 = 2;

/// Why none is raised, though the kernel may have one of this level.
pub(crate) fn not_raised(settings: &Settings, writes: bool) -> Option<&'static str> {
    reason(settings.landlock, settings.trusts_clients(), writes, kernel())
}

fn reason(wanted: Landlock, trusts_clients: bool, writes: bool, level: Result<u32, Why>) -> Option<&'static str> {
    if wanted == Landlock::Off {
        Some("it is switched off")
    } else if trusts_clients {
        Some("the roots of clients are grants, and are opened later")
    } else if wanted != Landlock::Require && writes && level.is_ok_and(|level| level < MOVES) {
        Some("this kernel's Landlock would refuse every move between two directories")
    } else {
        None
    }
}

pub(crate) fn writes(roots: &Roots) -> bool {
    roots.list().any(|root| root.access() == Access::Write)
}

/// What would come of it.
pub(crate) fn rehearse(settings: &Settings, roots: &Roots) -> Raised {
    let raised = not_raised(settings, writes(roots)).is_none();
    Raised::Rehearsed(raised && !matches!(outlook(), Status::None { .. }))
}

/// Raises it as the operator wants it, or says in one line why that cannot be.
pub(crate) fn raise(settings: &Settings, roots: &Roots, audit: Option<&audit::Place>) -> Result<Raised, String> {
    let required = settings.landlock == Landlock::Require;
    if settings.landlock != Landlock::Off && settings.trusts_clients() {
        tracing::warn!("the roots of clients are grants and are opened later, so the kernel does not fence this process in");
    }
    if let Some(why) = not_raised(settings, writes(roots)) {
        return Ok(Raised::Not(why.to_owned()));
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
            Self::Up { .. } | Self::Rehearsed(true) => "it is there and the server was started anew",
            Self::Not(_) | Self::Rehearsed(false) => "it is there",
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
            Self::Rehearsed(_) => f.write_str("no fence by the kernel: an explanation does nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a fence of the oldest level, which takes moves away from who may write; one beside grants that come later.
    #[test]
    fn what_stands_in_its_way() {
        let tried =
            |wanted, trusts, writes, level| reason(wanted, trusts, writes, level).unwrap_or("").split(' ').next().unwrap_or("");
        for (wanted, trusts, writes, level, why) in [
            (Landlock::Off, false, false, Ok(7), "it"),
            (Landlock::Auto, true, false, Ok(7), "the"),
            (Landlock::Auto, false, true, Ok(1), "this"),
            (Landlock::Auto, false, false, Ok(1), ""),
            (Landlock::Require, false, true, Ok(1), ""),
            (Landlock::Auto, false, true, Ok(2), ""),
            (Landlock::Auto, false, true, Err(Why::NotThere), ""),
        ] {
            assert_eq!(tried(wanted, trusts, writes, level), why, "{wanted:?} {trusts} {writes} {level:?}");
        }
    }
}
