//! Globs of callers beside a naive matcher, and walks beside the whole listing of a small tree that is kept from one input to the next.
//!
//! Encoding of an input: a byte of flags, then parts that each end with a byte of `END` or more. Without the first flag: globs, and as the last
//! part a path. With it: the pattern, and what is left out.

use std::fs;
use std::path::Path;

use cap_roots::{Access, Roots};
use cap_roots_mcp::internals::{Floats, Globs, Host};
use cap_roots_oracle::tree::Tree;
use serde_json::{Map, Value, json};

use crate::glob::Glob;

/// From here on a byte ends a part.
const END: u8 = 0xf0;
/// Most globs of one input: the naive matcher is slow.
const GLOBS: usize = 4;
/// Most pieces of one of them.
const LONG: usize = 14;

const PIECES: [&str; 64] = [
    "*",
    "**",
    "?",
    "/",
    "**/",
    "/**",
    "a",
    "b",
    "ab",
    "*.rs",
    "{",
    "}",
    ",",
    "{a,b}",
    "[",
    "]",
    "[ab]",
    "[!a]",
    "[a-c]",
    "-",
    "!",
    "^",
    "\\",
    ".",
    "./",
    "..",
    "(",
    ")",
    "+",
    "@",
    "src",
    "main.rs",
    "lib.rs",
    "deep",
    "skip",
    "only",
    "sub",
    "\u{e9}",
    "e\u{301}",
    "A",
    "B",
    "x.md",
    ".dot",
    "f",
    "{src/,a/}",
    "{**,b}",
    "{a,{b,c}}",
    "{/b,}",
    "a b",
    "dir.d",
    "link",
    "ruled",
    "node_modules",
    "keep.tmp",
    "*.tmp",
    "x.log",
    ":",
    "&&",
    "~~",
    "1",
    "$",
    "|",
    "<",
    "\u{df}",
];

const NAMES: [&str; 32] = [
    "a", "b", "ab", "c.rs", "src", "main.rs", "lib.rs", "deep", "er", "\u{e9}", "e\u{301}", "A", "B", ".dot", "f", "x.md", "a b",
    "dir.d", "{a}", "[ab]", "*", "\\", "skip", "only", "x\ny", "-", "!a", "^", "\u{df}", "aa", "1", "a.b.c",
];

const TREE: [&str; 35] = [
    "file a/b/c.rs=",
    "file a/b/.hidden=",
    "file a/x.md=",
    "file ab=",
    "file A/f=",
    "file .dot/f=",
    "file src/main.rs=",
    "file src/lib.rs=",
    "file src/deep/er/mod.rs=",
    "file src/deep/ab=",
    "file \u{e9}=",
    "file e\u{301}x/f=",
    "file [ab]=",
    "file {a}=",
    "file star*=",
    "file a b=",
    "dir b",
    "dir c/a",
    "file dir.d/1=",
    "file dir.d/2=",
    "file dir.d/b/only=",
    "file skip/f=",
    "file src/skip=",
    "file g/only=",
    "file g/sub/only=",
    "file t.tmp=",
    "file keep.tmp=",
    "file src/x.log=",
    "file node_modules/m/f=",
    "link link -> a",
    "link out -> ../outside",
    "file ../outside/CANARY-7f3a=",
    "file .git/config=",
    "file ruled/secret=",
    "file a/ruled=",
];

/// What the operator leaves out, with what it means here.
const IGNORED: [&str; 2] = ["node_modules/", "*.log"];

fn is_ignored(entry: &Entry) -> bool {
    (entry.name() == "node_modules" && entry.is_dir) || entry.name().ends_with(".log")
}

/// What the `.gitignore` files say, and what they mean.
const GITIGNORES: [(&str, &str); 2] = [(".gitignore", "skip\n*.tmp\n!keep.tmp\n"), ("g/.gitignore", "only\n")];

fn is_gitignored(entry: &Entry) -> bool {
    let name = entry.name();
    let of_git = name == ".git" && entry.is_dir;
    let by_top = name == "skip" || (name.ends_with(".tmp") && name != "keep.tmp");
    of_git || by_top || (entry.path.starts_with("g/") && name == "only")
}

/// What is in the tree, in the order of a walk.
struct Entry {
    path: String,
    is_dir: bool,
}

impl Entry {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    fn depth(&self) -> usize {
        self.path.split('/').count()
    }

    fn is_in(&self, dir: &str) -> bool {
        self.path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
    }
}

struct Stage {
    _tree: Tree,
    host: Host,
    all: Vec<Entry>,
}

impl Stage {
    fn new() -> Self {
        let tree = Tree::build(TREE).unwrap_or_else(|error| panic!("{error}"));
        for (path, text) in GITIGNORES {
            fs::write(tree.root().join(path), text).unwrap_or_else(|error| panic!("{error}"));
        }
        let roots = Roots::builder().named("ws", tree.root(), Access::Read).rule("**/ruled", Access::None).open();
        let host = Host::new(roots.unwrap_or_else(|error| panic!("{error}")), false, &IGNORED, 10_000);
        let mut all = Vec::new();
        list(&tree.root(), "", &mut all);
        all.retain(|entry| !entry.path.split('/').any(|name| name == "ruled"));
        all.sort_by(|a, b| a.path.split('/').cmp(b.path.split('/')));
        assert!(all.len() > 40 && all.iter().all(|entry| !entry.path.contains("CANARY")), "the listing is whole");
        Self { _tree: tree, host: host.unwrap_or_else(|error| panic!("{error}")), all }
    }
}

fn list(dir: &Path, above: &str, all: &mut Vec<Entry>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = format!("{above}{}", entry.file_name().to_string_lossy());
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir {
            list(&entry.path(), &format!("{path}/"), all);
        }
        all.push(Entry { path, is_dir });
    }
}

thread_local! {
    static STAGE: Stage = Stage::new();
}

fn text<const N: usize>(picks: &[u8], pieces: &[&str; N], between: &str) -> String {
    const { assert!(N.is_power_of_two(), "a longer list would change what bytes mean") };
    picks.iter().take(LONG).map(|pick| pieces[usize::from(*pick) % N]).collect::<Vec<_>>().join(between)
}

/// What bytes stand for.
#[derive(Debug)]
struct Case {
    flags: u8,
    fold: bool,
    globs: Vec<String>,
    /// What the globs are tried on; `None`: they walk.
    path: Option<String>,
    floats: Floats,
}

impl Case {
    fn of(input: &[u8]) -> Self {
        let (flags, rest) = input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
        let mut parts: Vec<&[u8]> = rest.split(|byte| *byte >= END).collect();
        parts.truncate(GLOBS + 1);
        let path = (flags & 1 == 0).then(|| text(parts.pop().unwrap_or_default(), &NAMES, "/"));
        let globs = parts.iter().map(|part| text(part, &PIECES, "")).collect();
        let floats = [Floats::PlainNames, Floats::WithoutStar, Floats::WithoutSlash, Floats::PlainNames];
        Self { flags, fold: flags & 2 != 0, globs, path, floats: floats[usize::from(flags >> 2 & 3)] }
    }
}

/// What an input means.
pub(crate) fn print(input: &[u8]) -> String {
    format!("{:?}", Case::of(input))
}

/// Panics if a glob fits something else than it says, or if a walk shows something else than the listing without what is left out.
pub fn check(input: &[u8]) {
    let Case { flags, fold, globs, path, floats } = Case::of(input);
    let Some(path) = path else { return STAGE.with(|stage| walks(stage, flags, fold, &globs)) };
    let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
    let want: Result<Vec<Glob>, _> = globs.iter().map(|glob| Glob::read(glob, floats, fold)).collect();
    let got = Globs::new(&globs, floats, fold);
    match (got, want) {
        (Ok(got), Ok(want)) if !path.is_empty() => {
            for is_dir in [false, true] {
                let fits = want.iter().any(|glob| glob.fits(&path, is_dir));
                assert_eq!(got.fits(&path, is_dir), fits, "{globs:?} {floats:?} {fold} on {path:?}, directory: {is_dir}");
            }
        }
        (got, want) => assert_eq!(got.map(drop).map_err(code), want.map(drop).map_err(|_| "invalid-argument"), "{globs:?}"),
    }
}

fn code(error: cap_roots::Error) -> &'static str {
    assert!(error.to_string().len() < 4096, "{error}");
    error.code()
}

/// What a call should show, and what it should look at.
struct Wanted {
    shown: Vec<String>,
    seen: u64,
    excluded: u64,
}

fn walks(stage: &Stage, flags: u8, fold: bool, globs: &[String]) {
    let Some((pattern, excludes)) = globs.split_first() else { return };
    let (gitignore, depth) = (flags & 4 != 0, usize::from(flags >> 3 & 3));
    let mut arguments = json!({
        "path": ".", "pattern": pattern, "excludePatterns": excludes, "caseInsensitive": fold, "respectGitignore": gitignore
    });
    if depth > 0 {
        arguments["maxDepth"] = json!(depth);
    }
    let read = |glob: &String| Glob::read(glob, Floats::PlainNames, fold);
    let want = read(pattern).and_then(|pattern| Ok((pattern, excludes.iter().map(read).collect::<Result<Vec<_>, _>>()?)));
    let (got, seen) = search(stage, &arguments);
    let (pattern, excluding) = match want {
        Ok(want) => want,
        Err(why) => {
            assert_eq!(got.map_err(code).err(), Some("invalid-argument"), "{why}: {arguments}");
            return;
        }
    };
    let (shown, notice, cursor) = got.unwrap_or_else(|error| panic!("{error}: {arguments}"));
    let want = wanted(stage, &pattern, &excluding, gitignore, if depth > 0 { depth } else { usize::MAX });
    assert_eq!(shown, want.shown, "{arguments}");
    assert_eq!(cursor, None, "{arguments}");
    // A directory whose whole content is left out need not be gone into; nothing else that is not left out is passed over.
    let all = excludes.iter().any(|glob| glob.ends_with("/**"));
    assert!(seen == want.seen || (all && seen < want.seen), "{seen} were looked at, not {}: {arguments}", want.seen);
    let left_out = match want.excluded {
        0 => "",
        1 => "1 name is left out by excludePatterns.",
        _ => &format!("{} names are left out by excludePatterns.", want.excluded),
    };
    assert!(all || notice.contains(left_out), "{notice:?}, not {left_out:?}: {arguments}");
    // In pages, the same.
    if flags & 0x80 != 0 && !shown.is_empty() {
        let most = 1 + shown.len() / 3;
        arguments["maxResults"] = json!(most);
        let mut paged: Vec<String> = Vec::new();
        loop {
            let (page, _) = search(stage, &arguments);
            let (page, notice, cursor) = page.unwrap_or_else(|error| panic!("{error}: {arguments}"));
            assert!(page.len() <= most && (!page.is_empty() || cursor.is_none()), "{page:?} {notice} {arguments}");
            paged.extend(page);
            assert!(paged.len() <= shown.len(), "{paged:?} {arguments}");
            match cursor {
                Some(cursor) => arguments["cursor"] = json!(cursor),
                None => break,
            }
        }
        assert_eq!(paged, shown, "{arguments}");
    }
}

fn wanted(stage: &Stage, pattern: &Glob, excludes: &[Glob], gitignore: bool, depth: usize) -> Wanted {
    let mut want = Wanted { shown: Vec::new(), seen: 0, excluded: 0 };
    let mut closed: Option<&str> = None;
    for entry in stage.all.iter().filter(|entry| entry.depth() <= depth) {
        if closed.is_some_and(|dir| entry.is_in(dir)) {
            continue;
        }
        want.seen += 1;
        let excluded = excludes.iter().any(|glob| glob.fits(&entry.path, entry.is_dir));
        want.excluded += u64::from(excluded);
        if excluded || is_ignored(entry) || (gitignore && is_gitignored(entry)) {
            closed = Some(&entry.path);
        } else if pattern.fits(&entry.path, entry.is_dir) {
            want.shown.push(entry.path.clone());
        }
    }
    want
}

type Page = (Vec<String>, String, Option<String>);

/// What one call shows, what it says beside that, and its cursor; and how many entries it looked at.
fn search(stage: &Stage, arguments: &Value) -> (cap_roots::Result<Page>, u64) {
    let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
    let (answer, seen) = stage.host.call("search_files", arguments);
    let page = answer.map(|answer| {
        let value = serde_json::to_value(&answer).unwrap_or_default();
        let text = value["content"][0]["text"].as_str().unwrap_or_default();
        let none = ["No matches found", "No further matches found", "No matches found so far"].contains(&text);
        let shown = if none { Vec::new() } else { text.split('\n').map(str::to_owned).collect() };
        let notice = value["_meta"]["cap-roots/notice"].as_str().unwrap_or_default().to_owned();
        let cursor = notice.split("\"cursor\": \"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned);
        (shown, notice, cursor)
    });
    (page, seen)
}
