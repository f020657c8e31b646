//! `--doctor`: what this kernel and the disk of each directory give, what is lost without it, and whether each directory can be served.
//!
//! May touch: `audit`, `fence`, `once`, `screen`, `settings`, `start`, the roots, without changing anything; what the kernel says of itself, through roots of its own.

use std::io::{self, Write};
use std::process::ExitCode;

use cap_roots::config::Landlock;
use cap_roots::landlock::{self, Status};
use cap_roots::{Access, Finding, RootInfo, Roots, Support};

use crate::once::REFUSED;
use crate::screen::{self, Table, Tone};
use crate::settings::Settings;
use crate::start::{shown, terms};
use crate::{audit, fence};

/// A thing that is found out, and what its absence costs; for what is in the table of SECURITY.md, in its words.
struct Feature {
    name: &'static str,
    /// How it was found out.
    by: &'static str,
    without: &'static str,
}

const OPENAT2: Feature = Feature {
    name: "openat2",
    by: "opened a directory, and was kept from the one above",
    without: "the guarded walk: same answers, one call and one descriptor per name",
};
const RENAME: Feature = Feature {
    name: "renameat2 NOREPLACE",
    by: "asked to rename what is not there",
    without: "files: a second name, then the first one removed, or the second one where that fails; directories, links, and disks \
              without hard links: looked for first, and what another process makes meanwhile is replaced",
};
const MOUNT_ID: Feature = Feature {
    name: "statx mount number",
    by: "asked of a directory",
    without: "--one-file-system goes by the number of the device, which a bind mount of the same one has as well",
};
const LANDLOCK: Feature = Feature {
    name: "Landlock",
    by: "asked for its level",
    without: "the library confines as ever, and the kernel does not confine the rest of the process: a fault in it could reach other files and the network",
};
const UNNAMED: Feature = Feature {
    name: "O_TMPFILE and linkat",
    by: "made a file without a name, and let go of it",
    without: "a reserved name with mode 0600, which a killed process leaves behind until something is written there again",
};
/// What other systems lack, whatever the disk: nothing has to be tried.
const ELSEWHERE: [(Feature, bool); 7] = [
    (
        Feature {
            name: "O_PATH",
            by: KNOWN,
            without: "directories on the way need read permission; a name that changes between two calls is looked at again, 64 times at \
                      most, and is `busy` then",
        },
        cfg!(not(target_os = "linux")),
    ),
    (
        Feature {
            name: "calls by handle",
            by: KNOWN,
            without: "by the path of the held directory, as the system tells it at that moment, and one name in it; held directories \
                      cannot be renamed or removed meanwhile, nor those above them; but an empty one can be made a junction by another \
                      process of the same user: one that is is refused as `busy`, and in the moment after that look a directory can be \
                      made, or a file moved, where it leads",
        },
        cfg!(windows),
    ),
    (
        Feature {
            name: "locks on directories",
            by: KNOWN,
            without: "two cap-roots that change one file do not wait for each other; a change between the last look and the rename is lost; \
                      a directory that a killed copy left half made stays",
        },
        cfg!(windows),
    ),
    (
        Feature {
            name: "sync of directories",
            by: KNOWN,
            without: "content is synced and its name is not: after a power cut the old file may be there, whole",
        },
        cfg!(windows),
    ),
    (
        Feature {
            name: "ctime",
            by: KNOWN,
            without: "a file counts as unchanged by its identity, size and time of writing, which others can set back",
        },
        cfg!(windows),
    ),
    (
        Feature {
            name: "mode bits",
            by: KNOWN,
            without: "new files, temporary ones and the audit log may be read by whoever may read in their directory; a token file is not \
                      looked at for who may read it",
        },
        cfg!(windows),
    ),
    (Feature { name: "SIGHUP", by: KNOWN, without: "the audit log is opened anew by a restart alone" }, cfg!(windows)),
];
const KNOWN: &str = "known of this system";
const UNNAMED_UNTRIED: &str = "not tried: nothing may be written here";
const BY_ENTRIES: &str = "asked for an entry by another spelling";
const NO_ENTRIES: &str = "no entry is there that tells";

pub(crate) fn doctor(settings: &Settings) -> io::Result<ExitCode> {
    let mut out = screen::out();
    writeln!(out, "{}", Tone::Heading.paint(format_args!("cap-roots-mcp {}", env!("CARGO_PKG_VERSION"))))?;
    let kernel = said_by_kernel("/proc/sys/kernel", "osrelease");
    let kernel = kernel.as_deref().map_or("unknown", str::trim);
    writeln!(out, "{}", Tone::Heading.paint(format_args!("System: {} {}", std::env::consts::OS, cap_roots::escape(kernel))))?;
    if let Some(Err(line)) = settings.audit.as_deref().map(audit::Place::of) {
        writeln!(out, "{}", Tone::Bad.paint(format_args!("These directories cannot be served: {line}")))?;
        return Ok(ExitCode::from(REFUSED));
    }
    let opened = settings.builder().open();
    let writes = opened.as_ref().is_ok_and(fence::writes);
    let mut less = system(&mut out, fence::not_raised(settings, writes))?;
    let roots = match opened {
        Ok(roots) => roots,
        Err(error) => {
            writeln!(out, "{}", Tone::Bad.paint(format_args!("These directories cannot be served: {error}")))?;
            return Ok(ExitCode::from(REFUSED));
        }
    };
    let outlook = landlock::outlook();
    if settings.landlock == Landlock::Require && !matches!(outlook, Status::Full { .. }) {
        let line = format!("These directories cannot be served with --landlock require: {outlook}");
        writeln!(out, "{}", Tone::Bad.paint(line))?;
        return Ok(ExitCode::from(REFUSED));
    }
    if let Err(line) = settings.judge_twice(&roots) {
        writeln!(out, "{}", Tone::Bad.paint(format_args!("These directories cannot be served: {line}")))?;
        return Ok(ExitCode::from(REFUSED));
    }
    if roots.list().next().is_none() {
        let line = if less {
            Tone::Doubtful.paint("The system gives this much; name directories to hear whether they can be served.")
        } else {
            Tone::Good.paint("The system gives all that is needed; name directories to hear whether they can be served.")
        };
        writeln!(out, "{line}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut closed = 0;
    for root in roots.list() {
        match root.support() {
            Some(support) => less |= tell(&mut out, &root, &support)?,
            None => {
                closed += 1;
                let why = if root.is_absent() { "is missing" } else { "is closed, its time has run out" };
                let line = format!("{}: {} {why}", root.name(), shown(&root.host_path()));
                writeln!(out, "{}", Tone::Bad.paint(line))?;
            }
        }
    }
    if closed > 0 {
        let what = format!("{closed} of {} directories cannot be served as things are.", roots.list().count());
        writeln!(out, "{}", Tone::Bad.paint(what))?;
        return Ok(ExitCode::from(REFUSED));
    }
    let verdict =
        if less { Tone::Doubtful.paint("All can be served, with what is said above.") } else { Tone::Good.paint("All is well.") };
    writeln!(out, "{verdict}")?;
    Ok(ExitCode::SUCCESS)
}

/// What the kernel gives, tried on the top directory; `no_fence`: why none is raised, whatever it gives. Whether anything is missing.
fn system(out: &mut impl Write, no_fence: Option<&str>) -> io::Result<bool> {
    let top = Roots::builder().named("top", "/", Access::List).open().ok();
    let support = top.as_ref().and_then(|top| top.list().next()).and_then(|top| top.support());
    let of = |finding: fn(&Support) -> Finding| support.as_ref().map_or(Finding::Unknown, finding);
    let mut table = headed();
    let mut less = row(&mut table, &OPENAT2, of(|support| support.openat2), OPENAT2.by);
    less |= row(&mut table, &RENAME, of(|support| support.rename_no_replace), RENAME.by);
    row(&mut table, &MOUNT_ID, of(|support| support.mount_id), MOUNT_ID.by);
    let outlook = landlock::outlook();
    let (told, tone) = match &outlook {
        _ if no_fence.is_some() => ("not used", Tone::Doubtful),
        Status::Full { .. } => ("full", Tone::Good),
        Status::Partial { .. } => ("partial", Tone::Doubtful),
        _ => ("no", Tone::Doubtful),
    };
    table.row([(LANDLOCK.name, Tone::Plain), (told, tone), (LANDLOCK.by, Tone::Plain)]);
    table.note("the process", &no_fence.map_or_else(|| outlook.to_string(), |why| format!("no fence by the kernel: {why}")));
    table.note(format_args!("without {}", LANDLOCK.name), LANDLOCK.without);
    for (feature, _) in ELSEWHERE.iter().filter(|(_, is_here)| *is_here) {
        less |= row(&mut table, feature, Finding::No, feature.by);
    }
    table.print(out)?;
    Ok(less || no_fence.is_some() || !matches!(outlook, Status::Full { .. }))
}

/// What one directory's disk gives. Whether anything is missing.
fn tell(out: &mut impl Write, root: &RootInfo, support: &Support) -> io::Result<bool> {
    let heading = format!("{}: {} ({})", root.name(), shown(&root.host_path()), terms(root));
    writeln!(out, "{}", Tone::Heading.paint(heading))?;
    let mut table = headed();
    let disk = if support.file_system.is_empty() { "unknown" } else { &support.file_system };
    table.row([("file system", Tone::Plain), (disk, Tone::Plain), ("its number in statfs", Tone::Plain)]);
    let (told, tone, costs) = match support.can_hang {
        Finding::No => ("no", Tone::Good, ""),
        Finding::Yes => (
            "yes",
            Tone::Doubtful,
            "a mount that hangs: its calls are answered with timeout, and 16 threads that hang leave none for others",
        ),
        _ => ("unknown", Tone::Doubtful, "if it is a network mount, it can hang"),
    };
    table.row([("can hang", Tone::Plain), (told, tone), ("by the file system", Tone::Plain)]);
    table.note("can hang", costs);
    let mut less = row(&mut table, &OPENAT2, support.openat2, OPENAT2.by);
    let by = if support.unnamed_files == Finding::Unknown { UNNAMED_UNTRIED } else { UNNAMED.by };
    less |= row(&mut table, &UNNAMED, support.unnamed_files, by);
    for (name, finding, costs) in [
        (
            "folds case",
            support.folds_case,
            "rules fold case in any case; names that this disk takes for another are checked in its listing",
        ),
        ("folds Unicode forms", support.folds_unicode, "a name is found in another form in any case, if one fits"),
    ] {
        let (told, tone) = match finding {
            Finding::Yes => ("yes", Tone::Doubtful),
            Finding::No => ("no", Tone::Good),
            _ => ("unknown", Tone::Plain),
        };
        let by = if finding == Finding::Unknown { NO_ENTRIES } else { BY_ENTRIES };
        let costs = if finding == Finding::No { "" } else { costs };
        table.row([(name, Tone::Plain), (told, tone), (by, Tone::Plain)]);
        table.note(name, costs);
    }
    table.print(out)?;
    Ok(less || support.can_hang == Finding::Yes)
}

fn headed() -> Table {
    let mut table = Table::default();
    table.row(["", "here", "found out by"].map(|text| (text, Tone::Heading)));
    table
}

/// Whether it is known to be missing.
fn row(table: &mut Table, feature: &Feature, finding: Finding, by: &str) -> bool {
    let (told, tone) = match finding {
        Finding::Yes => ("yes", Tone::Good),
        Finding::No => ("no", Tone::Doubtful),
        _ => ("unknown", Tone::Plain),
    };
    table.row([(feature.name, Tone::Plain), (told, tone), (by, Tone::Plain)]);
    table.note(format_args!("without {}", feature.name), feature.without);
    finding == Finding::No
}

/// A file in which the kernel tells of itself, if it does.
fn said_by_kernel(dir: &str, name: &str) -> Option<String> {
    let roots = Roots::builder().named("kernel", dir, Access::Read).open().ok()?;
    roots.read_to_string(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a loss that is told in other words than where it is promised.
    #[test]
    fn what_is_lost_is_what_security_says() {
        let security = include_str!("../../SECURITY.md");
        let table = security.split("## Where a kernel feature is missing").nth(1).unwrap().split("\n## ").next().unwrap();
        for feature in [&OPENAT2, &RENAME, &UNNAMED, &LANDLOCK].into_iter().chain(ELSEWHERE.iter().map(|(feature, _)| feature)) {
            let row = table.lines().find(|line| line.contains(feature.without)).unwrap_or_else(|| panic!("{}", feature.name));
            assert!(row.contains(feature.name.split(' ').next().unwrap()), "{row}");
        }
    }
}
