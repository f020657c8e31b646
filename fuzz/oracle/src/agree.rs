//! Agreement with the model, and containment, on one path.

use cap_roots::{Error, FileType, Roots};

use crate::model::{Model, Seen};
use crate::poison::CANARY;
use crate::sequence::step::Op;

/// Panics unless every way of reading `text` ends as the model says: the same file, or the same code; and nothing that is told holds a
/// byte or a path of the outside.
pub fn check(roots: &Roots, model: &Model, base: &str, text: &str) {
    let told = |error: Error| {
        let words = format!("{error} {error:?}");
        assert!(!words.contains(CANARY) && !words.replace(text, "").contains(base), "{words}");
        error.code()
    };
    let same = |ours: Result<Seen, Error>, op: fn(String) -> Op| {
        assert_eq!(ours.map_err(told), model.look(0, &op(text.to_owned())), "ours against the model: {:?}", op(text.to_owned()));
    };
    let read = roots.read_to_string(text);
    assert!(!read.as_ref().is_ok_and(|content| content.contains(CANARY)), "{text:?} led outside");
    same(read.map(Seen::Content), Op::Read);
    same(names(roots.read_dir(text)), Op::ReadDir);
    same(roots.open_dir(text).and_then(|dir| names(dir.entries())), Op::ReadDir);
    let kind = |metadata: cap_roots::Metadata| Seen::Kind(kind(metadata.file_type()));
    same(roots.metadata(text).map(kind), Op::Metadata);
    same(roots.symlink_metadata(text).map(kind), Op::SymlinkMetadata);
    same(roots.read_link(text).map(|link| Seen::Text(link.to_string_lossy().into_owned())), Op::ReadLink);
    same(roots.exists(text).map(Seen::Bool), Op::Exists);
}

fn names(entries: Result<cap_roots::ReadDir, Error>) -> Result<Seen, Error> {
    let mut names = entries?.map(|entry| Ok(entry?.name().to_string_lossy().into_owned())).collect::<Result<Vec<_>, Error>>()?;
    names.sort();
    Ok(Seen::Names(names, 0))
}

fn kind(file_type: FileType) -> &'static str {
    match file_type {
        FileType::File => "file",
        FileType::Dir => "dir",
        FileType::Symlink => "link",
        _ => "special",
    }
}
