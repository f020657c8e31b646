//! Path parameters of tools: what a schema says of them.
//!
//! May touch: nothing else of the crate. A path is text here; the library judges it at each use, and says in a tool's result what is
//! wrong with it. Nothing here asks clients to repeat a path in a header (`x-mcp-header`), where proxies would see it.

use std::borrow::Cow;

use camino::Utf8Path;
use rmcp::schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

const FORMS: &str =
    "absolute path or file:// URI, path relative to the first allowed directory, or root://NAME/relative/path (percent-encoded)";

/// The longest text that can be a path: a `root://` URI in which each of 4,095 bytes is escaped.
const LONGEST: usize = "root://".len() + 3 * 4095;

/// The JSON Schema of a parameter that is a path, for tools whose schema is written by hand: `description`, and which forms are taken.
///
/// ```
/// let schema = cap_roots_rmcp::path_schema("The file to count in");
/// assert!(schema["description"].as_str().unwrap().starts_with("The file to count in: absolute path or "));
/// ```
#[must_use]
pub fn path_schema(description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": LONGEST, "description": format!("{description}: {FORMS}") })
}

macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident $description:literal $examples:tt)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(String);

        impl $name {
            /// The text as the caller typed it.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<String>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(text.into())
            }
        }

        impl AsRef<Utf8Path> for $name {
            fn as_ref(&self) -> &Utf8Path {
                Utf8Path::new(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            // Any text: what is wrong with it is told by the tool's result, which a model reads, and not by a protocol error.
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self)
            }
        }

        impl JsonSchema for $name {
            // In its place, since not every client follows a reference.
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = match path_schema($description) {
                    Value::Object(schema) => schema,
                    _ => Map::new(),
                };
                // A comment on the author's field takes the place of the description; these stay.
                schema.insert("examples".to_owned(), json!($examples));
                schema.into()
            }
        }
    )*};
}

parameters! {
    /// A path among a tool's parameters: any method of [`Roots`](cap_roots::Roots) takes it.
    ///
    /// ```
    /// use cap_roots::{Access, Roots};
    /// use cap_roots_rmcp::{ToolDirectory, ToolPath};
    /// use rmcp::schemars;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Arguments {
    ///     project_directory: ToolDirectory,
    ///     path: ToolPath,
    /// }
    ///
    /// fn read(roots: &Roots, args: &Arguments) -> cap_roots::Result<String> {
    ///     let project = roots.within(&args.project_directory)?; // narrows for this call
    ///     project.read_to_string(&args.path)
    /// }
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # std::fs::create_dir(folder.path().join("p"))?;
    /// # std::fs::write(folder.path().join("p/a.txt"), "text")?;
    /// let roots = Roots::builder().root(folder.path(), Access::Read).open()?;
    /// let args = serde_json::from_str(r#"{ "project_directory": "p", "path": "a.txt" }"#)?;
    /// assert_eq!(read(&roots, &args)?, "text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ToolPath "File or directory" ["docs/notes.txt", "root://NAME/docs/notes.txt"]

    /// A directory among a tool's parameters, for [`Roots::within`](cap_roots::Roots::within): it narrows one call, and gives nothing.
    ToolDirectory "Directory" [".", "docs", "root://NAME/docs/"]
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_roots::{Access, Roots};
    use rmcp::handler::server::common::schema_for_type;
    use rmcp::schemars;

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "read by its schema alone")]
    struct Arguments {
        path: ToolPath,
        /// Where to look.
        within: Option<ToolDirectory>,
    }

    /// Catches: a schema that clients have to resolve, forms that an author's comment hides, and a path that goes into a header.
    #[test]
    fn a_derived_schema_says_what_a_written_one_says() {
        let schema = Value::Object((*schema_for_type::<Arguments>()).clone());
        let mut path = schema["properties"]["path"].clone();
        assert_eq!(path.as_object_mut().unwrap().remove("examples").unwrap()[0], "docs/notes.txt");
        assert_eq!(path, path_schema("File or directory"));
        let within = &schema["properties"]["within"];
        assert_eq!(within["description"], "Where to look.");
        assert_eq!((&within["maxLength"], &within["examples"][2]), (&LONGEST.into(), &"root://NAME/docs/".into()));
        assert_eq!(schema["required"], json!(["path"]));
        for word in ["$ref", "$defs", "x-mcp-header"] {
            assert!(!schema.to_string().contains(word), "{word}");
        }
    }

    /// Catches: a limit that refuses what the library takes, or that promises more.
    #[test]
    fn the_longest_path_is_the_librarys() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::builder().named("ws", folder.path(), Access::Read).open().unwrap();
        let code = |text: &str| roots.read(ToolPath::from(text)).unwrap_err().code();
        let name = "%61".repeat(250);
        let names = vec![name.as_str(); 16].join("/");
        let long = format!("root://ws/{names}");
        assert!(long.len() < LONGEST && long.len() > 12_000);
        assert_eq!(code(&long), "not-found");
        let fill = |length: usize| format!("root://{}", "a".repeat(length - "root://".len()));
        let told = |text: &str| roots.read(text).unwrap_err().to_string();
        assert!(!told(&fill(LONGEST)).contains("longer than"));
        assert!(told(&fill(LONGEST + 1)).contains("longer than"));
        assert_eq!(code(""), "invalid-path");
    }
}
