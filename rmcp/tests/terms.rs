//! The operator's terms: consent, trust, what is told, and HTTP. Catches a list that takes effect before the host agreed, a host that is asked
//! again and again, directories that no client may name, and lists from another machine's disk.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "builds trees by path")]

mod support;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cap_roots::{Access, Grant, Roots};
use cap_roots_rmcp::ClientRoots;
use rmcp::ServiceExt;
use rmcp::model::{GetExtensions, JsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{IntoTransport, Transport};
use serde_json::{Value, json};
use support::{Kind, Server, Tree, Wire, changed, list, text, uri};
use tokio::sync::Semaphore;

fn roots() -> Value {
    json!({ "roots": { "listChanged": true } })
}

/// A host that says what it is told to say, and counts how often it was asked.
#[derive(Clone, Default)]
struct Host {
    asked: Arc<AtomicUsize>,
    yes: Arc<AtomicBool>,
}

impl Host {
    fn before(&self, client: ClientRoots) -> ClientRoots {
        let host = self.clone();
        client.consent(move |exposed| {
            assert!(!exposed.is_empty(), "nothing to agree to");
            host.asked.fetch_add(1, Ordering::SeqCst);
            let yes = host.yes.load(Ordering::SeqCst);
            async move { yes }
        })
    }

    fn count(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn the_host_is_asked_once_for_each_list() {
    let tree = Tree::new();
    let host = Host::default();
    let client = host.before(ClientRoots::narrow(tree.granted()));
    let sent = |dir: &str| list(&[tree.uri(dir)]);
    let mut wire = Wire::usual(&client).await;
    let mut modern = Wire::new(Server::new(&client), &Kind::Plain);
    // A no stands, for that list.
    assert_eq!(wire.asked("read", "name", sent("granted/a")).await, "no-roots");
    host.yes.store(true, Ordering::SeqCst);
    assert_eq!(wire.known("read", "name").await, "no-roots");
    assert_eq!(modern.brought("read", "name", sent("granted/a")).await, "no-roots");
    assert_eq!(host.count(), 1);
    // So does a yes, and what differs is asked about.
    assert_eq!(modern.brought("read", "name", sent("granted/b")).await, "granted/b");
    host.yes.store(false, Ordering::SeqCst);
    assert_eq!(modern.brought("read", "name", sent("granted/b")).await, "granted/b");
    wire.changed().await;
    assert_eq!(wire.asked("read", "name", sent("granted/b")).await, "granted/b");
    assert_eq!(host.count(), 2);
    // Another spelling, or junk beside it, exposes the same.
    let junk = list(&[tree.uri("out"), tree.uri("granted/b"), "x".to_owned()]);
    assert_eq!(modern.brought("read", "name", junk).await, "granted/b");
    assert_eq!(host.count(), 2);
    assert_eq!(modern.brought("read", "name", list(&[tree.uri("granted/a"), tree.uri("granted/b")])).await, "no-roots");
    assert_eq!(host.count(), 3);
    // Where nothing is exposed, there is nothing to ask.
    assert_eq!(modern.brought("read", "name", sent("out")).await, "no-roots");
    assert_eq!(host.count(), 3);
}

#[tokio::test]
async fn what_the_host_said_is_remembered_for_64_lists() {
    let tree = Tree::new();
    let host = Host::default();
    host.yes.store(true, Ordering::SeqCst);
    let client = host.before(ClientRoots::narrow(tree.granted()));
    let mut wire = Wire::new(Server::new(&client), &Kind::Plain);
    let sent = |number: usize| list(&[tree.uri(&format!("granted/{number}"))]);
    for number in 0..65 {
        std::fs::create_dir(tree.base.join(format!("granted/{number}"))).unwrap();
        wire.brought("list", "", sent(number)).await;
    }
    for (number, asked) in [(64, 65), (1, 65), (0, 66), (1, 67)] {
        wire.brought("list", "", sent(number)).await;
        assert_eq!(host.count(), asked, "list {number}");
    }
}

/// Held up by the host: nothing is exposed, calls at once ask once, and a call that is withdrawn or a list that is taken back waits no longer.
#[tokio::test]
async fn nothing_is_exposed_while_the_host_thinks() {
    let tree = Tree::new();
    let (gate, asked) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (hold, count) = (gate.clone(), asked.clone());
    let client = ClientRoots::narrow(tree.granted()).deadline(Duration::from_secs(1)).consent(move |_| {
        let hold = hold.clone();
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            hold.acquire().await.unwrap().forget();
            true
        }
    });
    let mut wire = Wire::usual(&client).await;
    let (ids, calls): (Vec<_>, Vec<_>) = (0..4).map(|_| wire.call("read", "name")).unzip();
    wire.send_all(&calls).await;
    let question = wire.question().await;
    wire.answer(&question, list(&[tree.uri("granted/a")])).await;
    // Longer than the client's deadline, which is not the host's.
    let quiet = tokio::time::timeout(Duration::from_millis(1500), wire.receive()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // Taken back: the host is asked about the new list instead.
    wire.changed().await;
    let question = wire.question().await;
    wire.answer(&question, list(&[tree.uri("granted/b")])).await;
    while asked.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": ids[0] } })).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    gate.add_permits(1);
    for id in &ids[1..] {
        assert_eq!(text(&wire.reply(*id).await), "granted/b");
    }
    assert_eq!(wire.asked, 2);
    assert!(asked.load(Ordering::SeqCst) <= 3);
}

fn trust() -> ClientRoots {
    ClientRoots::trust(|| Roots::builder().rule("secret", Access::None), |path| Grant::new(path).access(Access::Read)).unwrap()
}

#[tokio::test]
async fn trusted_roots_are_grants_under_the_operators_rules() {
    let tree = Tree::new();
    std::fs::write(tree.base.join("out/secret"), "x").unwrap();
    let sent = list(&[tree.uri("out"), tree.uri("granted/a")]);
    let mut wire = Wire::usual(&trust()).await;
    assert_eq!(wire.asked("read", "name", sent.clone()).await, "out");
    assert_eq!(wire.known("read", "secret").await, "protected");
    assert_eq!(wire.known("read", "root://a/name").await, "granted/a");
    assert_eq!(wire.known("read", tree.base.join("granted/name").to_str().unwrap()).await, "outside-roots");
    assert_eq!(Wire::new(Server::new(&trust()), &Kind::Plain).brought("read", "root://a/name", sent).await, "granted/a");
    // A rule that cannot be read is said at start.
    assert!(ClientRoots::trust(|| Roots::builder().rule("[", Access::None), Grant::new).is_err());
}

#[tokio::test]
async fn some_directories_are_nobodys_roots() {
    let tree = Tree::new();
    let home = std::fs::canonicalize(std::env::home_dir().unwrap()).unwrap();
    let mut refused: Vec<PathBuf> = home.ancestors().map(Into::into).collect();
    refused.push(tree.base.join("out/name"));
    refused.push(tree.base.join("missing"));
    #[cfg(unix)]
    for (name, target) in [("to-home", home.clone()), ("to-top", "/".into()), ("to-file", tree.base.join("out/name"))] {
        std::os::unix::fs::symlink(target, tree.base.join(name)).unwrap();
        refused.push(tree.base.join(name));
    }
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let client = trust().observe(move |roots, refused| {
        let roots: Vec<_> = roots.list().map(|root| root.name().to_owned()).collect();
        tell.lock().unwrap().push((roots, refused.iter().map(|(index, error)| (*index, error.to_string())).collect::<Vec<_>>()));
    });
    for path in &refused {
        let mut wire = Wire::new(Server::new(&client), &Kind::Plain);
        assert_eq!(wire.brought("list", "", list(&[uri(path)])).await, "no-roots", "{path:?}");
    }
    told.lock().unwrap().clear();
    // Among others they are left out, and the others stand; one directory twice is one.
    let mut sent: Vec<String> = refused.iter().map(|path| uri(path)).collect();
    sent.extend([tree.uri("granted"), tree.uri("out"), tree.uri("granted")]);
    let mut wire = Wire::usual(&client).await;
    assert_eq!(wire.asked("list", "", list(&sent)).await, "root://granted/ root://out/");
    assert_eq!(wire.known("list", "").await, "root://granted/ root://out/");
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1, "a list is told once");
    assert_eq!(told[0].0, ["granted", "out"]);
    assert_eq!(told[0].1.len(), refused.len());
    for (index, error) in &told[0].1 {
        assert!(*index < sent.len() && !error.contains(tree.base.to_str().unwrap()), "{error}");
    }
}

/// The home of this process cannot be another one, so a process of its own looks.
#[test]
fn directories_above_the_home_are_nobodys_roots() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("users/me");
    std::fs::create_dir_all(home.join("project")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("users"), home.join("project/above")).unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.env("HOME", &home).env("USERPROFILE", &home).args(["--ignored", "--exact", "with_a_home_of_its_own"]);
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
#[ignore = "run by directories_above_the_home_are_nobodys_roots"]
async fn with_a_home_of_its_own() {
    let home = std::env::home_dir().unwrap();
    let seen =
        async |path: PathBuf| Wire::new(Server::new(&trust()), &Kind::Plain).brought("list", "", list(&[uri(&path)])).await;
    assert_eq!(seen(home.join("project")).await, "root://project/");
    for path in home.ancestors() {
        assert_eq!(seen(path.to_owned()).await, "no-roots", "{path:?}");
    }
    #[cfg(unix)]
    assert_eq!(seen(home.join("project/above")).await, "no-roots");
}

#[tokio::test]
async fn at_most_32_directories_are_opened() {
    let tree = Tree::new();
    let sent: Vec<String> = (0..40)
        .map(|number| {
            std::fs::create_dir(tree.base.join(format!("d{number}"))).unwrap();
            tree.uri(&format!("d{number}"))
        })
        .collect();
    let seen = Wire::usual(&trust()).await.asked("list", "", list(&sent)).await;
    assert_eq!(seen.split(' ').count(), 32);
}

#[tokio::test]
async fn trusted_roots_are_revoked_when_they_are_taken_back() {
    let tree = Tree::new();
    let server = Server::new(&trust());
    let (gate, begun) = (server.gate.clone(), server.begun.clone());
    let mut wire = Wire::legacy(server, &Kind::Watched, roots()).await;
    let (id, call) = wire.call("hold", "name");
    wire.send(call).await;
    let question = wire.question().await;
    Server::one_more(&begun, wire.answer(&question, list(&[tree.uri("out")]))).await;
    assert_eq!(wire.known("read", "name").await, "out");
    let (next, call) = wire.call("read", "name");
    wire.send_all(&[changed(), call]).await;
    let question = wire.question().await;
    gate.add_permits(1);
    assert_eq!(text(&wire.reply(id).await), "revoked");
    wire.answer(&question, list(&[tree.uri("granted")])).await;
    assert_eq!(text(&wire.reply(next).await), "granted");
}

/// A transport whose requests look as those that came over HTTP.
struct Http<T>(T);

impl<T: Transport<RoleServer>> Transport<RoleServer> for Http<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.0.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = self.0.receive().await?;
        if let JsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(http::Request::new(()).into_parts().0);
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.0.close().await
    }
}

#[tokio::test]
async fn over_http_roots_count_only_where_the_operator_says_so() {
    let tree = Tree::new();
    let sent = list(&[tree.uri("granted/a")]);
    let narrow = ClientRoots::narrow(tree.granted());
    for (client, expected) in [
        (narrow.clone(), "granted"),
        (narrow.clone().required(), "granted"),
        (trust(), "no-roots"),
        (narrow.clone().over_http(), "granted/a"),
        (trust().over_http(), "granted/a"),
    ] {
        let wire =
            || Wire::with(|stream| Server::new(&client).serve(Http(IntoTransport::<RoleServer, _, _>::into_transport(stream))));
        let mut modern = wire();
        assert_eq!(modern.brought("read", "name", sent.clone()).await, expected);
        let mut legacy = wire();
        legacy.initialize(roots()).await;
        let seen = if expected == "granted/a" {
            legacy.asked("read", "name", sent.clone()).await
        } else {
            legacy.known("read", "name").await
        };
        assert_eq!(seen, expected);
    }
}

/// Consent is to a place, and not to a name that may lead elsewhere by now.
#[cfg(unix)]
#[tokio::test]
async fn the_host_is_asked_again_where_a_name_leads_elsewhere() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let shown = asked.clone();
    let client = trust().consent(move |exposed| {
        let paths: Vec<_> = exposed.iter().map(|root| (root.real_path(), root.is_file())).collect();
        let yes = paths.iter().all(|(path, _)| path.ends_with("granted"));
        shown.lock().unwrap().extend(paths);
        std::future::ready(yes)
    });
    let link = tree.base.join("project");
    symlink(tree.base.join("granted"), &link).unwrap();
    let sent = list(&[tree.uri("project")]);
    let mut wire = Wire::new(Server::new(&client), &Kind::Plain);
    assert_eq!(wire.brought("read", "name", sent.clone()).await, "granted");
    std::fs::remove_file(&link).unwrap();
    symlink(tree.base.join("out"), &link).unwrap();
    assert_eq!(wire.brought("read", "name", sent).await, "no-roots");
    assert_eq!(*asked.lock().unwrap(), [(tree.base.join("granted"), false), (tree.base.join("out"), false)]);
    // A file that becomes a directory is another thing.
    let count = Arc::new(Mutex::new(Vec::new()));
    let seen = count.clone();
    let client = ClientRoots::narrow(tree.granted()).consent(move |exposed| {
        seen.lock().unwrap().extend(exposed.iter().map(|root| root.is_file()));
        std::future::ready(true)
    });
    let sent = list(&[tree.uri("granted/name")]);
    let mut wire = Wire::new(Server::new(&client), &Kind::Plain);
    assert_eq!(wire.brought("read", "name", sent.clone()).await, "granted");
    std::fs::remove_file(tree.base.join("granted/name")).unwrap();
    std::fs::create_dir(tree.base.join("granted/name")).unwrap();
    assert_eq!(wire.brought("read", "x", sent).await, "not-found");
    assert_eq!(*count.lock().unwrap(), [true, false]);
}
