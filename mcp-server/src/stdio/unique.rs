//! JSON whose objects have each name once, as a plain value.
//!
//! May touch: nothing. A name that is there twice says two things, and whoever looked at the message on its way may have gone by the other one.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The value of a text, and whether a name was there twice. Such a name has no value then: `null`.
///
/// # Errors
/// What is no JSON.
pub(super) fn read(text: &str) -> serde_json::Result<(Value, bool)> {
    let twice = Cell::new(false);
    let mut input = serde_json::Deserializer::from_str(text);
    let value = Unique { twice: &twice }.deserialize(&mut input)?;
    input.end()?;
    Ok((value, twice.get()))
}

#[derive(Clone, Copy)]
struct Unique<'a> {
    twice: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = input.next_element_seed(self)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(name) = input.next_key::<String>()? {
            let value = input.next_value_seed(self)?;
            if values.contains_key(&name) {
                self.twice.set(true);
                values.insert(name, Value::Null);
            } else {
                values.insert(name, value);
            }
        }
        Ok(values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a value that comes out otherwise than the parser itself reads it, and a second name below the top.
    #[test]
    fn values_are_as_they_are_written() {
        for text in ["null", "-5", "18446744073709551615", "1.5e3", "\"\\u00e9\\n\"", "[]", "{\"a\":[1,{\"b\":true}],\"c\":{}}"] {
            assert_eq!(read(text).unwrap(), (serde_json::from_str(text).unwrap(), false), "{text}");
        }
        for text in ["{\"a\":1,\"\\u0061\":2}", "[{\"a\":[{\"b\":0,\"b\":0}]}]"] {
            assert!(read(text).unwrap().1, "{text}");
        }
        assert_eq!(read("{\"a\":1,\"a\":2,\"a\":3}").unwrap().0["a"], Value::Null);
        for text in ["", "{", "1 2", "nul", "1e999", "\"\\ud800\"", "{\"a\":1,}", "\u{0}"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"[".repeat(100_000)).is_err());
    }
}
