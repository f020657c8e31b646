//! Access, and the one table that says which operation needs which.
//!
//! May touch: nothing. Pure vocabulary.

use std::fmt;

/// How much of a root may be used. Ordered: each level includes the ones before it, and of two that meet the smaller holds
/// (ACCESS-SHRINKS).
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
    /// `Read`, and changing what is there. No operation of this version needs it yet.
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

macro_rules! operations {
    ($($(#[$doc:meta])* $operation:ident $name:literal $need:ident;)*) => {
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

            /// The least access that allows it.
            #[must_use]
            pub const fn needs(self) -> Access {
                match self { $(Operation::$operation => Access::$need),* }
            }
        }
    };
}

operations! {
    /// Open a file for reading.
    Open "open" Read;
    /// Open a directory, to work below it.
    OpenDir "open_dir" List;
    /// List a directory.
    ReadDir "read_dir" List;
    /// Metadata of what a path leads to.
    Metadata "metadata" List;
    /// Metadata of the path itself, be it a link.
    SymlinkMetadata "symlink_metadata" List;
    /// The text of a link.
    ReadLink "read_link" List;
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

    #[test]
    fn content_needs_more_than_names() {
        assert_eq!(Operation::Open.needs(), Access::Read);
        assert_eq!(Operation::ReadDir.needs(), Access::List);
    }
}
