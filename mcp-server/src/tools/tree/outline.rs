//! The JSON of a tree, written entry by entry with two spaces of indentation, so that what is in memory is the answer and no more.
//!
//! May touch: names as text, and no walk.

use std::fmt::Write as _;

/// A directory whose children are being written.
#[derive(Debug)]
struct Open {
    children: usize,
    /// Why not everything in it is there.
    cut: Option<&'static str>,
}

/// A JSON array of `{name, type, children}` up to a limit of bytes, well-formed wherever it ends.
#[derive(Debug)]
pub(super) struct Tree {
    text: String,
    limit: usize,
    /// The array itself, and each directory on the way to the last entry.
    open: Vec<Open>,
    entries: usize,
}

/// What the mark at the end takes beside the cursor.
const MARK: usize = 400;

impl Tree {
    pub(super) fn new(limit: usize) -> Self {
        Self { text: "[".to_owned(), limit, open: vec![Open { children: 0, cut: None }], entries: 0 }
    }

    /// How many entries were added.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// Adds an entry of a directory that was added, or continued, before; `names` are those of the directories on the way and its own.
    /// `reserve`: how long a cursor to it may be. False, and nothing is added, where there is no room; the first one has room.
    pub(super) fn add(
        &mut self,
        names: &[&str],
        kind: &'static str,
        is_dir: bool,
        cut: Option<&'static str>,
        reserve: usize,
    ) -> bool {
        let Some((name, above)) = names.split_last() else { return true };
        self.close_to(names.len());
        let name = quoted(name);
        let indent = 4 * names.len();
        let missing: usize = above.iter().skip(self.open.len() - 1).map(|name| 2 * name.len() + 12 * indent + 200).sum();
        let closing: usize = (1..=names.len()).map(|depth| 12 * depth + 40).sum();
        let needed = missing + 4 * indent + name.len() + 80 + closing + 2 * indent + MARK + reserve;
        if self.entries > 0 && self.text.len() + needed > self.limit {
            return false;
        }
        // The directories on the way were shown by an earlier call.
        let from = self.open.len() - 1;
        for name in above.iter().skip(from) {
            self.begin(&quoted(name), "directory");
            let _ = write!(self.text, ",\n{}\"continued\": true", spaces(4 * self.open.len()));
            self.children(None);
        }
        self.begin(&name, kind);
        if is_dir {
            self.children(cut);
        } else {
            self.end_object();
        }
        self.entries += 1;
        true
    }

    /// Says of the directory that was added last why it is not whole.
    pub(super) fn mark(&mut self, cut: &'static str) {
        if let Some(open) = self.open.last_mut() {
            open.cut = Some(cut);
        }
    }

    /// The whole text. `cut`: why it ends here, and the cursor for what is missing.
    pub(super) fn finish(mut self, cut: Option<(&'static str, Option<&str>)>) -> String {
        if let Some((reason, cursor)) = cut {
            self.begin("\"…\"", "cut");
            let inner = spaces(4 * self.open.len());
            let _ = write!(self.text, ",\n{inner}\"reason\": {}", quoted(reason));
            if let Some(cursor) = cursor {
                let _ = write!(self.text, ",\n{inner}\"cursor\": {}", quoted(cursor));
            }
            self.end_object();
        }
        self.close_to(1);
        let children = self.open.first().map_or(0, |open| open.children);
        self.text.push_str(if children > 0 { "\n]" } else { "]" });
        self.text
    }

    /// `{"name": .., "type": ..` as a child of the innermost directory.
    fn begin(&mut self, name: &str, kind: &str) {
        let outer = spaces(4 * self.open.len() - 2);
        if let Some(open) = self.open.last_mut() {
            self.text.push_str(if open.children > 0 { ",\n" } else { "\n" });
            open.children += 1;
        }
        let inner = spaces(4 * self.open.len());
        let _ = write!(self.text, "{outer}{{\n{inner}\"name\": {name},\n{inner}\"type\": \"{kind}\"");
    }

    fn end_object(&mut self) {
        let _ = write!(self.text, "\n{}}}", spaces(4 * self.open.len() - 2));
    }

    fn children(&mut self, cut: Option<&'static str>) {
        let _ = write!(self.text, ",\n{}\"children\": [", spaces(4 * self.open.len()));
        self.open.push(Open { children: 0, cut });
    }

    /// Ends directories until the innermost one is that of entries with `depth` names.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth.max(1) {
            let Some(open) = self.open.pop() else { return };
            let inner = spaces(4 * self.open.len());
            if open.children > 0 {
                let _ = write!(self.text, "\n{inner}]");
            } else {
                self.text.push(']');
            }
            if let Some(cut) = open.cut {
                let _ = write!(self.text, ",\n{inner}\"cut\": \"{cut}\"");
            }
            self.end_object();
        }
    }
}

fn spaces(count: usize) -> String {
    " ".repeat(count)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn tree(limit: usize) -> (Tree, bool) {
        let mut tree = Tree::new(limit);
        let all = tree.add(&["a"], "directory", true, None, 0)
            && tree.add(&["a", "b\"\n"], "directory", true, Some("depth"), 0)
            && tree.add(&["a", "c"], "file", false, None, 0)
            && tree.add(&["d"], "directory", true, None, 0)
            && tree.add(&["e"], "symlink", false, None, 0);
        (tree, all)
    }

    /// Catches: indentation, commas or empty arrays other than those of `JSON.stringify(value, null, 2)`.
    #[test]
    fn the_text_is_that_of_a_pretty_printer() {
        let (tree, all) = tree(1 << 20);
        assert!(all);
        let text = tree.finish(None);
        let want = r#"[
  {
    "name": "a",
    "type": "directory",
    "children": [
      {
        "name": "b\"\n",
        "type": "directory",
        "children": [],
        "cut": "depth"
      },
      {
        "name": "c",
        "type": "file"
      }
    ]
  },
  {
    "name": "d",
    "type": "directory",
    "children": []
  },
  {
    "name": "e",
    "type": "symlink"
  }
]"#;
        assert_eq!(text, want);
        assert_eq!(Tree::new(9).finish(None), "[]");
    }

    /// Catches: JSON that is broken where it is cut, or longer than its limit.
    #[test]
    fn wherever_it_ends_it_is_json() {
        for limit in 0..2_000 {
            let (mut cut, all) = tree(limit);
            cut.mark("unreadable");
            let entries = cut.entries();
            assert!(entries >= 1);
            let text = cut.finish((!all).then_some(("bytes", Some("cursor"))));
            let value: Value = serde_json::from_str(&text).unwrap();
            assert!(entries == 1 || text.len() <= limit, "{limit} {}", text.len());
            assert_eq!(text.contains("\"type\": \"cut\""), !all);
            assert!(value.as_array().is_some());
        }
    }

    #[test]
    fn directories_of_an_earlier_call_are_continued() {
        let mut tree = Tree::new(1 << 20);
        assert!(tree.add(&["a", "b", "c"], "file", false, None, 0) && tree.add(&["a", "d"], "file", false, None, 0));
        let text = tree.finish(None);
        let want = json!([{ "name": "a", "type": "directory", "continued": true, "children": [
            { "name": "b", "type": "directory", "continued": true, "children": [{ "name": "c", "type": "file" }] },
            { "name": "d", "type": "file" },
        ]}]);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), want);
    }
}
