//! An opened file.
//!
//! May touch: its own handle and the authority that it was opened under; `resolve::step` for calls that a signal interrupts.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};

use crate::access::Access;
use crate::authority::{Authority, UnderWay};
use crate::error::{Error, ErrorKind, Result};
use crate::metadata::Metadata;
use crate::resolve::step;

/// Most bytes that are set aside for a file because of its size alone, and that are read without another look at the authority.
const PIECE: u64 = 1 << 20;
/// How much is asked for at first where the size tells of nothing.
const UNTOLD: usize = 4 << 10;

/// A regular file inside a root, open for reading, or for both where [`Roots::create_new`](crate::Roots::create_new) made it.
///
/// It was inside the root when it was opened; later renames do not move the handle. It keeps the access that it was opened with. Each
/// call checks again that the authority holds (CHECK-AT-USE): one atomic operation, and where the grant has an end one reading of the
/// clock. If it does not, the call fails with an [`io::Error`] that wraps `revoked` or `expired`. What a write changes is changed in
/// place.
pub struct File {
    file: std::fs::File,
    authority: Authority,
    /// What it was opened for; the authority may allow more.
    access: Access,
    metadata: Metadata,
}

impl File {
    pub(crate) fn new(file: std::fs::File, metadata: Metadata, authority: Authority, access: Access) -> Self {
        Self { file, authority, access, metadata }
    }

    fn live(&self) -> Result<()> {
        Ok(self.authority.check()?)
    }

    /// Counted as under way, so that whoever waits for the end of everything waits for this call.
    fn begin(&self, need: Access) -> Result<UnderWay> {
        let under_way = self.authority.begin();
        self.live()?;
        if self.access < need { Err(ErrorKind::NotGranted.into()) } else { Ok(under_way) }
    }

    /// Cuts or extends the file.
    ///
    /// # Errors
    /// `not-granted` if it was opened for reading; `revoked`, `expired`, `no-space`, `io`.
    pub fn set_len(&self, len: u64) -> Result<()> {
        let _under_way = self.begin(Access::Write)?;
        self.file.set_len(len).map_err(|error| Error::from_io(&error))
    }

    /// Waits until the content is on the disk (fsync(2)).
    ///
    /// # Errors
    /// `revoked`, `expired`, `no-space`, `io`.
    pub fn sync_all(&self) -> Result<()> {
        let _under_way = self.begin(Access::Read)?;
        self.file.sync_all().map_err(|error| Error::from_io(&error))
    }

    /// The file of the operating system. What is lost: nothing can take it back any more, neither `revoke()` nor the end of a grant.
    ///
    /// # Errors
    /// `not-granted` where that would be more than was granted: less than [`Access::Write`], a grant without deletion or with an end,
    /// a root with rules.
    pub fn into_std_without_revocation(self) -> Result<std::fs::File> {
        self.live()?;
        if self.authority.is_unconditional() { Ok(self.file) } else { Err(ErrorKind::NotGranted.into()) }
    }

    /// The metadata now.
    ///
    /// # Errors
    /// `revoked`, `io`.
    pub fn metadata(&self) -> Result<Metadata> {
        let _under_way = self.begin(Access::Read)?;
        Metadata::of(&self.file).map_err(|error| Error::from_io(&error))
    }

    /// The metadata when it was opened.
    #[must_use]
    pub fn opened_metadata(&self) -> Metadata {
        self.metadata.clone().with_created(&self.file)
    }

    /// The rest of the file, up to `limit` bytes.
    ///
    /// # Errors
    /// `too-large` if there is more, before anything is read where the size tells; `revoked`, `io`.
    pub fn read_all(&mut self, limit: u64) -> Result<Vec<u8>> {
        let _under_way = self.begin(Access::Read)?;
        let position = self.file.stream_position().map_err(|error| Error::from_io(&error))?;
        let bytes = read_to_limit(&self.file, &self.authority, self.metadata.len().saturating_sub(position), limit)?;
        self.live()?;
        Ok(bytes)
    }
}

/// The rest of a file of which `left` bytes were there when it was looked at, under an authority by which this counts as under way.
pub(crate) fn read_to_limit(mut file: &std::fs::File, authority: &Authority, left: u64, limit: u64) -> Result<Vec<u8>> {
    let failed = |error: io::Error| Error::from_io(&error);
    if left > limit {
        return Err(Error::too_large(limit));
    }
    // The size is a hint, and may be a lie: a file can grow meanwhile, and a sparse one be larger than memory.
    let hint = usize::try_from(left.min(PIECE)).unwrap_or(0);
    // One byte more than there should be is asked for: where that does not come, this is the end. Some files that the kernel makes up say that
    // they are empty, and give nothing behind what was read of them at once.
    let asked = if left == 0 { UNTOLD } else { hint.saturating_add(1) };
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(asked).map_err(|_| ErrorKind::Limit)?;
    bytes.resize(asked, 0);
    let count = step::uninterrupted(|| file.read(&mut bytes)).map_err(failed)?;
    bytes.truncate(count);
    let mut at_end = count == 0 || count < asked && u64::try_from(count) == Ok(left);
    // Piece by piece, each of which checks: a large file on a slow disk ends soon once its call is withdrawn.
    while !at_end {
        authority.check()?;
        let read = file.take(PIECE).read_to_end(&mut bytes).map_err(failed)?;
        at_end = u64::try_from(read).is_ok_and(|read| read < PIECE);
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
            return Err(Error::too_large(limit));
        }
    }
    Ok(bytes)
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let _under_way = self.begin(Access::Read)?;
        self.file.read(buffer)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _under_way = self.begin(Access::Write)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let _under_way = self.begin(Access::Write)?;
        self.file.flush()
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let _under_way = self.begin(Access::Read)?;
        self.file.seek(to)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("root", &self.authority.root.name.as_str())
            .field("len", &self.metadata.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::Roots;

    /// A file that grew after it was opened, and one that is read from its middle.
    #[test]
    fn the_limit_holds_for_what_is_read_and_not_for_what_was_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "12345").unwrap();
        let roots = Roots::builder().root(folder.path(), Access::Read).open().unwrap();
        let mut file = roots.open("f").unwrap();
        std::fs::write(&path, "1234567890").unwrap();
        assert_eq!(file.read_all(9).unwrap_err().kind(), ErrorKind::TooLarge);
        file.seek(SeekFrom::Start(8)).unwrap();
        assert_eq!(file.read_all(2).unwrap(), b"90");
        let mut file = roots.open("f").unwrap();
        file.seek(SeekFrom::Start(8)).unwrap();
        assert_eq!(file.read_all(5).unwrap(), b"90");
    }

    /// Catches: a file that is read to its end although nobody waits for it any more.
    #[test]
    fn a_withdrawn_call_stops_reading_in_the_middle() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicBool, Ordering};
        const LEN: u64 = 256 << 20;
        let folder = tempfile::tempdir().unwrap();
        std::fs::File::create(folder.path().join("f")).unwrap().set_len(LEN).unwrap();
        let flag = Arc::new(AtomicBool::new(false));
        let roots = Roots::builder().root(folder.path(), Access::Read).open().unwrap().until_cancelled(&flag);
        let mut file = roots.open("f").unwrap();
        // Of the same open file, so it shows how far the reading has come.
        let mut position = file.file.try_clone().unwrap();
        let mut seen = position.try_clone().unwrap();
        let watcher = std::thread::spawn(move || {
            while seen.stream_position().unwrap() == 0 {}
            flag.store(true, Ordering::SeqCst);
        });
        assert_eq!(file.read_all(LEN).unwrap_err().kind(), ErrorKind::Cancelled);
        watcher.join().unwrap();
        assert!(position.stream_position().unwrap() < LEN);
    }

    /// Catches: a file that says it is empty and gives what it has in one go, read as its first byte.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_empty_size_is_not_believed() {
        let (folder, name) = ("/proc/sys/kernel", "pid_max");
        let path = std::path::Path::new(folder).join(name);
        let is = std::fs::metadata(&path).map(|metadata| metadata.len()).ok();
        if is != Some(0) {
            return;
        }
        let roots = Roots::builder().root(folder, Access::Read).open().unwrap();
        let whole = std::fs::read(&path).unwrap();
        assert!(whole.len() > 1);
        assert_eq!(roots.read(name).unwrap(), whole);
        assert_eq!(roots.open(name).unwrap().read_all(u64::MAX).unwrap(), whole);
        let other = tempfile::tempdir().unwrap();
        let both =
            Roots::builder().named("kernel", folder, Access::Read).named("own", other.path(), Access::Write).open().unwrap();
        both.copy(format!("root://kernel/{name}"), "root://own/copy").unwrap();
        assert_eq!(both.read("root://own/copy").unwrap(), whole);
        assert_eq!(
            roots.read_dir(".").unwrap().find_map(|entry| entry.ok().filter(|e| e.name() == name)).unwrap().read().unwrap(),
            whole
        );
    }

    /// Sixteen exbibytes of nothing: refused, or read until a limit, never set aside.
    #[test]
    fn a_size_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let sparse = std::fs::File::create(folder.path().join("f")).unwrap();
        // Not every disk takes such a size.
        if sparse.set_len(8 << 40).is_ok() {
            let roots = Roots::builder().root(folder.path(), Access::Read).read_limit(1 << 20).open().unwrap();
            assert_eq!(roots.read("f").unwrap_err().kind(), ErrorKind::TooLarge);
            let mut file = roots.open("f").unwrap();
            file.seek(SeekFrom::End(-3)).unwrap();
            assert_eq!(file.read_all(u64::MAX).unwrap(), [0; 3]);
        }
    }
}
