//! Which tools the operator wants: `--tools`, `--disable-tools`, and the keys of the file.
//!
//! May touch: the tools' table, for their names.

use super::TOOLS;

/// The operator's choice. Every name in it is that of a tool, so a slip takes nothing away unseen.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// None: all.
    only: Option<Vec<&'static str>>,
    without: Vec<&'static str>,
}

impl Chosen {
    /// Reads the names; or that which is none, and the line that says so.
    pub(crate) fn of<'a>(only: Option<&[String]>, without: impl Iterator<Item = &'a String>) -> Result<Self, (String, String)> {
        let only = only.map(|names| names.iter().map(tool).collect()).transpose()?;
        let mut without = without.map(tool).collect::<Result<Vec<_>, _>>()?;
        // The older name of the same tool: whoever takes the tool away means it under both. Either name alone can be chosen.
        if without.contains(&super::read_text::READ_TEXT_FILE.name) {
            without.push(super::read_text::READ_FILE.name);
        }
        Ok(Self { only, without })
    }

    pub(super) fn has(&self, tool: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&tool)) && !self.without.contains(&tool)
    }
}

fn tool(typed: &String) -> Result<&'static str, (String, String)> {
    let names = || TOOLS.iter().map(|tool| tool.name);
    // A list may have blanks behind its commas.
    names().find(|name| *name == typed.trim()).ok_or_else(|| {
        let near: Vec<_> = names().filter(|name| is_near(typed, name)).collect();
        let near = if near.is_empty() { String::new() } else { format!("; meant may be {}", near.join(" or ")) };
        let all: Vec<_> = names().collect();
        let line = format!(
            "invalid-argument: there is no tool {typed:?} to switch on or off{near}; the tools are {}; correct the name",
            all.join(", ")
        );
        (typed.clone(), line)
    })
}

/// Whether one may be a slip for the other, or a part of it.
fn is_near(typed: &str, name: &str) -> bool {
    let typed = typed.trim().to_lowercase().replace(['-', ' '], "_");
    typed.len() > 3 && (name.contains(&typed) || strsim::damerau_levenshtein(&typed, name) <= 2)
}
