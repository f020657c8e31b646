//! One name by the calls of Linux: a handle to the name itself tells what it is.
//!
//! May touch: one held directory and one name at a time.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Mode, OFlags, PROC_SUPER_MAGIC, StatxFlags, fstat, fstatfs, openat, readlinkat, statx};
use rustix::io::Errno;

use super::*;

const PATH: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Non-blocking, so that a pipe does not wait for its other end (NO-WAIT); without a controlling terminal (open(2)).
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The outer error: what was opened lies on a mount that is none of `mounts`.
fn open_one(dir: &Dir, name: &OsStr, flags: OFlags, mounts: Mounts) -> io::Result<Result<File, Errno>> {
    let opened = rustix::io::retry_on_intr(|| openat(dir, name, flags, Mode::empty())).map(File::from);
    if let Ok(file) = &opened {
        mounts.check(|| mount_of(file))?;
    }
    Ok(opened)
}

/// Linux 5.8 tells the number of the mount (statx(2)). An older one says so in the mask, or does not know the call; a filter may not either.
pub(crate) fn mount_of(handle: impl AsFd) -> io::Result<Mount> {
    match statx(&handle, "", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC, StatxFlags::MNT_ID) {
        Ok(stat) if StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID) => Ok(Mount::Id(stat.stx_mnt_id)),
        Ok(_) | Err(Errno::NOSYS | Errno::PERM) => Ok(Mount::Device(fstat(&handle)?.st_dev)),
        Err(error) => Err(error.into()),
    }
}

/// A directory to walk on from. `O_PATH` needs search permission only, as the kernel's own resolution does.
pub(crate) fn enter(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Entered> {
    match open_one(dir, name, PATH | OFlags::DIRECTORY, mounts)? {
        Ok(file) => return Ok(Entered::Dir(Dir::from_std_file(file))),
        // ENOTDIR for a link as well: `O_NOFOLLOW` and `O_DIRECTORY` meet (open(2)). ELOOP on some file systems.
        Err(Errno::NOTDIR | Errno::LOOP) => {}
        Err(error) => return Err(error.into()),
    }
    // A handle to the name itself: what it is and what it says cannot come apart any more.
    let file = open_one(dir, name, PATH, mounts)??;
    let metadata = Metadata::from_file(&file)?;
    if metadata.is_symlink() {
        return Ok(Entered::Link(target(dir, &file)?));
    }
    // It was exchanged for a directory between the two calls: this handle is one.
    Ok(if metadata.is_dir() { Entered::Dir(Dir::from_std_file(file)) } else { Entered::Other })
}

/// The search permission that the kernel asks for before it takes `..` from a directory.
pub(crate) fn reenter(dir: &Dir) -> io::Result<()> {
    Ok(open_one(dir, OsStr::new("."), PATH | OFlags::DIRECTORY, Mounts::Any)?.map(drop)?)
}

pub(crate) fn open(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Opened> {
    for _ in 0..RETRIES {
        match open_one(dir, name, READ, mounts)? {
            Ok(file) => {
                let metadata = Metadata::from_file(&file)?;
                return Ok(Opened::File(file, metadata));
            }
            Err(Errno::LOOP) => {
                let file = open_one(dir, name, PATH, mounts)??;
                if Metadata::from_file(&file)?.is_symlink() {
                    return Ok(Opened::Link(target(dir, &file)?));
                }
            }
            // What cannot be read is told by its type first, as it is where it can be.
            Err(Errno::ACCESS) => {
                let file = open_one(dir, name, PATH, mounts)??;
                let metadata = Metadata::from_file(&file)?;
                if metadata.is_file() {
                    return Err(Errno::ACCESS.into());
                }
                if !metadata.is_symlink() {
                    return Ok(Opened::Other(metadata));
                }
            }
            // A lease that another process holds on the file (fcntl(2)); it is broken or given up shortly.
            Err(Errno::AGAIN) => std::thread::yield_now(),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// A new file, which nothing had the name of before; a link counts as something, wherever it leads. Open for reading and writing.
///
/// A confined `openat2(2)` would be no safer for one name that is not followed, and answers EXDEV where the file is moved to another
/// directory before the call has ended: not a refusal, and not to be told from one.
pub(crate) fn create_file(dir: &Dir, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    Ok(rustix::io::retry_on_intr(|| openat(dir, name, flags, mode))?.into())
}

pub(super) fn open_to_write(dir: &Dir, name: &OsStr, append: bool, mounts: Mounts) -> io::Result<File> {
    let append = if append { OFlags::APPEND } else { OFlags::empty() };
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(open_one(dir, name, flags | append, mounts)??)
}

/// The directory of this name, open for reading, which needs no search permission on it; `None` where it is none any more.
pub(crate) fn open_dir_at(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Option<File>> {
    match open_one(dir, name, READ | OFlags::DIRECTORY, mounts)? {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The directory once more, to list it from its beginning.
pub(crate) fn open_to_list(dir: &Dir) -> io::Result<Dir> {
    Ok(Dir::from_std_file(open_one(dir, OsStr::new("."), READ | OFlags::DIRECTORY, Mounts::Any)??))
}

/// The directory of this name and what it is, to list it and to go on from it: in one call, where [`enter`] and [`open_to_list`] are two. `None`
/// where it is none, or none any more.
pub(crate) fn enter_to_list(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Option<(Dir, Facts)>> {
    let Some(file) = open_dir_at(dir, name, mounts)? else { return Ok(None) };
    let metadata = Facts::of_opened(&file)?;
    let dir = Dir::from_std_file(file);
    // What may be read and not searched is listed in neither way; only where its mode says that everybody may search it, nobody has to ask.
    if metadata.mode() & 0o111 != 0o111 {
        reenter(&dir)?;
    }
    Ok(Some((dir, metadata)))
}

pub(crate) fn see(dir: &Dir, name: &OsStr, mounts: Mounts) -> io::Result<Seen> {
    let file = open_one(dir, name, PATH, mounts)??;
    let metadata = Metadata::from_file(&file)?;
    let link = if metadata.is_symlink() { Some(target(dir, &file)?) } else { None };
    Ok(Seen { metadata, link })
}

fn target(parent: &Dir, link: &File) -> io::Result<Target> {
    if is_magic(parent, link)? { Ok(Target::Magic) } else { text_of(link).map(Target::Text) }
}

/// The text of the link that this handle is of (`readlinkat` with an empty path, readlink(2)).
pub(crate) fn text_of(link: &File) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let text = rustix::io::retry_on_intr(|| readlinkat(link, "", Vec::new()))?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(text.into_bytes())))
}

/// On procfs the links in the top directory have texts that are followed (`self`, `mounts`); the ones below are magic.
/// Where the kernel has `openat2`, it knows better and this is not asked.
fn is_magic(parent: &Dir, link: &File) -> io::Result<bool> {
    const PROC_TOP: u64 = 1;
    if rustix::io::retry_on_intr(|| fstatfs(link))?.f_type != PROC_SUPER_MAGIC {
        return Ok(false);
    }
    use cap_fs_ext::MetadataExt;
    Ok(parent.dir_metadata()?.ino() != PROC_TOP)
}

/// File systems whose files are known to be made up by the kernel. Numbers from statfs(2) and linux/magic.h.
pub(crate) fn on_kernel_file_system(file: &File) -> io::Result<bool> {
    const OTHERS: [u64; 18] = [
        0x6265_6572, // sysfs
        0x6462_6720, // debugfs
        0x7472_6163, // tracefs
        0x7363_6673, // securityfs
        0x6265_6570, // configfs
        0xcafe_4a11, // bpf
        0x0027_e0eb, // cgroup
        0x6367_7270, // cgroup2
        0x4249_4e4d, // binfmt_misc
        0x6573_5543, // fusectl
        0x1980_0202, // mqueue
        0x6e73_6673, // nsfs
        0xf97c_ff8c, // selinuxfs
        0x4341_5d53, // smackfs
        0xde5e_81e4, // efivarfs
        0x6165_676c, // pstore
        0x6e66_7364, // nfsd
        0x6759_6969, // rpc_pipefs
    ];
    let number = rustix::io::retry_on_intr(|| fstatfs(file))?.f_type;
    Ok(number == PROC_SUPER_MAGIC || u64::try_from(number).is_ok_and(|magic| OTHERS.contains(&magic)))
}
