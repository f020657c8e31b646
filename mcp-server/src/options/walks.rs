//! What walks leave out and how far they go, as it is written on the command line.
//!
//! May touch: nothing of the other rooms.

use clap::Args;

/// How deep walks go unless told otherwise. The JSON of a tree nests twice as deep, and widely used parsers stop at 128.
const DEPTH: u32 = 60;

#[derive(Debug, Args)]
pub(crate) struct Walks {
    /// Leave names out of trees and searches, as a line in a .gitignore at the top of each directory would. They can be listed and read
    /// all the same: use --rule to protect.
    #[arg(long, value_name = "GLOB", help_heading = "Trees and searches")]
    pub(crate) ignore: Vec<String>,

    /// Leave out what tools make and fetch: .git, node_modules, target, dist, __pycache__, .venv and the like.
    #[arg(long, help_heading = "Trees and searches")]
    pub(crate) ignore_common: bool,

    /// Leave out what .gitignore files say, unless a call asks for it.
    #[arg(long, help_heading = "Trees and searches")]
    pub(crate) gitignore: bool,

    /// How many levels down trees and searches go.
    #[arg(long, value_name = "LEVELS", allow_negative_numbers = true, default_value_t = DEPTH, value_parser = clap::value_parser!(u32).range(1..=512), help_heading = "Limits")]
    pub(crate) max_depth: u32,
}

impl Walks {
    /// The arguments that say the same, but for the limit.
    pub(super) fn arguments(&self) -> impl Iterator<Item = String> {
        let flags = [(self.ignore_common, "--ignore-common"), (self.gitignore, "--gitignore")];
        let flags = flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag.to_owned());
        self.ignore.iter().map(|glob| format!("--ignore={glob}")).chain(flags)
    }
}
