//! What a walk leaves out because the call or the operator says so. It is judged by names alone, before anything is opened.
//!
//! May touch: `glob`, `arguments`.

use std::path::Path;
use std::sync::Arc;

use cap_roots::Result;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::glob::{Anchor, Globs};
use super::report::Why;

/// Most globs in one call.
pub(super) const MOST: usize = 100;

/// What --ignore-common stands for: what tools make or fetch, and can make or fetch again.
pub(crate) const COMMON: &[&str] = &[
    ".git/",
    ".hg/",
    ".svn/",
    "node_modules/",
    "target/",
    "dist/",
    "__pycache__/",
    ".venv/",
    "venv/",
    ".tox/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".gradle/",
    ".next/",
    ".nuxt/",
    ".terraform/",
    ".cache/",
    ".DS_Store",
];

/// Whether an entry is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    In,
    /// It is shown, and nothing in it.
    Content,
    Out(Why),
}

/// The globs of `excludePatterns`.
#[derive(Debug)]
pub(super) struct Excludes {
    globs: Globs,
    /// What globs that end with `/**` have before that: a directory that fits is shown, and need not be gone into.
    contents: Globs,
}

impl Excludes {
    pub(super) fn of(globs: &[&str], anchor: Anchor, fold: bool) -> Result<Self> {
        const NAME: &str = "excludePatterns";
        // Behind a backslash the slash is a character.
        let is_dir = |glob: &&str| !glob.ends_with("**") && !glob.ends_with('\\');
        let contents: Vec<_> = globs.iter().filter_map(|glob| glob.strip_suffix("/**")).filter(is_dir).collect();
        let globs = Globs::of(NAME, globs, anchor, fold)?;
        // Behind a glob that is anchored by its slash, what is left of it stays so.
        let anchored: Vec<_> =
            contents.iter().map(|glob| format!("/{}", glob.trim_start_matches("./").trim_start_matches('/'))).collect();
        let anchored: Vec<_> = anchored.iter().map(String::as_str).filter(|glob| *glob != "/").collect();
        Ok(Self { globs, contents: Globs::of(NAME, &anchored, anchor, fold)? })
    }

    pub(super) fn judge(&self, path: &Path, is_dir: bool) -> Leave {
        match (self.globs.fits(path, is_dir), self.contents.fits(path, is_dir)) {
            (true, _) => Leave::Out(Why::Excluded),
            (false, true) => Leave::Content,
            (false, false) => Leave::In,
        }
    }
}

/// The operator's list of what walks leave out: lines as in a `.gitignore` at the top of each root.
#[derive(Clone, Debug)]
pub(crate) struct Ignored(Arc<Gitignore>);

impl Default for Ignored {
    fn default() -> Self {
        Self(Arc::new(Gitignore::empty()))
    }
}

impl Ignored {
    /// Or what is wrong with which line.
    pub(crate) fn of<'a>(lines: impl IntoIterator<Item = &'a str>) -> std::result::Result<Self, String> {
        let mut builder = GitignoreBuilder::new("");
        for line in lines {
            let wrong = |what: &str| format!("invalid-argument: --ignore {}: {what}", cap_roots::escape(line));
            if line.trim().is_empty() {
                return Err(wrong("it names nothing; give a name or glob, such as node_modules/"));
            }
            if line.starts_with('#') {
                return Err(wrong("it is a comment; write \\# for a name that begins with #"));
            }
            builder.allow_unclosed_class(false).add_line(None, line).map_err(|error| wrong(&what(&error)))?;
        }
        builder.build().map(|list| Self(Arc::new(list))).map_err(|error| format!("invalid-argument: --ignore: {}", what(&error)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `start`: the names from the root to where the walk starts, which was named and is not judged.
    pub(super) fn leaves_out(&self, start: &Path, path: &Path, is_dir: bool) -> bool {
        !self.is_empty() && self.0.matched(start.join(path), is_dir).is_ignore()
    }
}

fn what(error: &ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => format!("{err}; write \\ before a character of a glob that stands for itself"),
        _ => "it cannot be read; give a line as in a .gitignore".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excludes(globs: &[&str]) -> impl Fn(&str) -> Leave {
        let excludes = Excludes::of(globs, Anchor::PlainNamesFloat, false).unwrap();
        move |path: &str| excludes.judge(Path::new(path.trim_end_matches('/')), path.ends_with('/'))
    }

    /// Catches: a directory that is listed although all that is in it is left out, or not listed although only a part is.
    #[test]
    fn a_directory_whose_content_is_left_out_is_not_gone_into() {
        let judge = excludes(&["docs/**", "**/gen/**", "src/*"]);
        for (path, want) in [
            ("docs", Leave::Content),
            ("docs/a", Leave::Out(Why::Excluded)),
            ("x/docs", Leave::In),
            ("x/gen", Leave::Content),
            ("x/gen/a/b", Leave::Out(Why::Excluded)),
            ("src", Leave::In),
            ("src/a", Leave::Out(Why::Excluded)),
        ] {
            assert_eq!(judge(path), want, "{path}");
        }
        // What stands before the slash is no glob by itself.
        assert_eq!(excludes(&[r"docs\/**"])("docs/a"), Leave::Out(Why::Excluded));
        assert_eq!(excludes(&["**"])("a"), Leave::Out(Why::Excluded));
        // A slash at the end: the directory and all that is in it, and no file of that name.
        let judge = excludes(&["target/"]);
        assert_eq!((judge("target/"), judge("x/target/")), (Leave::Out(Why::Excluded), Leave::Out(Why::Excluded)));
        assert_eq!(judge("target"), Leave::In);
    }

    #[test]
    fn the_operators_list_reads_as_a_gitignore_does() {
        let list = Ignored::of(["node_modules/", "*.log", "!keep.log", "/top", "a/b"]).unwrap();
        let out = |start: &str, path: &str, is_dir| list.leaves_out(Path::new(start), Path::new(path), is_dir);
        assert!(out("", "x/node_modules", true) && !out("", "x/node_modules", false));
        assert!(out("", "x/a.log", false) && !out("", "x/keep.log", false));
        assert!(out("", "top", false) && !out("", "x/top", false) && !out("x", "top", false));
        assert!(out("a", "b", false) && !out("", "x/a/b", false));
        assert!(!out("node_modules", "x", false));
        for line in ["", " ", "# a", "[", "{a"] {
            let told = Ignored::of([line]).unwrap_err();
            assert!(told.starts_with("invalid-argument: --ignore") && told.contains("; "), "{told}");
        }
        assert!(Ignored::of(COMMON.iter().copied()).is_ok());
    }
}
