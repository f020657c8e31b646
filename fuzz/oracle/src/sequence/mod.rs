//! Sequences of operations, and of what another party does meanwhile, against a model.
//!
//! `generate` makes a case out of bytes: a tree, grants, rules and steps. `model` says what each step answers and does; it is written
//! from the documentation of the operations, and shares no code with the crate. `run` does the same on a disk, and `disk` tells
//! what is there then.

pub mod disk;
pub mod generate;
pub mod model;
pub mod place;
pub mod rules;
pub mod run;
pub mod stage;
pub mod step;
pub mod world;

mod ends;
mod hints;
mod ops;
mod resolve;

#[cfg(test)]
mod tests;
