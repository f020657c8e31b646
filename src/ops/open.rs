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
use crate::root::{Place, Root};

pub(crate) fn file(place: Place, path: RelPath) -> Result<File> {
    let root = Arc::clone(&place.root);
    let (found, receipt) = resolve(Permit::issue(place, path, Operation::Open)?, Want::File)?;
    receipt.close(opened(found, root))
}

fn opened(found: Found, root: Arc<Root>) -> Result<File> {
    match found {
        Found::File(file, metadata) => Ok(File::new(file, metadata, root)),
        _ => Err(contradiction()),
    }
}

pub(crate) fn dir(place: Place, path: RelPath) -> Result<Dir> {
    let root = Arc::clone(&place.root);
    let prefix = place.path_from_root(&path);
    let (found, receipt) = resolve(Permit::issue(place, path, Operation::OpenDir)?, Want::Dir)?;
    receipt.close(match found {
        Found::Dir(dir) => Ok(Dir::new(root, Arc::new(dir), prefix)),
        _ => Err(contradiction()),
    })
}

pub(crate) fn read(place: Place, path: RelPath) -> Result<Vec<u8>> {
    let root = Arc::clone(&place.root);
    let (found, receipt) = resolve(Permit::issue(place, path, Operation::Open)?, Want::File)?;
    let limit = root.shared.read_limit;
    receipt.close(opened(found, root).and_then(|mut file| file.read_to_limit(0, limit)))
}

pub(crate) fn read_to_string(place: Place, path: RelPath) -> Result<String> {
    String::from_utf8(read(place, path)?).map_err(|_| Error::from(ErrorKind::NotUtf8))
}
