//! `search_file_contents`: lines that match, in a file or in all files below a directory.
//!
//! May touch: `arguments`, `context`, `grep`, `walk`, `work`.

mod below;

use cap_roots::{Error, ErrorKind, Operation, Result};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{Definition, Effect, answer, input, text_output};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::grep::{Facts, Found, Full, Meaning, PATTERN, Pattern, Search, Searched, Shape, helpers};
use crate::walk::{Anchor, Ask, Cut, Globs, Report, Walking, properties};
use crate::work::Work;

pub(super) const SEARCH_FILE_CONTENTS: Definition = Definition {
    name: NAME,
    title: "Search File Contents",
    description: "Searches the text inside files, line by line, in one file or in all files below a directory; to find files by their \
        names, use search_files. `pattern` is plain text; with `regex` true it is a regular expression (Rust's syntax: no look-around, \
        no back-references, always linear time). One line per match, `path:LINE:text`; with `contextLines` also the lines around it as \
        `path-LINE-text`, and -- between groups. LINE counts from 1, and read_text_file takes it as offset. Long lines are cut around \
        the match: [95 bytes…] stands for what is left out. `include` names files by globs, such as *.rs (at any depth) or src/**/*.ts. \
        Binary files, links, pipes and devices are not searched; what was passed over is counted at the end. An answer that was cut ends with \
        a cursor: repeat the same call with it. Errors start with a code: invalid-argument, correct the argument that it names; \
        not-found, list the parent; not-granted or protected, search elsewhere; stale-cursor, repeat the call without cursor; timeout, \
        search a directory further down or fewer files; outside-roots, see list_allowed_directories.",
    operation: Operation::Open,
    effect: Effect::Reads,
    input: schema,
    output: text_output,
    run,
};

const NAME: &str = "search_file_contents";

/// Most lines before and behind a match. Each may have to be kept in memory as a whole.
const CONTEXT: u64 = 20;
/// Most matches in an answer.
const MATCHES: u64 = 10_000;
/// Matches in an answer that says nothing of it.
const DEFAULT_MATCHES: u64 = 100;
/// Most searches are through with so many files before threads that help would be worth their start.
const ALONE: u64 = 64;
/// Most globs of `include`.
const GLOBS: usize = 100;

fn schema() -> Value {
    let flag = |what: &str| json!({ "type": "boolean", "default": false, "description": what });
    let own = json!({
        "path": cap_roots_rmcp::path_schema("File, or directory to search with all that is below it"),
        "pattern": {
            "type": "string", "minLength": 1, "maxLength": PATTERN, "description": "Text to look for, within one line"
        },
        "regex": flag("The pattern is a regular expression, and not the text itself"),
        "wholeWord": flag("Only where no letter, digit or underscore stands before or behind the match"),
        "caseInsensitive": flag("Pattern and globs fit whatever the case"),
        "include": {
            "type": "array", "items": { "type": "string" }, "maxItems": GLOBS, "default": [],
            "description": "Globs of the files to search; all, if there is none. Without a slash they fit at any depth"
        },
        "excludePatterns": {
            "type": "array", "items": { "type": "string" }, "maxItems": GLOBS, "default": [],
            "description": "Globs of files and directories to leave out. Without a slash they fit at any depth; one at the end: directories only"
        },
        "contextLines": {
            "type": "integer", "minimum": 0, "maximum": CONTEXT, "default": 0, "description": "Lines before and behind each match"
        },
        "filesOnly": flag("Only the paths of the files with a match, one a line"),
        "maxResults": {
            "type": "integer", "minimum": 1, "maximum": MATCHES, "default": DEFAULT_MATCHES, "description": "Most matches in the answer; with filesOnly, most files"
        },
    });
    input(properties(own), &["path", "pattern"])
}

fn run(context: &Context, work: &Work, arguments: &Arguments) -> Result<CallToolResult> {
    // An audit log tells what was opened, in the order of the answer and no more.
    run_with(context, work, arguments, ALONE, if context.audit.is_on() { 0 } else { helpers() })
}

/// `alone`: how many files are searched one by one before others help, as many as `helpers`.
fn run_with(context: &Context, work: &Work, arguments: &Arguments, alone: u64, helpers: usize) -> Result<CallToolResult> {
    // Known under this name elsewhere; passed over, it would hide matches.
    if arguments.is_given("caseSensitive") {
        return Err(Error::invalid_argument(
            "\"caseSensitive\" is not known; the case counts unless \"caseInsensitive\" is true",
        ));
    }
    let ask = Ask::read(context, NAME, arguments, Anchor::WithoutSlashFloats)?;
    let meaning =
        Meaning { regex: arguments.flag("regex")?, case_sensitive: !ask.fold(), whole_word: arguments.flag("wholeWord")? };
    let pattern = Pattern::parse(arguments.text("pattern")?, meaning)?;
    let hint = hint(context, arguments.text("pattern")?, &pattern);
    let include = arguments.texts_if_given("include", GLOBS)?;
    if let Some(glob) = include.iter().find(|glob| glob.ends_with('/')) {
        return Err(Error::invalid_argument(format!("in \"include\", the glob {glob:?} ends with a slash: it fits no file"))
            .advise("write ** behind it for the files in that directory"));
    }
    let include =
        (!include.is_empty()).then(|| Globs::of("include", &include, Anchor::WithoutSlashFloats, ask.fold())).transpose()?;
    let lines = arguments.number("contextLines", CONTEXT)?.unwrap_or(0);
    let files_only = arguments.flag("filesOnly")?;
    let shape = if files_only { Shape::Names } else { Shape::Lines { context: usize::try_from(lines).unwrap_or_default() } };
    let most = arguments.count("maxResults")?.unwrap_or(DEFAULT_MATCHES);
    if most > MATCHES {
        return Err(Error::invalid_argument(format!("\"maxResults\" must be at most {MATCHES}"))
            .advise("ask for less; the answer says how to go on"));
    }

    let found = Found::new(context.limits.text_bytes, usize::try_from(most).unwrap_or(usize::MAX));
    let mut searching = Searching {
        work,
        search: Search::new(pattern, shape),
        found,
        most,
        bytes: context.limits.text_bytes,
        going_on: ask.goes_on(),
        hint,
        fitted: include.is_none(),
        passed: Passed::default(),
        alone,
        helpers,
    };
    // Asked first, so that the audit log has no refusal of what nobody meant; what may not be read is refused as such. If it changes
    // meanwhile, what it is taken for is refused.
    let may_read = context.roots.explain(ask.path(), Operation::Open).verdict().is_ok();
    let report = if may_read && context.roots.metadata(ask.path())?.is_dir() {
        searching.below(Walking::start(context, work, ask)?, include.as_ref())?
    } else {
        let file = context.roots.open(ask.path())?;
        let uri = context.roots.uri(ask.path())?;
        let label = searching.search.label(ask.label(context)?, || uri);
        let within = ask.within_file(context)?;
        let cut = searching.file(file, &label, within).map_err(|error| error.about(&label))?;
        searching.fitted = true;
        ask.report_of_file(context, cut)
    };
    Ok(searching.answer(&report))
}

/// A search of one file after the other.
struct Searching<'a> {
    work: &'a Work,
    search: Search,
    found: Found,
    most: u64,
    bytes: u64,
    /// Another answer was before this one.
    going_on: bool,
    hint: Option<String>,
    /// Some name is one of a file to search.
    fitted: bool,
    passed: Passed,
    /// How many files are searched one by one before others help.
    alone: u64,
    /// How many threads may help.
    helpers: usize,
}

/// What whoever finds nothing may have meant.
fn hint(context: &Context, text: &str, pattern: &Pattern) -> Option<String> {
    const NAMES: &str = "search_files";
    if pattern.looks_like_regex {
        return Some("The pattern was looked for as plain text; if it is a regular expression, set regex to true.".to_owned());
    }
    let may_be_a_name = !text.contains(char::is_whitespace) && context.offered.has(NAMES);
    may_be_a_name.then(|| format!("Only what is in files was looked at; {NAMES} looks at names."))
}

impl Searching<'_> {
    /// Searches a file from `within` on, where an earlier call ended; where this one has to end.
    fn file(&mut self, file: cap_roots::File, label: &str, within: u64) -> Result<Option<(Cut, u64)>> {
        let searched = self.search.file(file, label, within, &mut self.found, self.work)?;
        Ok(self.took_note(searched))
    }

    /// Counts what was searched; where the call has to end.
    fn took_note(&mut self, searched: Searched) -> Option<(Cut, u64)> {
        match searched {
            Searched::Binary => self.passed.binary += 1,
            Searched::Whole(facts) => self.passed.searched(facts),
            Searched::To { next, facts } => {
                self.passed.searched(facts);
                return Some((self.full().unwrap_or(Cut::Time), next));
            }
        }
        None
    }

    fn full(&self) -> Option<Cut> {
        self.found.full().map(|full| match full {
            Full::Matches => Cut::Asked(self.most),
            Full::Bytes => Cut::Bytes(self.bytes),
        })
    }

    fn answer(&self, report: &Report) -> CallToolResult {
        let none = self.found.matches() == 0;
        let text = match (none, report.why_cut(), self.going_on) {
            (false, ..) => self.found.text(),
            (true, Some(_), _) => "No matches found so far",
            (true, None, true) => "No further matches found",
            (true, None, false) => "No matches found",
        };
        let mut notes = Vec::new();
        if none && !self.going_on {
            let misfit = (!self.fitted && report.why_cut().is_none()).then(|| "No file fits include.".to_owned());
            notes.extend(misfit.or_else(|| self.hint.clone()));
        }
        notes.extend(self.passed.notes(self.found.escaped(), self.search.line()));
        answer(text.to_owned(), report.notice((!notes.is_empty()).then(|| notes.join(" "))))
    }
}

/// What was not searched, or not as it stands.
#[derive(Debug, Default)]
struct Passed {
    binary: u64,
    links: u64,
    special: u64,
    not_allowed: u64,
    unreadable: u64,
    ends_binary: u64,
    not_utf8: u64,
    decoded: u64,
    long_lines: u64,
}

impl Passed {
    fn searched(&mut self, facts: Facts) {
        self.ends_binary += u64::from(facts.ends_binary);
        self.not_utf8 += u64::from(facts.not_utf8);
        self.decoded += u64::from(facts.decoded);
        self.long_lines += facts.long_lines;
    }

    fn refused(&mut self, kind: ErrorKind) {
        match kind {
            // It went away, or became a directory.
            ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => {}
            ErrorKind::SpecialFile => self.special += 1,
            ErrorKind::NotGranted | ErrorKind::Protected => self.not_allowed += 1,
            _ => self.unreadable += 1,
        }
    }

    fn notes(&self, escaped: usize, line: usize) -> Vec<String> {
        let note = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}.")),
            count => Some(format!("{count} {many}.")),
        };
        let notes = [
            note(self.binary, "binary file was not searched", "binary files were not searched"),
            note(
                self.ends_binary,
                "file turns binary after some text, and was searched up to there",
                "files turn binary after some text, and were searched up to there",
            ),
            note(
                self.not_utf8,
                "file is not UTF-8 throughout: it was searched by its bytes, so that only ASCII text is sure to be found",
                "files are not UTF-8 throughout: they were searched by their bytes, so that only ASCII text is sure to be found",
            ),
            note(
                u64::try_from(escaped).unwrap_or(u64::MAX),
                r"of the lines shows what is not plain text in it as \xNN or \u{N}",
                r"of the lines show what is not plain text in them as \xNN or \u{N}",
            ),
            note(self.decoded, "file is UTF-16, and was searched decoded", "files are UTF-16, and were searched decoded"),
            note(
                self.long_lines,
                &format!("line is longer than {line} bytes: only its beginning was searched"),
                &format!("lines are longer than {line} bytes: only their beginnings were searched"),
            ),
            note(self.links, "link was not followed", "links were not followed"),
            note(self.special, "pipe, socket or device was not opened", "pipes, sockets or devices were not opened"),
            note(self.not_allowed, "file may be listed but not read", "files may be listed but not read"),
            note(self.unreadable, "file could not be read", "files could not be read"),
        ];
        notes.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests;
