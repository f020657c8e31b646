//! Values of options that are one of few words.
//!
//! May touch: nothing of the other rooms.

use cap_roots::config;
use clap::ValueEnum;

/// When there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal
    Auto,
    /// Also in a pipe
    Always,
    /// Not at all
    Never,
}

/// Rules that come with the program: [`config::Protect`], as it is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Protect {
    /// .git, .mcp.json, .vscode/mcp.json, .cursor and .claude, at any depth, are read-only
    Default,
    /// No such rules
    None,
}

impl From<Protect> for config::Protect {
    fn from(protect: Protect) -> Self {
        match protect {
            Protect::Default => Self::Default,
            Protect::None => Self::None,
        }
    }
}

/// What a client's roots count for: [`config::ClientRoots`], as it is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ClientRoots {
    /// The client is not asked
    Off,
    /// Its roots narrow what is served to it; one that has roots, and none in a served directory, reaches nothing
    Narrow,
    /// Without DIR, its roots are served read-write; with DIR, they narrow
    Trust,
    /// Without DIR, its roots are served read-only; with DIR, they narrow
    TrustRead,
}

impl From<ClientRoots> for config::ClientRoots {
    fn from(roots: ClientRoots) -> Self {
        match roots {
            ClientRoots::Off => Self::Off,
            ClientRoots::Narrow => Self::Narrow,
            ClientRoots::Trust => Self::Trust,
            ClientRoots::TrustRead => Self::TrustRead,
        }
    }
}

/// Whether the kernel fences the process in: [`config::Landlock`], as it is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Landlock {
    /// As far as this kernel can; not where the roots of clients are grants
    Auto,
    /// Fully, or the server does not start
    Require,
    /// Not at all
    Off,
}

impl From<Landlock> for config::Landlock {
    fn from(landlock: Landlock) -> Self {
        match landlock {
            Landlock::Auto => Self::Auto,
            Landlock::Require => Self::Require,
            Landlock::Off => Self::Off,
        }
    }
}

/// How a line of the logs looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}
