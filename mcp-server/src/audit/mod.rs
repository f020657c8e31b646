//! The audit log (`--audit`): one line for each decision of the library and for each call's answer, and nothing done without a line.
//!
//! May touch: the library as its observer. A place in the queue is taken before anything is done: by each call for its answer, by each operation
//! for its decision. Where there is none, the answer is `busy`.

mod file;
mod queue;
mod record;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cap_roots::{Admission, Error, ErrorKind, Event, Observer, Operation, Roots};
use cap_roots_rmcp::CODE_KEY;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ReadResourceResponse, RequestId};
use serde_json::Value;

use file::AuditFile;
pub(crate) use file::Place;
use queue::Queue;
use record::{About, Line};

/// Most lines that wait for the disk, with those that are still to come.
const LINES: usize = 4096;
/// How long the end waits for what is under way, and for the disk.
const GRACE: Duration = Duration::from_secs(2);

/// The audit log, or that there is none.
#[derive(Clone, Default)]
pub(crate) struct Audit(Option<Arc<Queue>>);

impl Audit {
    /// Opens the file and says in its first line what is served.
    pub(crate) fn start(place: Option<Place>, roots: &Roots) -> Result<Self, String> {
        let Some(place) = place else { return Ok(Self::default()) };
        let shown = place.shown().to_owned();
        let queue = AuditFile::open(place, served(roots)).and_then(|file| Queue::start(LINES, file));
        queue
            .map(|queue| Self(Some(queue)))
            .map_err(|error| format!("audit file {shown}: {error}; name a file that can be written"))
    }

    /// Room for the answer of a call, before anything is done for it.
    ///
    /// # Errors
    /// `busy`.
    pub(crate) fn call(&self, request: Option<&RequestId>, tool: &str) -> Result<Call, Error> {
        let Some(queue) = &self.0 else { return Ok(Call(None)) };
        let place = queue.reserve().ok_or_else(Error::not_recorded)?;
        Ok(Call(Some((place, Watcher::new(queue, About::new(request, tool))))))
    }

    /// These roots with whatever is done by them in the log; `what` says for whom, where it is no call.
    pub(crate) fn watch(&self, roots: Roots, what: &str) -> Roots {
        match &self.0 {
            Some(queue) => roots.observed_by(Watcher::new(queue, About::new(None, what))),
            None => roots,
        }
    }

    /// What a client's roots came to, with the host's paths. Nothing was done yet, so nothing waits for it.
    pub(crate) fn tell(&self, roots: &Roots) {
        if let Some(place) = self.0.as_ref().and_then(|queue| queue.reserve()) {
            let mut line = Line::new("roots");
            line.field("roots", &served(roots));
            place.fill(line.end());
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Goes on in the file that has the name now.
    #[cfg_attr(not(unix), allow(dead_code, reason = "asked for by a signal"))]
    pub(crate) fn reopen(&self) {
        if let Some(queue) = &self.0 {
            queue.reopen();
        }
    }

    /// Waits until all is written that was begun. Behind it everything is `busy`.
    pub(crate) fn stop(&self) {
        let missing = self.0.as_ref().map_or(0, |queue| queue.stop(GRACE));
        if missing > 0 {
            tracing::error!("the audit log is not complete: {missing} lines are missing at its end");
        }
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Audit").field(&self.is_on()).finish()
    }
}

/// The roots with what they are on this host.
fn served(roots: &Roots) -> String {
    let root = |root: cap_roots::RootInfo| {
        let mut line = Line::part();
        line.text("name", root.name());
        line.path("host_path", root.host_path().as_os_str());
        line.text("access", &root.access().to_string());
        line.field("delete", if root.may_delete() { "true" } else { "false" });
        line.into_part()
    };
    format!("[{}]", roots.list().map(root).collect::<Vec<_>>().join(","))
}

/// One call, from its first to its last line. Dropped without an answer, it says so.
#[must_use = "its answer is missing in the log"]
pub(crate) struct Call(Option<(queue::Place, Arc<Watcher>)>);

impl Call {
    /// These roots with whatever is done by them in the log as this call's.
    pub(crate) fn watch(&self, roots: Roots) -> Roots {
        match &self.0 {
            Some((_, watcher)) => roots.observed_by(Arc::clone(watcher) as _),
            None => roots,
        }
    }

    pub(crate) fn answered(mut self, answer: &impl Answer) {
        if let Some((place, watcher)) = self.0.take() {
            let (code, bytes) = answer.told();
            place.fill(record::answer(&watcher.about, code.as_deref(), bytes));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some((place, watcher)) = self.0.take() {
            place.fill(record::answer(&watcher.about, Some("unanswered"), None));
        }
    }
}

/// What the library tells of one call's operations.
struct Watcher {
    queue: Arc<Queue>,
    about: About,
    /// For what was admitted and is not told yet.
    places: Mutex<Vec<queue::Place>>,
}

impl Watcher {
    fn new(queue: &Arc<Queue>, about: About) -> Arc<Self> {
        Arc::new(Self { queue: Arc::clone(queue), about, places: Mutex::default() })
    }
}

impl Observer for Watcher {
    fn admit(&self, _: Operation) -> Admission {
        let Some(place) = self.queue.reserve() else { return Admission::Busy };
        self.places.lock().unwrap_or_else(PoisonError::into_inner).push(place);
        Admission::Admitted
    }

    fn observe(&self, event: &Event<'_>) {
        let place = self.places.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(place) = place {
            place.fill(record::decision(&self.about, event));
        }
    }
}

/// What a call can end with: the code of its refusal, and how large what goes out is.
pub(crate) trait Answer {
    fn told(&self) -> (Option<String>, Option<u64>);
}

/// How long a message is, without making it.
#[derive(Default)]
struct Length(u64);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += u64::try_from(bytes.len()).unwrap_or(0);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

macro_rules! length {
    ($message:expr) => {{
        let mut length = Length::default();
        serde_json::to_writer(&mut length, $message).ok().map(|()| length.0)
    }};
}

/// The length of a result, and the code that stands in its `_meta`.
fn of_result(result: &CallToolResult) -> (Option<String>, Option<u64>) {
    let code = result.meta.as_ref().and_then(|meta| meta.0.get(CODE_KEY)).and_then(Value::as_str);
    let code = code.or((result.is_error == Some(true)).then_some("error"));
    (code.map(str::to_owned), length!(result))
}

/// An error of the protocol: by the code of ours that its text begins with, else by its number.
fn of_error(error: &ErrorData) -> (Option<String>, Option<u64>) {
    let first = error.message.split(": ").next().unwrap_or_default();
    let ours = ErrorKind::ALL.iter().map(|kind| kind.code()).find(|code| *code == first);
    (Some(ours.map_or_else(|| error.code.0.to_string(), str::to_owned)), None)
}

impl Answer for Result<CallToolResponse, ErrorData> {
    fn told(&self) -> (Option<String>, Option<u64>) {
        match self {
            Ok(CallToolResponse::Complete(result)) => of_result(result),
            Ok(_) => (Some("input-required".to_owned()), None),
            Err(error) => of_error(error),
        }
    }
}

impl Answer for Result<ReadResourceResponse, ErrorData> {
    fn told(&self) -> (Option<String>, Option<u64>) {
        match self {
            Ok(ReadResourceResponse::Complete(result)) => (None, length!(result)),
            Ok(_) => (Some("input-required".to_owned()), None),
            Err(error) => of_error(error),
        }
    }
}

/// Without a client.
impl Answer for cap_roots::Result<CallToolResult> {
    fn told(&self) -> (Option<String>, Option<u64>) {
        match self {
            Ok(result) => of_result(result),
            Err(error) => (Some(error.code().to_owned()), None),
        }
    }
}

#[cfg(test)]
mod tests;
