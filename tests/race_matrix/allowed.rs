//! What may come of each operation beside each exchange, and nothing else.
//!
//! Where the object that is meant stands at the path, the operation succeeds. The table says what comes where the other one stands there, which
//! has to be seen as well; and, with a question mark, what may come only if one becomes the other during the call. Where a rule refuses
//! what a link leads to, `out` and `in-the-way` are `protected`, else `outside-roots` and `already-exists`; and `text`, of the link itself, may
//! be told, as it stays inside.

use crate::operation::Operation::{self as O, *};
use crate::swap::{Place, Swap, With};

/// Which operations, and what comes of them if the last name is a file, a directory, a link out, a link that stays inside, a link that
/// dangles outside, a pipe.
type Row = (&'static [O], [&'static str; 6]);

#[rustfmt::skip]
const AT_THE_NAME: [Row; 21] = [
    //                             file, directory, link out, link inside, dangling, pipe
    (&[Open, Read],               ["ok", "is-a-directory", "out", "ok", "out", "special-file"]),
    (&[OpenDir, ReadDir, Walk],   ["not-a-directory", "ok", "out", "ok", "out", "not-a-directory"]),
    (&[Metadata, Exists],         ["ok", "ok", "out", "ok", "out", "ok"]),
    (&[SymlinkMetadata],          ["ok", "ok", "ok", "ok", "ok", "ok"]),
    (&[ReadLink],                 ["invalid-argument", "invalid-argument", "text", "ok", "text", "invalid-argument"]),
    (&[CopyFrom],                 ["ok", "ok not-a-directory?", "out", "ok", "out", "special-file"]),
    (&[CopyReplaceFrom],          ["ok", "already-exists not-a-directory?", "out", "ok", "out", "special-file"]),
    (&[CopyTreeFrom],             ["ok not-a-directory?", "ok", "out", "ok", "out", "special-file not-a-directory?"]),
    // The file that was looked at last has to be the one that was read, and is the one that is replaced.
    (&[Write, Update, CopyReplaceTo],
        ["ok conflict?", "is-a-directory conflict?", "out conflict?", "ok conflict?", "out conflict?", "special-file conflict?"]),
    // A file that was there for a moment is not there any more.
    (&[WriteNew],
        ["ok conflict? not-found?", "is-a-directory conflict? not-found?", "out conflict? not-found?",
         "ok conflict? not-found?", "out conflict? not-found?", "special-file conflict? not-found?"]),
    // What is changed in place is what was opened, or nothing is.
    (&[Append, AppendNew, SetLen],
        ["ok conflict?", "is-a-directory conflict?", "out conflict?", "ok conflict?", "out conflict?", "special-file conflict?"]),
    (&[SetPermissions, SetTimes],
        ["ok", "ok conflict? special-file?", "out conflict?", "ok conflict?", "out conflict?", "special-file"]),
    // Whatever has the name is in the way, wherever it leads.
    (&[CreateNew, CreateDir, RenameTo],
        ["already-exists", "already-exists", "already-exists", "already-exists", "already-exists", "already-exists"]),
    (&[CopyTo],
        ["already-exists conflict?", "already-exists conflict?", "already-exists conflict?", "already-exists conflict?",
         "already-exists conflict?", "already-exists conflict?"]),
    // What was just made may be gone, or another object, before it is entered.
    (&[CreateDirAll],
        ["in-the-way conflict? not-found?", "ok not-found?", "in-the-way already-exists? conflict? not-found?",
         "ok in-the-way? conflict? not-found?", "in-the-way conflict? not-found?", "in-the-way conflict? not-found?"]),
    // The name itself, whatever it is; there is a gap until it is put back.
    (&[RemoveFile],
        ["ok not-found?", "is-a-directory not-found?", "ok not-found?", "ok not-found?", "ok not-found?", "ok not-found?"]),
    (&[RenameFrom], ["ok not-found?", "ok not-found?", "ok not-found?", "ok not-found?", "ok not-found?", "ok not-found?"]),
    (&[RenameReplaceFrom],
        ["ok not-found?", "not-a-directory not-found?", "ok not-found?", "ok not-found?", "ok not-found?", "ok not-found?"]),
    (&[RenameReplaceTo],          ["ok", "is-a-directory", "ok", "ok", "ok", "ok"]),
    (&[RemoveDir],
        ["not-a-directory not-found?", "not-empty not-found?", "not-a-directory not-found?", "not-a-directory not-found?",
         "not-a-directory not-found?", "not-a-directory not-found?"]),
    // A directory by its handle, a link by its name, neither if they change places in between.
    (&[RemoveDirAll],
        ["not-a-directory conflict? not-found?", "ok not-empty? not-found?",
         "ok not-a-directory? is-a-directory? conflict? not-found?", "ok not-a-directory? is-a-directory? conflict? not-found?",
         "ok not-a-directory? is-a-directory? conflict? not-found?", "not-a-directory conflict? not-found?"]),
];

/// If a name on the way is one of these, whatever the operation.
const ON_THE_WAY: [&str; 6] = ["not-a-directory", "ok", "out", "ok", "outside-roots", "not-a-directory"];

/// If the root's own name is another object's: what is worked in is held, and not where it was granted any more.
const AT_THE_ROOT: [&str; 6] = ["root-absent"; 6];

/// What opens for writing what has the name.
const OPEN_FOR_WRITING: [O; 7] = [Write, WriteNew, Update, Append, AppendNew, SetLen, CopyReplaceTo];

/// Each code with the fewest times that it must come.
pub(crate) fn allowed(operation: O, swaps: &[Swap]) -> Vec<(&'static str, usize)> {
    let mut codes = vec![("ok", 1)];
    for swap in swaps {
        let columns = match swap.place {
            Place::Name => at_the_name(operation),
            Place::Parent | Place::Ancestor => ON_THE_WAY,
            Place::Root => AT_THE_ROOT,
        };
        let column = match swap.with {
            With::File => 0,
            With::Dir => 1,
            With::LinkOut | With::LinkRuled => 2,
            With::LinkIn => 3,
            With::Dangling => 4,
            With::Fifo | With::FifoRead => 5,
        };
        for word in columns[column].split(' ') {
            let (word, least) = word.strip_suffix('?').map_or((word, 1), |raced| (raced, 0));
            let word = match word {
                "out" | "in-the-way" if swap.with == With::LinkRuled => "protected",
                "out" => "outside-roots",
                "in-the-way" => "already-exists",
                "text" if swap.with == With::LinkRuled => "ok",
                "text" => "outside-roots",
                word => word,
            };
            codes.push((word, least));
        }
        // ENXIO (open(2)): a file became a pipe without a reader between the look at it and the open for writing.
        if swap.place == Place::Name && swap.with == With::Fifo && OPEN_FOR_WRITING.contains(&operation) {
            codes.push(("io", 0));
        }
    }
    codes
}

fn at_the_name(operation: O) -> [&'static str; 6] {
    AT_THE_NAME.iter().find(|(operations, _)| operations.contains(&operation)).unwrap().1
}
