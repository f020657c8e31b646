//! A command line that cannot be read, said in one line with what to do.
//!
//! May touch: what the parser knows of the fault. Whatever was typed is escaped.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The line, without the program's name.
pub(super) fn line(error: &clap::Error) -> String {
    let of = |kind| error.get(kind).map(texts).unwrap_or_default();
    let first = |kind| of(kind).into_iter().next();
    let option = first(ContextKind::InvalidArg).unwrap_or_default();
    let name = option.split(' ').next().unwrap_or_default();
    let value = first(ContextKind::InvalidValue).unwrap_or_default();
    let near = |kind| of(kind).first().map(|near| format!("; {near} may be meant")).unwrap_or_default();
    let what = match error.kind() {
        ErrorKind::UnknownArgument if name.starts_with('-') => {
            format!("there is no option {name}{}; see --help", near(ContextKind::SuggestedArg))
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("{name} needs a value; give it as {option}"),
        ErrorKind::InvalidValue => format!(
            "{name} cannot be {value:?}{}; give one of {}",
            near(ContextKind::SuggestedValue),
            of(ContextKind::ValidValue).join(", ")
        ),
        ErrorKind::ValueValidation => format!("{name} cannot be {value:?}; {}", form(&option, error)),
        ErrorKind::ArgumentConflict if of(ContextKind::PriorArg).contains(&option) => {
            format!("{name} is given twice; give it once")
        }
        ErrorKind::ArgumentConflict => {
            format!("{name} does not go with {}; leave one of them out", of(ContextKind::PriorArg).join(", "))
        }
        ErrorKind::MissingRequiredArgument => {
            format!(
                "{} is missing, which another option needs; add it, or leave that one out",
                of(ContextKind::InvalidArg).join(", ")
            )
        }
        ErrorKind::InvalidUtf8 => {
            "the value of an option is not UTF-8; only paths of directories and files may be something else".to_owned()
        }
        ErrorKind::TooManyValues if !value.is_empty() => format!("{name} takes no value, and {value:?} is given; leave it out"),
        _ => format!("{}; see --help", plain(&error.to_string())),
    };
    format!("invalid-argument: {}", cap_roots::escape(&what))
}

/// How a value is given, by what stands for it in the help.
fn form(option: &str, error: &clap::Error) -> String {
    let form = match option.split_once('<').map(|(_, name)| name) {
        Some("BYTES>") => "give a number of bytes from 1 on, such as 1048576",
        Some("SECONDS>") => "give a whole number of seconds from 1 on, such as 60",
        Some("COUNT>") => "give a whole number from 1 to 4294967295, such as 50000",
        Some("LEVELS>") => "give a whole number from 1 to 512, such as 60",
        _ => return error.source().map_or_else(|| "see --help".to_owned(), |why| plain(&why.to_string())),
    };
    form.to_owned()
}

/// The first line of a message.
fn plain(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).trim_end().to_owned()
}

fn texts(value: &ContextValue) -> Vec<String> {
    match value {
        ContextValue::String(text) => vec![text.clone()],
        ContextValue::Strings(texts) => texts.clone(),
        ContextValue::StyledStr(text) => vec![text.to_string()],
        ContextValue::StyledStrs(texts) => texts.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}
