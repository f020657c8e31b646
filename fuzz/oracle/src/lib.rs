//! Generators, trees and oracles for cap-roots: a plain library that knows no fuzzer.
//!
//! Tests and fuzz targets use the same code, so that what a fuzzer finds can be replayed by `cargo test`.

#![allow(clippy::disallowed_methods, reason = "builds trees by path")]

pub mod act;
pub mod agree;
pub mod config;
pub mod decide;
pub mod differential;
pub mod generate;
pub mod ground;
pub mod kernel;
pub mod location;
pub mod model;
pub mod needs;
pub mod notation;
pub mod pieces;
pub mod poison;
pub mod privilege;
pub mod race;
pub mod read;
pub mod regressions;
pub mod rules;
pub mod schema;
pub mod seeds;
pub mod sequence;
pub mod tree;
pub mod uri;
pub mod vocabulary;
pub mod windows;
pub mod without;
