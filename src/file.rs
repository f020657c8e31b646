//! An opened file.
//!
//! May touch: its own handle and the lease that it was opened under.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::metadata::Metadata;
use crate::root::Root;

/// A regular file inside a root, open for reading.
///
/// It was inside the root when it was opened; later renames do not move the handle. Each call checks again that the authority has
/// not been taken back (CHECK-AT-USE) and fails with an [`io::Error`] that wraps `revoked` if it has.
pub struct File {
    file: std::fs::File,
    root: Arc<Root>,
    metadata: cap_std::fs::Metadata,
}

impl File {
    pub(crate) fn new(file: std::fs::File, metadata: cap_std::fs::Metadata, root: Arc<Root>) -> Self {
        Self { file, root, metadata }
    }

    fn live(&self) -> Result<()> {
        Ok(self.root.shared.lease.check()?)
    }

    /// The metadata now.
    ///
    /// # Errors
    /// `revoked`, `io`.
    pub fn metadata(&self) -> Result<Metadata> {
        self.live()?;
        cap_std::fs::Metadata::from_file(&self.file).map(Metadata).map_err(|error| Error::from_io(&error))
    }

    /// The metadata when it was opened. No system call.
    #[must_use]
    pub fn opened_metadata(&self) -> Metadata {
        Metadata(self.metadata.clone())
    }

    /// The rest of the file, up to `limit` bytes.
    ///
    /// # Errors
    /// `too-large` if there is more, before anything is read where the size tells; `revoked`, `io`.
    pub fn read_all(&mut self, limit: u64) -> Result<Vec<u8>> {
        self.live()?;
        if self.metadata.len() > limit {
            return Err(Error::too_large(limit));
        }
        // The size is a hint: the file may grow meanwhile, and then the limit holds.
        let mut bytes = Vec::with_capacity(usize::try_from(self.metadata.len()).unwrap_or(0).saturating_add(1));
        (&self.file).take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| Error::from_io(&error))?;
        self.live()?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
            return Err(Error::too_large(limit));
        }
        Ok(bytes)
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.live()?;
        self.file.read(buffer)
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.live()?;
        self.file.seek(to)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("root", &self.root.name.as_str()).field("len", &self.metadata.len()).finish_non_exhaustive()
    }
}
