//! The model against what the documentation says, case by case.

use cap_roots::Access;

use super::rules::{self, Match, Rule, same_below};
use super::world::World;
use super::{Model, Outcome, Seen};
use crate::sequence::disk::{self, Watch};
use crate::sequence::generate::Case;
use crate::sequence::step::{Op, Step};
use crate::tree::Tree;

fn model(lines: &[&str], rules: &[(&str, Access)]) -> Model {
    let mut model = Model::new(World::build(lines, "/base"));
    model.grant("root", &["ROOT"], Access::Write, false);
    rules.iter().for_each(|(glob, access)| model.rule(0, glob, *access));
    model
}

fn run(model: &mut Model, op: Op) -> Outcome {
    model.run(&Step::Do { view: 0, op })
}

fn s(text: &str) -> String {
    text.to_owned()
}

const DONE: Outcome = Ok(Seen::Done);

#[test]
fn writing_goes_through_links_that_stay_inside() {
    let mut model = model(&["file a=1", "link l -> a", "link d -> new", "link o -> ../outside/x", "link e -> new2/"], &[]);
    assert_eq!(run(&mut model, Op::Write(s("l"), s("2"))), DONE);
    assert_eq!(run(&mut model, Op::Write(s("d"), s("3"))), DONE);
    assert_eq!(run(&mut model, Op::Read(s("a"))), Ok(Seen::Content(s("2"))));
    assert_eq!(run(&mut model, Op::Read(s("new"))), Ok(Seen::Content(s("3"))));
    assert_eq!(run(&mut model, Op::Write(s("o"), s("4"))), Err("outside-roots"));
    assert_eq!(run(&mut model, Op::Write(s("e"), s("4"))), Err("is-a-directory"));
    assert_eq!(run(&mut model, Op::CreateNew(s("o"))), Err("already-exists"));
}

#[test]
fn other_names_of_a_file_keep_its_content() {
    let mut model = model(&["file a=1", "hard b = a"], &[]);
    for op in [Op::Append(s("b"), s("2")), Op::SetLen(s("b"), 0), Op::SetPermissions(s("a"), 0o600), Op::SetTimes(s("a"))] {
        assert_eq!(run(&mut model, op), Err("hard-linked"));
    }
    assert_eq!(run(&mut model, Op::Copy(s("a"), s("b"))), Err("already-exists"));
    assert_eq!(run(&mut model, Op::CopyReplace(s("a"), s("b"))), Err("invalid-argument"));
    assert_eq!(run(&mut model, Op::RenameReplace(s("a"), s("b"))), DONE);
    assert_eq!(run(&mut model, Op::Update(s("b"), s("2"))), DONE);
    assert_eq!(run(&mut model, Op::Read(s("a"))), Ok(Seen::Content(s("1"))));
    assert_eq!(run(&mut model, Op::Append(s("b"), s("3"))), DONE);
    assert_eq!(run(&mut model, Op::Read(s("b"))), Ok(Seen::Content(s("123"))));
}

#[test]
fn a_slash_behind_the_last_name() {
    let lines = ["dir d", "file f=1", "link ld -> d", "link lf -> f", "link lo -> /etc", "link ln -> nothing"];
    for (op, code) in [
        (Op::Write(s("f/"), s("")), "is-a-directory"),
        (Op::Write(s("missing/f/"), s("")), "not-found"),
        (Op::Update(s("f/"), s("")), "not-a-directory"),
        (Op::Update(s("d/"), s("")), "is-a-directory"),
        (Op::RemoveFile(s("d/")), "is-a-directory"),
        (Op::RemoveFile(s("f/")), "not-a-directory"),
        (Op::RemoveFile(s("ld/")), "not-a-directory"),
        (Op::RemoveDirAll(s("lo/")), "outside-roots"),
        (Op::RemoveDir(s("ln/.")), "not-found"),
        (Op::Rename(s("d"), s("ld/")), "already-exists"),
        (Op::RenameReplace(s("d"), s("ld/")), "not-a-directory"),
        (Op::Rename(s("f"), s("new/")), "not-a-directory"),
        (Op::CreateDir(s("ln/")), "already-exists"),
        (Op::CreateNew(s("d/..")), "already-exists"),
        (Op::Append(s("d/../.."), s("")), "outside-roots"),
        (Op::RemoveDir(s("d/..")), "invalid-path"),
        (Op::Copy(s("f"), s(".")), "invalid-path"),
    ] {
        assert_eq!(run(&mut model(&lines, &[]), op.clone()), Err(code), "{op}");
    }
    assert_eq!(run(&mut model(&lines, &[]), Op::Rename(s("d/"), s("new/"))), DONE);
    assert_eq!(run(&mut model(&lines, &[]), Op::RemoveDirAll(s("ld"))), DONE);
    assert_eq!(run(&mut model(&lines, &[]), Op::CreateDirAll(s("ld/x/.."))), Err("not-found"));
}

#[test]
fn renaming_as_posix_has_it() {
    let lines = ["dir d/e", "dir empty", "file f=1", "link l -> nothing"];
    for (from, to, code) in [
        ("d", "f", "not-a-directory"),
        ("f", "empty", "is-a-directory"),
        ("empty", "d", "not-empty"),
        ("d", "d/e/new", "invalid-argument"),
        ("d", "d/e", "invalid-argument"),
        ("missing", "f", "not-found"),
    ] {
        assert_eq!(run(&mut model(&lines, &[]), Op::RenameReplace(s(from), s(to))), Err(code), "{from} {to}");
    }
    for (from, to) in [("d", "empty"), ("f", "l"), ("f", "f"), ("d", "d")] {
        assert_eq!(run(&mut model(&lines, &[]), Op::RenameReplace(s(from), s(to))), DONE, "{from} {to}");
        assert_eq!(run(&mut model(&lines, &[]), Op::Rename(s(from), s(to))), Err("already-exists"), "{from} {to}");
    }
}

#[test]
fn globs() {
    let says = |glob: &str, path: &str, dir| {
        let names: Vec<&str> = path.split('/').collect();
        Rule::parse(&["ROOT"], glob, Access::None).matches(&[vec!["ROOT"], names].concat(), dir)
    };
    for (glob, path, dir, want) in [
        (".env", "a/.ENV", false, Match::Covered),
        (".env", "a/.env/x", false, Match::Covered),
        (".env", ".env.", false, Match::Nothing),
        ("/a/b", "a/b", false, Match::Covered),
        ("/a/b", "x/a/b", false, Match::Nothing),
        ("a/b", "x/a/b", false, Match::Nothing),
        ("**/a/b", "x/a/b", false, Match::Covered),
        ("a/**/b", "a/b", false, Match::Covered),
        ("a/**/b", "a/x/y/b", false, Match::Covered),
        ("hooks/", "x/hooks", false, Match::Nothing),
        ("hooks/", "x/hooks", true, Match::Covered),
        ("hooks/", "x/hooks/y", false, Match::Covered),
        ("b/**", "b", true, Match::Guarded),
        ("b/**", "b/x/y", false, Match::Covered),
        ("s*t", "secret", false, Match::Covered),
        ("s?t", "secret", false, Match::Nothing),
        ("[!a-c]x", "ax", false, Match::Nothing),
        ("[!a-c]x", "dx", false, Match::Covered),
        ("e\u{301}", "\u{c9}", false, Match::Covered),
    ] {
        assert_eq!(says(glob, path, dir), want, "{glob} {path}");
    }
}

#[test]
fn rules_hold_for_typed_and_for_real_names() {
    let lines = ["file .env=SEALED", "file a=1", "link l -> .env", "link hooks -> a", "dir b"];
    let rules = [("**/.env", Access::None), ("hooks/", Access::List), ("b/**", Access::Read)];
    for (op, want) in [
        (Op::Read(s("l")), Err("protected")),
        (Op::Read(s(".ENV")), Err("protected")),
        (Op::Exists(s(".env/../a")), Err("protected")),
        (Op::Read(s("../.env")), Err("outside-roots")),
        (Op::Metadata(s("a/../.env/x")), Err("protected")),
        // A link counts as a directory; it may be named, and not followed.
        (Op::Read(s("hooks")), Err("protected")),
        (Op::SymlinkMetadata(s("hooks")), Ok(Seen::Kind("link"))),
        (Op::Write(s("x/.env"), s("")), Err("protected")),
        (Op::CreateDir(s("x")), DONE),
        (Op::CreateDir(s("hooks")), Err("protected")),
        (Op::RemoveDir(s("b")), Err("protected")),
        (Op::Write(s("b/x"), s("")), Err("protected")),
        (Op::ReadDir(s(".")), Ok(Seen::Names(vec![s("a"), s("b"), s("hooks"), s("l")], 1))),
        (Op::Write(s(".Cap-Roots-1.TMP"), s("")), Err("protected")),
    ] {
        assert_eq!(run(&mut model(&lines, &rules), op.clone()), want, "{op}");
    }
    // A file of that name is no directory.
    assert_eq!(run(&mut model(&[], &rules), Op::Write(s("hooks"), s(""))), DONE);
}

#[test]
fn a_directory_neither_slips_out_of_a_rule_nor_into_one() {
    let lines = ["file a/secret=SEALED", "file d/secret=1", "file g/hooks/x=1", "file t/.env=1"];
    let rules = [("/a/secret", Access::None), (".git/hooks/**", Access::Read), ("**/.env", Access::None)];
    for (op, want) in [
        (Op::Rename(s("a"), s("b")), Err("protected")),
        (Op::Rename(s("g"), s(".git")), Err("protected")),
        (Op::Copy(s("g"), s(".git")), Err("protected")),
        (Op::Copy(s("t"), s("u")), Err("protected")),
        // The same below any name: it goes with its directory, and stays what it was.
        (Op::Rename(s("t"), s("u")), DONE),
        (Op::Rename(s("d"), s("e")), DONE),
        (Op::RemoveDirAll(s("t")), Err("protected")),
        (Op::RemoveDirAll(s("a")), Err("protected")),
        (Op::RemoveDirAll(s("d")), DONE),
    ] {
        assert_eq!(run(&mut model(&lines, &rules), op.clone()), want, "{op}");
    }
    let rules = [Rule::parse(&["ROOT"], "x/*/y", Access::None)];
    assert!(!same_below(&rules, &["ROOT", "x"], &["ROOT", "z"]));
    assert!(same_below(&rules, &["ROOT", "q"], &["ROOT", "z"]));
}

#[test]
fn copying_a_tree() {
    let mut model = model(&["file a/b/f=1", "hard a/g = a/b/f", "link a/l -> b", "fifo a/p", "link to -> nothing"], &[]);
    assert_eq!(run(&mut model, Op::Copy(s("a"), s("to"))), Err("already-exists"));
    assert_eq!(run(&mut model, Op::CopyReplace(s("a"), s("to"))), Err("already-exists"));
    assert_eq!(run(&mut model, Op::Copy(s("a"), s("a/b/c"))), Err("invalid-argument"));
    assert_eq!(run(&mut model, Op::Copy(s("a/l"), s("c"))), Ok(Seen::Copied(0)));
    assert_eq!(run(&mut model, Op::Copy(s("a"), s("d"))), Ok(Seen::Copied(2)));
    // Each name of the file has become one of its own.
    assert_eq!(run(&mut model, Op::Append(s("d/g"), s("2"))), DONE);
    assert_eq!(run(&mut model, Op::Read(s("d/b/f"))), Ok(Seen::Content(s("1"))));
    assert_eq!(run(&mut model, Op::CopyReplace(s("d/g"), s("to"))), Ok(Seen::Copied(0)));
    assert_eq!(run(&mut model, Op::Read(s("nothing"))), Ok(Seen::Content(s("12"))));
}

#[test]
fn access_and_deleting() {
    let mut model = model(&["file a=1", "dir d"], &[("secret", Access::None)]);
    model.run(&Step::Limit { view: 0, access: Access::Read }).unwrap();
    model.run(&Step::NoDelete { view: 0 }).unwrap();
    for (view, op, want) in [
        (1, Op::Read(s("a")), Ok(Seen::Content(s("1")))),
        (1, Op::Write(s("secret"), s("")), Err("not-granted")),
        (1, Op::Copy(s("secret"), s("x")), Err("protected")),
        (1, Op::Copy(s("a"), s("x")), Err("not-granted")),
        (2, Op::RemoveFile(s("a")), Err("not-granted")),
        (2, Op::RenameReplace(s("a"), s("b")), Err("not-granted")),
        (2, Op::Rename(s("a"), s("b")), DONE),
    ] {
        assert_eq!(model.run(&Step::Do { view, op: op.clone() }), want, "{view} {op}");
    }
    model.run(&Step::Revoke).unwrap();
    assert_eq!(run(&mut model, Op::Write(s("secret"), s(""))), Err("revoked"));
    assert_eq!(run(&mut model, Op::RemoveDir(s("d/.."))), Err("revoked"));
}

#[test]
fn narrowing() {
    let mut model = model(&["file a/b/f=1", "file a/g=2", "link a/b/up -> ../g", "link a/b/in -> $ROOT/a/b/f"], &[]);
    model.run(&Step::Within { view: 0, path: s("a/b") }).unwrap();
    for (path, want) in [
        ("f", Ok(Seen::Content(s("1")))),
        ("in", Ok(Seen::Content(s("1")))),
        ("$ROOT/a/b/f", Ok(Seen::Content(s("1")))),
        ("root://root/a/b/f", Ok(Seen::Content(s("1")))),
        ("../g", Err("outside-roots")),
        ("up", Err("outside-roots")),
        ("$ROOT/a/g", Err("outside-roots")),
    ] {
        assert_eq!(model.run(&Step::Do { view: 1, op: Op::Read(s(path)) }), want, "{path}");
    }
    assert_eq!(run(&mut model, Op::Rename(s("a/b"), s("c"))), DONE);
    assert_eq!(model.run(&Step::Do { view: 1, op: Op::Read(s("f")) }), Err("not-found"));
}

#[test]
fn nested_roots() {
    let mut model = model(&["file a/f=1", "file a/.env=SEALED", "link a/up -> ../g", "file g=2"], &[("**/.env", Access::None)]);
    model.grant("inner", &["ROOT", "a"], Access::Read, false);
    for (op, want) in [
        (Op::Write(s("a/f"), s("")), Err("protected")),
        (Op::Write(s("root://inner/f"), s("")), Err("not-granted")),
        (Op::Write(s("$ROOT/a/f"), s("")), Err("not-granted")),
        (Op::Read(s("root://inner/f")), Ok(Seen::Content(s("1")))),
        (Op::Read(s("root://inner/.env")), Err("protected")),
        (Op::Read(s("a/up")), Ok(Seen::Content(s("2")))),
        (Op::Read(s("$ROOT/a/up")), Err("outside-roots")),
        (Op::Read(s("$ROOT/a/../g")), Ok(Seen::Content(s("2")))),
        (Op::Rename(s("a"), s("b")), Err("protected")),
        (Op::Copy(s("root://inner/f"), s("root://root/h")), Ok(Seen::Copied(0))),
    ] {
        assert_eq!(run(&mut model, op.clone()), want, "{op}");
    }
}

#[test]
fn unicode_forms_are_one_name() {
    let mut model = model(&["file e\u{301}=1"], &[]);
    assert_eq!(run(&mut model, Op::CreateNew(s("\u{e9}"))), Err("already-exists"));
    assert_eq!(run(&mut model, Op::Write(s("\u{e9}"), s("2"))), DONE);
    assert_eq!(run(&mut model, Op::Read(s("e\u{301}"))), Ok(Seen::Content(s("2"))));
}

/// Whatever the bytes, a case is made and the model has an answer; and what rules seal does not come out of it.
#[test]
fn any_bytes_make_a_case() {
    let mut state = 1u32;
    let mut codes = std::collections::BTreeMap::new();
    for _ in 0..2000 {
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        let bytes: Vec<u8> = (0..400).map(|_| byte()).collect();
        let case = Case::generate(&bytes);
        let mut model = case.model("/base");
        for step in &case.steps {
            let outcome = model.run(step);
            assert!(!format!("{outcome:?}").contains("SEALED"), "{step} gave {outcome:?} in\n{case}");
            if let Step::Do { op, .. } = step {
                *codes.entry((op.name(), outcome.map_or_else(|code| code, |_| "ok"))).or_insert(0) += 1;
            }
        }
    }
    // Each operation comes to pass, and is refused: the cases are worth running.
    let ok = codes.iter().filter(|((_, code), count)| *code == "ok" && **count > 2).count();
    assert_eq!(ok, 23, "{codes:?}");
}

/// The model's tree is the disk's, also after the other side has made something.
#[test]
fn the_disk_is_what_the_model_has() {
    for seed in 0..60u8 {
        let bytes: Vec<u8> =
            (0..=255u8).map(|index| index.wrapping_mul(index ^ seed).wrapping_add(seed.rotate_left(3))).collect();
        let case = Case::generate(&bytes);
        let tree = Tree::build(&case.lines).unwrap();
        let mut model = case.model(tree.base().to_str().unwrap());
        let mut watch = Watch::new(tree.base(), case.ruled()).unwrap();
        for step in &case.steps {
            if let Step::Plant(line) = step
                && model.run(step) == Ok(Seen::Bool(true))
            {
                tree.plant(line).unwrap();
                watch.look(tree.base()).unwrap();
            }
        }
        assert_eq!(disk::lines(tree.base()).unwrap(), model.world.lines(), "{case}");
        watch.check(tree.base()).unwrap();
    }
}

/// Catches: an early answer that is not what trying says, and one that never comes.
#[test]
fn what_a_rule_has_left_decides_as_trying_does() {
    let names = ["a", "b", "h", ".env", ".git", "hooks", "secret", "s1", "\u{c9}", "other"];
    let mut state = 3u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    let (mut early, mut differ) = (0, 0);
    for _ in 0..200 {
        let ruled = Case::generate(&(0..12).map(|_| byte()).collect::<Vec<_>>()).ruled();
        let [old, new] = [(); 2].map(|()| {
            let below: Vec<&str> = (0..byte() % 4).map(|_| names[usize::from(byte()) % names.len()]).collect();
            rules::all_folded(&[&["ROOT"], &below[..]].concat())
        });
        for rule in &ruled {
            let same = rules::tried(rule, &old, &new);
            let alike = rule.left(&old) == rule.left(&new);
            assert!(same || !alike, "{rule:?} from {old:?} to {new:?}");
            (early, differ) = (early + usize::from(alike), differ + usize::from(!same));
        }
        let all = ruled.iter().all(|rule| rules::tried(rule, &old, &new));
        assert_eq!(same_below(&ruled, &old, &new), all, "{ruled:?} from {old:?} to {new:?}");
    }
    assert!(early > 50 && differ > 25, "{early} early answers, and {differ} rules that differ");
}
