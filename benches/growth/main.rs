//! How cost grows: `cargo bench --bench growth` measures it, prints the figures, and draws them into `docs/performance/`.
//!
//! Each sweep is one run in which all its points take turns: a machine that is slow for a while is slow for all. A point is the processor time of a call
//! (of the server, which is another process, the time that passes) as a ratio to the median of the base in the same run. Drawn are medians, with
//! the middle half of the rounds as a bar.
//!
//! `GROWTH=quick` takes a tenth of the rounds, walks 10,000 entries at most, and draws nothing; `GROWTH_ONLY=roots,rules` takes those sweeps.
//! The server's sweep drives the program that `cargo build --release -p cap-roots-mcp` made, or the one that `CAP_ROOTS_MCP` names.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, clippy::panic, reason = "a bench")]
#![allow(clippy::disallowed_methods, reason = "the ambient baseline")]

mod measure;
mod opens;
mod plot;
mod server;
mod sets;
mod walk;

use plot::Plot;

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    quick: bool,
}

impl Effort {
    fn rounds(self, full: usize) -> usize {
        if self.quick { full / 10 + 1 } else { full }
    }
}

type Sweep = fn(Effort) -> Vec<Plot>;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` asks for nothing but that it starts.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    if let [of, who, tree] = &arguments[..]
        && of == walk::CHILD
    {
        return walk::as_child(who, tree);
    }
    let effort = Effort { quick: std::env::var("GROWTH").is_ok_and(|text| text == "quick") };
    let only = std::env::var("GROWTH_ONLY").unwrap_or_default();
    let sweeps: [(&str, Sweep); 6] = [
        ("depth", opens::depth),
        ("rules", opens::rules),
        ("links", opens::links),
        ("roots", sets::roots),
        ("walk", walk::walk),
        ("server", server::server),
    ];
    for (_, sweep) in sweeps.iter().filter(|(name, _)| only.is_empty() || only.split(',').any(|one| one == *name)) {
        for plot in sweep(effort) {
            plot.print();
            if !effort.quick {
                plot.write();
            }
        }
    }
}
