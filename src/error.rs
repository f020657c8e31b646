//! The one mouth (ONE-MOUTH): every text that a caller may see is made in this file.
//!
//! May touch: nothing else of the crate but the escaping rules in `text`. It never receives a host path: the only spelling that an
//! error can carry is the one that the caller typed, and [`Subject`] is its only way in.

mod subject;
mod system;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::text;

pub(crate) use subject::Subject;
#[cfg(any(not(target_os = "linux"), cap_roots_portable))]
pub(crate) use system::is_link_met;
pub(crate) use system::is_on_another_mount;

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose fault a refusal is; use it to choose between answering, alerting and fixing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The untrusted side asked for something that it may not have, that is not there, or that is malformed.
    Input,
    /// The embedding program or its configuration used the crate wrongly.
    Misuse,
    /// The operating system, the disk or the state of the tree stood in the way; trying again may help.
    Environment,
    /// The crate contradicted itself. Please report it.
    Bug,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $code:literal $fault:ident $predicate:literal $mend:literal;)*) => {
        /// What went wrong. The set grows; match with a wildcard arm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* #[doc = concat!("\n\nCode: `", $code, "`.")] $kind,)*
        }

        impl ErrorKind {
            /// Every kind, in the order of the documentation.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$kind),*];

            /// The stable code, for logs, tests and language models: `outside-roots`, `not-found` and so on.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(ErrorKind::$kind => $code),* }
            }

            /// Whose fault an error of this kind is.
            #[must_use]
            pub const fn fault(self) -> Fault {
                match self { $(ErrorKind::$kind => Fault::$fault),* }
            }

            const fn predicate(self) -> &'static str {
                match self { $(ErrorKind::$kind => $predicate),* }
            }

            const fn mend(self) -> &'static str {
                match self { $(ErrorKind::$kind => $mend),* }
            }
        }
    };
}

kinds! {
    /// The path leads outside every root: by its text, by `..`, or through a link. Whether anything exists there is not told.
    OutsideRoots "outside-roots" Input "is not inside an allowed directory, or a link in it leads out" "name the file by its own path below an allowed directory";
    /// Nothing was granted, so nothing can be reached.
    NoRoots "no-roots" Misuse "cannot be reached because no directory was granted" "ask the operator to name a directory at start";
    /// The root's directory is missing now.
    RootAbsent "root-absent" Environment "belongs to an allowed directory that is missing now" "use another directory, or ask the operator to create or mount it";
    /// The access of the root does not allow this operation.
    NotGranted "not-granted" Input "is in a directory whose access does not allow this" "use an operation that needs less access, or ask the operator for more";
    /// A rule of the operator keeps this name from the operation.
    Protected "protected" Input "is protected by a rule of the operator" "leave it as it is and work with other files";
    /// The authority was taken back.
    Revoked "revoked" Input "can no longer be reached: access was taken back" "ask the operator to grant it again";
    /// The authority ran out.
    Expired "expired" Input "can no longer be reached: access has run out" "ask the operator to grant it again";
    /// There is nothing by this name inside the root.
    NotFound "not-found" Input "does not exist" "list its parent directory to see the names that do";
    /// There is something by this name already.
    AlreadyExists "already-exists" Input "exists already" "choose another name, or ask for it to be replaced";
    /// A directory was needed, here or on the way.
    NotADirectory "not-a-directory" Input "is not a directory, or a name on the way to it is not" "check each part of the path";
    /// A file was needed.
    IsADirectory "is-a-directory" Input "is a directory" "list it, or name a file inside it";
    /// The directory has entries.
    NotEmpty "not-empty" Input "is a directory that is not empty" "remove its entries first";
    /// A pipe, socket, device or kernel file; only regular files and directories are opened.
    SpecialFile "special-file" Input "is a pipe, socket, device or kernel file" "only regular files and directories can be opened";
    /// The file has further names, so a change in place would reach them too.
    HardLinked "hard-linked" Input "has more than one name on the disk" "write it as a new file instead of changing it in place";
    /// Larger than the limit in force.
    TooLarge "too-large" Input "is larger than the limit" "read a part of it";
    /// A limit of work, entries, depth or descriptors was reached.
    Limit "limit" Environment "needs more than a limit allows" "ask for less at a time";
    /// The text is not a usable path.
    InvalidPath "invalid-path" Input "is not a usable path" "give a path such as docs/notes.txt";
    /// The text is not a usable URI.
    InvalidUri "invalid-uri" Input "is not a usable URI" "give root://NAME/relative/path with special characters percent-encoded";
    /// Another argument is wrong.
    InvalidArgument "invalid-argument" Input "does not fit" "correct the argument";
    /// More than 40 symbolic links, or links in a circle.
    SymlinkLoop "symlink-loop" Input "goes through too many symbolic links" "use the path of the real file";
    /// Text was asked for and the bytes are not UTF-8.
    NotUtf8 "not-utf8" Input "is not UTF-8 text" "read it as bytes";
    /// The two ends of an operation lie in different roots that do not allow it.
    CrossRoot "cross-root" Input "is in another allowed directory than the other end" "work within one directory";
    /// The text to be replaced is not there.
    NoMatch "no-match" Input "does not contain the given text" "read the file again and copy the text exactly";
    /// Several things fit where one was meant.
    Ambiguous "ambiguous" Input "fits more than one" "be more exact";
    /// It was changed by somebody else in between.
    Conflict "conflict" Environment "was changed by somebody else meanwhile" "read it again, then repeat";
    /// It stayed in use, or kept changing, for longer than the retries last.
    Busy "busy" Environment "is in use or keeps changing" "try again in a moment";
    /// The deadline of the call passed.
    Timeout "timeout" Environment "took longer than allowed" "ask for less at a time";
    /// The caller withdrew the call.
    Cancelled "cancelled" Environment "was given up because the call was cancelled" "repeat the call if it is still wanted";
    /// The mark to go on from no longer fits.
    StaleCursor "stale-cursor" Input "cannot be continued from this mark" "start again from the beginning";
    /// The disk or the quota is full.
    NoSpace "no-space" Environment "cannot be written because the disk or quota is full" "free some space";
    /// The operating system refused: permissions, a read-only mount, a security module.
    OsDenied "os-denied" Environment "was refused by the operating system" "check its permissions";
    /// This platform or file system cannot do it.
    Unsupported "unsupported" Environment "cannot be done on this system" "use another way";
    /// Any other failure of the operating system.
    Io "io" Environment "failed in the operating system" "try again, or look at the disk";
}

/// Why a text was refused, beyond its kind: a closed list, so that no text from elsewhere gets into an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Empty,
    Nul,
    Control,
    PathTooLong {
        limit: usize,
    },
    NameTooLong {
        limit: usize,
    },
    TooDeep {
        limit: usize,
    },
    NotAbsolute,
    DeviceNamespace,
    WindowsName,
    UriName,
    UriEscape,
    UriSegment,
    UriCharacter,
    FileUriForm,
    FileUriHost,
    FileUriDrive,
    NotALink,
    LinkTextLeavesRoot,
    OtherMount,
    SeveralForms,
    NoEntry,
    Inside,
    NotRecorded,
    Rule(&'static str),
    TooManyBytes {
        limit: u64,
    },
    DuplicateRoot {
        other: String,
    },
    RootName,
    NestedRoot {
        outer: String,
    },
    NotADirectoryRoot,
    NamedAsDirectory,
    HoldsKeptFile,
    TooWide,
    ThroughRoot,
    OsError(i32),
    Fenced,
    #[cfg_attr(not(feature = "landlock"), allow(dead_code, reason = "there is no fence"))]
    Fence(String),
    Message(String),
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::Empty => f.write_str("it is empty; name the directory itself with \".\""),
            Detail::Nul => f.write_str("it contains a NUL character"),
            Detail::Control => {
                f.write_str("it contains a control character; a name that has one is written as root://NAME/... with %XX")
            }
            Detail::PathTooLong { limit } => write!(f, "it is longer than {limit} bytes"),
            Detail::NameTooLong { limit } => write!(f, "one of its names is longer than {limit} bytes"),
            Detail::TooDeep { limit } => write!(f, "it has more than {limit} names"),
            Detail::NotAbsolute => f.write_str("a drive needs a separator behind it, as in C:\\"),
            Detail::DeviceNamespace => f.write_str("device and verbatim prefixes are not taken"),
            Detail::WindowsName => {
                f.write_str("one of its names is reserved or has a character that Windows gives another meaning")
            }
            Detail::UriName => f.write_str("the root's name has characters other than a-z 0-9 . _ -"),
            Detail::UriEscape => f.write_str("a percent sign is not followed by two hexadecimal digits"),
            Detail::UriSegment => f.write_str("a segment is empty, a dot segment, or holds an encoded separator or NUL"),
            Detail::UriCharacter => f.write_str("it has a character that must be percent-encoded"),
            Detail::FileUriForm => {
                f.write_str("a file URI is file:// with an absolute path behind it, as in file:///home/me/notes")
            }
            Detail::FileUriHost => f.write_str("it names a host: two slashes too few, or another machine"),
            Detail::FileUriDrive => {
                f.write_str("a drive, as in file:///C:/notes, is for Windows only, where each file URI has one")
            }
            Detail::NotALink => f.write_str("it is not a symbolic link"),
            Detail::LinkTextLeavesRoot => f.write_str("the link leads outside, so its text is not shown"),
            Detail::OtherMount => f.write_str("another mount begins there, and this root ends where its own does"),
            Detail::SeveralForms => {
                f.write_str("several names differ from it only in their Unicode form; copy one of them from a listing")
            }
            Detail::NoEntry => f.write_str("it stands for a directory and not for a name in one"),
            Detail::Inside => f.write_str("not itself, but a name in it, or a place for one"),
            Detail::NotRecorded => f.write_str("nothing was done, because no record of it can be made now"),
            Detail::Rule(why) => write!(f, "in a rule, {why}"),
            Detail::TooManyBytes { limit } => write!(f, "the limit is {limit} bytes"),
            Detail::DuplicateRoot { other } => write!(f, "it is the same directory as root {}", text::quoted(other)),
            Detail::RootName => f.write_str("a root's name has 1 to 64 of the characters a-z 0-9 . _ - and is used once"),
            Detail::NestedRoot { outer } => {
                write!(f, "it lies inside root {}, and by which names cannot be told", text::quoted(outer))
            }
            Detail::NotADirectoryRoot => f.write_str("it is a file"),
            Detail::NamedAsDirectory => f.write_str("is called a directory, by a slash at its end or in a link"),
            Detail::TooWide => {
                f.write_str("the top of a disk, the home directory and what lies above it are not taken from a client")
            }
            Detail::ThroughRoot => {
                f.write_str("it is named through a link in another root that may be written, or by which links cannot be told")
            }
            Detail::HoldsKeptFile => {
                f.write_str("a file that is kept outside of all roots lies in it, or a link on the way to it does")
            }
            Detail::Fenced => f.write_str("this process is fenced in by the kernel, so no directory can be opened any more"),
            Detail::OsError(code) => write!(f, "os error {code}"),
            Detail::Fence(message) | Detail::Message(message) => f.write_str(&text::escaped(message, text::MESSAGE_LIMIT)),
        }
    }
}

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    subject: Subject,
    detail: Option<Detail>,
    advice: Option<&'static str>,
}

/// A refusal: a kind, a stable code, and one line of text that is safe to hand to the untrusted side.
///
/// `Display` gives `code: sentence; what to do`. Neither it nor `Debug` ever holds a host path, a link's target or another root's
/// name that the caller did not type; control and bidirectional characters are escaped and long spellings are cut.
///
/// ```
/// use cap_roots::{Error, ErrorKind, Fault};
///
/// let error = Error::invalid_argument("head and tail exclude each other");
/// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
/// assert_eq!(error.code(), "invalid-argument");
/// assert_eq!(error.fault(), Fault::Input);
/// assert!(error.to_string().starts_with("invalid-argument: head and tail exclude each other"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

impl Error {
    /// An `invalid-argument` with a message of the tool's author. The message is escaped and cut, and must not hold a host path.
    #[must_use]
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::detailed(ErrorKind::InvalidArgument, Detail::Message(message.into()))
    }

    /// A `not-granted` with a message of the tool's author, under the same rules as [`Error::invalid_argument`].
    #[must_use]
    pub fn not_granted(message: impl Into<String>) -> Self {
        Self::detailed(ErrorKind::NotGranted, Detail::Message(message.into()))
    }

    /// A `no-match` with a message of the tool's author, under the same rules as [`Error::invalid_argument`].
    #[must_use]
    pub fn no_match(message: impl Into<String>) -> Self {
        Self::detailed(ErrorKind::NoMatch, Detail::Message(message.into()))
    }

    /// An `ambiguous` with a message of the tool's author, under the same rules as [`Error::invalid_argument`].
    #[must_use]
    pub fn ambiguous(message: impl Into<String>) -> Self {
        Self::detailed(ErrorKind::Ambiguous, Detail::Message(message.into()))
    }

    /// A `too-large` for a limit of `limit` bytes.
    #[must_use]
    pub fn too_large(limit: u64) -> Self {
        Self::detailed(ErrorKind::TooLarge, Detail::TooManyBytes { limit })
    }

    /// A `busy` for what was not even begun, because no record of it can be made now: as when an observer declines
    /// ([`Admission::Busy`](crate::Admission::Busy)).
    #[must_use]
    pub fn not_recorded() -> Self {
        Self::detailed(ErrorKind::Busy, Detail::NotRecorded)
    }

    /// The same refusal, speaking of `path` as its caller typed it.
    #[must_use]
    pub fn about(self, path: impl Into<String>) -> Self {
        self.on(Subject::Typed(path.into()))
    }

    /// The same refusal with another advice behind the semicolon, for a program that knows the caller's next step better.
    #[must_use]
    pub fn advise(mut self, advice: &'static str) -> Self {
        self.0.advice = Some(advice);
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The stable code of [`Error::kind`].
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        self.0.kind.fault()
    }

    /// The name of the root that an error of [`Builder::open`](crate::Builder::open) is about.
    #[must_use]
    pub fn root_name(&self) -> Option<&str> {
        match &self.0.subject {
            Subject::Root(name) => Some(name),
            Subject::Unnamed | Subject::Target | Subject::Typed(_) => None,
        }
    }

    /// Of a grant that comes too late.
    pub(crate) fn fenced() -> Self {
        let advice = "open all roots before the fence, or start the process anew with this directory among its grants";
        Self::detailed(ErrorKind::Unsupported, Detail::Fenced).advise(advice)
    }

    /// Of what is not on the mount of a root that ends with it.
    pub(crate) fn on_another_mount() -> Self {
        let advice = "use a path on the root's own file system, or ask the operator";
        Self::detailed(ErrorKind::OutsideRoots, Detail::OtherMount).advise(advice)
    }

    /// Of a root that was missing when the fence was made.
    pub(crate) fn absent_since_start(self) -> Self {
        self.advise("use another directory, or ask the operator to create or mount it and to start the program anew")
    }

    /// Why there is no fence, for the operator.
    #[cfg(feature = "landlock")]
    pub(crate) fn fence(what: String) -> Self {
        Self::detailed(ErrorKind::Unsupported, Detail::Fence(what)).advise("look at the kernel, or do without the fence")
    }

    pub(crate) fn detailed(kind: ErrorKind, detail: Detail) -> Self {
        Self(Box::new(Inner { kind, subject: Subject::Unnamed, detail: Some(detail), advice: None }))
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, subject: Subject::Unnamed, detail: None, advice: None }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, subject, detail, advice } = &*self.0;
        let mend = advice.unwrap_or(kind.mend());
        write!(f, "{}: ", kind.code())?;
        if let Some(message @ (Detail::Message(_) | Detail::NotRecorded | Detail::Fence(_) | Detail::Fenced)) = detail {
            return write!(f, "{message}; {mend}");
        }
        match subject {
            Subject::Unnamed | Subject::Target => f.write_str("the path")?,
            Subject::Typed(path) => f.write_str(&text::quoted(path))?,
            Subject::Root(name) => write!(f, "root {}", text::quoted(name))?,
        }
        match detail {
            Some(Detail::NotADirectoryRoot) => f.write_str(" is not a directory")?,
            Some(detail @ Detail::NamedAsDirectory) => return write!(f, " {detail}; {mend}"),
            _ => write!(f, " {}", kind.predicate())?,
        }
        if let Some(detail) = detail {
            write!(f, ": {detail}")?;
        }
        write!(f, "; {mend}")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl std::error::Error for Error {}
