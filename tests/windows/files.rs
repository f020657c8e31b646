//! Files and directories: who else has them open, attributes, long paths, each operation.

use std::fs;
use std::os::windows::fs::OpenOptionsExt;

use cap_roots::Access;

use crate::{Folder, code, is_wine, needs};

/// Catches: a file that somebody keeps to himself told as a broken disk, waited for, or half written; and a temporary file that is left.
#[test]
fn files_that_others_keep_are_busy_and_stay_whole() {
    let folder = Folder::new();
    let roots = folder.roots();
    let alone = fs::OpenOptions::new().read(true).write(true).share_mode(0).open(folder.at("ws/f.txt")).unwrap();
    for told in [
        code(roots.read("f.txt")),
        code(roots.write("f.txt", "x")),
        code(roots.append("f.txt", "x")),
        code(roots.update("f.txt", |_| Ok(b"x".to_vec()))),
        code(roots.set_len("f.txt", 0)),
        code(roots.remove_file("f.txt")),
        code(roots.rename("f.txt", "h.txt")),
    ] {
        assert_eq!(told, "busy");
    }
    assert_eq!(roots.metadata("f.txt").unwrap().len(), 1);
    drop(alone);
    let locked = fs::OpenOptions::new().read(true).write(true).open(folder.at("ws/f.txt")).unwrap();
    locked.lock().unwrap();
    match fs::read(folder.at("ws/f.txt")) {
        Ok(_) => needs::skipped("wine lets a file be read that another handle has locked"),
        Err(_) => assert_eq!(code(roots.read("f.txt")), "busy"),
    }
    drop(locked);
    assert_eq!(roots.read_to_string("f.txt").unwrap(), "F");
    assert_eq!(fs::read_dir(folder.at("ws")).unwrap().count(), 2, "nothing was left");
}

/// Catches: a reader that hinders a writer, or is given the new content in the middle; and one that cannot read what was just placed.
#[test]
fn a_file_that_is_being_read_is_replaced() {
    use std::io::Read;
    let folder = Folder::new();
    let roots = folder.roots();
    let mut reader = fs::File::open(folder.at("ws/f.txt")).unwrap();
    let mut own = roots.open("f.txt").unwrap();
    let told = code(roots.write("f.txt", "NEW"));
    if is_wine() && told == "os-denied" {
        needs::skipped("wine 8 replaces no file that is open; Windows replaces it (POSIX semantics of a rename)");
        assert_eq!(fs::read_dir(folder.at("ws")).unwrap().count(), 2, "nothing was left");
        drop((reader, own));
        roots.write("f.txt", "NEW").unwrap();
        assert_eq!(fs::read_to_string(folder.at("ws/f.txt")).unwrap(), "NEW");
        return;
    }
    assert_eq!(told, "ok");
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "F");
    text.clear();
    own.read_to_string(&mut text).unwrap();
    assert_eq!(text, "F");
    assert_eq!(fs::read_to_string(folder.at("ws/f.txt")).unwrap(), "NEW");
    roots.rename_replace("sub/g.txt", "f.txt").unwrap();
    assert_eq!(roots.read_to_string("f.txt").unwrap(), "G");
}

/// Catches: an attribute that is walked over by a rename, or lost by one.
#[test]
fn the_read_only_attribute_holds() {
    let folder = Folder::new();
    let roots = folder.roots();
    let file = folder.at("ws/f.txt");
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions.clone()).unwrap();
    assert!(roots.metadata("f.txt").unwrap().is_readonly());
    if is_wine() && fs::OpenOptions::new().write(true).open(&file).is_ok() {
        needs::skipped("run by the superuser, wine lets a file be written that has the read-only attribute");
        return;
    }
    for told in [
        code(roots.write("f.txt", "x")),
        code(roots.append("f.txt", "x")),
        code(roots.update("f.txt", |_| Ok(b"x".to_vec()))),
        code(roots.set_len("f.txt", 0)),
    ] {
        assert_eq!(told, "os-denied");
    }
    assert_eq!(roots.read_to_string("f.txt").unwrap(), "F");
    assert!(fs::metadata(&file).unwrap().permissions().readonly());
    #[allow(clippy::permissions_set_readonly_false, reason = "on Windows it is one attribute")]
    permissions.set_readonly(false);
    fs::set_permissions(&file, permissions).unwrap();
    roots.write("f.txt", "x").unwrap();
}

/// Catches: a limit of 260 characters on any of the ways.
#[test]
fn long_paths_are_paths() {
    let folder = Folder::new();
    let roots = folder.roots();
    let dir = vec!["n".repeat(90); 5].join("/");
    fs::create_dir_all(folder.verbatim(&format!("ws/{dir}"))).unwrap();
    let file = format!("{dir}/f.txt");
    fs::write(folder.verbatim(&format!("ws/{file}")), "LONG").unwrap();
    roots.append(&file, "ER").unwrap();
    assert_eq!(roots.read_to_string(&file).unwrap(), "LONGER");
    assert_eq!(roots.read_to_string(folder.text(&format!("ws/{file}"))).unwrap(), "LONGER");
    assert_eq!(roots.metadata(&file).unwrap().len(), 6);
    if is_wine() && roots.read_dir(&dir).is_err() {
        needs::skipped(
            "wine 8 tells no path of a handle that is longer than 260 (GetFinalPathNameByHandle), so what goes by it fails",
        );
        return;
    }
    roots.create_dir(format!("{dir}/made")).unwrap();
    roots.remove_dir(format!("{dir}/made")).unwrap();
    roots.write(&file, "LONGER").unwrap();
    let names: Vec<_> = roots.read_dir(&dir).unwrap().map(|entry| entry.unwrap().read_to_string().unwrap()).collect();
    assert_eq!(names, ["LONGER"]);
    roots.rename(&file, format!("{dir}/{}", "g".repeat(90))).unwrap();
    roots.copy("n".repeat(90), "copied").unwrap();
    assert_eq!(roots.walk("copied").unwrap().filter(|entry| entry.as_ref().unwrap().metadata().unwrap().is_file()).count(), 1);
    roots.remove_dir_all("n".repeat(90)).unwrap();
    roots.remove_dir_all("copied").unwrap();
    assert_eq!(fs::read_dir(folder.at("ws")).unwrap().count(), 2);
}

/// Catches: a handle of ours that hinders the operation itself, which Windows alone shows: a directory that is held is neither renamed nor removed.
#[test]
fn each_operation_works() {
    let folder = Folder::new();
    for roots in [folder.roots(), folder.ruled(&[(".env", Access::None)])] {
        roots.create_dir("d").unwrap();
        roots.write("d/a.txt", "1").unwrap();
        roots.write("d/a.txt", "2").unwrap();
        roots.update("d/a.txt", |old| Ok([old, b"3".to_vec()].concat())).unwrap();
        assert_eq!(roots.read_to_string("d/a.txt").unwrap(), "23");
        assert_eq!(code(roots.create_new("d/a.txt")), "already-exists");
        assert_eq!(code(roots.create_dir("d")), "already-exists");
        roots.set_len("d/a.txt", 1).unwrap();
        roots.rename("d/a.txt", "d/b.txt").unwrap();
        assert_eq!(code(roots.rename("d/b.txt", "f.txt")), "already-exists");
        roots.rename("d", "e").unwrap();
        assert_eq!(code(roots.rename("e", "e/inside")), "invalid-argument");
        roots.copy("e/b.txt", "e/c.txt").unwrap();
        roots.copy("e", "d").unwrap();
        assert_eq!(code(roots.copy("e", "d")), "already-exists");
        let files: Vec<_> = roots.walk("d").unwrap().map(|entry| entry.unwrap().name().to_owned()).collect();
        assert_eq!(files.len(), 2, "{files:?}");
        assert_eq!(code(roots.remove_dir("d")), "not-empty");
        roots.remove_dir_all("d").unwrap();
        roots.remove_file("e/b.txt").unwrap();
        roots.remove_file("e/c.txt").unwrap();
        roots.remove_dir("e").unwrap();
        assert_eq!(code(roots.read("d/a.txt")), "not-found");
        assert_eq!(code(roots.read("f.txt/x")), "not-a-directory");
        assert_eq!(code(roots.read("sub")), "is-a-directory");
        assert_eq!(code(roots.read_dir("f.txt")), "not-a-directory");
    }
    let names: Vec<_> = fs::read_dir(folder.at("ws")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing was left: {names:?}");
}

/// Catches: a root that can be exchanged under its server. A held directory keeps its place there, which is more than elsewhere.
#[test]
fn a_held_root_keeps_its_place() {
    let folder = Folder::new();
    let roots = folder.roots();
    let moved = fs::rename(folder.at("ws"), folder.at("moved"));
    if is_wine() && moved.is_ok() {
        needs::skipped("wine lets a directory be renamed that is open without FILE_SHARE_DELETE");
        return;
    }
    assert!(moved.is_err());
    assert!(fs::rename(&folder.base, folder.base.with_extension("moved")).is_err());
    assert_eq!(roots.read_to_string("f.txt").unwrap(), "F");
    roots.revoke();
    assert_eq!(code(roots.read("f.txt")), "revoked");
}
