//! Reading by any path in the poison tree.

use std::sync::LazyLock;

use cap_roots::{Access, Error, Roots};

use crate::{poison, tree::Tree, vocabulary};

struct Fixture {
    tree: Tree,
    fast: Roots,
    walk: Roots,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let tree = poison::build().unwrap_or_else(|error| panic!("{error}"));
    let open = |builder: cap_roots::Builder| {
        builder.named("root", tree.root(), Access::Read).open().unwrap_or_else(|error| panic!("{error}"))
    };
    let (fast, walk) = (open(Roots::builder()), open(Roots::builder().without_openat2()));
    Fixture { tree, fast, walk }
});

/// Panics if anything of the outside comes back, or if the two ways answer differently.
pub fn check(picks: &[u8]) {
    let Fixture { tree, fast, walk } = &*FIXTURE;
    let path = vocabulary::path(picks);
    for roots in [fast, walk] {
        poison::probe(roots, tree, &path);
    }
    same(&path, fast.read(&path), walk.read(&path));
    let kind = |metadata: cap_roots::Metadata| (metadata.file_type(), metadata.len());
    same(&path, fast.metadata(&path).map(kind), walk.metadata(&path).map(kind));
    same(&path, fast.symlink_metadata(&path).map(kind), walk.symlink_metadata(&path).map(kind));
    same(&path, fast.read_link(&path), walk.read_link(&path));
    same(&path, names(fast, &path), names(walk, &path));
}

fn same<T: PartialEq + std::fmt::Debug>(path: &str, fast: Result<T, Error>, walk: Result<T, Error>) {
    assert_eq!(fast, walk, "the two ways disagree on {path:?}");
}

fn names(roots: &Roots, path: &str) -> Result<Vec<std::ffi::OsString>, Error> {
    let mut names = roots.read_dir(path)?.map(|entry| Ok(entry?.name().to_owned())).collect::<Result<Vec<_>, Error>>()?;
    names.sort();
    Ok(names)
}
