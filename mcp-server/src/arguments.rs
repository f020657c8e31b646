//! The arguments of a tool call: JSON from the client, read one by one with an error that names the argument.
//!
//! Unknown arguments are ignored, as clients of the reference server rely on. `null` counts as not given.
//!
//! May touch: nothing of the other rooms.

use cap_roots::{Error, Result};
use serde_json::{Map, Value};

#[derive(Debug)]
pub(crate) struct Arguments(pub(crate) Map<String, Value>);

impl Arguments {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// What is given, or that it is missing, with what there is instead.
    fn needed(&self, name: &str) -> Result<&Value> {
        self.get(name).ok_or_else(|| {
            let given = self.0.iter().filter(|(_, value)| !value.is_null());
            let given: Vec<_> = given.map(|(name, _)| format!("{name:?}")).collect();
            let given = if given.is_empty() { String::new() } else { format!("; given: {}", given.join(", ")) };
            Error::invalid_argument(format!("{name:?} is missing{given}"))
        })
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str> {
        let wrong = || Error::invalid_argument(format!("{name:?} must be a string"));
        self.needed(name)?.as_str().ok_or_else(wrong)
    }

    /// Text, if it is given.
    pub(crate) fn text_if_given(&self, name: &str) -> Result<Option<&str>> {
        self.get(name).map(|_| self.text(name)).transpose()
    }

    /// A list of at most `most` strings; none if it is not given.
    pub(crate) fn texts_if_given(&self, name: &str, most: usize) -> Result<Vec<&str>> {
        let wrong = || Error::invalid_argument(format!("{name:?} must be a list of at most {most} strings"));
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let values = value.as_array().filter(|values| values.len() <= most).ok_or_else(wrong)?;
        values.iter().map(|value| value.as_str().ok_or_else(wrong)).collect()
    }

    /// A list of at least one and at most `most` strings.
    pub(crate) fn texts(&self, name: &str, most: usize) -> Result<Vec<&str>> {
        let wrong = || Error::invalid_argument(format!("{name:?} must be a list of 1 to {most} strings"));
        let values = self.needed(name)?.as_array().ok_or_else(wrong)?;
        if values.is_empty() || values.len() > most {
            return Err(wrong());
        }
        values.iter().map(|value| value.as_str().ok_or_else(wrong)).collect()
    }

    /// A list of objects, which may be empty.
    pub(crate) fn objects(&self, name: &str) -> Result<Vec<Arguments>> {
        let wrong = || Error::invalid_argument(format!("{name:?} must be a list of objects"));
        let values = self.needed(name)?.as_array().ok_or_else(wrong)?;
        values.iter().map(|value| value.as_object().cloned().map(Arguments).ok_or_else(wrong)).collect()
    }

    /// True or false; false if it is not given. A flag changes what a call does, so one that is almost called this is not ignored.
    pub(crate) fn flag(&self, name: &str) -> Result<bool> {
        self.flag_or(name, false)
    }

    /// As [`Arguments::flag`], `default` if it is not given.
    pub(crate) fn flag_or(&self, name: &str, default: bool) -> Result<bool> {
        let plain = |name: &str| name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
        if let Some(other) = self.0.keys().find(|key| *key != name && plain(key) == plain(name)) {
            return Err(Error::invalid_argument(format!("{other:?} is not known; {name:?} may be meant")));
        }
        let wrong = || Error::invalid_argument(format!("{name:?} must be true or false"));
        self.get(name).map_or(Ok(default), |value| value.as_bool().ok_or_else(wrong))
    }

    /// A whole number from 1, if it is given. `2.0` is one (JSON Schema: integers are numbers without a fraction).
    pub(crate) fn count(&self, name: &str) -> Result<Option<u64>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let wrong = || Error::invalid_argument(format!("{name:?} must be a whole number of at least 1"));
        let whole = value.as_u64().or_else(|| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range: checked in the filter")]
            value.as_f64().filter(|number| number.fract() == 0.0 && (1.0..1e15).contains(number)).map(|number| number as u64)
        });
        whole.filter(|number| *number >= 1).map(Some).ok_or_else(wrong)
    }

    /// A whole number from 0 to `most`, if it is given.
    pub(crate) fn number(&self, name: &str, most: u64) -> Result<Option<u64>> {
        let wrong = || Error::invalid_argument(format!("{name:?} must be a whole number from 0 to {most}"));
        match self.get(name) {
            Some(value) if value.as_f64() == Some(0.0) => Ok(Some(0)),
            _ => {
                let number = self.count(name).map_err(|_| wrong())?;
                if number.is_some_and(|number| number > most) { Err(wrong()) } else { Ok(number) }
            }
        }
    }

    /// Whether it is given at all.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// One of `choices`; the first if it is not given.
    pub(crate) fn choice<'a>(&self, name: &str, choices: &'a [&'a str]) -> Result<&'a str> {
        let wrong = || Error::invalid_argument(format!("{name:?} must be one of {}", choices.join(", ")));
        let given = match self.get(name) {
            None => return choices.first().copied().ok_or_else(wrong),
            Some(value) => value.as_str().ok_or_else(wrong)?,
        };
        choices.iter().find(|choice| **choice == given).copied().ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: Value) -> Arguments {
        Arguments(value.as_object().unwrap().clone())
    }

    /// Catches: a preview that becomes a change because its flag was spelled otherwise.
    #[test]
    fn a_flag_that_is_almost_called_so_is_refused() {
        for name in ["dry_run", "dryrun", "DryRun", "dry-run"] {
            assert!(arguments(json!({ name: true })).flag("dryRun").is_err(), "{name}");
        }
        assert_eq!(arguments(json!({ "dry": true, "dryRun": true })).flag("dryRun"), Ok(true));
    }

    #[test]
    fn counts_are_whole_and_from_one() {
        for (value, want) in [(json!(1), 1), (json!(2.0), 2), (json!(u64::MAX), u64::MAX)] {
            assert_eq!(arguments(json!({ "head": value })).count("head").unwrap(), Some(want));
        }
        for value in [json!(0), json!(-1), json!(1.5), json!("2"), json!(true), json!(1e30), json!([1])] {
            let error = arguments(json!({ "head": value })).count("head").unwrap_err();
            assert!(error.to_string().starts_with("invalid-argument: \"head\" must be a whole number"), "{error}");
        }
        assert_eq!(arguments(json!({ "head": null })).count("head").unwrap(), None);
    }

    #[test]
    fn errors_name_the_argument() {
        let empty = arguments(json!({ "path": 5, "paths": [], "sortBy": "date" }));
        assert!(empty.text("path").unwrap_err().to_string().contains("\"path\" must be a string"));
        assert!(empty.text("other").unwrap_err().to_string().contains("\"other\" is missing"));
        assert!(empty.texts("paths", 3).unwrap_err().to_string().contains("\"paths\" must be a list of 1 to 3"));
        for missing in [empty.texts("other", 3).map(drop), empty.objects("other").map(drop)] {
            let missing = missing.unwrap_err().to_string();
            assert!(missing.contains("\"other\" is missing; given: \"path\", \"paths\", \"sortBy\""), "{missing}");
        }
        assert!(empty.objects("path").unwrap_err().to_string().contains("\"path\" must be a list of objects"));
        assert!(empty.objects("paths").unwrap().is_empty());
        assert!(empty.flag("path").unwrap_err().to_string().contains("\"path\" must be true or false"));
        assert!(!empty.flag("other").unwrap());
        assert!(empty.choice("sortBy", &["name", "size"]).unwrap_err().to_string().contains("name, size"));
    }
}
