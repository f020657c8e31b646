//! What this process may neither read nor write: nothing is changed, and nothing is left behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use cap_roots::Error;

use crate::support::{code, privilege};
use crate::{changes, furnish, names, open, picture};

#[test]
fn a_directory_without_permission() {
    privilege::drop_override();
    // Not to be written, and not to be searched.
    for mode in [0o555, 0o444, 0o000] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("root");
        fs::create_dir(&place).unwrap();
        furnish(&place);
        let roots = open(&place);
        let before = picture(&place);
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        let codes: Vec<_> = changes().iter().map(|(name, change)| (*name, code(change(&roots)))).collect();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        for (name, code) in codes {
            assert_eq!(code, "os-denied", "{name}, {mode:o}");
        }
        assert_eq!(picture(&place), before, "{mode:o}");
    }
}

/// Not to be listed, and all the same to be written in.
#[test]
fn a_directory_that_cannot_be_listed() {
    privilege::drop_override();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("root");
    fs::create_dir(&place).unwrap();
    furnish(&place);
    let roots = open(&place);
    fs::set_permissions(&place, fs::Permissions::from_mode(0o333)).unwrap();
    for (name, change) in [
        ("write over", (&|| roots.write("file", "new")) as &dyn Fn() -> Result<(), Error>),
        ("write anew", &|| roots.write("new", "new")),
        ("append", &|| roots.append("file", "+")),
        ("copy", &|| roots.copy("tree", "copy").map(drop)),
        ("remove", &|| roots.remove_dir_all("tree")),
    ] {
        assert_eq!(code(change()), "ok", "{name}");
    }
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    let mut names: Vec<_> =
        fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["copy", "dir", "file", "new", "other"]);
    assert_eq!(fs::read_to_string(place.join("file")).unwrap(), "new+");
}

fn copied_place(lines: &[(&str, u32)]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("root");
    fs::create_dir(&place).unwrap();
    for (name, _) in lines.iter().filter(|(name, _)| name.ends_with('/')) {
        fs::create_dir_all(place.join(name)).unwrap();
    }
    for (name, _) in lines.iter().filter(|(name, _)| !name.ends_with('/')) {
        fs::write(place.join(name), name).unwrap();
    }
    for (name, mode) in lines {
        fs::set_permissions(place.join(name), fs::Permissions::from_mode(*mode)).unwrap();
    }
    (folder, place)
}

/// A tree with something in it that cannot be read: nothing is made, and nothing is left.
#[test]
fn a_tree_that_cannot_be_read_whole() {
    privilege::drop_override();
    for bad in ["tree/bad", "tree/bad/"] {
        let (_folder, place) = copied_place(&[("tree/", 0o755), ("tree/a", 0o644), ("tree/d/", 0o755), (bad, 0)]);
        let roots = open(&place);
        assert_eq!(code(roots.copy("tree", "copy")), "os-denied");
        assert_eq!(names(&place), ["tree"]);
    }
}

/// The same, where directories that cannot be written were copied before.
#[test]
fn a_tree_that_cannot_be_read_whole_with_directories_that_cannot_be_written() {
    privilege::drop_override();
    let dirs: Vec<String> = (0..16).map(|number| format!("tree/{number}/")).collect();
    let files: Vec<String> = dirs.iter().map(|dir| format!("{dir}file")).collect();
    let mut lines: Vec<(&str, u32)> = files.iter().map(|file| (file.as_str(), 0o644)).collect();
    lines.extend(dirs.iter().map(|dir| (dir.as_str(), 0o555)));
    lines.push(("tree/bad", 0));
    let (_folder, place) = copied_place(&lines);
    let roots = open(&place);
    let code = code(roots.copy("tree", "copy"));
    let left = names(&place);
    // So that the folder can be removed.
    for top in &left {
        for dir in names(&place.join(top)) {
            let _ = fs::set_permissions(place.join(top).join(dir), fs::Permissions::from_mode(0o755));
        }
    }
    assert_eq!(code, "os-denied");
    assert_eq!(left, ["tree"]);
}

#[test]
fn a_copied_tree_has_the_modes_of_its_source() {
    let lines = [("tree/", 0o700), ("tree/d/", 0o750), ("tree/d/file", 0o640), ("tree/script", 0o755)];
    let (_folder, place) = copied_place(&lines);
    open(&place).copy("tree", "copy").unwrap();
    for (name, mode) in lines {
        let copy = place.join(name.replacen("tree", "copy", 1));
        assert_eq!(fs::metadata(copy).unwrap().permissions().mode() & 0o777, mode, "{name}");
    }
}
