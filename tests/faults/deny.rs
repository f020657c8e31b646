//! Runs a program for which the kernel refuses system calls: `deny CALL=ERROR[,CALL=ERROR...] -- PROGRAM [ARGUMENT...]`.
//!
//! A tool of `tests/faults/run`. Ends with 125, and a line that says why, where the kernel takes no filter.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr, reason = "a tool of tests")]

#[cfg(target_os = "linux")]
#[path = "../support/filter.rs"]
mod filter;

#[cfg(target_os = "linux")]
fn main() {
    use std::os::unix::process::CommandExt;
    let mut arguments = std::env::args_os().skip(1);
    let list = arguments.next().and_then(|list| list.into_string().ok()).unwrap_or_default();
    let refusal = match filter::deny(&list) {
        Err(refusal) => refusal,
        Ok(()) => match arguments.find(|argument| argument != "--") {
            Some(program) => std::process::Command::new(&program).args(arguments).exec().to_string(),
            None => "no program".to_owned(),
        },
    };
    eprintln!("deny: {refusal}");
    std::process::exit(125);
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("deny: there is no seccomp on this system");
    std::process::exit(125);
}
