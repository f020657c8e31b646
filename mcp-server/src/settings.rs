//! The command line and the configuration file as one: everything else goes by this.
//!
//! The command line wins. What takes something away holds wherever it is said.
//!
//! May touch: `context`, `http`, `options`, `start`, `tools`, `walk`.

mod same;

use std::path::{Path, PathBuf};

use cap_roots::config::{ClientRoots, Config, Landlock, RootConfig};
use cap_roots::{Access, Builder, ErrorKind, Roots};

use crate::context::Limits;
use crate::http::Terms;
use crate::options::{Grant, Options};
use crate::start::shown;
use crate::tools::Chosen;
use crate::walk::{COMMON, Ignored};

/// What is served, and how.
pub(crate) struct Settings {
    /// Those of the command line come first: relative paths of a client start at the first one.
    grants: Vec<Granted>,
    /// Roots of the file whose names the command line gives to others, with those.
    by_name: Vec<(Grant, RootConfig)>,
    pub(crate) rules: Vec<(String, Access)>,
    pub(crate) no_delete: bool,
    pub(crate) tools: Chosen,
    pub(crate) client_roots: ClientRoots,
    pub(crate) landlock: Landlock,
    one_file_system: bool,
    pub(crate) hide_host_paths: bool,
    pub(crate) limits: Limits,
    /// What walks leave out.
    pub(crate) ignored: Ignored,
    pub(crate) gitignore: bool,
    pub(crate) seconds: u64,
    read_limit: Option<u64>,
    /// How the server is reached over HTTP, if not over standard input and output.
    pub(crate) http: Option<Terms>,
    /// The file, absolute.
    pub(crate) file: Option<PathBuf>,
    /// Where decisions are recorded, absolute.
    pub(crate) audit: Option<PathBuf>,
    /// The arguments that say the same, beside those for directories.
    arguments: Vec<String>,
}

/// A directory, and where it was named.
enum Granted {
    Argument(Grant),
    File(RootConfig),
}

impl Granted {
    fn path(&self) -> &Path {
        match self {
            Self::Argument(grant) => &grant.path,
            Self::File(root) => root.path(),
        }
    }

    fn for_library(&self) -> cap_roots::Grant {
        match self {
            // The same directory twice by its path alone is a slip that changes nothing; `judge_twice` tells it from others.
            Self::Argument(grant) if grant.name.is_none() => grant.for_library().unless_granted(),
            Self::Argument(grant) => grant.for_library(),
            // One directory by two spellings is the command line's.
            Self::File(root) => root.grant().unless_granted(),
        }
    }
}

impl Settings {
    /// Reads the file, if one is named; or the line that says what is wrong.
    pub(crate) fn of(options: &Options, grants: Vec<Grant>) -> Result<Self, String> {
        if grants.iter().any(|grant| grant.path.as_os_str().is_empty()) {
            return Err(
                "invalid-argument: the path of a directory is empty, perhaps by a variable that is not set; give it as DIR or NAME=DIR"
                    .to_owned(),
            );
        }
        if options.call.is_some() && grants.iter().any(|grant| grant.path.as_os_str().as_encoded_bytes().starts_with(b"{")) {
            return Err(
                "invalid-argument: a directory's path looks like JSON; give the arguments of --call as --args JSON".to_owned()
            );
        }
        let file = options.config.as_ref().map(Config::load).transpose().map_err(|error| error.to_string())?;
        let file = file.as_ref();
        let protect = pick(options, "protect", options.protect(), file.and_then(Config::protect));
        let mut rules: Vec<_> = protect.rules().iter().map(|(glob, access)| ((*glob).to_owned(), *access)).collect();
        rules.extend(options.rules()?);
        rules.extend(file.iter().flat_map(|file| file.rules()).cloned());
        let limits = file.map(Config::limits).unwrap_or_default();
        let client_roots = pick(options, "client_roots", options.client_roots(), file.and_then(Config::client_roots));
        let http = options.http()?;
        if http.is_some() && matches!(client_roots, ClientRoots::Trust | ClientRoots::TrustRead) {
            return Err(
                "invalid-argument: over HTTP, what clients send as their roots is never a grant; name the directories, and leave out trust"
                    .to_owned(),
            );
        }
        let landlock = pick(options, "landlock", options.landlock(), file.and_then(Config::landlock));
        if landlock == Landlock::Require && matches!(client_roots, ClientRoots::Trust | ClientRoots::TrustRead) {
            return Err(
                "invalid-argument: the roots of a client cannot be opened once the kernel has fenced the process in; leave out trust, or --landlock require"
                    .to_owned(),
            );
        }
        let entries = pick(options, "max_entries", options.max_entries, limits.max_entries.map(u32::from));
        let only = pick(options, "tools", options.tools(), file.map(Config::tools));
        // The command line knows no places.
        let in_file = |tool: &str, line: String| match file.and_then(|file| Some((file.file()?, file.place_of_tool(tool)?))) {
            Some((file, place)) if !options.names_tool(tool) => format!("{}:{place}: {line}", shown(file)),
            _ => line,
        };
        let without = options.disabled_tools().iter().chain(file.map(Config::disabled_tools).unwrap_or_default());
        let depth = pick(options, "max_depth", options.walks.max_depth, limits.max_depth.map(u32::from));
        let (grants, by_name) = all(grants, file.map(Config::roots).unwrap_or_default());
        let mut arguments = options.arguments();
        if let Some(file) = file.and_then(Config::file) {
            arguments.extend(["--config".to_owned(), file.display().to_string()]);
        }
        // One of the file is in the file, and placed there.
        let unusable = |error| format!("the path of the audit file cannot be used: {error}");
        let audit = match &options.audit {
            Some(path) => Some(absolute(path).map_err(unusable)?),
            None => file.and_then(Config::audit).map(absolute).transpose().map_err(unusable)?,
        };
        arguments.extend(audit.iter().filter(|_| options.audit.is_some()).map(|audit| format!("--audit={}", audit.display())));
        Ok(Self {
            rules,
            audit,
            no_delete: options.no_delete,
            tools: Chosen::of(only, without).map_err(|(name, line)| in_file(&name, line))?,
            client_roots,
            landlock,
            http,
            one_file_system: options.one_file_system || file.is_some_and(Config::one_file_system),
            hide_host_paths: options.hide_host_paths || file.is_some_and(Config::hide_host_paths),
            limits: Limits {
                text_bytes: pick(options, "max_text_bytes", options.max_text_bytes, limits.max_text_bytes.map(u64::from)),
                media_bytes: pick(options, "max_media_bytes", options.max_media_bytes, limits.max_media_bytes.map(u64::from)),
                entries: usize::try_from(entries).unwrap_or(usize::MAX),
                // The library goes no deeper.
                depth: usize::try_from(depth).unwrap_or(usize::MAX).min(512),
            },
            ignored: ignored(options, file)?,
            gitignore: options.walks.gitignore || file.is_some_and(Config::gitignore),
            seconds: pick(options, "max_seconds", options.max_seconds, limits.max_seconds.map(u64::from)),
            read_limit: limits.max_read_bytes.map(u64::from),
            file: file.and_then(Config::file).map(Path::to_owned),
            arguments,
            grants,
            by_name,
        })
    }

    /// The grants for the library. A configuration file or a token in a directory that is served could be changed by the client for the next
    /// start, and an audit log at any time.
    pub(crate) fn builder(&self) -> Builder {
        self.kept().fold(self.without_kept(), |builder, (_, file)| builder.keep_outside(file))
    }

    fn without_kept(&self) -> Builder {
        let mut builder = Roots::builder().hide_host_paths(self.hide_host_paths);
        if self.one_file_system {
            builder = builder.one_file_system();
        }
        for (glob, access) in &self.rules {
            builder = builder.rule(glob, *access);
        }
        for grant in &self.grants {
            let grant = grant.for_library();
            builder = builder.grant(if self.no_delete { grant.no_delete() } else { grant });
        }
        if let Some(limit) = self.read_limit {
            builder = builder.read_limit(limit);
        }
        builder
    }

    /// The files that no client may reach, with what they are.
    fn kept(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let token = self.http.as_ref().and_then(Terms::token_file);
        let files = [("configuration", self.file.as_deref()), ("audit", self.audit.as_deref()), ("token", token)];
        files.into_iter().filter_map(|(what, file)| Some((what, file?)))
    }

    /// Of the files that were kept outside: which lies in a directory, or cannot be looked for, if it is one of them.
    pub(crate) fn at_fault(&self) -> Option<(&'static str, &Path)> {
        self.without_kept().open().ok()?;
        self.kept().find(|(_, file)| self.without_kept().keep_outside(file).open().is_err())
    }

    /// A directory of the command line that turns out to be a file is left out, as long as another one is there. Whether any was.
    pub(crate) fn leave_out_files(&mut self) -> bool {
        let is_file = |granted: &Granted| {
            matches!(granted, Granted::Argument(_))
                && Roots::builder()
                    .root(granted.path(), Access::List)
                    .open()
                    .is_err_and(|error| error.kind() == ErrorKind::NotADirectory)
        };
        let is_first = self.grants.first().is_some_and(is_file);
        let (files, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.grants).into_iter().partition(is_file);
        if files.is_empty() || rest.is_empty() {
            self.grants = files.into_iter().chain(rest).collect();
            return false;
        }
        // Where a relative path leads must not change unseen.
        let start = rest
            .first()
            .filter(|_| is_first)
            .map(|next| format!("; paths that clients give without a leading slash start at {}", shown(next.path())));
        for file in &files {
            let start = start.as_deref().unwrap_or_default();
            tracing::warn!("{} is not a directory, and is not served{start}; name a directory", shown(file.path()));
        }
        self.grants = rest;
        true
    }

    /// Whether the roots of a client are grants.
    pub(crate) fn trusts_clients(&self) -> bool {
        self.grants.is_empty() && matches!(self.client_roots, ClientRoots::Trust | ClientRoots::TrustRead)
    }

    /// The grant for a root of a client that is trusted.
    pub(crate) fn trusted(&self, path: PathBuf, access: Access) -> cap_roots::Grant {
        let grant = cap_roots::Grant::new(path).access(access);
        if self.no_delete { grant.no_delete() } else { grant }
    }

    /// The paths of the directories as they were given, in the order of the roots.
    pub(crate) fn paths(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.grants.iter().map(Granted::path)
    }

    /// `Docs=DIR` is a path by the rule of names; where the directory at `index` leads nowhere, a name may have been meant.
    pub(crate) fn meant_as_name(&self, index: usize) -> String {
        let Some(Granted::Argument(grant)) = self.grants.get(index) else { return String::new() };
        let path = grant.path.to_string_lossy();
        match path.split_once('=') {
            Some((name, _)) if grant.name.is_none() && !name.contains('/') => {
                format!("; if {name:?} was meant as a name: names have only a-z 0-9 . _ -")
            }
            _ => String::new(),
        }
    }

    /// The arguments that start a server with the same grants and no more, wherever it is started; `roots` are those that were opened.
    pub(crate) fn arguments(&self, roots: &Roots) -> Vec<String> {
        let mut arguments = Vec::new();
        for root in roots.list() {
            if let Some(Granted::Argument(grant)) = self.grants.get(root.position()) {
                arguments.extend(grant.arguments(&root.host_path()));
            }
        }
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }
}

/// What walks leave out: all that is said anywhere.
fn ignored(options: &Options, file: Option<&Config>) -> Result<Ignored, String> {
    let common = options.walks.ignore_common || file.is_some_and(Config::ignore_common);
    let common = if common { COMMON } else { &[] };
    let of_file = file.map(Config::ignore).unwrap_or_default();
    Ignored::of(common.iter().copied().chain(of_file.iter().chain(&options.walks.ignore).map(String::as_str)))
}

/// What the command line says, or else the file, or else the default.
fn pick<T>(options: &Options, option: &str, of_options: T, of_file: Option<T>) -> T {
    of_file.filter(|_| !options.is_given(option)).unwrap_or(of_options)
}

/// As the library takes a path of the operator: a client that starts the server has no shell to expand `~/`.
fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    let home = || std::env::home_dir().filter(|home| home.is_absolute());
    let expanded = path.strip_prefix("~").ok().and_then(|rest| Some(home()?.join(rest)));
    std::path::absolute(expanded.as_deref().unwrap_or(path))
}

/// A name that both give is the command line's; and the roots of the file that had such a name.
fn all(grants: Vec<Grant>, roots: &[RootConfig]) -> (Vec<Granted>, Vec<(Grant, RootConfig)>) {
    let taken = |root: &RootConfig| grants.iter().find(|grant| grant.name.is_some() && grant.name.as_deref() == root.name());
    let (mut of_file, mut by_name) = (Vec::new(), Vec::new());
    for root in roots {
        match taken(root) {
            Some(grant) => by_name.push((grant.clone(), root.clone())),
            None => of_file.push(Granted::File(root.clone())),
        }
    }
    (grants.into_iter().map(Granted::Argument).chain(of_file).collect(), by_name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn settings(line: &str, file: &Path) -> Settings {
        let (options, grants) = Options::of(&line.replace("FILE", file.to_str().unwrap()));
        Settings::of(&options, grants).unwrap()
    }

    /// Catches: a line to copy that grants more than was granted, or takes a limit for another one.
    #[test]
    fn the_line_to_copy_says_the_same() {
        let folder = tempfile::tempdir().unwrap();
        for dir in ["etc", "a", "b", "c"] {
            fs::create_dir(folder.path().join(dir)).unwrap();
        }
        let file = folder.path().join("etc/c.toml");
        let config = "protect = \"none\"\naudit = \"log\"\nrules = { x = \"read\" }\nlimits.max_entries = 7\nlimits.max_seconds = 8\n\
            ignore = [\"x\"]\ngitignore = true\n[[root]]\npath = \"../a\"\nname = \"a\"\naccess = \"read\"\n\
            [[root]]\npath = \"../b\"\naccess = \"write\"\nno_delete = true\n";
        fs::write(&file, config).unwrap();
        let c = folder.path().join("c");
        let c = c.to_str().unwrap();
        for line in [
            "x --config FILE",
            "x --config FILE --protect default --rule y=none --max-seconds 5",
            "x --config FILE --max-entries 50000 --no-delete --hide-host-paths --one-file-system",
            "x --config FILE --protect none --ro a=DIR",
            "x --config FILE DIR",
            "x DIR --max-media-bytes 3",
            "x DIR --tools read_file,list_directory --disable-tools read_file",
            "x --config FILE --ignore y --ignore-common --max-depth 60",
            "x --config FILE --audit FILE.log",
            "x --audit FILE.log DIR --log-format json",
        ] {
            let given = settings(&line.replace("DIR", c), &file);
            let roots = given.builder().open().unwrap();
            let copied = given.arguments(&roots).join(" ");
            let copied = settings(&format!("x {copied}"), &file);
            let seen = |settings: &Settings| {
                let roots = settings.builder().open().unwrap();
                let roots: Vec<_> = roots
                    .list()
                    .map(|root| (root.name().to_owned(), root.host_path(), root.access(), root.may_delete()))
                    .collect();
                let mut rules = settings.rules.clone();
                rules.sort();
                (
                    roots,
                    rules,
                    (settings.hide_host_paths, settings.one_file_system),
                    format!("{:?} {:?} {:?} {}", settings.limits, settings.tools, settings.ignored, settings.gitignore),
                    settings.seconds,
                    settings.file.clone(),
                    settings.audit.clone(),
                )
            };
            assert_eq!(seen(&copied), seen(&given), "{line}");
        }
    }

    /// Catches: an option whose name is not the one that is asked for, so that the file wins.
    #[test]
    fn each_limit_is_taken_from_the_command_line_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        let limits =
            "max_text_bytes = 1\nmax_media_bytes = 2\nmax_seconds = 3\nmax_entries = 4\nmax_read_bytes = 5\nmax_depth = 6\n";
        fs::write(&file, format!("[limits]\n{limits}")).unwrap();
        let all = |line: &str| {
            let settings = settings(line, &file);
            let Limits { text_bytes, media_bytes, entries, depth } = settings.limits;
            (text_bytes, media_bytes, settings.seconds, entries, settings.read_limit, depth)
        };
        assert_eq!(all("x"), (1 << 20, 16 << 20, 60, 50_000, None, 60));
        assert_eq!(all("x --config FILE"), (1, 2, 3, 4, Some(5), 6));
        let given = "--max-text-bytes 1048576 --max-media-bytes 7 --max-seconds 8 --max-entries 9 --max-depth 10";
        assert_eq!(all(&format!("x --config FILE {given}")), (1 << 20, 7, 8, 9, Some(5), 10));
    }
}
