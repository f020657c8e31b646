//! For people at a terminal: words with a colour, and tables.
//!
//! May touch: `output`, standard output. Where that is no terminal, or `NO_COLOR` is set, anstream takes the colours out.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::output;

/// How something is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Doubtful,
    Plain,
    Heading,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Bad => AnsiColor::Red.on_default().bold(),
            Tone::Doubtful => AnsiColor::Yellow.on_default(),
            Tone::Plain => Style::new(),
            Tone::Heading => Style::new().bold(),
        }
    }

    pub(crate) fn paint(self, text: impl Display) -> String {
        let style = self.style();
        format!("{style}{text}{style:#}")
    }
}

/// Standard output, with colours where they are wanted. The real stream is asked, since a console of Windows has to be told that colours come; one
/// that takes them by calls of its own alone gets none.
pub(crate) fn out() -> impl Write {
    let wanted = match anstream::AutoStream::auto(io::stdout()).current_choice() {
        anstream::ColorChoice::AlwaysAnsi => anstream::ColorChoice::AlwaysAnsi,
        _ => anstream::ColorChoice::Never,
    };
    anstream::AutoStream::new(Box::new(output::stdout()) as Box<dyn Write>, wanted)
}

/// How wide sentences are.
const WIDTH: usize = 100;

/// Rows with columns of one width, and below them sentences that need more room.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<(String, Tone)>>,
    notes: Vec<String>,
}

impl Table {
    pub(crate) fn row<const N: usize>(&mut self, cells: [(&str, Tone); N]) {
        self.rows.push(cells.into_iter().map(|(text, tone)| (text.to_owned(), tone)).collect());
    }

    /// What is to be said of a row, if anything is.
    pub(crate) fn note(&mut self, of: impl Display, text: &str) {
        if !text.is_empty() {
            self.notes.push(format!("{of}: {text}"));
        }
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<(String, Tone)>, column: usize| row.get(column).map_or(0, |(text, _)| text.chars().count());
        let widths: Vec<_> =
            (0..columns).map(|column| self.rows.iter().map(|row| cell(row, column)).max().unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::from("  ");
            for ((text, tone), width) in row.iter().zip(&widths) {
                line += &tone.paint(text);
                line += &" ".repeat(width + 2 - text.chars().count());
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        self.notes.iter().try_for_each(|note| wrapped(out, note))
    }
}

/// A sentence on lines of a readable width.
fn wrapped(out: &mut impl Write, text: &str) -> io::Result<()> {
    let mut line = "    ".to_owned();
    for word in text.split(' ') {
        if line.chars().count() + word.chars().count() > WIDTH {
            writeln!(out, "{}", line.trim_end())?;
            line = "      ".to_owned();
        }
        line = line + word + " ";
    }
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a width that counts bytes, or the marks of a colour; a sentence without an end of its lines, or one that loses a word.
    #[test]
    fn columns_are_aligned() {
        let mut table = Table::default();
        table.row([("über", Tone::Good), ("x", Tone::Plain)]);
        table.row([("a longer one", Tone::Plain), ("y", Tone::Bad)]);
        let mut printed = Vec::new();
        table.note("y", "");
        table.note("x", &"word ".repeat(30));
        table.print(&mut anstream::StripStream::new(&mut printed)).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        assert!(printed.starts_with("  über          x\n  a longer one  y\n    x: word word"), "{printed}");
        assert_eq!((printed.lines().count(), printed.matches("word").count()), (4, 30));
        assert!(printed.lines().all(|line| line.len() <= WIDTH), "{printed}");
    }
}
