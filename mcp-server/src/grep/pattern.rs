//! What is searched for: the text of a caller, bounded and compiled.
//!
//! May touch: nothing of the server. Expressions are those of `regex`: without look-around and back-references, so that a search takes
//! time linear in what is searched, whatever was written; the factor is the size of the expression. It is bounded here, and with it each line.

use cap_roots::{Error, Result};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use super::source::LINE;

/// Longest pattern, in bytes.
pub(crate) const LENGTH: usize = 4096;
/// Most bytes of a compiled expression.
const COMPILED: usize = 1 << 20;
/// Most places of an expression that its matcher may stand at.
const PLACES: usize = 2048;
/// Most places times bytes of a line. Nobody can stop the matcher within a line, and for each byte it may have to look at each place: so
/// many take about half a second.
const STEP: usize = 1 << 22;
/// Most bytes that the matcher sets aside for what it has seen.
const CACHE: usize = 4 << 20;
/// How deep groups and repetitions may be nested.
const NESTED: u32 = 64;

/// How a pattern is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    /// An expression, and not the text itself.
    pub(crate) regex: bool,
    pub(crate) case_sensitive: bool,
    /// Only where no letter, digit or underscore stands beside it.
    pub(crate) whole_word: bool,
}

/// A pattern that can be searched for in lines.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(super) matcher: RegexMatcher,
    /// Most bytes of one line that are searched.
    pub(super) line: usize,
    /// It is taken as text, and looks as if it were meant as an expression.
    pub(crate) looks_like_regex: bool,
}

impl Pattern {
    /// # Errors
    /// `invalid-argument` where it is empty, too long, no expression, too large as one, or goes over the end of a line.
    pub(crate) fn parse(text: &str, meaning: Meaning) -> Result<Self> {
        let wrong = |what: String| Error::invalid_argument(format!("\"pattern\" {what}"));
        if text.is_empty() {
            return Err(wrong("is empty: every line would match".to_owned()).advise("give the text to look for"));
        }
        if text.len() > LENGTH {
            let advice = "look for a shorter part of the text";
            return Err(wrong(format!("is longer than {LENGTH} bytes")).advise(advice));
        }
        if text.contains('\n') {
            return Err(several_lines());
        }
        let large =
            || wrong("is too large as a regular expression".to_owned()).advise("use shorter repetitions: counted ones multiply");
        let line = line(&if meaning.regex { text.to_owned() } else { regex_syntax::escape(text) }, meaning)?.ok_or_else(large)?;
        let matcher = RegexMatcherBuilder::new()
            .fixed_strings(!meaning.regex)
            .case_insensitive(!meaning.case_sensitive)
            .word(meaning.whole_word)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .crlf(true)
            .nest_limit(NESTED + 2)
            .size_limit(COMPILED)
            .dfa_size_limit(CACHE)
            .build(text)
            .map_err(|error| match error.kind() {
                ErrorKind::NotAllowed(_) => several_lines(),
                _ if error.to_string().contains("size limit") => large(),
                _ => not_a_regex(String::new()),
            })?;
        Ok(Self { matcher, line, looks_like_regex: !meaning.regex && looks_like_regex(text) })
    }
}

fn several_lines() -> Error {
    Error::invalid_argument("\"pattern\" holds a line break, and the search goes line by line")
        .advise("look for one of the lines, and read the file around it")
}

fn not_a_regex(why: String) -> Error {
    Error::invalid_argument(format!("\"pattern\" is not a regular expression{why}"))
        .advise("mend it, or set regex to false to look for the text itself")
}

/// How much of a line is searched; `None` where the expression has too many places.
///
/// Parsed by itself first: where a fault is counts from the caller's own text, and what is only right together with what the matcher puts
/// around it (`a)|(b`) is found.
fn line(text: &str, meaning: Meaning) -> Result<Option<usize>> {
    let mut parser = ParserBuilder::new();
    let (why, at) = match parser.nest_limit(NESTED).utf8(false).case_insensitive(!meaning.case_sensitive).build().parse(text) {
        // Looked for by its bytes, whatever its length.
        Ok(hir) if matches!(hir.kind(), HirKind::Literal(_)) && !meaning.whole_word => return Ok(Some(LINE)),
        Ok(hir) => {
            let places = places(&hir);
            return Ok((places <= PLACES).then(|| LINE.min(STEP / places)));
        }
        Err(regex_syntax::Error::Parse(error)) => (error.kind().to_string(), error.span().start.column),
        Err(regex_syntax::Error::Translate(error)) => (error.kind().to_string(), error.span().start.column),
        Err(_) => return Err(not_a_regex(String::new())),
    };
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(not_a_regex(format!(" at character {at}: {why}")))
}

/// How many places of an expression a matcher may stand at, at once; at least 1. Counted and not compiled: the many states of a class such as `\w`
/// are nearly all for other bytes.
fn places(hir: &Hir) -> usize {
    /// The longest character.
    const CHARACTER: usize = 4;
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len().max(1),
        HirKind::Class(class) => class.maximum_len().unwrap_or(CHARACTER).max(1),
        HirKind::Capture(capture) => places(&capture.sub),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1);
            // One more for what goes around it.
            (places(&repetition.sub).saturating_add(usize::from(repetition.max != Some(repetition.min))))
                .saturating_mul(usize::try_from(times).unwrap_or(usize::MAX))
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().fold(0_usize, |sum, part| sum.saturating_add(places(part))).max(1)
        }
    }
}

/// What is hardly ever meant as it stands.
fn looks_like_regex(text: &str) -> bool {
    text.contains(".*")
        || text.contains(".+")
        || ["\\b", "\\s", "\\w", "\\d", "\\.", "\\("].iter().any(|escape| text.contains(escape))
        || (text.contains('|') && !text.contains("||"))
        || (text.len() > 1 && (text.starts_with('^') || text.ends_with('$')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use grep_matcher::Matcher;

    const REGEX: Meaning = Meaning { regex: true, case_sensitive: true, whole_word: false };
    const LITERAL: Meaning = Meaning { regex: false, ..REGEX };

    fn found(text: &str, meaning: Meaning, line: &str) -> bool {
        Pattern::parse(text, meaning).unwrap().matcher.is_match(line.as_bytes()).unwrap()
    }

    #[track_caller]
    fn refused(text: &str, meaning: Meaning) -> String {
        let error = Pattern::parse(text, meaning).unwrap_err().to_string();
        assert!(error.starts_with("invalid-argument: \"pattern\" ") && !error.contains('\n'), "{error}");
        error
    }

    /// Catches: a literal that is compiled as an expression, and the other way round.
    #[test]
    fn text_is_text_and_expressions_are_expressions() {
        assert!(found("f(x)|a.b*", LITERAL, "so f(x)|a.b* is"));
        assert!(!found("a.b", LITERAL, "axb"));
        assert!(found("a.b", REGEX, "axb"));
        assert!(!found("Ä", LITERAL, "ä") && found("Ä", Meaning { case_sensitive: false, ..LITERAL }, "ä"));
        let word = Meaning { whole_word: true, ..LITERAL };
        assert!(found("end", word, "the end.") && !found("end", word, "the ending") && !found("end", word, "bänd_end"));
    }

    /// Catches: an expression that is right only within the brackets that are put around it, and a report of several lines.
    #[test]
    fn faults_are_told_in_one_line_with_their_place() {
        assert!(refused("a)|(b", REGEX).contains("at character 2: unopened group"));
        assert!(refused("ü(b", REGEX).contains("at character 2: unclosed group"));
        assert!(refused("[", REGEX).contains("unclosed character class"));
        assert!(refused("(?=a)", REGEX).contains("look-around"));
        assert!(refused(r"(a)\1", REGEX).contains("backreferences"));
        assert!(refused(r"\p{Nothing}", REGEX).contains("Unicode property"));
        assert!(refused("", REGEX).contains("empty"));
        assert!(refused("a\nb", LITERAL).contains("line break"));
        assert!(refused(r"a\nb", REGEX).contains("line break"));
        refused(&"a".repeat(LENGTH + 1), LITERAL);
        assert!(found(r"a\nb", LITERAL, r"a\nb"));
    }

    /// Catches: the limits of the matcher as they come, 100 MiB for an expression.
    #[test]
    fn large_expressions_are_refused() {
        // The last one has few places and is large when it is compiled.
        for bomb in ["(a{1000}){1000}", r"((\w{100}){100}){100}", r"\w{1000}", "(?i)[a-z]{99999}", r"\w{500}"] {
            assert!(refused(bomb, REGEX).contains("too large"), "{bomb}");
        }
        let deep = format!("{}a{}", "(".repeat(1000), ")".repeat(1000));
        assert!(refused(&deep, REGEX).contains("nest"));
        for sound in [r"\w{20}", r"(?i)fn\s+\w+\s*\(", r"\b\p{L}+\b.*\b\p{L}+\b", "a{1000}"] {
            assert!(Pattern::parse(sound, REGEX).is_ok(), "{sound}");
        }
    }

    /// Catches: a large expression on a long line, which runs for minutes and ends for nobody.
    #[test]
    fn the_larger_an_expression_the_shorter_its_lines() {
        assert_eq!(Pattern::parse("needle", LITERAL).unwrap().line, LINE);
        for count in [8, 100, 800, 2000] {
            let pattern = Pattern::parse(&format!("[01]*1[01]{{{count}}}X$"), REGEX).unwrap();
            assert!(pattern.line * count <= STEP && pattern.line >= STEP / PLACES, "{count}: {}", pattern.line);
        }
        for usual in [r"\w+", r"(?i)fn\s+\w+\s*\(", r"\d{4}-\d{2}-\d{2}", "TODO|FIXME"] {
            assert!(Pattern::parse(usual, REGEX).unwrap().line >= 64 << 10, "{usual}");
        }
        for large in ["(.*1){1000}X", "(0|1|01|10){3200}X$", "([01]?){2000}", "((a{60}){60}){1,60}", "(?i)(äö){900}"] {
            assert!(refused(large, REGEX).contains("shorter repetitions"), "{large}");
        }
        assert!(refused("[01]*1[01]{8000}X$", REGEX).contains("shorter repetitions"));
    }

    #[test]
    fn expressions_given_as_text_are_suspected() {
        for text in ["foo|bar", "a.*b", r"\bword", "^start", "end$", r"a\(b"] {
            assert!(Pattern::parse(text, LITERAL).unwrap().looks_like_regex, "{text}");
            assert!(!Pattern::parse("x.*", REGEX).unwrap().looks_like_regex);
        }
        for text in ["f(x)", "a || b", "$", "a.b", "x = y"] {
            assert!(!Pattern::parse(text, LITERAL).unwrap().looks_like_regex, "{text}");
        }
    }
}
