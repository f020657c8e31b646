//! A grant whose directory was looked for: opened, or known to be missing.
//!
//! May touch: `ambient`, once, for what the operator named. What comes of it is a root.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::access::Access;
use crate::ambient;
use crate::clock::Deadline;
use crate::error::{Detail, Error, ErrorKind, Result, Subject};
use crate::grant::Grant;
use crate::identity::Identity;
use crate::nesting::{Directories, Nested};
use crate::path::host::HostPath;
use crate::path::relative::RelPath;
use crate::path::uri::RootName;
use crate::root::{Held, Pending, Presence, Root, Shared};
use crate::rule::{Rule, Rules, Sets};

pub(crate) struct Opened {
    pub(crate) name: RootName,
    pub(crate) grant: Grant,
    /// Which of the builder's grants this is, from 0 on.
    pub(crate) position: usize,
    /// Those that gave way to it.
    pub(crate) instead_of: Vec<usize>,
    pub(crate) given: PathBuf,
    pub(crate) directory: std::result::Result<ambient::Found, Option<ambient::Missing>>,
    pub(crate) ancestors: Vec<Identity>,
    /// The directories that hold the links by which it is named, and those above them; none where it is not known.
    pub(crate) links_in: Option<Vec<Identity>>,
    /// Rules that hold in this root for its own sake. The ones for all roots come first; where it has no others, they are shared.
    pub(crate) rules: Arc<[Rule]>,
}

impl Opened {
    pub(crate) fn open(name: RootName, grant: Grant, position: usize, rules: Arc<[Rule]>) -> Result<Self> {
        let from_io = |error: io::Error| match error.kind() {
            io::ErrorKind::NotADirectory => {
                Error::detailed(ErrorKind::NotADirectory, Detail::NotADirectoryRoot).advise("name a directory")
            }
            _ => Error::from_io(&error),
        };
        let given = ambient::absolute(&grant.path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidFilename => Error::detailed(ErrorKind::InvalidPath, Detail::NotAbsolute),
            _ => from_io(error),
        })?;
        let (directory, ancestors) = match ambient::open(&given) {
            Ok(found) => {
                let ancestors = ambient::ancestors(&found).map_err(from_io)?;
                (Ok(found), ancestors)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => match ambient::open_nearest_ancestor(&given) {
                Ok(missing) => {
                    let mut ancestors = ambient::ancestors(&missing.ancestor).map_err(from_io)?;
                    ancestors.push(missing.ancestor.identity);
                    (Err(Some(missing)), ancestors)
                }
                Err(_) => (Err(None), Vec::new()),
            },
            Err(error) => return Err(from_io(error)),
        };
        let straight = directory.as_ref().is_ok_and(|found| found.straight);
        let walked = || ambient::passed(&given).ok().map(|passed| passed.into_way_to_last_link());
        let links_in = if straight { Some(Vec::new()) } else { walked() };
        let mut root = Self { name, grant, position, instead_of: Vec::new(), given, directory, ancestors, links_in, rules };
        // What `..` in a text leads to cannot be told by text, so such a spelling would never be recognised.
        if root.given.components().any(|component| component == Component::ParentDir)
            && let Some(real) = root.real_path()
        {
            root.given = real;
        }
        Ok(root)
    }

    /// Its path with every link resolved, as it was found; where it is missing, as it would be.
    fn real_path(&self) -> Option<PathBuf> {
        match &self.directory {
            Ok(found) => Some(found.canonical.clone()),
            Err(missing) => {
                let missing = missing.as_ref()?;
                Some(missing.ancestor.canonical.join(missing.names.iter().collect::<PathBuf>()))
            }
        }
    }

    pub(crate) fn identity(&self) -> Option<Identity> {
        self.directory.as_ref().ok().map(|found| found.identity)
    }

    pub(crate) fn can_be_planted_in(&self, outer: &Opened) -> bool {
        outer.grant.access == Access::Write && self.is_inside(outer)
    }

    /// Whether a link by which it is named lies in `other`, where it can be changed.
    pub(crate) fn is_named_through(&self, other: &Opened) -> bool {
        let holds_one = |links_in: &Vec<Identity>| other.identity().is_some_and(|identity| links_in.contains(&identity));
        other.grant.access == Access::Write && self.links_in.as_ref().is_some_and(holds_one)
    }

    /// Whether a client can be trusted with it; `kept` are the home directory and those above it.
    pub(crate) fn check_named_by_client(&self, kept: &[Identity], directories: &Directories<'_>) -> Result<()> {
        let refuse = |detail| {
            let error = Error::detailed(ErrorKind::InvalidArgument, detail).on(Subject::Root(self.name.as_str().to_owned()));
            Err(error.advise("open a directory further down"))
        };
        let is_top = self.directory.is_ok() && self.ancestors.is_empty();
        if is_top || self.identity().is_some_and(|identity| kept.contains(&identity)) {
            return refuse(Detail::TooWide);
        }
        // Where the way to it is not known, it may lead through anything.
        if self.directory.is_ok() && self.links_in.is_none() || directories.names(self).is_some() {
            return refuse(Detail::ThroughRoot);
        }
        Ok(())
    }

    /// What rules that match at any depth leave of a directory by the names above it, and its own.
    pub(crate) fn ceiling_from_above(&self) -> Access {
        let rules = self.rules.iter().filter(|rule| rule.is_at_any_depth()).cloned();
        let names = self.real_path().map_or_else(RelPath::default, |real| RelPath::from_disk(&real));
        Rules::new(rules, Access::Write).level(&names).as_dir
    }

    pub(crate) fn into_root(self, nested: Nested, chosen: bool, sets: &mut Sets, shared: &Arc<Shared>) -> Result<Root> {
        let real = self.real_path().unwrap_or_else(|| self.given.clone());
        let mut spellings: Vec<HostPath> = HostPath::from_disk(&self.given).into_iter().collect();
        let mut also = |canonical: &Path| {
            let canonical = HostPath::from_disk(canonical).filter(|canonical| !spellings.contains(canonical));
            spellings.extend(canonical);
        };
        let state = match self.directory {
            Ok(found) => {
                also(&real);
                let held = Held::new(found.dir, found.identity, found.at, shared.one_file_system);
                Ok(held.map_err(|error| Error::from_io(&error).on(Subject::Root(self.name.as_str().to_owned())))?)
            }
            Err(Some(missing)) if !chosen => {
                also(&real);
                Err(Some(Pending { ancestor: missing.ancestor.dir, names: missing.names }))
            }
            Err(_) => Err(None),
        };
        let rules = sets.of(&self.rules, nested.rules, nested.ceiling);
        Ok(Root {
            name: self.name,
            access: self.grant.access,
            no_delete: self.grant.no_delete,
            deadline: self.grant.expires_in.and_then(Deadline::after),
            rules,
            given: self.given,
            real,
            spellings,
            inside: nested.inside.map(|(_, name)| name),
            through: nested.through,
            position: self.position,
            instead_of: self.instead_of,
            state: Presence::new(state),
            shared: Arc::clone(shared),
        })
    }
}
