//! `server.json`, by which the MCP registry knows the server: it says what the program is, and keeps to the registry's schema (2025-12-11).
//!
//! Catches: a version that was not raised with the crate's; an option that the program has no more, or a choice that it does not take; a field that
//! the schema does not know, which the registry refuses.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "reads the repository")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::run;

fn top(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)).unwrap()
}

/// The keys of an object are among these, and those of `required` are there.
fn keys(object: &Value, required: &[&str], others: &[&str]) {
    let object = object.as_object().unwrap();
    assert!(required.iter().all(|key| object.contains_key(*key)), "{object:?}");
    assert!(object.keys().all(|key| [required, others].concat().contains(&key.as_str())), "{object:?}");
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key}: {value}"))
}

#[test]
fn the_registry_is_told_what_the_program_is() {
    let server: Value = serde_json::from_str(&top("server.json")).unwrap();
    keys(
        &server,
        &["name", "description", "version"],
        &["$schema", "title", "packages", "repository", "websiteUrl", "icons", "remotes", "_meta"],
    );
    assert_eq!(text(&server, "$schema"), "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json");
    let (space, name) = text(&server, "name").split_once('/').unwrap();
    let part = |text: &str, more: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c)) && !text.is_empty();
    assert!(part(space, ".-") && part(name, "._-") && (3..=200).contains(&text(&server, "name").len()));
    assert!((1..=100).contains(&text(&server, "description").chars().count()), "{}", text(&server, "description").len());
    assert!((1..=100).contains(&text(&server, "title").chars().count()));
    assert_eq!(text(&server, "version"), env!("CARGO_PKG_VERSION"));
    let packages = server["packages"].as_array().unwrap();
    assert!(!packages.is_empty());
    for package in packages {
        let others = ["registryBaseUrl", "version", "packageArguments", "environmentVariables"];
        keys(package, &["registryType", "identifier", "transport"], &others);
        assert_eq!((text(package, "registryType"), text(package, "registryBaseUrl")), ("cargo", "https://crates.io"));
        assert_eq!((text(package, "identifier"), text(package, "version")), (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")));
        keys(&package["transport"], &["type"], &[]);
        assert_eq!(text(&package["transport"], "type"), "stdio", "a transport over HTTP has a url");
    }
    // crates.io shows the README, where the registry looks for the name; it stands alone, and is not in a comment.
    let mark = format!("`mcp-name: {}`", text(&server, "name"));
    assert!(top("README.md").lines().any(|line| line.contains(&mark) && !line.contains("<!--")), "{mark}");
    assert!(
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
            .unwrap()
            .contains("readme = \"../README.md\"")
    );
}

#[test]
fn its_arguments_are_those_of_the_program() {
    let server: Value = serde_json::from_str(&top("server.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let help = run(folder.path(), &["--help"]).0;
    let input = [
        "description",
        "format",
        "isRequired",
        "isSecret",
        "default",
        "placeholder",
        "choices",
        "value",
        "variables",
        "isRepeated",
    ];
    let mut named = 0;
    for argument in
        server["packages"].as_array().unwrap().iter().flat_map(|package| package["packageArguments"].as_array().unwrap())
    {
        assert!(
            ["string", "number", "boolean", "filepath"].contains(&argument["format"].as_str().unwrap_or("string")),
            "{argument}"
        );
        assert!(text(argument, "description").len() > 10);
        if text(argument, "type") == "positional" {
            keys(argument, &["type", "valueHint"], &input);
            continue;
        }
        assert_eq!(text(argument, "type"), "named");
        keys(argument, &["type", "name"], &input);
        named += 1;
        let name = text(argument, "name");
        assert!(help.contains(&format!("\n      {name} <")), "{name} is no option with a value");
        // A client writes --name=value; what it may write, the program takes.
        let choices = argument["choices"].as_array().into_iter().flatten().chain(argument.get("placeholder"));
        for choice in choices.map(|choice| choice.as_str().unwrap()) {
            let (_, err, status) = run(folder.path(), &[&format!("{name}={choice}"), "--doctor", "."]);
            assert_eq!(status, 0, "{name}={choice}: {err}");
        }
        if let Some(default) = argument["default"].as_str() {
            let told = help.split(&format!("\n      {name} <")).nth(1).unwrap().split("\n      --").next().unwrap();
            assert!(told.contains(&format!("[default: {default}]")), "{told}");
        }
    }
    assert!(named > 4);
}
