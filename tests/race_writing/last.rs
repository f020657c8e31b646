//! The last name changes places with a link to outside, or such a link comes and goes.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use cap_roots::{Error, Roots};

use crate::support::race::{Race, Worker, exchange};
use crate::support::{code, privilege};
use crate::{Stage, WAYS};

const LEAST: usize = 1_000;
const MET: usize = 100;

/// What the two names are kept as, whatever an operation makes of them: an object at one and a link to the outside one at the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    /// A file that its owner may open neither for reading nor for writing.
    Closed,
    Tree,
    /// Nothing, and a link that dangles outside: it takes the name and leaves it again.
    Nothing,
}

/// The two names, in one directory.
struct Pair {
    names: [PathBuf; 2],
    kind: Kind,
    aside: PathBuf,
    count: usize,
}

impl Pair {
    fn new(stage: &Stage, kind: Kind) -> Self {
        let names = [stage.path("f/name"), stage.path("f/evil")];
        let mut pair = Self { names, kind, aside: stage.path("aside"), count: 0 };
        pair.restore();
        pair
    }

    /// One exchange; then what an operation took away or replaced is put back.
    fn swap(&mut self) -> bool {
        if self.kind == Kind::Nothing {
            // Whatever was made at the name is replaced.
            let [name, evil] = &self.names;
            let swapped = fs::rename(evil, name).is_ok() && fs::rename(name, evil).is_ok();
            if !swapped {
                self.restore();
            }
            return swapped;
        }
        let swapped = exchange(&self.names);
        let links = self.names.each_ref().map(|name| fs::symlink_metadata(name).ok().map(|seen| seen.is_symlink()));
        if !matches!(links, [Some(true), Some(false)] | [Some(false), Some(true)]) {
            self.restore();
        }
        swapped
    }

    fn restore(&mut self) {
        let [name, evil] = &self.names.clone();
        let target = match self.kind {
            Kind::File | Kind::Closed => "../../outside/file",
            Kind::Tree => "../../outside/tree",
            Kind::Nothing => "../../outside/nothing",
        };
        self.put(evil, |fresh| symlink(target, fresh).unwrap());
        let mode = if self.kind == Kind::Closed { 0 } else { 0o644 };
        match self.kind {
            Kind::File | Kind::Closed => self.put(name, |fresh| {
                fs::write(fresh, "inside").unwrap();
                fs::set_permissions(fresh, fs::Permissions::from_mode(mode)).unwrap();
            }),
            Kind::Tree => self.put(name, |fresh| {
                fs::create_dir_all(fresh.join("d")).unwrap();
                fs::write(fresh.join("file"), "inside").unwrap();
                fs::write(fresh.join("d/file"), "inside").unwrap();
            }),
            Kind::Nothing => {}
        }
    }

    /// A new object, complete, in the place of whatever is there.
    fn put(&mut self, at: &PathBuf, make: impl FnOnce(&PathBuf)) {
        self.count += 2;
        let [fresh, old] = [1, 2].map(|number| self.aside.join((self.count + number).to_string()));
        make(&fresh);
        // In one step, if it can be; else something may be made in the gap.
        while fs::rename(&fresh, at).is_err() {
            let _ = fs::rename(at, &old).or_else(|_| fs::remove_dir_all(&old));
        }
        if fs::symlink_metadata(&old).is_ok_and(|seen| seen.is_dir()) {
            // Whoever holds it may still be making something in it.
            let _ = fs::remove_dir_all(&old);
        } else {
            let _ = fs::remove_file(&old);
        }
    }
}

/// Two threads operate on the one name; by `number` they tell themselves apart.
fn on_the_last_name(
    operation: &str,
    kind: Kind,
    allowed: &[(&'static str, usize)],
    operate: impl Fn(&Stage, usize) -> Result<(), Error> + Sync,
) {
    for (way_name, way) in WAYS {
        let stage = Stage::new(way, &["dir f", "dir g", "dir aside", "file file=inside"]);
        let mut pair = Pair::new(&stage, kind);
        let name = format!("{operation}, {way_name}, last name");
        let race = Race { name, allowed, least: LEAST, met: MET };
        let workers = (0..2).map(|number| {
            let (stage, operate) = (&stage, &operate);
            Box::new(move || code(operate(stage, number))) as Worker<'_>
        });
        race.run(
            || pair.swap(),
            workers.collect(),
            |name| {
                stage.check_outside(name);
                stage.check_leftovers(name);
            },
        );
    }
}

fn roots(stage: &Stage) -> &Roots {
    &stage.roots
}

#[test]
fn write() {
    let allowed = [("ok", 20), ("outside-roots", 200), ("conflict", 20)];
    on_the_last_name("write", Kind::File, &allowed, |stage, _| roots(stage).write("f/name", "inside too"));
}

#[test]
fn write_where_a_link_comes_and_goes() {
    // `not-found` is what was there a moment ago.
    let allowed = [("ok", 20), ("outside-roots", 200), ("conflict", 20), ("not-found", 0)];
    on_the_last_name("write to nothing", Kind::Nothing, &allowed, |stage, _| roots(stage).write("f/name", "inside too"));
}

#[test]
fn create_new_where_a_link_comes_and_goes() {
    let allowed = [("ok", 50), ("already-exists", 200)];
    on_the_last_name("create_new", Kind::Nothing, &allowed, |stage, _| {
        roots(stage).create_new("f/name").map(|mut file| file.write_all(b"inside").unwrap())
    });
}

#[test]
fn append() {
    let allowed = [("ok", 200), ("outside-roots", 200), ("conflict", 0)];
    on_the_last_name("append", Kind::File, &allowed, |stage, _| roots(stage).append("f/name", "+"));
}

#[test]
fn append_where_a_link_comes_and_goes() {
    let allowed = [("ok", 200), ("outside-roots", 200), ("conflict", 0)];
    on_the_last_name("append to nothing", Kind::Nothing, &allowed, |stage, _| roots(stage).append("f/name", "+"));
}

#[test]
fn update() {
    let allowed = [("ok", 20), ("outside-roots", 200), ("conflict", 20)];
    on_the_last_name("update", Kind::File, &allowed, |stage, _| {
        roots(stage).update("f/name", |old| {
            assert!(old.starts_with(b"inside"));
            Ok(b"inside too".to_vec())
        })
    });
}

#[test]
fn rename_away() {
    let allowed = [("ok", 100), ("not-found", 0)];
    on_the_last_name("rename", Kind::File, &allowed, |stage, number| {
        let to = format!("g/moved-{number}");
        roots(stage).rename("f/name", &to)?;
        fs::remove_file(stage.path(&to)).unwrap();
        Ok(())
    });
}

/// What is there, be it a file or the link itself, gets replaced, and nothing behind it.
#[test]
fn rename_over() {
    let allowed = [("ok", 200)];
    on_the_last_name("rename_replace", Kind::File, &allowed, |stage, number| {
        let from = format!("g/from-{number}");
        fs::write(stage.path(&from), "inside").unwrap();
        roots(stage).rename_replace(&from, "f/name")
    });
}

#[test]
fn rename_to_where_a_link_comes_and_goes() {
    let allowed = [("ok", 200), ("already-exists", 200)];
    on_the_last_name("rename to nothing", Kind::Nothing, &allowed, |stage, number| {
        let from = format!("g/from-{number}");
        fs::write(stage.path(&from), "inside").unwrap();
        roots(stage).rename(&from, "f/name")
    });
}

#[test]
fn remove_file() {
    let allowed = [("ok", 100), ("not-found", 0)];
    on_the_last_name("remove_file", Kind::File, &allowed, |stage, _| roots(stage).remove_file("f/name"));
}

/// The tree goes, or the link itself.
#[test]
fn remove_dir_all() {
    let allowed = [("ok", 100), ("not-found", 0), ("conflict", 0), ("not-a-directory", 0), ("is-a-directory", 0)];
    on_the_last_name("remove_dir_all", Kind::Tree, &allowed, |stage, _| roots(stage).remove_dir_all("f/name"));
}

#[test]
fn create_dir_all() {
    let allowed = [("ok", 200), ("already-exists", 200)];
    on_the_last_name("create_dir_all", Kind::Tree, &allowed, |stage, _| roots(stage).create_dir_all("f/name"));
}

/// Directories are made behind the name that comes and goes, or the link is in the way.
#[test]
fn create_dir_all_through_a_name_that_becomes_a_link() {
    let allowed = [("ok", 200), ("outside-roots", 200), ("conflict", 0)];
    on_the_last_name("create_dir_all through", Kind::Tree, &allowed, |stage, number| {
        roots(stage).create_dir_all(format!("f/name/d/{number}/e"))?;
        // By the same way, which may be exchanged by now.
        let _ = roots(stage).remove_dir_all(format!("f/name/d/{number}"));
        Ok(())
    });
}

#[test]
fn copy_from() {
    let allowed = [("ok", 200), ("outside-roots", 200)];
    on_the_last_name("copy of a file", Kind::File, &allowed, |stage, number| {
        let to = format!("g/copy-{number}");
        roots(stage).copy("f/name", &to)?;
        assert_eq!(fs::read_to_string(stage.path(&to)).unwrap(), "inside");
        fs::remove_file(stage.path(&to)).unwrap();
        Ok(())
    });
}

#[test]
fn copy_over() {
    let allowed = [("ok", 20), ("outside-roots", 200), ("conflict", 20)];
    on_the_last_name("copy_replace", Kind::File, &allowed, |stage, _| roots(stage).copy_replace("file", "f/name").map(drop));
}

#[test]
fn copy_to_where_a_link_comes_and_goes() {
    let allowed = [("ok", 10), ("already-exists", 200), ("conflict", 0)];
    on_the_last_name("copy to nothing", Kind::Nothing, &allowed, |stage, _| roots(stage).copy("file", "f/name").map(drop));
}

#[test]
fn copy_of_a_tree() {
    let allowed = [("ok", 200), ("outside-roots", 200)];
    on_the_last_name("copy of a tree", Kind::Tree, &allowed, |stage, number| {
        let to = format!("g/copy-{number}");
        let copied = roots(stage).copy("f/name", &to)?;
        assert_eq!((copied.files, copied.dirs), (2, 2));
        for name in ["file", "d/file"] {
            assert_eq!(fs::read_to_string(stage.path(&to).join(name)).unwrap(), "inside");
        }
        fs::remove_dir_all(stage.path(&to)).unwrap();
        Ok(())
    });
}

#[test]
fn walk() {
    let allowed = [("ok", 200), ("outside-roots", 200)];
    on_the_last_name("walk", Kind::Tree, &allowed, |stage, _| {
        let names: Vec<_> = roots(stage).walk("f/name")?.map(|entry| entry.unwrap().name().to_owned()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(!names.iter().any(|name| name == "canary-name"));
        Ok(())
    });
}

#[test]
fn set_permissions() {
    let allowed = [("ok", 200), ("outside-roots", 200), ("conflict", 0)];
    on_the_last_name("set_permissions", Kind::File, &allowed, |stage, _| roots(stage).set_permissions("f/name", 0o600));
}

/// What cannot be opened is changed by its name, which must not lead on.
#[test]
fn set_permissions_of_what_cannot_be_opened() {
    privilege::drop_override();
    let allowed = [("ok", 200), ("outside-roots", 200), ("conflict", 0)];
    on_the_last_name("set_permissions, closed", Kind::Closed, &allowed, |stage, _| roots(stage).set_permissions("f/name", 0));
}
