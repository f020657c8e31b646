//! Client roots in both eras, by a client that is a script and by rmcp's own. Catches an adapter that asks clients without the capability,
//! adds anything by a hint, falls back to wider where nothing is usable, loses a list by one bad entry, or repeats what a client sent.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "builds trees by path")]
#![allow(deprecated, reason = "roots are deprecated, and served as long as they are part of the protocol")]

mod support;

use cap_roots_rmcp::ClientRoots;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientInfo, Implementation, ListRootsResult, ProtocolVersion, Root,
};
use rmcp::service::{ClientLifecycleMode, RequestContext, RoleClient, serve_client_with_lifecycle};
use rmcp::{ClientHandler, ErrorData, ServiceExt};
use serde_json::{Value, json};
use support::{Kind, Server, Tree, Wire, list, text};

/// The answers in the two eras: each is one list, sent for one call.
async fn both(client: &ClientRoots, tool: &str, path: &str, answer: Value) -> String {
    let legacy = Wire::usual(client).await.asked(tool, path, answer.clone()).await;
    let modern = Wire::new(Server::new(client), &Kind::Watched).brought(tool, path, answer).await;
    assert_eq!(legacy, modern, "the eras differ");
    legacy
}

#[tokio::test]
async fn hints_narrow_and_add_nothing() {
    let tree = Tree::new();
    let client = ClientRoots::narrow(tree.granted());
    let path = |dir: &str| tree.base.join(dir).join("name").to_str().unwrap().to_owned();
    let top = "file:///".to_owned();
    for (hints, expected) in [
        (vec!["granted/a"], "root://granted/a"),
        (vec!["granted/b", "granted/a"], "root://granted/a root://granted/b"),
        (vec!["granted/a", "out", "granted-too"], "root://granted/a"),
        (vec!["granted/a", "granted/a/deep"], "root://granted/a"),
        (vec!["granted"], "root://granted/"),
        (vec![""], "root://granted/"),
        (vec!["out"], "no-roots"),
        (vec!["granted-too"], "no-roots"),
        (vec!["gran"], "no-roots"),
        (vec!["granted/nothing"], "no-roots"),
        #[cfg(unix)]
        (vec!["granted/link"], "no-roots"),
    ] {
        let hints: Vec<String> = hints.iter().map(|hint| tree.uri(hint)).collect();
        let seen = both(&client, "list", "", list(&hints)).await;
        assert_eq!(seen.trim_end_matches('/'), expected.trim_end_matches('/'), "{hints:?}");
        // Nothing is reached that was not granted, whatever was asked for.
        for outside in ["out", "granted-too"] {
            let code = both(&client, "read", &path(outside), list(&hints)).await;
            assert!(["outside-roots", "no-roots"].contains(&&*code), "{code}");
        }
    }
    let seen = both(&client, "list", "", list(std::slice::from_ref(&top))).await;
    assert!(["root://granted/", "no-roots"].contains(&&*seen), "{seen}");
    assert_eq!(both(&client, "read", &path("granted/a"), list(&[tree.uri("granted/a")])).await, "granted/a");
    assert_eq!(both(&client, "read", &path("granted/ab"), list(&[tree.uri("granted/a")])).await, "outside-roots");
}

#[tokio::test]
async fn clients_without_the_capability() {
    let tree = Tree::new();
    let narrow = ClientRoots::narrow(tree.granted());
    let trust = ClientRoots::trust(cap_roots::Roots::builder, |path| cap_roots::Grant::new(path).access(cap_roots::Access::Read))
        .unwrap();
    for (client, expected) in [
        (ClientRoots::off(tree.granted()), "granted"),
        (narrow.clone(), "granted"),
        (trust.clone(), "no-roots"),
        (narrow.clone().required(), "no-roots"),
        (trust.clone().required(), "no-roots"),
    ] {
        let mut wire = Wire::legacy(Server::new(&client), &Kind::Watched, json!({})).await;
        assert_eq!(wire.known("read", "name").await, expected);
    }
    for (client, expected) in [(&narrow, "granted"), (&trust, "no-roots")] {
        let mut wire = Wire::new(Server::new(client), &Kind::Plain);
        // An answer that was sent all the same counts for nothing.
        let sent = list(&[tree.uri("out")]);
        let params = json!({ "name": "read", "arguments": {}, "inputResponses": { "client_roots": sent } });
        let (id, call) = wire.modern("tools/call", params, json!({}));
        wire.send(call).await;
        assert_eq!(text(&wire.reply(id).await), expected);
    }
    // Off asks nobody, not even one who offers.
    let off = ClientRoots::off(tree.granted());
    assert_eq!(Wire::usual(&off).await.known("read", "name").await, "granted");
    assert_eq!(Wire::new(Server::new(&off), &Kind::Plain).brought("read", "name", list(&[])).await, "granted");
}

#[tokio::test]
async fn required_and_not_offered_is_the_protocols_error_in_the_modern_era() {
    let tree = Tree::new();
    let client = ClientRoots::narrow(tree.granted()).required();
    let mut wire = Wire::new(Server::new(&client), &Kind::Plain);
    for (method, params) in
        [("tools/call", json!({ "name": "read" })), ("resources/read", json!({ "uri": "root://granted/name" }))]
    {
        let (id, call) = wire.modern(method, params.clone(), json!({}));
        wire.send(call).await;
        let error = wire.reply(id).await["error"].clone();
        assert_eq!(error["code"], -32021);
        assert_eq!(error["data"]["requiredCapabilities"], json!({ "roots": {} }));
        let (id, call) = wire.modern(method, params, json!({ "roots": {} }));
        wire.send(call).await;
        assert_eq!(wire.reply(id).await["result"]["resultType"], "input_required");
    }
    // Before, a refusal that the model can read; and a resource that is not there.
    let mut wire = Wire::legacy(Server::new(&client), &Kind::Plain, json!({ "sampling": {} })).await;
    assert_eq!(wire.known("read", "name").await, "no-roots");
    let (id, read) = wire.request("resources/read", json!({ "uri": "root://granted/name" }));
    wire.send(read).await;
    let error = wire.reply(id).await["error"].clone();
    assert_eq!((&error["code"], error["message"].as_str().unwrap().split(':').next()), (&json!(-32002), Some("no-roots")));
}

#[tokio::test]
async fn a_modern_call_is_answered_with_one_question_and_no_state() {
    let tree = Tree::new();
    let mut wire = Wire::new(Server::new(&ClientRoots::narrow(tree.granted())), &Kind::Watched);
    for (method, params) in
        [("tools/call", json!({ "name": "read" })), ("resources/read", json!({ "uri": "root://granted/a/name" }))]
    {
        for responses in [json!({}), json!({ "another": { "roots": [] } })] {
            let mut params = params.clone();
            params["inputResponses"] = responses;
            let (id, call) = wire.modern(method, params, json!({ "roots": {} }));
            wire.send(call).await;
            let result = wire.reply(id).await["result"].clone();
            assert_eq!(result["inputRequests"], json!({ "client_roots": { "method": "roots/list" } }));
            assert!(result.get("requestState").is_none());
        }
        let mut params = params;
        params["inputResponses"] = json!({ "client_roots": list(&[tree.uri("granted/a")]) });
        let (id, call) = wire.modern(method, params, json!({ "roots": {} }));
        wire.send(call).await;
        assert!(wire.reply(id).await.to_string().contains("granted/a"));
    }
    assert_eq!(wire.asked, 0, "a modern client is never sent a request");
}

/// Section 4.4 of the notes on rmcp: what its typed call loses or passes on unseen.
#[tokio::test]
async fn malformed_lists() {
    let tree = Tree::new();
    let client = ClientRoots::narrow(tree.granted());
    let good = json!({ "uri": tree.uri("granted/a") });
    for (answer, expected) in [
        (json!({}), "no-roots"),
        (json!({ "roots": null }), "no-roots"),
        (json!({ "roots": {} }), "no-roots"),
        (json!({ "roots": "file:///" }), "no-roots"),
        (json!([good]), "no-roots"),
        (json!("roots"), "no-roots"),
        (json!({ "roots": [] }), "no-roots"),
        (json!({ "roots": [{}] }), "no-roots"),
        (json!({ "roots": [{ "name": "x" }, good] }), "granted/a"),
        (json!({ "roots": [good, { "uri": 7 }] }), "granted/a"),
        (json!({ "roots": [tree.uri("granted/b"), good] }), "granted/a"),
        (json!({ "roots": [tree.uri("granted/b")] }), "no-roots"),
        (json!({ "roots": [null, [], 1, good] }), "granted/a"),
        (json!({ "roots": [{ "uri": "" }, good] }), "granted/a"),
        (json!({ "roots": [{ "uri": format!("{}\0", tree.uri("granted")) }, good] }), "granted/a"),
        (json!({ "roots": [{ "uri": format!("{}%00", tree.uri("granted")) }, good] }), "granted/a"),
        (json!({ "roots": [{ "uri": "vscode-remote://wsl%2Bubuntu/x" }, good] }), "granted/a"),
        (json!({ "roots": [{ "uri": tree.base.join("granted").to_str() }, good] }), "granted/a"),
        (json!({ "roots": [{ "uri": "file://" }, { "uri": "file:///w?x" }, { "uri": "~" }, good] }), "granted/a"),
        (json!({ "roots": [{ "uri": tree.uri("granted/a"), "name": 7, "_meta": [] }] }), "granted/a"),
        (json!({ "roots": [{ "uri": "file:///".to_owned() + &"x".repeat(100_000) }, good] }), "granted/a"),
        (json!({ "roots": vec![good.clone(); 20_000] }), "no-roots"),
        (json!({ "roots": vec![good.clone(); 129] }), "no-roots"),
        (json!({ "roots": vec![good.clone(); 128] }), "granted/a"),
    ] {
        let seen = both(&client, "read", "name", answer.clone()).await;
        assert_eq!(seen, expected, "{}", answer.to_string().chars().take(200).collect::<String>());
    }
}

/// What is refused says why, in words of its own.
#[tokio::test]
async fn reasons_are_told_and_nothing_is_repeated() {
    let tree = Tree::new();
    let client = ClientRoots::narrow(tree.granted());
    for (answer, reason) in [
        (json!({}), "sent no list"),
        (json!({ "roots": [] }), "is empty"),
        (json!({ "roots": [{ "uri": "file:///secret" }, { "uri": "secret" }] }), "in an allowed directory"),
        (json!({ "roots": vec![json!({ "uri": "file:///secret" }); 300] }), "limit of 128"),
    ] {
        let mut wire = Wire::usual(&client).await;
        let (id, call) = wire.call("read", "name");
        wire.send(call).await;
        let question = wire.question().await;
        wire.answer(&question, answer).await;
        let reply = wire.reply(id).await.to_string();
        assert!(reply.contains(reason) && !reply.contains("secret"), "{reply}");
        assert!(!reply.contains(tree.base.to_str().unwrap()), "{reply}");
    }
}

/// rmcp's own client, with what it would send.
#[derive(Clone)]
struct Client(Option<Vec<String>>);

impl ClientHandler for Client {
    fn get_info(&self) -> ClientInfo {
        let mut capabilities = ClientCapabilities::default();
        if self.0.is_some() {
            capabilities.roots = Some(Default::default());
        }
        ClientInfo::new(capabilities, Implementation::new("client", "1"))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.0.iter().flatten().map(Root::new).collect()))
    }
}

#[tokio::test]
async fn the_sdks_own_client_in_three_lifecycles() {
    let tree = Tree::new();
    let client = ClientRoots::narrow(tree.granted());
    for mode in [
        || ClientLifecycleMode::Initialize,
        || ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        || ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
    ] {
        for (sent, expected) in [
            (None, "granted"),
            (Some(vec![]), "no-roots"),
            (Some(vec![tree.uri("out")]), "no-roots"),
            (Some(vec![tree.uri("granted/b")]), "granted/b"),
        ] {
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            let server = Server::new(&client);
            let transport = client.watch(theirs);
            let serving = tokio::spawn(async move { server.serve(transport).await.unwrap().waiting().await });
            let running = serve_client_with_lifecycle(Client(sent), ours, mode()).await.unwrap();
            let result = running.call_tool(CallToolRequestParams::new("read")).await.unwrap();
            assert_eq!(text(&json!({ "result": result })), expected);
            running.cancel().await.unwrap();
            let _ = serving.await;
        }
    }
}
