//! Code of the process that goes past the library.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

use cap_roots::landlock::{FULL, Fence, Missing};
use cap_roots::{Access, Roots};
use libtest_mimic::Failed;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::{ACCESS, LEVEL, PART, PLACE, PORTS, level, variable};

/// Whether the kernel refuses what code does by itself: from this level on.
const NEVER: u32 = 99;

/// What is tried: its name, and from which level on it is refused where the root is for listing, reading and writing.
const TRIED: [(&str, [u32; 3]); 44] = [
    ("outside: read", [1; 3]),
    ("outside: read by a name with dots", [1; 3]),
    ("outside: read through a link in the root", [1; 3]),
    ("outside: read /etc/passwd", [1; 3]),
    ("outside: list", [1; 3]),
    ("outside: write", [1; 3]),
    ("outside: cut off", [1; 3]),
    ("outside: create", [1; 3]),
    ("outside: make a directory", [1; 3]),
    ("outside: make a link", [1; 3]),
    ("outside: remove", [1; 3]),
    ("outside: remove a directory", [1; 3]),
    ("outside: rename", [1; 3]),
    ("outside: a second name for it in the root", [1; 3]),
    ("outside: move it into the root", [1; 3]),
    ("outside: look at its metadata", [NEVER; 3]),
    ("run a program", [1; 3]),
    ("inside: run a program", [1; 3]),
    ("inside: list", [NEVER; 3]),
    ("inside: read", [1, NEVER, NEVER]),
    ("inside: write", [1, 1, NEVER]),
    ("inside: cut off while reading", [1, 3, NEVER]),
    ("inside: create", [1, 1, NEVER]),
    ("inside: make a directory", [1, 1, NEVER]),
    ("inside: make a link", [1, 1, NEVER]),
    ("inside: make a pipe", [1; 3]),
    ("inside: make a socket", [1; 3]),
    ("inside: remove", [1, 1, NEVER]),
    ("inside: remove a directory", [1, 1, NEVER]),
    ("inside: rename", [1, 1, NEVER]),
    ("inside: rename a pipe", [1; 3]),
    ("log: create", [NEVER; 3]),
    ("log: append", [NEVER; 3]),
    ("log: read", [NEVER; 3]),
    ("log: cut off", [NEVER; 3]),
    ("log: list", [1; 3]),
    ("log: remove", [1; 3]),
    ("log: rename", [1; 3]),
    ("connect", [4; 3]),
    ("listen", [4; 3]),
    ("listen where it is allowed", [NEVER; 3]),
    ("command a device", [5; 3]),
    ("signal another process", [6; 3]),
    ("connect to an abstract socket", [6; 3]),
];

/// Of files that are cut off by their path the standard library has no call: who may read one may cut it off where that is no right of its own.
fn cut_while_reading(path: &Path) -> io::Result<()> {
    OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::TRUNC.bits().cast_signed()).open(path).map(drop)
}

fn write(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(b"x")
}

fn make_pipe(path: &Path) -> io::Result<()> {
    Ok(mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0)?)
}

fn attempt(name: &str, base: &Path, ports: &[u16]) -> io::Result<()> {
    let (root, out, log) = (base.join("root"), base.join("out"), base.join("log"));
    match name {
        "outside: read" => fs::read(out.join("secret")).map(drop),
        "outside: read by a name with dots" => fs::read(root.join("../out/secret")).map(drop),
        "outside: read through a link in the root" => fs::read(root.join("escape")).map(drop),
        "outside: read /etc/passwd" => fs::read("/etc/passwd").map(drop),
        "outside: list" => fs::read_dir(&out).map(drop),
        "outside: write" => write(&out.join("secret")),
        "outside: cut off" => File::create(out.join("secret")).map(drop),
        "outside: create" => File::create_new(out.join("new")).map(drop),
        "outside: make a directory" => fs::create_dir(out.join("new_dir")),
        "outside: make a link" => symlink("secret", out.join("new_link")),
        "outside: remove" => fs::remove_file(out.join("victim")),
        "outside: remove a directory" => fs::remove_dir(out.join("victim_dir")),
        "outside: rename" => fs::rename(out.join("named"), out.join("renamed")),
        "outside: a second name for it in the root" => fs::hard_link(out.join("secret"), root.join("second")),
        "outside: move it into the root" => fs::rename(out.join("movable"), root.join("moved")),
        "outside: look at its metadata" => fs::metadata(out.join("secret")).map(drop),
        "run a program" => Command::new("/bin/true").status().map(drop),
        "inside: run a program" => Command::new(root.join("program")).status().map(drop),
        "inside: list" => fs::read_dir(&root).map(drop),
        "inside: read" => fs::read(root.join("file")).map(drop),
        "inside: write" => write(&root.join("file")),
        "inside: cut off while reading" => cut_while_reading(&root.join("cut")),
        "inside: create" => File::create_new(root.join("new")).map(drop),
        "inside: make a directory" => fs::create_dir(root.join("new_dir")),
        "inside: make a link" => symlink("file", root.join("new_link")),
        "inside: make a pipe" => make_pipe(&root.join("new_pipe")),
        "inside: make a socket" => UnixListener::bind(root.join("new_socket")).map(drop),
        "inside: remove" => fs::remove_file(root.join("victim")),
        "inside: remove a directory" => fs::remove_dir(root.join("victim_dir")),
        "inside: rename" => fs::rename(root.join("named"), root.join("renamed")),
        "inside: rename a pipe" => fs::rename(root.join("pipe"), root.join("pipe_renamed")),
        "log: create" => File::create_new(log.join("new")).map(drop),
        "log: append" => write(&log.join("old")),
        "log: read" => fs::read(log.join("old")).map(drop),
        "log: cut off" => OpenOptions::new().write(true).truncate(true).open(log.join("old")).map(drop),
        "log: list" => fs::read_dir(&log).map(drop),
        "log: remove" => fs::remove_file(log.join("victim")),
        "log: rename" => fs::rename(log.join("named"), log.join("renamed")),
        "connect" => TcpStream::connect(("127.0.0.1", ports[0])).map(drop),
        "listen" => TcpListener::bind(("127.0.0.1", 0)).map(drop),
        "listen where it is allowed" => TcpListener::bind(("127.0.0.1", ports[1])).map(drop),
        "command a device" => match rustix::io::ioctl_fionread(File::open("/dev/zero")?) {
            // The device was asked, and knows no such command.
            Ok(_) | Err(rustix::io::Errno::NOTTY | rustix::io::Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        },
        "signal another process" => {
            rustix::process::test_kill_process(rustix::process::getppid().unwrap()).map_err(io::Error::from)
        }
        "connect to an abstract socket" => UnixStream::connect_addr(&abstract_name(base)).map(drop),
        _ => panic!("{name}"),
    }
}

fn abstract_name(base: &Path) -> SocketAddr {
    SocketAddr::from_abstract_name(base.to_str().unwrap()).unwrap()
}

fn told(outcome: io::Result<()>) -> String {
    match outcome {
        Ok(()) => "done".to_owned(),
        // EXDEV: of a name that would be in two directories.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::CrossesDevices) => {
            "refused".to_owned()
        }
        Err(error) => format!("failed: {error}"),
    }
}

/// The child.
pub(crate) fn play() {
    let (base, level) = (variable(PLACE), level());
    let base = Path::new(&base);
    let ports: Vec<u16> = variable(PORTS).split(',').map(|port| port.parse().unwrap()).collect();
    let access = match variable(ACCESS).as_str() {
        "list" => Access::List,
        "read" => Access::Read,
        _ => Access::Write,
    };
    let open = || {
        let builder = Roots::builder().named("root", base.join("root"), access);
        builder.named("gone", base.join("gone"), access).named("away", base.join("away"), access).open()
    };
    let roots = open().unwrap();
    fs::rename(base.join("away"), base.join("away for now")).unwrap();
    let fence = || {
        Fence::around(&roots)
            .unwrap()
            .log_directory(File::open(base.join("log")).unwrap())
            .directory(File::open("/dev").unwrap(), Access::Read)
            .listen(ports[1])
            .as_of(level)
    };
    // With a second thread there is no fence, and it is said.
    let (end, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || wait.recv());
    let early = fence().apply().map_err(|error| error.to_string());
    println!("with two threads: {early:?}");
    assert!(fs::read("/etc/passwd").is_ok());
    drop(end);
    let _ = thread.join();
    let required = fence().require();
    match (&required, level >= FULL) {
        (Ok(status), true) => println!("status: {status:?}"),
        (Err(error), false) => {
            println!("required: {error}");
            assert!(fs::read("/etc/passwd").is_ok(), "a part of the fence was applied");
            println!("status: {:?}", fence().apply().unwrap());
        }
        other => panic!("{other:?}"),
    }
    let both = roots.rename("root://away/file", "root://gone/file").map_err(|error| error.to_string());
    println!("from what is away to what is gone: {both:?}");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).unwrap();
    println!("again: {:?}", open().map(drop).map_err(|error| error.to_string()));
    println!("gone: {:?}", roots.symlink_metadata("root://gone/").map(drop).map_err(|error| error.to_string()));
    println!("back: {}", roots.read_dir("root://away/").map_or_else(|error| error.code(), |_| "ok"));
    println!("narrowed: {:?}", roots.within("root://root/inner").and_then(|inner| inner.read_dir(".").map(drop)).is_ok());
    println!("privileges: {}", rustix::thread::no_new_privs().unwrap());
    for (name, _) in TRIED {
        println!("{name}={}", told(attempt(name, base, &ports)));
    }
    roots.revoke();
    println!("revoked: {}", roots.read_dir(".").unwrap_err().code());
}

/// A program of one page that needs nothing and ends well: `exit(0)` behind the two headers of elf(5).
fn program() -> Vec<u8> {
    let start: u64 = 0x40_0000;
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    for half in [2u16, 62] {
        bytes.extend(half.to_le_bytes());
    }
    bytes.extend(1u32.to_le_bytes());
    for word in [start + 120, 64, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 0, 0, 0] {
        bytes.extend(half.to_le_bytes());
    }
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(5u32.to_le_bytes());
    for word in [0, start, start, 129, 129, 0x1000] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(b"\x31\xff\xb8\x3c\0\0\0\x0f\x05");
    bytes
}

fn planted() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for dir in ["root", "out", "log", "away"] {
        let dir = folder.path().join(dir);
        fs::create_dir_all(dir.join("victim_dir")).unwrap();
        for file in ["file", "secret", "victim", "named", "movable", "cut", "old"] {
            fs::write(dir.join(file), "content").unwrap();
        }
    }
    let root = folder.path().join("root");
    fs::create_dir(root.join("inner")).unwrap();
    symlink("../out/secret", root.join("escape")).unwrap();
    fs::copy("/bin/true", root.join("program")).unwrap();
    if cfg!(target_arch = "x86_64") {
        // Others need a loader, which is outside and refused in any case.
        fs::write(root.join("program"), program()).unwrap();
    }
    make_pipe(&root.join("pipe")).unwrap();
    folder
}

/// Catches: a right that is not handled, or given for less access than it needs; an access that lacks one; rights of another level than was asked for; a
/// fence around one of several threads; a part of a fence where a whole one was required; a root that is picked up, or opened, where the kernel would
/// refuse what is in it; `no_new_privs` that is not set.
pub(crate) fn is_kept_in(level: u32, access: &str) -> Result<(), Failed> {
    let folder = planted();
    let base = folder.path().canonicalize().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let _abstract = UnixListener::bind_addr(&abstract_name(&base)).unwrap();
    let ports = format!("{},{free}", listener.local_addr().unwrap().port());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(PART, "bug").env(PLACE, &base).env(LEVEL, level.to_string()).env(ACCESS, access).env(PORTS, ports);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut found = Vec::new();
    for line in lines.by_ref() {
        let waits = line.starts_with("from what is away to what is gone: ");
        found.push(line);
        if waits {
            break;
        }
    }
    // What was missing at the start is there now, and what was away is back.
    fs::create_dir(base.join("gone")).unwrap();
    fs::rename(base.join("away for now"), base.join("away")).unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    found.extend(lines);
    assert!(child.wait().unwrap().success(), "{found:#?}");
    let told = |name: &str| {
        let line = found.iter().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}: {found:#?}")).to_owned()
    };
    let column = ["list", "read", "write"].iter().position(|known| *known == access).unwrap();
    let mut wrong = Vec::new();
    for (name, from) in TRIED {
        let want = if level >= from[column] { "refused" } else { "done" };
        let got = told(&format!("{name}="));
        if got != want {
            wrong.push(format!("{name}: {got}, and not {want}"));
        }
    }
    let fenced = level > 0;
    let gone = told("gone: ");
    let status = told("status: ");
    let want = match level {
        0 => "None".to_owned(),
        level if level >= FULL => format!("Full {{ abi: {level} }}"),
        level => format!("Partial {{ abi: {level}, missing: {:?} }}", missing(level)),
    };
    for (what, holds) in [
        ("two threads", told("with two threads: ").contains("the process has 2 threads") == fenced),
        ("a grant afterwards", told("again: ").contains("unsupported: this process is fenced in by the kernel") == fenced),
        ("a missing root", (gone.contains("root-absent: ") && gone.contains("to start the program anew")) == fenced),
        ("narrowing", told("narrowed: ") == "true"),
        ("a root that was away", told("back: ") == "ok"),
        ("advice for a root that is away", !told("from what is away to what is gone: ").contains("anew")),
        ("revoking", told("revoked: ") == "revoked"),
        ("privileges", told("privileges: ") == fenced.to_string()),
        ("status", status.starts_with(&want)),
        ("required", level >= FULL || told("required: ").starts_with("unsupported: ")),
    ] {
        if !holds {
            wrong.push(what.to_owned());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\n{found:#?}");
    Ok(())
}

/// What each level lacks, from the kernel's documentation of Landlock.
fn missing(level: u32) -> Vec<Missing> {
    let all = [Missing::Moves, Missing::Truncation, Missing::Tcp, Missing::Devices, Missing::Processes];
    all.into_iter().skip(usize::try_from(level - 1).unwrap()).collect()
}
