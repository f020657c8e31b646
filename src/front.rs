//! The operations as methods, with their documentation, once for [`Roots`](crate::Roots) and for [`Dir`](crate::Dir).
//!
//! May touch: `ops`. Text goes in, and nothing but permits gets further: both types parse and locate in `on` and `on_both`.

macro_rules! operations_on {
    ($front:ty) => {
        /// Reading.
        impl $front {
            /// Opens a regular file for reading. It was inside its root when it was opened.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method); `is-a-directory`; `special-file` for a pipe, socket, device or kernel
            /// file: the open does not wait for a peer, and the handle is closed unread.
            pub fn open(&self, path: impl AsRef<Utf8Path>) -> Result<File> {
                self.on(path, Operation::Open, open::file)
            }

            /// Opens a directory, to work below it by handle.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method).
            pub fn open_dir(&self, path: impl AsRef<Utf8Path>) -> Result<Dir> {
                self.on(path, Operation::OpenDir, open::dir)
            }

            /// Reads a whole file. Limit: 64 MiB unless [`Builder::read_limit`](crate::Builder::read_limit) says otherwise.
            ///
            /// # Errors
            /// As [`Roots::open`](crate::Roots::open); `too-large`, before anything is read where the size tells.
            pub fn read(&self, path: impl AsRef<Utf8Path>) -> Result<Vec<u8>> {
                self.on(path, Operation::Open, open::read)
            }

            /// Reads a whole file as UTF-8 text, to the byte: line ends and a byte order mark stay. Limit: 64 MiB unless
            /// [`Builder::read_limit`](crate::Builder::read_limit) says otherwise.
            ///
            /// # Errors
            /// As [`Roots::read`](crate::Roots::read); `not-utf8`.
            pub fn read_to_string(&self, path: impl AsRef<Utf8Path>) -> Result<String> {
                self.on(path, Operation::Open, open::read_to_string)
            }

            /// Metadata of what the path leads to. Nothing is opened for reading.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method).
            pub fn metadata(&self, path: impl AsRef<Utf8Path>) -> Result<Metadata> {
                self.on(path, Operation::Metadata, stat::metadata)
            }

            /// Metadata of the path itself: a link as the last name is not followed, unless a slash stands behind it.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method).
            pub fn symlink_metadata(&self, path: impl AsRef<Utf8Path>) -> Result<Metadata> {
                self.on(path, Operation::SymlinkMetadata, stat::symlink_metadata)
            }

            /// The text of a link, where it is relative and stays inside by text.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method); `invalid-argument` if it is not a link; `outside-roots` for a text that
            /// is absolute or leads out, since it would tell about the host.
            pub fn read_link(&self, path: impl AsRef<Utf8Path>) -> Result<PathBuf> {
                self.on(path, Operation::ReadLink, read_link::read_link)
            }

            /// Whether the path leads to something.
            ///
            /// # Errors
            /// As [`Roots::metadata`](crate::Roots::metadata), without `not-found`. A path that leads outside is an error, not `false`.
            pub fn exists(&self, path: impl AsRef<Utf8Path>) -> Result<bool> {
                self.on(path, Operation::Metadata, stat::exists)
            }

            /// Lists a directory: names and types, without opening an entry. What rules hide is counted, not shown.
            ///
            /// ```
            /// # let folder = tempfile::tempdir()?;
            /// # std::fs::write(folder.path().join("a.md"), "text")?;
            /// # let roots = cap_roots::Roots::builder().root(folder.path(), cap_roots::Access::Read).open()?;
            /// for entry in roots.read_dir(".")? {
            ///     let entry = entry?;
            ///     println!("{:?} {}", entry.file_type(), entry.name_text());
            /// }
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method); `os-denied` also for a directory that may be read and not searched.
            pub fn read_dir(&self, path: impl AsRef<Utf8Path>) -> Result<ReadDir> {
                self.on(path, Operation::ReadDir, list::read_dir)
            }

            /// Goes through everything below a directory, by handles, with a bounded number of descriptors.
            ///
            /// # Errors
            /// As [`Roots::read_dir`](crate::Roots::read_dir).
            pub fn walk(&self, path: impl AsRef<Utf8Path>) -> Result<Walk> {
                self.on(path, Operation::Walk, walk::walk)
            }
        }

        /// Writing. Nothing here makes a symbolic or hard link: they are how rules are walked around.
        impl $front {
            /// Replaces a file, or creates it: the default way to write. All or nothing (ALL-OR-NOTHING): the content is written beside it,
            /// synced, and renamed over it, so that whoever reads, and whoever looks after a crash, sees the old content or the new. The
            /// mode stays; set-id bits do not, nor do extended attributes. Other hard links of the old file keep its bytes. A link as the
            /// last name is followed as long as it stays inside, and if it dangles there, what it names is created.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method); `is-a-directory`, `special-file`; `os-denied` also for a file that could
            /// not be written in place; `conflict` if another process changed it meanwhile; `no-space`, and then the old content is kept.
            pub fn write(&self, path: impl AsRef<Utf8Path>, contents: impl AsRef<[u8]>) -> Result<()> {
                self.on(path, Operation::Write, |place, path| write::write(place, path, contents.as_ref()))
            }

            /// Reads a whole file and replaces it, as [`Roots::write`](crate::Roots::write) does, by what `edit` makes of its bytes. Updates,
            /// appends and writes of one file through one set of roots queue in the order in which they come, so none is lost; a change by
            /// another process is `conflict`. If `edit` refuses, nothing happens. It runs while others wait for the file, and must change nothing
            /// itself: any change that it asks for is `busy`.
            ///
            /// # Errors
            /// As [`Roots::write`](crate::Roots::write); `not-found`; `too-large`; whatever `edit` refuses with.
            pub fn update(&self, path: impl AsRef<Utf8Path>, edit: impl FnOnce(Vec<u8>) -> Result<Vec<u8>>) -> Result<()> {
                self.on(path, Operation::Update, |place, path| write::update(place, path, edit))
            }

            /// Creates an empty file where nothing has the name, open for reading and writing.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method); `already-exists`, also for a link, wherever it leads.
            pub fn create_new(&self, path: impl AsRef<Utf8Path>) -> Result<File> {
                self.on(path, Operation::CreateNew, write::create_new)
            }

            /// Adds to the end of a file, in place, or creates it. Not atomic: a crash may leave a part. What does not fit on the disk is taken
            /// back.
            ///
            /// # Errors
            /// As [`Roots::write`](crate::Roots::write); `hard-linked` for a file with more names than one, which the change would reach too.
            pub fn append(&self, path: impl AsRef<Utf8Path>, contents: impl AsRef<[u8]>) -> Result<()> {
                self.on(path, Operation::Append, |place, path| write::append(place, path, contents.as_ref()))
            }

            /// Cuts a file or extends it with zeros, in place.
            ///
            /// # Errors
            /// As [`Roots::append`](crate::Roots::append); `not-found`.
            pub fn set_len(&self, path: impl AsRef<Utf8Path>, len: u64) -> Result<()> {
                self.on(path, Operation::SetLen, |place, path| write::set_len(place, path, len))
            }

            /// Creates a directory.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method); `already-exists`, whatever has the name.
            pub fn create_dir(&self, path: impl AsRef<Utf8Path>) -> Result<()> {
                self.on(path, Operation::CreateDir, make::create_dir)
            }

            /// Creates a directory and the missing ones above it. A directory that is there is fine, also behind a link that stays inside.
            /// All names that are to be created are judged before the first is; `..` behind a missing name is `not-found`.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method); `already-exists` if something else has the last name.
            pub fn create_dir_all(&self, path: impl AsRef<Utf8Path>) -> Result<()> {
                self.on(path, Operation::CreateDirAll, make::create_dir_all)
            }

            /// Removes a file, a link itself, a pipe or a socket.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method); `is-a-directory`; `invalid-path` for a path that ends with `..` or names
            /// the root.
            pub fn remove_file(&self, path: impl AsRef<Utf8Path>) -> Result<()> {
                self.on(path, Operation::RemoveFile, remove::remove_file)
            }

            /// Removes an empty directory.
            ///
            /// # Errors
            /// As [`Roots::remove_file`](crate::Roots::remove_file); `not-empty`; `not-a-directory`, also for a link to one.
            pub fn remove_dir(&self, path: impl AsRef<Utf8Path>) -> Result<()> {
                self.on(path, Operation::RemoveDir, remove::remove_dir)
            }

            /// Removes a directory with everything in it, by handles and never through a link; a link as the last name is removed itself.
            /// Every name in it is judged before the first is removed, so a tree with anything protected in it stays whole. Not atomic: what
            /// stops it half-way leaves the rest.
            ///
            /// # Errors
            /// As [`Roots::remove_file`](crate::Roots::remove_file); `not-a-directory`; `limit` for more than 1,000,000 names.
            pub fn remove_dir_all(&self, path: impl AsRef<Utf8Path>) -> Result<()> {
                self.on(path, Operation::RemoveDirAll, remove::remove_dir_all)
            }

            /// Gives an entry another name, links themselves included. Nothing is replaced, with no gap between the look and the rename
            /// (renameat2(2) with `RENAME_NOREPLACE`; where a system lacks it: a second name for files, and for directories a look before,
            /// which another process can fall between).
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method), of both paths; `already-exists`; `protected` also where a rule would match
            /// other names below the new name than below the old one; `cross-root` into another root where that would take something out of
            /// a grant without deletion or between unlike rules; `invalid-argument` for a directory into itself; `unsupported` to another
            /// mount.
            pub fn rename(&self, from: impl AsRef<Utf8Path>, to: impl AsRef<Utf8Path>) -> Result<()> {
                self.on_both(from, to, Operation::Rename, |from, to| rename::rename(from, to, false))
            }

            /// As [`Roots::rename`](crate::Roots::rename), and replaces what has the name: a file by a file, an empty directory by a directory
            /// (rename(2)). Two names of one file stay as they are.
            ///
            /// # Errors
            /// As there; `not-granted` without deletion; `is-a-directory`, `not-a-directory`, `not-empty`.
            pub fn rename_replace(&self, from: impl AsRef<Utf8Path>, to: impl AsRef<Utf8Path>) -> Result<()> {
                self.on_both(from, to, Operation::RenameReplace, |from, to| rename::rename(from, to, true))
            }

            /// Copies a file, or a directory with everything in it; nothing is replaced. Needs [`Access::Read`](crate::Access::Read) at `from`
            /// and [`Access::Write`](crate::Access::Write) at `to`. Appears all at once or not at all. Permission bits are copied without
            /// set-id; links and special files in a tree are skipped and counted, never followed. A file that grows is copied as far as it was
            /// when it was opened, one that shrinks as far as it is. The files of a tree are not synced one by one: after a power cut they may be
            /// empty.
            ///
            /// # Errors
            /// As [every method](crate::Roots#errors-of-every-method), of both paths; `already-exists`; `protected` where anything in a tree is,
            /// or would be judged otherwise at the target; `cross-root` between unlike rules; `invalid-argument` into itself; `limit` for
            /// more than 1,000,000 names; `no-space`.
            pub fn copy(&self, from: impl AsRef<Utf8Path>, to: impl AsRef<Utf8Path>) -> Result<Copied> {
                self.on_both(from, to, Operation::Copy, |from, to| copy::copy(from, to, false))
            }

            /// As [`Roots::copy`](crate::Roots::copy), and replaces a file by a file as [`Roots::write`](crate::Roots::write) does.
            ///
            /// # Errors
            /// As there; `invalid-argument` onto itself, also by another name of the same file.
            pub fn copy_replace(&self, from: impl AsRef<Utf8Path>, to: impl AsRef<Utf8Path>) -> Result<Copied> {
                self.on_both(from, to, Operation::CopyReplace, |from, to| copy::copy(from, to, true))
            }

            /// Sets the nine permission bits of chmod(2), such as `0o644` (Unix).
            ///
            /// # Errors
            /// As [`Roots::append`](crate::Roots::append); `not-found`; `invalid-argument` for set-id and sticky bits; `unsupported` on other
            /// systems. What its owner can open neither for reading nor for writing is changed by its name in the held directory; it is
            /// `os-denied` where rules hold or the set is a single file, since a name alone does not tell what has it by then, and for a
            /// directory that the path does not name: the root or the `Dir` itself, and what `..` goes back to.
            pub fn set_permissions(&self, path: impl AsRef<Utf8Path>, mode: u32) -> Result<()> {
                self.on(path, Operation::SetPermissions, |place, path| attributes::set_permissions(place, path, mode))
            }

            /// Sets when the content was last read and changed; `None` leaves it as it is.
            ///
            /// # Errors
            /// As [`Roots::append`](crate::Roots::append); `not-found`; `os-denied` for what can be opened neither for reading nor for writing.
            pub fn set_times(
                &self,
                path: impl AsRef<Utf8Path>,
                accessed: Option<SystemTime>,
                modified: Option<SystemTime>,
            ) -> Result<()> {
                self.on(path, Operation::SetTimes, |place, path| attributes::set_times(place, path, accessed, modified))
            }
        }
    };
}

pub(crate) use operations_on;
