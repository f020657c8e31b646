//! Text to [`Config`]: each thing that is wrong becomes one line with its place.
//!
//! May touch: `rule` and `path` to judge globs and names. No I/O.

use std::ops::Range;

use serde::Deserialize;
use toml::de::{Deserializer, Error};

use super::error::{Place, piece};
use super::expiry::Expiry;
use super::file::{self, ClientRoots, File, Rules};
use super::{Config, ConfigError, RootConfig};
use crate::access::Access;
use crate::path::uri::RootName;
use crate::rule::Rule;
use crate::text::quoted;

/// Reads a whole configuration, or says what is wrong first.
pub(super) fn read(text: &str) -> Result<Config, ConfigError> {
    // A mark that some editors write; columns are counted without it. The parser would take another one for nothing.
    let text = text.trim_start_matches('\u{feff}');
    if says_nothing(text) {
        // Rules may be lost with the rest, so nothing is not the same as no restrictions.
        return Err(ConfigError::at(
            text,
            0,
            "nothing is in it, perhaps because it was cut off; write it again, or do without it",
        ));
    }
    let parsed = Deserializer::parse(text).map_err(|error| syntax(text, &error))?;
    let file = File::deserialize(parsed).map_err(|error| content(text, error))?;
    check_end(text, &file)?;
    if let Some(audit) = file.audit.as_ref().filter(|audit| !is_path(audit.get_ref())) {
        return Err(bad(text, "audit", &audit.span()));
    }
    let rules = read_rules(text, file.rules)?;
    let mut roots: Vec<RootConfig> = Vec::with_capacity(file.root.len());
    let mut places: Vec<usize> = Vec::new();
    for root in file.root {
        let named = root.get_ref().name.as_ref();
        let (name, place) = named.map_or((None, 0), |name| (Some(name.get_ref().clone()), name.span().start));
        let root = read_root(text, root.into_inner())?;
        let twice = roots.iter().zip(&places).find(|(other, _)| name.is_some() && other.name == name);
        if let (Some((_, first)), Some(name)) = (twice, &name) {
            let line = Place::of(text, *first).line();
            let what = format!("the name {} is taken by the root in line {line}; give each root its own", quoted(name));
            return Err(ConfigError::at(text, place, what));
        }
        roots.push(root);
        places.push(place);
    }
    let named = file.tools.iter().flatten().chain(&file.disable_tools);
    let tool_places = named.map(|tool| (tool.get_ref().clone(), Place::of(text, tool.span().start))).collect();
    let names = |tools: Vec<toml::Spanned<String>>| tools.into_iter().map(toml::Spanned::into_inner).collect();
    Ok(Config {
        file: None,
        roots,
        rules,
        protect: file.protect.map(Into::into),
        client_roots: file.client_roots.map(|roots| roots.into_inner().into()),
        landlock: file.landlock.map(Into::into),
        hide_host_paths: file.hide_host_paths,
        one_file_system: file.one_file_system,
        tools: file.tools.map(names),
        disabled_tools: names(file.disable_tools),
        tool_places,
        ignore: file.ignore,
        ignore_common: file.ignore_common,
        gitignore: file.gitignore,
        audit: file.audit.map(|audit| audit.into_inner().into()),
        limits: file.limits.into(),
    })
}

fn says_nothing(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

fn is_path(path: &str) -> bool {
    !path.is_empty() && !path.contains('\0')
}

fn read_root(text: &str, root: file::Root) -> Result<RootConfig, ConfigError> {
    let path = root.path.get_ref();
    if !is_path(path) {
        return Err(bad(text, "path", &root.path.span()));
    }
    if let Some(name) = root.name.as_ref().filter(|name| RootName::parse(name.get_ref()).is_none()) {
        return Err(bad(text, "name", &name.span()));
    }
    let expiry = root.expires.map(|value| {
        let what = |why| format!("expires {why}; write {}", file::form("expires").unwrap_or_default());
        Expiry::read(value.get_ref()).map_err(|why| ConfigError::at(text, value.span().start, what(why)))
    });
    Ok(RootConfig {
        path: path.into(),
        place: Place::of(text, root.path.span().start),
        name: root.name.map(toml::Spanned::into_inner),
        access: root.access.into(),
        no_delete: root.no_delete,
        rules: read_rules(text, root.rules)?,
        expiry: expiry.transpose()?,
    })
}

fn read_rules(text: &str, rules: Rules) -> Result<Vec<(String, Access)>, ConfigError> {
    let read = |(glob, level): (toml::Spanned<String>, file::Level)| {
        let access = Access::from(level);
        match Rule::parse(glob.get_ref(), access) {
            Ok(_) => Ok((glob.into_inner(), access)),
            Err(why) => {
                let what = format!("the glob {} cannot be read: {why}", quoted(glob.get_ref()));
                Err(ConfigError::at(text, glob.span().start, what))
            }
        }
    };
    rules.into_iter().map(read).collect()
}

/// The mark of the end protects only if it cannot be cut off itself, and if nothing stands behind it.
fn check_end(text: &str, file: &File) -> Result<(), ConfigError> {
    if let Some(end) = &file.end {
        let rest = text.get(end.span().start..).unwrap_or("").split_once('\n').map_or("", |(_, rest)| rest);
        if !says_nothing(rest) {
            return Err(ConfigError::at(text, end.span().start, "[end] is not the last; move it to the end of the file"));
        }
    }
    let Some(must_end) = file.must_end.as_ref().filter(|must_end| *must_end.get_ref()) else {
        // With its directories cut off, what was to narrow would grant.
        let trusted =
            file.client_roots.as_ref().filter(|roots| matches!(roots.get_ref(), ClientRoots::Trust | ClientRoots::TrustRead));
        return trusted.map_or(Ok(()), |roots| {
            let what = "a client is trusted only by a file that cannot be cut off; write must_end = true as its first key and [end] at its end";
            Err(ConfigError::at(text, roots.span().start, what))
        });
    };
    let line_start = text.get(..must_end.span().start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    if !says_nothing(text.get(..line_start).unwrap_or(text)) {
        return Err(ConfigError::at(text, line_start, "must_end is not the first key; move it to the beginning of the file"));
    }
    if file.end.is_none() {
        let what =
            "with must_end the last line is [end], and it is missing, perhaps because the file was cut off; write it again";
        return Err(ConfigError::at(text, text.len(), what));
    }
    Ok(())
}

/// A value that does not fit its key.
fn bad(text: &str, path: &str, span: &Range<usize>) -> ConfigError {
    let key = key_of(path);
    let value = text.get(span.clone()).map(piece).unwrap_or_default();
    let glob = path.split_once("rules.").map(|(_, glob)| format!("the rule {}", quoted(glob)));
    let what = glob.unwrap_or_else(|| key.to_owned());
    let form = file::form(key).unwrap_or("a value that fits");
    ConfigError::at(text, span.start, format!("{what} cannot be {value}; write {form}"))
}

/// The key that the parser knows in a path such as `root.rules.**/.env`.
fn key_of(path: &str) -> &str {
    let inner = ["root.", "limits."].iter().find_map(|table| path.strip_prefix(table)).unwrap_or(path);
    inner.split('.').next().unwrap_or(inner)
}

/// What is no TOML.
fn syntax(text: &str, error: &Error) -> ConfigError {
    let start = error.span().map_or(text.len(), |span| span.start);
    let piece = error.span().and_then(|span| text.get(span)).map(piece).filter(|piece| !piece.trim().is_empty());
    let what = match (error.message(), piece) {
        ("duplicate key", Some(key)) => format!("the key {key} is there twice; leave one of them"),
        (message, _) if start >= text.trim_end().len() => {
            format!("the file ends too early, perhaps because it was cut off ({message}); write it again")
        }
        (message, _) => format!("this is not TOML: {message}; correct it there"),
    };
    ConfigError::at(text, start, what)
}

/// TOML that is not this configuration.
fn content(text: &str, mut error: Error) -> ConfigError {
    let span = error.span().unwrap_or(text.len()..text.len());
    // Without its input, the error says in which key it is.
    error.set_input(None);
    let shown = error.to_string();
    let path = shown.rsplit_once("\nin `").and_then(|(_, path)| path.trim_end().strip_suffix('`')).unwrap_or("");
    let message = error.message();
    // The messages of serde: unknown field `x`, expected one of `a`, `b`; missing field `x`.
    let mut names = message.split('`').skip(1).step_by(2);
    let table = match path {
        "root" => " in [[root]]",
        "limits" => " in [limits]",
        _ => "",
    };
    // A date is handed over as a table with a key of the parser's own.
    let path = path.split(".$__toml").next().unwrap_or(path);
    if message.starts_with("unknown field `") && !message.starts_with("unknown field `$__toml") {
        let key = names.next().unwrap_or("");
        let known: Vec<_> = names.collect();
        let near = known.iter().filter(|known| is_near(key, known)).min_by_key(|known| distance(key, known));
        let near = near.map(|near| format!("; {near} may be meant")).unwrap_or_default();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        // The server listens where its command line says, and nowhere else.
        let near = if key.starts_with("http") { "; HTTP is for the command line alone, as --http".to_owned() } else { near };
        let what = format!("unknown key {}{table}{near}; known keys: {known}", quoted(key));
        return ConfigError::at(text, span.start, what);
    }
    if message.starts_with("missing field `") {
        let key = names.next().unwrap_or("");
        let what = format!("{key} is missing{table}; write {}", file::form(key).unwrap_or_default());
        return ConfigError::at(text, span.start, what);
    }
    bad(text, path, &span)
}

/// Whether one may be a slip for the other: at most two letters changed, added or left out (one in a short key).
fn is_near(typed: &str, known: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let (typed, known) = (plain(typed), plain(known));
    let slips = if known.len() < 5 { 1 } else { 2 };
    distance(&typed, &known) <= slips || format!("max_{typed}") == known
}

/// How many letters are changed, added or left out between two words (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().take(64).collect(), other.chars().collect());
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (count, a) in one.iter().enumerate() {
        let mut left = count + 1;
        let mut next = vec![left];
        for ((b, above_left), above) in other.iter().zip(&row).zip(row.iter().skip(1)) {
            left = (above_left + usize::from(a != b)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
