//! Where the answer is another one than the plain call's, on purpose: each rule with its reason, and exactly what must come instead.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::calls::{Call, Last};
use super::trace::{End, Trace, trace};

/// Everything that an expectation may depend on: known before anything is done, from the plain tree.
pub(crate) struct Cell<'a> {
    pub(crate) call: &'a Call,
    pub(crate) root: &'a Path,
    /// The path below the root, with a slash behind it where a directory is meant.
    pub(crate) path: &'a str,
    /// The entry that it names, no last link followed.
    named: Trace,
    /// What the call is about.
    led: Trace,
}

/// What must come of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// The plain call's outcome, answer and tree.
    Plain,
    /// The same, where the file was given its bytes anew before, and so has one name only.
    PlainOnItsOwn(PathBuf),
    /// This code, and the tree as it was. The plain call is not made.
    Refused(&'static str),
    /// The code of a look at it, or this one where the look finds something; and the tree as it was.
    RefusedAsLook(&'static str),
}

pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) judge: fn(&Cell<'_>) -> Option<Expect>,
}

impl<'a> Cell<'a> {
    pub(crate) fn new(call: &'a Call, root: &'a Path, path: &'a str) -> Self {
        let bare = path.trim_end_matches('/');
        let named = trace(root, bare, false);
        let led = match call.last {
            Last::Follow => trace(root, path, true),
            Last::Keep => trace(root, path, false),
            Last::New => named.clone(),
            Last::Put if path.ends_with('/') => named.clone(),
            Last::Put => trace(root, path, true),
        };
        Self { call, root, path, named, led }
    }

    fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.call.name)
    }

    fn slash(&self) -> bool {
        self.path.ends_with('/')
    }

    /// What is there where the call leads to.
    fn object(&self) -> Option<(&Path, fs::Metadata)> {
        let (End::Entry(path) | End::Unnamed(path)) = &self.led.end else { return None };
        Some((path, fs::symlink_metadata(path).ok()?))
    }

    fn names_link(&self) -> Option<&Path> {
        let End::Entry(path) = &self.named.end else { return None };
        fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()).then_some(path)
    }
}

fn refused(code: &'static str, when: bool) -> Option<Expect> {
    when.then_some(Expect::Refused(code))
}

const OPENS: [&str; 7] = ["open", "read", "read_to_string", "update", "copy it", "copy_replace a file by it", "set_len"];
const IN_PLACE: [&str; 4] = ["append", "set_len", "set_permissions", "set_times"];
const REPLACES: [&str; 3] = ["write", "update", "copy_replace it by a file"];
const ATTRIBUTES: [&str; 2] = ["set_permissions", "set_times"];

/// The rule by which no plain call is made: it would leave the tree.
pub(crate) const OUTSIDE: &str = "outside";

/// The first that fits decides.
pub(crate) const RULES: [Rule; 17] = [
    Rule {
        name: "a link that leads out is in the way",
        reason: "create_dir_all follows a link that has the name only if it stays inside, and says what mkdir says",
        judge: |cell| {
            let path = cell.is(&["create_dir_all"]).then(|| cell.names_link()).flatten()?;
            let below = path.strip_prefix(cell.root).unwrap().to_str().unwrap();
            refused("already-exists", trace(cell.root, below, true).end == End::Outside)
        },
    },
    Rule {
        name: OUTSIDE,
        reason: "what leads out is outside, whether or not anything is there",
        judge: |cell| refused("outside-roots", cell.led.end == End::Outside),
    },
    Rule {
        name: "no entry",
        reason: "a path that is . or ends in .. names no entry to remove, move or replace: refused before anything is touched",
        judge: |cell| {
            let what = ["remove", "rename", "copy a", "copy_replace it"].iter().any(|what| cell.call.name.starts_with(what));
            refused("invalid-path", what && matches!(cell.named.end, End::Unnamed(_)))
        },
    },
    Rule {
        name: "the root is in the way",
        reason: "what is to be created anew is there already, whether it is called a directory or not",
        judge: |cell| refused("already-exists", cell.is(&["create_new"]) && matches!(cell.named.end, End::Unnamed(_))),
    },
    Rule {
        name: "a slash behind a link",
        reason: "it is followed first, so that it tells where it leads; it is no directory to be removed or moved itself",
        judge: |cell| {
            let moves = cell.call.changes && cell.call.last == Last::Keep && cell.slash();
            (moves && cell.names_link().is_some()).then_some(Expect::RefusedAsLook("not-a-directory"))
        },
    },
    Rule {
        name: "read_link tells nothing of the host",
        reason: "the text of a link is shown where it stays inside",
        judge: |cell| {
            let (path, metadata) = cell.is(&["read_link"]).then(|| cell.object()).flatten()?;
            let text = metadata.is_symlink().then(|| fs::read_link(path).unwrap())?;
            let mut depth = path.strip_prefix(cell.root).unwrap().components().count() - 1;
            let climbs = text.to_str().unwrap().split('/').any(|part| match part {
                "" | "." => false,
                ".." => match depth.checked_sub(1) {
                    Some(less) => {
                        depth = less;
                        false
                    }
                    None => true,
                },
                _ => {
                    depth += 1;
                    false
                }
            });
            refused("outside-roots", text.has_root() || climbs)
        },
    },
    Rule {
        name: "special files",
        reason: "only regular files are opened, and no open waits for a peer; nor are the attributes of pipes and sockets changed",
        judge: |cell| {
            let (_, metadata) = cell.object()?;
            let pipe = metadata.file_type().is_fifo() && cell.is(&OPENS);
            let special = metadata.file_type().is_fifo() || metadata.file_type().is_socket();
            refused("special-file", !cell.slash() && !cell.led.slash && (pipe || special && cell.is(&ATTRIBUTES)))
        },
    },
    Rule {
        name: "the type first",
        reason: "what cannot be read is told by its type first, on every way",
        judge: |cell| {
            let (_, metadata) = cell.object()?;
            let closed = metadata.is_dir() && metadata.mode() & 0o400 == 0;
            let open = cell.is(&["open", "read", "read_to_string", "update"]);
            refused("is-a-directory", closed && open)
        },
    },
    Rule {
        name: "the type before the place",
        reason: "that a thing is of the wrong kind to be removed or moved is told also where nothing may be",
        judge: |cell| {
            let (path, metadata) = cell.object()?;
            let closed = fs::metadata(path.parent()?).unwrap().mode() & 0o200 == 0;
            let [removes, moves] = ["remove_dir", "rename_replace a directory by it"].map(|name| cell.is(&[name]));
            // rename(2) answers ENOTEMPTY where the directory to be replaced is the parent.
            let below = path.parent() == Some(&cell.root.join("d"));
            match !metadata.is_dir() {
                true if removes && closed => Some(Expect::Refused("not-a-directory")),
                true if moves && (closed || below) => {
                    Some(Expect::Refused(if cell.slash() { "not-a-directory" } else { "is-a-directory" }))
                }
                _ => None,
            }
        },
    },
    Rule {
        name: "in place, other names",
        reason: "a change in place would reach the other names, which may lie outside",
        judge: |cell| {
            let (_, metadata) = cell.object()?;
            refused(
                "hard-linked",
                metadata.is_file() && metadata.nlink() > 1 && !cell.slash() && !cell.led.slash && cell.is(&IN_PLACE),
            )
        },
    },
    Rule {
        name: "a new file, other names",
        reason: "writing makes a new file in place of the name: the other names keep the old one",
        judge: |cell| {
            let (path, metadata) = cell.object()?;
            let several = metadata.is_file() && metadata.nlink() > 1 && !cell.slash() && !cell.led.slash && cell.is(&REPLACES);
            several.then(|| Expect::PlainOnItsOwn(path.to_path_buf()))
        },
    },
    Rule {
        name: "a new file, a closed directory",
        reason: "the new file is made beside the old one",
        judge: |cell| {
            let (path, metadata) = cell.object()?;
            let closed = fs::metadata(path.parent()?).unwrap().mode() & 0o200 == 0;
            refused("os-denied", metadata.is_file() && closed && !cell.slash() && !cell.led.slash && cell.is(&REPLACES))
        },
    },
    Rule {
        name: "times by handle",
        reason: "times are changed through a handle, and what can be opened neither for reading nor for writing has none",
        judge: |cell| {
            let (_, metadata) = cell.is(&["set_times"]).then(|| cell.object()).flatten()?;
            let needed = if metadata.is_dir() { 0o400 } else { 0o600 };
            refused("os-denied", metadata.mode() & needed == 0 && (metadata.is_dir() || !cell.slash() && !cell.led.slash))
        },
    },
    Rule {
        name: "nothing back from nowhere",
        reason: "nothing leads back from a name that is not there, and create_dir_all makes none to go back from, nor what a link names",
        judge: |cell| {
            let End::Stuck { missing: true, of_link, left, .. } = &cell.named.end else { return None };
            refused("not-found", cell.is(&["create_dir_all"]) && (*of_link || left.iter().any(|part| part == "..")))
        },
    },
    Rule {
        name: "onto itself",
        reason: "a file is not copied onto itself, by another name either",
        judge: |cell| {
            let (_, metadata) = cell.object()?;
            let f = fs::metadata(cell.root.join("f")).ok()?;
            let same = (f.dev(), f.ino()) == (metadata.dev(), metadata.ino()) && !cell.slash() && !cell.led.slash;
            refused(
                "invalid-argument",
                same && cell.call.name.starts_with("copy_replace") && !cell.call.name.ends_with("directory"),
            )
        },
    },
    Rule {
        name: "a slash behind the new name",
        reason: "it is for directories, and a file is none; a link before it is followed, so that it tells where it leads",
        judge: |cell| {
            let new = cell.is(&["copy_replace it by a file"]) && cell.slash();
            let stuck = matches!(&cell.led.end, End::Stuck { .. });
            new.then_some(if stuck { Expect::RefusedAsLook("not-a-directory") } else { Expect::Refused("not-a-directory") })
        },
    },
    Rule {
        name: "a text that calls a file a directory",
        reason: "a link whose text calls an existing file a directory: the file is none; a dot says no more than the slash",
        judge: |cell| {
            let puts = cell.call.last == Last::Put || cell.is(&["copy_replace it by a file"]);
            let called = puts && cell.led.slash && !cell.slash();
            match cell.object() {
                None if called && matches!(cell.led.end, End::Stuck { .. }) => Some(Expect::RefusedAsLook("is-a-directory")),
                Some((_, metadata)) if called && !metadata.is_dir() => Some(Expect::Refused("not-a-directory")),
                _ => refused("is-a-directory", called && cell.led.dot && matches!(cell.led.end, End::Entry(_))),
            }
        },
    },
];

/// A text that is another way to write a path, or none: before anything is looked up.
pub(crate) enum Written<'a> {
    /// Below the root.
    Below(String),
    Refused(&'a str),
}

pub(crate) const TEXTS: [(&str, &str); 7] = [
    ("no path", "an empty text is no path; a control character is written as root://NAME/a%0Ab"),
    ("limits", "our own limits, refused before any look: one answer on every way"),
    ("no URI", "a URI is written in one way, and names this machine"),
    ("elsewhere", "a text that names no place below the root is outside"),
    ("escapes", "a root:// URI is percent-encoded"),
    ("Unicode forms", "a name in another Unicode form is found if exactly one fits"),
    ("a dot", "a dot behind a slash says no more than the slash: a directory is meant"),
];

/// What a text says, by which of `TEXTS`. `root`: the root's own path.
pub(crate) fn written(text: &str, root: &Path) -> (Written<'static>, Vec<&'static str>) {
    let refused = |code, rule| (Written::Refused(code), vec![rule]);
    let names = |path: &str| path.split('/').filter(|part| !part.is_empty() && *part != ".").count();
    if text.is_empty() || text.contains(char::is_control) {
        return refused("invalid-path", "no path");
    }
    if text.len() > 4095 || names(text) > 256 || text.split('/').any(|part| part.len() > 255) {
        return refused("invalid-path", "limits");
    }
    let host = text.strip_prefix("file://").map(|rest| rest.strip_prefix("localhost").unwrap_or(rest));
    if text.starts_with("file:") && !host.is_some_and(|rest| rest.starts_with('/')) {
        return refused("invalid-uri", "no URI");
    }
    let mut rules = Vec::new();
    let mut below = if let Some(rest) = text.strip_prefix("root://") {
        let dots = rest.contains("%2e");
        let Some(rest) = rest.strip_prefix("root").filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
            return refused("outside-roots", "elsewhere");
        };
        if dots {
            return refused("invalid-uri", "no URI");
        }
        if rest.contains('%') {
            rules.push("escapes");
        }
        rest.replace("%66", "f")
    } else if let Some(path) = host.or_else(|| text.starts_with('/').then_some(text)) {
        match path.strip_prefix(root.to_str().unwrap()).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            Some(rest) => rest.to_owned(),
            None => return refused("outside-roots", "elsewhere"),
        }
    } else if text == "~" || text.starts_with("~/") {
        return refused("outside-roots", "elsewhere");
    } else {
        text.to_owned()
    };
    if let Some(form) = other_form(&below).filter(|form| root.join(form).exists() && !root.join(&below).exists()) {
        below = form;
        rules.push("Unicode forms");
    }
    if below.ends_with("/.") || below.ends_with("/./") {
        rules.push("a dot");
        while let Some(less) = below.strip_suffix("/.").or_else(|| below.strip_suffix("/./")) {
            below = format!("{less}/");
        }
    }
    (Written::Below(below), rules)
}

fn other_form(text: &str) -> Option<String> {
    let pairs = [("e\u{301}", "\u{e9}"), ("i\u{308}", "\u{ef}")];
    pairs.iter().find_map(|(apart, whole)| {
        let found = |one: &str, other: &str| text.contains(one).then(|| text.replace(one, other));
        found(apart, whole).or_else(|| found(whole, apart))
    })
}
