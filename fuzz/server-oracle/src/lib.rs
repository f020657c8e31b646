//! Naive readings of what the server does, and sessions with it: a plain library that knows no fuzzer.
//!
//! It is beside `cap-roots-oracle` and not in it, so that the library's tests do not build the server.
//!
//! Encoding of inputs: a byte picks from a list whose length is a power of two and part of its type, and bytes that are missing count as
//! zero. New words take the place of words that are there twice, so that a stored input keeps its meaning.

#![allow(clippy::disallowed_methods, reason = "builds trees by path")]

pub mod edit;
mod expect;
mod glob;
pub mod glob_walk;
mod line;
pub mod session;

use cap_roots_oracle::regressions::Check;
use cap_roots_oracle::seeds::Encoding;

/// The targets whose checks are in this crate.
pub const TARGETS: &[(&str, Check)] = &[("edit", edit::check), ("glob_walk", glob_walk::check), ("session", session::check)];

/// How their inputs are read.
pub const ENCODINGS: &[Encoding] = &[
    Encoding { target: "edit", print: edit::print, grows: false },
    Encoding { target: "glob_walk", print: glob_walk::print, grows: false },
    Encoding { target: "session", print: session::print, grows: false },
];
