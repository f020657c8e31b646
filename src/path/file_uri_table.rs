//! What clients send as roots, and what a URL parser would repair, by both path styles.
//!
//! Catches: a truncated URI that becomes the whole disk, a scheme or host that is not looked at, a fragment, query or backslash that is
//! cut off or folded so that a wider directory is left, escapes that are decoded twice, late or not at all, own folders kept out.

use crate::error::Detail;
use crate::path::file_uri::parse;
use crate::path::style::PathStyle;

use Refused::*;

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    Form,
    Host,
    Drive,
    Character,
    Segment,
    Escape,
    Name,
    Long,
}

type Outcome = Result<&'static str, Refused>;

/// `(URI, on Unix, on Windows)`.
const TABLE: &[(&str, Outcome, Outcome)] = &[
    // Plain.
    ("file:///w/a", Ok("/w/a"), Err(Drive)),
    ("FILE:///w/a", Ok("/w/a"), Err(Drive)),
    ("file:///w/a/", Ok("/w/a"), Err(Drive)),
    ("file://localhost/w", Ok("/w"), Err(Drive)),
    ("file://LOCALHOST/w", Ok("/w"), Err(Drive)),
    ("file:///C:/w", Err(Drive), Ok("C:\\w")),
    ("file:///c:/w/a", Err(Drive), Ok("C:\\w\\a")),
    ("file:///c%3A/w", Err(Drive), Ok("C:\\w")),
    ("file:///c%3a/w", Err(Drive), Ok("C:\\w")),
    ("file://localhost/c:/w", Err(Drive), Ok("C:\\w")),
    ("file:///C:/", Err(Drive), Ok("C:\\")),
    ("file:///C:", Err(Drive), Ok("C:\\")),
    ("file:///", Ok("/"), Err(Drive)),
    // Names with characters that URIs give a meaning, encoded; and what home-made clients leave as it is.
    ("file:///w/a%20b", Ok("/w/a b"), Err(Drive)),
    ("file:///w/a b", Ok("/w/a b"), Err(Drive)),
    ("file:///C:/a b/%C3%A9", Err(Drive), Ok("C:\\a b\\é")),
    ("file:///w/é", Ok("/w/é"), Err(Drive)),
    ("file:///w/%C3%A9", Ok("/w/é"), Err(Drive)),
    ("file:///w/C%23/proj", Ok("/w/C#/proj"), Err(Drive)),
    ("file:///w/what%3F/x", Ok("/w/what?/x"), Err(Drive)),
    ("file:///w/100%25", Ok("/w/100%"), Err(Drive)),
    ("file:///w/%252e%252e", Ok("/w/%2e%2e"), Err(Drive)),
    ("file:///w/a%5Cb", Ok("/w/a\\b"), Err(Drive)),
    ("file:///w/a%5Cb/../x", Err(Segment), Err(Drive)),
    ("file:///w/a:b", Ok("/w/a:b"), Err(Drive)),
    ("file:///w/a%0Ab", Ok("/w/a\nb"), Err(Drive)),
    ("file:///w/...", Ok("/w/..."), Err(Drive)),
    // Truncated, relative, too many slashes.
    ("file://", Err(Form), Err(Form)),
    ("file:", Err(Form), Err(Form)),
    ("file:/", Err(Form), Err(Form)),
    ("file://localhost", Err(Form), Err(Form)),
    ("file:/w/a", Err(Form), Err(Form)),
    ("file:w/a", Err(Form), Err(Form)),
    ("file:c:/x", Err(Form), Err(Form)),
    ("file:////w/a", Err(Segment), Err(Drive)),
    ("file:////server/share", Err(Segment), Err(Drive)),
    ("file://///server/share", Err(Segment), Err(Drive)),
    ("file:///w//a", Err(Segment), Err(Drive)),
    ("file:///C://a", Err(Drive), Err(Segment)),
    ("file:///w/a//", Err(Segment), Err(Drive)),
    // Hosts, also in disguise, and paths that have become one.
    ("file://w/a", Err(Host), Err(Host)),
    ("file://loc%61lhost/w", Err(Host), Err(Host)),
    ("file://ｌｏｃａｌｈｏｓｔ/w", Err(Host), Err(Host)),
    ("file://localhost./w", Err(Host), Err(Host)),
    ("file://127.0.0.1/w/a", Err(Host), Err(Host)),
    ("file://[::1]/w/a", Err(Host), Err(Host)),
    ("file://server/share/x", Err(Host), Err(Host)),
    ("file://wsl.localhost/Ubuntu/w", Err(Host), Err(Host)),
    ("file://user@h/w", Err(Host), Err(Host)),
    ("file://user@localhost/w", Err(Host), Err(Host)),
    ("file://h:80/w", Err(Host), Err(Host)),
    ("file://localhost:80/w", Err(Host), Err(Host)),
    ("file://c%3A/x", Err(Host), Err(Host)),
    ("file://C:/w", Err(Host), Err(Host)),
    ("file://./w", Err(Host), Err(Host)),
    ("file://?/C:/x", Err(Character), Err(Character)),
    // Other schemes, and no scheme.
    ("http://localhost/etc/x", Err(Form), Err(Form)),
    ("vscode-remote:/x", Err(Form), Err(Form)),
    ("vscode-remote:///x", Err(Form), Err(Form)),
    ("vscode-remote://wsl%2Bubuntu/w", Err(Form), Err(Form)),
    ("root://ws/", Err(Form), Err(Form)),
    ("files:///w", Err(Form), Err(Form)),
    ("foo:/x", Err(Form), Err(Form)),
    ("C:/Users/x", Err(Form), Err(Form)),
    ("C:\\Users\\x", Err(Character), Err(Character)),
    ("/w/a", Err(Form), Err(Form)),
    ("~/x", Err(Form), Err(Form)),
    ("", Err(Form), Err(Form)),
    // Dot segments, encoded or not; separators born of decoding.
    ("file:///..", Err(Segment), Err(Drive)),
    ("file:///w/../x", Err(Segment), Err(Drive)),
    ("file:///w/./x", Err(Segment), Err(Drive)),
    ("file:///w/%2e%2e/x", Err(Segment), Err(Drive)),
    ("file:///w/.%2E", Err(Segment), Err(Drive)),
    ("file:///w/%2e", Err(Segment), Err(Drive)),
    ("file:///w/..%2fx", Err(Segment), Err(Drive)),
    ("file:///%2fetc/x", Err(Segment), Err(Drive)),
    ("file:///w/a%00b", Err(Segment), Err(Drive)),
    ("file:///c:/a%5Cb", Err(Drive), Err(Segment)),
    ("file:///c:/..%5Cb", Err(Drive), Err(Segment)),
    ("file:///c:/a%2Fb", Err(Drive), Err(Segment)),
    // What is cut off, folded or stripped elsewhere.
    ("file:///w/C#/proj", Err(Character), Err(Character)),
    ("file:///w/what?/x", Err(Character), Err(Character)),
    ("file:///w\\..\\x", Err(Character), Err(Character)),
    ("file://d:\\dev\\x", Err(Character), Err(Character)),
    ("file:///w/a\0b", Err(Character), Err(Character)),
    ("file:///w\nx/a", Err(Character), Err(Character)),
    ("file:///w\tx", Err(Character), Err(Character)),
    (" file:///w", Err(Form), Err(Form)),
    ("file:///w ", Ok("/w "), Err(Drive)),
    ("file:///c:/w ", Err(Drive), Err(Name)),
    // Malformed escapes.
    ("file:///w/100%", Err(Escape), Err(Drive)),
    ("file:///w/%zz", Err(Escape), Err(Drive)),
    ("file:///w/%2", Err(Escape), Err(Drive)),
    ("file:///w/%+1", Err(Escape), Err(Drive)),
    ("file:///c:/w/%zz", Err(Drive), Err(Escape)),
    // Drives where there are none, and what is no drive where there are.
    ("file:///C|/x", Err(Drive), Err(Drive)),
    ("file:///%43%3a/x", Err(Drive), Ok("C:\\x")),
    ("file:///%43:", Err(Drive), Ok("C:\\")),
    ("file:///c%7C/x", Err(Drive), Err(Drive)),
    ("file:///c:x/y", Ok("/c:x/y"), Err(Drive)),
    ("file:///cc:/y", Ok("/cc:/y"), Err(Drive)),
    ("file:///1:/y", Ok("/1:/y"), Err(Drive)),
    ("file:///c:/a:b", Err(Drive), Err(Name)),
    ("file:///c:/d:/x", Err(Drive), Err(Name)),
    ("file:///c:/NUL", Err(Drive), Err(Name)),
    ("file:///c:/x%20", Err(Drive), Err(Name)),
    ("file:///c:/%FF", Err(Drive), Err(Escape)),
];

fn why(detail: Detail) -> Refused {
    match detail {
        Detail::FileUriForm => Form,
        Detail::FileUriHost => Host,
        Detail::FileUriDrive => Drive,
        Detail::UriCharacter => Character,
        Detail::UriSegment => Segment,
        Detail::UriEscape => Escape,
        Detail::WindowsName => Name,
        Detail::PathTooLong { .. } | Detail::NameTooLong { .. } | Detail::TooDeep { .. } => Long,
        other => panic!("another reason: {other:?}"),
    }
}

fn outcome(uri: &str, style: PathStyle) -> Result<String, Refused> {
    // The text of a Windows path is put together by hand: `PathBuf` joins by the rules of where this runs.
    let path = parse(uri, style).map_err(why)?;
    let text = path.to_path_buf().to_str().unwrap().to_owned();
    Ok(if style == PathStyle::Windows { text.replace("\\/", "\\").replace('/', "\\") } else { text })
}

#[test]
fn each_row_by_both_styles() {
    for (uri, unix, windows) in TABLE {
        // Windows itself joins a Unix path in its own way.
        if cfg!(unix) {
            assert_eq!(outcome(uri, PathStyle::Unix), unix.map(str::to_owned), "{uri:?} on Unix");
        }
        assert_eq!(outcome(uri, PathStyle::Windows), windows.map(str::to_owned), "{uri:?} on Windows");
    }
}

#[cfg(unix)]
#[test]
fn bytes_stay_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let path = parse("file:///w/%ff%fe", PathStyle::Unix).ok().unwrap().to_path_buf();
    assert_eq!(path.as_os_str().as_bytes(), b"/w/\xff\xfe");
}

#[test]
fn length_and_depth_are_bounded() {
    let long = |segment: &str, count: usize| outcome(&format!("file:///{}", segment.repeat(count)), PathStyle::Unix);
    assert_eq!(long("a", 256), Err(Long));
    assert_eq!(long("a/", 257), Err(Long));
    assert!(long("a/", 256).is_ok());
    assert_eq!(long("%61", 5_000), Err(Long));
    assert_eq!(long(&format!("{}/", "%61".repeat(200)), 21), Err(Long));
    assert!(long(&format!("{}/", "%61".repeat(200)), 20).is_ok());
}
