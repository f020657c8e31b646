//! Where a path leads in a tree at rest, name by name, as POSIX says (XBD 4.13): what the expectations are made of.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Where it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Above the root, or at an absolute text that is not below it.
    Outside,
    /// Ended early, at a directory: the next name is missing, or it is closed, the name is no directory, or a link too many. The plain call
    /// tells how. `of_link`: the name stands in the text of a link.
    Stuck { at: PathBuf, missing: bool, of_link: bool, left: Vec<String> },
    /// A name in a directory, whatever has it.
    Entry(PathBuf),
    /// A directory that the path does not name: it is the root, or the path ends in `..`.
    Unnamed(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) end: End,
    /// The path, or the text of the last link, has a slash at its end.
    pub(crate) slash: bool,
    /// The text of the last link ends in a dot behind a slash.
    pub(crate) dot: bool,
}

const MOST_LINKS: usize = 40;

/// `path` is relative to `root`; `follow`: a link as the last name is followed, as it is in any case where a slash stands behind it.
pub(crate) fn trace(root: &Path, path: &str, follow: bool) -> Trace {
    let mut trace = Trace { end: End::Outside, slash: ends_in_slash(path), dot: false };
    let (mut left, mut at, mut links) = (parts(path), Vec::<String>::new(), 0);
    let mut unnamed = true;
    let here = |at: &[String]| at.iter().fold(root.to_path_buf(), |path, name| path.join(name));
    // How many of the names that are left stand in the text of a link.
    let mut of_link: usize = 0;
    while let Some(part) = left.pop_front() {
        let dir = here(&at);
        let stuck =
            |missing, left: VecDeque<String>| End::Stuck { at: dir.clone(), missing, of_link: of_link > 0, left: left.into() };
        // Also `.` is looked up: what it stands in has to be a directory that may be searched.
        if fs::symlink_metadata(dir.join(".")).is_err() {
            left.push_front(part);
            return Trace { end: stuck(false, left), ..trace };
        }
        if part == ".." {
            unnamed = true;
            if at.pop().is_none() {
                return trace;
            }
        }
        if part == "." || part == ".." {
            of_link = of_link.saturating_sub(1);
            continue;
        }
        let path = dir.join(&part);
        let last = left.iter().all(|part| part == ".");
        let kind = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata.file_type(),
            Err(_) if last => return Trace { end: End::Entry(path), ..trace },
            Err(error) => return Trace { end: stuck(error.kind() == std::io::ErrorKind::NotFound, left), ..trace },
        };
        if !kind.is_symlink() || last && !follow && !trace.slash {
            if !kind.is_dir() && !last {
                return Trace { end: stuck(false, left), ..trace };
            }
            at.push(part);
            unnamed = false;
            of_link = of_link.saturating_sub(1);
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Trace { end: stuck(false, left), ..trace };
        }
        let text = fs::read_link(&path).unwrap().to_str().unwrap().to_owned();
        let mut rest = text.as_str();
        if text.starts_with('/') {
            at.clear();
            unnamed = true;
            let beneath = text.strip_prefix(root.to_str().unwrap());
            let Some(beneath) = beneath.filter(|rest| rest.is_empty() || rest.starts_with('/')) else { return trace };
            rest = beneath;
        }
        if last {
            trace.slash |= ends_in_slash(&text);
            trace.dot = text.ends_with("/.");
        }
        of_link = of_link.saturating_sub(1) + parts(rest).len();
        for part in parts(rest).into_iter().rev() {
            left.push_front(part);
        }
    }
    let path = here(&at);
    Trace { end: if unnamed { End::Unnamed(path) } else { End::Entry(path) }, ..trace }
}

fn parts(path: &str) -> VecDeque<String> {
    path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// A dot behind a slash says no more than the slash.
fn ends_in_slash(path: &str) -> bool {
    path.ends_with('/') || path.ends_with("/.")
}
