//! Grants from a file of the operator, in TOML (feature `config`).
//!
//! May touch: `ambient`, to read the file that the operator named. What stands in it is authority, as in the [`Builder`].
//!
//! ```toml
//! must_end = true             # the file has to end with [end]: one that was cut off is refused
//! rules = { "**/.env" = "none", "vendor/" = "read" }
//!
//! [[root]]
//! path = "~/notes"            # ~/ is the home directory; another relative path starts at the directory of this file
//! access = "write"            # "list", "read" or "write": there is no default
//! no_delete = true
//! expires = "8h"              # after the start; or 2027-01-31T18:00:00Z
//!
//! [end]
//! ```
//!
//! ```
//! use cap_roots::config::Config;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("roots.toml");
//! # std::fs::create_dir(folder.path().join("notes"))?;
//! # std::fs::write(folder.path().join("notes/a.md"), "text")?;
//! # std::fs::write(&path, "[[root]]\npath = \"notes\"\naccess = \"write\"\nno_delete = true\n")?;
//! let config = Config::load(path)?;          // or one line that says what is wrong, and where
//! let roots = config.builder().open()?;      // refuses a root that holds the file itself
//! assert_eq!(roots.read_to_string("a.md")?, "text");
//! assert_eq!(roots.remove_file("a.md").unwrap_err().code(), "not-granted");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The format
//! Top level: `must_end`, `rules`, `protect` (`"default"`, `"none"`), `client_roots` (`"off"`, `"narrow"`, `"trust"`, `"trust-read"`),
//! `landlock` (`"auto"`, `"require"`, `"off"`), `hide_host_paths`, `one_file_system`, `tools`, `disable_tools`, `ignore`, `ignore_common`, `gitignore`, `audit`,
//! `[limits]` and `[[root]]`; in a root `path` and `access`, which have to be there, `name`, `no_delete`, `rules` and `expires`. [`json_schema`] describes each. Keys that are not known are errors, and so is a file that says nothing at all.
//!
//! # A file that was cut off
//! A cut inside a line is an error of TOML, or leaves a number that is smaller. Behind a cut between two lines, restrictions may be lost that
//! nothing in the rest points to: a rule for all, the `no_delete` of the last root, an inner root with less access than the one around it. TOML
//! cannot tell; `must_end = true` as the first key can: such a file has to end with the table `[end]`. A file that trusts clients must say so.

mod error;
mod expiry;
mod file;
mod modes;
mod read;

use std::fmt;
use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use schemars::Schema;
use schemars::transform::{RecursiveTransform, Transform};

pub use error::{ConfigError, Place};
pub use modes::{ClientRoots, Landlock, Protect};

use crate::access::Access;
use crate::ambient;
use crate::builder::Builder;
use crate::grant::Grant;
use crate::roots::Roots;
use expiry::Expiry;

/// Largest file that is read. A longer one was not written by hand.
const FILE_LIMIT: u64 = 1 << 20;

/// A configuration that was read: directories, rules and limits, all of them well-formed. No directory was looked for yet.
#[derive(Clone)]
pub struct Config {
    file: Option<PathBuf>,
    roots: Vec<RootConfig>,
    rules: Vec<(String, Access)>,
    protect: Option<Protect>,
    client_roots: Option<ClientRoots>,
    landlock: Option<Landlock>,
    hide_host_paths: bool,
    one_file_system: bool,
    tools: Option<Vec<String>>,
    disabled_tools: Vec<String>,
    tool_places: Vec<(String, Place)>,
    ignore: Vec<String>,
    ignore_common: bool,
    gitignore: bool,
    audit: Option<PathBuf>,
    limits: Limits,
}

impl Config {
    /// Reads the file at `path`, which may begin with `~/`. Relative paths in it start at the directory that the file is named in, also where
    /// that name is a link.
    ///
    /// # Errors
    /// A file that cannot be read, is larger than 1 MiB or not UTF-8; and as [`Config::parse`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let absolute = ambient::absolute(path).map_err(|error| unreadable(&error).in_file(path))?;
        let bytes = ambient::read_file(&absolute, FILE_LIMIT).map_err(|error| unreadable(&error).in_file(&absolute))?;
        let config = text(&bytes).and_then(read::read).map_err(|error| error.in_file(&absolute))?;
        Ok(config.placed(&absolute))
    }

    /// Reads a configuration from text. Relative paths in it start at the working directory, when the builder opens them.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place: what is no TOML; a key that is not known, there twice, or missing; a value that does not
    /// fit its key; a malformed name or glob; a name that two roots have; a text that says nothing; a cut-off text with `must_end`.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        read::read(text)
    }

    fn placed(mut self, file: &Path) -> Self {
        let paths = self.roots.iter_mut().map(|root| &mut root.path).chain(&mut self.audit);
        for path in paths.filter(|path| !path.starts_with("~")) {
            // An absolute path stays what it is.
            *path = file.parent().unwrap_or(file).join(&*path);
        }
        self.file = Some(file.to_owned());
        self
    }

    /// A builder with everything that the configuration says of directories: roots, rules, [`Protect`]ed names, whether host paths are hidden
    /// and roots end with their mounts, and the limit for reading. A file that it was read from and the audit log are kept
    /// outside of all roots ([`Builder::keep_outside`]). Without a root in it, every operation answers `no-roots`.
    pub fn builder(&self) -> Builder {
        let mut builder = Roots::builder().hide_host_paths(self.hide_host_paths);
        if self.one_file_system {
            builder = builder.one_file_system();
        }
        for (glob, access) in self.protect.unwrap_or_default().rules() {
            builder = builder.rule(*glob, *access);
        }
        for (glob, access) in &self.rules {
            builder = builder.rule(glob, *access);
        }
        for root in &self.roots {
            builder = builder.grant(root.grant());
        }
        if let Some(limit) = self.limits.max_read_bytes {
            builder = builder.read_limit(limit.get());
        }
        self.file.iter().chain(&self.audit).fold(builder, Builder::keep_outside)
    }

    /// The file that it was read from, absolute.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The directories, in the order of the file.
    #[must_use]
    pub fn roots(&self) -> &[RootConfig] {
        &self.roots
    }

    /// The rules for all directories, without those of [`Config::protect`].
    #[must_use]
    pub fn rules(&self) -> &[(String, Access)] {
        &self.rules
    }

    /// Which names are protected beside the rules, if the file says so.
    #[must_use]
    pub fn protect(&self) -> Option<Protect> {
        self.protect
    }

    /// What the roots of a client count for, if the file says so. The embedding program has to obey it: the builder knows no clients.
    #[must_use]
    pub fn client_roots(&self) -> Option<ClientRoots> {
        self.client_roots
    }

    /// Whether the kernel is to fence the process in, if the file says so. The embedding program has to obey it, with the feature `landlock`.
    #[must_use]
    pub fn landlock(&self) -> Option<Landlock> {
        self.landlock
    }

    /// Whether no host path is shown to the client.
    #[must_use]
    pub fn hide_host_paths(&self) -> bool {
        self.hide_host_paths
    }

    /// Whether each root ends where its mount does ([`Builder::one_file_system`]).
    #[must_use]
    pub fn one_file_system(&self) -> bool {
        self.one_file_system
    }

    /// The only tools that are to be offered, if the file says so. Which there are, the embedding program knows.
    #[must_use]
    pub fn tools(&self) -> Option<&[String]> {
        self.tools.as_deref()
    }

    /// The tools that are not to be offered.
    #[must_use]
    pub fn disabled_tools(&self) -> &[String] {
        &self.disabled_tools
    }

    /// Where the tool of this name stands in the file, as it is written there: for an error about a name that is none.
    #[must_use]
    pub fn place_of_tool(&self, name: &str) -> Option<Place> {
        self.tool_places.iter().find(|(tool, _)| tool == name).map(|(_, place)| *place)
    }

    /// What trees and searches leave out, as lines of a `.gitignore` at the top of each root. Nothing is protected by it. The embedding program
    /// has to obey it: a [`Walk`](crate::Walk) shows everything.
    #[must_use]
    pub fn ignore(&self) -> &[String] {
        &self.ignore
    }

    /// Whether they leave out what tools make and fetch.
    #[must_use]
    pub fn ignore_common(&self) -> bool {
        self.ignore_common
    }

    /// Whether they leave out what `.gitignore` files say.
    #[must_use]
    pub fn gitignore(&self) -> bool {
        self.gitignore
    }

    /// The file for an audit log, as the builder takes a path: absolute, below `~`, or, in a configuration without a file, relative. The embedding
    /// program has to write it, as an [`Observer`](crate::Observer).
    #[must_use]
    pub fn audit(&self) -> Option<&Path> {
        self.audit.as_deref()
    }

    /// Limits of work. All but `max_read_bytes` are for the embedding program to obey.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }
}

/// Without the paths, which are the host's.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("roots", &self.roots.len()).field("rules", &self.rules.len()).finish_non_exhaustive()
    }
}

/// A directory of a configuration.
#[derive(Clone)]
pub struct RootConfig {
    path: PathBuf,
    place: Place,
    name: Option<String>,
    access: Access,
    no_delete: bool,
    rules: Vec<(String, Access)>,
    expiry: Option<Expiry>,
}

impl RootConfig {
    /// The directory, as the builder takes it: absolute, below `~`, or, in a configuration without a file, relative.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where its path stands in the file: for an error about its directory.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// The name that the file gives it.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// How much may be done.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Whether no name is taken away.
    #[must_use]
    pub fn no_delete(&self) -> bool {
        self.no_delete
    }

    /// The rules for this directory alone.
    #[must_use]
    pub fn rules(&self) -> &[(String, Access)] {
        &self.rules
    }

    /// How long it lasts from now on, by the system's clock; `None` for ever, and nothing where a moment is past.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.expiry.map(|expiry| expiry.left(Timestamp::now()))
    }

    /// The grant for a builder, for as long as [`RootConfig::time_left`] says now: one whose moment is past has run out from the start.
    pub fn grant(&self) -> Grant {
        let mut grant = Grant::new(&self.path).access(self.access);
        if let Some(name) = &self.name {
            grant = grant.name(name);
        }
        if self.no_delete {
            grant = grant.no_delete();
        }
        for (glob, access) in &self.rules {
            grant = grant.rule(glob, *access);
        }
        match self.time_left() {
            Some(time) => grant.expires_in(time),
            None => grant,
        }
    }
}

/// Without the path, which is the host's.
impl fmt::Debug for RootConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RootConfig").field("name", &self.name).field("access", &self.access).finish_non_exhaustive()
    }
}

/// Limits of work. What is not given is as by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest file, in bytes, that is read whole: for edit_file of the server, and by programs through the library.
    pub max_read_bytes: Option<NonZeroU64>,
    /// Most bytes of text in one answer of the server, over all files of the call.
    pub max_text_bytes: Option<NonZeroU64>,
    /// Largest file that the server answers as media, in bytes before base64.
    pub max_media_bytes: Option<NonZeroU64>,
    /// Longest time that a call of a client may take, in seconds.
    pub max_seconds: Option<NonZeroU64>,
    /// Most entries in one listing of the server.
    pub max_entries: Option<NonZeroU32>,
    /// How many levels down trees and searches of the server go.
    pub max_depth: Option<NonZeroU32>,
}

/// The JSON Schema (2020-12) of the format, as JSON text: for editors, and for programs that write such files.
#[must_use]
pub fn json_schema() -> String {
    let mut schema = schemars::schema_for!(file::File);
    let mut tidy = RecursiveTransform(|schema: &mut Schema| {
        // No value is not a value that a file could hold.
        if schema.get("default").is_some_and(|default| default.is_null()) {
            schema.remove("default");
        }
        if let Some(lines) = schema.get("description").and_then(|description| description.as_str()) {
            let line = lines.replace('\n', " ");
            schema.insert("description".to_owned(), line.into());
        }
    });
    tidy.transform(&mut schema);
    format!("{:#}", schema.as_value())
}

fn text(bytes: &[u8]) -> Result<&str, ConfigError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).and_then(|good| std::str::from_utf8(good).ok()).unwrap_or("");
        ConfigError::at(good, good.len(), "this is not UTF-8; save the file as UTF-8")
    })
}

/// Why the file cannot be read, in words that say what to do.
fn unreadable(error: &io::Error) -> ConfigError {
    ConfigError::whole(match error.kind() {
        io::ErrorKind::NotFound => "the file does not exist; correct its path".to_owned(),
        io::ErrorKind::IsADirectory => "this is a directory; name a file".to_owned(),
        io::ErrorKind::Unsupported => "this is a pipe, socket or device; name a file".to_owned(),
        io::ErrorKind::FileTooLarge => format!("the file is larger than {FILE_LIMIT} bytes; name a configuration"),
        io::ErrorKind::PermissionDenied => "the file cannot be read; check its permissions".to_owned(),
        _ => format!("the file cannot be read ({error}); check it"),
    })
}
