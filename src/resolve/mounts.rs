//! On which mounts names may lead.
//!
//! May touch: nothing; `step` asks the system. Judged on what was opened, so that a mount that comes between a look and an open is met.

use std::io;

use cap_std::fs::Dir;

use crate::resolve::step;

/// A mount, by a number that no other has as long as something on it is held: the root's directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mount {
    #[cfg_attr(any(not(target_os = "linux"), cap_roots_portable), allow(dead_code, reason = "only Linux tells it"))]
    Id(u64),
    /// Where the system does not tell more. A bind mount has the number of the disk that it shows a part of.
    Device(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mounts {
    /// All: mount points are crossed.
    Any,
    /// That of the root's directory.
    Only(Mount),
}

impl Mounts {
    pub(crate) fn below(root: &Dir, one_file_system: bool) -> io::Result<Self> {
        Ok(if one_file_system { Mounts::Only(step::mount_of(root)?) } else { Mounts::Any })
    }

    /// `lies_on`: asked only where it matters. The refusal is [`is_on_another_mount`](crate::error::is_on_another_mount).
    pub(crate) fn check(self, lies_on: impl FnOnce() -> io::Result<Mount>) -> io::Result<()> {
        match self {
            Mounts::Only(own) if lies_on()? != own => Err(io::ErrorKind::CrossesDevices.into()),
            Mounts::Only(_) | Mounts::Any => Ok(()),
        }
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs::File;

    use super::*;
    use crate::error::is_on_another_mount;

    fn held(path: &str) -> Dir {
        Dir::from_std_file(File::open(path).unwrap())
    }

    /// Catches: an opening that leaves it to the look before, and lets through what was mounted between the two.
    #[test]
    fn each_step_asks_of_what_it_opened() {
        let (top, dev, proc) = (held("/"), held("/dev"), held("/proc"));
        let own = Mounts::below(&top, true).unwrap();
        let [null, version, name] = ["null", "version", "proc"].map(OsStr::new);
        for mounts in [own, Mounts::Any] {
            for (step, outcome) in [
                ("enter", step::enter(&top, name, mounts).map(drop)),
                ("enter a file", step::enter(&proc, version, mounts).map(drop)),
                ("enter a link", step::enter(&proc, OsStr::new("self"), mounts).map(drop)),
                ("enter_to_list", step::enter_to_list(&top, name, mounts).map(drop)),
                ("open_dir_at", step::open_dir_at(&top, name, mounts).map(drop)),
                ("open", step::open(&proc, version, mounts).map(drop)),
                ("open a link", step::open(&proc, OsStr::new("self"), mounts).map(drop)),
                ("open_for_change", step::open_for_change(&dev, null, false, mounts).map(drop)),
                ("see", step::see(&top, name, mounts).map(drop)),
            ] {
                let refused = outcome.as_ref().is_err_and(is_on_another_mount);
                assert_eq!(refused, mounts == own, "{step}: {outcome:?}");
            }
        }
    }
}
