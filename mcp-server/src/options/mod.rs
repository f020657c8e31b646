//! The command line. What a configuration file adds to it is in `settings`.
//!
//! May touch: `http`.

mod grant;
mod http;
mod misuse;
mod modes;
mod walks;

use std::ffi::OsString;
use std::path::PathBuf;

use cap_roots::{Access, Operation, config};
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, ValueEnum};

use crate::http::Terms;

pub(crate) use grant::Grant;
use grant::{named, rule};
use http::HttpOptions;
pub(crate) use modes::LogFormat;
use modes::{ClientRoots, Color, Landlock, Protect};
pub(crate) use walks::Walks;

/// A filesystem MCP server that is really confined.
///
/// Serves the named directories to an MCP client over standard input and output. A client can list, read and change what is below them
/// and nothing else: every file is opened relative to a held directory, so that neither `..` nor links nor renames lead out.
#[derive(Debug, Parser)]
#[command(name = "cap-roots-mcp", version, max_term_width = 110, after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Directory to serve, read-write. Paths that a client gives without a leading slash start at the first directory.
    #[arg(value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    dirs: Vec<PathBuf>,

    /// Directory to serve read-write, with an optional name (a-z 0-9 . _ -) for root://NAME/ paths. Write ./a=b for a directory that
    /// is called a=b.
    #[arg(long, value_name = "[NAME=]DIR")]
    rw: Vec<OsString>,

    /// Directory to serve read-only.
    #[arg(long, value_name = "[NAME=]DIR")]
    ro: Vec<OsString>,

    /// What names that match GLOB allow at most, in all directories, with everything below them: none, list, read or write. `*`, `?`
    /// and `[a-z]` stand within a name, `**` for any number of names; without a slash GLOB matches at any depth. The strictest holds.
    #[arg(long = "rule", value_name = "GLOB=ACCESS", help_heading = "Protection")]
    rules: Vec<String>,

    /// Rules that hold beside those of --rule: what programs run or obey can be read and not changed, or nothing is kept.
    #[arg(long, value_enum, value_name = "SET", default_value_t = Protect::Default, help_heading = "Protection")]
    protect: Protect,

    /// Nothing is deleted, nor moved from one directory that is served to another. Files can be changed all the same.
    #[arg(long, help_heading = "Protection")]
    pub(crate) no_delete: bool,

    /// The only tools that are offered, by their names, separated by commas. Default: all that the directories allow.
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Tools")]
    tools: Option<Vec<String>>,

    /// Tools that are not offered, of those that would be. read_text_file takes its older name read_file along. This is no access: what must not be
    /// read is for grants and rules to say.
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Tools")]
    disable_tools: Vec<String>,

    /// Take directories, rules and limits from a file as well (TOML). The command line wins: its directories come first, one of the same NAME
    /// or for the same directory takes the place of the file's, with its access, rules, no_delete and end, and --protect, --client-roots, --tools
    /// and limits count that are given here. Rules for all directories of both hold; so do --disable-tools, --no-delete, --one-file-system and --hide-host-paths. Relative paths in the file start at its directory. It must not lie in a directory that is served.
    #[arg(long, value_name = "FILE", help_heading = "Configuration file")]
    pub(crate) config: Option<PathBuf>,

    /// Print the JSON Schema of the file and exit.
    #[arg(long, help_heading = "Configuration file")]
    pub(crate) config_schema: bool,

    /// What the directories count for that a client sends as its roots: nothing; for narrowing what is served to it; or, where no DIR is
    /// given, for grants themselves (never the whole disk, the home directory or what lies above it).
    #[arg(long, value_enum, value_name = "MODE", default_value_t = ClientRoots::Off, help_heading = "Protection")]
    client_roots: ClientRoots,

    /// Whether the kernel keeps the whole process to the directories that are served, by Landlock, so that a fault in this program reaches nothing else: as
    /// far as this kernel can, fully or the server does not start, or not at all. A directory that is missing at the start then stays missing.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = Landlock::Auto, help_heading = "Protection")]
    landlock: Landlock,

    /// Do not go from a directory into another mount: what is mounted on a directory or a file below it is shown by its name, and neither
    /// entered nor opened nor removed. Default: mounts are crossed.
    #[arg(long, help_heading = "Protection")]
    pub(crate) one_file_system: bool,

    /// Never show a host path to the client: directories are shown as root://NAME/.
    #[arg(long)]
    pub(crate) hide_host_paths: bool,

    /// Write one JSON line for each decision and each call's answer to FILE, which is created for its owner alone. What cannot be written is not
    /// done: calls answer busy until it can. Opened anew by its name at SIGHUP. It must not lie in a directory that is served.
    #[arg(long, value_name = "FILE", help_heading = "Logs")]
    pub(crate) audit: Option<PathBuf>,

    /// How logs are written on standard error. RUST_LOG says how much: error, warn, info, debug, trace.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text, help_heading = "Logs")]
    pub(crate) log_format: LogFormat,

    /// Call one tool, print its answer and exit: 0 for an answer, 1 for a refusal, 2 for misuse.
    #[arg(long, value_name = "TOOL", help_heading = "Without a client")]
    pub(crate) call: Option<String>,

    /// The arguments of --call, as a JSON object; - reads them from standard input.
    #[arg(long, value_name = "JSON", requires = "call", default_value = "{}", help_heading = "Without a client")]
    pub(crate) args: String,

    /// Say how reading, writing and deleting PATH would be judged and by which rules, and exit: 0 if it can be read or listed, 1 if not.
    #[arg(long, value_name = "PATH", conflicts_with = "call", help_heading = "Without a client")]
    pub(crate) explain: Option<String>,

    /// The operation that --explain is about, instead of the usual ones; the status is that of OP. Nothing is done: of an operation that changes
    /// something, what can be told without acting is told.
    #[arg(long, value_name = "OP", requires = "explain", value_parser = operation(), help_heading = "Without a client")]
    pub(crate) op: Option<Operation>,

    /// Say what this kernel and the disks of the directories give and what is lost without it, and exit: 0 if all can be served, 1 if not.
    #[arg(long, conflicts_with_all = ["call", "explain"], help_heading = "Without a client")]
    pub(crate) doctor: bool,

    /// Whether --explain and --doctor use colours. By themselves they do on a terminal, unless NO_COLOR is set.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto, help_heading = "Without a client")]
    color: Color,

    /// Most bytes of text in one answer, over all files of the call. Larger files are read in pages.
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value_t = 1 << 20, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub(crate) max_text_bytes: u64,

    /// Largest file that read_media_file or a resource answers, in bytes before base64.
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value_t = 16 << 20, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub(crate) max_media_bytes: u64,

    /// Longest time that a call may take before it is answered with timeout, in seconds.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub(crate) max_seconds: u64,

    /// Most entries in one listing or tree, and most matches of one search.
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    pub(crate) max_entries: u32,

    #[command(flatten)]
    http: HttpOptions,

    #[command(flatten)]
    pub(crate) walks: Walks,

    /// The options that stand on the command line, and not as by default.
    #[arg(skip)]
    given: Vec<String>,
}

const AFTER_HELP: &str = "\
Examples:
  cap-roots-mcp ~/notes
  cap-roots-mcp --ro docs=/usr/share/doc ~/project
  cap-roots-mcp --no-delete --rule '.env*=none' --rule 'vendor=read' ~/project
  cap-roots-mcp --tools read_text_file,list_directory ~/project
  cap-roots-mcp --call list_directory --args '{\"path\":\".\"}' .
  cap-roots-mcp --explain ../secret .
  cap-roots-mcp --explain src/main.rs --op write .
  cap-roots-mcp --doctor ~/project
  cap-roots-mcp --config ~/.config/cap-roots.toml
  cap-roots-mcp --http 8000 ~/project

Tools that read: read_text_file, read_file, read_multiple_files, read_media_file, list_directory,
list_directory_with_sizes, directory_tree, search_files, search_file_contents, get_file_info,
list_allowed_directories.
Tools that write, offered where a directory allows it: write_file, edit_file, append_file,
create_directory, move_file, copy_file, delete_file, delete_directory.

A directory that is missing, or is a file, is reported and does not stop the others; one that is given twice is served once.
Logs go to standard error (RUST_LOG=debug for more).";

/// Any operation of the library, by its name, or by the name that a tool or a shell has for it.
fn operation() -> impl TypedValueParser<Value = Operation> {
    let known = Operation::ALL.iter().map(|operation| {
        let others = ALSO.iter().filter(|(of, _)| of == operation).flat_map(|(_, others)| *others);
        PossibleValue::new(operation.name()).aliases(others)
    });
    PossibleValuesParser::new(known).try_map(|name| {
        let by_another = || ALSO.iter().find(|(_, others)| others.contains(&name.as_str())).map(|(operation, _)| *operation);
        let by_name = Operation::ALL.iter().copied().find(|operation| operation.name() == name);
        by_name.or_else(by_another).ok_or("there is no such operation")
    })
}

const ALSO: [(Operation, &[&str]); 12] = [
    (Operation::Open, &["read", "cat", "read_file", "read_text_file", "read_media_file", "read_multiple_files"]),
    (Operation::ReadDir, &["list", "ls", "list_directory", "list_directory_with_sizes"]),
    (Operation::Walk, &["tree", "find", "directory_tree", "search_files", "search_file_contents"]),
    (Operation::RemoveDir, &["rmdir", "delete_directory"]),
    (Operation::Metadata, &["stat", "get_file_info"]),
    (Operation::Update, &["edit", "edit_file"]),
    (Operation::Write, &["write_file"]),
    (Operation::Append, &["append_file"]),
    (Operation::CreateDirAll, &["mkdir", "create_directory"]),
    (Operation::Rename, &["move", "mv", "move_file"]),
    (Operation::RemoveFile, &["delete", "rm", "delete_file"]),
    (Operation::Copy, &["cp", "copy_file"]),
];

impl Options {
    /// The rules of --rule, or the line that says which cannot be read. Globs are read by the library.
    pub(crate) fn rules(&self) -> Result<Vec<(String, Access)>, String> {
        self.rules.iter().map(|text| rule(text)).collect()
    }

    /// For all that is printed from now on.
    pub(crate) fn choose_colours(&self) {
        let choice = match self.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }

    /// What is protected, if the command line has the last word.
    pub(crate) fn protect(&self) -> config::Protect {
        self.protect.into()
    }

    /// What the roots of a client count for, if the command line has the last word.
    pub(crate) fn client_roots(&self) -> config::ClientRoots {
        self.client_roots.into()
    }

    /// Whether the kernel fences the process in, if the command line has the last word.
    pub(crate) fn landlock(&self) -> config::Landlock {
        self.landlock.into()
    }

    /// The only tools that are offered, if the command line has the last word.
    pub(crate) fn tools(&self) -> Option<&[String]> {
        self.tools.as_deref()
    }

    /// The tools that are not offered.
    pub(crate) fn disabled_tools(&self) -> &[String] {
        &self.disable_tools
    }

    /// Whether the command line names a tool so.
    pub(crate) fn names_tool(&self, name: &str) -> bool {
        self.tools.iter().flatten().chain(&self.disable_tools).any(|tool| tool == name)
    }

    /// How the server is reached over HTTP, if it is; or the line that says what does not go together.
    pub(crate) fn http(&self) -> Result<Option<Terms>, String> {
        self.http.terms()
    }

    /// Whether the option stands on the command line.
    pub(crate) fn is_given(&self, option: &str) -> bool {
        self.given.iter().any(|given| given == option)
    }

    /// The arguments beside the directories that keep what is allowed as it is, for a person to copy.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments: Vec<_> = self.rules.iter().map(|rule| format!("--rule={rule}")).collect();
        let flags = [
            // Over a file, even the default says something.
            (self.is_given("protect") && self.protect == Protect::Default, "--protect=default"),
            (self.protect == Protect::None, "--protect=none"),
            (self.no_delete, "--no-delete"),
            (self.one_file_system, "--one-file-system"),
            (self.hide_host_paths, "--hide-host-paths"),
            (self.log_format == LogFormat::Json, "--log-format=json"),
        ];
        let named = |value: Option<PossibleValue>| value.map_or_else(String::new, |value| value.get_name().to_owned());
        if self.is_given("client_roots") {
            arguments.push(format!("--client-roots={}", named(self.client_roots.to_possible_value())));
        }
        if self.is_given("landlock") {
            arguments.push(format!("--landlock={}", named(self.landlock.to_possible_value())));
        }
        arguments.extend(self.tools.iter().map(|tools| format!("--tools={}", tools.join(","))));
        if !self.disable_tools.is_empty() {
            arguments.push(format!("--disable-tools={}", self.disable_tools.join(",")));
        }
        arguments.extend(self.walks.arguments());
        arguments.extend(flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag.to_owned()));
        let limits = [
            ("max_text_bytes", self.max_text_bytes),
            ("max_media_bytes", self.max_media_bytes),
            ("max_seconds", self.max_seconds),
            ("max_entries", self.max_entries.into()),
            ("max_depth", self.walks.max_depth.into()),
        ];
        let limits = limits.into_iter().filter(|(option, _)| self.is_given(option));
        arguments.extend(limits.map(|(option, limit)| format!("--{}={limit}", option.replace('_', "-"))));
        arguments
    }

    /// Reads the command line, or says in one line what is wrong with it; ends the process for `--help` and `--version`.
    pub(crate) fn read() -> Result<(Self, Vec<Grant>), String> {
        let read = Self::command().try_get_matches().and_then(|matches| Self::from_matches(&matches));
        read.map_err(|error| if error.use_stderr() { misuse::line(&error) } else { error.exit() })
    }

    fn from_matches(matches: &ArgMatches) -> Result<(Self, Vec<Grant>), clap::Error> {
        let mut options = Self::from_arg_matches(matches)?;
        let given = matches.ids().map(clap::Id::as_str).filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
        options.given = given.map(str::to_owned).collect();
        let grants = options.grants(matches);
        Ok((options, grants))
    }

    /// As [`Options::read`], for tests.
    #[cfg(test)]
    pub(crate) fn of(line: &str) -> (Self, Vec<Grant>) {
        Self::from_matches(&Self::command().get_matches_from(line.split(' '))).unwrap()
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn options(line: &str) -> Options {
        Options::of(line).0
    }

    /// Catches: a line to copy that allows more than was allowed.
    #[test]
    fn arguments_to_copy_allow_the_same() {
        for line in [
            "x",
            "x --rule -a=none --no-delete b --rule c=d=read",
            "x --protect none --hide-host-paths a",
            "x --one-file-system a",
            "x --protect default --rule .git=none",
            "x --max-seconds 5 --max-entries 50000",
            "x --tools read_file,write_file --tools edit_file --disable-tools write_file",
            "x --ignore !a --ignore=-b --ignore-common --gitignore --max-depth 3",
            "x --log-format json",
            "x --landlock require --client-roots narrow",
        ] {
            let given = options(line.replace("--rule -a", "--rule=-a").as_str());
            let copied = options(format!("x {}", given.arguments().join(" ")).trim_end());
            assert_eq!(copied.rules().unwrap(), given.rules().unwrap(), "{line}");
            assert_eq!(format!("{:?}", copied.walks), format!("{:?}", given.walks), "{line}");
            assert_eq!((copied.no_delete, copied.hide_host_paths), (given.no_delete, given.hide_host_paths), "{line}");
            assert_eq!(copied.one_file_system, given.one_file_system, "{line}");
            assert_eq!((copied.tools(), copied.disabled_tools()), (given.tools(), given.disabled_tools()), "{line}");
            for option in ["protect", "max_text_bytes", "max_media_bytes", "max_seconds", "max_entries", "max_depth"] {
                assert_eq!(copied.is_given(option), given.is_given(option), "{line}: {option}");
            }
            assert_eq!((copied.protect, copied.max_seconds), (given.protect, given.max_seconds), "{line}");
            assert_eq!((copied.log_format, copied.landlock), (given.log_format, given.landlock), "{line}");
        }
    }

    /// Catches: a line to copy that grants more than was granted.
    #[test]
    fn a_directory_to_copy_grants_the_same() {
        let grant = |name: Option<&str>, access| Grant { name: name.map(str::to_owned), path: "x".into(), access };
        let path = Path::new("/srv/x");
        assert_eq!(grant(Some("docs"), Access::Read).arguments(path), ["--ro", "docs=/srv/x"]);
        assert_eq!(grant(None, Access::Write).arguments(path), ["--rw", "/srv/x"]);
    }

    fn grants(line: &str) -> Vec<(Option<String>, String, Access)> {
        Options::of(line).1.into_iter().map(|grant| (grant.name, grant.path.to_str().unwrap().to_owned(), grant.access)).collect()
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
