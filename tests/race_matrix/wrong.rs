//! The controls: the same operations as most servers do them. The path is checked as a name, and then used as a name.

use std::fs::{self, FileTimes, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::operation::{FROM, Operation, PATH, TO};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Links are resolved, and the result has to lie below the root.
    Canonicalize,
    /// The text has no `..` and is not absolute.
    Lexical,
}

pub(crate) struct ByPath {
    pub(crate) root: PathBuf,
    pub(crate) check: Check,
}

impl ByPath {
    fn check(&self, text: &str) -> Result<PathBuf, &'static str> {
        let whole = self.root.join(text);
        let is_inside = match self.check {
            Check::Lexical => Path::new(text).components().all(|part| matches!(part, Component::Normal(_))),
            Check::Canonicalize => {
                let parent = || fs::canonicalize(whole.parent().unwrap());
                fs::canonicalize(&whole).or_else(|_| parent()).is_ok_and(|real| real.starts_with(&self.root))
            }
        };
        if is_inside { Ok(whole) } else { Err("refused") }
    }

    pub(crate) fn act(&self, operation: Operation) -> Result<String, &'static str> {
        let [path, from, to] = [PATH, FROM, TO].map(|text| self.check(text));
        // The other end is looked at as well where there is one.
        act(operation, &path?, &from?, &to?).map_err(|_| "failed")
    }
}

fn act(operation: Operation, path: &Path, from: &Path, to: &Path) -> io::Result<String> {
    use Operation as O;
    match operation {
        O::Open | O::Read => return fs::read_to_string(path),
        O::OpenDir | O::ReadDir => return listing(path, false),
        O::Walk => return listing(path, true),
        O::Metadata => return fs::metadata(path).map(|metadata| tell(&metadata)),
        O::SymlinkMetadata => return fs::symlink_metadata(path).map(|metadata| tell(&metadata)),
        O::Exists => return path.try_exists().map(|exists| exists.to_string()),
        O::ReadLink => return fs::read_link(path).map(|text| text.to_string_lossy().into_owned()),
        O::Update => {
            let old = fs::read_to_string(path)?;
            fs::write(path, "inside+")?;
            return Ok(old);
        }
        O::Write | O::WriteNew => fs::write(path, "written")?,
        O::Append | O::AppendNew => fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(b"+")?,
        O::SetLen => fs::OpenOptions::new().write(true).open(path)?.set_len(3)?,
        O::CreateNew => fs::File::create_new(path)?.write_all(b"made")?,
        O::CreateDir => fs::create_dir(path)?,
        O::CreateDirAll => fs::create_dir_all(path)?,
        O::RemoveFile => fs::remove_file(path)?,
        O::RemoveDir => fs::remove_dir(path)?,
        O::RemoveDirAll => fs::remove_dir_all(path)?,
        O::RenameFrom | O::RenameReplaceFrom => fs::rename(path, to)?,
        O::RenameTo | O::RenameReplaceTo => fs::rename(from, path)?,
        O::CopyFrom | O::CopyReplaceFrom => fs::copy(path, to).map(drop)?,
        O::CopyTreeFrom => {
            fs::create_dir(to)?;
            for entry in fs::read_dir(path)? {
                let name = entry?.file_name();
                if path.join(&name).is_file() {
                    fs::copy(path.join(&name), to.join(&name))?;
                }
            }
        }
        O::CopyTo | O::CopyReplaceTo => fs::copy(from, path).map(drop)?,
        O::SetPermissions => fs::set_permissions(path, Permissions::from_mode(0o600))?,
        O::SetTimes => {
            let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000));
            fs::OpenOptions::new().write(true).open(path)?.set_times(times)?;
        }
    }
    Ok(String::new())
}

fn tell(metadata: &fs::Metadata) -> String {
    if metadata.is_file() { format!("file {}", metadata.len()) } else { "dir".to_owned() }
}

fn listing(path: &Path, deep: bool) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() {
            names.push(format!("{name}={}", fs::read_to_string(path.join(&name))?));
        } else {
            let below = if deep { format!(" {}", listing(&path.join(&name), true)?) } else { String::new() };
            names.push(format!("{name}{below}"));
        }
    }
    names.sort();
    Ok(names.join(" "))
}
