//! A file that nobody sees until it is complete.
//!
//! May touch: one held directory. ALL-OR-NOTHING: the content is written and synced under no name, or under a reserved one, and gets its
//! name in one step; whatever stops that leaves the old file as it was.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use cap_std::fs::Dir;

use crate::change::{copy_bytes, remove_file, rename};
use crate::resolve::mounts::Mounts;
use crate::resolve::step;
use crate::rule::{RESERVED_END, RESERVED_START};

/// How often a name is tried that turns out to be taken.
const TRIES: usize = 16;

/// A name that callers can neither name nor list. The keys of `RandomState` are random.
pub(crate) fn reserved_name() -> OsString {
    let number = RandomState::new().build_hasher().finish();
    format!("{RESERVED_START}{number:016x}{RESERVED_END}").into()
}

/// A temporary file in the directory where it will have its name. Dropped before that, it leaves nothing.
pub(crate) struct Temp<'a> {
    dir: &'a Dir,
    file: File,
    /// The reserved name, while it has one.
    name: Option<OsString>,
    /// The permission bits that a new file has here.
    #[cfg(unix)]
    mode: u32,
}

impl<'a> Temp<'a> {
    pub(crate) fn new(dir: &'a Dir) -> io::Result<Self> {
        #[cfg(all(target_os = "linux", not(cap_roots_portable)))]
        if let Some(file) = unnamed::create(dir)? {
            let mode = mode_of(&file)?;
            return Ok(Self { dir, file, name: None, mode });
        }
        let (name, file) = named(dir)?;
        // From here on it is removed if something fails.
        #[cfg_attr(not(unix), allow(unused_mut, reason = "there is no mode"))]
        let mut temp = Self {
            dir,
            file,
            name: Some(name),
            #[cfg(unix)]
            mode: 0o600,
        };
        #[cfg(unix)]
        {
            temp.mode = mode_of(&temp.file)?;
            // Nobody else reads it before it is complete.
            temp.set_mode(0o600)?;
        }
        Ok(temp)
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    #[cfg(unix)]
    fn set_mode(&self, mode: u32) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        self.file.set_permissions(std::fs::Permissions::from_mode(mode))
    }

    /// The mode and, where the process may, the owner of the file that it replaces; without one, those of a new file. Set-id bits are not
    /// kept: the content is another.
    #[cfg(unix)]
    fn take_after(&self, old: Option<&cap_std::fs::Metadata>) -> io::Result<()> {
        use cap_std::fs::{MetadataExt, PermissionsExt};
        if let Some(old) = old {
            let owner = self.file.metadata().map(|own| {
                use std::os::unix::fs::MetadataExt;
                (own.uid(), own.gid())
            })?;
            if owner != (old.uid(), old.gid()) {
                // As far as it goes: who may not give a file away keeps it.
                let _ = std::os::unix::fs::fchown(&self.file, Some(old.uid()), Some(old.gid()));
            }
        }
        self.set_mode(old.map_or(self.mode, |old| old.permissions().mode()) & 0o777)
    }

    #[cfg(not(unix))]
    fn take_after(&self, _: Option<&cap_std::fs::Metadata>) -> io::Result<()> {
        Ok(())
    }

    /// Complete: mode set, content synced. What is left is the name.
    pub(crate) fn finish(&self, old: Option<&cap_std::fs::Metadata>) -> io::Result<()> {
        self.take_after(old)?;
        self.file.sync_all()
    }

    /// Gives it its name; `AlreadyExists` where something has it and nothing is to be replaced.
    pub(crate) fn place(mut self, to: &OsStr, replace: bool) -> io::Result<()> {
        if self.name.is_none() && !replace {
            match self.link(to) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Ok(true) => return Ok(()),
                Ok(false) | Err(_) => {}
            }
        }
        if self.name.is_none() {
            self.take_name()?;
        }
        let Some(name) = &self.name else { return Err(io::ErrorKind::Unsupported.into()) };
        // There a lock keeps others from reading, and it would be the file's as well.
        #[cfg(windows)]
        let _ = self.file.unlock();
        rename(self.dir, name, self.dir, to, replace)?;
        self.name = None;
        Ok(())
    }

    /// A reserved name for a file that has none, just before it is renamed.
    fn take_name(&mut self) -> io::Result<()> {
        // It has no name yet, so nobody else can have taken it.
        lock(&self.file);
        for _ in 0..TRIES {
            let name = reserved_name();
            match self.link(&name) {
                Ok(true) => {
                    self.name = Some(name);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(false) => return self.copy_to_named(),
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Where a file without a name cannot be given one after all: the same content and mode under a reserved name.
    fn copy_to_named(&mut self) -> io::Result<()> {
        use std::io::Seek;
        let permissions = self.file.metadata()?.permissions();
        self.file.rewind()?;
        let (name, mut file) = named(self.dir)?;
        std::mem::swap(&mut self.file, &mut file);
        self.name = Some(name);
        #[cfg(unix)]
        self.set_mode(0o600)?;
        copy_bytes(&file, &mut self.file, u64::MAX)?;
        self.file.set_permissions(permissions)?;
        self.file.sync_all()
    }

    /// `false`: this system does not let an unprivileged process do it.
    #[cfg(all(target_os = "linux", not(cap_roots_portable)))]
    fn link(&self, name: &OsStr) -> io::Result<bool> {
        unnamed::link(&self.file, self.dir, name)
    }

    #[cfg(any(not(target_os = "linux"), cap_roots_portable))]
    fn link(&self, _: &OsStr) -> io::Result<bool> {
        Ok(false)
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = remove_file(self.dir, name);
        }
    }
}

#[cfg(unix)]
fn mode_of(file: &File) -> io::Result<u32> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.mode() & 0o777)
}

/// Whoever sweeps the directory leaves alone what is locked. `false`: somebody who sweeps has taken it already. Without locks on this file
/// system nothing is swept, since a lock that cannot be taken counts as held.
pub(crate) fn lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Whether what was made under a reserved name still has it. What cannot be looked at may be there, and is not made again and again.
pub(crate) fn is_there(dir: &Dir, name: &OsStr) -> io::Result<bool> {
    match step::see(dir, name, Mounts::Any) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A file under a reserved name, locked.
fn named(dir: &Dir) -> io::Result<(OsString, File)> {
    for _ in 0..TRIES {
        let name = reserved_name();
        match step::create_file(dir, &name) {
            Ok(file) => match lock(&file).then(|| is_there(dir, &name)) {
                Some(Ok(true)) => return Ok((name, file)),
                // Swept between the two, or about to be: another one.
                Some(Ok(false)) => {}
                None => {
                    let _ = remove_file(dir, &name);
                }
                Some(Err(error)) => {
                    let _ = remove_file(dir, &name);
                    return Err(error);
                }
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Whether a file can be without a name here and get one later; `None` where that cannot be told. The name is one that is taken, so that it
/// gets none.
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
pub(crate) fn takes_unnamed_files(dir: &Dir) -> Option<bool> {
    match unnamed::create(dir) {
        Ok(None) => Some(false),
        Ok(Some(file)) => match unnamed::link(&file, dir, OsStr::new(".")) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Some(true),
            Ok(linked) => Some(linked),
            Err(_) => None,
        },
        Err(_) => None,
    }
}

/// Files without a name: `O_TMPFILE` (open(2)) and `AT_EMPTY_PATH` (link(2)), which since Linux 6.10 needs no privilege for a file that
/// the process itself opened.
#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
mod unnamed {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{AtFlags, Mode, OFlags, linkat, openat};
    use rustix::io::Errno;

    use super::*;

    /// Set once a link was refused, so that later files begin with a name.
    static UNLINKABLE: AtomicBool = AtomicBool::new(false);

    /// `None`: not on this file system or system.
    pub(super) fn create(dir: &Dir) -> io::Result<Option<File>> {
        if UNLINKABLE.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::io::retry_on_intr(|| openat(dir, ".", flags, Mode::from_raw_mode(0o666))) {
            Ok(fd) => Ok(Some(fd.into())),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => Ok(None),
            // A disk may call it a missing permission that the directory was removed meanwhile.
            Err(Errno::PERM) if is_removed(dir)? => Err(Errno::NOENT.into()),
            Err(error) => Err(error.into()),
        }
    }

    fn is_removed(dir: &Dir) -> io::Result<bool> {
        Ok(cap_fs_ext::MetadataExt::nlink(&dir.dir_metadata()?) == 0)
    }

    pub(super) fn link(file: &File, dir: &Dir, name: &OsStr) -> io::Result<bool> {
        match linkat(file, "", dir, name, AtFlags::EMPTY_PATH) {
            Ok(()) => Ok(true),
            // The directory was removed meanwhile; before Linux 6.10 the same code refuses the privilege.
            Err(Errno::NOENT) if is_removed(dir)? => Err(Errno::NOENT.into()),
            Err(Errno::NOENT | Errno::PERM | Errno::ACCESS | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::XDEV) => {
                UNLINKABLE.store(true, Ordering::Relaxed);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
