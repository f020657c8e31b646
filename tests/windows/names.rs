//! Names: devices, streams, aliases, links, case.

use std::ffi::OsString;
use std::fs;
use std::os::windows::fs::{symlink_dir, symlink_file};
use std::path::Path;

use cap_roots::{Access, Roots};

use crate::{Folder, code, is_wine, needs};

/// Catches: a device opened, waited for or written to; a stream written behind a file, or one that reads a file past its rule; a name that the system
/// trims to another one. In every place of a path, and for each kind of operation.
#[test]
fn devices_streams_and_trimmed_names_are_no_names() {
    let folder = Folder::new();
    for roots in [folder.roots(), folder.ruled(&[("f.txt", Access::None)])] {
        for name in [
            "NUL",
            "con",
            "CON.txt",
            "aux.tar.gz",
            "COM1",
            "com\u{b9}.log",
            "LPT\u{b3}",
            "CONIN$",
            "conout$",
            "nul .txt",
            "f.txt:stream",
            "f.txt::$DATA",
            "sub:$I30:$INDEX_ALLOCATION",
            "f.txt.",
            "f.txt ",
            "f.txt. .",
            "sub.",
            "f*.txt",
            "f?txt",
        ] {
            for path in [name.to_owned(), format!(r"sub\{name}"), format!("{name}/g.txt"), folder.text("ws/") + name] {
                for told in [
                    code(roots.read(&path)),
                    code(roots.metadata(&path)),
                    code(roots.write(&path, "x")),
                    code(roots.create_new(&path)),
                    code(roots.append(&path, "x")),
                    code(roots.create_dir(&path)),
                    code(roots.create_dir_all(&path)),
                    code(roots.rename("sub/g.txt", &path)),
                    code(roots.copy("sub/g.txt", &path)),
                    code(roots.remove_file(&path)),
                    code(roots.read_dir(&path)),
                ] {
                    assert_eq!(told, "invalid-path", "{path}");
                }
            }
            let uri = format!("root://ws/{}", name.replace(' ', "%20").replace('?', "%3F"));
            assert_eq!(code(roots.read(&uri)), "invalid-uri", "{uri}");
        }
    }
    let names: Vec<_> = fs::read_dir(folder.at("ws")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(fs::read_to_string(folder.at("ws/f.txt")).unwrap(), "F");
}

/// Names that only verbatim paths can say. Catches: a path that is joined and trimmed, so that what is removed, renamed or listed is another file.
#[test]
fn odd_names_from_the_disk_are_listed_and_nothing_else() {
    let folder = Folder::new();
    for (odd, plain) in [("ws/d/keep.", "ws/d/keep"), ("ws/d/mine ", "ws/d/mine")] {
        fs::create_dir_all(folder.at("ws/d")).unwrap();
        fs::write(folder.at(plain), "PLAIN").unwrap();
        fs::write(folder.verbatim(odd), "ODD").unwrap();
    }
    fs::create_dir(folder.verbatim("ws/d/dir.")).unwrap();
    fs::create_dir(folder.at("ws/d/dir")).unwrap();
    fs::write(folder.at("ws/d/dir/inner"), "INNER").unwrap();
    let roots = folder.roots();
    let mut listed = Vec::new();
    for entry in roots.read_dir("d").unwrap() {
        let entry = entry.unwrap();
        let name = entry.name().to_str().unwrap().to_owned();
        let told = if name.starts_with("dir") { code(entry.open_dir()) } else { code(entry.read()) };
        assert_eq!(told, if name.ends_with(['.', ' ']) { "invalid-path" } else { "ok" }, "{name:?}");
        listed.push(name);
    }
    listed.sort();
    assert_eq!(listed, ["dir", "dir.", "keep", "keep.", "mine", "mine "]);
    // A tree with such names is not removed by halves that are not its own.
    assert_eq!(code(roots.remove_dir_all("d")), "invalid-path");
    for odd in ["ws/d/keep.", "ws/d/mine "] {
        let text = fs::read_to_string(folder.verbatim(odd));
        assert_eq!(text.ok().as_deref(), Some("ODD"), "{odd:?}");
    }
    assert!(folder.verbatim("ws/d/dir.").is_dir());
    // Nor half of one whose names are odd for files alone.
    fs::create_dir_all(folder.at("ws/e/sub")).unwrap();
    for plain in ["ws/e/a.txt", "ws/e/sub/b.txt", "ws/e/z.txt"] {
        fs::write(folder.at(plain), "PLAIN").unwrap();
    }
    fs::write(folder.verbatim("ws/e/sub/odd."), "ODD").unwrap();
    assert_eq!(code(roots.remove_dir_all("e")), "invalid-path");
    for plain in ["ws/e/a.txt", "ws/e/sub/b.txt", "ws/e/z.txt"] {
        assert_eq!(fs::read_to_string(folder.at(plain)).ok().as_deref(), Some("PLAIN"), "{plain}");
    }
}

/// The 8.3 alias of a name, as the command processor tells it.
fn short_name(path: &Path) -> Option<String> {
    let asked = format!("for %I in (\"{}\") do @echo %~snxI", path.to_str()?);
    let output = std::process::Command::new("cmd").args(["/c", &asked]).output().ok()?;
    let short = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (short.contains('~') && !short.eq_ignore_ascii_case(path.file_name()?.to_str()?)).then_some(short)
}

/// Catches: an alias of a protected name that is opened or changed by it; and a root that is refused because its path has one.
#[test]
fn short_names_are_no_way_round_a_rule_and_no_refusal_of_ones_own() {
    let folder = Folder::new();
    fs::create_dir(folder.at("ws/protected directory")).unwrap();
    fs::write(folder.at("ws/protected directory/inner.txt"), "SECRET").unwrap();
    fs::write(folder.at("ws/protected file.text"), "SECRET").unwrap();
    fs::create_dir(folder.at("ws/plain directory")).unwrap();
    fs::write(folder.at("ws/plain directory/own.txt"), "OWN").unwrap();
    let short = |name: &str| short_name(&folder.at(&format!("ws/{name}")));
    let known = short("protected directory");
    if known.is_none() {
        needs::skipped("this disk, or this command processor, tells no short names; guesses are tried all the same");
    }
    let dirs = [known, Some("PROTEC~1".to_owned()), Some("protec~1".to_owned())];
    let files = [short("protected file.text"), Some("PROTEC~1.TEX".to_owned())];
    let roots = folder.ruled(&[("protected*", Access::None)]);
    for dir in dirs.into_iter().flatten() {
        for told in [
            code(roots.read(format!("{dir}/inner.txt"))),
            code(roots.read_dir(&dir)),
            code(roots.write(format!("{dir}/inner.txt"), "x")),
            code(roots.remove_dir_all(&dir)),
            code(roots.rename(&dir, "taken")),
        ] {
            assert!(matches!(told, "protected" | "not-found"), "{dir}: {told}");
        }
    }
    for file in files.into_iter().flatten() {
        for told in [code(roots.read(&file)), code(roots.set_len(&file, 0)), code(roots.remove_file(&file))] {
            assert!(matches!(told, "protected" | "not-found"), "{file}: {told}");
        }
    }
    assert_eq!(fs::read_to_string(folder.at("ws/protected directory/inner.txt")).unwrap(), "SECRET");
    assert_eq!(fs::read_to_string(folder.at("ws/protected file.text")).unwrap(), "SECRET");
    // A root that is named by its alias, and paths in either form.
    if let Some(own) = short("plain directory") {
        let roots = Roots::builder().named("own", folder.at("ws").join(&own), Access::Read).open().unwrap();
        for path in [format!(r"{}\{own}\own.txt", folder.text("ws")), folder.text("ws/plain directory/own.txt")] {
            assert_eq!(roots.read_to_string(&path).unwrap(), "OWN", "{path}");
        }
    }
}

/// A junction, by the command processor, since the standard library makes none.
fn junction(target: &Path, at: &Path) -> bool {
    let made = std::process::Command::new("cmd")
        .args([&"/c".into(), &OsString::from("mklink"), &"/J".into()])
        .arg(at)
        .arg(target)
        .output();
    made.is_ok_and(|output| output.status.success()) && at.exists()
}

/// Catches: a link or junction that is followed by the system, on the way or at the end, to read, list, change or remove what is outside;
/// one that leads inside and is refused; and a link that is removed with what it leads to.
#[test]
fn links_and_junctions_out_are_not_followed() {
    let folder = Folder::new();
    let mut ways = Vec::new();
    // wine 8 says that it made one, and did not.
    let makes_links = symlink_dir(folder.at("out"), folder.at("ws/dir-out")).is_ok();
    if makes_links && fs::symlink_metadata(folder.at("ws/dir-out")).is_ok_and(|made| made.is_symlink()) {
        symlink_dir(r"..\out", folder.at("ws/dir-up")).unwrap();
        symlink_file(folder.at("out/secret.txt"), folder.at("ws/file-out")).unwrap();
        symlink_dir("sub", folder.at("ws/dir-in")).unwrap();
        symlink_dir(folder.at("ws/sub"), folder.at("ws/dir-in-absolute")).unwrap();
        ways.extend(["dir-out", "dir-up"]);
    }
    if junction(&folder.at("out"), &folder.at("ws/junction")) {
        ways.push("junction");
    }
    if ways.is_empty() {
        needs::skipped("links and junctions cannot be made here (wine 8 has none)");
        return;
    }
    let roots = folder.roots();
    for way in &ways {
        for told in [
            code(roots.read(format!("{way}/secret.txt"))),
            code(roots.read(format!("{way}/none.txt"))),
            code(roots.read_dir(way)),
            code(roots.write(format!("{way}/secret.txt"), "x")),
            code(roots.write(format!("{way}/new.txt"), "x")),
            code(roots.create_dir(format!("{way}/new"))),
            code(roots.remove_file(format!("{way}/secret.txt"))),
            code(roots.rename("f.txt", format!("{way}/f.txt"))),
            code(roots.copy("f.txt", format!("{way}/f.txt"))),
        ] {
            assert_eq!(told, "outside-roots", "{way}");
        }
    }
    if ways.contains(&"dir-out") {
        assert_eq!(code(roots.read("file-out")), "outside-roots");
        assert_eq!(code(roots.write("file-out", "x")), "outside-roots");
        for inside in ["dir-in", "dir-in-absolute"] {
            assert_eq!(roots.read_to_string(format!("{inside}/g.txt")).unwrap(), "G");
        }
    }
    folder.secret_is_whole();
    fs::create_dir(folder.at("ws/tree")).unwrap();
    fs::rename(folder.at("ws").join(ways[0]), folder.at("ws/tree/link")).unwrap();
    roots.remove_dir_all("tree").unwrap();
    folder.secret_is_whole();
}

/// Catches: a rule that is compared by bytes, ASCII case alone, or before composing; on a disk that folds, each of these would be a way round.
#[test]
fn rules_hold_in_every_case_and_form() {
    let folder = Folder::new();
    for name in [".env", "Geheim\u{e4}.txt", "stra\u{df}e"] {
        fs::write(folder.at(&format!("ws/{name}")), "SECRET").unwrap();
    }
    let roots = folder.ruled(&[(".env", Access::None), ("geheim\u{e4}.txt", Access::None), ("strasse", Access::None)]);
    for name in [
        ".env",
        ".ENV",
        ".Env",
        "GEHEIM\u{c4}.TXT",
        "geheima\u{308}.txt",
        "STRASSE",
        "stra\u{df}e",
        "\u{17f}trasse",
        "STRA\u{1e9e}E",
    ] {
        for told in [
            code(roots.read(name)),
            code(roots.write(name, "x")),
            code(roots.remove_file(name)),
            code(roots.rename("f.txt", name)),
        ] {
            assert_eq!(told, "protected", "{name}");
        }
    }
    for name in [".env", "Geheim\u{e4}.txt", "stra\u{df}e"] {
        assert_eq!(fs::read_to_string(folder.at(&format!("ws/{name}"))).unwrap(), "SECRET");
    }
    // What no rule protects is one's own, in a name that the disk might fold.
    roots.write("na\u{ef}ve.txt", "N").unwrap();
    assert_eq!(roots.read_to_string("na\u{ef}ve.txt").unwrap(), "N");
    if is_wine() {
        needs::skipped("wine opens by handle with the case of the disk, so that F.TXT is not f.txt; Windows folds it");
    } else {
        assert_eq!(roots.read_to_string("F.TXT").unwrap(), "F");
    }
}
