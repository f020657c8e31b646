//! Public faults of file servers and agents, by kind: the foreign path is kept out, and the own path let in.
//!
//! The names are those of the ledger in SECURITY.md. Kinds that show at the server are in `mcp-server/tests`.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;

use cap_roots::{Access, ErrorKind, Roots};
use cap_roots_oracle::needs;
use cap_roots_oracle::tree::Tree;
use support::{Way, code, roots};

const WAYS: [Way; 2] = [Way::Fast, Way::Walk];

/// Whatever is asked of `path` is refused with `want`, by each way of reading and through each kind of handle.
#[track_caller]
fn refused(tree: &Tree, path: &str, want: &str) {
    let path = tree.expand(path);
    for way in WAYS {
        let roots = roots(tree, way);
        assert_eq!(code(roots.open(&path)), want, "open {path} {way:?}");
        assert_eq!(code(roots.read(&path)), want, "read {path} {way:?}");
        assert_eq!(code(roots.read_to_string(&path)), want, "read_to_string {path} {way:?}");
        assert_eq!(code(roots.open_dir(&path)), want, "open_dir {path} {way:?}");
        assert_eq!(code(roots.read_dir(&path)), want, "read_dir {path} {way:?}");
        assert_eq!(code(roots.metadata(&path)), want, "metadata {path} {way:?}");
        let exists = if want == "not-found" { Ok(false) } else { Err(want) };
        assert_eq!(roots.exists(&path).map_err(|error| error.code()), exists, "exists {path} {way:?}");
    }
}

#[track_caller]
fn reads(tree: &Tree, path: &str, want: &str) {
    let path = tree.expand(path);
    for way in WAYS {
        assert_eq!(roots(tree, way).read_to_string(&path).unwrap(), want, "{path} {way:?}");
    }
}

fn tree(lines: &[&str]) -> Tree {
    Tree::build(["file ../out/k.txt=SECRET", "file ../ROOT-old/k.txt=SECRET", "file a.txt=A", "dir d"].iter().chain(lines))
        .unwrap()
}

/// Catches: a prefix compared as a string.
#[test]
fn lex_01_lex_03_lex_10_a_sibling_with_the_same_prefix() {
    let tree = tree(&[]);
    for path in ["$ROOT-old/k.txt", "../ROOT-old/k.txt", "$BASE/ROOT-old"] {
        refused(&tree, path, "outside-roots");
    }
    reads(&tree, "$ROOT/a.txt", "A");
}

/// Catches: a path that is made absolute and compared without `..` being taken.
#[test]
fn lex_02_lex_06_dot_dot_and_absolute_paths() {
    let tree = tree(&[]);
    for path in ["$ROOT/../out/k.txt", "../out/k.txt", "d/../../out/k.txt", "$BASE/out/k.txt", "/etc/hostname", "..", "$ROOT/.."]
    {
        refused(&tree, path, "outside-roots");
    }
    reads(&tree, "$ROOT/d/../a.txt", "A");
    reads(&tree, "d/../a.txt", "A");
}

/// Catches: a name that is pasted into a path. A `Dir` takes nothing that leaves it.
#[test]
fn lex_04_lex_05_a_name_is_no_path() {
    let tree = tree(&["file d/x=X", "link d/up -> ../a.txt"]);
    for way in WAYS {
        let dir = roots(&tree, way).open_dir("d").unwrap();
        for path in ["../a.txt", "../../out/k.txt", "up", "/etc/hostname", "root://root/a.txt", &tree.expand("$ROOT/d/x"), "~/x"]
        {
            assert_eq!(code(dir.read(path)), "outside-roots", "{path} {way:?}");
        }
        assert_eq!(dir.read_to_string("x").unwrap(), "X");
        assert_eq!(dir.read_to_string("./x").unwrap(), "X");
    }
}

/// Catches: checking the cleaned text and opening the original one (the two mean different files where `d` is a link).
#[test]
fn lex_09_what_is_judged_is_what_is_opened() {
    let tree = tree(&["file deep/er/x=X", "link l -> deep/er", "file x=WRONG"]);
    reads(&tree, "l/../er/x", "X");
    refused(&tree, "l/../x", "not-found");
}

/// Catches: a root's own text taken as it was given.
#[test]
fn lex_11_a_root_is_resolved_before_it_is_used() {
    let tree = tree(&[]);
    let roots = Roots::builder().root(tree.root().join("d/../../out"), Access::Read).open().unwrap();
    assert_eq!(roots.read_to_string("k.txt").unwrap(), "SECRET");
    assert_eq!(roots.read_to_string(tree.expand("$BASE/out/k.txt")).unwrap(), "SECRET");
    assert_eq!(code(roots.read(tree.expand("$ROOT/a.txt"))), "outside-roots");
}

/// Catches: following the last link, or a link on the way, by the system's own resolution.
#[test]
fn link_01_link_02_link_06_link_07_links_out() {
    let tree = tree(&[
        "link file -> $BASE/out/k.txt",
        "link dir -> $BASE/out",
        "link rel -> ../out",
        "link d/chain -> ../rel",
        "link etc -> /etc",
        "link in -> a.txt",
        "link abs -> $ROOT/a.txt",
    ]);
    for path in ["file", "dir", "dir/", "dir/k.txt", "rel/k.txt", "d/chain/k.txt", "etc/hostname", "etc/", "rel/", "rel/."] {
        refused(&tree, path, "outside-roots");
    }
    reads(&tree, "in", "A");
    reads(&tree, "abs", "A");
}

/// SILENT-OUTSIDE. Catches: an answer that tells whether the outside target exists.
#[test]
fn link_03_a_dangling_link_out_answers_as_one_that_is_not() {
    let tree = tree(&["link there -> ../out/k.txt", "link missing -> ../out/none", "link nowhere -> ../none/k.txt"]);
    for path in ["there", "missing", "nowhere", "$BASE/out/k.txt", "$BASE/out/none", "../out/k.txt", "../none"] {
        refused(&tree, path, "outside-roots");
    }
    for way in WAYS {
        let roots = roots(&tree, way);
        let told = |path: &str| roots.read(path).unwrap_err().to_string().replace(path, "");
        assert_eq!(told("there"), told("missing"));
        assert_eq!(told("there"), told("nowhere"));
    }
}

/// Catches: a root that is looked up again by its name. Retargeting the link later has no effect.
#[test]
fn link_12_a_linked_root_is_resolved_once() {
    let tree = tree(&["file ../other/a.txt=OTHER", "link ../rootlink -> ROOT"]);
    let link = tree.base().join("rootlink");
    let roots = Roots::builder().root(&link, Access::Read).open().unwrap();
    fs::remove_file(&link).unwrap();
    symlink("other", &link).unwrap();
    assert_eq!(roots.read_to_string("a.txt").unwrap(), "A");
    assert_eq!(roots.read_to_string(link.join("a.txt").to_str().unwrap()).unwrap(), "A");
}

/// Catches: an empty list that means everything.
#[test]
fn open_01_open_10_nothing_granted_nothing_reached() {
    let none = Roots::builder().open().unwrap();
    for path in ["/etc/hostname", ".", "a", "root://root/a", "~"] {
        assert_eq!(code(none.read(path)), "no-roots");
        assert_eq!(code(none.read_dir(path)), "no-roots");
        assert_eq!(code(none.exists(path)), "no-roots");
    }
    let tree = tree(&[]);
    let closed = Roots::builder().root(tree.root(), Access::None).open().unwrap();
    assert_eq!(code(closed.metadata("a.txt")), "not-granted");
    let listed = Roots::builder().root(tree.root(), Access::List).open().unwrap();
    assert!(listed.metadata("a.txt").is_ok());
    assert_eq!(code(listed.read("a.txt")), "not-granted");
    let entry = listed.read_dir(".").unwrap().map(Result::unwrap).find(|entry| entry.name() == "a.txt").unwrap();
    assert_eq!(code(entry.read()), "not-granted");
    assert_eq!(code(listed.open_dir(".").unwrap().read("a.txt")), "not-granted");
}

/// Catches: a cap that turns a refusal into something milder.
#[test]
fn open_12_over_the_link_limit_is_refused() {
    let mut lines = vec!["link l0 -> ../out/k.txt".to_owned(), "link m0 -> a.txt".to_owned()];
    for number in 1..=60 {
        lines.push(format!("link l{number} -> l{}", number - 1));
        lines.push(format!("link m{number} -> m{}", number - 1));
    }
    let tree = tree(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    refused(&tree, "l60", "symlink-loop");
    refused(&tree, "l39", "outside-roots");
    refused(&tree, "m40", "symlink-loop");
    reads(&tree, "m39", "A");
}

/// Catches: comparing the asked path with one spelling of the root only.
#[test]
fn alias_01_alias_02_both_spellings_of_a_linked_root() {
    let tree = tree(&["link ../wslink -> ROOT"]);
    for given in ["wslink", "ROOT"] {
        let roots = Roots::builder().root(tree.base().join(given), Access::Read).open().unwrap();
        assert_eq!(roots.read_to_string(tree.expand("$ROOT/a.txt")).unwrap(), "A");
        let by_link = roots.read_to_string(tree.expand("$BASE/wslink/a.txt"));
        // The link's name means the root only where the operator gave it: resolving it at request time would be ambient.
        assert_eq!(code(by_link), if given == "wslink" { "ok" } else { "outside-roots" });
        assert_eq!(code(roots.read(tree.expand("$BASE/wslink-old/a.txt"))), "outside-roots");
    }
}

#[test]
fn alias_03_a_link_to_a_directory_opens_what_is_below() {
    let tree = tree(&["file real/sub/x=X", "link l -> real", "link abs -> $ROOT/real/", "link out -> ../out"]);
    reads(&tree, "l/sub/x", "X");
    reads(&tree, "abs/sub/x", "X");
    refused(&tree, "out/k.txt", "outside-roots");
}

#[test]
fn alias_04_alias_05_alias_08_relative_paths_start_at_the_first_root() {
    let tree = tree(&["file ../second/b.txt=B", "file sub/x=X"]);
    let both = Roots::builder().root(tree.root(), Access::Read).root(tree.base().join("second"), Access::Read).open().unwrap();
    assert_eq!(both.read_to_string("sub/x").unwrap(), "X");
    assert_eq!(both.read_to_string("a.txt").unwrap(), "A");
    assert_eq!(both.read_to_string("root://second/b.txt").unwrap(), "B");
    assert_eq!(code(both.read("b.txt")), "not-found");
    assert_eq!(code(both.read("../second/b.txt")), "outside-roots");
}

#[test]
fn alias_06_the_whole_disk_as_a_root() {
    let tree = tree(&[]);
    let all = Roots::builder().root("/", Access::Read).open().unwrap();
    assert_eq!(all.read_to_string(tree.expand("$ROOT/a.txt")).unwrap(), "A");
    assert_eq!(code(all.metadata("/")), "ok");
    assert_eq!(code(all.metadata("/..")), "outside-roots");
    assert_eq!(code(all.read("/proc/self/status")), "special-file");
}

#[test]
fn alias_09_a_tilde_is_the_home_directory_in_grants_and_paths() {
    let Some(home) = std::env::home_dir().filter(|home| home.is_dir()) else {
        needs::skipped("no home directory here");
        return;
    };
    let roots = Roots::builder().named("home", "~/", Access::List).open().unwrap();
    assert_eq!(roots.list().next().unwrap().host_path(), home);
    assert!(roots.metadata("~").unwrap().is_dir());
    assert!(roots.metadata(home.to_str().unwrap()).unwrap().is_dir());
    assert_eq!(code(roots.metadata("~/../..")), "outside-roots");
    let tree = tree(&["file ~/x=X"]);
    reads(&tree, "./~/x", "X");
}

/// Both names work where they are typed; a link from one root into another is refused, since each root is reached from its own handle.
#[test]
fn alias_10_two_roots_that_a_link_connects() {
    let tree = tree(&["file ../repos/app/x=X", "link app -> $BASE/repos/app"]);
    let both = Roots::builder()
        .root(tree.root(), Access::Read)
        .named("app", tree.base().join("repos/app"), Access::Read)
        .open()
        .unwrap();
    assert_eq!(both.read_to_string(tree.expand("$BASE/repos/app/x")).unwrap(), "X");
    assert_eq!(both.read_to_string("root://app/x").unwrap(), "X");
    assert_eq!(code(both.read("app/x")), "outside-roots");
}

#[test]
fn uni_01_a_name_in_another_unicode_form_is_found_if_one_fits() {
    let tree = tree(&[
        "file cafe\u{301}.txt=NFD",
        "file d/\u{30ab}\u{3099}/x=GA",
        "file shot 1\u{202f}PM.png=NARROW",
        "file two/\u{e9}=1",
        "file two/e\u{301}=2",
        "file exact/e\u{301}=2",
    ]);
    reads(&tree, "caf\u{e9}.txt", "NFD");
    reads(&tree, "d/\u{30ac}/x", "GA");
    reads(&tree, "shot 1 PM.png", "NARROW");
    reads(&tree, "two/\u{e9}", "1");
    reads(&tree, "two/e\u{301}", "2");
    for way in WAYS {
        let roots = roots(&tree, way);
        assert_eq!(code(roots.read("root://root/exact/%C3%A9")), "ok");
        assert_eq!(code(roots.read("Caf\u{e9}.txt")), "not-found");
        assert_eq!(code(roots.read("caf\u{e9}.txt/x")), "not-a-directory");
        assert_eq!(code(roots.read("shot 2 PM.png")), "not-found");
    }
    // A third form that is neither: both names fit, so neither is guessed.
    let tree = Tree::build(["file \u{1e69}=1", "file s\u{323}\u{307}=2"]).unwrap();
    refused(&tree, "s\u{307}\u{323}", "ambiguous");
    // A link's text is meant to the byte.
    let tree = Tree::build(["file e\u{301}=2", "link l -> \u{e9}"]).unwrap();
    refused(&tree, "l", "not-found");
}

#[test]
fn uni_02_a_root_with_combining_marks_is_found_in_either_form() {
    let tree = tree(&["file ../\u{30ab}\u{3099}/a.txt=GA"]);
    let roots = Roots::builder().root(tree.base().join("\u{30ab}\u{3099}"), Access::Read).open().unwrap();
    assert_eq!(roots.read_to_string(tree.expand("$BASE/\u{30ac}/a.txt")).unwrap(), "GA");
    assert_eq!(roots.read_to_string(tree.expand("$BASE/\u{30ab}\u{3099}/a.txt")).unwrap(), "GA");
    assert_eq!(code(roots.read(tree.expand("$BASE/\u{30ad}/a.txt"))), "outside-roots");
}

#[test]
fn uni_06_text_that_is_not_utf8_is_never_lossy() {
    let tree = tree(&[]);
    fs::write(tree.root().join("gbk"), [0xb0, 0xa1]).unwrap();
    let roots = roots(&tree, Way::Fast);
    assert_eq!(code(roots.read_to_string("gbk")), "not-utf8");
    assert_eq!(roots.read("gbk").unwrap(), [0xb0, 0xa1]);
}

/// NO-WAIT. Catches: a plain open of a pipe, which never returns; a writer is let go, and nothing of what it wrote is read.
#[test]
fn read_06_special_files_are_refused_at_once() {
    let tree = tree(&["fifo p", "sock s", "link lp -> p", "link d/ls -> ../s"]);
    for path in ["p", "s", "lp", "d/ls"] {
        for way in WAYS {
            let roots = roots(&tree, way);
            assert_eq!(code(roots.open(path)), "special-file", "{path} {way:?}");
            assert_eq!(code(roots.read_dir(path)), "not-a-directory", "{path} {way:?}");
            assert_eq!(code(roots.open(format!("{path}/"))), "not-a-directory", "{path} {way:?}");
            assert!(roots.metadata(path).is_ok());
        }
    }
}

#[test]
fn read_05_over_the_limit_is_refused_before_reading() {
    let tree = tree(&["file big=0123456789"]);
    let limited = Roots::builder().root(tree.root(), Access::Read).read_limit(9).open().unwrap();
    assert_eq!(code(limited.read("big")), "too-large");
    assert_eq!(code(limited.read_to_string("big")), "too-large");
    assert_eq!(limited.open("big").unwrap().read_all(10).unwrap().len(), 10);
    let fits = Roots::builder().root(tree.root(), Access::Read).read_limit(10).open().unwrap();
    assert_eq!(fits.read("big").unwrap().len(), 10);
}

/// Catches: a refusal that names the host path, a link's target, or another root.
#[test]
fn leak_01_leak_02_leak_03_refusals_speak_the_callers_words() {
    let tree = tree(&["link l -> $BASE/out/k.txt", "file ../second/b=B"]);
    let both = Roots::builder().root(tree.root(), Access::Read).root(tree.base().join("second"), Access::Read).open().unwrap();
    for path in ["../../k", "l", "l/x", "missing", "a.txt/x", "root://second/missing", "root://nobody/x", "a\nb", ""] {
        let error = both.read(path).unwrap_err();
        for told in [error.to_string(), format!("{error:?}"), format!("{error:#?}"), std::io::Error::from(error).to_string()] {
            assert!(!told.contains(tree.base().to_str().unwrap()), "{told}");
            assert!(!told.contains("k.txt") && (path.contains("second") || !told.contains("second")), "{told}");
            assert_eq!(told.lines().count(), 1, "{told}");
        }
    }
}

/// Catches: sizes and types of what an outward link leads to.
#[test]
fn leak_04_leak_05_a_listing_shows_the_link_itself() {
    let tree = tree(&["file ../out/big=0123456789012345678901234567890123456789", "link d/l -> ../../out/big"]);
    for way in WAYS {
        let roots = roots(&tree, way);
        let entry = roots.read_dir("d").unwrap().next().unwrap().unwrap();
        assert_eq!(entry.file_type(), cap_roots::FileType::Symlink);
        assert_eq!(entry.metadata().unwrap().len(), "../../out/big".len() as u64);
        assert_eq!(roots.symlink_metadata("d/l").unwrap().len(), "../../out/big".len() as u64);
        assert_eq!(code(roots.metadata("d/l")), "outside-roots");
        assert_eq!(code(entry.read()), "outside-roots");
        assert_eq!(code(entry.read_link()), "outside-roots");
    }
}

/// WALK-09: what is missing inside is missing, what is outside is outside.
#[test]
fn walk_09_not_found_is_not_denied() {
    let tree = tree(&[]);
    refused(&tree, "absent", "not-found");
    refused(&tree, "absent/../a.txt", "not-found");
    refused(&tree, "../absent", "outside-roots");
    assert_eq!(roots(&tree, Way::Fast).read("absent").unwrap_err().kind(), ErrorKind::NotFound);
}
