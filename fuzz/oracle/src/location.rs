//! Laws of path texts.

use std::sync::LazyLock;

use cap_roots::{Access, Operation, Roots};

static ROOTS: LazyLock<Roots> = LazyLock::new(|| {
    let here = std::env::temp_dir();
    Roots::builder().named("root", here, Access::Read).open().unwrap_or_else(|error| panic!("{error}"))
});

/// Panics if a text is judged differently the second time, if its `root://` form is not a fixed point, or if an error tells more than
/// one line.
pub fn check(text: &str) {
    let roots = &*ROOTS;
    match roots.uri(text) {
        Ok(uri) => {
            assert!(uri.starts_with("root://root/") && uri.is_ascii(), "{text:?} gives {uri:?}");
            assert_eq!(roots.uri(&uri).as_deref(), Ok(uri.as_str()), "{text:?}");
            assert_eq!(roots.explain(text, Operation::Open).uri(), Some(uri.as_str()), "{text:?}");
        }
        Err(error) => {
            assert_eq!(roots.explain(text, Operation::Open).verdict(), Err(error.kind()), "{text:?}");
            let told = error.to_string();
            assert!(told.starts_with(error.code()) && !told.contains(char::is_control), "{told:?}");
            assert!(told.len() < 4_000, "{}", told.len());
        }
    }
}
