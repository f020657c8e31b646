//! The part of a root that a set sees, as names: the whole root, a directory in it, or one file.
//!
//! May touch: `host`, `relative`, `style`. No I/O: names are looked up from the root's handle at each operation, since a handle would follow a
//! directory out of its grant.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use crate::path::host::HostPath;
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;

/// When two names are one. What fits in another Unicode form counts only where nothing fits as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Same {
    AsItIs(PathStyle),
    InAnyForm(PathStyle),
}

impl Same {
    /// In the order in which they count.
    pub(crate) fn ways(style: PathStyle) -> [Self; 2] {
        [Self::AsItIs(style), Self::InAnyForm(style)]
    }

    fn says(self, a: &OsStr, b: &OsStr) -> bool {
        match self {
            Self::AsItIs(style) => style.same_os_name(a, b),
            Self::InAnyForm(style) => style.like_os_name(a, b),
        }
    }

    /// What all names that are one have in common.
    pub(crate) fn key(self, name: &OsStr) -> Cow<'_, OsStr> {
        match self {
            Self::AsItIs(style) => style.key_of_same(name),
            Self::InAnyForm(style) => style.key_of_like(name),
        }
    }

    /// What is behind `prefix`, if the path lies below it.
    pub(crate) fn below(self, path: &HostPath, prefix: &HostPath) -> Option<RelPath> {
        match self {
            Self::AsItIs(_) => path.below(prefix),
            Self::InAnyForm(_) => path.like_below(prefix),
        }
    }
}

/// Real names from the root: no link was among them when they were found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    /// The directory that paths start from, and above which none leads.
    names: RelPath,
    /// The one name in it that counts.
    only: Option<OsString>,
}

impl Region {
    pub(crate) fn directory(names: RelPath) -> Self {
        Self { names, only: None }
    }

    /// `None` for names that end in no name.
    pub(crate) fn file(names: &RelPath) -> Option<Self> {
        let (parent, name) = names.split_last()?;
        Some(Self { names: parent, only: Some(name.to_owned()) })
    }

    pub(crate) fn names(&self) -> &RelPath {
        &self.names
    }

    pub(crate) fn only(&self) -> Option<&OsStr> {
        self.only.as_deref()
    }

    /// All its names: to the directory, or to the file.
    pub(crate) fn path(&self) -> RelPath {
        let mut path = self.names.clone();
        if let Some(name) = &self.only {
            path.push_name(name);
        }
        path
    }

    /// What tells one region from another, in the order in which a set has them.
    pub(crate) fn key(&self) -> (&OsStr, Option<&OsStr>) {
        (self.names.as_os_str(), self.only())
    }

    /// Whether everything in `other` is in it too.
    pub(crate) fn covers(&self, other: &Region) -> bool {
        match &self.only {
            None => other.path().below(&self.names).is_some(),
            Some(_) => self.key() == other.key(),
        }
    }

    /// A path from the root, as one from where the region starts; `None` if it leads elsewhere by its text. `one` tells which names are one.
    pub(crate) fn strip(&self, path: &RelPath, one: Same) -> Option<RelPath> {
        self.admit(path.below_by(&self.names, |own, other| one.says(own, other))?, one)
    }

    /// A path from where the region starts, unless another name than the one that counts comes first.
    pub(crate) fn admit(&self, path: RelPath, one: Same) -> Option<RelPath> {
        let Some(only) = &self.only else { return Some(path) };
        let (parent, name) = path.split_last()?;
        let is_it = parent.is_empty() && one.says(name, only);
        is_it.then(|| path.renamed_last(only))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text, PathStyle::Unix).unwrap()
    }

    fn strip(region: &Region, text: &str) -> Option<String> {
        Same::ways(PathStyle::Unix)
            .into_iter()
            .find_map(|one| region.strip(&path(text), one))
            .map(|rest| rest.as_os_str().to_str().unwrap().to_owned())
    }

    #[test]
    fn a_directory_takes_what_is_below_it() {
        let region = Region::directory(path("a/b"));
        assert_eq!((region.names(), region.only()), (&path("a/b"), None));
        for (text, rest) in [("a/b", "."), ("a/b/c", "c"), ("a/b/../c", "../c")] {
            assert_eq!(strip(&region, text).as_deref(), Some(rest), "{text}");
        }
        for text in [".", "a", "a/bc", "a/../a/b", "b"] {
            assert_eq!(strip(&region, text), None, "{text}");
        }
        assert_eq!(strip(&Region::directory(path("cafe\u{301}")), "caf\u{e9}/x").as_deref(), Some("x"));
        assert_eq!(strip(&Region::default(), "a/..").as_deref(), Some("a/.."));
    }

    #[test]
    fn a_file_is_its_one_name() {
        let region = Region::file(&path("a/f")).unwrap();
        assert_eq!(
            (region.names().as_os_str(), region.only(), region.path().as_os_str()),
            (OsStr::new("a"), Some(OsStr::new("f")), OsStr::new("a/f"))
        );
        assert_eq!(strip(&region, "a/f").as_deref(), Some("f"));
        for text in ["a", "a/g", "a/f/x", "a/f/..", "a/../a/f", "a/x/../f", "f"] {
            assert_eq!(strip(&region, text), None, "{text}");
        }
        let typed = Region::file(&path("e\u{301}")).unwrap().admit(path("\u{e9}/"), Same::InAnyForm(PathStyle::Unix)).unwrap();
        assert_eq!((typed.as_os_str(), typed.must_be_dir()), (OsStr::new("e\u{301}"), true));
        assert!(Region::file(&path(".")).is_none());
    }

    #[test]
    fn the_wider_one_covers() {
        let (all, dir, file) = (Region::default(), Region::directory(path("a")), Region::file(&path("a/f")).unwrap());
        for (wide, narrow) in [(&all, &dir), (&all, &file), (&dir, &file)] {
            assert!(wide.covers(narrow) && !narrow.covers(wide));
        }
        assert!(file.covers(&file) && !dir.covers(&Region::directory(path("ab"))));
    }
}
