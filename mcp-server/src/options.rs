//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cap_roots::Access;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};

/// A filesystem MCP server that is really confined.
///
/// Serves the named directories to an MCP client over standard input and output. A client can list and read what is below them and
/// nothing else: every file is opened relative to a held directory, so that neither `..` nor links nor renames lead out.
///
/// This version reads; directories given for writing will allow it once the writing tools are there.
#[derive(Debug, Parser)]
#[command(name = "cap-roots-mcp", version, max_term_width = 110, after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Directory to serve, read-write. Paths that a client gives without a leading slash start at the first directory.
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// Directory to serve read-write, with an optional name (a-z 0-9 . _ -) for root://NAME/ paths. Write ./a=b for a directory that
    /// is called a=b.
    #[arg(long, value_name = "[NAME=]DIR")]
    rw: Vec<OsString>,

    /// Directory to serve read-only.
    #[arg(long, value_name = "[NAME=]DIR")]
    ro: Vec<OsString>,

    /// Never show a host path to the client: directories are shown as root://NAME/.
    #[arg(long)]
    pub(crate) hide_host_paths: bool,

    /// Call one tool, print its answer and exit: 0 for an answer, 1 for a refusal, 2 for misuse.
    #[arg(long, value_name = "TOOL", help_heading = "Without a client")]
    pub(crate) call: Option<String>,

    /// The arguments of --call, as a JSON object.
    #[arg(long, value_name = "JSON", requires = "call", default_value = "{}", help_heading = "Without a client")]
    pub(crate) args: String,

    /// Say how PATH would be judged and why, and exit: 0 if it can be read or listed, 1 if not.
    #[arg(long, value_name = "PATH", conflicts_with = "call", help_heading = "Without a client")]
    pub(crate) explain: Option<String>,

    /// Most bytes of text in one answer, over all files of the call. Larger files are read in pages.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub(crate) max_text_bytes: u64,

    /// Largest file that read_media_file answers, in bytes before base64.
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub(crate) max_media_bytes: u64,

    /// Longest time that a call may take before it is answered with timeout, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub(crate) max_seconds: u64,

    /// Most entries in one listing.
    #[arg(long, value_name = "COUNT", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    pub(crate) max_entries: u32,
}

const AFTER_HELP: &str = "\
Examples:
  cap-roots-mcp ~/notes
  cap-roots-mcp --ro docs=/usr/share/doc ~/project
  cap-roots-mcp --call list_directory --args '{\"path\":\".\"}' .
  cap-roots-mcp --explain ../secret .

Tools: read_text_file, read_file, read_multiple_files, read_media_file, list_directory,
list_directory_with_sizes, get_file_info, list_allowed_directories.

A directory that is missing is reported and does not stop the others. Logs go to standard error (RUST_LOG=debug for more).";

/// A directory that the operator named.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) name: Option<String>,
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
}

impl Grant {
    /// The arguments that grant the same: what a person may copy from one place to another without widening it.
    pub(crate) fn arguments(&self, host_path: &Path) -> [String; 2] {
        let option = if self.access == Access::Write { "--rw" } else { "--ro" };
        let name = self.name.as_ref().map(|name| format!("{name}=")).unwrap_or_default();
        [option.to_owned(), format!("{name}{}", host_path.display())]
    }
}

impl Options {
    /// Reads the command line; ends the process for `--help`, `--version` and misuse (status 2).
    pub(crate) fn read() -> (Self, Vec<Grant>) {
        let matches = Self::command().get_matches();
        match Self::from_arg_matches(&matches) {
            Ok(options) => {
                let grants = options.grants(&matches);
                (options, grants)
            }
            Err(error) => error.exit(),
        }
    }

    /// The directories in the order of the command line: the first one is where relative paths start.
    fn grants(&self, matches: &ArgMatches) -> Vec<Grant> {
        let order = |id: &str| matches.indices_of(id).into_iter().flatten().collect::<Vec<_>>();
        let mut grants: Vec<(usize, Grant)> = Vec::new();
        let plain = self.dirs.iter().map(|path| Grant { name: None, path: path.clone(), access: Access::Write });
        grants.extend(order("dirs").into_iter().zip(plain));
        grants.extend(order("rw").into_iter().zip(self.rw.iter().map(|text| named(text, Access::Write))));
        grants.extend(order("ro").into_iter().zip(self.ro.iter().map(|text| named(text, Access::Read))));
        grants.sort_by_key(|(index, _)| *index);
        grants.into_iter().map(|(_, grant)| grant).collect()
    }
}

/// `NAME=DIR` or `DIR`. What stands before the first `=` is a name only if it has the characters of one: paths may hold `=`.
fn named(text: &OsString, access: Access) -> Grant {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'));
    match text.to_str().and_then(|text| text.split_once('=')) {
        Some((name, path)) if is_name(name) => Grant { name: Some(name.to_owned()), path: path.into(), access },
        _ => Grant { name: None, path: text.into(), access },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(line: &str) -> Vec<(Option<String>, String, Access)> {
        let matches = Options::command().get_matches_from(line.split(' '));
        let options = Options::from_arg_matches(&matches).unwrap();
        let grants = options.grants(&matches);
        grants.into_iter().map(|grant| (grant.name, grant.path.to_str().unwrap().to_owned(), grant.access)).collect()
    }

    #[test]
    fn the_command_line_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn order_is_that_of_the_command_line() {
        let order: Vec<_> = grants("x --ro a b --rw c d").into_iter().map(|(_, path, access)| (path, access)).collect();
        let want = [("a", Access::Read), ("b", Access::Write), ("c", Access::Write), ("d", Access::Write)];
        assert_eq!(order, want.map(|(path, access)| (path.to_owned(), access)));
    }

    #[test]
    fn a_name_is_told_from_a_path_with_an_equals_sign() {
        for (text, name, path) in [
            ("docs=/srv/docs", Some("docs"), "/srv/docs"),
            ("docs=/srv/a=b", Some("docs"), "/srv/a=b"),
            ("/srv/a=b", None, "/srv/a=b"),
            ("Docs=/srv", None, "Docs=/srv"),
            ("=/srv", None, "=/srv"),
            ("./a=b", None, "./a=b"),
        ] {
            assert_eq!(grants(&format!("x --ro {text}")), [(name.map(str::to_owned), path.to_owned(), Access::Read)]);
        }
    }
}
