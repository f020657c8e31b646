//! Agreement with the model, and containment, on one path.

use std::fmt::Debug;

use cap_roots::{Error, FileType, Roots};

use crate::model::{Code, Model};
use crate::poison::CANARY;

/// Panics unless every way of reading `text` ends as the model says for `path`: the same file, or the same code; and nothing that is
/// told holds a byte or a path of the outside.
pub fn check(roots: &Roots, model: &Model, base: &str, text: &str, path: &str) {
    let context = |operation: &str| format!("{operation} of {text:?}");
    let told = |error: &Error| {
        let words = format!("{error} {error:?}");
        assert!(!words.contains(CANARY) && !words.replace(text, "").contains(base), "{words}");
        error.code()
    };
    let read = roots.read_to_string(text);
    assert!(!read.as_ref().is_ok_and(|content| content.contains(CANARY)), "{text:?} led outside");
    same(&context("read"), read.map_err(|error| told(&error)), model.read(path));
    same(&context("read_dir"), names(roots.read_dir(text)).map_err(|error| told(&error)), model.read_dir(path));
    let listed = roots.open_dir(text).and_then(|dir| names(dir.entries()));
    same(&context("open_dir"), listed.map_err(|error| told(&error)), model.read_dir(path));
    let kind = |metadata: cap_roots::Metadata| kind(metadata.file_type());
    same(&context("metadata"), roots.metadata(text).map(kind).map_err(|error| told(&error)), model.metadata(path));
    let own = roots.symlink_metadata(text).map(kind).map_err(|error| told(&error));
    same(&context("symlink_metadata"), own, model.symlink_metadata(path));
    let link = roots.read_link(text).map(|link| link.to_string_lossy().into_owned()).map_err(|error| told(&error));
    same(&context("read_link"), link, model.read_link(path));
    let exists = match model.metadata(path) {
        Err("not-found") => Ok(false),
        other => other.map(|_| true),
    };
    same(&context("exists"), roots.exists(text).map_err(|error| told(&error)), exists);
}

fn same<T: PartialEq + Debug>(context: &str, ours: Result<T, Code>, model: Result<T, Code>) {
    assert_eq!(ours, model, "ours against the model: {context}");
}

fn names(entries: Result<cap_roots::ReadDir, Error>) -> Result<Vec<String>, Error> {
    let mut names = entries?.map(|entry| Ok(entry?.name().to_string_lossy().into_owned())).collect::<Result<Vec<_>, Error>>()?;
    names.sort();
    Ok(names)
}

fn kind(file_type: FileType) -> &'static str {
    match file_type {
        FileType::File => "file",
        FileType::Dir => "dir",
        FileType::Symlink => "link",
        _ => "special",
    }
}
