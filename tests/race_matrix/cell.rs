//! One cell of the matrix: one operation beside one exchange or two, by one of the ways.

use std::sync::Mutex;
use std::time::Duration;

use cap_roots::{Access, Roots};
use cap_roots_oracle::poison::no_wait;
use cap_roots_oracle::tree::Tree;

use crate::allowed::allowed;
use crate::operation::{Operation, Stage};
use crate::support::race::{Held, Race, Swapper, picture};
use crate::support::{Way, builder, privilege};
use crate::swap::{Pair, Place, Swap};
use crate::wrong::{ByPath, Check};

/// Who is attacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Roots(Way),
    /// On a kernel that has none.
    RootsWithoutOpenat2,
    /// With a rule on the root.
    RuledRoots(Way),
    Wrong(Check),
}

/// What there was, of one cell or of many.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) cells: usize,
    pub(crate) attempts: usize,
    pub(crate) inside: usize,
    pub(crate) met: usize,
    /// Attempts by which something of the outside came back or was changed.
    pub(crate) escaped: usize,
    /// Cells in which what lies outside was looked at afterwards, and was as before.
    pub(crate) untouched: usize,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Counts) {
        self.cells += other.cells;
        self.attempts += other.attempts;
        self.inside += other.inside;
        self.met += other.met;
        self.escaped += other.escaped;
        self.untouched += other.untouched;
    }
}

/// A place outside of the root and of all that is exchanged with it, to make things in.
const ASIDE: &str = "aside";

struct Scene {
    tree: Tree,
    root: Held,
    stage: Stage,
    pairs: Vec<Mutex<Pair>>,
    /// Where nothing may be changed: what lies outside, and what a rule gives no access to.
    kept: Vec<Held>,
    before: Vec<String>,
}

impl Scene {
    fn new(subject: Subject, operation: Operation, swaps: &[Swap]) -> Self {
        let (kind, there) = (operation.meant(), operation.outside());
        let mut lines = vec![format!("dir ../{ASIDE}"), "dir s".to_owned()];
        lines.extend(kind.lines_in("x/y"));
        lines.extend(kind.lines_in("kin/x/y"));
        let mut kept = vec!["../outside"];
        lines.extend(there.lines_outside("../outside"));
        if let Subject::RuledRoots(_) = subject {
            lines.extend(there.lines_outside(".env"));
            kept.push(".env");
        }
        for swap in swaps {
            lines.extend(swap.lines(if swap.place == Place::Root { there } else { kind }));
            if swap.place == Place::Root && swap.with == crate::swap::With::Dir {
                kept.push("../evil");
            }
        }
        let tree = Tree::build(lines).unwrap();
        let hold = |path: &str| Held::new(&tree.root().join(path));
        let is_kept_clear = swaps.iter().all(|swap| swap.place != Place::Name);
        let seats = ["x/y"].into_iter().chain(swaps.iter().filter_map(|swap| swap.other_seat()));
        let mut seats: Vec<_> = seats.filter(|_| is_kept_clear).collect();
        seats.dedup();
        let stage = Stage { seats: seats.into_iter().map(hold).collect(), other_end: hold("s") };
        let aside = tree.base().join(ASIDE);
        let pair = |swap: &Swap| {
            let aside = aside.join(format!("{:?}", swap.place));
            std::fs::create_dir(&aside).unwrap();
            Mutex::new(Pair::new(*swap, operation, hold(swap.place.names().0), &aside))
        };
        let pairs = swaps.iter().map(pair).collect();
        let (root, kept) = (hold("."), kept.into_iter().map(hold).collect());
        let mut scene = Self { root, stage, pairs, kept, before: Vec::new(), tree };
        scene.before = scene.picture();
        scene
    }

    fn roots(&self, subject: Subject) -> Option<Roots> {
        let builder = match subject {
            Subject::Roots(way) => builder(way),
            Subject::RootsWithoutOpenat2 => builder(Way::Fast),
            Subject::RuledRoots(way) => builder(way).rule("**/.env", Access::None),
            Subject::Wrong(_) => return None,
        };
        Some(builder.named("root", self.tree.root(), Access::Write).open().unwrap())
    }

    /// What must stay as it is, and which names there are beside the root.
    fn picture(&self) -> Vec<String> {
        let mut beside: Vec<_> = std::fs::read_dir(self.tree.base()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        beside.sort();
        let mut lines: Vec<_> = beside.into_iter().map(|name| name.into_string().unwrap()).collect();
        lines.extend(self.kept.iter().flat_map(|dir| picture(&dir.at(""), &[])));
        lines
    }

    fn attempt(
        &self,
        operation: Operation,
        act: impl Fn() -> Result<String, &'static str>,
        wrong: &Mutex<Option<String>>,
    ) -> &'static str {
        self.stage.prepare(operation);
        let outcome = act();
        let done = self.stage.effects(operation);
        let answer = outcome.clone().map(|answer| self.stage.brought(operation).unwrap_or(answer));
        let code = match (&answer, done) {
            (Ok(answer), _) if !operation.answers().contains(&&**answer) => "escaped",
            (Ok(_), Some(1) | None) => "ok",
            (Err(code), Some(0) | None) => code,
            _ => "not all or nothing, here",
        };
        if code == "escaped" || code.contains(' ') {
            *wrong.lock().unwrap() = Some(format!("{code}: {answer:?}, carried out in {done:?} places"));
        }
        code
    }
}

/// Runs one cell for at least `time`, and until each of its outcomes came and often enough an exchange fell into a call.
pub(crate) fn run(subject: Subject, operation: Operation, swaps: &[Swap], time: Duration) -> Counts {
    let mut counts = Counts::default();
    no_wait(|| {
        if subject == Subject::RootsWithoutOpenat2 {
            privilege::hide_openat2();
        }
        let scene = Scene::new(subject, operation, swaps);
        let by_path = match subject {
            Subject::Wrong(check) => Some(ByPath { root: std::fs::canonicalize(scene.tree.root()).unwrap(), check }),
            _ => None,
        };
        let roots = scene.roots(subject);
        let wrong = Mutex::new(None);
        let worker = || match (&roots, &by_path) {
            (Some(roots), _) => scene.attempt(operation, || operation.act(roots).map_err(|error| error.code()), &wrong),
            (None, Some(by_path)) => {
                let code = scene.attempt(operation, || by_path.act(operation), &wrong);
                if scene.picture() == scene.before { code } else { "escaped" }
            }
            (None, None) => panic!("nobody is attacked"),
        };
        let allowed = match subject {
            Subject::Wrong(_) => {
                vec![("escaped", 1), ("ok", 0), ("refused", 0), ("failed", 0), ("not all or nothing, here", 0)]
            }
            _ => allowed(operation, swaps),
        };
        let name = format!("{operation:?}, {subject:?}, {swaps:?}");
        let met = if by_path.is_some() { 0 } else { crate::fewest_met(swaps, time) };
        let race = Race { name, allowed: &allowed, least: 1, met, time };
        let swappers = scene.pairs.iter().map(|pair| Box::new(|| pair.lock().unwrap().swap()) as Swapper<'_>);
        let ran = race.run(swappers.collect(), vec![Box::new(worker)], |name| {
            if by_path.is_none() {
                scene.check(name, wrong.lock().unwrap().as_deref());
            }
        });
        let of = |outcome| ran.outcomes.get(outcome).copied().unwrap_or(0);
        let untouched = usize::from(scene.picture() == scene.before);
        let attempts = ran.outcomes.values().sum();
        counts = Counts { cells: 1, attempts, inside: of("ok"), met: ran.met, escaped: of("escaped"), untouched };
    });
    counts
}

impl Scene {
    /// Nothing of the outside came back or was touched, nothing was written to a pipe, and nothing of ours is left.
    fn check(&self, name: &str, wrong: Option<&str>) {
        assert_eq!(wrong, None, "{name}");
        assert_eq!(self.before, self.picture(), "{name}: escaped");
        assert!(!self.pairs.iter().any(|pair| pair.lock().unwrap().was_written()), "{name}: written to a pipe");
        let left: Vec<_> = names(&self.root.at("")).into_iter().filter(|name| name.contains(".cap-roots-")).collect();
        assert!(left.is_empty(), "{name}: {left:?}");
    }
}

/// All names below a directory.
fn names(dir: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.path().display().to_string());
        if entry.file_type().unwrap().is_dir() {
            names.extend(self::names(&entry.path()));
        }
    }
    names
}
