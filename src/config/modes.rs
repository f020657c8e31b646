//! Keys whose value is one of few words.
//!
//! May touch: nothing. No I/O.

use crate::access::Access;

/// Rules that come with the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protect {
    /// .git, .mcp.json, .vscode/mcp.json, .cursor and .claude, at any depth, are read-only.
    #[default]
    Default,
    /// No such rules.
    None,
}

/// Hooks and settings that other programs run or obey: whoever writes them gets further than the directories that were granted.
const PROTECTED: &[(&str, Access)] = &[
    ("**/.git", Access::Read),
    ("**/.mcp.json", Access::Read),
    ("**/.vscode/mcp.json", Access::Read),
    ("**/.cursor", Access::Read),
    ("**/.claude", Access::Read),
];

impl Protect {
    /// The rules, for [`Builder::rule`](crate::Builder::rule).
    #[must_use]
    pub fn rules(self) -> &'static [(&'static str, Access)] {
        match self {
            Self::Default => PROTECTED,
            Self::None => &[],
        }
    }
}

/// What the roots of a client count for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientRoots {
    /// Nothing: the client is not asked.
    #[default]
    Off,
    /// They restrict what was granted.
    Narrow,
    /// Where no directory was granted, they are granted for reading and writing.
    Trust,
    /// Where no directory was granted, they are granted for reading.
    TrustRead,
}

/// Whether the kernel fences the process in, by Landlock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Landlock {
    /// As far as the kernel can.
    #[default]
    Auto,
    /// Fully, or the program does not start.
    Require,
    /// Not at all.
    Off,
}
