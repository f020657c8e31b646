//! Failures of the operating system as refusals, and back.
//!
//! May touch: the error kinds. No text is made here.

use super::{Detail, Error, ErrorKind};

impl Error {
    /// The same for a file that was to be opened. ENXIO: a socket, or for writing a pipe that nobody reads; ENODEV: a device without a driver
    /// (open(2)). They have no `std::io::ErrorKind`.
    pub(crate) fn from_open(error: &std::io::Error) -> Self {
        const ENXIO: i32 = 6;
        const ENODEV: i32 = 19;
        match error.raw_os_error() {
            Some(ENXIO | ENODEV) if cfg!(unix) => ErrorKind::SpecialFile.into(),
            _ => Self::from_io(error),
        }
    }

    /// The refusal that stands for a failure of the operating system on something inside a root.
    pub(crate) fn from_io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::CrossesDevices if is_on_another_mount(error) => return Self::on_another_mount(),
            Io::PermissionDenied | Io::ReadOnlyFilesystem => ErrorKind::OsDenied,
            Io::AlreadyExists => ErrorKind::AlreadyExists,
            Io::NotADirectory => ErrorKind::NotADirectory,
            Io::IsADirectory => ErrorKind::IsADirectory,
            Io::DirectoryNotEmpty => ErrorKind::NotEmpty,
            Io::WouldBlock | Io::ResourceBusy | Io::ExecutableFileBusy | Io::Deadlock => ErrorKind::Busy,
            Io::TimedOut => ErrorKind::Timeout,
            Io::StorageFull | Io::QuotaExceeded => ErrorKind::NoSpace,
            Io::FileTooLarge => ErrorKind::TooLarge,
            Io::Unsupported | Io::CrossesDevices => ErrorKind::Unsupported,
            Io::InvalidFilename => ErrorKind::InvalidPath,
            Io::InvalidData => ErrorKind::NotUtf8,
            _ => ErrorKind::Io,
        };
        match (kind, error.raw_os_error()) {
            (ErrorKind::Io, Some(code)) if is_held_by_others(code) => ErrorKind::Busy.into(),
            (ErrorKind::Io, Some(_)) if is_link_met(error) => ErrorKind::Conflict.into(),
            (ErrorKind::Io, Some(code)) if is_descriptor_limit(code) => Self::detailed(ErrorKind::Limit, Detail::OsError(code)),
            (ErrorKind::Io | ErrorKind::OsDenied, Some(code)) => Self::detailed(kind, Detail::OsError(code)),
            _ => kind.into(),
        }
    }
}

/// What `Mounts::check` refuses. The system's own failure, as of a rename from one mount to another, has a number.
pub(crate) fn is_on_another_mount(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::CrossesDevices && error.raw_os_error().is_none()
}

/// ELOOP, from an open that does not follow links; EMLINK of FreeBSD (open(2)). They have no stable `std::io::ErrorKind`.
pub(crate) fn is_link_met(error: &std::io::Error) -> bool {
    const ELOOP: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };
    const EMLINK: i32 = 31;
    let code = error.raw_os_error();
    cfg!(unix) && (code == Some(ELOOP) || cfg!(target_os = "freebsd") && code == Some(EMLINK))
}

/// ERROR_SHARING_VIOLATION and ERROR_LOCK_VIOLATION: another handle keeps it to itself. They have no `std::io::ErrorKind`.
fn is_held_by_others(code: i32) -> bool {
    cfg!(windows) && matches!(code, 32 | 33)
}

/// EMFILE and ENFILE have no `std::io::ErrorKind`; both mean that the process or the machine is out of descriptors.
fn is_descriptor_limit(code: i32) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    cfg!(unix) && matches!(code, ENFILE | EMFILE)
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            ErrorKind::NotFound | ErrorKind::RootAbsent => Io::NotFound,
            ErrorKind::AlreadyExists => Io::AlreadyExists,
            ErrorKind::NotUtf8 => Io::InvalidData,
            ErrorKind::InvalidPath | ErrorKind::InvalidUri | ErrorKind::InvalidArgument => Io::InvalidInput,
            ErrorKind::OutsideRoots | ErrorKind::NotGranted | ErrorKind::Protected | ErrorKind::OsDenied => Io::PermissionDenied,
            _ => Io::Other,
        };
        std::io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a pipe that took the place of a file, answered like a broken disk.
    #[test]
    fn a_pipe_without_a_reader_is_a_special_file() {
        let open = Error::from_open(&std::io::Error::from_raw_os_error(6));
        assert_eq!(open.kind(), if cfg!(unix) { ErrorKind::SpecialFile } else { ErrorKind::Io });
        // Of a file that is open it is the disk's.
        assert_eq!(Error::from_io(&std::io::Error::from_raw_os_error(6)).kind(), ErrorKind::Io);
    }

    #[test]
    fn descriptor_exhaustion_is_a_limit() {
        let error = Error::from_io(&std::io::Error::from_raw_os_error(24));
        assert_eq!(error.kind(), if cfg!(unix) { ErrorKind::Limit } else { ErrorKind::Io });
    }
}
