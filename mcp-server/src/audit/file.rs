//! The file that audit lines go to: in a directory that is held, never through a link, whole lines or nothing.
//!
//! May touch: the operator's path, once, at the start. Several servers may write one file: each keeps to a lock while it does.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use cap_fs_ext::{FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};

use super::queue::Sink;
use super::record::Line;

/// How long another server may take for its lines.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the file is to be: its directory, held, and its name there.
pub(crate) struct Place {
    dir: Dir,
    name: OsString,
    /// For the operator.
    shown: String,
}

impl Place {
    /// Opens the directory of `path`; the file is not looked at yet.
    #[allow(clippy::disallowed_methods, reason = "the operator's own file, at the start")]
    pub(crate) fn of(path: &Path) -> Result<Self, String> {
        let shown = cap_roots::escape(&path.to_string_lossy());
        let told = |what: &str| format!("audit file {shown}: {what}");
        // A slash behind it would be lost, and with it what was meant.
        let slash = path.as_os_str().as_encoded_bytes().last().is_some_and(|last| std::path::is_separator(char::from(*last)));
        let (Some(parent), Some(name), false) = (path.parent(), path.file_name(), slash) else {
            return Err(told("this is a directory's name; give the name of a file in it"));
        };
        let dir = Dir::open_ambient_dir(parent, cap_std::ambient_authority());
        let dir =
            dir.map_err(|error| told(&format!("its directory cannot be opened ({error}); create it, or correct the path")))?;
        Ok(Self { dir, name: name.to_owned(), shown })
    }

    /// A handle of its directory, for the fence.
    pub(crate) fn directory(&self) -> Result<File, cap_roots::Error> {
        let dir = self.dir.try_clone().map_err(|error| cap_roots::Error::invalid_argument(format!("the audit file: {error}")))?;
        Ok(dir.into_std_file())
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        // Read, to see how it ends; without waiting for whoever reads a pipe.
        options.read(true).append(true).create(true).follow(FollowSymlinks::No).nonblock(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = self.dir.open_with(&self.name, &options).map_err(|error| match self.dir.symlink_metadata(&self.name) {
            Ok(found) if found.is_symlink() => io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link"),
            _ => error,
        })?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a directory, pipe or device"));
        }
        if metadata.nlink() > 1 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has more than one name on the disk"));
        }
        Ok(file.into_std())
    }
}

/// The open file.
pub(super) struct AuditFile {
    place: Place,
    file: File,
    /// What is said at the beginning of each file, as JSON.
    roots: String,
}

impl AuditFile {
    pub(super) fn open(place: Place, roots: String) -> io::Result<Self> {
        let file = place.open()?;
        let mut opened = Self { place, file, roots };
        let header = opened.header("start");
        opened.write(&header)?;
        Ok(opened)
    }

    /// A lock between servers. Where there is none to be had, a line of one is still written at once, at the end.
    fn lock(&self) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            match self.file.try_lock() {
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(2)),
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process keeps it locked"));
                }
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
            }
        }
    }

    fn write_locked(&mut self, lines: &[u8]) -> io::Result<()> {
        let before = self.file.metadata()?.len();
        // Whoever was killed in the middle of a line left its beginning: no other line goes on behind it.
        let outcome = if self.is_torn(before)? { self.write_counted(b"\n") } else { Ok(0) };
        let first = outcome.as_ref().map_or(0, |written| *written);
        let (written, outcome) = match outcome.and_then(|_| self.write_counted(lines)) {
            Ok(written) if written == lines.len() => (first + written, Ok(())),
            Ok(written) => (first + written, Err(io::ErrorKind::StorageFull.into())),
            Err(error) => (first, Err(error)),
        };
        let after = before.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
        if outcome.is_err() && self.file.metadata().is_ok_and(|now| now.len() == after) {
            let _ = self.file.set_len(before);
        }
        outcome
    }

    fn is_torn(&mut self, len: u64) -> io::Result<bool> {
        if len == 0 {
            return Ok(false);
        }
        let mut last = [0];
        self.file.seek(SeekFrom::Start(len - 1))?;
        self.file.read_exact(&mut last)?;
        Ok(last != *b"\n")
    }

    /// How much of it the disk took. An error only if that is nothing.
    fn write_counted(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        while let Some(left) = bytes.get(written..).filter(|left| !left.is_empty()) {
            match self.file.write(left) {
                Ok(0) => break,
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if written == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(written)
    }
}

impl Sink for AuditFile {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        // Deleted, and nobody said so: what is written to it could not be read by anybody.
        let anew = (cap_std::fs::Metadata::from_file(&self.file)?.nlink() == 0).then(|| [&self.header("reopen"), lines].concat());
        if anew.is_some() {
            self.reopen()?;
        }
        self.lock()?;
        let outcome = self.write_locked(anew.as_deref().unwrap_or(lines));
        let _ = self.file.unlock();
        outcome
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.file = self.place.open()?;
        Ok(())
    }

    fn header(&self, event: &str) -> Vec<u8> {
        let mut line = Line::new(event);
        line.text("version", env!("CARGO_PKG_VERSION"));
        line.field("roots", &self.roots);
        line.end()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;

    use super::*;

    fn open(path: &Path) -> io::Result<AuditFile> {
        AuditFile::open(Place::of(path).unwrap(), "[]".to_owned())
    }

    /// Catches: a log that anybody may read, that is written through a link, or waits for the reader of a pipe.
    #[test]
    fn what_it_is() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        open(&at("log")).unwrap();
        assert_eq!(fs::metadata(at("log")).unwrap().permissions().mode() & 0o777, 0o600);
        symlink("log", at("link")).unwrap();
        symlink("nothing", at("dangling")).unwrap();
        fs::hard_link(at("log"), at("second")).unwrap();
        fs::create_dir(at("dir")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for name in ["link", "dangling", "second", "dir", "pipe"] {
            assert!(open(&at(name)).is_err(), "{name}");
        }
        assert!(!at("nothing").exists());
        assert!(Place::of(&at("missing/log")).is_err() && Place::of(&at("dir/")).is_err() && Place::of(Path::new("/")).is_err());
    }

    /// Catches: half a line with another one behind it.
    #[test]
    fn a_line_that_was_cut_off_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "{\"time\":\"20").unwrap();
        let mut file = open(&path).unwrap();
        file.write(b"{}\n").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (3, "{\"time\":\"20", "{}"), "{text}");
        assert!(lines[1].contains("\"event\":\"start\""));
    }

    /// Catches: lines into a file that was rotated away, or deleted.
    #[test]
    fn it_goes_on_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        file.write(b"one\n").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"event\":\"reopen\"") && text.ends_with("}\none\n"), "{text}");
        fs::rename(&path, folder.path().join("log.1")).unwrap();
        file.write(b"two\n").unwrap();
        file.reopen().unwrap();
        file.write(b"three\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
        assert!(fs::read_to_string(folder.path().join("log.1")).unwrap().ends_with("}\none\ntwo\n"));
        // What cannot be opened anew is written on.
        fs::remove_file(folder.path().join("log.1")).unwrap();
        fs::rename(&path, folder.path().join("log.2")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(file.reopen().is_err());
        file.write(b"four\n").unwrap();
        assert!(fs::read_to_string(folder.path().join("log.2")).unwrap().ends_with("three\nfour\n"));
    }

    /// Catches: lines of two servers in one another.
    #[test]
    fn two_servers_write_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::thread::scope(|scope| {
            for letter in ["a", "b", "c"] {
                let path = &path;
                scope.spawn(move || {
                    let mut file = open(path).unwrap();
                    (0..200).for_each(|_| file.write(format!("{}\n", letter.repeat(5000)).as_bytes()).unwrap());
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        let whole = |line: &str| line.len() == 5000 && line.bytes().all(|byte| byte == line.as_bytes()[0]);
        assert_eq!(text.lines().filter(|line| whole(line)).count(), 600);
        assert_eq!(text.lines().count(), 603);
    }
}
