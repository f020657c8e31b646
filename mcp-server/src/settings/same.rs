//! One directory that is named more than once, and a root of the file whose place the command line takes: what is served then, and what is said of it.
//!
//! May touch: `options`, `start`, the roots that were opened, for which grants gave way.

use cap_roots::config::RootConfig;
use cap_roots::{Access, Roots};

use super::{Granted, Settings};
use crate::options::Grant;
use crate::start::shown;

impl Settings {
    /// Warns of each grant that gave way, where that is no fault; or the line that says which two do not go together. `roots` are those of
    /// [`Settings::builder`].
    pub(crate) fn judge_twice(&self, roots: &Roots) -> Result<(), String> {
        for (grant, root) in &self.by_name {
            self.warn_of_loss(grant, root);
        }
        for root in roots.list() {
            let Some(kept) = self.grants.get(root.position()) else { continue };
            let mut of_file = match kept {
                Granted::File(root) => Some(root),
                Granted::Argument(_) => None,
            };
            for gave_way in root.instead_of() {
                match (kept, self.grants.get(*gave_way)) {
                    (Granted::Argument(kept), Some(Granted::Argument(other))) => judge_arguments(kept, other)?,
                    (_, Some(Granted::File(other))) => {
                        if let Some(first) = of_file {
                            return Err(self.twice_in_file(first, other));
                        }
                        of_file = Some(other);
                    }
                    _ => {}
                }
            }
            if let (Granted::Argument(grant), Some(root)) = (kept, of_file) {
                self.warn_of_loss(grant, root);
            }
        }
        Ok(())
    }

    fn twice_in_file(&self, first: &RootConfig, other: &RootConfig) -> String {
        let file = self.file.as_deref().map_or_else(|| "configuration".to_owned(), shown);
        format!(
            "{file}:{}: {} is the same directory as that of the root in line {}; leave one of them, with what is to hold",
            other.place(),
            shown(other.path()),
            first.place().line()
        )
    }

    /// What the file kept a directory from is lost with its root.
    fn warn_of_loss(&self, grant: &Grant, root: &RootConfig) {
        let mut lost = Vec::new();
        if root.access() < grant.access {
            lost.push(format!("access {}", root.access()));
        }
        if root.no_delete() && !self.no_delete && grant.access == Access::Write {
            lost.push("no_delete".to_owned());
        }
        if root.rules().iter().any(|rule| !self.rules.contains(rule)) {
            lost.push("its rules".to_owned());
        }
        if root.time_left().is_some() {
            lost.push("its end".to_owned());
        }
        if lost.is_empty() {
            return;
        }
        let file = self.file.as_deref().map_or_else(|| "the configuration file".to_owned(), shown);
        let name = grant.name.as_ref().map(|name| format!("{name}=")).unwrap_or_default();
        tracing::warn!(
            "{name}{} on the command line takes the place of the root at {file}:{}, so what that said does not hold: {}; leave the \
             directory out of the command line to keep it",
            shown(&grant.path),
            root.place(),
            lost.join(", ")
        );
    }
}

fn judge_arguments(kept: &Grant, other: &Grant) -> Result<(), String> {
    let (first, second) = (shown(&kept.path), shown(&other.path));
    if kept.name.is_some() || kept.access != other.access {
        return Err(format!(
            "invalid-argument: {first} and {second} are the same directory, with different names or access; name it once"
        ));
    }
    tracing::warn!("{second} is the same directory as {first}, and is served once");
    Ok(())
}
