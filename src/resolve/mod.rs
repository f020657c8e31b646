//! From a permit to a held handle: the one door from names to open files.
//!
//! May touch: held directories, never a host path (HANDLE-ONLY). Two ways, one answer:
//!
//! - `linux`: one `openat2(2)` with `RESOLVE_BENEATH`, which the kernel confines. Its success is final; so are the failures that mean
//!   the same on every way.
//! - `walk`: one name after the other from the held parent, never following. It decides what the first way cannot: absolute links
//!   that stay inside, names in another Unicode form, kernels without `openat2`, magic links.
//!
//! What success guarantees: the object was reached from the root (or the floor) through names that were below it at that moment, and
//! the authority had not been taken back when the handle was complete. Later changes of names do not move the handle.

pub(crate) mod fold;
#[cfg(target_os = "linux")]
mod linux;
pub(crate) mod step;
pub(crate) mod walk;

use std::path::PathBuf;

use cap_std::fs::{Dir, Metadata};

use crate::error::{Detail, Error, ErrorKind};
use crate::path::relative::RelPath;
use crate::permit::{Permit, Receipt};
use crate::root::Place;
use walk::NoRules;

/// What the caller wants at the end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// A regular file, open for reading; a last link is followed.
    File,
    /// A directory; a last link is followed.
    Dir,
    /// Metadata of what the path leads to.
    Metadata,
    /// Metadata of the last name itself.
    OwnMetadata,
    /// The text of the last name, which must be a link.
    LinkText,
}

impl Want {
    /// Whether a link as the last name is followed. A slash behind the name follows it in any case (POSIX pathname resolution).
    pub(crate) fn follows_last(self, path: &RelPath) -> bool {
        path.must_be_dir() || !matches!(self, Want::OwnMetadata | Want::LinkText)
    }
}

/// What was found at the end.
pub(crate) enum Found {
    File(std::fs::File, Metadata),
    Dir(Dir),
    Metadata(Metadata),
    /// A link's text, and how many directories deep below the floor the link lies, where that is known for sure.
    Link {
        text: PathBuf,
        depth: Option<usize>,
    },
}

/// Uses the permit up. The receipt is closed with the outcome of the operation that the handle is for.
pub(crate) fn resolve(permit: Permit, want: Want) -> Result<(Found, Receipt), Error> {
    let outcome = find(permit.place(), permit.path(), want);
    let receipt = permit.spend();
    match outcome {
        Ok(found) => Ok((found, receipt)),
        Err(error) => receipt.close(Err(error)),
    }
}

fn find(place: &Place, path: &RelPath, want: Want) -> Result<Found, Error> {
    #[cfg(target_os = "linux")]
    if !place.root.shared.without_openat2 {
        let from = place.start.as_ref().map_or(place.floor_dir()?, |start| &start.dir);
        match linux::open(from, path, want) {
            linux::Fast::Found(Found::Link { text, .. }) if needs_depth(&text) => {}
            linux::Fast::Found(found) => return accept(place, found),
            linux::Fast::Refused(error) => return Err(error),
            linux::Fast::Undecided => {}
        }
    }
    accept(place, walk::walk(place, path, want, &mut NoRules)?)
}

/// Judged on what was opened, not on what it was called: type, and the file system it lies on.
fn accept(place: &Place, found: Found) -> Result<Found, Error> {
    match found {
        Found::File(file, metadata) => {
            if metadata.is_dir() {
                return Err(ErrorKind::IsADirectory.into());
            }
            if !metadata.is_file() || is_kernel_file(place, &file, &metadata) {
                return Err(ErrorKind::SpecialFile.into());
            }
            Ok(Found::File(file, metadata))
        }
        Found::Link { text, depth } => {
            check_link_text(&text, depth)?;
            Ok(Found::Link { text, depth })
        }
        other => Ok(other),
    }
}

/// A link's text is shown only if it stays inside by text; anything else would tell about the host (ONE-MOUTH).
fn check_link_text(text: &std::path::Path, depth: Option<usize>) -> Result<(), Error> {
    let path = RelPath::from_disk(text);
    if text.has_root() || path.climbs_above(depth.unwrap_or(0)) {
        return Err(Error::detailed(ErrorKind::OutsideRoots, Detail::LinkTextLeavesRoot));
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn needs_depth(text: &std::path::Path) -> bool {
    RelPath::from_disk(text).climbs_above(0)
}

/// Whether a regular-looking file is made up by the kernel, in a root that is not: reading one can block, or act.
#[cfg(target_os = "linux")]
fn is_kernel_file(place: &Place, file: &std::fs::File, metadata: &Metadata) -> bool {
    use crate::identity::Identity;
    let device = Identity::from(metadata).device;
    if place.root.held().is_some_and(|held| held.identity.device == device) {
        return false;
    }
    step::on_kernel_file_system(file)
}

#[cfg(not(target_os = "linux"))]
fn is_kernel_file(_: &Place, _: &std::fs::File, _: &Metadata) -> bool {
    false
}
