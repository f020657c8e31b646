//! The file as it is written: one type for each table, from which both the parser and the JSON Schema are made.
//!
//! May touch: nothing. No I/O. The comments on the fields are the descriptions in the schema. What callers get of it are types of their own, so
//! that neither serde nor schemars is part of the API.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::access::Access;

/// Globs with ceilings, in no order: the strictest holds. A key that is there twice is an error of TOML.
pub(super) type Rules = BTreeMap<Spanned<String>, Level>;

/// The directories that are served, and what may be done in them. Keys that are not known are errors.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Configuration of cap-roots")]
pub(super) struct File {
    /// With true, the file has to end with the table [end], so that one that was cut off is refused. It is the first key of the file, so that
    /// it is not cut off itself.
    #[serde(default)]
    #[schemars(with = "bool")]
    pub(super) must_end: Option<Spanned<bool>>,

    /// What names that match a glob allow at most, in all directories, with everything below them. Within a name * stands for any characters,
    /// ? for one and [a-z] for one of a set; ** for any number of names. A glob without a slash before its end matches at any depth, one with a
    /// slash from the top of each directory, one that ends with a slash directories only. The strictest rule holds.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Level>")]
    pub(super) rules: Rules,

    /// Rules that hold beside the others: with default, names that other programs run or obey can be read and not changed. Default: default.
    #[serde(default)]
    #[schemars(with = "Protect")]
    pub(super) protect: Option<Protect>,

    /// What the roots of a client count for: nothing (off), as a restriction (narrow), or as the grants where no directory is given (trust, and
    /// trust-read for reading). Default: off.
    #[serde(default)]
    #[schemars(with = "ClientRoots")]
    pub(super) client_roots: Option<Spanned<ClientRoots>>,

    /// Whether the kernel keeps the whole process to the directories, by Landlock: as far as it can (auto), fully or the program does not start
    /// (require), or not at all (off). Default: auto.
    #[serde(default)]
    #[schemars(with = "Landlock")]
    pub(super) landlock: Option<Landlock>,

    /// Never show a path of the host to the client. Default: false.
    #[serde(default)]
    pub(super) hide_host_paths: bool,

    /// With true, each directory ends where its mount ends: what is mounted on a directory or a file below it is shown by its name and not
    /// entered, opened or removed. Default: false.
    #[serde(default)]
    pub(super) one_file_system: bool,

    /// The only tools that are offered, by their names. Default: all that the directories allow.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) tools: Option<Vec<Spanned<String>>>,

    /// Tools that are not offered. Default: none.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) disable_tools: Vec<Spanned<String>>,

    /// What trees and searches leave out, each as a line of a .gitignore at the top of each directory. It can be listed and read all the same:
    /// rules protect. Default: nothing.
    #[serde(default)]
    pub(super) ignore: Vec<String>,

    /// With true, they leave out what tools make and fetch as well: .git, node_modules, target and the like. Default: false.
    #[serde(default)]
    pub(super) ignore_common: bool,

    /// With true, they leave out what .gitignore files say, unless a call asks for it. Default: false.
    #[serde(default)]
    pub(super) gitignore: bool,

    /// A file for the audit log: one JSON line for each decision. ~/ is the home directory; another relative path starts at the directory of this
    /// file. It must not lie in a directory that is served. Default: none.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1))]
    pub(super) audit: Option<Spanned<String>>,

    /// Limits of work. Each that is not given is as by default.
    #[serde(default)]
    pub(super) limits: Limits,

    /// A directory, one table for each. Paths that a client gives without a leading slash start at the first.
    #[serde(default)]
    #[schemars(with = "Vec<Root>")]
    pub(super) root: Vec<Spanned<Root>>,

    /// The end of the file, an empty table. See must_end.
    #[serde(default)]
    #[schemars(with = "End")]
    pub(super) end: Option<Spanned<End>>,
}

/// A directory, and what may be done in it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Root {
    /// The directory. ~/ is the home directory; another relative path starts at the directory of this file.
    #[schemars(with = "String", length(min = 1))]
    pub(super) path: Spanned<String>,

    /// The name in root://NAME/: 1 to 64 of the characters a-z 0-9 . _ -, used once. Default: the last part of the path in lower case.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64), regex(pattern = r"^[a-z0-9._-]+$"))]
    pub(super) name: Option<Spanned<String>>,

    /// How much may be done. There is no default.
    pub(super) access: Granted,

    /// With true, no name is taken away: nothing is removed, replaced by a rename, or moved to another directory. Default: false.
    #[serde(default)]
    pub(super) no_delete: bool,

    /// Rules for this directory alone, beside those for all.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Level>")]
    pub(super) rules: Rules,

    /// When it ends: a date and time with offset, or how long after the start, such as 8h, 8 hours, 1h30m or 7d. Default: never.
    #[serde(default)]
    #[schemars(with = "Expires")]
    pub(super) expires: Option<Spanned<toml::Value>>,
}

/// For the schema alone: TOML has dates, JSON has them as strings.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "the schema is made from it")]
pub(super) enum Expires {
    /// A date and time with offset, such as 2027-01-31T18:00:00Z, without quotes.
    At(#[schemars(extend("format" = "date-time"))] String),
    /// A time after the start, such as 8h.
    After(String),
}

/// Nothing is in it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct End {}

/// How much may be done: nothing (none), names and metadata (list), reading (read), changing (write). Each includes the ones before it.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Access")]
pub(super) enum Level {
    None,
    List,
    Read,
    Write,
}

/// How much of a directory may be used: names and metadata (list), reading (read), changing (write). Each includes the ones before it.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Granted {
    List,
    Read,
    Write,
}

impl From<Granted> for Access {
    fn from(granted: Granted) -> Self {
        match granted {
            Granted::List => Access::List,
            Granted::Read => Access::Read,
            Granted::Write => Access::Write,
        }
    }
}

impl From<Level> for Access {
    fn from(level: Level) -> Self {
        match level {
            Level::None => Access::None,
            Level::List => Access::List,
            Level::Read => Access::Read,
            Level::Write => Access::Write,
        }
    }
}

/// Rules that come with the program.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Protect {
    /// .git, .mcp.json, .vscode/mcp.json, .cursor and .claude, at any depth, are read-only.
    Default,
    /// No such rules.
    None,
}

impl From<Protect> for super::Protect {
    fn from(protect: Protect) -> Self {
        match protect {
            Protect::Default => Self::Default,
            Protect::None => Self::None,
        }
    }
}

/// What the roots of a client count for.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClientRoots {
    /// Nothing: the client is not asked.
    Off,
    /// They restrict what was granted.
    Narrow,
    /// Where no directory was granted, they are granted for reading and writing.
    Trust,
    /// Where no directory was granted, they are granted for reading.
    TrustRead,
}

impl From<ClientRoots> for super::ClientRoots {
    fn from(roots: ClientRoots) -> Self {
        match roots {
            ClientRoots::Off => Self::Off,
            ClientRoots::Narrow => Self::Narrow,
            ClientRoots::Trust => Self::Trust,
            ClientRoots::TrustRead => Self::TrustRead,
        }
    }
}

/// Whether the kernel fences the process in, by Landlock.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Landlock {
    /// As far as the kernel can.
    Auto,
    /// Fully, or the program does not start.
    Require,
    /// Not at all.
    Off,
}

impl From<Landlock> for super::Landlock {
    fn from(landlock: Landlock) -> Self {
        match landlock {
            Landlock::Auto => Self::Auto,
            Landlock::Require => Self::Require,
            Landlock::Off => Self::Off,
        }
    }
}

/// Limits of work. What is not given is as by default.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    /// Largest file, in bytes, that is read whole: for edit_file of the server, and by programs through the library.
    #[schemars(with = "NonZeroU64")]
    pub(super) max_read_bytes: Option<NonZeroU64>,
    /// Most bytes of text in one answer of the server, over all files of the call.
    #[schemars(with = "NonZeroU64")]
    pub(super) max_text_bytes: Option<NonZeroU64>,
    /// Largest file that the server answers as media, in bytes before base64.
    #[schemars(with = "NonZeroU64")]
    pub(super) max_media_bytes: Option<NonZeroU64>,
    /// Longest time that a call of a client may take, in seconds.
    #[schemars(with = "NonZeroU64")]
    pub(super) max_seconds: Option<NonZeroU64>,
    /// Most entries in one listing of the server.
    #[schemars(with = "NonZeroU32", range(min = 1, max = 4_294_967_295_u32))]
    pub(super) max_entries: Option<NonZeroU32>,
    /// How many levels down trees and searches of the server go.
    #[schemars(with = "NonZeroU32", range(min = 1, max = 512))]
    #[serde(deserialize_with = "depth")]
    pub(super) max_depth: Option<NonZeroU32>,
}

impl From<Limits> for super::Limits {
    fn from(limits: Limits) -> Self {
        // All of them, or it does not compile.
        let Limits { max_read_bytes, max_text_bytes, max_media_bytes, max_seconds, max_entries, max_depth } = limits;
        Self { max_read_bytes, max_text_bytes, max_media_bytes, max_seconds, max_entries, max_depth }
    }
}

/// How deep trees may be asked for: no deeper than the library goes.
pub(super) fn depth<'de, D: Deserializer<'de>>(input: D) -> Result<Option<NonZeroU32>, D::Error> {
    let depth = NonZeroU32::deserialize(input)?;
    if depth.get() > 512 { Err(Error::custom("too deep")) } else { Ok(Some(depth)) }
}

/// How each key is written: what an error about its value says to do.
pub(super) fn form(key: &str) -> Option<&'static str> {
    Some(match key {
        "must_end" => "must_end = true, or leave it out",
        "rules" => "rules as in rules = { \".env\" = \"none\", \"vendor/\" = \"read\" }, with none, list, read or write",
        "protect" => "protect = \"default\" or protect = \"none\"",
        "client_roots" => "client_roots = \"off\", \"narrow\", \"trust\" or \"trust-read\"",
        "landlock" => "landlock = \"auto\", \"require\" or \"off\"",
        "hide_host_paths" => "hide_host_paths = true or hide_host_paths = false",
        "one_file_system" => "one_file_system = true or one_file_system = false",
        "tools" => "tools = [\"read_text_file\", \"list_directory\"]",
        "disable_tools" => "disable_tools = [\"delete_file\", \"delete_directory\"]",
        "ignore" => "ignore = [\"GLOB\", \"GLOB\"]",
        "ignore_common" => "ignore_common = true or ignore_common = false",
        "gitignore" => "gitignore = true or gitignore = false",
        "audit" => "audit = \"FILE\"",
        "limits" => "limits as a table [limits]",
        "max_read_bytes" => "a number of bytes from 1 on, as in max_read_bytes = 67108864",
        "max_text_bytes" => "a number of bytes from 1 on, as in max_text_bytes = 1048576",
        "max_media_bytes" => "a number of bytes from 1 on, as in max_media_bytes = 16777216",
        "max_seconds" => "a whole number from 1 on, as in max_seconds = 60",
        "max_entries" => "a whole number from 1 on, as in max_entries = 50000",
        "max_depth" => "a whole number from 1 to 512, as in max_depth = 60",
        "root" => "one table [[root]] for each directory",
        "end" => "[end] as the last line",
        "path" => "path = \"DIRECTORY\"",
        "name" => "name with 1 to 64 of the characters a-z 0-9 . _ -, each name once",
        "access" => "access = \"list\", \"read\" or \"write\"",
        "no_delete" => "no_delete = true or no_delete = false",
        "expires" => {
            "expires = 2027-01-31T18:00:00Z with its offset and without quotes, or a time after the start as in expires = \"8h\" or \"8 hours\""
        }
        _ => return None,
    })
}
