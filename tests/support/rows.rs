//! The rows of `tests/data`: a tree, an operation on a path, and what must come of it.
//!
//! A line is either a tree (`tree`, `set`) or a row: `id`, `tree`, `op`, `path`, `expect` (`ok` or a code), `reads` (a file's content,
//! an object's type, a directory's names, a link's text), `root` (another directory as the root), `choice` (why we answer so where
//! others answer differently), `skip` (why there is nothing to test here). What rows about writing have besides: see `writing`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use cap_roots::{Access, Error, FileType, Roots};
use cap_roots_oracle::tree::Tree;
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

use super::{Way, builder, writing};

const READING: &str = include_str!("../data/reading.jsonl");
const WRITING: &str = include_str!("../data/writing.jsonl");

type Run = fn(&Value, &[String], Way) -> Result<(), Failed>;

/// A line of the data that is a row, with its tree.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) data: Value,
    set: Arc<Vec<String>>,
    run: Run,
}

impl Row {
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.data[key].as_str()
    }

    /// Whether what comes of it is what the row says.
    pub(crate) fn check(&self, way: Way) -> Result<(), Failed> {
        (self.run)(&self.data, &self.set, way)
    }
}

pub(crate) fn all() -> Vec<Row> {
    writing::fix_umask();
    [load(READING, run), load(WRITING, writing::run)].concat()
}

/// One visible test for each row, by each of the ways.
pub(crate) fn trials(ways: &[(&'static str, Way)]) -> Vec<Trial> {
    let trial = |row: Row, name: &str, way| {
        let name = format!("{name}::{}", row.text("id").unwrap());
        let skip = row.text("skip").is_some();
        Trial::test(name, move || row.check(way)).with_ignored_flag(skip)
    };
    let of_row = |row: Row| ways.iter().map(move |(name, way)| trial(row.clone(), name, *way)).collect::<Vec<_>>();
    all().into_iter().flat_map(of_row).collect()
}

fn load(data: &str, run: Run) -> Vec<Row> {
    let mut trees: BTreeMap<String, Arc<Vec<String>>> = BTreeMap::new();
    let mut rows = Vec::new();
    for line in data.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let tree = line["tree"].as_str().unwrap().to_owned();
        match line["set"].as_array() {
            Some(set) => {
                trees.insert(tree, Arc::new(set.iter().map(|line| line.as_str().unwrap().to_owned()).collect()));
            }
            None => rows.push(Row { data: line, set: Arc::clone(&trees[&tree]), run }),
        }
    }
    rows
}

fn run(row: &Value, set: &[String], way: Way) -> Result<(), Failed> {
    let text = |key: &str| row[key].as_str();
    let (tree, roots) = set_up(row, set, way)?;
    let path = tree.expand(text("path").unwrap());
    let outcome = operate(&roots, text("op").unwrap(), &path);
    let expect = text("expect").unwrap();
    match &outcome {
        Err(error) if error.code() == expect => {
            tells_nothing(error, &tree, &[&path]);
            Ok(())
        }
        Ok(reads) if expect == "ok" && text("reads").is_none_or(|want| want == reads) => Ok(()),
        _ => Err(format!("{row}\n  gave {outcome:?}").into()),
    }
}

/// The row's tree, and a root on it.
pub(crate) fn set_up(row: &Value, set: &[String], way: Way) -> Result<(Tree, Roots), Failed> {
    let tree = Tree::build(set)?;
    let root = tree.root().join(row["root"].as_str().unwrap_or("."));
    let roots = builder(way).named("root", root, Access::Write).open()?;
    Ok((tree, roots))
}

/// A refusal repeats what was typed, and tells no host path besides.
pub(crate) fn tells_nothing(error: &Error, tree: &Tree, typed: &[&str]) {
    let base = tree.base().to_str().unwrap();
    // Only those: taking out "a" everywhere would hide a host path.
    let typed = typed.iter().filter(|typed| typed.contains(base));
    let told = typed.fold(format!("{error} {error:?}"), |told, typed| told.replace(typed, ""));
    assert!(!told.contains(base), "a host path in: {told}");
}

fn operate(roots: &Roots, op: &str, path: &str) -> Result<String, Error> {
    match op {
        "open" => roots.open(path).map(|mut file| {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            text
        }),
        "metadata" => roots.metadata(path).map(|metadata| kind(metadata.file_type())),
        "symlink_metadata" => roots.symlink_metadata(path).map(|metadata| kind(metadata.file_type())),
        "open_dir" => roots.open_dir(path)?.entries().and_then(names),
        "read_dir" => roots.read_dir(path).and_then(names),
        "read_link" => roots.read_link(path).map(|text| Path::new(&text).display().to_string()),
        "exists" => roots.exists(path).map(|exists| exists.to_string()),
        _ => panic!("no operation {op}"),
    }
}

fn names(entries: cap_roots::ReadDir) -> Result<String, Error> {
    let mut names = entries.map(|entry| Ok(entry?.name().to_string_lossy().into_owned())).collect::<Result<Vec<_>, Error>>()?;
    names.sort();
    Ok(names.join(","))
}

fn kind(file_type: FileType) -> String {
    match file_type {
        FileType::File => "file",
        FileType::Dir => "dir",
        FileType::Symlink => "symlink",
        _ => "special",
    }
    .to_owned()
}
