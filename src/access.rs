//! Access, and the one table that says which operation needs which.
//!
//! May touch: nothing. Pure vocabulary.

use std::fmt;

/// How much of a root may be used. Ordered: each level includes the ones before it, and of two that meet the smaller holds
/// (ACCESS-SHRINKS). There will be no fifth level: code that matches all four stays exhaustive.
///
/// ```
/// use cap_roots::Access;
/// assert!(Access::None < Access::List && Access::List < Access::Read && Access::Read < Access::Write);
/// assert_eq!(Access::Write.min(Access::Read), Access::Read);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Nothing.
    #[default]
    None,
    /// Names, types and metadata, and the text of links that stay inside.
    List,
    /// `List`, and the content of files.
    Read,
    /// `Read`, and creating, changing, renaming and removing.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::None => "none",
            Access::List => "list",
            Access::Read => "read",
            Access::Write => "write",
        })
    }
}

/// One end of an operation. Most have one; `rename` and `copy` have two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// The only path, or the one that content comes from.
    Source,
    /// The path that content goes to.
    Target,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $operation:ident $name:literal $need:ident $target:expr, $deletes:expr;)*) => {
        /// What is to be done with a path.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Operation {
            $($(#[$doc])* #[doc = concat!("\n\nNeeds [`Access::", stringify!($need), "`].")] $operation,)*
        }

        impl Operation {
            /// Every operation.
            pub const ALL: &'static [Operation] = &[$(Operation::$operation),*];

            /// The name, as the method is called.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Operation::$operation => $name),* }
            }

            /// The least access that allows it, at its only path or at the one that content comes from.
            #[must_use]
            pub const fn needs(self) -> Access {
                match self { $(Operation::$operation => Access::$need),* }
            }

            /// The least access at the path that content goes to, where there is one.
            #[must_use]
            pub const fn needs_at_target(self) -> Option<Access> {
                match self { $(Operation::$operation => $target),* }
            }

            /// At which end it takes a name away for good; grants without deletion refuse it there.
            pub(crate) const fn deletes_at(self) -> Option<End> {
                match self { $(Operation::$operation => $deletes),* }
            }
        }
    };
}

// Judged from what is really done: whatever truncates, appends, creates or changes metadata is writing.
operations! {
    /// Open a file for reading.
    Open "open" Read None, None;
    /// Open a directory, to work below it.
    OpenDir "open_dir" List None, None;
    /// List a directory.
    ReadDir "read_dir" List None, None;
    /// List a directory and everything below it.
    Walk "walk" List None, None;
    /// Metadata of what a path leads to.
    Metadata "metadata" List None, None;
    /// Metadata of the path itself, be it a link.
    SymlinkMetadata "symlink_metadata" List None, None;
    /// The text of a link.
    ReadLink "read_link" List None, None;
    /// Narrow a set of roots to one directory.
    Within "within" List None, None;
    /// Replace or create a file.
    Write "write" Write None, None;
    /// Read a file and replace it by what is made of it.
    Update "update" Write None, None;
    /// Create a file that must not exist.
    CreateNew "create_new" Write None, None;
    /// Add to the end of a file.
    Append "append" Write None, None;
    /// Cut or extend a file.
    SetLen "set_len" Write None, None;
    /// Create a directory.
    CreateDir "create_dir" Write None, None;
    /// Create a directory and the missing ones above it.
    CreateDirAll "create_dir_all" Write None, None;
    /// Remove a file or a link.
    RemoveFile "remove_file" Write None, Some(End::Source);
    /// Remove an empty directory.
    RemoveDir "remove_dir" Write None, Some(End::Source);
    /// Remove a directory and everything in it.
    RemoveDirAll "remove_dir_all" Write None, Some(End::Source);
    /// Give another name; nothing is replaced.
    Rename "rename" Write Some(Access::Write), None;
    /// Give another name; what has it is replaced.
    RenameReplace "rename_replace" Write Some(Access::Write), Some(End::Target);
    /// Copy a file or a tree; nothing is replaced.
    Copy "copy" Read Some(Access::Write), None;
    /// Copy a file or a tree; a file is replaced.
    CopyReplace "copy_replace" Read Some(Access::Write), None;
    /// Change permission bits.
    SetPermissions "set_permissions" Write None, None;
    /// Change times.
    SetTimes "set_times" Write None, None;
}

impl Operation {
    /// Whether what its path names will be a directory, so that rules for directories hold for it from the start.
    pub(crate) fn makes_dir(self) -> bool {
        matches!(self, Operation::CreateDir | Operation::CreateDirAll)
    }

    /// Whether it changes anything, at either end.
    pub(crate) fn changes(self) -> bool {
        self.needs() == Access::Write || self.needs_at_target().is_some()
    }

    /// What it needs at one of its ends.
    pub(crate) fn needs_at(self, end: End) -> Access {
        match end {
            End::Source => self.needs(),
            End::Target => self.needs_at_target().unwrap_or(Access::Write),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operation_is_free() {
        for operation in Operation::ALL {
            assert!(operation.needs() > Access::None, "{}", operation.name());
        }
    }

    /// Catches: a level by another name than operators write, and rules for directories that hold for files, or not for new directories.
    #[test]
    fn levels_and_new_directories_are_told_apart() {
        let levels = [Access::None, Access::List, Access::Read, Access::Write];
        assert_eq!(levels.map(|access| access.to_string()), ["none", "list", "read", "write"]);
        let make: Vec<_> = Operation::ALL.iter().filter(|operation| operation.makes_dir()).map(|made| made.name()).collect();
        assert_eq!(make, ["create_dir", "create_dir_all"]);
    }

    /// Catches: a change that relies on a look at its root from a moment ago.
    #[test]
    fn what_changes_something_is_known_by_its_name() {
        let reads: Vec<_> = Operation::ALL.iter().filter(|operation| !operation.changes()).map(|read| read.name()).collect();
        let names = ["open", "open_dir", "read_dir", "walk", "metadata", "symlink_metadata", "read_link", "within"];
        assert_eq!(reads, names);
    }

    #[test]
    fn content_needs_more_than_names() {
        assert_eq!(Operation::Open.needs(), Access::Read);
        assert_eq!(Operation::ReadDir.needs(), Access::List);
        assert_eq!(Operation::Copy.needs_at(End::Source), Access::Read);
        assert_eq!(Operation::Copy.needs_at(End::Target), Access::Write);
    }
}
