//! Parsing: untrusted text becomes a location, or is refused.
//!
//! PURE-CORE: no I/O below this folder. What the text means on a disk is settled later, by `resolve`.
//!
//! `style` has the lexical rules of a platform as a value, `relative` the names below a root, `host` absolute paths, `uri` and `file_uri` the
//! URI forms, `location` the forms a caller may use, `region` the part of a root that a set sees, `routes` the roots by what their
//! paths begin with, `locate` the choice of a root by text.

pub(crate) mod file_uri;
#[cfg(test)]
mod file_uri_table;
pub(crate) mod host;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod limits;
pub(crate) mod locate;
pub(crate) mod location;
pub(crate) mod region;
pub(crate) mod relative;
pub(crate) mod routes;
pub(crate) mod style;
pub(crate) mod uri;

/// Longest path text, in bytes. Linux takes 4,096 with the closing NUL (PATH_MAX, path_resolution(7)); ours is one answer everywhere.
pub(crate) const PATH_LIMIT: usize = 4095;
/// Longest name, in bytes (NAME_MAX).
pub(crate) const NAME_LIMIT: usize = 255;
/// Most names in one path. The guarded walk holds a descriptor for each directory on the way.
pub(crate) const DEPTH_LIMIT: usize = 256;
