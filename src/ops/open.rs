//! Opening files and directories, and reading whole files.
//!
//! May touch: `permit`, `resolve`.

use std::sync::Arc;

use crate::access::Operation;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::ops::contradiction;
use crate::path::relative::RelPath;
use crate::permit::Permit;
use crate::resolve::{Found, Want, resolve};
use crate::root::Place;

pub(crate) fn file(place: Place, path: RelPath) -> Result<File> {
    let root = Arc::clone(&place.root);
    match resolve(Permit::issue(place, path, Operation::Open)?, Want::File)? {
        Found::File(file, metadata) => Ok(File::new(file, metadata, root)),
        _ => Err(contradiction()),
    }
}

pub(crate) fn dir(place: Place, path: RelPath) -> Result<Dir> {
    let root = Arc::clone(&place.root);
    let prefix = place.path_from_root(&path);
    match resolve(Permit::issue(place, path, Operation::OpenDir)?, Want::Dir)? {
        Found::Dir(dir) => Ok(Dir::new(root, Arc::new(dir), prefix)),
        _ => Err(contradiction()),
    }
}

pub(crate) fn read(place: Place, path: RelPath) -> Result<Vec<u8>> {
    let limit = place.root.shared.read_limit;
    file(place, path)?.read_all(limit)
}

pub(crate) fn read_to_string(place: Place, path: RelPath) -> Result<String> {
    String::from_utf8(read(place, path)?).map_err(|_| Error::from(ErrorKind::NotUtf8))
}
