//! What the kernel and the file system give in a root, for the operator.
//!
//! May touch: one held directory. Each thing is tried, and nothing on the disk is changed by it; what only a change would tell stays unknown.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use cap_std::fs::Dir;
use unicode_normalization::UnicodeNormalization;

use crate::access::Access;
use crate::identity::Identity;
use crate::resolve::names;
use crate::root::Place;

/// Most entries of a directory that are looked at for how it takes names.
const SAMPLE: usize = 4096;

/// The answer to one question about a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// It is so.
    Yes,
    /// It is not.
    No,
    /// It cannot be told without changing something.
    Unknown,
}

/// What the kernel and the file system give in a root: see [`RootInfo::support`](crate::RootInfo::support). Nothing depends on it: every
/// operation finds out by itself what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Support {
    /// The type of the file system; as a number where it has no name here, and empty where the system does not tell.
    pub file_system: String,
    /// Whether an access can hang: a network mount, or one that a program serves.
    pub can_hang: Finding,
    /// `openat2(2)` with `RESOLVE_BENEATH`, tried on the directory.
    pub openat2: Finding,
    /// `renameat2(2)` with `RENAME_NOREPLACE`, as far as the kernel knows it: whether the file system does, only a rename tells.
    pub rename_no_replace: Finding,
    /// A file without a name, and a name for it later: `O_TMPFILE` and `linkat(2)`. Tried where the root may be written.
    pub unnamed_files: Finding,
    /// The number of a mount in `statx(2)`, which [`Builder::one_file_system`](crate::Builder::one_file_system) goes by.
    pub mount_id: Finding,
    /// Whether names that differ in case are one. Looked at on entries that are there.
    pub folds_case: Finding,
    /// Whether names that differ in their Unicode form are one. Looked at on entries that are there.
    pub folds_unicode: Finding,
}

/// `None`: its directory is not there, or what was granted has ended.
pub(crate) fn of(place: &Place) -> Option<Support> {
    // Counted before the check, as each operation is: nothing is tried once `revoke_and_wait` has returned (CHECK-AT-USE).
    let _under_way = place.authority.begin();
    let holds = || place.authority.check().ok();
    holds()?;
    let dir = &place.root().held().filter(|_| place.root().is_present())?.dir;
    let names = Names::of(dir);
    let mut support = Support {
        file_system: String::new(),
        can_hang: Finding::Unknown,
        openat2: Finding::Unknown,
        rename_no_replace: Finding::Unknown,
        unnamed_files: Finding::Unknown,
        mount_id: Finding::Unknown,
        folds_case: names.fold(dir, other_case),
        folds_unicode: names.fold(dir, other_form),
    };
    system::look(dir, place.authority.access() == Access::Write, &mut support);
    holds()?;
    Some(support)
}

/// A part of a directory's names.
struct Names {
    names: BTreeSet<OsString>,
    all: bool,
}

impl Names {
    fn of(dir: &Dir) -> Self {
        let listed = names::list(dir).into_iter().flatten();
        let names: BTreeSet<_> = listed.take(SAMPLE + 1).filter_map(Result::ok).collect();
        Self { all: names.len() <= SAMPLE, names }
    }

    /// Whether the directory takes a name for another one: asks for an entry by the name that `other` makes of its own.
    fn fold(&self, dir: &Dir, other: fn(&str) -> Option<String>) -> Finding {
        let identity = |name: &OsStr| dir.symlink_metadata(name).map(|metadata| Identity::from(&metadata));
        for name in &self.names {
            let Some(asked) = name.to_str().and_then(other).map(OsString::from) else { continue };
            if self.names.contains(&asked) {
                return Finding::No;
            }
            match (identity(name), identity(&asked)) {
                // Not among the names, and yet there: it has no entry of its own, such as a second name of the same file.
                (Ok(own), Ok(found)) if own == found && self.all => return Finding::Yes,
                (Ok(own), Ok(found)) if own != found => return Finding::No,
                (Ok(_), Err(error)) if error.kind() == std::io::ErrorKind::NotFound => return Finding::No,
                _ => {}
            }
        }
        Finding::Unknown
    }
}

/// The name in other case, of its ASCII letters.
fn other_case(name: &str) -> Option<String> {
    let swap = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    name.contains(|c: char| c.is_ascii_alphabetic()).then(|| name.chars().map(swap).collect())
}

/// The name in another Unicode form.
fn other_form(name: &str) -> Option<String> {
    let (composed, decomposed): (String, String) = (name.nfc().collect(), name.nfd().collect());
    [decomposed, composed].into_iter().find(|form| form != name)
}

#[cfg(all(target_os = "linux", not(cap_roots_portable)))]
mod system {
    use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, ResolveFlags, StatxFlags, fstatfs, openat2, renameat_with, statx};
    use rustix::io::Errno;

    use super::{Dir, Finding, Support};
    use crate::change;

    /// By their magic numbers (statfs(2), and linux/magic.h): the name, and whether an access can hang.
    const FILE_SYSTEMS: [(u64, &str, bool); 36] = [
        (0xef53, "ext4", false),
        (0x5846_5342, "xfs", false),
        (0x9123_683e, "btrfs", false),
        (0x0102_1994, "tmpfs", false),
        (0x8584_58f6, "ramfs", false),
        (0x794c_7630, "overlayfs", false),
        (0xf2f5_2010, "f2fs", false),
        (0x2fc1_2fc1, "zfs", false),
        (0xca45_1a4e, "bcachefs", false),
        (0x3153_464a, "jfs", false),
        (0x5265_4973, "reiserfs", false),
        (0xe0f5_e1e2, "erofs", false),
        (0x7371_7368, "squashfs", false),
        (0x4d44, "vfat", false),
        (0x2011_bab0, "exfat", false),
        (0x7366_746e, "ntfs3", false),
        (0x5346_544e, "ntfs", false),
        (0x482b, "hfsplus", false),
        (0x9660, "iso9660", false),
        (0x1501_3346, "udf", false),
        (0x9fa0, "procfs", false),
        (0x6265_6572, "sysfs", false),
        (0xf15f, "ecryptfs", false),
        (0x6969, "nfs", true),
        (0x517b, "smb", true),
        (0xff53_4d42, "cifs", true),
        (0xfe53_4d42, "smb2", true),
        (0x00c3_6400, "ceph", true),
        (0x5346_414f, "afs", true),
        (0x7375_7245, "coda", true),
        (0x0102_1997, "9p", true),
        (0x6573_5546, "fuse", true),
        (0x0bd0_0bd0, "lustre", true),
        (0x4750_4653, "gpfs", true),
        (0x786f_4256, "vboxsf", true),
        (0xbacb_acbc, "vmhgfs", true),
    ];

    pub(super) fn look(dir: &Dir, may_write: bool, support: &mut Support) {
        if let Ok(stat) = fstatfs(dir) {
            // Some numbers have their highest bit set, which a signed word holds in its own way.
            #[allow(clippy::unnecessary_cast, reason = "the word is smaller on some platforms")]
            let number = (stat.f_type as i64).cast_unsigned() & 0xffff_ffff;
            let known = FILE_SYSTEMS.iter().find(|(magic, _, _)| *magic == number);
            support.file_system = known.map_or_else(|| format!("type {number:#x}"), |(_, name, _)| (*name).to_owned());
            support.can_hang = known.map_or(Finding::Unknown, |(_, _, hangs)| finding(*hangs));
        }
        support.openat2 = openat2_is_confined(dir);
        support.rename_no_replace = rename_no_replace(dir);
        if may_write {
            support.unnamed_files = change::takes_unnamed_files(dir).map_or(Finding::Unknown, finding);
        }
        support.mount_id = match statx(dir, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID) {
            Ok(stat) => finding(StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID)),
            Err(_) => Finding::No,
        };
    }

    fn finding(there: bool) -> Finding {
        if there { Finding::Yes } else { Finding::No }
    }

    /// It opens the directory itself, and refuses the one above it.
    fn openat2_is_confined(dir: &Dir) -> Finding {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path| openat2(dir, path, flags, Mode::empty(), ResolveFlags::BENEATH).map(drop);
        finding(open(".").is_ok() && open("..").is_err())
    }

    /// From a name that is not there, so that nothing is renamed.
    fn rename_no_replace(dir: &Dir) -> Finding {
        let (from, to) = (change::reserved_name(), change::reserved_name());
        match renameat_with(dir, &from, dir, &to, RenameFlags::NOREPLACE) {
            Err(Errno::NOENT | Errno::ROFS) => Finding::Yes,
            // EPERM is a filter's that does not know the call: the name that is missing would have been told first.
            Err(Errno::NOSYS | Errno::INVAL | Errno::PERM) => Finding::No,
            _ => Finding::Unknown,
        }
    }
}

#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
mod system {
    use super::{Dir, Finding, Support};

    /// Elsewhere none of it is there, or used.
    pub(super) fn look(_: &Dir, _: bool, support: &mut Support) {
        support.openat2 = Finding::No;
        support.rename_no_replace = Finding::No;
        support.unnamed_files = Finding::No;
        support.mount_id = Finding::No;
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::fs;

    use super::*;
    use crate::roots::Roots;

    #[cfg(unix)]
    fn support(dir: &std::path::Path, access: Access) -> Support {
        Roots::builder().root(dir, access).open().unwrap().list().next().unwrap().support().unwrap()
    }

    /// Catches: two names of one file taken for a disk that folds; an answer where there is nothing to ask.
    // Windows folds case itself, so these names cannot be made.
    #[cfg(unix)]
    #[test]
    fn how_names_are_taken_is_told_by_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let folds = || {
            let support = support(folder.path(), Access::Read);
            (support.folds_case, support.folds_unicode)
        };
        assert_eq!(folds(), (Finding::Unknown, Finding::Unknown));
        fs::write(folder.path().join("12"), "").unwrap();
        assert_eq!(folds(), (Finding::Unknown, Finding::Unknown));
        fs::write(folder.path().join("a"), "").unwrap();
        fs::hard_link(folder.path().join("a"), folder.path().join("A")).unwrap();
        assert_eq!(folds(), (Finding::No, Finding::Unknown));
        fs::write(folder.path().join("e\u{301}"), "").unwrap();
        assert_eq!(folds(), (Finding::No, Finding::No));
    }

    /// Catches: a look, and on Linux a file, in a directory that was taken back.
    #[test]
    fn what_was_taken_back_is_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::builder().root(folder.path(), Access::Write).open().unwrap();
        let ended = roots.expiring_in(std::time::Duration::ZERO).list().next().unwrap();
        assert_eq!(ended.support(), None);
        let root = roots.list().next().unwrap();
        assert!(root.support().is_some());
        roots.revoke_and_wait();
        assert_eq!(root.support(), None);
    }

    /// A stand-in for a disk that folds: the other name is there, and not listed.
    #[cfg(unix)]
    #[test]
    fn a_name_that_is_not_listed_and_yet_there_is_folded() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ab"), "").unwrap();
        fs::hard_link(folder.path().join("ab"), folder.path().join("AB")).unwrap();
        let dir = Roots::builder().root(folder.path(), Access::Read).open().unwrap().place_of_first();
        let dir = &dir.root().held().unwrap().dir;
        let only = |name: &str, all| Names { names: [OsString::from(name)].into(), all };
        assert_eq!(only("ab", true).fold(dir, other_case), Finding::Yes);
        assert_eq!(only("ab", false).fold(dir, other_case), Finding::Unknown);
        fs::remove_file(folder.path().join("AB")).unwrap();
        assert_eq!(only("ab", true).fold(dir, other_case), Finding::No);
    }

    /// Catches: a look that leaves something on the disk, or writes where that was not granted.
    #[cfg(all(target_os = "linux", not(cap_roots_portable)))]
    #[test]
    fn looking_changes_nothing() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), "").unwrap();
        let state = || {
            let metadata = fs::metadata(folder.path()).unwrap();
            (metadata.mtime(), metadata.mtime_nsec(), metadata.ctime_nsec(), fs::read_dir(folder.path()).unwrap().count())
        };
        let before = state();
        assert_eq!(support(folder.path(), Access::Read).unnamed_files, Finding::Unknown);
        let found = support(folder.path(), Access::Write);
        assert_ne!(found.unnamed_files, Finding::Unknown);
        assert_ne!(found.rename_no_replace, Finding::Unknown);
        assert!(!found.file_system.is_empty());
        assert_eq!(state(), before);
    }
}
