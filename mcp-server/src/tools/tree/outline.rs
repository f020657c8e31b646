//! The JSON of a tree, written entry by entry with two spaces of indentation, so that what is in memory is the answer and no more.
//!
//! May touch: names as text, and no walk.

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

    /// Adds an entry of a directory that was added, or continued, before; `name` gives the names of the directories on the way, from 1 on, and its own.
    /// `reserve`: how long a cursor to it may be. False, and nothing is added, where there is no room; the first one has room.
    pub(super) fn add<'n>(
        &mut self,
        depth: usize,
        name: impl Fn(usize) -> &'n str,
        kind: &'static str,
        is_dir: bool,
        cut: Option<&'static str>,
        reserve: usize,
    ) -> bool {
        self.close_to(depth);
        let own = quoted(name(depth));
        let indent = 4 * depth;
        // The directories on the way were shown by an earlier call.
        let missing = self.open.len()..depth;
        let continued: usize = missing.clone().map(|depth| 2 * name(depth).len() + 12 * indent + 200).sum();
        // 12 * d + 40 for each depth d up to this one.
        let closing = 6 * depth * (depth + 1) + 40 * depth;
        let needed = continued + 4 * indent + own.len() + 80 + closing + 2 * indent + MARK + reserve;
        if self.entries > 0 && self.text.len() + needed > self.limit {
            return false;
        }
        for depth in missing {
            self.begin(&quoted(name(depth)), "directory");
            self.line(4 * self.open.len(), ",", "\"continued\": true");
            self.children(None);
        }
        self.begin(&own, kind);
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
            let inner = 4 * self.open.len();
            self.line(inner, ",", "\"reason\": ");
            self.text.push_str(&quoted(reason));
            if let Some(cursor) = cursor {
                self.line(inner, ",", "\"cursor\": ");
                self.text.push_str(&quoted(cursor));
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
        let inner = 4 * self.open.len();
        let first = self.open.last().is_none_or(|open| open.children == 0);
        if let Some(open) = self.open.last_mut() {
            open.children += 1;
        }
        self.line(inner - 2, if first { "" } else { "," }, "{");
        self.line(inner, "", "\"name\": ");
        self.text.push_str(name);
        self.line(inner, ",", "\"type\": \"");
        self.text.push_str(kind);
        self.text.push('"');
    }

    /// A new line behind `before`, indented.
    fn line(&mut self, indent: usize, before: &str, text: &str) {
        self.text.push_str(before);
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n("        ", indent / 8));
        self.text.extend(std::iter::repeat_n(" ", indent % 8));
        self.text.push_str(text);
    }

    fn end_object(&mut self) {
        self.line(4 * self.open.len() - 2, "", "}");
    }

    fn children(&mut self, cut: Option<&'static str>) {
        self.line(4 * self.open.len(), ",", "\"children\": [");
        self.open.push(Open { children: 0, cut });
    }

    /// Ends directories until the innermost one is that of entries with `depth` names.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth.max(1) {
            let Some(open) = self.open.pop() else { return };
            let inner = 4 * self.open.len();
            if open.children > 0 {
                self.line(inner, "", "]");
            } else {
                self.text.push(']');
            }
            if let Some(cut) = open.cut {
                self.line(inner, ",", "\"cut\": ");
                self.text.push_str(&quoted(cut));
            }
            self.end_object();
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn add(tree: &mut Tree, names: &[&'static str], kind: &'static str, is_dir: bool, cut: Option<&'static str>) -> bool {
        tree.add(names.len(), |depth| names[depth - 1], kind, is_dir, cut, 0)
    }

    fn tree(limit: usize) -> (Tree, bool) {
        let mut tree = Tree::new(limit);
        let all = add(&mut tree, &["a"], "directory", true, None)
            && add(&mut tree, &["a", "b\"\n"], "directory", true, Some("depth"))
            && add(&mut tree, &["a", "c"], "file", false, None)
            && add(&mut tree, &["d"], "directory", true, None)
            && add(&mut tree, &["e"], "symlink", false, None);
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
        assert!(add(&mut tree, &["a", "b", "c"], "file", false, None) && add(&mut tree, &["a", "d"], "file", false, None));
        let text = tree.finish(None);
        let want = json!([{ "name": "a", "type": "directory", "continued": true, "children": [
            { "name": "b", "type": "directory", "continued": true, "children": [{ "name": "c", "type": "file" }] },
            { "name": "d", "type": "file" },
        ]}]);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), want);
    }
}
