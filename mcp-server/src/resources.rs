//! Resources: the roots as a list, and what is below them by `root://` URI.
//!
//! A URI here names a root and a place in it and nothing else: host paths and `file:` URIs, which the tools take or explain, are no
//! resources. What is read goes through the library like every tool call, so rules, access and confinement are the same.
//!
//! May touch: `context`, `listing`, `tools`, `work`.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cap_roots::{Access, Error, ErrorKind, File, FileType, Result, RootInfo, Roots};
use cap_roots_rmcp::resource_error;
use mime_guess::Mime;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};

use crate::context::Context;
use crate::listing::{Listing, entries};
use crate::tools::{LISTING, Offered, READING};
use crate::work::Work;

const SCHEME: &str = "root://";
const DIRECTORY: &str = "inode/directory";
const PLAIN: &str = "text/plain";
/// Roots in one page of the list.
const PAGE: usize = 100;

/// `name` needs no escapes. `path` is expanded as it is (RFC 6570 section 3.2.3), slashes and escapes with it.
const TEMPLATE: &str = "root://{name}/{+path}";

/// One page of the roots, by `resources/list`.
///
/// # Errors
/// -32602 with `stale-cursor`.
pub(crate) fn list(offered: &Offered, roots: &Roots, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let is_listed = offered.allow(LISTING).is_ok();
    let resources = roots.list().filter(|_| is_listed).map(|root| resource(&root)).collect();
    let (page, next) = page(resources, PAGE, cursor).map_err(|error| resource_error(&error.about("resources/list"), None))?;
    let mut result = ListResourcesResult::with_all_items(page);
    result.next_cursor = next;
    Ok(result)
}

/// The one template, by `resources/templates/list`.
///
/// # Errors
/// -32602 with `stale-cursor`: no cursor is ever given out.
pub(crate) fn templates(offered: &Offered, cursor: Option<&str>) -> Result<ListResourceTemplatesResult, ErrorData> {
    if cursor.is_some() {
        let error = Error::from(ErrorKind::StaleCursor).about("resources/templates/list");
        return Err(resource_error(&error, None));
    }
    if offered.allow(READING).is_err() && offered.allow(LISTING).is_err() {
        return Ok(ListResourceTemplatesResult::with_all_items(Vec::new()));
    }
    let template = ResourceTemplate::new(TEMPLATE, "file").with_title("File or directory in a root").with_description(
        "name: a root's name, from resources/list. path: relative to that root, with the characters % ? # and \\ as %25 %3F %23 and \
         %5C. A directory is answered with the URIs of what is in it.",
    );
    Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
}

fn resource(root: &RootInfo) -> Resource {
    let access = match (root.access() >= Access::Write, root.access() >= Access::Read) {
        (true, _) => "read and changed",
        (_, true) => "read",
        _ => "listed",
    };
    let described = format!("Directory whose files can be {access}. Reading it gives the URIs of what is in it.");
    Resource::new(directory(root.uri()), root.name())
        .with_title(format!("Directory {}", root.name()))
        .with_description(described)
        .with_mime_type(DIRECTORY)
}

/// The URI of a directory ends with a slash, so that relative references start in it.
fn directory(mut uri: String) -> String {
    if !uri.ends_with('/') {
        uri.push('/');
    }
    uri
}

/// A page of at most `size`, and the cursor of the next one: the last resource shown, so that it fits as long as that one is in the list,
/// whatever else comes and goes.
fn page(mut resources: Vec<Resource>, size: usize, cursor: Option<&str>) -> Result<(Vec<Resource>, Option<String>)> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            let shown = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| ErrorKind::StaleCursor)?;
            let last = resources.iter().rposition(|resource| resource.uri.as_bytes() == shown);
            last.ok_or(ErrorKind::StaleCursor)? + 1
        }
    };
    let mut page = resources.split_off(start);
    let more = page.len() > size;
    page.truncate(size);
    let next = page.last().filter(|_| more).map(|last| URL_SAFE_NO_PAD.encode(&last.uri));
    Ok((page, next))
}

fn is_ours(uri: &str) -> bool {
    uri.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

/// The error of a read that was refused with `error`. A text that may be a host path is not repeated where those are hidden.
pub(crate) fn refused(context: &Context, error: &Error, uri: &str) -> ErrorData {
    resource_error(error, Some(uri).filter(|uri| is_ours(uri) || !context.hide_host_paths))
}

/// What is at `uri`, by `resources/read`. Blocks on the disk, so it belongs on a thread that may block.
///
/// # Errors
/// `outside-roots` for all that is no `root://` URI, whether or not a tool would take it; `not-granted` where no tool that the operator has
/// chosen would give it; those of `Roots::open` and `Roots::read_dir`;
/// `too-large`.
pub(crate) fn read(context: &Context, work: &Work, uri: &str) -> Result<ReadResourceResult> {
    if !is_ours(uri) {
        let error = Error::from(ErrorKind::OutsideRoots).advise("give root://NAME/relative/path, with a NAME of resources/list");
        return Err(if context.hide_host_paths { error } else { error.about(uri) });
    }
    let context = context.until_stopped(work);
    let lists = context.offered.allow(LISTING);
    if lists.is_err() {
        // Not even whether something is there.
        context.offered.allow(READING)?;
    }
    let refused = match context.roots.open(uri) {
        Ok(file) => {
            return context
                .offered
                .allow(READING)
                .and_then(|()| content(&context, file, uri))
                .map_err(|error| error.about(context.label(uri)));
        }
        Err(error) => error,
    };
    // A directory may be listed where its files may not be read.
    let contents = match refused.kind() {
        ErrorKind::IsADirectory => {
            lists?;
            names(&context, work, uri)?
        }
        ErrorKind::NotGranted | ErrorKind::Protected if lists.is_ok() => match names(&context, work, uri) {
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Err(refused),
            names => names?,
        },
        _ => return Err(refused),
    };
    Ok(ReadResourceResult::new(contents))
}

/// A file, as text where its bytes are: a name tells what kind of text, and no more.
fn content(context: &Context, mut file: File, uri: &str) -> Result<ReadResourceResult> {
    let limits = context.limits;
    let bytes = file.read_all(limits.media_bytes.max(limits.text_bytes)).map_err(|error| match error.kind() {
        ErrorKind::TooLarge => error.advise("if it is text, read pages of it with the tool read_text_file (offset and limit)"),
        _ => error,
    })?;
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    // In its one form, so that escapes do not hide what the name ends with.
    let guess = mime_guess::from_path(context.roots.uri(uri)?);
    let contents = match text(bytes) {
        Ok(_) if size > limits.text_bytes => {
            return Err(
                Error::too_large(limits.text_bytes).advise("read pages of it with the tool read_text_file (offset and limit)")
            );
        }
        Ok(text) => {
            let mime = guess.iter().find(is_text).map_or(PLAIN.to_owned(), |mime| mime.essence_str().to_owned());
            ResourceContents::text(text, uri).with_mime_type(mime)
        }
        Err(_) if size > limits.media_bytes => {
            return Err(Error::too_large(limits.media_bytes).advise("files of this size that are not text are not answered"));
        }
        Err(bytes) => {
            ResourceContents::blob(STANDARD.encode(bytes), uri).with_mime_type(guess.first_or_octet_stream().essence_str())
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// UTF-8 without NUL, or the bytes back.
fn text(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(text) => Err(text.into_bytes()),
        Err(error) => Err(error.into_bytes()),
    }
}

/// Whether text may be of this type: one that is sound or pictures shares its name's ending with a kind of text (`.ts`).
fn is_text(mime: &Mime) -> bool {
    match mime.type_().as_str() {
        "text" => true,
        "application" => mime.subtype() != "octet-stream",
        _ => mime.suffix().is_some_and(|suffix| suffix == "xml"),
    }
}

/// A directory: the URI of each entry, one a line. What was left out is told behind it, so that each line is a URI.
fn names(context: &Context, work: &Work, uri: &str) -> Result<Vec<ResourceContents>> {
    let (entries, left_out) = entries(context, work, uri)?;
    let mut listing = Listing::new(context, left_out);
    let _ = entries.iter().all(|entry| {
        let is_dir = entry.file_type() == FileType::Dir;
        listing.add(format_args!("{}", if is_dir { directory(entry.uri()) } else { entry.uri() }))
    });
    let mut contents = vec![ResourceContents::text(listing.text, uri).with_mime_type(DIRECTORY)];
    if let Some(notice) = listing.left_out.notice() {
        contents.push(ResourceContents::text(format!("[{notice}]"), uri));
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(names: &[&str]) -> Vec<Resource> {
        names.iter().map(|name| Resource::new(format!("root://{name}/"), *name)).collect()
    }

    /// Catches: pages that repeat or lose a root when the list changes, a cursor that is not looked at, a list without end.
    #[test]
    fn pages_go_on_behind_the_last_root_shown() {
        let list = roots(&["a", "b", "c"]);
        let (mut seen, mut cursor) = (Vec::new(), None);
        for _ in 0..3 {
            let (page, next) = page(list.clone(), 1, cursor.as_deref()).unwrap();
            assert_eq!(page.len(), 1);
            seen.extend(page);
            cursor = next;
        }
        assert_eq!((seen, cursor), (list.clone(), None));
        let (_, at_b) = page(list.clone(), 2, None).unwrap();
        let (rest, next) = page(roots(&["new", "b", "c"]), 2, at_b.as_deref()).unwrap();
        assert_eq!((rest, next), (roots(&["c"]), None));
        let gone = page(roots(&["a", "c"]), 2, at_b.as_deref()).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::StaleCursor);
        for cursor in ["", "b", "1", "root://b/", "!", "////"] {
            assert_eq!(page(list.clone(), 1, Some(cursor)).unwrap_err().kind(), ErrorKind::StaleCursor, "{cursor}");
        }
        let (_, twice) = page(roots(&["a", "a", "b"]), 1, None).unwrap();
        let (rest, _) = page(roots(&["a", "a", "b"]), 1, twice.as_deref()).unwrap();
        assert_eq!(rest, roots(&["b"]));
    }

    /// RFC 6570: `{name}` keeps unreserved characters, `{+path}` reserved ones and escapes as well.
    fn expand(name: &str, path: &str) -> String {
        let escape = |text: &str, keep: &dyn Fn(usize, u8) -> bool| -> String {
            let byte = |(at, byte): (usize, u8)| match keep(at, byte) {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02X}"),
            };
            text.bytes().enumerate().map(byte).collect()
        };
        let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let hex = |at: usize| path.as_bytes().get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let name = escape(name, &|_, byte| unreserved(byte));
        let path = escape(path, &|at, byte| match byte {
            b'%' => hex(at),
            byte => unreserved(byte) || b":/?#[]@!$&'()*+,;=".contains(&byte),
        });
        TEMPLATE.replace("{name}", &name).replace("{+path}", &path)
    }

    /// Catches: a template whose expansion is another file's URI, or none.
    #[test]
    fn the_template_gives_uris_that_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::builder().named("my-notes_2.x", folder.path(), Access::Read).open().unwrap();
        for (path, name) in [
            ("a b/Übersicht 音.md", "a b/Übersicht 音.md"),
            ("A%20B.md", "A B.md"),
            ("50%.md", "50%.md"),
            ("50%25.md", "50%.md"),
            ("50%2525.md", "50%25.md"),
            ("what%3F%23", "what?#"),
            ("x:y@z!$&'()*+,;=[]", "x:y@z!$&'()*+,;=[]"),
            ("", "."),
            ("sub/", "sub"),
        ] {
            let uri = expand("my-notes_2.x", path);
            // Windows has no such names.
            if cfg!(windows) && name.contains(['?', ':']) {
                assert!(roots.uri(&uri).is_err(), "{uri}");
                continue;
            }
            assert_eq!(roots.uri(&uri).unwrap(), roots.uri(name).unwrap(), "{uri}");
        }
    }
}
