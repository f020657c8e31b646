//! The steps of a sequence, and how they are written.

use std::fmt;

use cap_roots::Access;

/// One step.
#[derive(Clone, Debug)]
pub enum Step {
    /// An operation on one of the sets of roots; the number counts round.
    Do {
        view: usize,
        op: Op,
    },
    /// The other side makes what the line describes, directly on the disk, if its name is free.
    Plant(String),
    Within {
        view: usize,
        path: String,
    },
    /// What a client sends as its roots, as absolute paths.
    Hint {
        view: usize,
        paths: Vec<String>,
    },
    Limit {
        view: usize,
        access: Access,
    },
    NoDelete {
        view: usize,
    },
    /// Of the set that was opened, and so of all.
    Revoke,
}

/// One operation on paths, with its arguments.
#[derive(Clone, Debug)]
pub enum Op {
    Read(String),
    ReadDir(String),
    Walk(String),
    Metadata(String),
    SymlinkMetadata(String),
    Exists(String),
    ReadLink(String),
    Write(String, String),
    /// Appends to the old content.
    Update(String, String),
    CreateNew(String),
    Append(String, String),
    SetLen(String, u64),
    CreateDir(String),
    CreateDirAll(String),
    RemoveFile(String),
    RemoveDir(String),
    RemoveDirAll(String),
    Rename(String, String),
    RenameReplace(String, String),
    Copy(String, String),
    CopyReplace(String, String),
    SetPermissions(String, u32),
    SetTimes(String),
}

impl Op {
    /// The name of the method.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Read(_) => "read",
            Op::ReadDir(_) => "read_dir",
            Op::Walk(_) => "walk",
            Op::Metadata(_) => "metadata",
            Op::SymlinkMetadata(_) => "symlink_metadata",
            Op::Exists(_) => "exists",
            Op::ReadLink(_) => "read_link",
            Op::Write(..) => "write",
            Op::Update(..) => "update",
            Op::CreateNew(_) => "create_new",
            Op::Append(..) => "append",
            Op::SetLen(..) => "set_len",
            Op::CreateDir(_) => "create_dir",
            Op::CreateDirAll(_) => "create_dir_all",
            Op::RemoveFile(_) => "remove_file",
            Op::RemoveDir(_) => "remove_dir",
            Op::RemoveDirAll(_) => "remove_dir_all",
            Op::Rename(..) => "rename",
            Op::RenameReplace(..) => "rename_replace",
            Op::Copy(..) => "copy",
            Op::CopyReplace(..) => "copy_replace",
            Op::SetPermissions(..) => "set_permissions",
            Op::SetTimes(_) => "set_times",
        }
    }

    /// The first path.
    pub fn path(&self) -> &str {
        match self {
            Op::Read(path) | Op::ReadDir(path) | Op::Walk(path) | Op::Metadata(path) | Op::SymlinkMetadata(path) => path,
            Op::Exists(path) | Op::ReadLink(path) | Op::Write(path, _) | Op::Update(path, _) | Op::CreateNew(path) => path,
            Op::Append(path, _) | Op::SetLen(path, _) | Op::CreateDir(path) | Op::CreateDirAll(path) => path,
            Op::RemoveFile(path) | Op::RemoveDir(path) | Op::RemoveDirAll(path) => path,
            Op::Rename(path, _) | Op::RenameReplace(path, _) | Op::Copy(path, _) | Op::CopyReplace(path, _) => path,
            Op::SetPermissions(path, _) | Op::SetTimes(path) => path,
        }
    }

    /// Both paths of an operation that has two.
    pub fn two_ends(&self) -> Option<(&str, &str)> {
        match self {
            Op::Rename(from, to) | Op::RenameReplace(from, to) | Op::Copy(from, to) | Op::CopyReplace(from, to) => {
                Some((from, to))
            }
            _ => None,
        }
    }

    /// Whether the first path is taken by its name, and not by what it leads to.
    pub fn keeps_from(&self) -> bool {
        matches!(self, Op::Rename(..) | Op::RenameReplace(..))
    }

    /// Whether it changes nothing.
    pub fn looks(&self) -> bool {
        matches!(self, Op::Read(_) | Op::ReadDir(_) | Op::Walk(_) | Op::Metadata(_))
            || matches!(self, Op::SymlinkMetadata(_) | Op::Exists(_) | Op::ReadLink(_))
    }

    /// Whether it takes the name of its one path away.
    pub fn removes(&self) -> bool {
        matches!(self, Op::RemoveFile(_) | Op::RemoveDir(_) | Op::RemoveDirAll(_))
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name(), self.path())?;
        match self {
            Op::Write(_, text) | Op::Update(_, text) | Op::Append(_, text) => write!(f, " = {text}"),
            Op::SetLen(_, len) => write!(f, " = {len}"),
            Op::SetPermissions(_, mode) => write!(f, " = {mode:o}"),
            _ => match self.two_ends() {
                Some((_, to)) => write!(f, " -> {to:?}"),
                None => Ok(()),
            },
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Do { view, op } => write!(f, "@{view} {op}"),
            Step::Plant(line) => write!(f, "other side: {line}"),
            Step::Within { view, path } => write!(f, "@{view} within {path:?}"),
            Step::Hint { view, paths } => write!(f, "@{view} hints {paths:?}"),
            Step::Limit { view, access } => write!(f, "@{view} limit {access}"),
            Step::NoDelete { view } => write!(f, "@{view} without_delete"),
            Step::Revoke => f.write_str("revoke"),
        }
    }
}
