//! What is exchanged with what: the place in the path, the object that comes in, and the thread's part that exchanges them.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, mkfifoat, renameat, renameat_with};

use crate::operation::{Kind, Operation};
use crate::support::race::Held;

/// Where in `x/y/name` something changes places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Name,
    Parent,
    Ancestor,
    Root,
}

impl Place {
    pub(crate) const ALL: [Self; 4] = [Self::Name, Self::Parent, Self::Ancestor, Self::Root];

    /// The two names, and the directory that they are in, by their path from the root.
    pub(crate) fn names(self) -> (&'static str, [&'static str; 2]) {
        match self {
            Self::Name => ("x/y", ["name", "evil"]),
            Self::Parent => ("x", ["y", "evil"]),
            Self::Ancestor => (".", ["x", "evil"]),
            Self::Root => ("..", ["ROOT", "evil"]),
        }
    }
}

/// What changes places with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum With {
    File,
    /// A directory that holds the same names, inside; in the place of the root, one that lies outside.
    Dir,
    /// To the same names outside.
    LinkOut,
    /// To the same names inside.
    LinkIn,
    /// To the same names, which a rule gives no access to.
    LinkRuled,
    /// To nothing, outside: what creates through it creates there.
    Dangling,
    /// Nobody is at its other end: whoever waits for one waits for ever.
    Fifo,
    /// Somebody reads: what is written arrives.
    FifoRead,
}

impl With {
    /// Those that need no rules.
    pub(crate) const ALL: [Self; 7] =
        [Self::File, Self::Dir, Self::LinkOut, Self::LinkIn, Self::Dangling, Self::Fifo, Self::FifoRead];
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Swap {
    pub(crate) place: Place,
    pub(crate) with: With,
}

impl Swap {
    /// Of the link that comes in. Relative and absolute ones, and both up and down.
    fn link_text(self, kind: Kind) -> &'static str {
        match (self.place, self.with) {
            // There is nothing outside of that name, so it is one that there is.
            (Place::Name, With::LinkOut) if kind == Kind::Nothing => "../../../outside/x/y/canary-name",
            (Place::Name, With::LinkOut) => "../../../outside/x/y/name",
            (Place::Name, With::LinkIn) => LINK_IN,
            (Place::Name, With::LinkRuled) => LINK_RULED,
            (Place::Name, _) => "../../../outside/nothing",
            (Place::Parent, With::LinkOut) => "../../outside/x/y",
            (Place::Parent, With::LinkIn) => "../kin/x/y",
            (Place::Parent, With::LinkRuled) => "../.env/x/y",
            (Place::Parent, _) => "../../outside/nothing",
            (Place::Ancestor, With::LinkOut) => "$BASE/outside/x",
            (Place::Ancestor, With::LinkIn) => "$ROOT/kin/x",
            (Place::Ancestor, With::LinkRuled) => ".env/x",
            (Place::Ancestor, _) => "$BASE/outside/nothing",
            (Place::Root, With::LinkOut) => "outside",
            // Where it stands in the root's place, it leads to the root.
            (Place::Root, With::LinkIn) => "evil",
            (Place::Root, _) => "nothing",
        }
    }

    /// The lines of the tree that make the object that comes in.
    pub(crate) fn lines(self, kind: Kind) -> Vec<String> {
        let (dir, [_, evil]) = self.place.names();
        let evil = format!("{dir}/{evil}");
        match (self.with, self.place) {
            (With::File, _) => vec![format!("file {evil}=inside")],
            (With::Dir, Place::Name) => Kind::Tree.lines(&evil, "inside"),
            (With::Dir, Place::Parent) => kind.lines_in(&evil),
            (With::Dir, Place::Ancestor) => kind.lines_in(&format!("{evil}/y")),
            (With::Dir, Place::Root) => kind.lines_outside(&evil),
            (With::Fifo | With::FifoRead, _) => vec![format!("fifo {evil}")],
            (With::LinkOut | With::LinkIn | With::LinkRuled | With::Dangling, _) => {
                vec![format!("link {evil} -> {}", self.link_text(kind))]
            }
        }
    }

    /// Where an operation may act besides in the directory that is meant.
    pub(crate) fn other_seat(self) -> Option<&'static str> {
        match (self.place, self.with) {
            (Place::Parent, With::Dir) => Some("x/evil"),
            (Place::Ancestor, With::Dir) => Some("evil/y"),
            (Place::Parent | Place::Ancestor, With::LinkIn) => Some("kin/x/y"),
            _ => None,
        }
    }
}

/// Texts of links that stay inside, which may be told.
pub(crate) const LINK_IN: &str = "../../kin/x/y/name";
pub(crate) const LINK_RULED: &str = "../../.env/x/y/name";

/// How many exchanges come between two moments in which others may have the processor: an odd number, or they would find the same object each time.
const BURST: usize = 7;

/// The two names in their directory, which is held: it is not lost where a second attacker moves it.
pub(crate) struct Pair {
    swap: Swap,
    kind: Kind,
    dir: Held,
    /// Whether the operation changes what has the names, which is then put back.
    mends: bool,
    /// A directory outside, which is nobody's.
    aside: PathBuf,
    swaps: usize,
    /// Of names used there.
    count: usize,
    reader: Option<File>,
    written: bool,
}

impl Pair {
    pub(crate) fn new(swap: Swap, operation: Operation, dir: Held, aside: &Path) -> Self {
        let mends = swap.place == Place::Name && operation.changes();
        let aside = aside.to_owned();
        let mut pair =
            Self { swap, kind: operation.meant(), dir, mends, aside, swaps: 0, count: 0, reader: None, written: false };
        let [_, evil] = swap.place.names().1;
        pair.read_fifo(&pair.dir.at(evil));
        pair
    }

    /// One exchange, after which what was taken away or replaced is put back. Whether something was exchanged.
    pub(crate) fn swap(&mut self) -> bool {
        self.swaps += 1;
        if self.swaps.is_multiple_of(BURST) {
            std::thread::yield_now();
        }
        let [name, evil] = self.swap.place.names().1;
        let dir = &self.dir;
        let swapped = if self.swap.place == Place::Name && self.kind == Kind::Nothing {
            // It takes the name, and leaves it again. A file that was made there is replaced.
            renameat(dir, evil, dir, name).is_ok() && renameat(dir, name, dir, evil).is_ok()
        } else {
            renameat_with(dir, name, dir, evil, RenameFlags::EXCHANGE).is_ok()
        };
        if self.mends && !self.is_whole() {
            self.restore();
        }
        swapped
    }

    /// Whether something was written to the pipe.
    pub(crate) fn was_written(&mut self) -> bool {
        if let Some(reader) = &mut self.reader {
            self.written |= reader.read(&mut [0; 16]).is_ok_and(|count| count > 0);
        }
        self.written
    }

    fn paths(&self) -> [PathBuf; 2] {
        self.swap.place.names().1.map(|name| self.dir.at(name))
    }

    /// Both objects are there, at the one name or the other.
    fn is_whole(&self) -> bool {
        let [at_name, at_evil] = self.paths().map(|path| letter(&path));
        let (meant, other) = (self.kind.letter(), self.letter());
        let emptied = |path: &PathBuf| letter(path) == Some('d') && letter(&path.join("d/file")).is_none();
        // Of trees that are removed, something may be left.
        let has_trees = self.kind == Kind::Tree && !self.paths().iter().any(emptied);
        let there = (at_name, at_evil) == (meant, other) || (at_name, at_evil) == (other, meant);
        there && (self.kind != Kind::Tree || has_trees)
    }

    fn letter(&self) -> Option<char> {
        Some(match self.swap.with {
            With::File => 'f',
            With::Dir => 'd',
            With::LinkOut | With::LinkIn | With::LinkRuled | With::Dangling => 'l',
            With::Fifo | With::FifoRead => 'p',
        })
    }

    fn restore(&mut self) {
        let [name, evil] = self.paths();
        let kind = self.kind;
        if kind == Kind::Nothing {
            self.clear(&name);
        } else {
            self.put(&name, |fresh| kind.make(fresh));
        }
        self.was_written();
        let swap = self.swap;
        self.put(&evil, |fresh| match swap.with {
            With::File => fs::write(fresh, "inside").unwrap(),
            With::Dir => Kind::Tree.make(fresh),
            With::Fifo | With::FifoRead => mkfifoat(CWD, fresh, Mode::from_raw_mode(0o600)).unwrap(),
            _ => symlink(swap.link_text(kind), fresh).unwrap(),
        });
        self.read_fifo(&evil);
    }

    fn read_fifo(&mut self, at: &Path) {
        if self.swap.with == With::FifoRead {
            let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
            let options = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(at);
            self.reader = options.ok();
        }
    }

    /// A new object, complete, in the place of whatever is there: in one step, if it can be.
    fn put(&mut self, at: &Path, make: impl FnOnce(&Path)) {
        let fresh = self.fresh();
        make(&fresh);
        while fs::rename(&fresh, at).is_err() {
            self.clear(at);
        }
    }

    fn clear(&mut self, at: &Path) {
        let old = self.fresh();
        if fs::rename(at, &old).is_ok() {
            clear(&old);
        }
    }

    fn fresh(&mut self) -> PathBuf {
        self.count += 1;
        self.aside.join(self.count.to_string())
    }
}

/// Whatever has the name is gone. Whoever holds a directory may still be making something in it.
pub(crate) fn clear(path: &Path) {
    let _ = match letter(path) {
        Some('d') => fs::remove_dir_all(path).or_else(|_| fs::remove_dir_all(path)),
        _ => fs::remove_file(path),
    };
}

/// What has the name: a file, a directory, a link, a pipe, or nothing.
pub(crate) fn letter(path: &Path) -> Option<char> {
    let file_type = fs::symlink_metadata(path).ok()?.file_type();
    let kinds =
        [('f', file_type.is_file()), ('d', file_type.is_dir()), ('l', file_type.is_symlink()), ('p', file_type.is_fifo())];
    kinds.into_iter().find(|(_, is)| *is).map(|(letter, _)| letter)
}
