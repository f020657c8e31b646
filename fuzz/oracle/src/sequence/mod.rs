//! Sequences of operations, and of what another party does meanwhile, against a model.
//!
//! `generate` makes a case out of bytes: a tree, grants, rules and steps. `model` says what each step answers and does. `run` does the
//! same on a disk, and `disk` tells what is there then.

pub mod disk;
pub mod generate;
pub mod run;
pub mod stage;
pub mod step;

pub use crate::model::{self, rules, world};
