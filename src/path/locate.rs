//! Which root a location means, by text alone (TEXT-ROUTES-ONLY).
//!
//! May touch: the rest of `path`, the error kinds. No I/O. A wrong match can fail, never widen: whatever is picked here is opened
//! relative to that root's held directory.

use crate::error::ErrorKind;
use crate::path::host::HostPath;
use crate::path::location::Location;
use crate::path::region::{Region, Same};
use crate::path::relative::RelPath;
use crate::path::style::PathStyle;
use crate::path::uri::RootName;

/// What routing knows of a root, or of a part of one.
pub(crate) struct Route {
    pub(crate) name: RootName,
    /// The root's path as given and in canonical form.
    pub(crate) spellings: Vec<HostPath>,
    /// What of it is seen.
    pub(crate) region: Region,
}

/// How the caller wrote the path, so that answers can speak the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// By an absolute host path or `~`.
    Host,
    /// Relative to the first root.
    Relative,
    /// By a `root://` URI.
    Named,
}

/// A route, by its index, and the path from where its region starts.
#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) route: usize,
    pub(crate) path: RelPath,
    pub(crate) form: Form,
}

/// Picks the root. `home` is the home directory of whoever runs the program. `present` tells whether a root's directory is there: where
/// one is missing inside another, its place is the outer one's, whose access is the same or less.
pub(crate) fn locate(
    routes: &[Route],
    home: Option<&HostPath>,
    present: impl Fn(usize) -> bool,
    location: Location,
) -> Result<Located, ErrorKind> {
    if routes.is_empty() {
        return Err(ErrorKind::NoRoots);
    }
    match location {
        Location::Relative(path) => locate_relative(routes, path),
        Location::Named(name, path) => {
            let named = |one| {
                let named = routes.iter().enumerate().filter(|(_, route)| route.name == name);
                let fits = named.filter_map(|(route, of)| Some((route, of.region.strip(&path, one)?)));
                fits.min_by_key(|(_, rest)| rest.climbs_above(0))
            };
            let (route, path) = Same::ways(PathStyle::host()).into_iter().find_map(named).ok_or(ErrorKind::OutsideRoots)?;
            Ok(Located { route, path, form: Form::Named })
        }
        Location::Host(path) => locate_host(routes, present, &path),
        Location::Home(path) => locate_host(routes, present, &home.ok_or(ErrorKind::OutsideRoots)?.join(&path)),
    }
}

/// From the first directory; where only files are seen, the file of that name.
fn locate_relative(routes: &[Route], path: RelPath) -> Result<Located, ErrorKind> {
    let located = |route, path| Located { route, path, form: Form::Relative };
    if let Some(route) = routes.iter().position(|route| route.region.only().is_none()) {
        return Ok(located(route, path));
    }
    let file = |one| {
        let mut files = routes.iter().enumerate();
        files.find_map(|(route, of)| Some(located(route, of.region.admit(path.clone(), one)?)))
    };
    Same::ways(PathStyle::host()).into_iter().find_map(file).ok_or(ErrorKind::OutsideRoots)
}

/// The root whose spelling the path lies below; where none fits as it is, one that fits in another Unicode form.
fn locate_host(routes: &[Route], present: impl Fn(usize) -> bool, path: &HostPath) -> Result<Located, ErrorKind> {
    let ways = Same::ways(PathStyle::host());
    ways.into_iter().find_map(|one| deepest(routes, &present, path, one)).ok_or(ErrorKind::OutsideRoots)
}

/// The deepest root of those that fit. Where the rest of the path climbs out of it by text (`INNER/../x`), an outer
/// root is preferred: it may well hold the place that is meant.
fn deepest(routes: &[Route], present: impl Fn(usize) -> bool, path: &HostPath, one: Same) -> Option<Located> {
    let fits = routes.iter().enumerate().flat_map(|(index, route)| route.spellings.iter().map(move |at| (index, route, at)));
    fits.filter_map(|(index, route, spelling)| {
        Some((index, spelling.depth(), route.region.strip(&one.below(path, spelling)?, one)?))
    })
    .max_by_key(|(index, depth, rest)| (present(*index), !rest.climbs_above(0), *depth, std::cmp::Reverse(*index)))
    .map(|(route, _, path)| Located { route, path, form: Form::Host })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::style::PathStyle;

    fn host(text: &str) -> HostPath {
        HostPath::parse(text, PathStyle::Unix).ok().flatten().unwrap()
    }

    fn routes() -> Vec<Route> {
        [("ws", vec!["/srv/demo/ws", "/srv/demo/wslink"]), ("inner", vec!["/srv/demo/ws/in"]), ("all", vec!["/srv"])]
            .into_iter()
            .map(|(name, spellings)| Route {
                name: RootName::parse(name).unwrap(),
                spellings: spellings.into_iter().map(host).collect(),
                region: Region::default(),
            })
            .collect()
    }

    fn route(text: &str) -> Result<(usize, String), ErrorKind> {
        let location = Location::parse(text, PathStyle::Unix).map_err(|error| error.kind())?;
        locate(&routes(), Some(&host("/srv/demo/ws/home")), |_| true, location)
            .map(|at| (at.route, at.path.as_os_str().to_str().unwrap().to_owned()))
    }

    #[test]
    fn deepest_spelling_wins() {
        assert_eq!(route("/srv/demo/ws/a"), Ok((0, "a".into())));
        assert_eq!(route("/srv/demo/wslink/a"), Ok((0, "a".into())));
        assert_eq!(route("/srv/demo/ws/in/a"), Ok((1, "a".into())));
        assert_eq!(route("/srv/demo/ws-old/a"), Ok((2, "demo/ws-old/a".into())));
        assert_eq!(route("/etc/passwd"), Err(ErrorKind::OutsideRoots));
    }

    #[test]
    fn climbing_out_prefers_the_outer_root() {
        assert_eq!(route("/srv/demo/ws/in/../a"), Ok((0, "in/../a".into())));
        assert_eq!(route("/srv/demo/ws/in/b/../a"), Ok((1, "b/../a".into())));
        assert_eq!(route("/srv/../etc"), Ok((2, "../etc".into())));
    }

    #[test]
    fn a_missing_inner_root_leaves_its_place_to_the_outer_one() {
        let located = |text: &str, absent: usize| {
            let location = Location::parse(text, PathStyle::Unix).unwrap();
            locate(&routes(), None, |root| root != absent, location).unwrap().route
        };
        assert_eq!((located("/srv/demo/ws/in/a", 1), located("/srv/demo/ws/in/a", 0)), (0, 1));
        assert_eq!(located("/srv/x", 2), 2);
    }

    #[test]
    fn other_forms() {
        assert_eq!(route("a/b"), Ok((0, "a/b".into())));
        assert_eq!(route("root://inner/a"), Ok((1, "a".into())));
        assert_eq!(route("root://nobody/a"), Err(ErrorKind::OutsideRoots));
        assert_eq!(route("~/x"), Ok((0, "home/x".into())));
    }

    #[test]
    fn nothing_granted_nothing_reached() {
        for text in ["a", "/a", "root://a/b", "~"] {
            let location = Location::parse(text, PathStyle::Unix).unwrap();
            assert_eq!(locate(&[], None, |_| true, location).unwrap_err(), ErrorKind::NoRoots);
        }
    }
}
