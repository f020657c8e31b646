//! What may come of each operation beside each exchange, and nothing else.
//!
//! Where the object that is meant stands at the path, the operation succeeds. The table says what comes where the other one stands there, which
//! has to be seen as well; and, with a question mark, what may come only if one becomes the other during the call. `out` is `outside-roots`, and
//! `taken` is `already-exists`. Where a rule refuses what a link leads to, `out` and `refused` are `protected`; the `text` of that link stays
//! inside and may be told, while that of one that leads out is `outside-roots`.

use crate::operation::Operation::{self as O, *};
use crate::swap::{Place, Swap, With};

/// Which operations; what comes of them if the last name is a file, a directory, a link out, a link that stays inside, a link that dangles
/// outside, a pipe; and what may come of a change during the call, whatever it is.
type Row = (&'static [O], [&'static str; 6], &'static str);

#[rustfmt::skip]
const AT_THE_NAME: [Row; 21] = [
    // What is opened is judged by its handle.
    (&[Open, Read], ["ok", "is-a-directory", "out", "ok", "out", "special-file"], ""),
    (&[OpenDir, ReadDir, Walk], ["not-a-directory", "ok", "out", "ok", "out", "not-a-directory"], ""),
    (&[Metadata, Exists], ["ok", "ok", "out", "ok", "out", "ok"], ""),
    (&[SymlinkMetadata], ["ok", "ok", "ok", "ok", "ok", "ok"], ""),
    (&[ReadLink], ["invalid-argument", "invalid-argument", "text", "ok", "text", "invalid-argument"], ""),
    // It is opened as a file, and then as a directory.
    (&[CopyFrom], ["ok", "ok not-a-directory?", "out", "ok", "out", "special-file"], ""),
    (&[CopyReplaceFrom], ["ok", "already-exists not-a-directory?", "out", "ok", "out", "special-file"], ""),
    (&[CopyTreeFrom], ["ok not-a-directory?", "ok", "out", "ok", "out", "special-file not-a-directory?"], ""),
    // The file that was looked at last has to be the one that was read, and is the one that is replaced.
    (&[Write, Update, CopyReplaceTo], ["ok", "is-a-directory", "out", "ok", "out", "special-file"], "conflict?"),
    (&[WriteNew], ["ok", "is-a-directory", "out", "ok", "out", "special-file"], "conflict?"),
    // What is changed in place is what was opened.
    (&[Append, SetLen], ["ok", "is-a-directory conflict?", "out conflict?", "ok conflict?", "out conflict?", "special-file"], ""),
    (&[AppendNew], ["ok", "is-a-directory", "out", "ok", "out", "special-file"], "conflict?"),
    (&[SetPermissions, SetTimes], ["ok", "ok conflict?", "out conflict?", "ok conflict?", "out conflict?", "special-file"], ""),
    // Whatever has the name is in the way, wherever it leads.
    (&[CreateNew, CreateDir, RenameTo], ["taken", "taken", "taken", "taken", "taken", "taken"], ""),
    (&[CopyTo], ["taken", "taken", "taken", "taken", "taken", "taken"], "conflict?"),
    // What was just made may be gone, or another object, before it is entered.
    (&[CreateDirAll], ["taken conflict?", "ok", "refused taken? conflict?", "taken conflict?", "taken conflict?", "taken conflict?"], "not-found?"),
    // The name itself, whatever it is; there is a gap until it is put back.
    (&[RemoveFile], ["ok", "is-a-directory", "ok", "ok", "ok", "ok"], "not-found?"),
    (&[RemoveDir], ["not-a-directory", "not-empty", "not-a-directory", "not-a-directory", "not-a-directory", "not-a-directory"], "not-found?"),
    (&[RenameFrom], ["ok", "ok", "ok", "ok", "ok", "ok"], "not-found?"),
    (&[RenameReplaceFrom], ["ok", "not-a-directory", "ok", "ok", "ok", "ok"], "not-found?"),
    (&[RenameReplaceTo], ["ok", "is-a-directory", "ok", "ok", "ok", "ok"], ""),
];

/// A directory is emptied by its handle and then removed by its name, a link is removed by its name; what has the name by then may be another one.
const REMOVE_DIR_ALL: Row = (
    &[RemoveDirAll],
    [
        "not-a-directory conflict?",
        "ok",
        "ok not-a-directory? is-a-directory? conflict?",
        "ok not-a-directory? is-a-directory? conflict?",
        "ok not-a-directory? is-a-directory? conflict?",
        "not-a-directory conflict?",
    ],
    "not-empty? not-found?",
);

/// If a name on the way is one of these, whatever the operation.
const ON_THE_WAY: [&str; 6] = ["not-a-directory", "ok", "out", "ok", "outside-roots", "not-a-directory"];

/// If the root's own name is another object's: what is worked in is held, and not where it was granted any more.
const AT_THE_ROOT: [&str; 6] = ["root-absent"; 6];

/// Each code with the fewest times that it must come.
pub(crate) fn allowed(operation: O, swaps: &[Swap]) -> Vec<(&'static str, usize)> {
    let mut codes = vec![("ok", 1)];
    for swap in swaps {
        let (columns, raced) = match swap.place {
            Place::Name => at_the_name(operation),
            Place::Parent | Place::Ancestor => (ON_THE_WAY, ""),
            Place::Root => (AT_THE_ROOT, ""),
        };
        let column = match swap.with {
            With::File => 0,
            With::Dir => 1,
            With::LinkOut | With::LinkRuled => 2,
            With::LinkIn => 3,
            With::Dangling => 4,
            With::Fifo | With::FifoRead => 5,
        };
        let is_ruled = swap.with == With::LinkRuled;
        for word in columns[column].split(' ').chain(raced.split_whitespace()) {
            let (word, least) = word.strip_suffix('?').map_or((word, 1), |raced| (raced, 0));
            let word = match word {
                "out" | "refused" if is_ruled => "protected",
                "out" => "outside-roots",
                "refused" | "taken" => "already-exists",
                "text" if is_ruled => "ok",
                "text" => "outside-roots",
                word => word,
            };
            codes.push((word, least));
        }
    }
    codes
}

fn at_the_name(operation: O) -> ([&'static str; 6], &'static str) {
    let mut rows = AT_THE_NAME.iter().chain([&REMOVE_DIR_ALL]);
    let (_, columns, raced) = rows.find(|(operations, ..)| operations.contains(&operation)).unwrap();
    (*columns, raced)
}
