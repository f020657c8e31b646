//! Whether a JSON value fits a JSON Schema: the part of draft 2020-12 that our schema uses. A keyword that is not known here is a fault, so that
//! nothing of a schema is passed over.

use serde_json::{Map, Value};

/// Keywords that only tell.
const TELL: &[&str] = &["$schema", "$defs", "title", "description", "default", "format"];

/// Whether `value` fits `schema`, whose references start at `top`.
///
/// # Panics
/// At a schema that is more than is known here.
#[must_use]
pub fn fits(top: &Value, schema: &Value, value: &Value) -> bool {
    let Value::Object(keywords) = schema else { return schema == &Value::Bool(true) };
    keywords.iter().all(|(keyword, wanted)| keyword_fits(top, keywords, keyword, wanted, value))
}

fn keyword_fits(top: &Value, all: &Map<String, Value>, keyword: &str, wanted: &Value, value: &Value) -> bool {
    let length = || value.as_str().map_or(0, |text| text.chars().count());
    let number = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let schemas = || wanted.as_array().into_iter().flatten().filter(|schema| fits(top, schema, value)).count();
    match keyword {
        _ if TELL.contains(&keyword) => true,
        "$ref" => {
            let name = wanted.as_str().and_then(|name| name.strip_prefix("#")).unwrap_or_else(|| panic!("{wanted}"));
            fits(top, top.pointer(name).unwrap_or_else(|| panic!("{wanted}")), value)
        }
        "type" => match wanted.as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => number(value).is_some(),
            _ => panic!("{wanted}"),
        },
        "enum" => wanted.as_array().is_some_and(|values| values.contains(value)),
        "const" => wanted == value,
        "oneOf" => schemas() == 1,
        "anyOf" => schemas() > 0,
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| fits(top, wanted, item))),
        "required" => {
            let has = |key: &Value| key.as_str().is_some_and(|key| value.get(key).is_some());
            !value.is_object() || wanted.as_array().is_some_and(|keys| keys.iter().all(has))
        }
        "properties" => {
            let property = |(key, schema): (&String, &Value)| value.get(key).is_none_or(|value| fits(top, schema, value));
            wanted.as_object().is_some_and(|properties| properties.iter().all(property))
        }
        "additionalProperties" => {
            let named = all.get("properties").and_then(Value::as_object);
            let other = |key: &String| named.is_none_or(|named| !named.contains_key(key));
            let members = value.as_object().into_iter().flatten();
            members.filter(|(key, _)| other(key)).all(|(_, value)| fits(top, wanted, value))
        }
        "minimum" => number(value).is_none_or(|number_| Some(number_) >= number(wanted)),
        "maximum" => number(value).is_none_or(|number_| Some(number_) <= number(wanted)),
        "minLength" => !value.is_string() || Some(length() as u64) >= wanted.as_u64(),
        "maxLength" => !value.is_string() || Some(length() as u64) <= wanted.as_u64(),
        "pattern" => {
            assert_eq!(wanted, "^[a-z0-9._-]+$");
            let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
            value.as_str().is_none_or(|text| !text.is_empty() && text.chars().all(good))
        }
        _ => panic!("the keyword {keyword} is not known here"),
    }
}
