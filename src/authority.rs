//! What one holder may do in one root: the grant, and what was taken away from it since.
//!
//! May touch: `root`, `lease`, `clock`. Every function from authority to authority gives the same or less (ACCESS-SHRINKS); there is none
//! that gives more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::access::{Access, Operation};
use crate::clock::Deadline;
use crate::decide::State;
use crate::error::ErrorKind;
use crate::observe::Watch;
use crate::root::Root;

/// Carried by everything that was opened; cheap to clone.
#[derive(Clone)]
pub(crate) struct Authority {
    pub(crate) root: Arc<Root>,
    access: Access,
    no_delete: bool,
    deadline: Option<Deadline>,
    /// Flags of callers who may withdraw; any of them ends it.
    cancelled: Vec<Arc<AtomicBool>>,
    /// Who is told of what is done with it.
    pub(crate) watch: Watch,
}

impl Authority {
    /// All that was granted.
    pub(crate) fn of(root: Arc<Root>) -> Self {
        let (access, no_delete, deadline) = (root.access, root.no_delete, root.deadline);
        let watch = root.shared.watch.clone();
        Self { root, access, no_delete, deadline, cancelled: Vec::new(), watch }
    }

    pub(crate) fn access(&self) -> Access {
        self.access
    }

    pub(crate) fn no_delete(&self) -> bool {
        self.no_delete
    }

    fn limit(mut self, access: Access) -> Self {
        self.access = self.access.min(access);
        self
    }

    fn until(mut self, deadline: Option<Deadline>) -> Self {
        self.deadline = Deadline::earlier(self.deadline, deadline);
        self
    }

    pub(crate) fn watched(mut self, watch: Watch) -> Self {
        self.watch = watch;
        self
    }

    /// With what was taken away from its whole set.
    pub(crate) fn on(self, terms: &Terms) -> Self {
        let mut less = self.limit(terms.access).until(terms.deadline);
        less.no_delete |= terms.no_delete;
        less.cancelled.extend_from_slice(&terms.cancelled);
        match &terms.watch {
            Some(watch) => less.watched(watch.clone()),
            None => less,
        }
    }

    /// Whether an entry may go from here to there by a rename. From a grant without deletion it would be taken away; and handles that were opened
    /// here go with it, so what has an end there must have the same here.
    pub(crate) fn may_pass_to(&self, other: &Authority) -> bool {
        Arc::ptr_eq(&self.root, &other.root)
            || !self.no_delete && !self.root.no_delete && self.root.deadline == other.root.deadline
    }

    /// The same for a directory: by a handle that was opened here, what is in it could be deleted there.
    pub(crate) fn may_pass_tree_to(&self, other: &Authority) -> bool {
        Arc::ptr_eq(&self.root, &other.root) || !other.root.no_delete
    }

    /// Whether it still holds: one load, and where there is a deadline one reading of the clock (CHECK-AT-USE).
    pub(crate) fn check(&self) -> Result<(), ErrorKind> {
        self.root.shared.lease.check()?;
        if self.deadline.is_some_and(Deadline::has_passed) {
            return Err(ErrorKind::Expired);
        }
        if self.cancelled.iter().any(|flag| flag.load(Ordering::SeqCst)) {
            return Err(ErrorKind::Cancelled);
        }
        Ok(())
    }

    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.deadline.map(Deadline::time_left)
    }

    pub(crate) fn state(&self) -> State {
        self.state_if(Root::is_present)
    }

    /// The same for one operation: what changes nothing does not look again for a root that was seen a moment ago.
    pub(crate) fn state_for(&self, operation: Operation) -> State {
        self.state_if(if operation.changes() { Root::is_present } else { Root::was_present_lately })
    }

    fn state_if(&self, is_present: fn(&Root) -> bool) -> State {
        match self.check() {
            Err(ErrorKind::Expired) => State::Expired,
            Err(ErrorKind::Cancelled) => State::Cancelled,
            Err(_) => State::Revoked,
            Ok(()) if is_present(&self.root) => State::Held,
            Ok(()) => State::Absent,
        }
    }

    /// Counts as under way until what it gives is dropped.
    pub(crate) fn begin(&self) -> UnderWay {
        self.root.shared.lease.begin();
        UnderWay { root: Arc::clone(&self.root), ended: None }
    }

    /// Whether a handle of the operating system would hold no more than this: full access, nothing ruled, nothing that ends.
    pub(crate) fn is_unconditional(&self) -> bool {
        self.access == Access::Write
            && !self.no_delete
            && self.deadline.is_none()
            && self.cancelled.is_empty()
            && !self.root.shared.refuse_hard_links
            && !self.root.shared.one_file_system
            && self.root.rules.is_empty()
    }
}

/// What is taken away from all authorities of a set alike (ACCESS-SHRINKS). It is applied to the one that is used, so that narrowing a set costs
/// the same however many roots it has.
#[derive(Clone)]
pub(crate) struct Terms {
    access: Access,
    no_delete: bool,
    deadline: Option<Deadline>,
    cancelled: Vec<Arc<AtomicBool>>,
    /// Who is told, where that is not whom the set was made with.
    watch: Option<Watch>,
}

impl Default for Terms {
    /// Takes nothing away.
    fn default() -> Self {
        Self { access: Access::Write, no_delete: false, deadline: None, cancelled: Vec::new(), watch: None }
    }
}

impl Terms {
    pub(crate) fn limit(self, access: Access) -> Self {
        Self { access: self.access.min(access), ..self }
    }

    pub(crate) fn without_delete(self) -> Self {
        Self { no_delete: true, ..self }
    }

    pub(crate) fn until(self, deadline: Option<Deadline>) -> Self {
        Self { deadline: Deadline::earlier(self.deadline, deadline), ..self }
    }

    pub(crate) fn while_not(mut self, cancelled: Arc<AtomicBool>) -> Self {
        self.cancelled.push(cancelled);
        self
    }

    pub(crate) fn watched(self, watch: Watch) -> Self {
        Self { watch: Some(watch), ..self }
    }
}

/// An operation under way, counted by the lease.
#[must_use = "it counts until it is dropped"]
pub(crate) struct UnderWay {
    root: Arc<Root>,
    /// Where two ends of one operation count as one: set when it has ended for either.
    ended: Option<Arc<AtomicBool>>,
}

impl UnderWay {
    /// The same count for another end of the operation: it ends once, with the first of them.
    pub(crate) fn share(&mut self) -> UnderWay {
        let ended = self.ended.get_or_insert_default();
        UnderWay { root: Arc::clone(&self.root), ended: Some(Arc::clone(ended)) }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let before = self.ended.as_ref().is_some_and(|ended| ended.swap(true, Ordering::SeqCst));
        if !before {
            self.root.shared.lease.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grant, Roots};

    const HOUR: Duration = Duration::from_secs(3600);

    fn of(shape: impl FnOnce(Grant) -> Grant) -> Authority {
        let folder = tempfile::tempdir().unwrap();
        let grant = shape(Grant::new(folder.path()).access(Access::Write));
        Roots::builder().grant(grant).open().unwrap().place_of_first().authority
    }

    /// Catches: a rename by which something is taken out of a grant without deletion, or by which a handle outlives its grant.
    #[test]
    fn what_may_pass_from_root_to_root() {
        let (free, other, kept, timed) =
            (of(|grant| grant), of(|grant| grant), of(Grant::no_delete), of(|grant| grant.expires_in(HOUR)));
        let less = free.clone().on(&Terms::default().without_delete());
        for (from, to, entry, tree) in [
            (&free, &other, true, true),
            (&less, &free, true, true),
            (&less, &other, false, true),
            (&kept, &kept, true, true),
            (&kept, &other, false, true),
            (&other, &kept, true, false),
            (&timed, &timed, true, true),
            (&timed, &other, false, true),
            (&other, &timed, false, true),
        ] {
            assert_eq!((from.may_pass_to(to), from.may_pass_tree_to(to)), (entry, tree));
        }
    }

    /// Catches: a handle of the operating system for less than everything.
    #[test]
    fn unconditional_is_without_any_condition() {
        let free = of(|grant| grant);
        assert!(free.is_unconditional());
        let on = |shape: fn(Terms) -> Terms| free.clone().on(&shape(Terms::default())).is_unconditional();
        assert!(on(|terms| terms) && on(|terms| terms.watched(Watch::default())));
        assert!(!on(|terms| terms.limit(Access::Read)) && !on(Terms::without_delete));
        assert!(!on(|terms| terms.until(Deadline::after(HOUR))) && !on(|terms| terms.while_not(Arc::default())));
        assert!(!of(|grant| grant.rule(".env", Access::None)).is_unconditional());
        let folder = tempfile::tempdir().unwrap();
        let picky = Roots::builder().root(folder.path(), Access::Write).refuse_hard_links().open().unwrap();
        assert!(!picky.place_of_first().authority.is_unconditional());
        let bounded = Roots::builder().root(folder.path(), Access::Write).one_file_system().open().unwrap();
        assert!(!bounded.place_of_first().authority.is_unconditional());
    }

    // On Windows the directory of a root cannot be removed.
    #[cfg(unix)]
    #[test]
    fn an_authority_tells_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let free = Roots::builder().root(folder.path(), Access::Write).open().unwrap().place_of_first().authority;
        assert_eq!(
            (free.no_delete(), free.clone().on(&Terms::default().without_delete()).no_delete(), free.state()),
            (false, true, State::Held)
        );
        std::fs::remove_dir(folder.path()).unwrap();
        assert_eq!(free.state(), State::Absent);
        free.root.shared.lease.revoke();
        assert_eq!(free.state(), State::Revoked);
    }

    #[test]
    fn time_is_left_where_it_is_bounded() {
        assert_eq!(of(|grant| grant).time_left(), None);
        let left = of(|grant| grant.expires_in(HOUR)).time_left().unwrap();
        assert!(left <= HOUR && left > HOUR / 2);
    }
}
