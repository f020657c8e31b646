//! Every operation of the library, with and without the fence.
//!
//! Catches: a right that an operation needs and the fence lacks, on either way of resolution: `REFER` for a move, `REMOVE_DIR` for a directory
//! that is renamed, `MAKE_SYM` for a link that is, `TRUNCATE` for a file that is cut.

use std::fs::File;
use std::process::Command;

use cap_roots::landlock::{Fence, HIGHEST};
use cap_roots::{Access, Roots};
use libtest_mimic::Failed;

use crate::{LEVEL, PART, PLACE, child, level, planted, support, variable};

/// All but the one that opens a root anew, which the fence refuses.
fn operations() -> impl Iterator<Item = &'static child::Operation> {
    child::OPERATIONS.iter().filter(|(name, _)| *name != "grant")
}

/// The child: each operation on a tree of its own, all of them held before the fence; and moves between two roots.
pub(crate) fn play() {
    let places: Vec<_> = variable(PLACE).lines().map(str::to_owned).collect();
    let open = |place: &String| {
        let way = if variable(child::WAY) == "walk" { support::Way::Walk } else { support::Way::Fast };
        support::builder(way).named("root", format!("{place}/ROOT"), Access::Write).open().unwrap()
    };
    let sets: Vec<_> = places.iter().map(open).collect();
    let [.., one, other] = &places[..] else { panic!("no places") };
    let both = Roots::builder()
        .named("one", format!("{one}/ROOT"), Access::Write)
        .named("other", format!("{other}/ROOT"), Access::Write)
        .open()
        .unwrap();
    let mut fence = Fence::around(&both).unwrap().as_of(level());
    for place in &places {
        fence = fence.directory(File::open(format!("{place}/ROOT")).unwrap(), Access::Write);
    }
    println!("{}", fence.apply().unwrap());
    for ((name, operation), roots) in operations().zip(&sets) {
        println!("{name}: {:?}", operation(roots).map_err(|error| error.to_string()));
    }
    for (from, to) in [("dir/file", "moved"), ("tree", "moved_tree"), ("dir/up", "moved_link")] {
        let moved = both.rename(format!("root://one/{from}"), format!("root://other/{to}"));
        println!("{from} to another root: {:?}", moved.map_err(|error| error.to_string()));
    }
    println!("copied from another root: {:?}", both.copy("root://other/moved_tree", "root://one/copied").is_ok());
}

struct Seen {
    status: String,
    answers: Vec<String>,
    trees: Vec<Vec<String>>,
}

fn run(way: &str, level: u32) -> Seen {
    let trees: Vec<_> = operations().map(|_| planted::tree()).chain([planted::tree(), planted::tree()]).collect();
    let places: Vec<_> = trees.iter().map(|tree| tree.base().to_str().unwrap()).collect();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(PART, "suite").env(PLACE, places.join("\n")).env(LEVEL, level.to_string()).env(child::WAY, way);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut lines = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    let pictures = trees.iter().map(|tree| planted::picture(tree.base()));
    let trees = pictures.map(|(lines, left)| {
        assert_eq!(left, 0, "left behind: {lines:?}");
        lines
    });
    Seen { status: lines.remove(0), answers: lines, trees: trees.collect() }
}

pub(crate) fn is_the_same(way: &str) -> Result<(), Failed> {
    let free = run(way, 0);
    assert!(free.status.starts_with("no fence"), "{}", free.status);
    assert_eq!(free.answers.len(), operations().count() + 4);
    let refused: Vec<_> = free.answers.iter().filter(|answer| answer.contains("Err(") || answer.ends_with("false")).collect();
    assert!(refused.is_empty(), "{refused:?}");
    for level in 2..=HIGHEST {
        let fenced = run(way, level);
        assert!(fenced.status.starts_with(&format!("Landlock, level {level}")), "{}", fenced.status);
        assert_eq!(fenced.answers, free.answers, "level {level}");
        assert_eq!(fenced.trees, free.trees, "level {level}");
    }
    // Every move between two directories is refused there, and nothing else.
    let fenced = run(way, 1);
    let differ: Vec<_> =
        fenced.answers.iter().zip(&free.answers).filter(|(one, other)| one != other).map(|(one, _)| one).collect();
    assert!(differ.iter().all(|answer| answer.contains("unsupported: ") || answer.ends_with("false")), "{differ:#?}");
    let names: Vec<_> = differ.iter().map(|answer| answer.split(": ").next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "rename a file",
            "rename a directory",
            "rename over",
            "dir/file to another root",
            "tree to another root",
            "dir/up to another root",
            "copied from another root"
        ]
    );
    Ok(())
}
