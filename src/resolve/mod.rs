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
#[cfg(windows)]
pub(crate) mod joined;
mod judge;
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
mod linux;
pub(crate) mod mounts;
pub(crate) mod names;
pub(crate) mod slot;
pub(crate) mod step;
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
#[cfg(test)]
mod table;
pub(crate) mod walk;
pub(crate) mod way;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::access::Access;
use crate::error::{Detail, Error, ErrorKind};
use crate::explain::Resolver;
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::path::relative::{RelPath, Step};
use crate::path::style::PathStyle;
use crate::permit::{Permit, Receipt};
use crate::root::{Floor, Place, Start};
use crate::rule::Level;
use judge::RuleJudge;
pub(crate) use slot::Slot;
use step::Entered;

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
    /// The last name and the directory that it is in, be anything there or not; for what acts on the name itself.
    Name,
    /// The same behind a last link, and the links behind that one; for what acts on the file that the path leads to.
    Target,
}

impl Want {
    /// Whether a link as the last name is followed. A slash behind the name follows it in any case (POSIX pathname resolution).
    pub(crate) fn follows_last(self, path: &RelPath) -> bool {
        match self {
            Want::Name => false,
            Want::OwnMetadata | Want::LinkText => path.must_be_dir(),
            Want::File | Want::Dir | Want::Metadata | Want::Target => true,
        }
    }

    /// Whether a name in a directory is wanted, and not what it leads to.
    pub(crate) fn is_slot(self) -> bool {
        matches!(self, Want::Name | Want::Target)
    }
}

/// What was found at the end.
pub(crate) enum Found {
    File(std::fs::File, Metadata),
    /// A directory, and what the rules say of it by the names that led to it. Also where a slot was wanted, and the path ends with `..`
    /// or is the directory that it starts from.
    Dir(Dir, Level),
    Metadata(Metadata),
    /// A link's text, and how many directories deep below the floor the link lies, where that is known for sure.
    Link {
        text: PathBuf,
        depth: Option<usize>,
    },
    Slot(Slot),
}

impl Found {
    /// Whether the rules for directories hold for it; for a slot that is seen when its name is looked at.
    fn is_dir_or_link(&self) -> bool {
        match self {
            Found::Dir(..) | Found::Link { .. } => true,
            Found::Metadata(metadata) => metadata.is_dir() || metadata.is_symlink(),
            Found::File(_, metadata) => metadata.is_dir(),
            Found::Slot(_) => false,
        }
    }
}

/// Uses the permit up. The receipt is closed with the outcome of the operation that the handle is for.
pub(crate) fn resolve(permit: Permit, want: Want) -> Result<(Found, Receipt), Error> {
    let outcome = find(&permit, want);
    let receipt = permit.spend();
    match outcome {
        Ok(found) => Ok((found, receipt)),
        Err(error) => receipt.close(Err(error)),
    }
}

/// Looks at the same path again, for another thing at its end. What was permitted stays the same.
pub(crate) fn again(receipt: &Receipt, want: Want) -> Result<Found, Error> {
    find(receipt.permit(), want)
}

/// The real names from the root to what the path leads to, and what that is. `dir`: it has to be a directory.
pub(crate) fn real_names(permit: Permit, dir: bool) -> Result<((RelPath, Found), Receipt), Error> {
    let found = ground(permit.place()).and_then(|place| {
        let mut judge = RuleJudge::new(&place, permit.need(), permit.makes_dir());
        let (names, found) = walk::real_names(&place, permit.path(), dir, &mut judge)?;
        judge.finish(found.is_dir_or_link())?;
        Ok((place.path_from_root(&names), found))
    });
    let receipt = permit.spend();
    match found {
        Ok(names) => Ok((names, receipt)),
        Err(error) => receipt.close(Err(error)),
    }
}

/// A directory that the permitted path leads through.
pub(crate) fn on_the_way(receipt: &Receipt, prefix: &RelPath) -> Result<Found, Error> {
    let place = ground(receipt.place())?;
    let mut judge = RuleJudge::new(&place, Access::List, false);
    let found = walk::walk(&place, prefix, Want::Dir, &mut judge)?;
    accept(&place, &judge, Want::Dir, found)
}

/// The same for whoever only wants to know: what is at the end, and which way told.
pub(crate) fn rehearse(permit: &Permit, want: Want) -> (Resolver, Result<Found, Error>) {
    let mut by = Resolver::Walk;
    let found = find_by(permit, want, &mut by);
    (by, found)
}

/// The real names on the way of a path, up to the one that is refused, if one is: for telling which rule refuses it. Nothing behind that one is
/// looked at, so they do not tell what is there.
pub(crate) fn names_until_refused(permit: &Permit, want: Want) -> Result<RelPath, Error> {
    let place = ground(permit.place())?;
    let mut judge = judge::Traced::new(RuleJudge::new(&place, permit.need(), permit.makes_dir()));
    // However it ends: what is asked for are the names that were met.
    let _ = walk::walk(&place, permit.path(), want, &mut judge);
    Ok(place.path_from_root(&judge.names()))
}

fn find(permit: &Permit, want: Want) -> Result<Found, Error> {
    find_by(permit, want, &mut Resolver::Walk)
}

#[cfg_attr(any(not(target_os = "linux"), cap_roots_portable), allow(unused_variables, reason = "there is one way"))]
fn find_by(permit: &Permit, want: Want, by: &mut Resolver) -> Result<Found, Error> {
    let place = ground(permit.place())?;
    let path = permit.path();
    let mut judge = RuleJudge::new(&place, permit.need(), permit.makes_dir());
    #[cfg(all(target_os = "linux", not(cap_roots_portable)))]
    if !place.root().shared.without_openat2
        && let Some(level) = permit.level()
        && !judge.needs_walk(path)
    {
        let from = place.start.as_ref().map_or(place.floor_dir()?, |start| &start.dir);
        match linux::open(from, path, want, level, judge.is_empty(), place.mounts()?) {
            linux::Fast::Found(Found::Link { text, .. }) if needs_depth(&text) => {}
            linux::Fast::Found(found) => {
                judge.stand_at(level);
                *by = Resolver::OneCall;
                return accept(&place, &judge, want, found);
            }
            linux::Fast::Refused(error) => {
                *by = Resolver::OneCall;
                return Err(error);
            }
            linux::Fast::Undecided => {}
        }
    }
    let found = walk::walk(&place, path, want, &mut judge)?;
    accept(&place, &judge, want, found)
}

/// The place with its floor as a handle. Names are looked up from the root each time, and never through a link.
fn ground(place: &Place) -> Result<Cow<'_, Place>, Error> {
    let Floor::Names(names) = &place.floor else { return Ok(Cow::Borrowed(place)) };
    let mut at = Arc::clone(place.floor_dir()?);
    let mounts = place.mounts()?;
    for step in names.steps() {
        let Step::Name(name) = step else { return Err(ErrorKind::OutsideRoots.into()) };
        at = match step::enter(&at, name, mounts).map_err(|error| Error::from_io(&error))? {
            Entered::Dir(dir) => Arc::new(dir),
            Entered::Link(_) | Entered::Other => return Err(ErrorKind::NotADirectory.into()),
        };
    }
    let held = Start { dir: at, path: RelPath::clone(names), level: place.floor_level().into_owned() };
    Ok(Cow::Owned(Place { floor: Floor::Dir(Arc::new(held)), ..place.clone() }))
}

/// Judged on what was opened, not on what it was called: type, rules for that type, and the file system it lies on.
fn accept(place: &Place, judge: &RuleJudge<'_>, want: Want, found: Found) -> Result<Found, Error> {
    judge.finish(found.is_dir_or_link())?;
    match found {
        Found::File(_, metadata) | Found::Metadata(metadata) if want == Want::File && !metadata.is_file() => {
            Err(if metadata.is_dir() { ErrorKind::IsADirectory } else { ErrorKind::SpecialFile }.into())
        }
        Found::File(file, metadata) => {
            if is_kernel_file(place, &file, metadata.identity)? {
                return Err(ErrorKind::SpecialFile.into());
            }
            check_names(place, metadata.links())?;
            Ok(Found::File(file, metadata))
        }
        // What acts on a name would act on whatever has taken the file's.
        Found::Slot(slot) if place.only.is_some() => {
            let slot = Slot { only_file: true, ..slot };
            match step::see(&slot.dir, &slot.name, slot.mounts) {
                Ok(seen) if !slot.admits(&seen.metadata) => Err(ErrorKind::OutsideRoots.into()),
                _ => Ok(Found::Slot(slot)),
            }
        }
        Found::Link { text, depth } => {
            check_link_text(&text, depth)?;
            Ok(Found::Link { text, depth })
        }
        Found::Metadata(_) if want == Want::LinkText => Err(Error::detailed(ErrorKind::InvalidArgument, Detail::NotALink)),
        other => Ok(other),
    }
}

/// Where the operator wants files with one name only.
pub(crate) fn check_names(place: &Place, names: u64) -> Result<(), ErrorKind> {
    let refused = place.root().shared.refuse_hard_links && names > 1;
    if refused { Err(ErrorKind::HardLinked) } else { Ok(()) }
}

/// A link's text is shown only if it stays inside by text; anything else would tell about the host (ONE-MOUTH).
fn check_link_text(text: &std::path::Path, depth: Option<usize>) -> Result<(), Error> {
    let path =
        RelPath::of_link(text, PathStyle::host()).filter(|path| !text.has_root() && !path.climbs_above(depth.unwrap_or(0)));
    if path.is_none() {
        return Err(Error::detailed(ErrorKind::OutsideRoots, Detail::LinkTextLeavesRoot));
    }
    Ok(())
}

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
fn needs_depth(text: &std::path::Path) -> bool {
    RelPath::from_disk(text).climbs_above(0)
}

/// Whether a regular-looking file is made up by the kernel, in a root that is not: reading one can block, or act. Where the system does not
/// tell, it is not opened. macOS and Windows make up none that look like regular files.
pub(crate) fn is_kernel_file(place: &Place, file: &std::fs::File, identity: Identity) -> Result<bool, Error> {
    if cfg!(any(windows, target_vendor = "apple"))
        || place.root().held().is_some_and(|held| held.identity.device == identity.device)
    {
        return Ok(false);
    }
    step::on_kernel_file_system(file).map_err(|error| Error::from_io(&error))
}
