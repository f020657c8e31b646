//! One client's own directory: random calls beside a model of what is in it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::xorshift::Random;

/// Files of a directory that nobody else changes, by name.
pub(crate) struct Own {
    /// The directory, as the client names it.
    dir: String,
    files: BTreeMap<String, String>,
    random: Random,
    line: u64,
}

/// A call, and what its answer has to be.
pub(crate) struct Asked {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    want: Want,
}

enum Want {
    Text(String),
    Starts(&'static str),
    Code(&'static str),
}

impl Asked {
    /// Panics if the answer is another one.
    pub(crate) fn check(&self, answer: &Value) {
        let text = answer["content"][0]["text"].as_str().unwrap_or_default();
        let code = answer["_meta"]["cap-roots/code"].as_str();
        let fits = match &self.want {
            Want::Text(want) => code.is_none() && text == want,
            Want::Starts(want) => code.is_none() && text.starts_with(want),
            Want::Code(want) => code == Some(want),
        };
        let want = match &self.want {
            Want::Text(text) => text.as_str(),
            Want::Starts(text) | Want::Code(text) => text,
        };
        assert!(fits, "{} {}\nwanted {want:?}\nanswer {answer}", self.tool, self.arguments);
        assert!(!answer.to_string().contains("SECRET"), "{answer}");
    }
}

impl Own {
    pub(crate) fn new(dir: String, seed: u64) -> Self {
        Self { dir, files: BTreeMap::new(), random: Random::new(seed), line: 0 }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.dir)
    }

    fn name(&mut self) -> String {
        format!("f{}.txt", self.random.below(12))
    }

    /// A line that was never there.
    fn fresh(&mut self) -> String {
        self.line += 1;
        format!("line {:06} of {}\n", self.line, self.dir)
    }

    /// The next call. The model is changed as if it were done.
    pub(crate) fn next(&mut self) -> Asked {
        let name = self.name();
        let path = self.path(&name);
        let content = self.files.get(&name).cloned();
        let asked = |tool, arguments, want| Asked { tool, arguments, want };
        match (self.random.below(12), content) {
            (0 | 1, _) => {
                let lines = self.random.below(40);
                let content: String = (0..lines).map(|_| self.fresh()).collect();
                self.files.insert(name, content.clone());
                asked("write_file", json!({ "path": path, "content": content }), Want::Starts("Successfully wrote"))
            }
            (2, Some(mut content)) => {
                let more = self.fresh();
                content.push_str(&more);
                self.files.insert(name, content);
                asked("append_file", json!({ "path": path, "content": more }), Want::Starts("Successfully appended"))
            }
            (3, Some(content)) if !content.is_empty() => {
                let old = content.lines().nth(self.random.below(content.lines().count() as u64) as usize).unwrap().to_owned();
                let new = self.fresh().trim_end().to_owned();
                self.files.insert(name, content.replace(&old, &new));
                let edits = json!([{ "oldText": old, "newText": new }]);
                asked("edit_file", json!({ "path": path, "edits": edits }), Want::Starts("```diff"))
            }
            (4, Some(content)) => {
                let to = format!("moved{}.txt", self.random.below(4));
                let arguments = json!({ "source": path, "destination": self.path(&to) });
                if self.files.contains_key(&to) {
                    return asked("move_file", arguments, Want::Code("already-exists"));
                }
                self.files.remove(&name);
                self.files.insert(to, content);
                asked("move_file", arguments, Want::Starts("Successfully moved"))
            }
            (5, Some(content)) => {
                let to = format!("copied{}.txt", self.random.below(4));
                let arguments = json!({ "source": path, "destination": self.path(&to) });
                if self.files.contains_key(&to) {
                    return asked("copy_file", arguments, Want::Code("already-exists"));
                }
                self.files.insert(to, content);
                asked("copy_file", arguments, Want::Starts("Successfully copied"))
            }
            (6, _) => {
                let names: Vec<_> = self.files.keys().cloned().collect();
                let Some(name) = names.get(self.random.below(names.len().max(1) as u64) as usize) else {
                    return asked("delete_file", json!({ "path": path }), Want::Code("not-found"));
                };
                self.files.remove(name);
                asked("delete_file", json!({ "path": self.path(name) }), Want::Starts("Successfully deleted"))
            }
            (7, _) => {
                let lines: Vec<_> = self.files.keys().map(|name| format!("[FILE] {name}")).collect();
                asked("list_directory", json!({ "path": self.dir }), Want::Text(lines.join("\n")))
            }
            (8, _) => {
                let lines: Vec<_> = self.files.keys().map(|name| self.path(name)).collect();
                let want = if lines.is_empty() { "No matches found".to_owned() } else { lines.join("\n") };
                asked("search_files", json!({ "path": self.dir, "pattern": "**/*.txt" }), Want::Text(want))
            }
            (9, Some(content)) if !content.is_empty() => {
                let text = content.lines().last().unwrap().to_owned();
                // Copies of the file have the line as well.
                let found = self.files.iter().flat_map(|(name, content)| {
                    content
                        .lines()
                        .enumerate()
                        .filter(|(_, line)| *line == text)
                        .map(|(at, line)| format!("{}:{}:{line}", self.path(name), at + 1))
                });
                let want = found.collect::<Vec<_>>().join("\n");
                asked("search_file_contents", json!({ "path": self.dir, "pattern": text }), Want::Text(want))
            }
            (10, _) => asked(
                "read_text_file",
                json!({ "path": format!("{}/../../../outside/secret", self.dir) }),
                Want::Code("outside-roots"),
            ),
            (_, Some(content)) => asked("read_text_file", json!({ "path": path }), Want::Text(content)),
            (_, None) => asked("read_text_file", json!({ "path": path }), Want::Code("not-found")),
        }
    }
}
