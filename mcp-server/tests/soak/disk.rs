//! Another party that changes the tree while it is served, and what the server's process costs meanwhile.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::xorshift::Random;

/// What the shared file says when it is one.
pub(crate) const INSIDE: &str = "inside\n";

/// Exchanges `shared/target`, `shared/dir` and the whole directory `moving` until it is told to stop: files, directories, links to inside and
/// to `outside`, nothing.
pub(crate) fn disturb(base: &Path, done: &AtomicBool) {
    let mut random = Random::new(7);
    let (target, dir, moving, away) =
        (base.join("work/shared/target"), base.join("work/shared/dir"), base.join("moving"), base.join("away"));
    while !done.load(Ordering::Relaxed) {
        let _ = fs::remove_file(&target).or_else(|_| fs::remove_dir_all(&target));
        let _ = match random.below(5) {
            0 => fs::write(&target, INSIDE),
            1 => symlink("../../outside/secret", &target),
            2 => fs::create_dir(&target),
            3 => symlink("kept", &target),
            _ => Ok(()),
        };
        let _ = fs::remove_file(&dir).or_else(|_| fs::remove_dir_all(&dir));
        let _ = match random.below(3) {
            0 => symlink("../../outside", &dir),
            1 => fs::create_dir(&dir).and_then(|()| fs::write(dir.join("secret"), INSIDE)),
            _ => Ok(()),
        };
        if random.below(20) == 0 {
            let _ = fs::rename(&moving, &away);
            let _ = symlink("outside", &moving);
            std::thread::sleep(Duration::from_millis(random.below(20)));
            let _ = fs::remove_file(&moving);
            let _ = fs::rename(&away, &moving);
        }
        std::thread::sleep(Duration::from_micros(random.below(2_000)));
    }
}

/// Memory in use, in KiB, and open descriptors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) memory: u64,
    pub(crate) descriptors: usize,
}

/// The servers: the processes that this one has started and that are still there.
pub(crate) fn servers() -> Vec<u32> {
    let own = std::process::id().to_string();
    let child = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains("(cap-roots-mcp)") && stat.rsplit(") ").next().is_some_and(|rest| rest.split(' ').nth(1) == Some(&own))
    };
    let mut found: Vec<u32> =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(child).collect();
    found.sort_unstable();
    found
}

pub(crate) fn cost(pid: u32) -> Cost {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok()).unwrap();
    Cost { memory, descriptors: fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() }
}
