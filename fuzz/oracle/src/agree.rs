//! Agreement with the model, and containment, on one path.

use cap_roots::Error;

use crate::act::Act;
use crate::model::Model;
use crate::poison::CANARY;
use crate::sequence::step::Op;

/// Panics unless every way of reading `text` ends as the model says of one of its sets: the same file, or the same code; and nothing that
/// is told holds a byte or a path of the outside.
pub fn check(reader: &impl Act, model: &Model, view: usize, base: &str, text: &str) {
    // An error repeats what the caller typed, but may have to escape or to cut it: then by its beginning.
    let repeated = if text.len() > 200 || text.contains(|c: char| !c.is_ascii_graphic()) {
        text.get(..base.len()).unwrap_or(text)
    } else {
        text
    };
    let told = |error: Error| {
        let words = format!("{error} {error:?}");
        assert!(!words.contains(CANARY) && !words.replace(repeated, "").contains(base), "{words}");
        error.code()
    };
    for op in [Op::Read, Op::ReadDir, Op::Walk, Op::Metadata, Op::SymlinkMetadata, Op::ReadLink, Op::Exists] {
        let op = op(text.to_owned());
        let ours = reader.act(&op).map_err(told);
        assert!(!format!("{ours:?}").contains(CANARY), "{text:?} led outside");
        assert_eq!(ours, model.look(view, &op), "ours against the model: {op}");
    }
    let by_handle = reader.open_dir(text).and_then(|dir| dir.act(&Op::ReadDir(".".to_owned()))).map_err(told);
    assert_eq!(by_handle, model.look(view, &Op::ReadDir(text.to_owned())), "ours against the model: open_dir of {text:?}");
}
