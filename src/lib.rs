//! Safe access to files for MCP servers and agent tools: directories are held as capabilities, and every open is checked again
//! relative to a held handle.
//!
//! Paths come from parties that cannot be trusted: a language model, a web page that it read, a client's list of roots. Checking such
//! a path's text (or its `realpath`) and then opening it by name leaves a gap that links and renames walk through. Here the operator
//! grants directories, they are opened once, and whatever a caller names is reached from those handles, or refused.
//!
//! ```
//! use cap_roots::{Access, Roots};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (notes, docs) = (folder.path().join("notes"), folder.path().join("docs"));
//! # for dir in [&notes, &docs] { std::fs::create_dir(dir)?; std::fs::write(dir.join("a.md"), "text")?; }
//! let roots = Roots::builder()
//!     .root(notes, Access::Write)
//!     .named("docs", docs, Access::Read)
//!     .open()?;
//!
//! let text = roots.read_to_string("a.md")?;               // this file, or a refusal
//! for entry in roots.read_dir("root://docs/")? {
//!     let text = entry?.read_to_string()?;                // opens through the held directory
//! }
//! let refusal = roots.read("../../etc/passwd").unwrap_err();
//! assert_eq!(refusal.code(), "outside-roots");            // and its text is safe to hand back
//! roots.revoke();                                         // clones and opened files die too
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What holds
//! What an operation returns was inside its root, and the grant allowed the operation, at the moment of access. No operation waits
//! for a peer: pipes, sockets and devices are refused. An error's text never tells a host path, a link's target or whether something
//! exists outside. The limits of these statements are in `SECURITY.md`.
//!
//! # What it is not
//! It confines what goes through it. It does not confine the process: code that opens files by itself is not held. For a whole
//! process use the operating system's sandbox, beside this crate: on Linux the feature `landlock` is one.
//!
//! # Features
//! None is on by default, and none changes what the rest does. `config`: grants from a TOML file of the operator (`cap_roots::config`).
//! `landlock`: a fence by the kernel around the whole process (`cap_roots::landlock`; Linux).
//! `internals` is for this project's own tests and no part of the API.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests build trees by path"))]

mod access;
mod ambient;
mod authority;
mod builder;
mod change;
mod clock;
#[cfg(feature = "config")]
pub mod config;
mod decide;
mod dir;
mod error;
mod explain;
mod fenced;
mod file;
mod front;
mod grant;
mod hint;
mod identity;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
#[cfg(feature = "landlock")]
pub mod landlock;
mod lease;
mod metadata;
mod nesting;
mod observe;
mod opened;
mod ops;
mod path;
mod permit;
mod queue;
mod resolve;
mod root;
mod root_info;
mod roots;
mod rule;
mod support;
mod text;

pub use access::{Access, Operation};
pub use builder::Builder;
pub use dir::Dir;
pub use error::{Error, ErrorKind, Fault, Result};
pub use explain::{Explanation, Rehearsal, Resolver};
pub use file::File;
pub use grant::Grant;
pub use hint::{Hint, Narrowed};
pub use metadata::{FileType, Metadata};
pub use observe::{Admission, Event, Observer};
pub use ops::copy::Copied;
pub use ops::list::{Entry, ReadDir};
pub use ops::walk::{Cut, Walk};
pub use root_info::RootInfo;
pub use roots::Roots;
pub use support::{Finding, Support};
pub use text::escape;
