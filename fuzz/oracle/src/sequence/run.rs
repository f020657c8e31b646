//! Sequences on a disk, by the crate, step by step against the model.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use cap_roots::{Builder, Error, FileType, Hint, Roots};

use super::disk::{self, Watch};
use super::generate::{Case, SEALED};
use super::model::{Code, Outcome, Seen};
use super::step::{Op, Step};
use crate::poison::{self, CANARY};
use crate::privilege;
use crate::tree::Tree;

/// By the fast way, and by the guarded walk.
pub fn check_both(bytes: &[u8]) {
    privilege::drop_override();
    check(bytes, |builder| builder);
    check(bytes, Builder::without_openat2);
}

/// Panics unless each step of the case that the bytes make ends as the model says, with the answer and the tree that it says; and if
/// anything of the outside or of a sealed file comes back, or one of them changes.
pub fn check(bytes: &[u8], way: fn(Builder) -> Builder) {
    let case = Case::generate(bytes);
    let mut told = Told { case: &case, step: None };
    let tree = Tree::build(&case.lines).unwrap_or_else(|error| panic!("{error}"));
    let base = tree.base().to_str().unwrap_or_else(|| panic!("the temporary directory is not UTF-8"));
    let mut model = case.model(base);
    let mut views = vec![open(&case, &tree, way)];
    let outside = poison::outside(&tree).unwrap_or_else(|error| panic!("{error}"));
    let mut watch = Watch::new(tree.base(), case.ruled()).unwrap_or_else(|error| panic!("{error}"));
    for (number, step) in case.steps.iter().enumerate() {
        told.step = Some(number);
        let want = model.run(step);
        let ours = match step {
            // Whether its name is free is the model's to say: the trees were the same until here.
            Step::Plant(line) => {
                if want == Ok(Seen::Bool(true)) {
                    tree.plant(line).unwrap_or_else(|error| panic!("{line}: {error}"));
                    watch.look(tree.base()).unwrap_or_else(|error| panic!("{error}"));
                }
                want.clone()
            }
            step => run(&mut views, step, &tree),
        };
        assert_eq!(ours, want, "ours against the model: {step}");
        let lines = disk::lines(tree.base()).unwrap_or_else(|error| panic!("{error}"));
        same_tree(&lines, &model.world.lines(), step);
        assert_eq!(poison::outside(&tree).unwrap_or_else(|error| panic!("{error}")), outside, "the outside changed: {step}");
        watch.check(tree.base()).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Writes the case down if the check does not come to its end.
struct Told<'a> {
    case: &'a Case,
    step: Option<usize>,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}failed at step {:?}", self.case, self.step);
        }
    }
}

fn open(case: &Case, tree: &Tree, way: fn(Builder) -> Builder) -> Roots {
    let mut builder = way(Roots::builder());
    for (glob, access) in &case.rules {
        builder = builder.rule(*glob, *access);
    }
    for grant in &case.grants {
        let path = grant.names.iter().fold(tree.base().to_owned(), |path, name| path.join(name));
        let mut made = cap_roots::Grant::new(path).name(grant.name).access(grant.access);
        if grant.no_delete {
            made = made.no_delete();
        }
        for (glob, access) in &grant.rules {
            made = made.rule(*glob, *access);
        }
        builder = builder.grant(made);
    }
    builder.open().unwrap_or_else(|error| panic!("{error}"))
}

/// Only what differs, since a tree is long.
fn same_tree(disk: &[String], model: &[String], step: &Step) {
    let (disk, model): (BTreeSet<_>, BTreeSet<_>) = (disk.iter().collect(), model.iter().collect());
    let (only_disk, only_model): (Vec<_>, Vec<_>) = (disk.difference(&model).collect(), model.difference(&disk).collect());
    assert!(disk == model, "the trees differ after {step}\n on the disk: {only_disk:#?}\nin the model: {only_model:#?}");
}

fn run(views: &mut Vec<Roots>, step: &Step, tree: &Tree) -> Outcome {
    let count = views.len();
    let of = |view: &usize| &views[view % count];
    let made = match step {
        Step::Do { view, op } => return shown(operate(of(view), op, tree), op, tree),
        Step::Plant(line) => panic!("not the crate's to do: {line}"),
        Step::Within { view, path } => {
            let text = tree.expand(path);
            of(view).within(&text).map_err(|error| code(&error, &[&text], tree))?
        }
        Step::Hint { view, paths } => {
            let (made, told) = hinted(of(view), paths, tree);
            views.push(made);
            return Ok(told);
        }
        Step::Limit { view, access } => of(view).limit(*access),
        Step::NoDelete { view } => of(view).without_delete(),
        Step::Revoke => {
            views[0].revoke();
            return Ok(Seen::Done);
        }
    };
    views.push(made);
    Ok(Seen::Done)
}

fn hinted(roots: &Roots, paths: &[String], tree: &Tree) -> (Roots, Seen) {
    let parse = |path: &String| Hint::parse(&format!("file://{}", tree.expand(path))).unwrap_or_else(|error| panic!("{error}"));
    let hints: Vec<Hint> = paths.iter().map(parse).collect();
    let narrowed = roots.narrow(&hints);
    for (_, error) in narrowed.refused() {
        code(error, &[], tree);
    }
    let refused = u64::try_from(narrowed.refused().len()).unwrap_or(u64::MAX);
    let told = narrowed.roots().list().map(|root| root.uri()).collect();
    (narrowed.into_roots(), Seen::Names(told, refused))
}

/// The outcome in the model's words; nothing of the outside or of sealed files is in it.
fn shown(outcome: Result<Seen, Error>, op: &Op, tree: &Tree) -> Outcome {
    match outcome {
        Ok(seen) => {
            clean(&seen);
            Ok(seen)
        }
        Err(error) => {
            let typed = [op.path(), op.two_ends().map_or("", |(_, to)| to)].map(|text| tree.expand(text));
            Err(code(&error, &[&typed[0], &typed[1]], tree))
        }
    }
}

fn clean(seen: &impl Debug) {
    let words = format!("{seen:?}");
    assert!(!words.contains(CANARY), "outside content: {words}");
    assert!(!words.contains(SEALED), "content that rules seal: {words}");
}

/// The code of an error that tells nothing of the host but what the caller typed.
fn code(error: &Error, typed: &[&str], tree: &Tree) -> Code {
    clean(error);
    let base = tree.base().to_string_lossy();
    let own = typed.iter().filter(|text| text.contains(&*base));
    let words = own.fold(format!("{error} {error:?}"), |words, text| words.replace(text, ""));
    assert!(!words.contains(&*base), "a host path in: {words}");
    error.code()
}

fn operate(roots: &Roots, op: &Op, tree: &Tree) -> Result<Seen, Error> {
    let path = tree.expand(op.path());
    let to = op.two_ends().map(|(_, to)| tree.expand(to)).unwrap_or_default();
    Ok(match op {
        Op::Read(_) => Seen::Content(String::from_utf8_lossy(&roots.read(&path)?).into_owned()),
        Op::ReadDir(_) => {
            let mut entries = roots.read_dir(&path)?;
            let mut names = Vec::new();
            for entry in entries.by_ref() {
                names.push(entry?.name().to_string_lossy().into_owned());
            }
            names.sort();
            Seen::Names(names, entries.hidden())
        }
        Op::Walk(_) => {
            let mut entries = roots.walk(&path)?;
            let mut names = Vec::new();
            for entry in entries.by_ref() {
                let entry = entry?;
                names.push(format!("{} {}", kind(entry.file_type()), entry.name().to_string_lossy()));
            }
            names.sort();
            Seen::Names(names, entries.hidden())
        }
        Op::Metadata(_) => Seen::Kind(kind(roots.metadata(&path)?.file_type())),
        Op::SymlinkMetadata(_) => Seen::Kind(kind(roots.symlink_metadata(&path)?.file_type())),
        Op::Exists(_) => Seen::Bool(roots.exists(&path)?),
        Op::ReadLink(_) => Seen::Text(roots.read_link(&path)?.to_string_lossy().into_owned()),
        Op::Copy(..) => Seen::Copied(roots.copy(&path, &to)?.skipped),
        Op::CopyReplace(..) => Seen::Copied(roots.copy_replace(&path, &to)?.skipped),
        _ => {
            change(roots, op, &path, &to)?;
            Seen::Done
        }
    })
}

fn change(roots: &Roots, op: &Op, path: &str, to: &str) -> Result<(), Error> {
    match op {
        Op::Write(_, text) => roots.write(path, text),
        Op::Update(_, text) => roots.update(path, |mut old| {
            old.extend_from_slice(text.as_bytes());
            Ok(old)
        }),
        Op::CreateNew(_) => roots.create_new(path).map(drop),
        Op::Append(_, text) => roots.append(path, text),
        Op::SetLen(_, len) => roots.set_len(path, *len),
        Op::CreateDir(_) => roots.create_dir(path),
        Op::CreateDirAll(_) => roots.create_dir_all(path),
        Op::RemoveFile(_) => roots.remove_file(path),
        Op::RemoveDir(_) => roots.remove_dir(path),
        Op::RemoveDirAll(_) => roots.remove_dir_all(path),
        Op::Rename(..) => roots.rename(path, to),
        Op::RenameReplace(..) => roots.rename_replace(path, to),
        Op::SetPermissions(_, mode) => roots.set_permissions(path, *mode),
        Op::SetTimes(_) => roots.set_times(path, None, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000))),
        _ => panic!("{op} changes nothing"),
    }
}

fn kind(file_type: FileType) -> &'static str {
    match file_type {
        FileType::File => "file",
        FileType::Dir => "dir",
        FileType::Symlink => "link",
        _ => "special",
    }
}
