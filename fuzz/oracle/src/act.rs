//! An operation, done by the crate: by a set of roots, or by the handle of a directory. The answer is in the model's words.

use std::time::{Duration, SystemTime};

use cap_roots::{Dir, Error, FileType, Metadata, Roots};

use crate::model::Seen;
use crate::sequence::step::Op;

/// What operations are done by.
pub trait Act {
    /// Does one on these paths; `to` is of no use to what has one path.
    fn act_on(&self, op: &Op, path: &str, to: &str) -> Result<Seen, Error>;

    /// Does one on its own paths.
    fn act(&self, op: &Op) -> Result<Seen, Error> {
        self.act_on(op, op.path(), op.two_ends().map_or("", |(_, to)| to))
    }

    /// Opens a directory below.
    fn open_dir(&self, path: &str) -> Result<Dir, Error>;
}

macro_rules! acts {
    ($($front:ident)*) => {$(
        impl Act for $front {
            fn act_on(&self, op: &Op, path: &str, to: &str) -> Result<Seen, Error> {
                Ok(match op {
                    Op::Read(_) => Seen::Content(String::from_utf8_lossy(&self.read(path)?).into_owned()),
                    Op::ReadDir(_) => {
                        let mut entries = self.read_dir(path)?;
                        let names = entries.by_ref().map(|entry| Ok(entry?.name().to_string_lossy().into_owned()));
                        Seen::Names(sorted(names)?, entries.hidden())
                    }
                    Op::Walk(_) => {
                        let mut entries = self.walk(path)?;
                        let names = entries.by_ref().map(|entry| {
                            let entry = entry?;
                            Ok(format!("{} {}", kind(entry.file_type()), entry.name().to_string_lossy()))
                        });
                        Seen::Names(sorted(names)?, entries.hidden())
                    }
                    Op::Metadata(_) => seen(&self.metadata(path)?),
                    Op::SymlinkMetadata(_) => seen(&self.symlink_metadata(path)?),
                    Op::Exists(_) => Seen::Bool(self.exists(path)?),
                    Op::ReadLink(_) => Seen::Text(self.read_link(path)?.to_string_lossy().into_owned()),
                    Op::Write(_, text) => done(self.write(path, text)?),
                    Op::Update(_, text) => done(self.update(path, |old| Ok([&old, text.as_bytes()].concat()))?),
                    Op::CreateNew(_) => done(self.create_new(path).map(drop)?),
                    Op::Append(_, text) => done(self.append(path, text)?),
                    Op::SetLen(_, len) => done(self.set_len(path, *len)?),
                    Op::CreateDir(_) => done(self.create_dir(path)?),
                    Op::CreateDirAll(_) => done(self.create_dir_all(path)?),
                    Op::RemoveFile(_) => done(self.remove_file(path)?),
                    Op::RemoveDir(_) => done(self.remove_dir(path)?),
                    Op::RemoveDirAll(_) => done(self.remove_dir_all(path)?),
                    Op::Rename(..) => done(self.rename(path, to)?),
                    Op::RenameReplace(..) => done(self.rename_replace(path, to)?),
                    Op::Copy(..) => Seen::Copied(self.copy(path, to)?.skipped),
                    Op::CopyReplace(..) => Seen::Copied(self.copy_replace(path, to)?.skipped),
                    Op::SetPermissions(_, mode) => done(self.set_permissions(path, *mode)?),
                    Op::SetTimes(_) => done(self.set_times(path, None, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)))?),
                })
            }

            fn open_dir(&self, path: &str) -> Result<Dir, Error> {
                self.open_dir(path)
            }
        }
    )*};
}

acts!(Roots Dir);

fn done((): ()) -> Seen {
    Seen::Done
}

fn sorted(names: impl Iterator<Item = Result<String, Error>>) -> Result<Vec<String>, Error> {
    let mut names = names.collect::<Result<Vec<_>, _>>()?;
    names.sort();
    Ok(names)
}

fn seen(metadata: &Metadata) -> Seen {
    Seen::Kind(kind(metadata.file_type()))
}

fn kind(file_type: FileType) -> &'static str {
    match file_type {
        FileType::File => "file",
        FileType::Dir => "dir",
        FileType::Symlink => "link",
        _ => "special",
    }
}
