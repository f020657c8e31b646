//! The library beside the bare kernel and beside what people use without it: `cargo bench --bench library [WORD...]`, where each word picks
//! the tables that have it in their titles. Absolute times of a shared machine mean nothing, so all that is told are ratios.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::indexing_slicing, reason = "a bench")]
#![allow(clippy::disallowed_methods, unreachable_pub, reason = "the ambient baseline; modules of a program")]

mod reading;
mod setting;
mod threads;
mod turns;
mod writing;

#[path = "../../tests/support/filter.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod filter;

fn main() {
    // `cargo test --benches` asks for nothing but that it starts.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let wanted = |title: &str| arguments.is_empty() || arguments.iter().any(|word| title.contains(&**word));
    reading::with_openat2(&wanted);
    threads::opening(&wanted);
    writing::replacing(&wanted);
    // Last, since a filter stays.
    reading::without_openat2(&wanted);
}
