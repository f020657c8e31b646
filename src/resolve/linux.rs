//! The fast way: one `openat2(2)`, confined by the kernel.
//!
//! May touch: one held directory. Source for what each flag promises: openat2(2).

use std::fs::File;
use std::os::fd::OwnedFd;

use cap_std::fs::{Dir, Metadata};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::error::{Detail, Error, ErrorKind};
use crate::path::relative::RelPath;
use crate::resolve::{Found, Want, step};

/// `BENEATH`: neither `..` nor a link nor an absolute text leaves the directory, and no rename during the call makes it so.
const CONFINED: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// The kernel gives EAGAIN where it cannot rule out that `..` raced with a rename anywhere on the machine; trying again is its advice.
const RETRIES: usize = 32;

pub(super) enum Fast {
    Found(Found),
    /// A failure that means the same on every way.
    Refused(Error),
    /// Only the walk can tell.
    Undecided,
}

pub(super) fn open(from: &Dir, path: &RelPath, want: Want) -> Fast {
    let flags = OFlags::CLOEXEC
        | match want {
            // With a slash behind it, it is a directory or nothing; no reason to open it for reading.
            Want::File | Want::LinkText if path.must_be_dir() => OFlags::PATH | OFlags::DIRECTORY,
            // Non-blocking, so that a pipe does not wait for its other end; without a controlling terminal (open(2)).
            Want::File => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
            Want::Dir => OFlags::PATH | OFlags::DIRECTORY,
            Want::Metadata | Want::OwnMetadata | Want::LinkText => {
                let kind = if path.must_be_dir() { OFlags::DIRECTORY } else { OFlags::empty() };
                let follow = if want.follows_last(path) { OFlags::empty() } else { OFlags::NOFOLLOW };
                OFlags::PATH | kind | follow
            }
        };
    match open_confined(from, path, flags) {
        Ok(fd) => {
            finish(File::from(fd), path, want).map_or_else(Fast::Refused, |found| found.map_or(Fast::Undecided, Fast::Found))
        }
        Err(Errno::XDEV | Errno::LOOP | Errno::AGAIN | Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::TOOBIG) => {
            Fast::Undecided
        }
        // What cannot be read is told by its type first, as it is where it can be.
        Err(Errno::ACCESS) if want == Want::File => match open_confined(from, path, OFlags::PATH | OFlags::CLOEXEC) {
            Ok(fd) => unreadable(File::from(fd)).map_or_else(Fast::Refused, Fast::Found),
            Err(_) => Fast::Refused(refusal(Errno::ACCESS)),
        },
        Err(Errno::NOENT) if path.may_fold() => Fast::Undecided,
        Err(error) => Fast::Refused(refusal(error)),
    }
}

fn open_confined(from: &Dir, path: &RelPath, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut tries = 0;
    loop {
        match openat2(from, path.as_os_str(), flags, Mode::empty(), CONFINED) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if tries < RETRIES => tries += 1,
            outcome => return outcome,
        }
    }
}

/// `None`: only the walk can tell.
fn finish(file: File, path: &RelPath, want: Want) -> Result<Option<Found>, Error> {
    if want == Want::Dir {
        return Ok(Some(Found::Dir(Dir::from_std_file(file))));
    }
    let metadata = Metadata::from_file(&file).map_err(|error| Error::from_io(&error))?;
    Ok(match want {
        Want::File if path.must_be_dir() => return Err(ErrorKind::IsADirectory.into()),
        Want::File => Some(Found::File(file, metadata)),
        Want::LinkText if !metadata.is_symlink() => return Err(Error::detailed(ErrorKind::InvalidArgument, Detail::NotALink)),
        // Whether it is magic depends on its parent, which is not held here.
        Want::LinkText if step::on_kernel_file_system(&file) => None,
        Want::LinkText => Some(Found::Link { text: step::text_of(&file).map_err(|error| Error::from_io(&error))?, depth: None }),
        Want::Dir | Want::Metadata | Want::OwnMetadata => Some(Found::Metadata(metadata)),
    })
}

fn unreadable(file: File) -> Result<Found, Error> {
    let metadata = Metadata::from_file(&file).map_err(|error| Error::from_io(&error))?;
    if metadata.is_file() { Err(refusal(Errno::ACCESS)) } else { Ok(Found::File(file, metadata)) }
}

fn refusal(error: Errno) -> Error {
    match error {
        // What opening a socket, or a device without a driver, gives (open(2)).
        Errno::NXIO | Errno::NODEV => ErrorKind::SpecialFile.into(),
        error => Error::from_io(&error.into()),
    }
}
