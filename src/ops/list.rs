//! Listing a directory: names and types, without opening an entry.
//!
//! May touch: `permit`, `resolve`, the handle of the listed directory.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::iter::FusedIterator;
use std::path::PathBuf;
use std::sync::Arc;

use crate::access::{Access, Operation};
use crate::dir::Dir;
use crate::error::Result;
use crate::file::File;
use crate::metadata::{FileType, Metadata};
use crate::ops::remove::type_of;
use crate::ops::{contradiction, io, open, read_link, stat};
use crate::path::relative::RelPath;
use crate::path::uri;
use crate::permit::Permit;
use crate::resolve::mounts::Mounts;
use crate::resolve::names::Names;
use crate::resolve::{Found, Want, resolve, step};
use crate::root::{Place, Start};
use crate::rule::is_reserved;
use crate::text;

pub(crate) fn read_dir(place: Place, path: RelPath) -> Result<ReadDir> {
    let below_floor = match &place.start {
        Some(start) => start.path.join(&path),
        None => path.clone(),
    };
    let listed = Place { start: None, ..place.clone() };
    let (found, receipt) = resolve(Permit::issue(place, path, Operation::ReadDir)?, Want::Dir)?;
    let Found::Dir(dir, level) = found else { return receipt.close(Err(contradiction())) };
    let names = step::open_to_list(&dir).and_then(|dir| {
        let dir = Arc::new(dir);
        Names::of(Arc::clone(&dir), Vec::new()).map(|names| (dir, names))
    });
    receipt.close(names.map_err(io).map(|(dir, names)| {
        let start = Arc::new(Start { dir, path: below_floor, level });
        ReadDir { place: Arc::new(Place { start: Some(start), ..listed }), names: Some(names), ahead: VecDeque::new(), hidden: 0 }
    }))
}

/// The entries of a directory, in the order of the file system, without `.` and `..`.
///
/// One descriptor is held for the directory, whatever the number of entries. Each step checks again that the authority has not been
/// taken back; if it has, one `revoked` ends the listing.
#[must_use = "an iterator does nothing until it is used"]
pub struct ReadDir {
    place: Arc<Place>,
    /// Until the end.
    names: Option<Names>,
    /// Names that were read together with those before them.
    ahead: VecDeque<(OsString, Option<FileType>)>,
    hidden: u64,
}

impl ReadDir {
    /// How many names were left out because of rules, so far. The count is of the directory, and tells not which rule hid what.
    #[must_use]
    pub fn hidden(&self) -> u64 {
        self.hidden
    }

    /// Whether a name may be shown. Temporary files of ours are nobody's.
    fn shows(&mut self, name: &OsStr, file_type: FileType) -> bool {
        if is_reserved(name) {
            return false;
        }
        let rules = &self.place.root().rules;
        let dir_or_link = matches!(file_type, FileType::Dir | FileType::Symlink);
        let shown = rules.is_empty() || rules.enter(&self.place.start_level().stand, name).ceiling(dir_or_link) >= Access::List;
        self.hidden += u64::from(!shown);
        shown
    }
}

impl Iterator for ReadDir {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        // Counted, and looked at again behind: nobody gets an entry once the authority is gone.
        let _under_way = self.place.authority.begin();
        let next = self.step();
        if let Err(kind) = self.place.authority.check() {
            return self.names.take().map(|_| Err(kind.into()));
        }
        next
    }
}

impl ReadDir {
    fn step(&mut self) -> Option<Result<Entry>> {
        loop {
            let names = self.names.as_mut()?;
            let Some((name, listed)) = self.ahead.pop_front() else {
                match names.more(|name, file_type| self.ahead.push_back((name.to_owned(), file_type))) {
                    Ok(true) => continue,
                    Ok(false) if !self.ahead.is_empty() => continue,
                    Ok(false) => {
                        self.names = None;
                        return None;
                    }
                    Err(error) => {
                        self.names = None;
                        return Some(Err(io(error)));
                    }
                }
            };
            // From the listing itself; where the file system does not tell, by a look that follows nothing.
            let dir = self.place.start.as_ref().map(|start| &*start.dir)?;
            let file_type = type_of(dir, &name, listed, Mounts::Any).unwrap_or(FileType::Special);
            if self.shows(&name, file_type) {
                return Some(Ok(Entry::new(Arc::clone(&self.place), name, file_type)));
            }
        }
    }
}

impl FusedIterator for ReadDir {}

impl fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadDir").field("root", &self.place.root().name.as_str()).finish_non_exhaustive()
    }
}

/// One entry of a directory. Its operations go through the directory that was listed, by handle, and are decided anew each time.
#[derive(Clone)]
pub struct Entry {
    /// That of all entries of a listing.
    place: Arc<Place>,
    name: OsString,
    file_type: FileType,
}

impl Entry {
    pub(crate) fn new(place: Arc<Place>, name: OsString, file_type: FileType) -> Self {
        Self { place, name, file_type }
    }

    /// The name, to the byte.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The name as text that loses nothing: the name itself, or, where it is not UTF-8, has characters that deceive the eye, or would
    /// mean something else (`~`), the entry's whole `root://` URI, which any path argument takes.
    #[must_use]
    pub fn name_text(&self) -> Cow<'_, str> {
        match self.name.to_str() {
            Some(name) if text::is_plain_name(name) => Cow::Borrowed(name),
            _ => Cow::Owned(self.uri()),
        }
    }

    /// The `root://NAME/relative` URI of the entry, by the path that the directory was listed by. Never a host path.
    #[must_use]
    pub fn uri(&self) -> String {
        uri::write(&self.place.root().name, &self.place.path_from_root(&RelPath::single(&self.name)))
    }

    /// The type, from the listing; a link is a link.
    #[must_use]
    pub fn file_type(&self) -> FileType {
        self.file_type
    }

    fn on<T>(&self, operation: impl FnOnce(Place, RelPath) -> Result<T>) -> Result<T> {
        operation(Place::clone(&self.place), RelPath::single(&self.name)).map_err(|error| error.about(self.name_text()))
    }

    /// Opens the file for reading; a link is followed within the bounds of the listed root or `Dir`.
    ///
    /// # Errors
    /// As [`Roots::open`](crate::Roots::open).
    pub fn open(&self) -> Result<File> {
        self.on(open::file)
    }

    /// Opens the directory.
    ///
    /// # Errors
    /// As [`Roots::open_dir`](crate::Roots::open_dir).
    pub fn open_dir(&self) -> Result<Dir> {
        self.on(open::dir)
    }

    /// Lists the directory.
    ///
    /// # Errors
    /// As [`Roots::read_dir`](crate::Roots::read_dir).
    pub fn read_dir(&self) -> Result<ReadDir> {
        self.on(read_dir)
    }

    /// Reads the whole file. Limit: 64 MiB unless the builder says otherwise.
    ///
    /// # Errors
    /// As [`Roots::read`](crate::Roots::read).
    pub fn read(&self) -> Result<Vec<u8>> {
        self.on(open::read)
    }

    /// Reads the whole file as UTF-8 text. Limit: 64 MiB unless the builder says otherwise.
    ///
    /// # Errors
    /// As [`Roots::read_to_string`](crate::Roots::read_to_string).
    pub fn read_to_string(&self) -> Result<String> {
        self.on(open::read_to_string)
    }

    /// Metadata of the entry itself; a link is not followed.
    ///
    /// # Errors
    /// As [`Roots::symlink_metadata`](crate::Roots::symlink_metadata).
    pub fn metadata(&self) -> Result<Metadata> {
        self.on(stat::symlink_metadata)
    }

    /// The text of the link.
    ///
    /// # Errors
    /// As [`Roots::read_link`](crate::Roots::read_link).
    pub fn read_link(&self) -> Result<PathBuf> {
        self.on(read_link::read_link)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name_text()).field("file_type", &self.file_type).finish_non_exhaustive()
    }
}
