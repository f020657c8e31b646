//! What sequences do not come to, beside the model: permission bits, handles of directories, sets that have ended, and files with two names
//! where the operator wants none; and rules at both ends of a rename and a copy, each end with each.
//!
//! Catches: an operation that needs other permissions than the pages say, or changes something before it is refused; a handle that stays
//! behind when its directory is moved, or takes its root's paths; an operation that outlives its set, or is told apart by it; a file with two
//! names that is read by some way.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cap_roots::{Access, Error};
use cap_roots_oracle::act::Act;
use cap_roots_oracle::model::Model;
use cap_roots_oracle::model::world::World;
use cap_roots_oracle::sequence::step::{Op, Step};
use cap_roots_oracle::tree::Tree;
use support::{Way, builder, privilege};

/// Every operation, on these paths.
fn operations(file: &str, new: &str, dir: &str, empty: &str, elsewhere: &str) -> Vec<Op> {
    let other = format!("{elsewhere}/x");
    let moved = format!("{elsewhere}/n");
    let s = str::to_owned;
    vec![
        Op::Read(s(file)),
        Op::Read(format!("{dir}/g")),
        Op::ReadDir(s(dir)),
        Op::Walk(s(dir)),
        Op::Metadata(s(file)),
        Op::SymlinkMetadata(s(dir)),
        Op::ReadLink(s(file)),
        Op::Exists(s(file)),
        Op::Exists(s(new)),
        Op::Write(s(file), s("2")),
        Op::Write(s(new), s("2")),
        Op::Update(s(file), s("2")),
        Op::CreateNew(s(new)),
        Op::Append(s(file), s("2")),
        Op::Append(s(new), s("2")),
        Op::SetLen(s(file), 3),
        Op::CreateDir(s(new)),
        Op::CreateDirAll(format!("{new}/m")),
        Op::RemoveFile(s(file)),
        Op::RemoveDir(s(empty)),
        Op::RemoveDirAll(s(dir)),
        Op::Rename(s(file), moved.clone()),
        Op::Rename(s(dir), moved.clone()),
        Op::Rename(s(dir), s(new)),
        Op::Rename(other.clone(), s(new)),
        Op::RenameReplace(other.clone(), s(file)),
        Op::Copy(s(file), moved.clone()),
        Op::Copy(s(dir), moved),
        Op::Copy(other.clone(), s(new)),
        Op::CopyReplace(other, s(file)),
        Op::SetPermissions(s(file), 0o750),
        Op::SetPermissions(s(dir), 0o750),
        Op::SetTimes(s(file)),
        Op::SetTimes(s(dir)),
    ]
}

const TREE: [&str; 5] = ["file d/f=1", "file d/s/g=2", "dir d/e", "file o/x=3", "dir o/p"];

fn model(lines: &[String], tree: &Tree) -> Model {
    let mut model = Model::new(World::build(lines, tree.base().to_str().unwrap()));
    model.grant("root", &["ROOT"], Access::Write, false);
    model
}

fn codes<T>(outcome: Result<T, Error>) -> Result<T, &'static str> {
    outcome.map_err(|error| error.code())
}

/// Where the model and the disk have other permission bits, or the disk has nothing; as far as it lets itself be looked at.
fn other_bits(model: &Model, tree: &Tree) -> Vec<String> {
    let mut other = Vec::new();
    let root = model.world.plain(&["ROOT"]).unwrap();
    model.world.visit(root, "", &mut |path, id| {
        let of_model = model.world.modes[id];
        if !matches!(model.world.kind(id), "file" | "dir") {
            return;
        }
        match std::fs::symlink_metadata(tree.root().join(path)) {
            Ok(metadata) if metadata.permissions().mode() & 0o777 == of_model => {}
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {}
            found => other.push(format!("{path} {of_model:o} {:?}", found.map(|found| found.permissions()))),
        }
    });
    other
}

#[test]
fn permission_bits() {
    // The model's, and for all that this process makes.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    privilege::drop_override();
    let (mut wrong, mut count, mut denied) = (Vec::new(), 0, 0);
    for of_dir in [0, 1, 3, 5, 6, 7] {
        for inside in [0, 2, 3, 4, 7] {
            let modes = [("d/f", inside), ("d/s", inside), ("d/e", inside), ("d", of_dir)];
            let modes = modes.map(|(path, bits)| format!("mode {bits}00 {path}"));
            let lines: Vec<String> = TREE.map(str::to_owned).into_iter().chain(modes).collect();
            for op in operations("d/f", "d/n", "d/s", "d/e", "o") {
                // The crate lists a directory by its entry `.`, which needs search beside reading; opendir(3) would not.
                if inside == 4 && matches!(&op, Op::ReadDir(_) | Op::Walk(_)) && op.path() == "d/s" {
                    continue;
                }
                for way in [Way::Fast, Way::Walk] {
                    let tree = Tree::build(&lines).unwrap();
                    let roots = builder(way).named("root", tree.root(), Access::Write).open().unwrap();
                    let mut model = model(&lines, &tree);
                    let (ours, of_model) = (codes(roots.act(&op)), model.run(&Step::Do { view: 0, op: op.clone() }));
                    let bits = other_bits(&model, &tree);
                    // What cannot remove all has removed a part.
                    let partly = matches!(op, Op::RemoveDirAll(_)) && ours.is_err();
                    if ours != of_model || !(partly || bits.is_empty()) {
                        wrong.push(format!(
                            "d {of_dir}, in it {inside}, {op}, {way:?}: {ours:?}, the model {of_model:?}; {bits:?}"
                        ));
                    }
                    count += 1;
                    denied += usize::from(ours == Err("os-denied"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(denied > 800, "{denied} of {count}");
}

/// Handles of directories, while these are moved, removed and come back by another name.
#[test]
fn handles_of_directories() {
    let lines: Vec<String> = [
        "file d/f=1",
        "file d/s/g=2",
        "dir d/e",
        "file d/o/x=3",
        "file o/x=4",
        "link l -> d",
        "link d/up -> ../o/x",
        "link d/abs -> $ROOT/d/f",
        "link d/by -> $ROOT/l/f",
        "link d/in -> s/../f",
    ]
    .map(str::to_owned)
    .to_vec();
    let s = str::to_owned;
    let befores = [
        vec![],
        vec![Op::Rename(s("d"), s("o/d"))],
        vec![Op::Rename(s("d"), s("q")), Op::CreateDir(s("d"))],
        vec![Op::RemoveDirAll(s("d"))],
        vec![Op::RemoveDirAll(s("d")), Op::CreateDirAll(s("d/s"))],
    ];
    let more = ["up", "abs", "by", "in", "..", "../o/x", "$ROOT/d/f", "root://root/d/f", ".", "s/../../d/f", "s/.."]
        .map(|path| Op::Read(s(path)));
    let more = more.into_iter().chain([
        Op::ReadDir(s(".")),
        Op::ReadLink(s("up")),
        Op::Rename(s("f"), s("../f")),
        Op::Rename(s("."), s("x")),
        Op::CreateDirAll(s(".")),
    ]);
    let ops: Vec<Op> = operations("f", "n", "s", "e", "o").into_iter().chain(more).collect();
    let mut wrong = Vec::new();
    for opened in ["d", "l", "o/../d"] {
        // By which text it was opened matters for absolute links alone.
        for before in &befores[..if opened == "d" { befores.len() } else { 2 }] {
            for op in &ops {
                for way in [Way::Fast, Way::Walk] {
                    let tree = Tree::build(&lines).unwrap();
                    let roots = builder(way).named("root", tree.root(), Access::Write).open().unwrap();
                    let mut model = model(&lines, &tree);
                    let dir = roots.open_dir(opened).unwrap();
                    model.hold(0, opened).unwrap();
                    for op in before {
                        roots.act(op).unwrap();
                        model.run(&Step::Do { view: 0, op: op.clone() }).unwrap();
                    }
                    let typed = match op {
                        Op::Read(path) => Op::Read(tree.expand(path)),
                        op => op.clone(),
                    };
                    let (ours, of_model) = (codes(dir.act(&typed)), model.run(&Step::Do { view: 1, op: op.clone() }));
                    let bits = other_bits(&model, &tree);
                    if ours != of_model || !bits.is_empty() {
                        let case = format!("{opened}, after {before:?}, {op}, {way:?}");
                        wrong.push(format!("{case}: {ours:?}, the model {of_model:?}; {bits:?}"));
                    }
                    // As all that was narrowed, it ends with the set.
                    roots.revoke();
                    model.run(&Step::Revoke).unwrap();
                    assert_eq!(codes(dir.act(&typed)), model.run(&Step::Do { view: 1, op: op.clone() }), "{op}, revoked");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// What has ended says so before all else but where it leads; and what was narrowed from it ends with it.
#[test]
fn sets_that_have_ended() {
    let lines: Vec<String> = TREE.map(str::to_owned).to_vec();
    let tree = Tree::build(&lines).unwrap();
    let roots = builder(Way::Fast).named("root", tree.root(), Access::Write).open().unwrap();
    let dir = roots.open_dir("d").unwrap();
    let flag = Arc::new(AtomicBool::new(true));
    for (code, ended) in [("expired", roots.expiring_in(std::time::Duration::ZERO)), ("cancelled", roots.until_cancelled(&flag))]
    {
        let mut model = model(&lines, &tree);
        model.end(0, code);
        model.run(&Step::Limit { view: 1, access: Access::None }).unwrap();
        let limited = ended.limit(Access::None);
        let odd = ["..", "root://nobody/x", "", "root://root/%zz"].map(|path| Op::Read(path.to_owned()));
        for op in operations("d/f", "d/n", "d/s", "d/e", "o").into_iter().chain(odd) {
            for (view, roots) in [(1, &ended), (2, &limited)] {
                let ours = codes(roots.act(&op));
                assert!(ours.is_err());
                assert_eq!(ours, model.run(&Step::Do { view, op: op.clone() }), "{op}, {code}");
            }
        }
    }
    assert_eq!(codes(dir.read_to_string("f")), Ok("1".to_owned()), "the set that it was narrowed from goes on");
}

#[test]
fn files_with_two_names_where_none_are_wanted() {
    let lines: Vec<String> =
        TREE.iter().chain(&["hard o/f2 = d/f", "hard o/g2 = d/s/g", "hard d/x2 = o/x"]).map(|line| (*line).to_owned()).collect();
    for op in operations("d/f", "d/n", "d/s", "d/e", "o") {
        for way in [Way::Fast, Way::Walk] {
            let tree = Tree::build(&lines).unwrap();
            let roots = builder(way).refuse_hard_links().named("root", tree.root(), Access::Write).open().unwrap();
            let mut model = model(&lines, &tree);
            model.refuse_hard_links = true;
            assert_eq!(codes(roots.act(&op)), model.run(&Step::Do { view: 0, op: op.clone() }), "{op}, {way:?}");
            assert_eq!(other_bits(&model, &tree), [""; 0], "{op}, {way:?}");
        }
    }
}

/// Catches: a directory that slips out of a rule by its new name, or into one, as one that was prepared elsewhere.
#[test]
fn rules_at_both_ends() {
    let lines =
        ["file a/secret=1", "file d/secret=2", "file g/hooks/x=3", "file t/.env=4", "link l -> d", "dir e", "file f=5", "dir b"];
    let lines: Vec<String> = lines.map(str::to_owned).to_vec();
    let rules = [("/a/secret", Access::None), (".git/hooks/**", Access::Read), ("**/.env", Access::None), ("b/**", Access::Read)];
    let operations: [fn(String, String) -> Op; 4] = [Op::Rename, Op::RenameReplace, Op::Copy, Op::CopyReplace];
    let mut protected = 0;
    for from in ["a", "d", "g", "t", "l", "e", "f", "a/secret"] {
        for to in ["b", ".git", ".GIT", "e", "u", "a/x", ".env", "f", "b/x"] {
            for (op, way) in operations.iter().flat_map(|op| [(op, Way::Fast), (op, Way::Walk)]) {
                let op = op(from.to_owned(), to.to_owned());
                let tree = Tree::build(&lines).unwrap();
                let (mut builder, mut model) = (builder(way).named("root", tree.root(), Access::Write), model(&lines, &tree));
                for (glob, access) in rules {
                    builder = builder.rule(glob, access);
                    model.rule(0, glob, access);
                }
                let ours = codes(builder.open().unwrap().act(&op));
                assert_eq!(ours, model.run(&Step::Do { view: 0, op: op.clone() }), "{op}, {way:?}");
                assert_eq!(other_bits(&model, &tree), [""; 0], "{op}, {way:?}");
                protected += usize::from(ours == Err("protected"));
            }
        }
    }
    assert!(protected > 200, "{protected}");
}
