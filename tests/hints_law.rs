//! The law of hints, over generated grants, rules and lists: what is reachable lies in a grant and in a hint, object by object, as the kernel
//! resolves both; access is that of the grant; order and junk change nothing; and what lies in both is not kept out.
//!
//! Catches: a hint that adds or raises anything, matching by prefix of text, a first hint that wins, a bad entry that loses the rest.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cap_roots::{Access, Grant, Hint, Operation, Roots};
use cap_roots_oracle::tree::Tree;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use support::{Way, builder};

const TREE: &[&str] = &[
    "file f=0",
    "file a/f=1",
    "file a/b/f=2",
    "file a/b/c/f=3",
    "file a/b/.env=4",
    "file ab/f=5",
    "file d/e/f=6",
    "file ../outside/f=7",
    "file ../outside/a/f=8",
    "file ../ROOT2/f=9",
    "link a/in -> b/c",
    "link d/up -> ../a",
    "link d/abs -> $ROOT/a/b",
    "link d/file -> e/f",
    "link a/b/out -> ../../../outside",
    "link a/b/abs-out -> $BASE/outside",
    "link ../alias -> ROOT/a",
];

/// Where grants and hints may point, with the links among them.
const PLACES: &[&str] = &["$ROOT", "$ROOT/a", "$ROOT/a/b", "$ROOT/a/b/c", "$ROOT/d", "$ROOT/d/e", "$ROOT/ab", "$BASE/alias"];
const FILES: &[&str] = &["$ROOT/f", "$ROOT/a/f", "$ROOT/a/b/f", "$ROOT/a/b/c/f", "$ROOT/a/b/.env", "$ROOT/ab/f", "$ROOT/d/e/f"];
const ODD: &[&str] = &[
    "/",
    "$BASE",
    "$BASE/outside",
    "$BASE/outside/f",
    "$BASE/ROOT2",
    "$BASE/RO",
    "$ROOT/missing",
    "$ROOT/a/in",
    "$ROOT/d/up",
    "$ROOT/d/up/b",
    "$ROOT/d/abs",
    "$ROOT/d/file",
    "$ROOT/a/b/out",
    "$ROOT/a/b/abs-out",
    "$ROOT/a/b/out/a",
    "$BASE/alias/b",
    "/etc",
];
const JUNK: &[&str] =
    &["", "file://", "file:///..", "vscode-remote://x/y", "/w", "file:///%00", "file://host/w", "http://localhost/etc"];

fn grant() -> impl Strategy<Value = (&'static str, Access, bool, bool)> {
    let access = select(vec![Access::List, Access::Read, Access::Write, Access::Write]);
    (select(PLACES), access, any::<bool>(), any::<bool>())
}

fn granted(tree: &Tree, way: Way, grants: &[(&'static str, Access, bool, bool)]) -> Option<Roots> {
    let builder = grants.iter().fold(builder(way), |builder, (place, access, no_delete, ruled)| {
        let mut grant = Grant::new(tree.expand(place)).access(*access);
        if *no_delete {
            grant = grant.no_delete();
        }
        builder.grant(if *ruled { grant.rule(".env", Access::None) } else { grant })
    });
    // The same directory twice is an error.
    builder.open().ok()
}

fn parse(tree: &Tree, texts: &[&str]) -> Vec<Hint> {
    texts.iter().filter_map(|text| Hint::parse(&format!("file://{}", tree.expand(text))).ok()).collect()
}

fn uris(roots: &Roots) -> Vec<(String, Access, bool)> {
    roots.list().map(|root| (root.uri(), root.access(), root.may_delete())).collect()
}

/// All regular files below a directory by their real paths, with their content.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap();
        if kind.is_dir() {
            found.extend(files(&path));
        } else if kind.is_file() {
            let content = fs::read(&path).unwrap();
            found.insert(path, content);
        }
    }
    found
}

struct Case<'a> {
    tree: &'a Tree,
    base: PathBuf,
    full: Roots,
    narrowed: Roots,
    /// As the kernel resolves them.
    grants: Vec<(PathBuf, Access)>,
    hints: Vec<PathBuf>,
}

impl Case<'_> {
    /// Whether an object lies in a grant of at least this access, and in a hint.
    fn lies_in_both(&self, object: &Path, access: Access) -> bool {
        let granted = self.grants.iter().any(|(dir, of)| object.starts_with(dir) && *of >= access);
        granted && self.hints.iter().any(|hint| object.starts_with(hint))
    }

    fn check_reading(&self) {
        for root in self.narrowed.list() {
            assert!(
                self.full
                    .list()
                    .any(|of| of.name() == root.name() && of.access() >= root.access() && of.may_delete() >= root.may_delete())
            );
            let Ok(walk) = self.narrowed.walk(root.uri()) else { continue };
            for entry in walk.filter_map(Result::ok) {
                let Ok(content) = entry.read() else { continue };
                assert_eq!(self.full.read(entry.uri()).unwrap(), content, "{}", entry.uri());
                let of_root = self.full.list().find(|of| of.name() == root.name()).unwrap().host_path();
                let below = entry.uri().strip_prefix(&format!("root://{}/", root.name())).unwrap().to_owned();
                let object = fs::canonicalize(of_root.join(below)).unwrap();
                assert!(self.lies_in_both(&object, Access::Read), "{}", object.display());
            }
        }
    }

    /// By every host path, plain or through links: allowed here only if it is allowed in the full set, by the same root, and what is read
    /// lies in both.
    fn check_paths(&self, paths: &[PathBuf]) {
        for path in paths {
            let path = path.to_str().unwrap();
            // Where `..` leads above what is seen, only the operation itself can tell that it is outside.
            let told = Operation::ALL.iter().filter(|_| !path.contains(".."));
            for operation in told {
                let here = self.narrowed.explain(path, *operation);
                if here.verdict().is_ok() {
                    let there = self.full.explain(here.uri().unwrap(), *operation);
                    assert!(there.verdict().is_ok(), "{path} {here:?} {there:?}");
                }
            }
            if self.narrowed.read(path).is_ok() {
                assert!(self.lies_in_both(&fs::canonicalize(path).unwrap(), Access::Read), "{path}");
            }
        }
    }

    /// Nothing is kept out: a file by its real path, in a hint that names it without links.
    fn check_nothing_is_kept_out(&self, plain: &[&str]) {
        let plain: Vec<PathBuf> = plain.iter().map(|hint| PathBuf::from(self.tree.expand(hint))).collect();
        for path in files(&self.base).keys() {
            let hinted = plain.iter().any(|hint| path.starts_with(hint));
            let text = path.to_str().unwrap();
            if hinted && self.full.read(text).is_ok() {
                assert!(self.narrowed.read(text).is_ok(), "{text}: {:?}", self.narrowed.read(text));
            }
        }
    }

    fn check_writing(&self, paths: &[PathBuf]) {
        let before = files(&self.base);
        for path in paths {
            let path = path.to_str().unwrap();
            let _ = self.narrowed.write(path, "W");
            let _ = self.narrowed.rename(path, format!("{path}.new"));
            let _ = self.narrowed.create_dir(format!("{path}/new"));
        }
        let after = files(&self.base);
        let changed = before.iter().filter(|(path, content)| after.get(*path) != Some(content)).map(|(path, _)| path);
        let made = after.keys().filter(|path| !before.contains_key(*path));
        for path in changed.chain(made) {
            assert!(self.lies_in_both(path, Access::Write), "{}", path.display());
        }
    }
}

/// `PROPTEST_CASES` in the environment asks for another number.
fn cases() -> u32 {
    if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default().cases } else { 150 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reach_is_what_was_granted_and_hinted(
        grants in prop::collection::vec(grant(), 1..4),
        plain in subsequence([PLACES, FILES].concat(), 0..4),
        odd in subsequence(ODD.to_vec(), 0..3),
        junk in subsequence(JUNK.to_vec(), 0..4),
        shuffle in prop::collection::vec(any::<Index>(), 12),
        walk in any::<bool>(),
    ) {
        let tree = Tree::build(TREE).unwrap();
        let base = fs::canonicalize(tree.base()).unwrap();
        let Some(full) = granted(&tree, if walk { Way::Walk } else { Way::Fast }, &grants) else { return Ok(()) };
        let texts = [plain.clone(), odd].concat();
        let hints = parse(&tree, &texts);
        let narrowed = full.narrow(&hints).into_roots();

        // Another order, some twice, and entries that say nothing.
        let mut other: Vec<Hint> = hints.iter().cloned().chain(hints.first().cloned()).collect();
        other.extend(junk.iter().filter_map(|uri| Hint::parse(uri).ok()));
        for (from, to) in shuffle.iter().enumerate() {
            if !other.is_empty() {
                let length = other.len();
                other.swap(from % length, to.index(length));
            }
        }
        prop_assert_eq!(uris(&full.narrow(&other).into_roots()), uris(&narrowed));

        let case = Case {
            grants: grants.iter().map(|(place, access, ..)| (fs::canonicalize(tree.expand(place)).unwrap(), *access)).collect(),
            hints: texts.iter().filter_map(|text| fs::canonicalize(tree.expand(text)).ok()).collect(),
            tree: &tree, base, full, narrowed,
        };
        let mut paths: Vec<PathBuf> = files(&case.base).into_keys().collect();
        for place in PLACES.iter().chain(ODD) {
            paths.extend(["", "f", "../f", ".env", "in/f", "up/f", "out/f", "b/c/f"].map(|name| PathBuf::from(tree.expand(place)).join(name)));
        }
        case.check_reading();
        case.check_paths(&paths);
        // A place that is called `alias` is one by a link.
        let plain: Vec<&str> = plain.into_iter().filter(|hint| !hint.contains("alias")).collect();
        case.check_nothing_is_kept_out(&plain);
        case.check_writing(&paths);
    }
}
