//! The rows beside what other libraries and other ways answer to them: each is run by each way of resolving, agreement is counted, and where
//! the answer is another one than the sources of the rows ask for, or than most of the others give, the row has to say why.
//!
//! `tests/data/anchors.jsonl` has the others' outcomes, as measured on Linux: `ok` for the answer that the sources ask for, `other` for another
//! answer or effect, a code for a refusal (`invalid` for any malformed or over-long text, `refused` for any at all), `-` where there is none
//! to compare with. `docs/containment.md` is made from it: `UPDATE=1` in the environment rewrites it.
//!
//! Catches: a row of the sources that was left out, or that one way answers differently; a difference that nobody chose; and a document
//! that says something else.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::print_stdout, reason = "the counts are the evidence")]
#![allow(clippy::disallowed_methods, reason = "tests build trees by path")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use support::rows::{self, Row};
use support::{Way, privilege};

const ANCHORS: &str = include_str!("data/anchors.jsonl");
const DOCUMENT: &str = "docs/containment.md";
const ROWS: usize = 1_183;

/// How the columns are called, and whether they are one of the three libraries whose majority counts.
const COLUMNS: [(&str, &str, bool); 7] = [
    ("cap-std", "cap-std 4.0.3", true),
    ("cap-std-walk", "cap-std 4.0.3 without `openat2`", false),
    ("os.Root", "Go 1.27.3 `os.Root`", true),
    ("pathrs", "pathrs 0.2.6", true),
    ("pathrs-walk", "pathrs 0.2.6 without `openat2`", false),
    ("canonicalize", "canonicalize, compare the prefix, open", false),
    ("join", "join, open", false),
];

const SOURCES: [(&str, &str); 8] = [
    ("go-", "Go's tests of `os.Root`"),
    ("gc-", "Go's comparison of `os.Root` with plain calls"),
    ("gx-", "CVE-2025-22873, CVE-2026-39822"),
    ("cs-", "cap-std's tests, GHSA-hp8f-xmx4-4qrg"),
    ("pr-", "pathrs' tests"),
    ("sj-", "securejoin's tests"),
    ("wa", "WASI's test suite"),
    ("own-", "cases of our own"),
];

/// An outcome: what is compared of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Allowed { as_asked: bool },
    Refused(String),
    Unknown,
}

impl Outcome {
    fn of(text: &str) -> Self {
        match text {
            "ok" => Self::Allowed { as_asked: true },
            "other" => Self::Allowed { as_asked: false },
            "-" => Self::Unknown,
            code => Self::Refused(
                code.split_once('-').map_or(code, |(first, _)| if first == "invalid" { first } else { code }).to_owned(),
            ),
        }
    }

    fn allows(&self) -> Option<bool> {
        match self {
            Self::Allowed { .. } => Some(true),
            Self::Refused(_) => Some(false),
            Self::Unknown => None,
        }
    }

    /// `refused` is any refusal.
    fn fits(&self, other: &Self) -> bool {
        let any = Self::Refused("refused".to_owned());
        self == other || self.allows() == Some(false) && other.allows() == Some(false) && (*self == any || *other == any)
    }
}

/// A row of the sources with all that is known of it.
struct Case {
    row: Row,
    ours: Outcome,
    asked: Outcome,
    others: BTreeMap<&'static str, Outcome>,
}

impl Case {
    fn id(&self) -> &str {
        self.row.text("id").unwrap()
    }

    fn is_as_asked(&self) -> bool {
        self.ours.fits(&self.asked)
    }

    /// Of the three libraries, as far as they have an outcome, at least half are on our side.
    fn is_with_most(&self) -> bool {
        let libraries = COLUMNS.iter().filter(|(.., counts)| *counts).filter_map(|(column, ..)| self.others[column].allows());
        let sides: Vec<bool> = libraries.map(|allows| Some(allows) == self.ours.allows()).collect();
        2 * sides.iter().filter(|with_us| **with_us).count() >= sides.len()
    }

    fn differs(&self) -> bool {
        !self.is_as_asked() || !self.is_with_most()
    }
}

/// The rows of the sources that are operations of ours, and how many there are for which there is none, by reason.
fn cases() -> (Vec<Case>, BTreeMap<String, usize>) {
    let rows: BTreeMap<String, Row> = rows::all().into_iter().map(|row| (row.text("id").unwrap().to_owned(), row)).collect();
    let mut lines = ANCHORS.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let columns: Vec<String> = serde_json::from_value(lines.next().unwrap()["columns"].take()).unwrap();
    assert!(columns.iter().skip(2).eq(COLUMNS.iter().map(|(column, ..)| column)), "{columns:?}");
    let (mut cases, mut none, mut seen) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
    for line in lines {
        let cells: Vec<String> = serde_json::from_value(line).unwrap();
        assert_eq!(cells.len(), columns.len(), "{cells:?}");
        assert!(seen.insert(cells[0].clone()), "twice: {}", cells[0]);
        let row = rows.get(&cells[0]).unwrap_or_else(|| panic!("no row for {}", cells[0])).clone();
        if let Some(reason) = row.text("skip") {
            *none.entry(reason.to_owned()).or_default() += 1;
            continue;
        }
        let ours = Outcome::of(row.text("expect").unwrap());
        let others = COLUMNS.iter().zip(&cells[2..]).map(|((column, ..), cell)| (*column, Outcome::of(cell))).collect();
        cases.push(Case { row, ours, asked: Outcome::of(&cells[1]), others });
    }
    assert_eq!(seen.len(), ROWS, "a row of the sources was lost");
    (cases, none)
}

fn run(way: Way) -> usize {
    privilege::drop_override();
    let rows = rows::all().into_iter().filter(|row| row.text("skip").is_none());
    let wrong = |row: Row| row.check(way).err().map(|failed| format!("{failed:?}"));
    let mut count = 0;
    let wrong: Vec<String> = rows.inspect(|_| count += 1).filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    count
}

/// What a row expects is what each way gives, so that the tables below are of all three.
#[test]
fn every_row_by_the_fast_way() {
    println!("proof: containment: {} rows by the fast way", run(Way::Fast));
}

#[test]
fn every_row_by_the_guarded_walk() {
    println!("proof: containment: {} rows by the guarded walk", run(Way::Walk));
}

#[test]
fn every_row_without_openat2() {
    privilege::hide_openat2();
    println!("proof: containment: {} rows without openat2", run(Way::Fast));
}

#[test]
fn differences_are_chosen() {
    let (cases, _) = cases();
    let mut wrong = Vec::new();
    for case in &cases {
        if case.differs() && case.row.text("choice").is_none() {
            wrong.push(format!("{}: {:?}, asked {:?}, others {:?}", case.id(), case.ours, case.asked, case.others));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_document_is_of_these_rows() {
    let made = document();
    println!("{made}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let stands = std::fs::read_to_string(path).unwrap_or_default();
    assert!(stands == made, "{DOCUMENT} is not of these rows; UPDATE=1 rewrites it");
}

fn document() -> String {
    let (cases, none) = cases();
    let all = rows::all();
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").unwrap();
    line("# Containment: the rows, beside other libraries\n".to_owned());
    line("Made by `cargo test --test peers` from `tests/data`, and checked by it; `UPDATE=1` rewrites it.\n".to_owned());
    let run = all.iter().filter(|row| row.text("skip").is_none()).count();
    line(format!(
        "{ROWS} rows, most of them from public tests: a row is a tree, an operation on a path, and what must come of it. {} are about operations \
         that there are here, and with {} further rows these are {run}, each of which gives the same outcome and the same tree by the fast way, by the guarded walk, and where \
         the kernel has no `openat2`.\n",
        cases.len(),
        run - cases.len(),
    ));
    line("| source | rows |\n| --- | ---: |".to_owned());
    for (prefix, source) in SOURCES {
        let of = ANCHORS.lines().filter(|line| line.starts_with(&format!("[\"{prefix}"))).count();
        line(format!("| {source} | {of} |"));
    }
    line("\n| no operation of ours | rows |\n| --- | ---: |".to_owned());
    for (reason, count) in none {
        line(format!("| {} | {count} |", reason.replace('|', "\\|")));
    }
    line("\n## Agreement\n".to_owned());
    line(
        "Outcomes as measured on Linux, with the versions that are named. Not compared is a row whose operation is not offered there or that has \
         no outcome on record. The same outcome is the same answer, or a refusal of the same kind. pathrs takes the root for `/`, so what would \
         lead out is looked up inside, and ends as something else.\n"
            .to_owned(),
    );
    line(
        "| | compared | same outcome | another code or answer | allowed here, refused there | refused here, allowed there |"
            .to_owned(),
    );
    line("| --- | ---: | ---: | ---: | ---: | ---: |".to_owned());
    let asked = cases.iter().map(|case| (&case.ours, &case.asked)).collect();
    line(agreement("the sources of the rows", asked));
    for (column, name, _) in COLUMNS {
        line(agreement(name, cases.iter().map(|case| (&case.ours, &case.others[column])).collect()));
    }
    line("\n## What we chose\n".to_owned());
    let unlike = cases.iter().filter(|case| case.differs()).count();
    line(format!(
        "Every row whose outcome is not the one that its source asks for, or on whose other side (allowed or refused) more than half of the three \
         libraries are, says why. These are {unlike} rows:\n"
    ));
    line("| we answer so, because | rows | not as the source asks | not as most |\n| --- | ---: | ---: | ---: |".to_owned());
    let mut choices: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.differs()) {
        choices.entry(case.row.text("choice").unwrap_or("(no reason)")).or_default().push(case);
    }
    let mut choices: Vec<_> = choices.into_iter().collect();
    choices.sort_by_key(|(choice, cases)| (std::cmp::Reverse(cases.len()), *choice));
    for (choice, cases) in choices {
        let count = |differs: fn(&Case) -> bool| cases.iter().filter(|case| differs(case)).count();
        let (asked, most) = (count(|case| !case.is_as_asked()), count(|case| !case.is_with_most()));
        line(format!("| {choice} | {} | {asked} | {most} |", cases.len()));
    }
    text
}

fn agreement(name: &str, pairs: Vec<(&Outcome, &Outcome)>) -> String {
    let pairs: Vec<_> = pairs.into_iter().filter(|(_, other)| **other != Outcome::Unknown).collect();
    let count = |fits: fn(&Outcome, &Outcome) -> bool| pairs.iter().filter(|(ours, other)| fits(ours, other)).count();
    format!(
        "| {name} | {} | {} | {} | {} | {} |",
        pairs.len(),
        count(|ours, other| ours.fits(other)),
        count(|ours, other| !ours.fits(other) && ours.allows() == other.allows()),
        count(|ours, other| ours.allows() == Some(true) && other.allows() == Some(false)),
        count(|ours, other| ours.allows() == Some(false) && other.allows() == Some(true)),
    )
}
