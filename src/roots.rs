//! `Roots`: the one type through which anything is opened.
//!
//! May touch: `path` to parse and locate, `ops` to operate. Text goes in here, and nothing but permits gets further.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use camino::Utf8Path;

use crate::access::{Access, End, Operation};
use crate::authority::{Authority, Terms};
use crate::builder::Builder;
use crate::clock::Deadline;
use crate::decide::{Facts, decide};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::explain::{Explanation, Rehearsal};
use crate::file::File;
use crate::front::operations_on;
use crate::metadata::Metadata;
use crate::observe::{Coming, Observer, Watch};
use crate::ops::copy::{self, Copied};
use crate::ops::list::{self, ReadDir};
use crate::ops::rename::Way;
use crate::ops::walk::{self, Walk};
use crate::ops::{attributes, make, open, read_link, rehearse, remove, rename, stat, write};
use crate::path::host::HostPath;
use crate::path::locate::{Form, Located as Fit, locate};
use crate::path::location::Location;
use crate::path::region::Region;
use crate::path::relative::RelPath;
use crate::path::routes::{Route, Routes};
use crate::path::style::PathStyle;
use crate::path::uri;
use crate::root::{Place, Root, Shared};
use crate::root_info::RootInfo;

/// A set of named directories, and the only way to what is in them.
///
/// Made by the operator's side with [`Roots::builder`]; cheap to clone, and clones share revocation. Every method takes a path as the
/// untrusted side wrote it: absolute, relative to the first root, `~/...`, or `root://NAME/relative` with percent escapes. It parses
/// the text, picks a root by it, decides, and opens relative to the root's held directory, so that neither the text nor `..`, links
/// or renames lead outside. All methods may be called from several threads at once; they block on the disk, never on a peer.
///
/// A root whose directory was moved, removed or replaced is `root-absent`. What changes something looks for that each time. What only reads or lists
/// relies on a look that is at most 5 ms old (and a tick of the system's clock, at most 10 ms), as if it had begun then: the directory that it reads is
/// held, so it is the one that was granted in any case, and revocation is checked each time.
///
/// # Errors of every method
/// `invalid-path` and `invalid-uri` for text that is no path; `outside-roots`, alike whether or not anything is there; `no-roots`,
/// `root-absent`, `not-granted`, `protected` (by a rule, existing or not), `revoked`, `expired`, `cancelled`; `not-found`, `not-a-directory`, `symlink-loop` (more than 40 links), `ambiguous` (names
/// that only their Unicode form tells apart); `os-denied`, `busy`, `limit` (out of descriptors) and `io` from the operating system.
#[derive(Clone)]
pub struct Roots {
    inner: Arc<Inner>,
}

struct Inner {
    seen: Arc<Seen>,
    /// What was taken away from all of it.
    terms: Terms,
    shared: Arc<Shared>,
    watch: Watch,
}

/// What sets have in common that see the same.
struct Seen {
    views: Vec<View>,
    routes: Routes,
    home: Option<HostPath>,
}

/// What may be done in one root, before what the set's terms take away, and the part of it that is seen.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) authority: Authority,
    pub(crate) region: Region,
}

/// A path, led by its text to a place.
struct Located {
    place: Place,
    path: RelPath,
    form: Form,
}

impl Roots {
    /// Starts a set of roots. The builder is the operator's: what it is given is authority.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(roots: Vec<Root>, home: Option<HostPath>, shared: Arc<Shared>) -> Self {
        let view = |root| View { authority: Authority::of(Arc::new(root)), region: Region::default() };
        let watch = shared.watch.clone();
        let seen = Seen::new(roots.into_iter().map(view).collect(), home);
        Self { inner: Arc::new(Inner { seen, terms: Terms::default(), shared, watch }) }
    }

    /// Parse and locate: the first two steps of every operation.
    fn locate(&self, text: &str) -> Result<Located> {
        let (view, Fit { path, form, .. }) = self.fit(Location::parse(text, PathStyle::host())?)?;
        Ok(Located { place: self.place(view), path, form })
    }

    pub(crate) fn fit(&self, location: Location) -> Result<(&View, Fit), ErrorKind> {
        let Seen { views, routes, home } = &*self.inner.seen;
        let present = |view: usize| views.get(view).is_some_and(|view| view.authority.root.held().is_some());
        let fit = locate(routes, home.as_ref(), present, location)?;
        Ok((views.get(fit.route).ok_or(ErrorKind::OutsideRoots)?, fit))
    }

    pub(crate) fn views(&self) -> &[View] {
        &self.inner.seen.views
    }

    pub(crate) fn routes(&self) -> &Routes {
        &self.inner.seen.routes
    }

    /// What this set may do in one of its views.
    pub(crate) fn place(&self, view: &View) -> Place {
        Place::of(view.authority.clone().on(&self.inner.terms), &view.region)
    }

    /// The same set with these views in place of its own.
    pub(crate) fn with_views(&self, views: Vec<View>) -> Self {
        let Inner { seen, terms, shared, watch } = &*self.inner;
        let seen = Seen::new(views, seen.home.clone());
        Self { inner: Arc::new(Inner { seen, terms: terms.clone(), shared: Arc::clone(shared), watch: watch.clone() }) }
    }

    /// Text in, result out: every method with one path goes through here.
    fn on<T>(
        &self,
        path: impl AsRef<Utf8Path>,
        operation: Operation,
        operate: impl FnOnce(Place, RelPath) -> Result<T>,
    ) -> Result<T> {
        let text = path.as_ref().as_str();
        match self.locate(text) {
            Ok(Located { place, path, form }) => {
                let fenced_off = place.root().is_fenced_off();
                operate(place, path).map_err(|error| absent(error, fenced_off).on(self.inner.shared.subject(text, Some(form))))
            }
            Err(error) => {
                let error = self.inner.watch.refused(error, || [Coming::text(operation, End::Source, text)]);
                Err(error.on(self.inner.shared.subject(text, None)))
            }
        }
    }

    /// The same for two paths. What an error of both is about is told by the one that it came from, where that is known.
    fn on_both<T>(
        &self,
        from: impl AsRef<Utf8Path>,
        to: impl AsRef<Utf8Path>,
        operation: Operation,
        operate: impl FnOnce(Way, Way) -> Result<T>,
    ) -> Result<T> {
        let (from, to) = (from.as_ref().as_str(), to.as_ref().as_str());
        let shared = &self.inner.shared;
        let coming = |end, text, located: Option<&Located>| match located {
            Some(Located { place, path, .. }) => Coming::at(operation, end, place, path),
            None => Coming::text(operation, end, text),
        };
        // A text that leads to no place: the observer is told of both, and the caller in its own words.
        let unlocated = |text, error, source: Option<&Located>, target: Option<&Located>| {
            let both = || [coming(End::Source, from, source), coming(End::Target, to, target)];
            Err(self.inner.watch.refused(error, both).on(shared.subject(text, None)))
        };
        let (source, target) = match (self.locate(from), self.locate(to)) {
            (Ok(source), Ok(target)) => (source, target),
            (Err(error), target) => return unlocated(from, error, None, target.as_ref().ok()),
            (Ok(source), Err(error)) => return unlocated(to, error, Some(&source), None),
        };
        let (about_from, about_to) = (shared.subject(from, Some(source.form)), shared.subject(to, Some(target.form)));
        let way = |located: Located| Way { place: located.place, path: located.path };
        let (source_off, target_off) = (source.place.root().is_fenced_off(), target.place.root().is_fenced_off());
        operate(way(source), way(target)).map_err(|error| {
            let fenced_off = if error.is_at_target() { target_off } else { source_off };
            absent(error, fenced_off).on_end(about_from, about_to)
        })
    }

    /// The `root://NAME/relative` URI of a path, by its text alone: nothing is opened, and nothing need be there.
    ///
    /// # Errors
    /// `invalid-path`, `invalid-uri`, `no-roots`, `outside-roots`.
    pub fn uri(&self, path: impl AsRef<Utf8Path>) -> Result<String> {
        let text = path.as_ref().as_str();
        let located = self.locate(text).map_err(|error| error.on(self.inner.shared.subject(text, None)))?;
        Ok(uri::write(&located.place.root().name, &located.place.path_from_root(&located.path)))
    }

    /// How `operation` on `path` would be judged, and why; for the operator and for tests. Of an operation with two paths it is the first one.
    /// The verdict is the decision's: whether the path leads anywhere on the disk is not looked at.
    #[must_use]
    pub fn explain(&self, path: impl AsRef<Utf8Path>, operation: Operation) -> Explanation {
        match self.locate(path.as_ref().as_str()) {
            Err(error) => Explanation::unlocated(operation, error.kind()),
            Ok(Located { place, path, .. }) => {
                let (rules, start) = (&place.root().rules, place.start_level());
                let facts = Facts {
                    state: place.authority.state(),
                    access: place.authority.access(),
                    no_delete: place.authority.no_delete(),
                    unruled: rules.judge_text(&start, &path, operation.needs(), operation.makes_dir()).is_some(),
                };
                // A root that is a file becomes no directory, which is looked at when it is decided that one may be made.
                let outside = place.only.is_some() && operation.makes_dir();
                let verdict =
                    decide(facts, operation, End::Source).and(if outside { Err(ErrorKind::OutsideRoots) } else { Ok(()) });
                Explanation::located(operation, &place, &path, rules.that_match(&start, &path), verdict)
            }
        }
    }

    /// How far `operation` on `path` would get: as [`Roots::explain`], and the path is followed on the disk as the operation would follow it, up
    /// to where it would act. Nothing is changed or read, and the observer hears of nothing. What only doing it tells, such as the permissions
    /// of the operating system or a full disk, is left open; so is the second path of a rename or copy, and what is below a directory that has one.
    #[must_use]
    pub fn rehearse(&self, path: impl AsRef<Utf8Path>, operation: Operation) -> Rehearsal {
        let text = path.as_ref().as_str();
        let explanation = self.explain(text, operation);
        let refused = |error: Error| Rehearsal {
            explanation: explanation.clone(),
            resolver: None,
            leads_to: None,
            rule_met: None,
            outcome: Err(error),
        };
        match self.locate(text) {
            Err(error) => refused(error.on(self.inner.shared.subject(text, None))),
            Ok(Located { place, path, form }) => {
                let subject = self.inner.shared.subject(text, Some(form));
                match explanation.verdict() {
                    Err(kind) => refused(Error::from(kind).on(subject)),
                    Ok(()) => {
                        let rehearsed = rehearse::rehearse(place, path, explanation);
                        Rehearsal { outcome: rehearsed.outcome.map_err(|error| error.on(subject)), ..rehearsed }
                    }
                }
            }
        }
    }

    /// The roots, in the operator's order, as `roots/list` of MCP gives a client's. What is in a directory is [`Roots::read_dir`]'s.
    pub fn list(&self) -> impl Iterator<Item = RootInfo> {
        self.views().iter().map(|view| RootInfo::new(self.place(view)))
    }

    /// The same set, narrowed to one directory in one root: relative paths start there, and nothing outside of it is reached, be it by `..`,
    /// by links, or by other spellings. It is looked up by its real names from the root at each operation, so a directory that is moved away
    /// takes nothing with it. Revoking either set revokes both.
    ///
    /// # Errors
    /// As [every method](Roots#errors-of-every-method).
    pub fn within(&self, directory: impl AsRef<Utf8Path>) -> Result<Roots> {
        let view = self.on(directory, Operation::Within, |place, path| {
            let authority = place.authority.clone();
            open::real_names(place, path).map(|names| View { authority, region: Region::directory(names) })
        })?;
        Ok(self.with_views(vec![view]))
    }

    /// The same set with `access` at most.
    #[must_use]
    pub fn limit(&self, access: Access) -> Roots {
        self.on_terms(|terms| terms.limit(access))
    }

    /// The same set, in which nothing is taken away: see [`Grant::no_delete`](crate::Grant::no_delete).
    #[must_use]
    pub fn without_delete(&self) -> Roots {
        self.on_terms(Terms::without_delete)
    }

    /// The same set for at most `time` from now; then it answers `expired`. The time counts while the machine sleeps.
    #[must_use]
    pub fn expiring_in(&self, time: Duration) -> Roots {
        let deadline = Deadline::after(time);
        self.on_terms(|terms| terms.until(deadline))
    }

    /// The same set until `flag` is set; then every operation, also one that is under way, ends with `cancelled` at its next check.
    #[must_use]
    pub fn until_cancelled(&self, flag: &Arc<AtomicBool>) -> Roots {
        self.on_terms(|terms| terms.while_not(Arc::clone(flag)))
    }

    /// The same set, with this observer in place of the one that it has: for what is done by the set returned, and by all that is opened or narrowed from
    /// it, such as one call of one client. The set itself goes on with its own. Code that holds a set can do this, and then the builder's observer
    /// does not hear of it: an observer keeps a record for the program that it is a part of, and is no fence against that program's own code.
    #[must_use]
    pub fn observed_by(&self, observer: Arc<dyn Observer>) -> Roots {
        let watch = Watch::by(Some(observer));
        let Inner { seen, terms, shared, .. } = &*self.inner;
        let terms = terms.clone().watched(watch.clone());
        Self { inner: Arc::new(Inner { seen: Arc::clone(seen), terms, shared: Arc::clone(shared), watch }) }
    }

    /// ACCESS-SHRINKS: `Terms` has no function that gives more.
    fn on_terms(&self, narrow: impl FnOnce(Terms) -> Terms) -> Roots {
        let Inner { seen, terms, shared, watch } = &*self.inner;
        let (seen, shared, watch) = (Arc::clone(seen), Arc::clone(shared), watch.clone());
        Self { inner: Arc::new(Inner { seen, terms: narrow(terms.clone()), shared, watch }) }
    }

    /// Takes the authority back, from this set and from its clones, what it was narrowed from and to, and all directories and files that were
    /// opened through them. After it has returned, no operation passes its last check: one that begins later is `revoked`, one that
    /// was under way may hand out a handle, which fails on first use, and a create in flight may leave an empty file. What passed its last
    /// check before may still be happening; [`Roots::revoke_and_wait`] waits for it.
    pub fn revoke(&self) {
        self.inner.shared.lease.revoke();
    }

    /// Takes the authority back and waits until nothing is under way any more: no operation, and no call of an opened file. It waits as long as
    /// they take (a mount that hangs, hangs it), and must not be called by one of them, such as the closure of [`Roots::update`]. An
    /// [`Observer`](crate::Observer) may.
    pub fn revoke_and_wait(&self) {
        self.revoke();
        self.inner.shared.lease.wait_until_quiet();
    }
}

/// A root that was missing when the process was fenced in is not looked for again.
fn absent(error: Error, fenced_off: bool) -> Error {
    if fenced_off && error.kind() == ErrorKind::RootAbsent { error.absent_since_start() } else { error }
}

impl Seen {
    fn new(views: Vec<View>, home: Option<HostPath>) -> Arc<Self> {
        let route = |view: &View| {
            let root = &view.authority.root;
            Route { name: root.name.clone(), spellings: root.spellings.clone(), region: view.region.clone() }
        };
        let routes = Routes::new(views.iter().map(route).collect());
        Arc::new(Self { views, routes, home })
    }
}

operations_on!(Roots);

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.views().iter().map(|view| &view.authority.root)).finish()
    }
}

#[cfg(test)]
impl Roots {
    /// For tests of what is below.
    pub(crate) fn place_of_first(&self) -> Place {
        self.place(self.views().first().unwrap_or_else(|| panic!("no root")))
    }
}

// A handle that is shared between threads and kept in a server's state; a change that breaks this breaks every embedder.
const _: fn() = || {
    fn shareable<T: Send + Sync + Clone + 'static>() {}
    shareable::<Roots>();
    shareable::<Dir>();
    fn sendable<T: Send + Sync + 'static>() {}
    sendable::<File>();
    sendable::<ReadDir>();
    sendable::<Walk>();
    sendable::<Error>();
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: rules that are compiled for each root.
    #[test]
    fn roots_with_the_same_rules_share_them() {
        let folder = tempfile::tempdir().unwrap();
        let builder =
            ["a", "b", "out", "out/a", "out/b"].into_iter().fold(Roots::builder().rule(".env", Access::None), |builder, name| {
                std::fs::create_dir(folder.path().join(name)).unwrap();
                builder.root(folder.path().join(name), Access::Write)
            });
        let roots = builder.open().unwrap();
        let rules: Vec<_> = roots.views().iter().map(|view| &view.authority.root.rules).collect();
        let shared = |one: usize, other: usize| rules[one].is_shared_with(rules[other]);
        assert!(shared(0, 1) && shared(3, 4) && !shared(0, 2) && !shared(0, 3) && !shared(2, 3));
    }

    /// Catches: a set for one call that costs something for each of its roots, and one that takes nothing away.
    #[test]
    fn a_narrowed_set_is_no_copy() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::builder().root(folder.path(), Access::Write).open().unwrap();
        let flag = Arc::new(AtomicBool::new(false));
        let narrowed = roots.limit(Access::Read).without_delete().expiring_in(Duration::from_secs(60)).until_cancelled(&flag);
        assert!(Arc::ptr_eq(&roots.inner.seen, &narrowed.inner.seen));
        let authority = narrowed.place_of_first().authority;
        assert!((authority.access(), authority.no_delete()) == (Access::Read, true) && authority.time_left().is_some());
        flag.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!((authority.check(), roots.place_of_first().authority.check()), (Err(ErrorKind::Cancelled), Ok(())));
    }
}
