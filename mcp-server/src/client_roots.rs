//! What the roots of clients count for (`--client-roots`): the operator's word, put into the adapter's terms.
//!
//! The protocol has deprecated roots. When it drops them, this file goes, and every call gets the operator's roots.
//!
//! May touch: `audit`, `settings`.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use cap_roots::config::ClientRoots as Mode;
use cap_roots::{Access, Error, ErrorKind, Roots, escape};
use cap_roots_rmcp::ClientRoots;

use crate::audit::Audit;
use crate::settings::Settings;

/// How long a client is waited for that was asked for its roots.
const ANSWER: Duration = Duration::from_secs(5);

/// Most directories that [`ClientRoots::trust`] opens for one client.
const TRUSTED: usize = 32;

/// Most entries of a list that are told of one by one.
const TOLD: usize = 8;

/// Who decides on the roots of each call. Where directories were named, a trusted client narrows like any other.
pub(crate) fn client_roots(settings: &Arc<Settings>, roots: Roots, audit: &Audit) -> Result<ClientRoots, Error> {
    let named = roots.list().next().is_some();
    let roots = audit.watch(roots, "roots/list");
    let (access, mode) = match settings.client_roots {
        Mode::Off => return Ok(ClientRoots::off(roots)),
        _ if named => return Ok(limited(ClientRoots::narrow(roots), settings).observe(tell(Mode::Narrow, audit))),
        Mode::Trust => (Access::Write, Mode::Trust),
        _ => (Access::Read, Mode::TrustRead),
    };
    if settings.client_roots == Mode::Narrow {
        // Nothing was granted, and of nothing nothing is left.
        return Ok(ClientRoots::off(roots));
    }
    let (terms, rules) = (Arc::clone(settings), Arc::clone(settings));
    let grant = move |path| terms.trusted(path, access);
    Ok(limited(ClientRoots::trust(move || rules.builder(), grant)?, settings).observe(tell(mode, audit)))
}

/// A call's time is for its client's roots as well.
fn limited(client: ClientRoots, settings: &Settings) -> ClientRoots {
    let call = Duration::from_secs(settings.seconds);
    client.deadline(ANSWER.min(call)).disk_deadline(call)
}

/// Most roots that calls may be at work in at once, as far as they can be told apart.
pub(crate) fn count(settings: &Settings, roots: &Roots) -> usize {
    let named = roots.list().count();
    if named == 0 && settings.trusts_clients() { TRUSTED } else { named }
}

/// Most that any client may get: what tools are offered for.
pub(crate) fn most(settings: &Settings) -> Access {
    if settings.client_roots == Mode::TrustRead { Access::Read } else { Access::Write }
}

/// Tells the operator what a client's list came to: in the audit log, and on standard error in any case where the client's word was taken for a grant.
fn tell(mode: Mode, audit: &Audit) -> impl Fn(&Roots, &[(usize, Error)]) + Send + Sync + 'static {
    let audit = audit.clone();
    move |roots, refused| {
        audit.tell(roots);
        for root in roots.list() {
            let (path, access) = (escape(&root.real_path().to_string_lossy()), root.access());
            if matches!(mode, Mode::Trust | Mode::TrustRead) {
                let _ = writeln!(std::io::stderr(), "cap-roots-mcp: a root of the client is served: {path} ({access})");
            } else {
                tracing::info!("a root of the client leaves {path} ({access})");
            }
        }
        for (index, error) in refused.iter().take(TOLD) {
            // What is wrong with a URI is worth a sentence; the others have nothing to add to their code.
            let why = if error.kind() == ErrorKind::InvalidUri { error.to_string() } else { error.code().to_owned() };
            tracing::warn!("entry {} of the client's roots counts for nothing: {why}", index + 1);
        }
        if let Some(more) = refused.len().checked_sub(TOLD).filter(|more| *more > 0) {
            tracing::warn!("{more} more entries of the client's roots count for nothing");
        }
    }
}
