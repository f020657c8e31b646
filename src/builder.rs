//! The operator's side: grants become roots.
//!
//! May touch: `ambient`, once, in [`Builder::open`]. What is given here is authority; nothing of it comes from a client.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::Access;
use crate::ambient;
use crate::error::{Detail, Error, ErrorKind, Result, Subject};
use crate::fenced;
use crate::grant::Grant;
use crate::identity::Identity;
use crate::nesting::{Directories, nest};
use crate::observe::{Observer, Watch};
use crate::opened::Opened;
use crate::path::host::HostPath;
use crate::path::region::{Region, Same};
use crate::path::routes::{Route, Routes, Start};
use crate::path::style::PathStyle;
use crate::path::uri::RootName;
use crate::root::Shared;
use crate::roots::Roots;
use crate::rule::{Rule, Sets};

/// Largest file that is read whole, in bytes, unless the builder says otherwise.
pub(crate) const READ_LIMIT: u64 = 64 * 1024 * 1024;

/// Collects grants; [`Builder::open`] makes them real.
#[must_use = "grants do nothing until they are opened"]
pub struct Builder {
    grants: Vec<Grant>,
    rules: Vec<(String, Access)>,
    observer: Option<Arc<dyn Observer>>,
    hide_host_paths: bool,
    without_openat2: bool,
    refuse_hard_links: bool,
    one_file_system: bool,
    read_limit: u64,
    outside: Vec<PathBuf>,
    named_by_client: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            grants: Vec::new(),
            rules: Vec::new(),
            observer: None,
            hide_host_paths: false,
            without_openat2: false,
            refuse_hard_links: false,
            one_file_system: false,
            read_limit: READ_LIMIT,
            outside: Vec::new(),
            named_by_client: false,
        }
    }
}

impl Builder {
    /// Grants `access` to the directory `path`. Its name is the last part of the path in lower case; a second root of the same name
    /// gets `-2`, in order.
    pub fn root(self, path: impl AsRef<Path>, access: Access) -> Self {
        self.grant(Grant::new(path).access(access))
    }

    /// Grants `access` to the directory `path` by the name `name`: 1 to 64 of the characters `a-z 0-9 . _ -`.
    pub fn named(self, name: impl Into<String>, path: impl AsRef<Path>, access: Access) -> Self {
        self.grant(Grant::new(path).name(name).access(access))
    }

    /// Adds a grant with all that can be said of one.
    pub fn grant(mut self, grant: Grant) -> Self {
        self.grants.push(grant);
        self
    }

    /// A ceiling of access for names that match `glob`, and for everything below them, in all roots. Of several rules that match, the
    /// strictest holds; no rule gives more than its root's access.
    ///
    /// Within a name `*` stands for any characters, `?` for one, `[a-z]` and `[!a-z]` for one of a set; `**` alone for any number of names.
    /// A glob without a slash before its end matches at any depth, one with a slash from the top of each root, and one that ends with a
    /// slash directories (and links) only. `X/**` also keeps `X` itself from being created, replaced, renamed or removed. Names are compared
    /// by full Unicode case folding and NFC (Unicode 3.13, D145).
    ///
    /// A name whose ceiling is [`Access::None`] is neither listed nor found nor created: it is `protected`, existing or not. What matters
    /// is by which names a file is reached, so a link to such a name is refused as well, and no rename or copy takes anything out of a rule
    /// or into one.
    pub fn rule(mut self, glob: impl Into<String>, access: Access) -> Self {
        self.rules.push((glob.into(), access));
        self
    }

    /// Who is told of each operation and its outcome.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Keeps host paths out of errors even where the caller typed one.
    pub fn hide_host_paths(mut self, hide: bool) -> Self {
        self.hide_host_paths = hide;
        self
    }

    /// Largest file, in bytes, that `read` and `read_to_string` take. Default: 64 MiB.
    pub fn read_limit(mut self, bytes: u64) -> Self {
        self.read_limit = bytes;
        self
    }

    /// Refuses files that have more names than one as `hard-linked`, also for reading: a second name that somebody else made, inside or outside,
    /// lets a file be read that a rule keeps by its first. Off by default, since package stores and backups are made of such files.
    pub fn refuse_hard_links(mut self) -> Self {
        self.refuse_hard_links = true;
        self
    }

    /// Ends each root where the mount of its directory ends: a directory or a file that something else is mounted on is `outside-roots`, by its name,
    /// through links and `..`, at the end of a path and on the way. A listing and a walk show it by its name and do not go in, a copy of a tree counts
    /// it as skipped, and a tree that holds one is not removed. A root that is granted on another mount inside of one is a root of its own.
    ///
    /// Judged at each operation on what was opened, so that a mount counts from the moment that it is there; what is open by then stays so. A
    /// bind mount is one as well, of the same disk too, and what is behind it by another way on the root's own mount is not. Before Linux 5.8, and on
    /// other systems, only the number of the device is told: there a bind mount of the same device is crossed.
    pub fn one_file_system(mut self) -> Self {
        self.one_file_system = true;
        self
    }

    /// For directories that a client chose, where the operator said that its choice is authority. Refuses the top of a disk, the home directory
    /// and what lies above it, by the identity of what was opened; and a directory that is named through a link in another one of them that may
    /// be written, since whoever writes there chooses where the link leads. Rules that match at any depth count for the names above a
    /// directory as well: what is below a `.git` is judged so when that itself is the root.
    pub fn named_by_client(mut self) -> Self {
        self.named_by_client = true;
        self
    }

    /// Resolves every path by the guarded walk, as where the kernel lacks `openat2(2)`: slower, with the same answers. For tests and
    /// comparisons.
    pub fn without_openat2(mut self) -> Self {
        self.without_openat2 = true;
        self
    }

    /// Keeps a file of the operator, such as a configuration or a log, out of what is served: [`Builder::open`] fails if the way to `path` passes
    /// through a root, whatever its access. Directories are compared by identity, and every directory counts that a link on the way is in or leads
    /// through, since whoever may write there could put another file in its place. The file need not exist, its directory has to. A root that
    /// is missing now stays absent if one of those directories is moved to its place.
    pub fn keep_outside(mut self, path: impl AsRef<Path>) -> Self {
        self.outside.push(path.as_ref().to_owned());
        self
    }

    /// Opens the directories. `~/` and relative paths are resolved here, once. A directory that is missing does not stop the others:
    /// its root is absent until it appears (see [`RootInfo::is_absent`](crate::RootInfo::is_absent)). With no grant at all, every
    /// operation answers `no-roots`.
    ///
    /// A root inside another one (found by directory identity, not by text) with less access is a rule on the outer one as well, and the
    /// rules of each hold in both; one with more access is a root of its own.
    ///
    /// # Errors
    /// Each names its root ([`Error::root_name`]) or its rule: `not-a-directory`; `os-denied`; `invalid-argument` for a name that is malformed
    /// or used twice, the same directory twice, a rule that cannot be read, or a root that holds a file of [`Builder::keep_outside`]. An error
    /// on the way to such a file names its path. `unsupported` once the process is fenced in by the feature `landlock`.
    pub fn open(self) -> Result<Roots> {
        if fenced::is() && !self.grants.is_empty() {
            return Err(Error::fenced());
        }
        let everywhere: Arc<[Rule]> = read_rules(&self.rules)?.into();
        let mut opened: Vec<Opened> = Vec::with_capacity(self.grants.len());
        let mut names = Names::reserved(&self.grants)?;
        for (position, grant) in self.grants.into_iter().enumerate() {
            let name = names.next(&grant)?;
            let rules = match grant.rules.is_empty() {
                true => Arc::clone(&everywhere),
                false => everywhere.iter().cloned().chain(read_rules(&grant.rules)?).collect(),
            };
            let subject = Subject::Root(name.as_str().to_owned());
            let root = Opened::open(name, grant, position, rules).map_err(|error| error.on(subject))?;
            match opened.iter_mut().find(|other| root.grant.unless_granted && root.is(other)) {
                Some(other) => other.instead_of.push(position),
                None => opened.push(root),
            }
        }
        check_rules(&self.rules, &opened)?;
        let mut outside = passed(&self.outside)?;
        if let Some(root) = opened.iter().find(|root| root.identity().is_some_and(|identity| outside.contains(&identity))) {
            let error = Error::detailed(ErrorKind::InvalidArgument, Detail::HoldsKeptFile);
            return Err(error
                .on(Subject::Root(root.name.as_str().to_owned()))
                .advise("move that file, or grant another directory"));
        }
        let directories = Directories::of(&opened);
        if self.named_by_client {
            let kept = match ambient::home().map(|home| ambient::passed(&home)) {
                Some(Ok(passed)) => passed.all,
                Some(Err(error)) if error.kind() != ErrorKind::NotFound => return Err(error),
                // A home that is not there is nobody's.
                Some(Err(_)) | None => Vec::new(),
            };
            opened.iter().try_for_each(|root| root.check_named_by_client(&kept, &directories))?;
            outside.extend(kept);
        }
        let mut nested = nest(&directories)?;
        for (root, nested) in opened.iter().zip(&mut nested) {
            nested.through = directories.names(root).map(|other| other.name.as_str().to_owned());
            if self.named_by_client {
                nested.ceiling = nested.ceiling.min(root.ceiling_from_above());
            }
        }
        // Who may write where a directory would appear could choose what appears there: such a root stays absent.
        let chosen: Vec<bool> = opened.iter().map(|root| directories.can_be_planted(root)).collect();
        let shared = Arc::new(Shared {
            watch: Watch::by(self.observer),
            without_openat2: self.without_openat2,
            read_limit: self.read_limit,
            refuse_hard_links: self.refuse_hard_links,
            one_file_system: self.one_file_system,
            hide_host_paths: self.hide_host_paths,
            outside,
            ..Shared::default()
        });
        let mut sets = Sets::default();
        let made = opened.into_iter().zip(nested).zip(chosen);
        let roots = made.map(|((root, nested), chosen)| root.into_root(nested, chosen, &mut sets, &shared));
        let roots = roots.collect::<Result<_>>()?;
        let home = ambient::home().and_then(|home| HostPath::from_disk(&home));
        Ok(Roots::new(roots, home, shared))
    }
}

/// The directories on the way to each of the files.
fn passed(files: &[PathBuf]) -> Result<Vec<Identity>> {
    let mut all = Vec::new();
    for file in files {
        all.extend(ambient::passed(file).map_err(|error| error.about(file.to_string_lossy()))?.all);
    }
    Ok(all)
}

fn read_rules(rules: &[(String, Access)]) -> Result<Vec<Rule>> {
    let read = |(glob, access): &(String, Access)| {
        Rule::parse(glob, *access)
            .map_err(|detail| Error::detailed(ErrorKind::InvalidArgument, detail).on(Subject::Typed(glob.clone())))
    };
    rules.iter().map(read).collect()
}

/// A host path as a rule would match nothing, since rules start at the top of a root: said at start instead of protecting nothing.
fn check_rules(rules: &[(String, Access)], opened: &[Opened]) -> Result<()> {
    let route = |root: &Opened| {
        let texts = [Some(root.given.as_path()), root.directory.as_ref().ok().map(|found| found.canonical.as_path())];
        let paths = texts.into_iter().flatten().filter_map(HostPath::from_disk).filter(|path| path.depth() > 0);
        Route { name: root.name.clone(), spellings: paths.collect(), region: Region::default() }
    };
    let routes = Routes::new(opened.iter().map(route).collect());
    for (glob, _) in opened.iter().flat_map(|root| &root.grant.rules).chain(rules) {
        let Some(path) = HostPath::from_disk(Path::new(glob)) else { continue };
        let start = Start::Host(path.anchor().clone());
        let around = routes.around(&start, path.names(), Same::AsItIs(PathStyle::host()));
        if around.flat_map(|(_, root)| &root.spellings).any(|root| path.below(root).is_some()) {
            let detail = Detail::Rule("a slash at its beginning is the top of each root, and this is a path of the host");
            return Err(Error::detailed(ErrorKind::InvalidArgument, detail).on(Subject::Typed(glob.clone())));
        }
    }
    Ok(())
}

/// Hands out names: given ones as they are, default ones numbered.
struct Names {
    taken: HashSet<RootName>,
    /// The last number that a name got.
    numbers: HashMap<RootName, usize>,
}

impl Names {
    /// Given names come first, so that no default name takes one away.
    fn reserved(grants: &[Grant]) -> Result<Self> {
        let mut taken = HashSet::new();
        for text in grants.iter().filter_map(|grant| grant.name.as_ref()) {
            match RootName::parse(text) {
                Some(name) if taken.insert(name.clone()) => {}
                _ => {
                    let error = Error::detailed(ErrorKind::InvalidArgument, Detail::RootName);
                    return Err(error.on(Subject::Root(text.clone())));
                }
            }
        }
        Ok(Self { taken, numbers: HashMap::new() })
    }

    fn next(&mut self, grant: &Grant) -> Result<RootName> {
        if let Some(text) = &grant.name {
            return RootName::parse(text).ok_or_else(|| Error::detailed(ErrorKind::InvalidArgument, Detail::RootName));
        }
        // `.` and the like have no last part until they are made absolute.
        let absolute = ambient::absolute(&grant.path).unwrap_or_else(|_| grant.path.clone());
        let base = RootName::from_directory(&absolute.file_name().unwrap_or_default().to_string_lossy());
        let mut name = base.clone();
        if self.taken.contains(&name) {
            let number = self.numbers.entry(base.clone()).or_insert(1);
            while self.taken.contains(&name) {
                *number += 1;
                name = base.numbered(*number);
            }
        }
        self.taken.insert(name.clone());
        Ok(name)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("grants", &self.grants.len()).finish_non_exhaustive()
    }
}
