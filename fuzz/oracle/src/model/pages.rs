//! The model against the pages that it is written from: each row names the page and what stands there. The model is trusted for these rows,
//! and not because the crate agrees with it.
//!
//! Catches: a model that was bent to what the crate does. And the model's size: what does not fit into a head is no authority.

use super::Model;
use super::world::World;
use crate::sequence::step::Op;

/// Where it stands and what it says; the tree; operations, each with its answer.
type Row = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const PATHS: &[Row] = &[
    ("path_resolution(7): a name that is not there is ENOENT", &[], &[("read x/y", "not-found")]),
    (
        "path_resolution(7): a name before a slash that is no directory is ENOTDIR",
        &["file f=1"],
        &[("read f/x", "not-a-directory"), ("exists f/..", "not-a-directory")],
    ),
    (
        "path_resolution(7): each directory on the way has to grant search",
        &["file d/f=1", "mode 600 d"],
        &[("read d/f", "os-denied"), ("metadata d", "dir"), ("read_dir d", "f")],
    ),
    (
        "path_resolution(7): `..` is looked up, from where a link has led",
        &["dir a/b", "file a/f=1", "file f=2", "link l -> a/b"],
        &[("read l/../f", "1")],
    ),
    (
        "path_resolution(7): a slash at the end asks for a directory",
        &["file f=1", "dir d"],
        &[("metadata f/", "not-a-directory"), ("metadata d/", "dir")],
    ),
    (
        "path_resolution(7): a slash behind a last link has it followed",
        &["dir d", "link l -> d"],
        &[("symlink_metadata l/", "dir"), ("symlink_metadata l", "link")],
    ),
    ("path_resolution(7): an empty path is not one", &[], &[("read ", "invalid-path")]),
    (
        "path_resolution(7): 40 links are followed, and one more is ELOOP",
        &["link a -> b", "link b -> a"],
        &[("read a", "symlink-loop"), ("exists a/x", "symlink-loop")],
    ),
    ("symlink(7): a relative link starts where it stands", &["file a/f=1", "link a/l -> f", "file f=2"], &[("read a/l", "1")]),
    (
        "symlink(7): a dangling link is ENOENT, and is there itself",
        &["link l -> no"],
        &[("read l", "not-found"), ("exists l", "false"), ("symlink_metadata l", "link")],
    ),
    (
        "open(2) with O_BENEATH's meaning, openat2(2) RESOLVE_BENEATH: `..` above and absolute links are an escape",
        &["link out -> /etc", "link up -> ../ROOT/f", "file f=1"],
        &[("read ../f", "outside-roots"), ("exists out", "outside-roots"), ("read up", "outside-roots")],
    ),
    (
        "the crate: an absolute link into the root is followed",
        &["link l -> $ROOT/f", "file f=1"],
        &[("read l", "1"), ("read $ROOT/l", "1")],
    ),
    (
        "readlink(2): what is no link is EINVAL",
        &["file f=1", "link l -> f", "link d/l -> ../f"],
        &[("read_link f", "invalid-argument"), ("read_link l", "f"), ("read_link d/l", "../f")],
    ),
    (
        "the crate: a link's text that leads out is not shown",
        &["link l -> ../x", "link a -> /etc"],
        &[("read_link l", "outside-roots"), ("read_link a", "outside-roots")],
    ),
];

const FILES: &[Row] = &[
    (
        "open(2): a directory is EISDIR",
        &["dir d"],
        &[("read d", "is-a-directory"), ("write d 1", "is-a-directory"), ("append d 1", "is-a-directory")],
    ),
    (
        "open(2): O_CREAT makes what a dangling link names",
        &["link l -> new"],
        &[("write l 1", "done"), ("read new", "1"), ("symlink_metadata l", "link")],
    ),
    (
        "open(2): O_CREAT and O_EXCL follow no last link",
        &["link l -> new"],
        &[("create_new l", "already-exists"), ("exists new", "false")],
    ),
    ("open(2): O_CREAT makes no directory on the way", &[], &[("write a/b 1", "not-found")]),
    (
        "open(2): reading needs the permission to read, writing to write",
        &["file r=1", "mode 400 r", "file w=1", "mode 200 w"],
        &[("read r", "1"), ("append r 2", "os-denied"), ("append w 2", "done"), ("read w", "os-denied")],
    ),
    (
        "open(2): making needs the permission to write in the directory",
        &["dir d", "mode 500 d"],
        &[("create_new d/f", "os-denied"), ("create_dir d/s", "os-denied")],
    ),
    (
        "truncate(2): cut, or extended with null bytes",
        &["file f=abc"],
        &[("set_len f 1", "done"), ("read f", "a"), ("set_len f 2", "done"), ("read f", "a\0")],
    ),
    ("truncate(2): what is missing is ENOENT", &[], &[("set_len f 1", "not-found")]),
    (
        "opendir(3): needs the permission to read, and a directory",
        &["dir d", "mode 300 d", "file f=1"],
        &[("read_dir d", "os-denied"), ("read_dir f", "not-a-directory")],
    ),
    (
        "link(2): two names of one file, and the last one removed",
        &["file a=1", "hard b = a"],
        &[("remove_file a", "done"), ("read b", "1"), ("append b 2", "done"), ("read b", "12")],
    ),
    (
        "the crate: a change in place would reach the other names",
        &["file a=1", "hard b = a"],
        &[("append a 2", "hard-linked"), ("set_permissions a", "hard-linked"), ("write a 2", "done"), ("read b", "1")],
    ),
    (
        "mkfifo(3), open(2): the crate waits for no peer",
        &["fifo p"],
        &[("read p", "special-file"), ("write p 1", "special-file"), ("metadata p", "special")],
    ),
];

const NAMES: &[Row] = &[
    (
        "mkdir(2): whatever has the name is EEXIST, a dangling link too",
        &["file f=1", "link l -> no"],
        &[("create_dir f", "already-exists"), ("create_dir l", "already-exists"), ("create_dir l/x", "not-found")],
    ),
    (
        "mkdir(1) -p: what is there is no error",
        &["file f=1", "dir d"],
        &[
            ("create_dir_all d/e/g", "done"),
            ("create_dir_all d/e", "done"),
            ("create_dir_all f", "already-exists"),
            ("create_dir_all f/x", "not-a-directory"),
        ],
    ),
    (
        "unlink(2): a link is removed itself, a directory is not",
        &["file f=1", "link l -> f", "dir d"],
        &[("remove_file l", "done"), ("read f", "1"), ("remove_file d", "is-a-directory")],
    ),
    (
        "unlink(2): needs the permission to write in the directory, none on the file",
        &["file d/f=1", "file e/f=1", "mode 000 e/f", "mode 500 d"],
        &[("remove_file d/f", "os-denied"), ("remove_file e/f", "done")],
    ),
    (
        "rmdir(2): only an empty directory",
        &["file d/f=1", "dir e", "link l -> e"],
        &[
            ("remove_dir d", "not-empty"),
            ("remove_dir d/f", "not-a-directory"),
            ("remove_dir l", "not-a-directory"),
            ("remove_dir e", "done"),
        ],
    ),
    (
        "rm(1) -r: goes through no link",
        &["file d/f=1", "link t/l -> ../d", "link l -> d"],
        &[("remove_dir_all t", "done"), ("remove_dir_all l", "done"), ("read d/f", "1")],
    ),
    (
        "rename(2): what has the name is replaced, a link itself",
        &["file a=1", "link l -> f", "file f=2"],
        &[("rename_replace a l", "done"), ("read l", "1"), ("read f", "2"), ("exists a", "false")],
    ),
    (
        "rename(2): a link is renamed itself",
        &["link l -> f", "file f=1"],
        &[("rename l m", "done"), ("read_link m", "f"), ("exists f", "true")],
    ),
    ("rename(2): RENAME_NOREPLACE is EEXIST", &["file a=1", "file b=2"], &[("rename a b", "already-exists"), ("read b", "2")]),
    (
        "rename(2): two names of one file are left alone",
        &["file a=1", "hard b = a"],
        &[("rename_replace a b", "done"), ("read a", "1"), ("read b", "1")],
    ),
    (
        "rename(2): a directory into itself is EINVAL",
        &["dir a/b", "file a/f=1"],
        &[
            ("rename a a/b/c", "invalid-argument"),
            ("rename a a/c", "invalid-argument"),
            ("rename_replace a a/f/", "invalid-argument"),
        ],
    ),
    (
        "rename(2): EISDIR, ENOTDIR and ENOTEMPTY",
        &["file f=1", "dir e", "file d/f=1"],
        &[
            ("rename_replace f e", "is-a-directory"),
            ("rename_replace e f", "not-a-directory"),
            ("rename_replace e d", "not-empty"),
            ("rename_replace d e", "done"),
            ("read e/f", "1"),
        ],
    ),
    (
        "rename(2): a directory that gets another parent has to be writable",
        &["dir d", "mode 500 d", "dir e"],
        &[("rename d e/d", "os-denied"), ("rename d f", "done")],
    ),
    (
        "rename(2): needs the permission to write in both directories",
        &["file a/f=1", "dir b", "mode 500 b", "file c/f=1", "mode 500 c"],
        &[("rename a/f b/f", "os-denied"), ("rename c/f a/g", "os-denied")],
    ),
    (
        "cp(1) -r: a copy of each file, and here of no link",
        &["file a/f=1", "link a/l -> f", "hard a/g = a/f"],
        &[("copy a b", "1 left out"), ("append b/g 2", "done"), ("read b/f", "1"), ("read a/f", "1")],
    ),
    (
        "cp(1): into itself, and onto itself",
        &["dir a", "file f=1", "hard g = f"],
        &[("copy a a/b", "invalid-argument"), ("copy_replace f g", "invalid-argument")],
    ),
    (
        "cp(1): needs the permission to read what is copied",
        &["file f=1", "mode 200 f", "file d/s/f=1", "mode 000 d/s"],
        &[("copy f g", "os-denied"), ("copy d e", "os-denied"), ("exists e", "false")],
    ),
    (
        "chmod(2), with set-id bits refused by the crate",
        &["file f=1"],
        &[("set_permissions f 4755", "invalid-argument"), ("set_permissions f 200", "done"), ("read f", "os-denied")],
    ),
];

#[test]
fn what_the_pages_say() {
    for (source, lines, operations) in [PATHS, FILES, NAMES].concat() {
        let mut model = Model::new(World::build(lines, "/base"));
        model.grant("root", &["ROOT"], cap_roots::Access::Write, false);
        for (text, want) in operations {
            assert_eq!(told(&mut model, &op(text)), *want, "{text}, where {source}");
        }
    }
}

fn told(model: &mut Model, op: &Op) -> String {
    use super::Seen;
    match model.run(&super::Step::Do { view: 0, op: op.clone() }) {
        Err(code) => code.to_owned(),
        Ok(Seen::Done) => "done".to_owned(),
        Ok(Seen::Content(text) | Seen::Text(text)) => text,
        Ok(Seen::Names(names, _)) => names.join(" "),
        Ok(Seen::Kind(kind)) => kind.to_owned(),
        Ok(Seen::Bool(yes)) => yes.to_string(),
        Ok(Seen::Copied(0)) => "done".to_owned(),
        Ok(Seen::Copied(skipped)) => format!("{skipped} left out"),
    }
}

/// `name path argument`.
fn op(text: &str) -> Op {
    let mut words = text.split(' ').map(str::to_owned);
    let (name, path) = (words.next().unwrap(), words.next().unwrap());
    let more = words.next().unwrap_or_default();
    match &*name {
        "read" => Op::Read(path),
        "read_dir" => Op::ReadDir(path),
        "metadata" => Op::Metadata(path),
        "symlink_metadata" => Op::SymlinkMetadata(path),
        "exists" => Op::Exists(path),
        "read_link" => Op::ReadLink(path),
        "write" => Op::Write(path, more),
        "append" => Op::Append(path, more),
        "create_new" => Op::CreateNew(path),
        "set_len" => Op::SetLen(path, more.parse().unwrap()),
        "create_dir" => Op::CreateDir(path),
        "create_dir_all" => Op::CreateDirAll(path),
        "remove_file" => Op::RemoveFile(path),
        "remove_dir" => Op::RemoveDir(path),
        "remove_dir_all" => Op::RemoveDirAll(path),
        "rename" => Op::Rename(path, more),
        "rename_replace" => Op::RenameReplace(path, more),
        "copy" => Op::Copy(path, more),
        "copy_replace" => Op::CopyReplace(path, more),
        "set_permissions" => Op::SetPermissions(path, u32::from_str_radix(&more, 8).unwrap_or(0o600)),
        _ => panic!("no such operation: {text}"),
    }
}

/// Lines that say something: neither blank nor a comment.
fn code_lines(file: &std::path::Path) -> usize {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Small enough to be read in an hour: the tree and its operations; beside them what globs and hints mean; and how a tree and a URI are written,
/// which `notation` has, outside of this folder.
#[test]
fn the_model_stays_small() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/model");
    let (mut tree, mut apart) = (0, 0);
    for entry in std::fs::read_dir(&dir).unwrap().map(Result::unwrap) {
        match entry.file_name().to_str().unwrap() {
            "tests.rs" | "pages.rs" => {}
            "rules.rs" | "hints.rs" => apart += code_lines(&entry.path()),
            _ => tree += code_lines(&entry.path()),
        }
    }
    assert!(tree <= TREE, "the tree and its operations have {tree} lines");
    assert!(apart <= APART, "globs and hints have {apart} lines");
    let written = code_lines(&dir.with_file_name("notation.rs"));
    assert!(written <= WRITTEN, "the notation has {written} lines");
}

const TREE: usize = 880;
const APART: usize = 204;
const WRITTEN: usize = 94;
