//! A second fence, made by the kernel around the whole process (feature `landlock`): what was not granted is refused to all of its code.
//!
//! May touch: directories that are held, never a path. What is allowed comes from the grants; nothing is added once it stands.
//!
//! The library confines what goes through it. [`Fence`] confines the rest of the process as well, by [Landlock](https://landlock.io): a fault in
//! any dependency, or code that opens files by itself, reaches no file outside of the roots, starts no program and no connection.
//!
//! ```no_run
//! use cap_roots::landlock::{Fence, Status};
//! use cap_roots::{Access, Roots};
//!
//! let roots = Roots::builder().root("/srv/docs", Access::Read).open()?;
//! // Open what the process needs later: log files, sockets. Then, before the first thread:
//! match Fence::around(&roots)?.apply()? {
//!     Status::Full { .. } => {}
//!     status => eprintln!("{status}"),
//! }
//! assert!(std::fs::read("/etc/passwd").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it allows
//! Below each root's directory, what its access needs: `list` lists directories, `read` reads files as well, and `write` writes and makes files, directories
//! and links, cuts files off, renames and removes, since a replacing write is a rename. With [`Grant::no_delete`](crate::Grant::no_delete) it is the same: a
//! directory that is renamed in its root is, for the kernel, removed and made. Everything else that the kernel's Landlock knows is refused: running
//! programs, commands to devices (ioctl), sockets, pipes and devices as new files, TCP connections and listening, signals to and abstract sockets of
//! processes outside. `no_new_privs` is set, and Landlock itself refuses to mount anything and to trace processes outside.
//!
//! # What it does not
//! - Rules, limits, expiry, revocation and narrowing are the library's alone: the fence is what the grants came to when it was made. Where roots lie in
//!   one another, the kernel allows in the inner one what either allows.
//! - Landlock does not restrict looking at metadata (so whether something exists outside can be told), permission bits, owners, times, extended attributes
//!   or changing the working directory. UDP and sockets with a name are not refused either: the kernels that can do it (ABI 9 and 10) are
//!   newer than those that this was tested on, whose level is the highest one used ([`HIGHEST`]).
//! - What the process has open already stays as it is: descriptors, also standard input and output, devices and sockets.
//! - Where `/proc` is not mounted, it cannot be told whether there are other threads; one that was there before stays outside of the fence.
//!
//! # Afterwards
//! [`Builder::open`](crate::Builder::open) with a grant is refused as `unsupported`, in the whole process, and a root that was missing stays `root-absent`. One that was
//! there, went away and came back is served again. Pipes, sockets and devices in a root cannot be renamed any more.

use std::fmt;
use std::fs::File;
use std::time::Duration;

use crate::access::Access;
use crate::ambient;
use crate::decide::State;
use crate::error::{Error, Result};
use crate::roots::Roots;

/// The highest level (ABI) of Landlock of which rights are used: what a newer kernel could refuse besides has not been tried.
pub const HIGHEST: u32 = 7;

/// The level from which on everything is refused that [`Status::Full`] promises: Linux 6.12.
pub const FULL: u32 = 6;

/// What the process may still reach; everything else is refused from [`Fence::apply`] on. See the [module](self).
#[must_use = "a fence that is not applied keeps nobody out"]
pub struct Fence {
    held: Vec<(File, Use)>,
    ports: Vec<u16>,
    level: u32,
}

/// What a directory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Root(Access),
    Log,
}

/// What the kernel keeps from the process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "whether there is a fence is to be known"]
pub enum Status {
    /// All that can be refused.
    #[non_exhaustive]
    Full {
        /// The level of Landlock that was used.
        abi: u32,
    },
    /// A part of it: the kernel is older.
    #[non_exhaustive]
    Partial {
        /// The level of Landlock that was used.
        abi: u32,
        /// What is not as in [`Status::Full`].
        missing: Vec<Missing>,
    },
    /// Nothing.
    #[non_exhaustive]
    None {
        /// Why there is no fence.
        why: Why,
    },
}

/// What an older kernel does not refuse, or refuses too much of; `Display` says it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// Before ABI 2 (Linux 5.19), every rename between two directories is refused, within the roots as well.
    Moves,
    /// Before ABI 3 (Linux 6.2), files outside can be cut off.
    Truncation,
    /// Before ABI 4 (Linux 6.7), TCP is not restricted.
    Tcp,
    /// Before ABI 5 (Linux 6.10), commands to devices are not restricted.
    Devices,
    /// Before ABI 6 (Linux 6.12), signals and abstract sockets are not restricted.
    Processes,
}

impl Missing {
    const ALL: [(u32, Self); 5] =
        [(2, Self::Moves), (3, Self::Truncation), (4, Self::Tcp), (5, Self::Devices), (6, Self::Processes)];
}

/// Why there is no fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// This is not Linux.
    NotLinux,
    /// The kernel was built without Landlock, or is older than 5.13, or a filter refuses the call.
    NotThere,
    /// The kernel was started without it.
    NotEnabled,
}

/// The level (ABI) of Landlock that this kernel has, by its own word.
///
/// # Errors
/// Why there is none.
pub fn kernel() -> std::result::Result<u32, Why> {
    system::kernel()
}

/// What [`Fence::apply`] would come to here, without doing it.
pub fn outlook() -> Status {
    status(kernel(), HIGHEST)
}

impl Fence {
    /// A fence around the directories of `roots` that are held by now, with the access that this set has. Of a narrowed set it is the whole root.
    ///
    /// # Errors
    /// As the operating system, when a directory's handle cannot be doubled.
    pub fn around(roots: &Roots) -> Result<Self> {
        let mut held = Vec::new();
        for view in roots.views() {
            let authority = roots.place(view).authority;
            let access = authority.access();
            // One that is away for now is held all the same, and is served again once it is back.
            if access == Access::None || !matches!(authority.state(), State::Held | State::Absent) {
                continue;
            }
            if let Some(found) = authority.root.held() {
                let dir = found.dir.try_clone().map_err(|error| Error::from_io(&error))?;
                held.push((dir.into_std_file(), Use::Root(access)));
            }
        }
        Ok(Self { held, ports: Vec::new(), level: HIGHEST })
    }

    /// A further directory that the process needs, given as a handle of it, with everything below it.
    pub fn directory(mut self, dir: File, access: Access) -> Self {
        self.held.push((dir, Use::Root(access)));
        self
    }

    /// A directory with log files: files in it, and below, can be made, read and written, and are neither listed nor renamed nor removed.
    pub fn log_directory(mut self, dir: File) -> Self {
        self.held.push((dir, Use::Log));
        self
    }

    /// A TCP port that will be listened on; 0 stands for any free one. A socket that listens already needs none.
    pub fn listen(mut self, port: u16) -> Self {
        self.ports.push(port);
        self
    }

    /// Uses no more of Landlock than a kernel of this level has: to see on a new kernel what an old one would come to.
    pub fn as_of(mut self, abi: u32) -> Self {
        self.level = self.level.min(abi);
        self
    }

    /// Fences the process in as far as this kernel can, and says how far. It has to have one thread: the kernel fences the calling thread and those that it
    /// starts. There is no way back.
    ///
    /// # Errors
    /// `unsupported` where there are other threads, or the kernel refuses what it says that it has. Then there is no fence; `no_new_privs` may be set.
    pub fn apply(self) -> Result<Status> {
        let status = status(kernel(), self.level);
        let abi = match &status {
            Status::None { .. } => return Ok(status),
            Status::Full { abi } | Status::Partial { abi, .. } => *abi,
        };
        if let Some(threads) = threads().filter(|threads| *threads != 1) {
            let what = format!("the process has {threads} threads, and the kernel would fence in one of them");
            return Err(Error::fence(what).advise("apply the fence before the first thread is started"));
        }
        system::apply(self, abi)?;
        Ok(status)
    }

    /// As [`Fence::apply`], and nothing is done where that would be less than [`Status::Full`].
    ///
    /// # Errors
    /// Also `unsupported` for what is missing.
    pub fn require(self) -> Result<Status> {
        match status(kernel(), self.level) {
            Status::Full { .. } => self.apply(),
            less => Err(Error::fence(less.to_string()).advise("use a newer kernel with Landlock, or do without the full fence")),
        }
    }
}

/// How many there are; one that was waited for may be seen a moment longer.
fn threads() -> Option<usize> {
    let mut threads = ambient::threads();
    for _ in 0..50 {
        if threads.is_none_or(|threads| threads == 1) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
        threads = ambient::threads();
    }
    threads
}

fn status(kernel: std::result::Result<u32, Why>, level: u32) -> Status {
    let abi = match kernel {
        Ok(abi) => abi.min(level),
        Err(why) => return Status::None { why },
    };
    let missing: Vec<_> = Missing::ALL.iter().filter(|(from, _)| abi < *from).map(|(_, missing)| *missing).collect();
    match (abi, missing.is_empty()) {
        (0, _) => Status::None { why: Why::NotThere },
        (_, true) => Status::Full { abi },
        (_, false) => Status::Partial { abi, missing },
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Moves => "every rename between two directories is refused, within the roots as well",
            Self::Truncation => "files outside can be cut off",
            Self::Tcp => "TCP connections and listening are not refused",
            Self::Devices => "commands to devices are not refused",
            Self::Processes => "signals to other processes and their abstract sockets are not refused",
        })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotLinux => "this system has no Landlock",
            Self::NotThere => "this kernel has no Landlock, or a filter keeps it from being asked",
            Self::NotEnabled => "this kernel has Landlock and was started without it (lsm= on its command line)",
        })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { abi } => {
                write!(
                    f,
                    "Landlock, level {abi}: the kernel keeps this process to its roots, and from programs, TCP, devices and other processes"
                )
            }
            Self::Partial { abi, missing } => {
                write!(f, "Landlock, level {abi} of {FULL}: the kernel keeps this process to its roots and from programs, but ")?;
                for (index, missing) in missing.iter().enumerate() {
                    write!(f, "{}{missing}", if index == 0 { "" } else { "; " })?;
                }
                Ok(())
            }
            Self::None { why } => write!(f, "no fence by the kernel: {why}"),
        }
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("directories", &self.held.len()).finish_non_exhaustive()
    }
}

#[cfg(target_os = "linux")]
#[path = "landlock/linux.rs"]
mod system;

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Fence, Why};
    use crate::error::Result;

    pub(super) fn kernel() -> std::result::Result<u32, Why> {
        Err(Why::NotLinux)
    }

    pub(super) fn apply(_: Fence, _: u32) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an older kernel that is told as a full fence; a newer one that is told to do what was never tried; words that leave out what is missing.
    #[test]
    fn each_level_says_what_is_missing() {
        for why in [Why::NotLinux, Why::NotThere, Why::NotEnabled] {
            let none = status(Err(why), HIGHEST);
            assert_eq!(none, Status::None { why });
            assert!(none.to_string().ends_with(&why.to_string()));
        }
        let lacks = [vec![], vec![1, 2, 3, 4, 5], vec![2, 3, 4, 5], vec![3, 4, 5], vec![4, 5], vec![5]];
        for (level, lacks) in (0..).zip(lacks) {
            let lacks: Vec<_> = lacks.iter().map(|number: &usize| Missing::ALL[number - 1].1).collect();
            let found = status(Ok(level), HIGHEST);
            assert_eq!(found, status(Ok(HIGHEST), level), "a kernel of that level, and a fence that was built for it");
            match level {
                0 => assert_eq!(found, Status::None { why: Why::NotThere }),
                abi => {
                    let text = found.to_string();
                    assert!(text.starts_with(&format!("Landlock, level {abi} of 6: ")), "{text}");
                    assert!(lacks.iter().all(|missing| text.contains(&missing.to_string())), "{text}");
                    assert_eq!(found, Status::Partial { abi, missing: lacks });
                }
            }
        }
        for level in [6, 7, 8, 100] {
            assert_eq!(status(Ok(level), HIGHEST), Status::Full { abi: level.min(HIGHEST) });
        }
    }
}
