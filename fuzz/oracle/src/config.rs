//! Laws of configurations: what is refused is one line with its place, which repeats nothing from elsewhere in the file; what is accepted fits the
//! published schema, says what the text says and nothing else, and means the same when it is written anew; what fits the schema is refused for
//! a listed reason only.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::Duration;

use cap_roots::Access;
use cap_roots::config::{ClientRoots, Config, ConfigError, Landlock, Protect, RootConfig, json_schema};
use serde_json::{Map, Value};

use crate::rules::Glob;
use crate::{pieces, schema};

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(&json_schema()).unwrap_or_else(|error| panic!("{error}")));

/// Stands for a secret.
const CANARY: &str = "7f3a-canary";

/// What configurations are made of.
const OF_CONFIGS: &[&str] = &[
    "\n",
    "[[root]]\n",
    "path = \"x\"\n",
    "access = \"read\"\n",
    "access = \"write\"\n",
    "name = \"a\"\n",
    "name = \"b\"\n",
    "no_delete = true\n",
    "expires = \"8h\"\n",
    "expires = 2027-01-31T18:00:00Z\n",
    "rules = { \"**/.env\" = \"none\" }\n",
    "[root.rules]\n",
    "\"a/\" = \"list\"\n",
    "[rules]\n",
    "[limits]\n",
    "max_seconds = 60\n",
    "max_depth = 512\n",
    "max_depth = 513\n",
    "max_entries = 4294967295\n",
    "max_read_bytes = 1\n",
    "must_end = true\n",
    "[end]\n",
    "end = {}\n",
    "protect = \"none\"\n",
    "client_roots = \"trust\"\n",
    "client_roots = \"narrow\"\n",
    "hide_host_paths = true\n",
    "tools = [\"a\", \"b\"]\n",
    "disable_tools = [\n\"c\"]\n",
    "ignore = [\"*.js\"]\n",
    "ignore_common = true\n",
    "gitignore = false\n",
    "audit = \"~/a\"\n",
    "# 7f3a-canary\n",
    "7f3a-canary",
    "= ",
    "\"",
    "\"\"\"\n",
    "'",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "x = 1\n",
    "path = \"7f3a-canary\"\n",
    "access = \"7f3a-canary\"\n",
    "name = \"..\"\n",
    "expires = 2027-01-31\n",
    "expires = \"0s\"\n",
    "\\u0000",
    "\\",
    "\r\n",
    "\u{feff}",
    "\u{e9}",
    "\u{85}",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "root = [",
    "{ path = \"y\", access = \"list\" }",
    "]\n",
    "client_roots = \"trust-read\"\n",
    "max_text_bytes = 9223372036854775807\n",
    "\"a/**b\" = \"read\"\n",
    "landlock = \"require\"\n",
    "one_file_system = true\n",
];

/// What an input means.
pub(crate) fn print(bytes: &[u8]) -> String {
    format!("{:?}", pieces::text(bytes, OF_CONFIGS))
}

/// Runs what bytes stand for.
pub fn check_bytes(bytes: &[u8]) {
    if let Some(text) = pieces::text(bytes, OF_CONFIGS) {
        check(&text);
    }
}

/// Panics if a configuration is read otherwise than it has to be.
pub fn check(text: &str) {
    let read = Config::parse(text);
    let plain = text.trim_start_matches('\u{feff}');
    let table = plain.parse::<toml::Table>();
    let json = table.ok().map(|table| Value::Object(table.iter().map(|(key, value)| (key.clone(), json(key, value))).collect()));
    let json = json.filter(|json| schema::fits(&SCHEMA, &SCHEMA, json));
    match (read, json) {
        (Err(error), json) => refused(plain, &error, json.as_ref()),
        (Ok(_), None) => panic!("{text:?} is accepted, and does not fit the schema"),
        (Ok(config), Some(json)) => accepted(plain, &config, &json),
    }
}

/// As programs that know JSON alone see it. Dates are strings where the schema has them.
fn json(key: &str, value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(flag) => (*flag).into(),
        toml::Value::Datetime(date) if key == "expires" => date.to_string().into(),
        toml::Value::Datetime(_) => Value::Null,
        toml::Value::Array(items) => items.iter().map(|item| json("", item)).collect(),
        toml::Value::Table(table) => {
            table.iter().map(|(key, value)| (key.clone(), json(key, value))).collect::<Map<_, _>>().into()
        }
    }
}

fn refused(text: &str, error: &ConfigError, json: Option<&Value>) {
    let told = error.to_string();
    assert!(!told.contains(char::is_control) && told.len() < 800, "{told:?}");
    let (line, column) = error.line().zip(error.column()).unwrap_or_else(|| panic!("{text:?}: no place: {told}"));
    assert!(told.starts_with(&format!("configuration:{line}:{column}: ")), "{told}");
    let there = text.split('\n').nth(line - 1).unwrap_or_else(|| panic!("{text:?} has no such line: {told}"));
    assert!((1..=there.chars().count() + 1).contains(&column), "{text:?} has no such column: {told}");
    // Of what stands in other lines, nothing is repeated but the name of another root. In its own, the key may stand before the place.
    if told.contains(CANARY) && !told.contains(": the name ") {
        assert!(there.contains(CANARY) || there.contains('\\'), "{text:?}: {told}");
    }
    if let Some(json) = json {
        let known = reasons(json).into_iter().any(|reason| told.contains(reason));
        assert!(known, "{text:?} fits the schema, and is refused: {told}");
    }
}

/// Why a text is refused that fits the schema, as its line says it.
fn reasons(json: &Value) -> Vec<&'static str> {
    let mut reasons = Vec::new();
    let roots: Vec<&Value> = json.get("root").and_then(Value::as_array).into_iter().flatten().collect();
    if json.as_object().is_some_and(Map::is_empty) {
        reasons.push("nothing is in it");
    }
    if roots.iter().filter_map(|root| root["path"].as_str()).any(|path| path.contains('\0')) {
        reasons.push("path cannot be");
    }
    if json["audit"].as_str().is_some_and(|audit| audit.contains('\0')) {
        reasons.push("audit cannot be");
    }
    let names: Vec<&str> = roots.iter().filter_map(|root| root["name"].as_str()).collect();
    if names.iter().any(|name| name.trim_matches('.').is_empty()) {
        reasons.push("name cannot be");
    }
    if (1..names.len()).any(|at| names[..at].contains(&names[at])) {
        reasons.push("the name");
    }
    let globs = roots.iter().map(|root| &root["rules"]).chain([&json["rules"]]).filter_map(Value::as_object).flatten();
    if globs.into_iter().any(|(glob, _)| Glob::parse(glob, Access::None).is_err()) {
        reasons.push("the glob");
    }
    if roots.iter().any(|root| root.get("expires").is_some()) {
        reasons.push("expires");
    }
    let trusts = json["client_roots"].as_str().is_some_and(|trust| trust.starts_with("trust"));
    if trusts || json["must_end"] == true || json.get("end").is_some() {
        reasons.push("[end]");
        reasons.push("must_end");
    }
    reasons
}

fn accepted(text: &str, config: &Config, json: &Value) {
    says(config, json, text);
    assert!(
        reasons(json).iter().all(|reason| matches!(*reason, "expires" | "[end]" | "must_end")),
        "{text:?}: {:?}",
        reasons(json)
    );
    let trusts = matches!(config.client_roots(), Some(ClientRoots::Trust | ClientRoots::TrustRead));
    let must_end = json["must_end"] == true;
    assert!(must_end || !trusts, "{text:?} may be cut off, and trusts");
    if must_end {
        let end = text.rfind("end").unwrap_or_else(|| panic!("{text:?} has no end"));
        for cut in [end, end / 2] {
            let cut = (0..=cut).rev().find(|cut| text.is_char_boundary(*cut)).unwrap_or(0);
            assert!(Config::parse(&text[..cut]).is_err(), "{text:?}, cut at {cut}");
        }
    }
    let written = write(config);
    let again = Config::parse(&written).unwrap_or_else(|error| panic!("{text:?}: {error}: {written}"));
    same(config, &again, text);
}

/// The same values as the text has, and those that are documented for what it leaves out.
fn says(config: &Config, json: &Value, text: &str) {
    let flag = |table: &Value, key: &str| table.get(key).and_then(Value::as_bool).unwrap_or_default();
    let words = |key: &str| {
        json.get(key).map(|words| words.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>())
    };
    let rules = |table: &Value, own: &[(String, Access)]| {
        let own: BTreeMap<&str, String> = own.iter().map(|(glob, access)| (glob.as_str(), access.to_string())).collect();
        let told = table.get("rules").and_then(Value::as_object).into_iter().flatten();
        assert_eq!(
            own,
            told.map(|(glob, access)| (glob.as_str(), access.as_str().unwrap_or_default().to_owned())).collect(),
            "{text:?}"
        );
    };
    rules(json, config.rules());
    assert_eq!(config.protect().map(protect), json["protect"].as_str(), "{text:?}");
    assert_eq!(config.client_roots().map(client_roots), json["client_roots"].as_str(), "{text:?}");
    assert_eq!(config.landlock().map(landlock), json["landlock"].as_str(), "{text:?}");
    for (own, key) in [
        (config.hide_host_paths(), "hide_host_paths"),
        (config.one_file_system(), "one_file_system"),
        (config.ignore_common(), "ignore_common"),
        (config.gitignore(), "gitignore"),
    ] {
        assert_eq!(own, flag(json, key), "{text:?}: {key}");
    }
    assert_eq!(config.tools().map(|tools| tools.iter().map(String::as_str).collect()), words("tools"), "{text:?}");
    assert_eq!(config.disabled_tools(), words("disable_tools").unwrap_or_default(), "{text:?}");
    assert_eq!(config.ignore(), words("ignore").unwrap_or_default(), "{text:?}");
    assert_eq!(config.audit().and_then(|audit| audit.to_str()), json["audit"].as_str(), "{text:?}");
    for (key, own) in limits(config) {
        assert_eq!(own, json["limits"][key].as_u64(), "{text:?}: {key}");
    }
    let told: Vec<&Value> = json.get("root").and_then(Value::as_array).into_iter().flatten().collect();
    assert_eq!(config.roots().len(), told.len(), "{text:?}");
    for (own, told) in config.roots().iter().zip(told) {
        assert_eq!((own.path().to_str(), own.name()), (told["path"].as_str(), told["name"].as_str()), "{text:?}");
        assert_eq!(
            (Some(&*own.access().to_string()), own.no_delete()),
            (told["access"].as_str(), flag(told, "no_delete")),
            "{text:?}"
        );
        assert_eq!(own.time_left().is_some(), told.get("expires").is_some(), "{text:?}");
        rules(told, own.rules());
    }
}

fn protect(protect: Protect) -> &'static str {
    if protect == Protect::None { "none" } else { "default" }
}

fn client_roots(roots: ClientRoots) -> &'static str {
    match roots {
        ClientRoots::Narrow => "narrow",
        ClientRoots::Trust => "trust",
        ClientRoots::TrustRead => "trust-read",
        _ => "off",
    }
}

fn landlock(landlock: Landlock) -> &'static str {
    match landlock {
        Landlock::Require => "require",
        Landlock::Off => "off",
        _ => "auto",
    }
}

fn limits(config: &Config) -> [(&'static str, Option<u64>); 6] {
    let limits = config.limits();
    [
        ("max_read_bytes", limits.max_read_bytes.map(Into::into)),
        ("max_text_bytes", limits.max_text_bytes.map(Into::into)),
        ("max_media_bytes", limits.max_media_bytes.map(Into::into)),
        ("max_seconds", limits.max_seconds.map(Into::into)),
        ("max_entries", limits.max_entries.map(|most| u32::from(most).into())),
        ("max_depth", limits.max_depth.map(|most| u32::from(most).into())),
    ]
}

/// A configuration as text, from what it says.
fn write(config: &Config) -> String {
    let mut out = String::from("must_end = true\n");
    let line = |out: &mut String, key: &str, value: String| writeln!(out, "{key} = {value}").unwrap_or_default();
    let text = quoted;
    let list = |words: &[String]| format!("[{}]", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", "));
    let rules = |rules: &[(String, Access)]| {
        let rules: Vec<String> = rules.iter().map(|(glob, access)| format!("{} = \"{access}\"", quoted(glob))).collect();
        format!("{{ {} }}", rules.join(", "))
    };
    line(&mut out, "rules", rules(config.rules()));
    if let Some(names) = config.protect() {
        line(&mut out, "protect", text(protect(names)));
    }
    if let Some(roots) = config.client_roots() {
        line(&mut out, "client_roots", text(client_roots(roots)));
    }
    if let Some(mode) = config.landlock() {
        line(&mut out, "landlock", text(landlock(mode)));
    }
    if let Some(tools) = config.tools() {
        line(&mut out, "tools", list(tools));
    }
    line(&mut out, "disable_tools", list(config.disabled_tools()));
    line(&mut out, "ignore", list(config.ignore()));
    line(&mut out, "hide_host_paths", config.hide_host_paths().to_string());
    line(&mut out, "one_file_system", config.one_file_system().to_string());
    line(&mut out, "ignore_common", config.ignore_common().to_string());
    line(&mut out, "gitignore", config.gitignore().to_string());
    if let Some(audit) = config.audit().and_then(|audit| audit.to_str()) {
        line(&mut out, "audit", text(audit));
    }
    for (key, most) in limits(config) {
        if let Some(most) = most {
            line(&mut out, &format!("limits.{key}"), most.to_string());
        }
    }
    for root in config.roots() {
        out.push_str("[[root]]\n");
        line(&mut out, "path", text(root.path().to_str().unwrap_or_default()));
        line(&mut out, "access", format!("\"{}\"", root.access()));
        line(&mut out, "no_delete", root.no_delete().to_string());
        line(&mut out, "rules", rules(root.rules()));
        if let Some(name) = root.name() {
            line(&mut out, "name", text(name));
        }
        if let Some(left) = root.time_left() {
            // No time left is no time that a file can say.
            let time = format!("\"PT{}.{:09}S\"", left.as_secs(), left.subsec_nanos());
            line(&mut out, "expires", if left.is_zero() { "0001-01-01T00:00:00Z".to_owned() } else { time });
        }
    }
    out + "[end]\n"
}

/// A text between quotes.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| if matches!(c, '"' | '\\') || c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.into() })
        .collect();
    format!("\"{escaped}\"")
}

fn same(one: &Config, other: &Config, text: &str) {
    let all = |config: &Config| {
        let flags = [config.hide_host_paths(), config.one_file_system(), config.ignore_common(), config.gitignore()];
        let lists =
            [config.tools().map(<[String]>::to_vec), Some(config.disabled_tools().to_vec()), Some(config.ignore().to_vec())];
        let terms = (config.protect(), config.client_roots(), config.audit().map(ToOwned::to_owned));
        (flags, lists, terms, limits(config), config.rules().to_vec())
    };
    assert_eq!(all(one), all(other), "{text:?}");
    let root = |root: &RootConfig| {
        (root.path().to_owned(), root.name().map(str::to_owned), root.access(), root.no_delete(), root.rules().to_vec())
    };
    assert!(one.roots().iter().map(root).eq(other.roots().iter().map(root)), "{text:?}");
    for (one, other) in one.roots().iter().zip(other.roots()) {
        // A moment comes nearer between two looks.
        let (one, other) = (one.time_left(), other.time_left());
        let moved = one.zip(other).is_none_or(|(one, other)| one <= other && other - one < Duration::from_secs(60));
        assert!(moved && one.is_some() == other.is_some(), "{text:?}: {one:?} {other:?}");
    }
}
