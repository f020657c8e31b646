//! The arguments that all tools which walk have in common.
//!
//! May touch: `arguments`, `context`.

use std::ffi::OsStr;

use cap_roots::Result;
use serde_json::{Map, Value, json};

use super::cursor::{For, Mark, stale};
use super::exclude::{Excludes, MOST};
use super::glob::Anchor;
use super::report::{Cut, Report};
use crate::arguments::Arguments;
use crate::context::Context;

/// What a call asks of a walk.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    tool: &'static str,
    arguments: &'a Arguments,
    path: &'a str,
    excludes: Excludes,
    gitignore: bool,
    depth: usize,
    cursor: Option<&'a str>,
    fold: bool,
}

impl<'a> Ask<'a> {
    /// `excludes`: how the globs of `excludePatterns` are anchored.
    ///
    /// # Errors
    /// `invalid-argument` that names the argument.
    pub(crate) fn read(context: &Context, tool: &'static str, arguments: &'a Arguments, excludes: Anchor) -> Result<Self> {
        let path = arguments.text("path")?;
        let globs = arguments.texts_if_given("excludePatterns", MOST)?;
        let depth = arguments.count("maxDepth")?.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX));
        let fold = arguments.flag("caseInsensitive")?;
        Ok(Self {
            tool,
            arguments,
            path,
            excludes: Excludes::of(&globs, excludes, fold)?,
            gitignore: arguments.flag_or("respectGitignore", context.walks.gitignore)?,
            depth: depth.min(context.limits.depth),
            cursor: arguments.text_if_given("cursor")?,
            fold,
        })
    }

    pub(crate) fn path(&self) -> &'a str {
        self.path
    }

    /// Whether the case of names counts not.
    pub(crate) fn fold(&self) -> bool {
        self.fold
    }

    /// Whether an earlier call is gone on with.
    pub(crate) fn goes_on(&self) -> bool {
        self.cursor.is_some()
    }

    pub(super) fn excludes(&self) -> &Excludes {
        &self.excludes
    }

    pub(super) fn gitignore(&self) -> bool {
        self.gitignore
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    fn call<'c>(&'c self, context: &'c Context) -> For<'c> {
        For { tool: self.tool, roots: &context.roots, arguments: self.arguments }
    }

    /// Where an earlier call ended.
    pub(super) fn behind(&self, context: &Context) -> Result<Option<Mark>> {
        let Some(cursor) = self.cursor else { return Ok(None) };
        let cursors = context.walks.cursors.as_ref().ok_or_else(stale)?;
        cursors.open(cursor, &self.call(context)).map(Some)
    }

    /// For a path that turned out to be a file: the path in the caller's own form, as any tool takes it.
    ///
    /// # Errors
    /// `invalid-path`, `outside-roots`.
    pub(crate) fn label(&self, context: &Context) -> Result<String> {
        if context.label(self.path) == self.path { Ok(self.path.to_owned()) } else { context.roots.uri(self.path) }
    }

    /// For a path that turned out to be a file: how much of it an earlier call has answered, in the tool's own measure.
    ///
    /// # Errors
    /// `stale-cursor`.
    pub(crate) fn within_file(&self, context: &Context) -> Result<u64> {
        Ok(self.behind(context)?.map_or(0, |mark| mark.within))
    }

    /// For a path that turned out to be a file: the report of a call that ended within it, or at its end.
    pub(crate) fn report_of_file(&self, context: &Context, cut: Option<(Cut, u64)>) -> Report {
        let mut report = Report::default();
        if let Some((cut, within)) = cut {
            report.cut(cut);
            report.goes_on(self.cursor_at(context, &Mark::at(OsStr::new(""), within)));
        }
        report
    }

    /// The cursor to go on from a mark.
    pub(super) fn cursor_at(&self, context: &Context, mark: &Mark) -> Option<String> {
        context.walks.cursors.as_ref()?.seal(mark, &self.call(context))
    }
}

/// The schemas of these arguments, with those of the tool.
pub(crate) fn properties(own: Value) -> Value {
    let texts = json!({ "type": "string" });
    let common = json!({
        "path": cap_roots_rmcp::path_schema("Directory to start from"),
        "excludePatterns": {
            "type": "array", "items": texts, "maxItems": MOST, "default": [],
            "description": "Globs of what to leave out, with everything in it; a plain name is left out at any depth, one with a slash at its end only as a directory"
        },
        "respectGitignore": {
            "type": "boolean", "description": "Leave out what .gitignore files say; as the operator chose, if not given"
        },
        "caseInsensitive": { "type": "boolean", "default": false, "description": "Globs fit whatever the case" },
        "maxDepth": { "type": "integer", "minimum": 1, "description": "How many levels down, 1 for the directory's own entries" },
        "cursor": { "type": "string", "description": "From the end of an answer that was cut: goes on behind it" },
    });
    let mut properties = Map::new();
    for part in [own, common] {
        if let Value::Object(part) = part {
            for (name, schema) in part {
                properties.entry(name).or_insert(schema);
            }
        }
    }
    Value::Object(properties)
}
