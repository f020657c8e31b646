//! `{a,b}`, written out: a glob as the globs without braces that it stands for.
//!
//! May touch: nothing. They are written out first, since whether `**` is a whole name depends on what stands on both sides of it, which may
//! be in other braces.

use std::iter::Peekable;
use std::str::Chars;

use super::{Parsed, UNCLOSED};

/// Most braces one inside the other.
pub(super) const NESTED: usize = 8;
/// Most globs that one stands for.
const MOST: usize = 256;
const TOO_MANY: &str = "stands for more than 256 globs, with all that its braces say; give fewer braces";

/// Braces without a comma are characters, and stay.
pub(super) fn written_out(glob: &str) -> Parsed<Vec<String>> {
    sequence(&mut glob.chars().peekable(), 0)
}

/// Up to the end, or in braces up to the comma or brace that ends it, which is left.
fn sequence(rest: &mut Peekable<Chars<'_>>, nested: usize) -> Parsed<Vec<String>> {
    let mut all = vec![String::new()];
    while let Some(&c) = rest.peek() {
        if nested > 0 && matches!(c, ',' | '}') {
            return Ok(all);
        }
        rest.next();
        if matches!(c, '*' | '?' | '+' | '@' | '!') && is_group(rest) {
            return Err(r"has a group such as +(a|b), which is not known; write {a,b}, or \( for the character itself");
        }
        let pieces = match c {
            '{' => braces(rest, nested)?,
            '[' => vec![class(rest)?],
            '\\' => match rest.next().ok_or("ends with a backslash")? {
                // It ends a name, however it is written.
                '/' => vec!["/".to_owned()],
                c => vec![format!("\\{c}")],
            },
            c => vec![c.to_string()],
        };
        all = joined(&all, &pieces)?;
    }
    if nested > 0 { Err("has a { without its }") } else { Ok(all) }
}

/// Each of the one before each of the other.
fn joined(all: &[String], pieces: &[String]) -> Parsed<Vec<String>> {
    if all.len().saturating_mul(pieces.len()) > MOST {
        return Err(TOO_MANY);
    }
    Ok(all.iter().flat_map(|head| pieces.iter().map(move |piece| format!("{head}{piece}"))).collect())
}

/// Whether a group in parentheses follows.
fn is_group(rest: &Peekable<Chars<'_>>) -> bool {
    let mut ahead = rest.clone().skip_while(|c| *c == '*');
    ahead.next() == Some('(') && ahead.any(|c| c == ')')
}

/// As it is written, behind its bracket: what is in it is no brace and no comma.
fn class(rest: &mut Peekable<Chars<'_>>) -> Parsed<String> {
    let mut text = String::from("[");
    text.extend(rest.next_if(|c| matches!(c, '!' | '^')));
    let first = text.len();
    loop {
        let c = rest.next().ok_or(UNCLOSED)?;
        let ends = c == ']' && text.len() > first;
        text.push(c);
        if ends {
            return Ok(text);
        }
        if c == '\\' {
            text.push(rest.next().ok_or(UNCLOSED)?);
        }
    }
}

fn braces(rest: &mut Peekable<Chars<'_>>, nested: usize) -> Parsed<Vec<String>> {
    if nested >= NESTED {
        return Err("has too many braces one inside the other");
    }
    let inner = rest.clone();
    let mut all = sequence(rest, nested + 1)?;
    let mut several = false;
    while rest.next() == Some(',') {
        several = true;
        all.extend(sequence(rest, nested + 1)?);
        if all.len() > MOST {
            return Err(TOO_MANY);
        }
    }
    if several {
        return Ok(all);
    }
    let text: String = inner.take_while(|c| *c != '}').collect();
    if text.split_once("..").is_some_and(|(from, to)| !from.is_empty() && !to.is_empty() && !text.contains('/')) {
        return Err("has a range in { }, which is not known; list what is meant, as in {1,2,3}");
    }
    Ok(all.into_iter().map(|one| format!("{{{one}}}")).collect())
}
