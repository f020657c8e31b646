//! Opening files and directories, and reading whole files.
//!
//! May touch: `permit`, `resolve`.

use std::sync::Arc;

use crate::access::{Access, Operation};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file::{self, File};
use crate::metadata::Metadata;
use crate::ops::contradiction;
use crate::path::region::Region;
use crate::path::relative::RelPath;
use crate::permit::Permit;
use crate::resolve::{self, Found, Want, resolve};
use crate::root::Place;

pub(crate) fn file(place: Place, path: RelPath) -> Result<File> {
    let (found, mut receipt) = resolve(Permit::issue(place, path, Operation::Open)?, Want::File)?;
    let outcome = opened(found);
    if let Ok((_, metadata)) = &outcome {
        receipt.count(metadata.len());
    }
    receipt.close_with(outcome, |(file, metadata), authority| File::new(file, metadata, authority, Access::Read))
}

fn opened(found: Found) -> Result<(std::fs::File, Metadata)> {
    match found {
        Found::File(file, metadata) => Ok((file, metadata)),
        _ => Err(contradiction()),
    }
}

pub(crate) fn dir(place: Place, path: RelPath) -> Result<Dir> {
    let prefix = place.path_from_root(&path);
    let (found, receipt) = resolve(Permit::issue(place, path, Operation::OpenDir)?, Want::Dir)?;
    let outcome = match found {
        Found::Dir(dir, level) => Ok((dir, level)),
        _ => Err(contradiction()),
    };
    receipt.close_with(outcome, |(dir, level), authority| Dir::new(authority, Arc::new(dir), prefix, level))
}

/// The names from the root to a directory, with no link among them.
pub(crate) fn real_names(place: Place, path: RelPath) -> Result<RelPath> {
    let ((names, _), receipt) = resolve::real_names(Permit::issue(place, path, Operation::Within)?, true)?;
    receipt.close(Ok(names))
}

/// The part of a root that a directory or a regular file is.
pub(crate) fn region(place: Place, path: RelPath) -> Result<Region> {
    let ((names, found), receipt) = resolve::real_names(Permit::issue(place, path, Operation::Within)?, false)?;
    receipt.close(match found {
        Found::Metadata(metadata) if metadata.is_dir() => Ok(Region::directory(names)),
        Found::Metadata(metadata) if metadata.is_file() => Region::file(&names).ok_or_else(contradiction),
        _ => Err(ErrorKind::SpecialFile.into()),
    })
}

pub(crate) fn read(place: Place, path: RelPath) -> Result<Vec<u8>> {
    let (found, mut receipt) = resolve(Permit::issue(place, path, Operation::Open)?, Want::File)?;
    let (authority, limit) = (receipt.authority(), receipt.place().root().shared.read_limit);
    let outcome = opened(found).and_then(|(file, metadata)| file::read_to_limit(&file, authority, metadata.len(), limit));
    receipt.count(outcome.as_ref().map_or(0, Vec::len));
    receipt.close(outcome)
}

pub(crate) fn read_to_string(place: Place, path: RelPath) -> Result<String> {
    String::from_utf8(read(place, path)?).map_err(|_| Error::from(ErrorKind::NotUtf8))
}
