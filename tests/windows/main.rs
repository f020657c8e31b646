//! Windows itself: its paths, names, links, locks and attributes, through the whole library.
//!
//! Its rules for text are tested everywhere, as a value (`PathStyle::Windows`); here it is what the system makes of what they let through.
//! `CAP_ROOTS_WINE` says that it runs under wine, and what wine does otherwise is left out beside the line, with one line of `skipped:`.

#![cfg(windows)]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]
#![allow(clippy::print_stdout, reason = "what is left out is said")]

mod files;
mod names;
#[allow(dead_code, unreachable_pub, reason = "it is another crate's, and the others ask for what Unix has")]
#[path = "../../fuzz/oracle/src/needs.rs"]
mod needs;

use std::fs;
use std::path::PathBuf;

use cap_roots::{Access, Error, Roots};

fn code<T>(result: Result<T, Error>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(error) => error.code(),
    }
}

fn is_wine() -> bool {
    std::env::var_os("CAP_ROOTS_WINE").is_some()
}

/// `ws/f.txt`, `ws/sub/g.txt`, and `out/secret.txt` beside the root.
struct Folder {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Without the short names that TEMP often has, and without the verbatim prefix.
        let base = fs::canonicalize(folder.path()).unwrap().to_str().unwrap().trim_start_matches(r"\\?\").into();
        let folder = Self { _folder: folder, base };
        for (file, text) in [("ws/f.txt", "F"), ("ws/sub/g.txt", "G"), ("out/secret.txt", "SECRET")] {
            fs::create_dir_all(folder.at(file).parent().unwrap()).unwrap();
            fs::write(folder.at(file), text).unwrap();
        }
        folder
    }

    fn at(&self, path: &str) -> PathBuf {
        self.base.join(path.replace('/', r"\"))
    }

    fn text(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().to_owned()
    }

    fn roots(&self) -> Roots {
        Roots::builder().named("ws", self.at("ws"), Access::Write).open().unwrap()
    }

    fn ruled(&self, rules: &[(&str, Access)]) -> Roots {
        let builder = Roots::builder().named("ws", self.at("ws"), Access::Write);
        rules.iter().fold(builder, |builder, (rule, access)| builder.rule(*rule, *access)).open().unwrap()
    }

    /// What is on the disk by names that Windows cannot say.
    fn verbatim(&self, path: &str) -> PathBuf {
        PathBuf::from(format!(r"\\?\{}", self.text(path)))
    }

    fn secret_is_whole(&self) {
        assert_eq!(fs::read_to_string(self.at("out/secret.txt")).unwrap(), "SECRET");
        assert_eq!(fs::read_dir(self.at("out")).unwrap().count(), 1);
    }
}

/// A drive's letter in the other case.
fn other_case(path: &str) -> String {
    let (letter, rest) = path.split_at(1);
    format!("{}{rest}", if letter == letter.to_lowercase() { letter.to_uppercase() } else { letter.to_lowercase() })
}

/// Catches: a drive letter or a name that is compared by its bytes, one kind of slash alone, and an escaped colon that is taken for a name.
#[test]
fn a_drive_is_one_in_either_case_with_either_slash() {
    let folder = Folder::new();
    let roots = folder.roots();
    let plain = folder.text("ws/f.txt");
    let slashes = plain.replace('\\', "/");
    let folded = plain.replace("ws", "WS");
    let uri = |path: &str| format!("file:///{path}");
    let escaped = uri(&slashes.replacen(':', "%3A", 1));
    let lower = uri(&slashes.replacen(':', "%3a", 1));
    for text in [&plain, &other_case(&plain), &slashes, &other_case(&slashes), &folded, &uri(&slashes), &escaped, &lower] {
        assert_eq!(roots.read_to_string(text).unwrap(), "F", "{text}");
        assert_eq!(roots.uri(text).unwrap(), "root://ws/f.txt", "{text}");
    }
    assert_eq!(roots.read_to_string(r"sub\g.txt").unwrap(), "G");
    assert_eq!(roots.read_to_string(r"sub\..\f.txt").unwrap(), "F");
}

/// Catches: the directory where the system stands on a drive taken for a root's, a verbatim or device text that goes past the parser, a share
/// that is looked for, and a sibling by prefix.
#[test]
fn what_is_no_path_of_a_root_is_refused_by_its_text() {
    let folder = Folder::new();
    fs::create_dir(folder.at("ws-2")).unwrap();
    fs::write(folder.at("ws-2/f.txt"), "SIBLING").unwrap();
    let roots = folder.roots();
    let drive = folder.text("")[..2].to_owned();
    let behind = folder.text("ws/f.txt")[2..].to_owned();
    for text in [
        drive.clone(),
        format!("{drive}f.txt"),
        behind.clone(),
        format!(r"\\?\{drive}{behind}"),
        format!(r"\\.\{drive}{behind}"),
        format!(r"\??\{drive}{behind}"),
        format!(r"\\?\GLOBALROOT\??\{drive}{behind}"),
        r"\\?\UNC\cap-roots.invalid\share\f.txt".to_owned(),
        r"\\.\pipe\f.txt".to_owned(),
    ] {
        assert_eq!(code(roots.read(&text)), "invalid-path", "{text}");
    }
    for text in [
        r"\\cap-roots.invalid\share\f.txt".to_owned(),
        "//cap-roots.invalid/share/f.txt".to_owned(),
        folder.text("ws-2/f.txt"),
        folder.text("out/secret.txt"),
        folder.text("out/none.txt"),
        format!("{}\\..\\out\\secret.txt", folder.text("ws")),
        r"..\out\secret.txt".to_owned(),
        r"sub\..\..\out\secret.txt".to_owned(),
        r"..\..".to_owned(),
    ] {
        assert_eq!(code(roots.read(&text)), "outside-roots", "{text}");
        assert_eq!(code(roots.write(&text, "x")), "outside-roots", "{text}");
        assert_eq!(code(roots.remove_file(&text)), "outside-roots", "{text}");
    }
    for text in ["file://cap-roots.invalid/share/f.txt", "file://c:/f.txt", "file:///c|/f.txt", "file:////server/share/f.txt"] {
        assert_eq!(code(roots.read(text)), "invalid-uri", "{text}");
    }
    folder.secret_is_whole();
    assert_eq!(fs::read_to_string(folder.at("ws-2/f.txt")).unwrap(), "SIBLING");
}

/// Catches: an operator's form that is not understood, two forms of one directory taken for two, and a drive without a slash taken for wherever
/// the system stands there.
#[test]
fn the_operator_may_write_a_directory_in_any_form() {
    let folder = Folder::new();
    let plain = folder.text("ws");
    let forms = [
        plain.clone(),
        other_case(&plain),
        plain.replace('\\', "/"),
        format!("{plain}\\"),
        format!(r"\\?\{plain}"),
        format!(r"{plain}\sub\.."),
        format!(r"{}\OUT\..\WS", folder.text("")),
    ];
    for form in &forms {
        let roots = Roots::builder().named("ws", form, Access::Write).open().unwrap();
        for path in ["f.txt", &folder.text("ws/f.txt"), "root://ws/f.txt"] {
            assert_eq!(roots.read_to_string(path).unwrap(), "F", "{form} {path}");
        }
        assert_eq!(code(roots.read(folder.text("out/secret.txt"))), "outside-roots", "{form}");
        roots.write("made.txt", form).unwrap();
        assert_eq!(fs::read_to_string(folder.at("ws/made.txt")).unwrap(), *form);
        let twice = Roots::builder().named("ws", &plain, Access::Read).named("other", form, Access::Read).open();
        assert_eq!(code(twice), "invalid-argument", "{form}");
    }
    let drive = &plain[..2];
    for form in [drive.to_owned(), format!("{drive}ws")] {
        let error = Roots::builder().named("ws", &form, Access::Read).open().unwrap_err();
        assert_eq!(error.code(), "invalid-path", "{form}");
        assert!(error.to_string().contains(r"a separator behind it, as in C:\"), "{error}");
    }
}

/// Catches: a root on a mapped drive that is known by the place behind it alone, so that its own paths are refused.
#[test]
fn a_mapped_drive_keeps_the_operators_form() {
    // A directory on a drive that stands for a place that has another path as well, and that place's path.
    let (Some(mapped), Some(real)) = (std::env::var_os("CAP_ROOTS_MAPPED"), std::env::var_os("CAP_ROOTS_MAPPED_TO")) else {
        needs::skipped("no mapped drive is named in CAP_ROOTS_MAPPED and CAP_ROOTS_MAPPED_TO");
        return;
    };
    let (mapped, real) = (PathBuf::from(mapped), PathBuf::from(real));
    fs::write(mapped.join("m.txt"), "M").unwrap();
    assert_eq!(fs::read_to_string(real.join("m.txt")).unwrap(), "M");
    let roots = Roots::builder().named("m", &mapped, Access::Write).open().unwrap();
    assert_eq!(roots.list().next().unwrap().host_path(), mapped);
    let text = mapped.join("m.txt").to_str().unwrap().to_owned();
    assert_eq!(roots.read_to_string(&text).unwrap(), "M");
    roots.write(&text, "N").unwrap();
    roots.create_dir_all("d/e").unwrap();
    roots.rename("d/e", "d/f").unwrap();
    assert_eq!(roots.read_dir("d").unwrap().map(|entry| entry.unwrap().name().to_owned()).collect::<Vec<_>>(), ["f"]);
    roots.remove_dir_all("d").unwrap();
    roots.remove_file("m.txt").unwrap();
    let twice = Roots::builder().named("m", &mapped, Access::Read).named("r", &real, Access::Read).open();
    assert_eq!(code(twice), "invalid-argument");
}
