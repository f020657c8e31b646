//! What is really there, read by path and without the crate.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cap_roots::Access;

use super::rules::{self, Rule};

/// Every name below `base` in the form of `World::lines`.
pub fn lines(base: &Path) -> io::Result<Vec<String>> {
    let mut first: BTreeMap<u64, String> = BTreeMap::new();
    let mut lines = Vec::new();
    visit(base, "", &mut |path, host, metadata| {
        let kind = metadata.file_type();
        lines.push(if kind.is_dir() {
            format!("dir {path}")
        } else if kind.is_symlink() {
            format!("link {path} -> {}", fs::read_link(host)?.display())
        } else if kind.is_file() {
            let same = first.entry(metadata.ino()).or_insert_with(|| path.to_owned());
            format!("file {path} (as {same}) = {}", text(host)?)
        } else {
            format!("special {path}")
        });
        Ok(())
    })?;
    Ok(lines)
}

type Visitor<'a> = dyn FnMut(&str, &Path, &fs::Metadata) -> io::Result<()> + 'a;

/// In the order of names, each directory before what is in it.
fn visit(dir: &Path, prefix: &str, visitor: &mut Visitor<'_>) -> io::Result<()> {
    let mut entries = fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (host, metadata) = (entry.path(), entry.metadata()?);
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        visitor(&path, &host, &metadata)?;
        if metadata.is_dir() {
            visit(&host, &format!("{path}/"), visitor)?;
        }
    }
    Ok(())
}

fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

/// What a file was when it was first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    text: String,
    mode: u32,
    modified: (i64, i64),
}

/// NO-LAUNDERING, without the model: files that rules keep from being written stay what they are, under a name that the rules leave as
/// little of.
#[derive(Debug)]
pub struct Watch {
    rules: Vec<Rule>,
    kept: BTreeMap<u64, (String, Access, Kept)>,
}

impl Watch {
    pub fn new(base: &Path, rules: Vec<Rule>) -> io::Result<Self> {
        let mut watch = Self { rules, kept: BTreeMap::new() };
        watch.look(base)?;
        Ok(watch)
    }

    /// Takes in what the other side has made.
    pub fn look(&mut self, base: &Path) -> io::Result<()> {
        for (inode, (path, access, kept)) in self.found(base)? {
            if access < Access::Write {
                self.kept.entry(inode).or_insert((path, access, kept));
            }
        }
        Ok(())
    }

    /// Panics if one of them has changed.
    pub fn check(&self, base: &Path) -> io::Result<()> {
        let found = self.found(base)?;
        for (inode, (path, access, kept)) in &self.kept {
            let Some((_, now, is)) = found.get(inode) else { panic!("{path} is gone, where rules leave {access}") };
            assert_eq!(is, kept, "{path} has changed, where rules leave {access}");
            assert!(now <= access, "{path} had {access} by the rules, and has {now}");
        }
        Ok(())
    }

    /// Each file below the roots by its inode, with the least that rules leave of one of its names.
    fn found(&self, base: &Path) -> io::Result<BTreeMap<u64, (String, Access, Kept)>> {
        let mut found: BTreeMap<u64, (String, Access, Kept)> = BTreeMap::new();
        visit(base, "", &mut |path, host, metadata| {
            if !metadata.is_file() || !path.starts_with("ROOT/") {
                return Ok(());
            }
            let access = rules::ceiling(&self.rules, &path.split('/').collect::<Vec<_>>(), false);
            let modified = (metadata.mtime(), metadata.mtime_nsec());
            let kept = Kept { text: text(host)?, mode: metadata.mode(), modified };
            let entry = found.entry(metadata.ino()).or_insert_with(|| (path.to_owned(), access, kept));
            if access < entry.1 {
                (entry.0, entry.1) = (path.to_owned(), access);
            }
            Ok(())
        })?;
        Ok(found)
    }
}
