//! When a grant ends, as a file says it.
//!
//! May touch: nothing. No I/O: the present is an input.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo, Timestamp};
use toml::Value;

/// A moment, or a time after the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    At(Timestamp),
    After(Duration),
}

impl Expiry {
    /// Reads a TOML date and time, or a string such as `8h`; or says what is wrong with it.
    pub(super) fn read(value: &Value) -> Result<Self, &'static str> {
        match value {
            Value::Datetime(at) if at.offset.is_none() => Err("has no offset, so it could be meant in any time zone"),
            Value::Datetime(at) => at.to_string().parse().map(Self::At).map_err(|_| "is no date and time with an offset"),
            Value::String(text) if text.parse::<Timestamp>().is_ok() => Err("is a date and time in quotes"),
            Value::String(text) => match duration(text) {
                Some(time) if time > Duration::ZERO => Ok(Self::After(time)),
                Some(_) => Err("is no time at all"),
                None => Err("is no time after the start"),
            },
            _ => Err("is neither a date and time nor a time after the start"),
        }
    }

    /// How long is left at `now`; nothing, if it is past.
    pub(super) fn left(self, now: Timestamp) -> Duration {
        match self {
            Self::At(at) => Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO),
            Self::After(time) => time,
        }
    }
}

/// Days are 24 hours; months and years have no fixed length and are no duration.
fn duration(text: &str) -> Option<Duration> {
    let span: Span = text.parse().ok()?;
    Duration::try_from(span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Result<Expiry, &'static str> {
        let table: toml::Table = toml::from_str(&format!("x = {value}")).unwrap();
        Expiry::read(&table["x"])
    }

    /// Catches: a time zone that is guessed, a negative time that counts as none, a date that is only a day.
    #[test]
    fn what_ends_when() {
        let now: Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
        for (text, seconds) in [
            ("\"8h\"", 8 * 3600),
            ("\"1h 30m\"", 5400),
            ("\"1h30m\"", 5400),
            ("\"8 hours\"", 8 * 3600),
            ("\"7d\"", 7 * 86400),
            ("\"1w\"", 7 * 86400),
            ("\"PT90S\"", 90),
            ("2027-01-01T00:00:10Z", 10),
            ("2027-01-01 01:00:10+01:00", 10),
            ("2026-12-31T23:59:59Z", 0),
            ("0001-01-01T00:00:00Z", 0),
        ] {
            assert_eq!(read(text).map(|expiry| expiry.left(now).as_secs()), Ok(seconds), "{text}");
        }
        for text in [
            "2027-01-01T00:00:00",
            "2027-01-01",
            "10:00:00",
            "\"2027-01-01T00:00:00Z\"",
            "\"8\"",
            "\"0s\"",
            "\"-8h\"",
            "\"8h ago\"",
            "\"1 month\"",
            "\"\"",
            "\"soon\"",
            "8",
            "1.5",
            "true",
            "[]",
        ] {
            assert!(read(text).is_err(), "{text} {:?}", read(text));
        }
    }
}
