//! A client that has roots, and says when they change.
#![allow(deprecated, reason = "roots are deprecated, and served as long as they are part of the protocol")]

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsResult, Root};
use rmcp::service::{ClientLifecycleMode, RequestContext, RoleClient, RunningService, serve_client_with_lifecycle};
use rmcp::transport::TokioChildProcess;

use super::SERVER;

#[derive(Clone, Default)]
pub(crate) struct Handler {
    roots: Arc<Mutex<Vec<String>>>,
    asked: Arc<AtomicUsize>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_roots().enable_roots_list_changed().build();
        ClientConfig::new(capabilities, Implementation::new("test", "1"))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(ListRootsResult::new(self.roots.lock().unwrap().iter().map(Root::new).collect()))
    }
}

pub(crate) struct Rooted {
    client: RunningService<RoleClient, Handler>,
    handler: Handler,
    legacy: bool,
}

impl Deref for Rooted {
    type Target = RunningService<RoleClient, Handler>;

    fn deref(&self) -> &Self::Target {
        &self.client
    }
}

/// A client of the server with these arguments, which sends these URIs as its roots.
pub(crate) async fn rooted(era: ClientLifecycleMode, arguments: &[&str], roots: &[String]) -> Rooted {
    rooted_by(SERVER, era, arguments, roots).await
}

/// The same, of another program.
pub(crate) async fn rooted_by(program: &str, era: ClientLifecycleMode, arguments: &[&str], roots: &[String]) -> Rooted {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments);
    let handler = Handler::default();
    handler.roots.lock().unwrap().extend(roots.iter().cloned());
    let legacy = matches!(era, ClientLifecycleMode::Initialize);
    let client = serve_client_with_lifecycle(handler.clone(), TokioChildProcess::new(command).unwrap(), era).await.unwrap();
    Rooted { client, handler, legacy }
}

impl Rooted {
    /// How often the server has asked.
    pub(crate) fn asked(&self) -> usize {
        self.handler.asked.load(Ordering::SeqCst)
    }

    /// Other roots from now on; the server is told where the protocol has a notice for it.
    pub(crate) async fn change(&self, roots: &[String]) {
        *self.handler.roots.lock().unwrap() = roots.to_vec();
        if self.legacy {
            self.client.notify_roots_list_changed().await.unwrap();
        }
    }

    pub(crate) async fn close(self) {
        self.client.cancel().await.unwrap();
    }
}
