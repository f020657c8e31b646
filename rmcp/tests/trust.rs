//! A trusted client: what its word is good for, and what not.
//!
//! Catches: a root whose place the model chooses, rules that end where a root begins, what comes back after it was revoked, a disk that is waited
//! for without end.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "builds trees by path")]

mod support;

use std::time::Duration;

use cap_roots::{Access, Grant, Roots};
use cap_roots_rmcp::ClientRoots;
use support::{Kind, Server, Tree, Wire, list};

fn trust() -> ClientRoots {
    ClientRoots::trust(|| Roots::builder().rule("secret", Access::None), |path| Grant::new(path).access(Access::Read)).unwrap()
}

/// A model that may write in one root of a trusted client must not choose where another one is.
/// Catches: roots that are opened anew by a name that leads through a link which the model can change.
#[cfg(unix)]
#[tokio::test]
async fn a_root_is_not_named_through_a_link_in_another_one() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new();
    symlink("a", tree.base.join("granted/current")).unwrap();
    symlink(tree.base.join("granted"), tree.base.join("by-user")).unwrap();
    let write = || ClientRoots::trust(Roots::builder, |path| Grant::new(path).access(Access::Write)).unwrap();
    for (sent, seen) in [
        (vec!["granted", "granted/current"], "root://granted/"),
        (vec!["granted/current", "granted"], "root://current/"),
        (vec!["granted", "by-user/current"], "root://granted/"),
        // A link that lies in no other root is the user's.
        (vec!["by-user"], "root://by-user/"),
        (vec!["by-user", "out"], "root://by-user/ root://out/"),
        (vec!["granted/current"], "root://current/"),
    ] {
        let sent: Vec<String> = sent.into_iter().map(|dir| tree.uri(dir)).collect();
        let mut wire = Wire::new(Server::new(&write()), &Kind::Plain);
        assert_eq!(wire.brought("list", "", list(&sent)).await, seen, "{sent:?}");
    }
    // What may only be read changes no links.
    let sent = list(&[tree.uri("granted"), tree.uri("granted/current")]);
    let mut wire = Wire::new(Server::new(&trust()), &Kind::Plain);
    assert_eq!(wire.brought("list", "", sent).await, "root://granted/ root://current/");
}

/// What programs obey stays protected if it is the root itself.
#[tokio::test]
async fn rules_count_for_the_names_above_a_trusted_root() {
    let tree = Tree::new();
    let git = tree.base.join("granted/.git/hooks");
    std::fs::create_dir_all(&git).unwrap();
    std::fs::create_dir_all(tree.base.join("granted/secret/deep")).unwrap();
    for dir in ["granted/.git/hooks", "granted/secret/deep"] {
        std::fs::write(tree.base.join(dir).join("name"), "x").unwrap();
    }
    let terms = || Roots::builder().rule("**/.git", Access::Read).rule("secret", Access::None).rule("/deep", Access::None);
    let client = ClientRoots::trust(terms, |path| Grant::new(path).access(Access::Write)).unwrap();
    for (root, read, write) in [
        ("granted/.git/hooks", "x", "protected"),
        ("granted/.git", "not-found", "protected"),
        ("granted/secret/deep", "protected", "protected"),
        ("granted/a", "granted/a", "ok"),
    ] {
        let sent = list(&[tree.uri(root)]);
        let mut wire = Wire::new(Server::new(&client), &Kind::Plain);
        assert_eq!(wire.brought("read", "name", sent.clone()).await, read, "{root}");
        assert_eq!(wire.brought("write", "new", sent).await, write, "{root}");
    }
}

/// Catches: a list that a client sends again after all was taken back.
#[tokio::test]
async fn what_is_revoked_stays_so() {
    let tree = Tree::new();
    for client in [trust(), ClientRoots::narrow(tree.granted())] {
        let sent = list(&[tree.uri("granted")]);
        let mut legacy = Wire::usual(&client).await;
        assert_eq!(legacy.asked("read", "name", sent.clone()).await, "granted");
        let mut modern = Wire::new(Server::new(&client), &Kind::Plain);
        assert_eq!(modern.brought("read", "name", sent.clone()).await, "granted");
        client.revoke();
        legacy.changed().await;
        assert_eq!(legacy.known("read", "name").await, "revoked");
        assert_eq!(modern.brought("read", "name", sent).await, "revoked");
    }
}

/// A directory that was missing when a trusted client's list was opened is there the next time.
#[tokio::test]
async fn a_trusted_directory_that_appears_is_seen() {
    let tree = Tree::new();
    let mut wire = Wire::usual(&trust()).await;
    let sent = list(&[tree.uri("later")]);
    assert_eq!(wire.asked("read", "name", sent).await, "no-roots");
    std::fs::create_dir(tree.base.join("later")).unwrap();
    std::fs::write(tree.base.join("later/name"), "later").unwrap();
    assert_eq!(wire.known("read", "name").await, "later");
}

/// Catches: a disk that hangs and keeps a call for ever.
#[tokio::test]
async fn a_disk_is_not_waited_for_without_end() {
    let tree = Tree::new();
    let slow = || {
        std::thread::sleep(Duration::from_millis(400));
        Roots::builder()
    };
    let client = ClientRoots::trust(slow, |path| Grant::new(path).access(Access::Read)).unwrap();
    let sent = list(&[tree.uri("granted")]);
    for (deadline, want) in [(Duration::from_millis(20), "timeout"), (Duration::from_secs(30), "granted")] {
        let mut wire = Wire::new(Server::new(&client.clone().disk_deadline(deadline)), &Kind::Plain);
        assert_eq!(wire.brought("read", "name", sent.clone()).await, want);
    }
}
