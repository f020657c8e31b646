//! A name that becomes another thing between a look and what is done then.
//!
//! May touch: a tree of its own.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, mkfifoat, openat};

use crate::access::{Access, Operation};
use crate::error::{ErrorKind, Result};
use crate::ops::slot;
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;
use crate::permit::{Permit, Receipt};
use crate::resolve::step::Seen;
use crate::resolve::{Slot, Want};

/// What `act` answers, where a file was seen and `now` has its name.
pub(crate) fn told(now: &str, operation: Operation, act: impl FnOnce(&Slot, &Receipt, &Seen) -> Result<()>) -> &'static str {
    between(now, operation, |_| {}, act)
}

/// The same, with something done `before` the name becomes another thing's.
pub(crate) fn between(
    now: &str,
    operation: Operation,
    before: impl FnOnce(&Slot),
    act: impl FnOnce(&Slot, &Receipt, &Seen) -> Result<()>,
) -> &'static str {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("x");
    fs::write(&name, "old").unwrap();
    let place = crate::Roots::builder().root(folder.path(), Access::Write).open().unwrap().place_of_first();
    let permit = Permit::issue(place, RelPath::parse("x", PathStyle::Unix).unwrap(), operation).unwrap();
    let (slot, receipt) = slot(permit, Want::Target, ErrorKind::IsADirectory).unwrap();
    let seen = slot.see().unwrap().unwrap();
    before(&slot);
    // Kept beside it, so that its number is not given to what comes.
    fs::rename(&name, folder.path().join("y")).unwrap();
    put(now, &name);
    let outcome = act(&slot, &receipt, &seen);
    receipt.close(outcome).map_or_else(|error| error.code(), |()| "ok")
}

fn put(what: &str, at: &Path) {
    match what {
        "file" => fs::write(at, "new").unwrap(),
        "pipe" => mkfifoat(CWD, at, Mode::RUSR | Mode::WUSR).unwrap(),
        "pipe with a reader" => {
            put("pipe", at);
            // It reads until the test program ends.
            std::mem::forget(openat(CWD, at, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap());
        }
        "socket" => drop(UnixListener::bind(at).unwrap()),
        "directory" => fs::create_dir(at).unwrap(),
        "link" => symlink("y", at).unwrap(),
        _ => {}
    }
}
