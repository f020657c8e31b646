//! The guarded walk: one name at a time from the held parent, never following.
//!
//! May touch: `step` and `fold`. Sound although every name can change meanwhile: each step starts from a handle that was reached from
//! the floor, names a single entry of it, and opens that entry itself; a link is read, not followed, and its text is walked by the
//! same rules; `..` goes back to a handle that is held, and above the floor there is none. Where the root ends with its mount, each handle is asked
//! where it lies.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::error::{Detail, Error, ErrorKind};
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::path::host::HostPath;
use crate::path::relative::{RelPath, Step, may_fold};
use crate::path::style::PathStyle;
use crate::resolve::fold::{self, Fold};
use crate::resolve::judge::{Judge, NoRules};
use crate::resolve::slot::{self, Slot, Spot};
use crate::resolve::step::{self, Entered, Opened, Target};
use crate::resolve::way::Way;
use crate::resolve::{Found, Want};
use crate::root::Place;
use crate::rule::is_reserved;

/// Most links in one resolution, as in Linux (path_resolution(7)).
const LINK_LIMIT: usize = 40;

/// A step that owns its name.
enum Todo {
    Parent,
    /// `typed`: by the caller, who may use another Unicode form than the disk. Names from the disk are meant to the byte.
    Name {
        name: OsString,
        typed: bool,
    },
}

struct Walk<'a, J> {
    place: &'a Place,
    /// The path below the floor of where the walk began; none where it began at the floor, or has gone back there.
    base_path: Option<RelPath>,
    /// Directories entered below the base.
    way: Way,
    /// Steps still to be taken, the next one last.
    todo: Vec<Todo>,
    /// Whether the end is called a directory: by the path, or by a link's text that ends with a slash.
    must_be_dir: bool,
    /// Whether the caller wishes for a directory.
    wants_dir: bool,
    /// Whether the end has to be searchable as well: a link's text that ends with `/.`.
    must_be_searchable: bool,
    /// The name of what was found, where that was not entered.
    end: Option<OsString>,
    links: usize,
    judge: &'a mut J,
}

pub(crate) fn walk<J: Judge>(place: &Place, path: &RelPath, want: Want, judge: &mut J) -> Result<Found, Error> {
    Walk::new(place, path, want, judge)?.run(want, want.follows_last(path))
}

/// The real names from the floor to what a path leads to, and what that is: no link is among them.
pub(crate) fn real_names<J: Judge>(place: &Place, path: &RelPath, dir: bool, judge: &mut J) -> Result<(RelPath, Found), Error> {
    let mut walk = Walk::new(place, path, Want::Metadata, judge)?;
    walk.wants_dir = dir;
    let found = walk.run(Want::Metadata, true)?;
    let mut names = RelPath::default();
    walk.way.names().chain(walk.end.as_deref()).for_each(|name| names.push_name(name));
    Ok((names, found))
}

impl<'a, J: Judge> Walk<'a, J> {
    fn new(place: &'a Place, path: &RelPath, want: Want, judge: &'a mut J) -> Result<Self, Error> {
        let (base, base_path) = match &place.start {
            Some(start) => (Arc::clone(&start.dir), Some(start.path.clone())),
            None => (Arc::clone(place.floor_dir()?), None),
        };
        let must_be_dir = path.must_be_dir();
        let mut walk = Walk {
            place,
            way: Way::new(base, place.mounts()?),
            base_path,
            todo: Vec::new(),
            must_be_dir,
            wants_dir: want == Want::Dir,
            must_be_searchable: false,
            end: None,
            links: 0,
            judge,
        };
        walk.put(path);
        Ok(walk)
    }
}

impl<J: Judge> Walk<'_, J> {
    fn put(&mut self, path: &RelPath) {
        self.todo.extend(path.steps().rev().map(|step| match step {
            Step::Parent => Todo::Parent,
            Step::Name(name) => Todo::Name { name: name.to_owned(), typed: path.is_typed() && may_fold(name) },
        }));
    }

    /// How many directories deep below the floor the walk stands. The path of a base that is not the floor is text, with links and `..`
    /// in it: where that leads is found by walking it, and if it leads nowhere any more, the depth is not known.
    fn depth(&self) -> Option<usize> {
        let Some(path) = &self.base_path else { return Some(self.way.len()) };
        let mut way = Walk {
            place: self.place,
            way: Way::new(Arc::clone(self.place.floor_dir().ok()?), self.way.mounts()),
            base_path: None,
            todo: Vec::new(),
            must_be_dir: true,
            wants_dir: true,
            must_be_searchable: false,
            end: None,
            links: 0,
            judge: &mut NoRules,
        };
        way.put(path);
        way.run(Want::Metadata, true).ok()?;
        // The path may lead to another directory by now.
        if Identity::of(&*way.current().ok()?).ok()? != Identity::of(self.way.top()).ok()? {
            return None;
        }
        Some(way.way.len() + self.way.len())
    }

    fn current(&mut self) -> Result<Arc<Dir>, Error> {
        self.way.last().map_err(|error| Error::from_io(&error))
    }

    fn run(&mut self, want: Want, follow_last: bool) -> Result<Found, Error> {
        while let Some(todo) = self.todo.pop() {
            match todo {
                Todo::Parent => self.up()?,
                Todo::Name { name, typed } => {
                    let enters = self.must_be_dir || self.wants_dir;
                    let last = self.todo.is_empty() && (!enters || want.is_slot());
                    self.judge.enter(&name, self.todo.is_empty(), self.must_be_dir)?;
                    if last && want.is_slot() {
                        if let Some(slot) = self.slot(name, typed, want)? {
                            return Ok(Found::Slot(slot));
                        }
                        continue;
                    }
                    match self.name(&name, last.then_some(want), follow_last) {
                        Ok(Some(found)) => {
                            self.end = Some(name);
                            return Ok(found);
                        }
                        Ok(None) => {}
                        Err(error) if typed && error.kind() == ErrorKind::NotFound => self.fold(&name)?,
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        self.arrive(want)
    }

    /// One name: the result if it was the last one, otherwise one directory deeper or a link's text ahead.
    fn name(&mut self, name: &OsStr, last: Option<Want>, follow_last: bool) -> Result<Option<Found>, Error> {
        if self.judge.is_exact(name) && !slot::holds_exactly(&*self.current()?, name).map_err(|error| Error::from_io(&error))? {
            return Err(ErrorKind::NotFound.into());
        }
        let mounts = self.way.mounts();
        match last {
            None => match step::enter(&*self.current()?, name, mounts).map_err(|error| Error::from_io(&error))? {
                Entered::Dir(dir) => self.way.push(name.to_owned(), dir),
                Entered::Link(target) => self.follow(&target)?,
                Entered::Other => return Err(ErrorKind::NotADirectory.into()),
            },
            Some(Want::File) => match step::open(&*self.current()?, name, mounts).map_err(|error| Error::from_open(&error))? {
                Opened::File(file, metadata) => return Ok(Some(Found::File(file, Metadata::from_cap_std(&metadata)))),
                Opened::Link(target) => self.follow(&target)?,
                Opened::Other(metadata) => return Ok(Some(Found::Metadata(Metadata::from_cap_std(&metadata)))),
            },
            Some(want) => {
                let seen = step::see(&*self.current()?, name, mounts).map_err(|error| Error::from_io(&error))?;
                match seen.link {
                    Some(target) if follow_last => self.follow(&target)?,
                    Some(target) if want == Want::LinkText => {
                        let Target::Text(text) = target else { return Err(ErrorKind::OutsideRoots.into()) };
                        return Ok(Some(Found::Link { text, depth: self.depth() }));
                    }
                    _ => return Ok(Some(Found::Metadata(Metadata::from_cap_std(&seen.metadata)))),
                }
            }
        }
        Ok(None)
    }

    /// The last name where a slot is wanted; `None` if a link's text is ahead.
    fn slot(&mut self, name: OsString, typed: bool, want: Want) -> Result<Option<Slot>, Error> {
        let (exact, mounts) = (self.judge.is_exact(&name), self.way.mounts());
        let name = match slot::look(&*self.current()?, &name, typed, exact, mounts)? {
            Spot::Entry { name: found, .. } if found != name => {
                self.judge.leave();
                self.todo.push(Todo::Name { name: found, typed: false });
                return Ok(None);
            }
            Spot::Entry { seen, .. } if want == Want::Target && seen.link.is_some() => {
                if let Some(target) = &seen.link {
                    self.follow(target)?;
                }
                return Ok(None);
            }
            Spot::Entry { seen, .. } => {
                if self.must_be_searchable && seen.metadata.is_dir() {
                    self.check_searchable(&name)?;
                }
                name
            }
            Spot::Nothing => name,
        };
        if is_reserved(&name) {
            return Err(ErrorKind::Protected.into());
        }
        let level = self.judge.level();
        let must_be_dir = self.must_be_dir;
        Ok(Some(Slot { dir: self.take_current()?, name, level, must_be_dir, exact, only_file: false, mounts }))
    }

    /// A dot was to be looked up in the directory of this name. What has become another thing meanwhile has no dot.
    fn check_searchable(&mut self, name: &OsStr) -> Result<(), Error> {
        let io = |error: std::io::Error| Error::from_io(&error);
        let mounts = self.way.mounts();
        match step::enter(&*self.current()?, name, mounts).map_err(io)? {
            Entered::Dir(dir) => step::reenter(&dir).map_err(io),
            Entered::Link(_) | Entered::Other => Err(ErrorKind::Conflict.into()),
        }
    }

    /// The directory that the walk stands in, which ends it.
    fn take_current(&mut self) -> Result<Dir, Error> {
        self.way.take_last().map_err(|error| Error::from_io(&error))
    }

    /// `..`: back to the directory before, by its handle.
    fn up(&mut self) -> Result<(), Error> {
        step::reenter(&*self.current()?).map_err(|error| Error::from_io(&error))?;
        if self.way.pop().is_some() {
            self.judge.leave();
            return Ok(());
        }
        // Above the directory that the walk started from: its parents are not held, so they are walked to from the floor.
        let Some(base_path) = self.base_path.take() else { return Err(ErrorKind::OutsideRoots.into()) };
        self.restart()?;
        self.todo.push(Todo::Parent);
        self.put(&base_path);
        Ok(())
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.way = Way::new(Arc::clone(self.place.floor_dir()?), self.way.mounts());
        self.base_path = None;
        self.judge.restart();
        Ok(())
    }

    /// Puts a link's text ahead of what is left. A text that is absolute counts if it names a place below the floor.
    fn follow(&mut self, target: &Target) -> Result<(), Error> {
        self.judge.link(self.todo.is_empty())?;
        self.judge.leave();
        let Target::Text(text) = target else { return Err(ErrorKind::OutsideRoots.into()) };
        self.links += 1;
        if self.links > LINK_LIMIT {
            return Err(ErrorKind::SymlinkLoop.into());
        }
        let target = if text.has_root() || text.is_absolute() {
            let target = HostPath::from_disk(text).and_then(|target| self.place.below_floor(&target));
            let target = target.ok_or(ErrorKind::OutsideRoots)?;
            self.restart()?;
            target
        } else {
            RelPath::of_link(text, PathStyle::host()).ok_or(ErrorKind::OutsideRoots)?
        };
        if self.todo.is_empty() {
            self.must_be_dir |= target.must_be_dir();
            self.must_be_searchable |= ends_with_dot(text);
        }
        self.put(&target);
        Ok(())
    }

    /// Nothing is there by this name: is there one that only its Unicode form tells apart?
    fn fold(&mut self, name: &OsStr) -> Result<(), Error> {
        match fold::find(&*self.current()?, name).map_err(|error| Error::from_io(&error))? {
            Fold::One(found) if found != name => {
                self.judge.leave();
                self.todo.push(Todo::Name { name: found, typed: false });
                Ok(())
            }
            // The very name appeared meanwhile, or nothing fits.
            Fold::One(_) | Fold::Nothing => Err(ErrorKind::NotFound.into()),
            Fold::Several => Err(Error::detailed(ErrorKind::Ambiguous, Detail::SeveralForms)),
        }
    }

    /// All steps are taken, and the current directory is what they lead to.
    fn arrive(&mut self, want: Want) -> Result<Found, Error> {
        let io = |error: std::io::Error| Error::from_io(&error);
        if self.must_be_searchable {
            step::reenter(&*self.current()?).map_err(io)?;
        }
        match want {
            Want::File => {
                self.judge.arrive()?;
                Err(ErrorKind::IsADirectory.into())
            }
            Want::LinkText | Want::Metadata | Want::OwnMetadata => {
                self.current()?.dir_metadata().map(|metadata| Found::Metadata(Metadata::from_cap_std(&metadata))).map_err(io)
            }
            Want::Dir | Want::Name | Want::Target => {
                let level = self.judge.level();
                Ok(Found::Dir(self.take_current()?, level))
            }
        }
    }
}

/// A dot at the end is looked up in the directory before it, which has to be searchable for that.
fn ends_with_dot(text: &Path) -> bool {
    let mut text = text.as_os_str().as_encoded_bytes();
    let is_slash = |byte: &u8| std::path::is_separator(char::from(*byte));
    while let Some((last, rest)) = text.split_last()
        && is_slash(last)
    {
        text = rest;
    }
    text.strip_suffix(b".").and_then(<[u8]>::last).is_some_and(is_slash)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::rule::Level;
    use std::os::unix::fs::symlink;

    /// Writes down what it is told, and refuses one name.
    #[derive(Default)]
    struct Clerk {
        told: Vec<String>,
        forbidden: &'static str,
    }

    impl Judge for Clerk {
        fn enter(&mut self, name: &OsStr, _: bool, _: bool) -> Result<(), ErrorKind> {
            self.told.push(name.to_str().unwrap().to_owned());
            if name == self.forbidden { Err(ErrorKind::Protected) } else { Ok(()) }
        }
        fn link(&mut self, _: bool) -> Result<(), ErrorKind> {
            Ok(())
        }
        fn arrive(&self) -> Result<(), ErrorKind> {
            Ok(())
        }
        fn leave(&mut self) {
            self.told.push("<".to_owned());
        }
        fn restart(&mut self) {
            self.told.push("/".to_owned());
        }
        fn is_exact(&self, _: &OsStr) -> bool {
            false
        }
        fn level(&self) -> Level {
            Level::free()
        }
    }

    fn place(folder: &Path) -> Place {
        let roots = crate::Roots::builder().root(folder, Access::Read).open().unwrap();
        roots.place_of_first()
    }

    fn judged(place: &Place, path: &str, forbidden: &'static str) -> (String, &'static str) {
        let mut clerk = Clerk { forbidden, ..Clerk::default() };
        let path = RelPath::parse(path, PathStyle::Unix).unwrap();
        let outcome = walk(place, &path, Want::Metadata, &mut clerk);
        (clerk.told.join(" "), outcome.err().map_or("ok", |error| error.code()))
    }

    /// Catches: a rule on the typed names only, which a link, an absolute link or another Unicode form walks around.
    #[test]
    fn every_name_is_judged_before_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir_all(at.join("d")).unwrap();
        for name in ["secret", "d/e\u{301}"] {
            std::fs::write(at.join(name), "").unwrap();
        }
        symlink("../secret", at.join("d/l")).unwrap();
        symlink(at.join("d/l"), at.join("abs")).unwrap();
        let place = place(&at);
        for (path, told, code) in [
            ("d/e\u{301}", "d e\u{301}", "ok"),
            ("d/../secret", "d < secret", "protected"),
            ("d/l", "d l < < secret", "protected"),
            ("abs", "abs < / d l < < secret", "protected"),
            ("d/\u{e9}", "d \u{e9} < e\u{301}", "ok"),
            ("secret/../d", "secret", "protected"),
            ("../secret", "", "outside-roots"),
        ] {
            assert_eq!(judged(&place, path, "secret"), (told.to_owned(), code), "{path}");
        }
        assert_eq!(judged(&place, "d/missing", "missing").1, "protected", "also where nothing is there");
    }
}
