//! Globs of callers, read naively: braces are written out first, and what is left is tried at every place.

use unicode_normalization::UnicodeNormalization;

use cap_roots_mcp::internals::Floats;

/// A glob that was read, as the globs without braces that it stands for.
#[derive(Debug)]
pub(crate) struct Glob {
    meant: Vec<Plain>,
    floats: bool,
    fold: bool,
}

#[derive(Clone, Debug)]
struct Plain {
    parts: Vec<Part>,
    directories: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Char(char),
    Slash,
    One,
    Stars(usize),
    Class { not: bool, ranges: Vec<(char, char)> },
    Braces(Vec<Vec<Part>>),
}

/// Most globs without braces that one may stand for.
const MOST: usize = 256;

impl Glob {
    /// Or why it is refused.
    pub(crate) fn read(glob: &str, floats: Floats, fold: bool) -> Result<Self, &'static str> {
        if glob.len() > 1024 {
            return Err("long");
        }
        if glob.starts_with('!') {
            return Err("negation");
        }
        let end = glob.trim_end_matches('/');
        let floats = match floats {
            Floats::PlainNames => end.chars().all(|c| !"*?[{/\\".contains(c)),
            Floats::WithoutStar => !end.contains('*') && !glob.starts_with('/'),
            _ => !end.contains('/'),
        };
        let text = form(glob.strip_prefix("./").unwrap_or(glob), fold);
        if text.trim_matches('/').is_empty() {
            return Err("empty");
        }
        let chars: Vec<char> = text.chars().collect();
        let (parts, rest) = read(&chars, 0)?;
        assert_eq!(rest, chars.len(), "all is read at the top");
        let meant = expanded(&parts).ok_or("too many")?;
        Ok(Self { meant: meant.into_iter().map(Plain::of).collect(), floats, fold })
    }

    pub(crate) fn fits(&self, path: &str, is_dir: bool) -> bool {
        let path: Vec<char> = form(path, self.fold).chars().collect();
        let starts = |at: usize| at == 0 || (self.floats && path[at - 1] == '/');
        let fits = |plain: &Plain| {
            !plain.parts.is_empty() && (0..path.len()).any(|at| starts(at) && tried(&plain.parts, None, &path[at..]))
        };
        self.meant.iter().any(|plain| (is_dir || !plain.directories) && fits(plain))
    }
}

fn form(text: &str, fold: bool) -> String {
    let text: String = text.nfc().collect();
    if fold { text.chars().flat_map(char::to_lowercase).nfc().collect() } else { text }
}

impl Plain {
    fn of(mut parts: Vec<Part>) -> Self {
        let directories = parts.last() == Some(&Part::Slash);
        while parts.last() == Some(&Part::Slash) {
            parts.pop();
        }
        let first = parts.iter().position(|part| *part != Part::Slash).unwrap_or(parts.len());
        parts.drain(..first);
        // What stood in different braces stands side by side now.
        parts.dedup_by(|next, one| match (next, one) {
            (Part::Stars(more), Part::Stars(count)) => {
                *count += *more;
                true
            }
            (next, one) => *next == Part::Slash && *one == Part::Slash,
        });
        Self { parts, directories }
    }
}

/// From `at` on: to the end, or in braces to what ends an alternative.
fn read(chars: &[char], nested: usize) -> Result<(Vec<Part>, usize), &'static str> {
    let (mut parts, mut at) = (Vec::new(), 0);
    while let Some(&c) = chars.get(at) {
        if nested > 0 && (c == ',' || c == '}') {
            return Ok((parts, at));
        }
        let rest = &chars[at + 1..];
        if "*?+@!".contains(c) && is_group(rest) {
            return Err("group");
        }
        at += 1;
        match c {
            '/' => parts.push(Part::Slash),
            '?' => parts.push(Part::One),
            '*' => {
                let more = rest.iter().take_while(|c| **c == '*').count();
                parts.push(Part::Stars(1 + more));
                at += more;
            }
            '\\' => {
                let c = *rest.first().ok_or("backslash")?;
                parts.push(if c == '/' { Part::Slash } else { Part::Char(c) });
                at += 1;
            }
            '[' => {
                let (class, length) = class(rest)?;
                parts.push(class);
                at += length;
            }
            '{' => {
                let (braces, length) = braces(rest, nested)?;
                parts.extend(braces);
                at += length;
            }
            c => parts.push(Part::Char(c)),
        }
    }
    if nested > 0 { Err("brace") } else { Ok((parts, at)) }
}

fn is_group(rest: &[char]) -> bool {
    let mut rest = rest.iter().skip_while(|c| **c == '*');
    rest.next() == Some(&'(') && rest.any(|c| *c == ')')
}

fn class(rest: &[char]) -> Result<(Part, usize), &'static str> {
    let mut at = 0;
    let not = matches!(rest.first(), Some('!' | '^'));
    at += usize::from(not);
    let mut ranges = Vec::new();
    let first = at;
    let member = |at: &mut usize| {
        if rest.get(*at) == Some(&'\\') {
            *at += 1;
        }
        let c = rest.get(*at).copied().ok_or("class");
        *at += 1;
        c
    };
    loop {
        match rest.get(at) {
            None => return Err("class"),
            Some(']') if at > first => return Ok((Part::Class { not, ranges }, at + 1)),
            Some('[') if rest.get(at + 1) == Some(&':') => return Err("named class"),
            Some(_) => {}
        }
        let from = member(&mut at)?;
        let mut to = from;
        if rest.get(at) == Some(&'-') && rest.get(at + 1).is_some_and(|c| *c != ']') {
            at += 1;
            to = member(&mut at)?;
        }
        if to < from {
            return Err("range");
        }
        ranges.push((from, to));
    }
}

fn braces(rest: &[char], nested: usize) -> Result<(Vec<Part>, usize), &'static str> {
    if nested >= 8 {
        return Err("nested");
    }
    let (mut choices, mut at) = (Vec::new(), 0);
    loop {
        let (parts, length) = read(&rest[at..], nested + 1)?;
        choices.push(parts);
        at += length + 1;
        if rest[at - 1] == '}' {
            break;
        }
    }
    if choices.len() > 1 {
        return Ok((vec![Part::Braces(choices)], at));
    }
    let text: String = rest.iter().take_while(|c| **c != '}').collect();
    if text.split_once("..").is_some_and(|(from, to)| !from.is_empty() && !to.is_empty() && !text.contains('/')) {
        return Err("range in braces");
    }
    let inner = choices.into_iter().flatten();
    Ok(([Part::Char('{')].into_iter().chain(inner).chain([Part::Char('}')]).collect(), at))
}

fn expanded(parts: &[Part]) -> Option<Vec<Vec<Part>>> {
    let mut all = vec![Vec::new()];
    for part in parts {
        let choices = match part {
            Part::Braces(choices) => {
                let choices: Option<Vec<_>> = choices.iter().map(|choice| expanded(choice)).collect();
                choices?.concat()
            }
            part => vec![vec![part.clone()]],
        };
        if all.len() * choices.len() > MOST {
            return None;
        }
        all = all.iter().flat_map(|head| choices.iter().map(|choice| [&head[..], choice].concat())).collect();
    }
    Some(all)
}

/// Whether `parts`, behind `before`, are all of `path`.
fn tried(parts: &[Part], before: Option<&Part>, path: &[char]) -> bool {
    let Some((part, rest)) = parts.split_first() else { return path.is_empty() };
    let step = |fits: bool| fits && tried(rest, Some(part), &path[1..]);
    let first = path.first().copied();
    match part {
        Part::Char(c) => step(first == Some(*c)),
        Part::Slash => step(first == Some('/')),
        Part::One => step(first.is_some_and(|c| c != '/')),
        Part::Class { not, ranges } => {
            step(first.is_some_and(|c| c != '/' && ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *not))
        }
        Part::Stars(count) => {
            let whole = *count > 1 && before.is_none_or(|part| *part == Part::Slash);
            match rest {
                [] if whole => !path.is_empty(),
                [slash @ Part::Slash, rest @ ..] if whole => {
                    let begins = |at: &usize| *at == 0 || path[*at - 1] == '/';
                    (0..=path.len()).filter(begins).any(|at| tried(rest, Some(slash), &path[at..]))
                }
                rest => {
                    let longest = path.iter().take_while(|c| **c != '/').count();
                    (0..=longest).any(|length| tried(rest, Some(part), &path[length..]))
                }
            }
        }
        Part::Braces(_) => panic!("braces were written out"),
    }
}
