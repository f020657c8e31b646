//! Work for which the kernel has no `openat2`, in a process that has it.
//!
//! A filter holds for the thread that asked for it. It answers EPERM, as container runtimes do that do not know the call: cap-std
//! remembers ENOSYS for the whole process, and then the other ways would not be what they are. That answer has tests of its own, each in
//! a process where all is done without the call.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use crate::privilege;

type Job = Box<dyn FnOnce() + Send>;

/// A thread behind the filter; it ends when this is dropped.
struct Worker {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start() -> Self {
        let (jobs, todo) = channel::<Job>();
        let thread = std::thread::spawn(move || {
            privilege::drop_override_once();
            hide_openat2();
            todo.into_iter().for_each(|job| job());
        });
        Self { jobs: Some(jobs), thread: Some(thread) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // What it panicked with was told there.
            let _ = thread.join();
        }
    }
}

thread_local! {
    static WORKER: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

/// Runs `work` where `openat2` is refused, and waits for it. A panic of it goes on here.
pub fn openat2<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // Taken out, so that a worker that has panicked is not asked again.
    let worker = WORKER.take().unwrap_or_else(Worker::start);
    let (answer, answered) = channel();
    let job: Job = Box::new(move || drop(answer.send(work())));
    if let Some(jobs) = &worker.jobs {
        drop(jobs.send(job));
    }
    let Ok(answer) = answered.recv() else { panic!("failed where openat2 is refused") };
    WORKER.set(Some(worker));
    answer
}

fn hide_openat2() {
    const OPENAT2: i64 = 437;
    const EPERM: u32 = 1;
    let program = || -> Result<BpfProgram, seccompiler::BackendError> {
        let arch: TargetArch = std::env::consts::ARCH.try_into()?;
        let rules = BTreeMap::from([(OPENAT2, Vec::new())]);
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(EPERM), arch)?.try_into()
    };
    let program = program().unwrap_or_else(|error| panic!("{error}"));
    seccompiler::apply_filter(&program).unwrap_or_else(|error| panic!("{error}"));
    let refused = rustix::fs::openat2(CWD, ".", OFlags::PATH, Mode::empty(), ResolveFlags::empty());
    assert!(matches!(refused, Err(Errno::PERM)), "the filter does not work");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a filter that holds for too little, or for the whole process.
    #[test]
    fn the_call_is_refused_there_and_not_here() {
        let call = || rustix::fs::openat2(CWD, ".", OFlags::PATH, Mode::empty(), ResolveFlags::empty()).map(drop);
        assert_eq!(openat2(call), Err(Errno::PERM));
        assert_eq!(call(), Ok(()));
        assert!(std::panic::catch_unwind(|| openat2(|| panic!("as meant"))).is_err());
        assert_eq!(openat2(|| 1), 1, "after a panic there is a new thread");
    }
}
