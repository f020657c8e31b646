//! An open, and what it grows with.

use std::fs;
use std::hint::black_box;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use cap_roots::{Access, Builder, Roots};
use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};

use crate::Effort;
use crate::measure::{Clock, Job, in_turns};
use crate::plot::{Plot, Scale, lines};

const ROUNDS: usize = 151;

/// A rule of a kind, by its number.
type Written = fn(usize) -> String;

/// Twenty rules as a project has them.
const TWENTY: [&str; 20] = [
    ".env",
    ".env.*",
    "*.pem",
    "*.key",
    "id_rsa*",
    "id_ed25519*",
    ".netrc",
    ".npmrc",
    ".pypirc",
    "secrets/",
    "**/.git/hooks/**",
    ".git/config",
    "*.kdbx",
    "*.p12",
    "*.pfx",
    ".aws/",
    ".ssh/",
    ".gnupg/",
    "credentials*",
    "*.tfstate",
];

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    (folder, root)
}

fn place(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "text").unwrap();
}

fn open(builder: Builder, root: &Path) -> Roots {
    builder.root(root, Access::Read).open().unwrap()
}

fn with_rules<'a>(rules: impl IntoIterator<Item = &'a str>) -> Builder {
    rules.into_iter().fold(Roots::builder(), |builder, rule| builder.rule(rule, Access::None))
}

fn opening<'a>(roots: &'a Roots, path: &'a str) -> Job<'a> {
    Box::new(move || drop(black_box(roots.open(path).unwrap())))
}

pub(crate) fn depth(effort: Effort) -> Vec<Plot> {
    const DEPTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];
    let (_folder, root) = folder();
    let paths = DEPTHS.map(|depth| "directory/".repeat(depth - 1) + "file");
    paths.iter().for_each(|path| place(&root.join(path)));
    let absolute = paths.clone().map(|path| root.join(path));
    let held = fs::File::open(&root).unwrap();
    let sets = [open(Roots::builder(), &root), open(with_rules(TWENTY), &root), open(Roots::builder().without_openat2(), &root)];
    let by_hand = |path: &'_ String| {
        let fd = openat2(&held, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH).unwrap();
        black_box(fstat(&fd).unwrap());
    };
    let mut jobs: Vec<Job<'_>> = Vec::new();
    jobs.extend(paths.iter().map(|path| Box::new(move || by_hand(path)) as Job<'_>));
    jobs.extend(absolute.iter().map(|path| Box::new(move || drop(black_box(fs::File::open(path).unwrap()))) as Job<'_>));
    for roots in &sets {
        jobs.extend(paths.iter().map(|path| opening(roots, path)));
    }
    let names =
        ["openat2 and fstat, by hand", "std::fs, absolute path", "cap-roots", "cap-roots, 20 rules", "cap-roots without openat2"];
    vec![Plot {
        file: "open-depth.svg",
        title: "Open, type check, close: by depth",
        across: ("depth of the file below its root (names)", Scale::Even),
        up: ("processor time, relative to openat2 by hand at depth 1", Scale::Even),
        lines: lines(&names, &DEPTHS, &in_turns(jobs, Clock::Thread, effort.rounds(ROUNDS))),
    }]
}

pub(crate) fn rules(effort: Effort) -> Vec<Plot> {
    const COUNTS: [usize; 7] = [0, 1, 3, 10, 100, 300, 1000];
    const PATH: &str = "src/module/part/file.txt";
    let (_folder, root) = folder();
    place(&root.join(PATH));
    let kinds: [(&str, Written); 5] = [
        ("names: secret-7", |index| format!("secret-{index}")),
        ("endings: *.x7", |index| format!("*.x{index}")),
        ("inside: *k7k*", |index| format!("*k{index}k*")),
        ("from the top: src/module/f7", |index| format!("src/module/f{index}")),
        ("at a depth: src/**/f7/*", |index| format!("src/**/f{index}/*")),
    ];
    let sets: Vec<Roots> = kinds
        .iter()
        .flat_map(|(_, rule)| COUNTS.map(|count| (0..count).map(rule).collect::<Vec<_>>()))
        .map(|rules| open(with_rules(rules.iter().map(String::as_str)), &root))
        .collect();
    let free = open(Roots::builder(), &root);
    let jobs = std::iter::once(&free).chain(&sets).map(|roots| opening(roots, PATH)).collect();
    let spreads = in_turns(jobs, Clock::Thread, effort.rounds(ROUNDS));
    vec![Plot {
        file: "open-rules.svg",
        title: "Open, type check, close at depth 4: by rules",
        across: ("rules (number)", Scale::Tens),
        up: ("processor time, relative to no rules", Scale::Even),
        lines: lines(&kinds.map(|(name, _)| name), &COUNTS, &spreads[1..]),
    }]
}

pub(crate) fn links(effort: Effort) -> Vec<Plot> {
    const COUNTS: [usize; 8] = [0, 1, 2, 4, 8, 16, 32, 40];
    let (_folder, root) = folder();
    fs::create_dir(root.join("end")).unwrap();
    fs::write(root.join("end/file"), "text").unwrap();
    // Each leads to the one before.
    for index in 1..=40 {
        let to = if index == 1 { "end".to_owned() } else { format!("link{}", index - 1) };
        symlink(to, root.join(format!("link{index}"))).unwrap();
    }
    let paths = COUNTS.map(|count| if count == 0 { "end/file".to_owned() } else { format!("link{count}/file") });
    let absolute = paths.clone().map(|path| root.join(path));
    let sets = [open(Roots::builder(), &root), open(with_rules(TWENTY), &root), open(Roots::builder().without_openat2(), &root)];
    let mut jobs: Vec<Job<'_>> = Vec::new();
    jobs.extend(absolute.iter().map(|path| Box::new(move || drop(black_box(fs::File::open(path).unwrap()))) as Job<'_>));
    for roots in &sets {
        jobs.extend(paths.iter().map(|path| opening(roots, path)));
    }
    let names = ["std::fs, absolute path", "cap-roots", "cap-roots, 20 rules", "cap-roots without openat2"];
    vec![Plot {
        file: "open-links.svg",
        title: "Open, type check, close: by links in the path",
        across: ("links followed (number)", Scale::Even),
        up: ("processor time, relative to std::fs and no link", Scale::Even),
        lines: lines(&names, &COUNTS, &in_turns(jobs, Clock::Thread, effort.rounds(ROUNDS))),
    }]
}
