//! `.gitignore` files on the way of a walk: read through the directories that are walked, judged by the `ignore` crate's matcher.
//!
//! May touch: `context`, `work`. The files are a client's to write, so their size is bounded, each and together, and only regular files
//! are read: git takes no links here either.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use cap_roots::{Dir, Entry, ErrorKind, FileType, Result};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::ends_call;
use super::exclude::Leave;
use super::label::Label;
use super::report::Why;
use crate::context::Context;
use crate::work::Work;

const NAME: &str = ".gitignore";
/// Largest file, and all that hold at one place together: what they compile to is larger.
const BYTES: u64 = 64 << 10;
const TOGETHER: u64 = 256 << 10;

/// What one file says.
#[derive(Debug)]
struct Level {
    /// How deep its directory lies below the start of the walk.
    depth: usize,
    /// The names from its directory to the start, where it lies above that.
    above: OsString,
    bytes: u64,
    list: Gitignore,
}

/// The files that hold where the walk stands.
#[derive(Debug)]
pub(super) struct Gitignores {
    levels: Vec<Level>,
    /// A directory that may be gone into next.
    ahead: Option<(Entry, usize)>,
    unread: u64,
}

impl Gitignores {
    /// Those from the root down to where the walk starts.
    pub(super) fn above(context: &Context, work: &Work, label: &Label) -> Result<Self> {
        let mut gitignores = Self { levels: Vec::new(), ahead: None, unread: 0 };
        for (uri, above) in label.down_to_start() {
            work.check()?;
            // What cannot be opened above is nothing to this call: it may see less than the root.
            match context.roots.open_dir(&uri) {
                Ok(dir) => gitignores.read(&dir, 0, above)?,
                Err(error) if ends_call(error.kind()) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(gitignores)
    }

    /// How many could not be read, whole or in part.
    pub(super) fn unread(&self) -> u64 {
        self.unread
    }

    /// A directory that is not left out. Its file is read once something in it is judged.
    pub(super) fn stands_before(&mut self, dir: &Entry, depth: usize) {
        self.ahead = Some((dir.clone(), depth));
    }

    pub(super) fn judge(&mut self, work: &Work, name: &OsStr, path: &Path, depth: usize, is_dir: bool) -> Result<Leave> {
        self.levels.retain(|level| level.depth < depth);
        if let Some((dir, above)) = self.ahead.take()
            && above + 1 == depth
        {
            work.check()?;
            match dir.open_dir() {
                Ok(dir) => self.read(&dir, above, OsString::new())?,
                Err(error) if ends_call(error.kind()) => return Err(error),
                Err(_) => self.unread += 1,
            }
        }
        // Never a part of what git keeps.
        if is_dir && name == ".git" {
            return Ok(Leave::Out(Why::Gitignore));
        }
        // The nearest file that says something has the last word.
        for level in self.levels.iter().rev() {
            let below: PathBuf = Path::new(&level.above).iter().chain(path.iter().skip(level.depth)).collect();
            match level.list.matched(below, is_dir) {
                Match::None => {}
                Match::Ignore(_) => return Ok(Leave::Out(Why::Gitignore)),
                Match::Whitelist(_) => return Ok(Leave::In),
            }
        }
        Ok(Leave::In)
    }

    fn read(&mut self, dir: &Dir, depth: usize, above: OsString) -> Result<()> {
        let left = TOGETHER.saturating_sub(self.levels.iter().map(|level| level.bytes).sum()).min(BYTES);
        match content(dir, left) {
            Ok(None) => {}
            Ok(Some(content)) => {
                let (list, whole) = list(&content);
                self.unread += u64::from(!whole);
                self.levels.push(Level { depth, above, bytes: u64::try_from(content.len()).unwrap_or(u64::MAX), list });
            }
            Err(error) if ends_call(error.kind()) => return Err(error),
            Err(_) => self.unread += 1,
        }
        Ok(())
    }
}

fn content(dir: &Dir, limit: u64) -> Result<Option<Vec<u8>>> {
    match dir.symlink_metadata(NAME) {
        Ok(metadata) if metadata.file_type() == FileType::File => dir.open(NAME)?.read_all(limit).map(Some),
        Ok(_) => Err(ErrorKind::SpecialFile.into()),
        // A rule hides it whether it is there or not: it says nothing here.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Protected) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the lines say, and whether all of them could be read. One that cannot does not take the others with it.
fn list(content: &[u8]) -> (Gitignore, bool) {
    let mut builder = GitignoreBuilder::new("");
    let mut whole = true;
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    for line in content.split(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line));
        whole &= line.is_ok_and(|line| builder.add_line(None, line).is_ok());
    }
    match builder.build() {
        Ok(list) => (list, whole),
        Err(_) => (Gitignore::empty(), false),
    }
}
