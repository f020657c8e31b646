//! What is at `x`: kinds of objects, and links to them whose text is written in many ways.

/// A tree, and what to call it.
pub(crate) struct Place {
    pub(crate) label: String,
    pub(crate) lines: Vec<String>,
}

/// In every tree. Outside are the same names as inside, so that whoever gets there finds what it looks for.
const AROUND: [&str; 7] = [
    "file d/in=IN",
    "link hd -> .",
    "file f=F",
    "file full/kept/deep=DEEP",
    "file ../out/secret=SECRET",
    "file ../out/y=OUT",
    "file ../x=BESIDE",
];

/// What something by the name `$` can be.
const KINDS: [(&str, &[&str]); 12] = [
    ("missing", &[]),
    ("file", &["file $=X"]),
    ("empty", &["dir $"]),
    ("full", &["file $/y=Y"]),
    ("fifo", &["fifo $"]),
    ("socket", &["sock $"]),
    ("closed-file", &["file $=X", "mode 000 $"]),
    ("read-only-file", &["file $=X", "mode 444 $"]),
    ("closed-dir", &["file $/y=Y", "mode 000 $"]),
    ("search-only-dir", &["file $/y=Y", "mode 111 $"]),
    ("read-only-dir", &["file $/y=Y", "mode 555 $"]),
    ("hard-link", &["hard $ = ../out/secret"]),
];

/// Ways to write in a link at `x` that it leads to `t` beside it: the text, and what else has to be there.
const INSIDE: [(&str, &[&str]); 13] = [
    ("t", &[]),
    ("./t", &[]),
    ("t/", &[]),
    ("t//", &[]),
    ("t/.", &[]),
    ("d/../t", &[]),
    ("d//../t/", &[]),
    ("hd/t", &[]),
    ("../ROOT/t", &[]),
    ("$ROOT/t", &[]),
    ("$ROOT/t/", &[]),
    ("l", &["link l -> t"]),
    ("l/", &["link l -> ./t"]),
];

/// The same for `T` in the directory `out` beside the root.
const OUTSIDE: [(&str, &[&str]); 8] = [
    ("../out/T", &[]),
    ("../out/T/", &[]),
    ("./../out//T", &[]),
    ("d/../../out/T", &[]),
    ("$BASE/out/T", &[]),
    ("$ROOT/../out/T", &[]),
    ("ho/T", &["link ho -> ../out"]),
    ("l", &["link l -> ../out/T"]),
];

/// Texts that stand for themselves.
const PLAIN: [(&str, &[&str]); 15] = [
    ("x", &[]),
    ("./x/", &[]),
    ("l", &["link l -> x"]),
    (".", &[]),
    ("./", &[]),
    ("d/..", &[]),
    ("hd", &[]),
    ("../ROOT", &[]),
    ("$ROOT", &[]),
    ("$ROOT/", &[]),
    ("..", &[]),
    ("/", &[]),
    ("none/../f", &[]),
    ("f/../f", &[]),
    ("full/kept", &[]),
];

/// All of them; the first two are those on which the names are tried for which `x` does not matter.
pub(crate) fn places(odd: Vec<String>) -> Vec<Place> {
    let mut places = vec![place("missing", vec![]), place("odd", odd)];
    let of_kind = |name: &str, lines: &[&str]| lines.iter().map(|line| line.replace('$', name)).collect::<Vec<_>>();
    for (kind, lines) in &KINDS[1..] {
        places.push(place(kind, of_kind("x", lines)));
    }
    for (kind, lines) in KINDS {
        for (text, more) in INSIDE {
            places.push(link(text, more, &format!("{text} ({kind})"), of_kind("t", lines)));
        }
    }
    for (target, lines) in [("secret", &[][..]), ("full", &["file ../out/full/y=OUT"]), ("none", &[])] {
        for (text, more) in OUTSIDE {
            let more: Vec<String> = more.iter().map(|line| line.replace('T', target)).collect();
            let more: Vec<&str> = more.iter().map(String::as_str).collect();
            let text = text.replace("/T", &format!("/{target}"));
            places.push(link(&text, &more, &format!("{text} ({more:?})"), lines.iter().map(|line| (*line).to_owned()).collect()));
        }
    }
    for (text, more) in PLAIN {
        places.push(link(text, more, text, vec![]));
    }
    places
}

fn place(label: &str, lines: Vec<String>) -> Place {
    let lines = AROUND.iter().map(|line| (*line).to_owned()).chain(lines).collect();
    Place { label: label.to_owned(), lines }
}

fn link(text: &str, more: &[&str], label: &str, mut lines: Vec<String>) -> Place {
    lines.extend(more.iter().map(|line| (*line).to_owned()));
    lines.push(format!("link x -> {text}"));
    place(&format!("link to {label}"), lines)
}
