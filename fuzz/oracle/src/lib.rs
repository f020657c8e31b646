//! Generators, trees and oracles for cap-roots: a plain library that knows no fuzzer.
//!
//! Tests and fuzz targets use the same code, so that what a fuzzer finds can be replayed by `cargo test`.

#![allow(clippy::disallowed_methods, reason = "builds trees by path")]

pub mod agree;
pub mod file_uri;
pub mod generate;
pub mod location;
pub mod model;
pub mod poison;
pub mod privilege;
pub mod race;
pub mod read;
pub mod regressions;
pub mod sequence;
pub mod tree;
pub mod vocabulary;
