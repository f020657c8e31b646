//! Directories and rules as they are written on the command line.
//!
//! May touch: nothing of the other rooms.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cap_roots::Access;

/// A directory that the operator named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) name: Option<String>,
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
}

impl Grant {
    pub(crate) fn for_library(&self) -> cap_roots::Grant {
        let grant = cap_roots::Grant::new(&self.path).access(self.access);
        match &self.name {
            Some(name) => grant.name(name),
            None => grant,
        }
    }

    /// The arguments that grant the same: what a person may copy from one place to another without widening it.
    pub(crate) fn arguments(&self, host_path: &Path) -> [String; 2] {
        let option = if self.access == Access::Write { "--rw" } else { "--ro" };
        let name = self.name.as_ref().map(|name| format!("{name}=")).unwrap_or_default();
        [option.to_owned(), format!("{name}{}", host_path.display())]
    }
}

/// `NAME=DIR` or `DIR`. What stands before the first `=` is a name only if it has the characters of one: paths may hold `=`.
pub(super) fn named(text: &OsString, access: Access) -> Grant {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'));
    match text.to_str().and_then(|text| text.split_once('=')) {
        Some((name, path)) if is_name(name) => Grant { name: Some(name.to_owned()), path: path.into(), access },
        _ => Grant { name: None, path: text.into(), access },
    }
}

/// `GLOB=ACCESS`, split at the last `=`: globs may hold one.
pub(super) fn rule(text: &str) -> Result<(String, Access), String> {
    let access =
        |name: &str| [Access::None, Access::List, Access::Read, Access::Write].into_iter().find(|a| a.to_string() == name);
    let (glob, name) = text.rsplit_once('=').unwrap_or((text, ""));
    match access(name) {
        Some(access) => Ok((glob.to_owned(), access)),
        None => Err(format!(
            "invalid-argument: the rule {text:?} does not end with =none, =list, =read or =write; give it as in --rule '**/.env=none'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        for (text, glob, access) in [
            ("a=none", "a", Access::None),
            ("a=b=list", "a=b", Access::List),
            ("**/x=write", "**/x", Access::Write),
            ("=read", "", Access::Read),
        ] {
            assert_eq!(rule(text).unwrap(), (glob.to_owned(), access));
        }
        for text in ["", "a", "a=", "a=Read", "a=rw", "none", "a=read "] {
            let line = rule(text).unwrap_err();
            assert!(line.starts_with("invalid-argument: the rule ") && line.contains(&format!("{text:?}")), "{line}");
        }
    }
}
