//! Sequences out of bytes: a small tree, grants with rules on it, and steps. Few names, so that paths hit.

use std::fmt;

use cap_roots::Access;

use super::model::Model;
use super::rules::{self, Rule};
use super::step::{Op, Step};
use super::world::{World, names_of};
use crate::generate::{Picks, encode};
use crate::poison::CANARY;

/// Stands in files whose names rules do not let anybody read, and nowhere else.
pub const SEALED: &str = "SEALED";

/// What a file outside has that may get a name inside, made by the other side: readable there, but not to be changed.
pub const LINKED: &str = "OUTSIDE-LINKED";

/// Most steps of a sequence: as many as there are bytes for.
pub const STEPS: usize = 24;
const OBJECTS: usize = 14;
/// The same of a small case.
const SMALL_STEPS: usize = 2;
const SMALL_OBJECTS: usize = 6;

const NAMES: &[&str] = &["a", "b", "h", ".env", ".git", "hooks", "secret", "s1", "\u{e9}", "e\u{301}", ".ENV", ".env."];
const PIECES: &[&str] = &[
    "a",
    "b",
    "h",
    "new",
    ".env",
    ".git",
    "hooks",
    "secret",
    "s1",
    "\u{e9}",
    "e\u{301}",
    ".ENV",
    ".env.",
    "..",
    "..",
    ".",
    "a",
    "b",
    "missing",
    ".GIT",
    ".cap-roots-x.tmp",
];
const ENDS: &[&str] = &["", "", "", "", "", "", "/", "/.", "/.."];
const STARTS: &[&str] =
    &["", "", "", "", "../", "../../", "$ROOT/", "$ROOT/a/", "$BASE/outside/", "/", "../ROOT/", "../outside/"];
const GLOBS: &[(&str, Access)] = &[
    ("**/.env", Access::None),
    ("**/.git", Access::Read),
    ("/a/secret", Access::None),
    ("b/**", Access::Read),
    ("hooks/", Access::List),
    ("s*", Access::Read),
    (".e?v", Access::List),
    ("/h", Access::Read),
    ("[!a-z]*/", Access::None),
    ("a/*/h", Access::Read),
    ("a/**/b", Access::List),
    ("\u{c9}", Access::None),
    ("h/**", Access::None),
];

/// Texts that mean the root itself, or nothing.
const ODD: &[&str] =
    &[".", "", "$BASE/outside/secret", "root://root", "root://nobody/a", "root://root/a//b", "$ROOT", "../outside/secret"];

/// A grant of the operator.
#[derive(Clone, Debug)]
pub struct Grant {
    pub name: &'static str,
    /// From the base of the tree.
    pub names: Vec<String>,
    pub access: Access,
    pub no_delete: bool,
    pub rules: Vec<(&'static str, Access)>,
}

/// A whole case.
#[derive(Clone, Debug)]
pub struct Case {
    pub lines: Vec<String>,
    pub grants: Vec<Grant>,
    /// Of all roots.
    pub rules: Vec<(&'static str, Access)>,
    pub steps: Vec<Step>,
}

impl Case {
    /// The same bytes give the same case.
    pub fn generate(bytes: &[u8]) -> Self {
        let mut picks = Picks(bytes);
        let rules = globs(&mut picks, 4);
        let grants = grants(&mut picks);
        let mut case = Self { lines: Vec::new(), grants, rules, steps: Vec::new() };
        let ruled = case.ruled();
        case.lines = tree(&mut picks, &ruled, case.grants.get(1), OBJECTS);
        case.steps = {
            let known = known(&case.lines);
            let mut steps = vec![step(&mut picks, 0, &ruled, &known)];
            while !picks.is_empty() && steps.len() < STEPS {
                steps.push(step(&mut picks, steps.len(), &ruled, &known));
            }
            steps
        };
        case
    }

    /// A small tree, and few steps that are all the crate's to do: for whoever does the same several times.
    pub fn small(bytes: &[u8]) -> Self {
        let mut picks = Picks(bytes);
        let rules = globs(&mut picks, 1);
        let grants = grants(&mut picks);
        let mut case = Self { lines: Vec::new(), grants, rules, steps: Vec::new() };
        let ruled = case.ruled();
        case.lines = tree(&mut picks, &ruled, case.grants.get(1), SMALL_OBJECTS);
        let known = known(&case.lines);
        let mut steps = Vec::new();
        while steps.is_empty() || (!picks.is_empty() && steps.len() < SMALL_STEPS) {
            let view = picks.byte() % 8;
            steps.push(match picks.byte() % 64 {
                0 => Step::Within { view, path: path(&mut picks, &known) },
                1 => Step::Hint { view, paths: vec![hint(&mut picks, &known)] },
                kind => Step::Do { view, op: op(&mut picks, 16 + kind % 48, steps.len(), &known) },
            });
        }
        case.steps = steps;
        case
    }

    /// All rules, each at its root. Roots with less than the one around them count.
    pub fn ruled(&self) -> Vec<Rule> {
        let mut ruled = Vec::new();
        for grant in &self.grants {
            let own = self.rules.iter().chain(&grant.rules);
            ruled.extend(own.map(|(glob, access)| Rule::parse(&grant.names, glob, *access)));
            let outer = |outer: &&Grant| grant.names.starts_with(&outer.names) && grant.access < outer.access;
            ruled.extend(self.grants.iter().filter(outer).map(|_| Rule::on_directory(&grant.names, grant.access)));
        }
        ruled
    }

    /// The model of it, before the first step.
    pub fn model(&self, base: &str) -> Model {
        let mut model = Model::new(World::build(&self.lines, base));
        for (index, grant) in self.grants.iter().enumerate() {
            model.grant(grant.name, &grant.names, grant.access, grant.no_delete);
            for (glob, access) in self.rules.iter().chain(&grant.rules) {
                model.rule(index, glob, *access);
            }
        }
        model
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        let rules = |rules: &[(&str, Access)]| rules.iter().map(|(glob, access)| format!(" {glob}={access}")).collect::<String>();
        for grant in &self.grants {
            let no_delete = if grant.no_delete { " no_delete" } else { "" };
            writeln!(f, "grant {}={} {}{no_delete}{}", grant.name, grant.names.join("/"), grant.access, rules(&grant.rules))?;
        }
        writeln!(f, "rules{}", rules(&self.rules))?;
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "{number}: {step}")?;
        }
        Ok(())
    }
}

fn globs(picks: &mut Picks<'_>, most: usize) -> Vec<(&'static str, Access)> {
    let count = [0, 0, 0, 1, 1, 2, 3, 4][picks.byte() % 8];
    (0..count.min(most)).map(|_| GLOBS[picks.byte() % GLOBS.len()]).collect()
}

fn grants(picks: &mut Picks<'_>) -> Vec<Grant> {
    const INNER: [Access; 4] = [Access::Write, Access::Read, Access::List, Access::None];
    let no_delete = picks.byte() % 8 == 7;
    let access = match picks.byte() % 16 {
        14 => Access::Read,
        15 => Access::List,
        _ => Access::Write,
    };
    let mut grants = vec![Grant { name: "root", names: vec!["ROOT".to_owned()], access, no_delete, rules: Vec::new() }];
    let inner: &[&str] = match picks.byte() % 8 {
        5 => &["a"],
        6 => &["b"],
        7 => &["a", "h"],
        _ => return grants,
    };
    let names = std::iter::once("ROOT").chain(inner.iter().copied()).map(str::to_owned).collect();
    let access = INNER[picks.byte() % INNER.len()];
    let rules = globs(picks, 1);
    grants.push(Grant { name: "inner", names, access, no_delete, rules });
    grants
}

/// The paths of what is there at first.
fn known(lines: &[String]) -> Vec<&str> {
    let below = lines.iter().filter(|line| !line.contains(" ../outside/"));
    below.filter_map(|line| line.split([' ', '=']).nth(1)).collect()
}

/// As a tree's line has it: what is in a file tells whether rules let it be read.
fn file(path: &str, ruled: &[Rule], number: usize) -> String {
    let word = if rules::ceiling(ruled, &names_of(path), false) < Access::Read { SEALED } else { "file" };
    format!("file {path}={word} {number}")
}

/// Each object is made in a directory that is one, so that making follows no link.
fn tree(picks: &mut Picks<'_>, ruled: &[Rule], inner: Option<&Grant>, most: usize) -> Vec<String> {
    let mut lines = vec![
        format!("file ../outside/secret={CANARY}"),
        format!("file ../outside/a/b={CANARY}"),
        format!("file ../outside/linked={LINKED}"),
    ];
    let (mut dirs, mut used, mut files) = (vec![String::new()], Vec::new(), Vec::new());
    for end in 2..=inner.map_or(0, |grant| grant.names.len()) {
        let path = inner.map_or_else(String::new, |grant| grant.names[1..end].join("/"));
        lines.push(format!("dir {path}"));
        dirs.push(format!("{path}/"));
        used.push(path);
    }
    let count = picks.byte() % (most + 1);
    for number in 0..count {
        let dir = dirs[picks.byte() % dirs.len()].clone();
        let path = format!("{dir}{}", picks.of(NAMES));
        let kind = picks.byte() % 12;
        if used.contains(&path) {
            continue;
        }
        match kind {
            0..=3 => {
                dirs.push(format!("{path}/"));
                lines.push(format!("dir {path}"));
            }
            4..=7 => {
                lines.push(file(&path, ruled, number));
                files.push(path.clone());
            }
            8 => lines.push(format!("fifo {path}")),
            9 => {
                // What may not be read gets no second name, which would let it be read.
                let open = |path: &&String| rules::ceiling(ruled, &names_of(path), false) >= Access::Read;
                let files: Vec<&String> = files.iter().filter(open).collect();
                match files.get(picks.byte() % files.len().max(1)) {
                    Some(other) => lines.push(format!("hard {path} = {other}")),
                    None => continue,
                }
            }
            _ => lines.push(format!("link {path} -> {}", link(picks))),
        }
        used.push(path);
    }
    lines
}

fn link(picks: &mut Picks<'_>) -> String {
    // A reserved name in a link's text is an ordinary one below a root without rules, where the kernel follows the link.
    let text = format!("{}{}", picks.of(STARTS), pieces(picks)).replace(".cap-roots-x.tmp", "new");
    if text.is_empty() { ".".to_owned() } else { text }
}

fn pieces(picks: &mut Picks<'_>) -> String {
    let count = 1 + picks.byte() % 3;
    let mut text = (0..count).map(|_| picks.of(PIECES)).collect::<Vec<_>>().join("/");
    text.push_str(picks.of(ENDS));
    text
}

/// A path as a caller may write it: mostly of something that was there at first, or a name beside or below it.
fn path(picks: &mut Picks<'_>, known: &[&str]) -> String {
    let at = known.get(picks.byte() % known.len().max(1)).copied().unwrap_or("a");
    let text = match picks.byte() % 16 {
        0..=4 => at.to_owned(),
        5..=6 => format!("{at}/{}", picks.of(NAMES)),
        7..=8 => at.rsplit_once('/').map_or_else(String::new, |(dir, _)| format!("{dir}/")) + picks.of(NAMES),
        9..=10 => picks.of(PIECES).to_owned(),
        11 => format!("{at}{}", picks.of(ENDS)),
        _ => pieces(picks),
    };
    match picks.byte() % 32 {
        20 | 21 => format!("$ROOT/{text}"),
        22 => format!("$ROOT/a/{text}"),
        23 | 24 => format!("root://root/{}", encode(&text)),
        25 | 26 => format!("root://inner/{}", encode(&text)),
        27 => ODD[picks.byte() % ODD.len()].to_owned(),
        28 => format!("{text}/{}", pieces(picks)),
        _ => text,
    }
}

fn step(picks: &mut Picks<'_>, number: usize, ruled: &[Rule], known: &[&str]) -> Step {
    let view = picks.byte();
    // Mostly the set that was opened.
    let view = if view % 4 == 3 { view / 4 % 4 } else { 0 };
    match picks.byte() % 64 {
        0..=9 => Step::Plant(plant(picks, number, ruled)),
        10..=12 => Step::Within { view, path: path(picks, known) },
        15 => Step::Hint { view, paths: (0..1 + picks.byte() % 3).map(|_| hint(picks, known)).collect() },
        13 => Step::Limit { view, access: [Access::Read, Access::List, Access::Write, Access::None][picks.byte() % 4] },
        14 => Step::NoDelete { view },
        // Of all sets, and so of all that comes after it: not much does.
        63 if picks.0.len() < 24 => Step::Revoke,
        kind => Step::Do { view, op: op(picks, kind, number, known) },
    }
}

/// As a client may send it: mostly something that was there at first.
fn hint(picks: &mut Picks<'_>, known: &[&str]) -> String {
    const ELSEWHERE: &[&str] =
        &["$ROOT", "$BASE", "/", "$BASE/outside", "$BASE/outside/secret", "$ROOT/a", "$ROOT/b/", "$ROOT/missing"];
    let at = known.get(picks.byte() % known.len().max(1)).copied().unwrap_or("a");
    match picks.byte() % 16 {
        0..=7 => format!("$ROOT/{at}"),
        8 | 9 => format!("$ROOT/{at}/{}", picks.of(NAMES)),
        10 => format!("$ROOT/{at}/"),
        _ => picks.of(ELSEWHERE).to_owned(),
    }
}

fn plant(picks: &mut Picks<'_>, number: usize, ruled: &[Rule]) -> String {
    let names = 1 + picks.byte() % 3;
    let path = (0..names).map(|_| picks.of(NAMES)).collect::<Vec<_>>().join("/");
    match picks.byte() % 8 {
        0..=2 => format!("link {path} -> {}", link(picks)),
        3 => format!("hard {path} = ../outside/linked"),
        4 | 5 => {
            let other = 1 + picks.byte() % 2;
            format!("hard {path} = {}", (0..other).map(|_| picks.of(NAMES)).collect::<Vec<_>>().join("/"))
        }
        6 => format!("dir {path}"),
        _ => file(&path, ruled, 100 + number),
    }
}

fn op(picks: &mut Picks<'_>, kind: usize, number: usize, known: &[&str]) -> Op {
    let first = path(picks, known);
    let text = format!("w{number}");
    match kind {
        16..=18 => Op::Read(first),
        19 | 20 => Op::ReadDir(first),
        21 => Op::Walk(first),
        22 => Op::Metadata(first),
        23 => Op::SymlinkMetadata(first),
        24 => Op::Exists(first),
        25 => Op::ReadLink(first),
        26..=29 => Op::Write(first, text),
        30 | 31 => Op::Update(first, text),
        32 | 33 => Op::CreateNew(first),
        34 | 35 => Op::Append(first, text),
        36 => Op::SetLen(first, u64::try_from(picks.byte() % 9).unwrap_or(0)),
        37..=39 => Op::CreateDir(first),
        40 | 41 => Op::CreateDirAll(first),
        42 | 43 => Op::RemoveFile(first),
        44 => Op::RemoveDir(first),
        45 | 46 => Op::RemoveDirAll(first),
        47..=50 => Op::Rename(first, path(picks, known)),
        51..=54 => Op::RenameReplace(first, path(picks, known)),
        55..=57 => Op::Copy(first, path(picks, known)),
        58..=60 => Op::CopyReplace(first, path(picks, known)),
        61 | 62 => Op::SetPermissions(first, [0o755, 0o700, 0o777, 0o4755][picks.byte() % 4]),
        _ => Op::SetTimes(first),
    }
}
