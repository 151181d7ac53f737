use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use sinew_agent::core::Catalogue;
use sinew_agent::mcp::cache::Cache;
use sinew_agent::mcp::{Manager, SessionParts, SessionServers};
use sinew_session::artifacts::Artifacts;

use crate::mcp::stage::{Behaviour, StartAs, World, entries, manager, run_front, session, tool};

/// Returns the definitions of a session's tools as a provider would receive them.
pub(crate) fn front(session: &SessionServers) -> String {
    let tools = session.tools();
    let shown: Vec<Value> =
        tools.iter().map(|tool| json!([tool.name(), tool.description(), tool.parameters()])).collect();
    format!("{}{:?}", json!(shown), session.instructions())
}

#[derive(Debug, Clone)]
enum Step {
    Connect(usize),
    Crash,
    NewTools(usize, Vec<String>),
    Dead(usize),
    Search(String),
    Call(String),
    Wait,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..5_usize).prop_map(Step::Connect),
        Just(Step::Crash),
        (0..5_usize, prop::collection::vec("[a-c]{1,2}", 0..4)).prop_map(|(at, tools)| Step::NewTools(at, tools)),
        (0..5_usize).prop_map(Step::Dead),
        "[a-c]{1,2}|name:a|server:s1".prop_map(Step::Search),
        "mcp_s[0-4]_[a-c]{1,2}".prop_map(Step::Call),
        Just(Step::Wait),
    ]
}

const NAMES: [&str; 5] = ["s0", "s1", "s2", "s3", "s4"];

/// Runs a sequence of steps on servers, the first two of which are cached, and checks the request's tools after each
/// step.
async fn play(steps: Vec<Step>, expose: &'static str) {
    let world = World::new(&NAMES.map(|name| (name, Behaviour::with(&["a", "b"]))));
    let folder = tempfile::tempdir().unwrap();
    let cache = || Cache::read(folder.path().join("cache.json"), 0);
    let config =
        NAMES.map(|name| (name.to_string(), json!({"command": "x", "expose": expose, "startupTimeoutMs": 500})));
    let config = Value::Object(config.into_iter().collect());
    let before = manager(&world, cache(), &config);
    for name in &NAMES[..2] {
        before.connect(name).await.unwrap();
    }
    drop(before);
    let all = manager(&world, cache(), &config);
    let session = session(&all);
    let (sent, recorded) = (front(&session), session.record());
    for step in steps {
        match step.clone() {
            Step::Connect(at) => {
                let _ = all.connect(NAMES[at]).await;
            }
            Step::Crash => world.crash_all(),
            Step::NewTools(at, names) => {
                let mut tools: Vec<Value> = Vec::new();
                for name in names {
                    if tools.iter().all(|tool| tool["name"] != *name) {
                        tools.push(tool(&name, "new"));
                    }
                }
                world.change(NAMES[at], |server| (server.tools, server.instructions) = (tools, Some("other".into())));
                world.tell_changes();
            }
            Step::Dead(at) => world.change(NAMES[at], |server| server.start = StartAs::Fails),
            Step::Search(query) => {
                if session.names().contains(&"tool_search".to_string()) {
                    run_front(&session, "tool_search", json!({ "query": query })).await;
                }
            }
            Step::Call(name) => {
                if let Some(tool) = session.find(&name) {
                    let never = sinew::base::CancelToken::never();
                    let _ = crate::mcp::stage::run(&*tool, json!({}), never).await;
                }
            }
            Step::Wait => tokio::time::sleep(Duration::from_secs(120)).await,
        }
        assert_eq!(front(&session), sent, "{step:?}");
        assert_eq!(session.record(), recorded, "{step:?}");
    }
}

/// Returns `PROPTEST_CASES`, or 100 by default.
fn schedules() -> u32 {
    std::env::var("PROPTEST_CASES").map_or(100, |count| count.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(schedules()))]

    /// The tools that are part of requests never change during a session, whatever the servers do.
    #[test]
    fn the_request_prefix_is_equal_in_every_schedule(
        steps in prop::collection::vec(step(), 1..12),
        expose in prop::sample::select(vec!["auto", "direct", "deferred"]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(play(steps, expose));
    }
}

#[tokio::test]
async fn a_thousand_tools_add_at_most_400_tokens_to_the_prefix() {
    let names: Vec<String> = (0..20).map(|n| format!("server{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let tools: Vec<String> = (0..50).map(|n| format!("tool{n}")).collect();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let world = World::new(&names.iter().map(|name| (*name, Behaviour::with(&tools))).collect::<Vec<_>>());
    for cached in [false, true] {
        let all = manager(&world, Cache::in_memory(), &entries(&names));
        if cached {
            for name in &names {
                all.connect(name).await.unwrap();
            }
        }
        let session = session(&all);
        assert_eq!(session.names(), ["tool_search", "call_tool"]);
        let bytes = front(&session).len();
        assert!(bytes / 4 <= 400, "{} tokens", bytes / 4);
    }
    assert!(session(&manager(&world, Cache::in_memory(), &json!({}))).tools().is_empty());
}

async fn few() -> (Arc<World>, Arc<Manager>) {
    let mut server = Behaviour::with(&["get", "put"]);
    server.instructions = Some("Get before you put.".into());
    let world = World::new(&[("box", server), ("later", Behaviour::with(&["x"]))]);
    let all = manager(&world, Cache::in_memory(), &entries(&["box"]));
    all.connect("box").await.unwrap();
    (world, all)
}

#[tokio::test]
async fn a_few_known_tools_are_in_the_prefix_with_their_instructions() {
    let (_, all) = few().await;
    let session = session(&all);
    assert_eq!(session.names(), ["mcp_box_get", "mcp_box_put"]);
    assert!(session.instructions().unwrap().contains("Get before you put."));
}

#[tokio::test]
async fn a_resumed_session_sends_the_same_prefix_bytes() {
    let (world, all) = few().await;
    let unknown = session(&manager(&world, Cache::in_memory(), &entries(&["box"])));
    let known = session(&all);
    assert_ne!(front(&unknown), front(&known));
    // The server was replaced by another one.
    world.change("box", |server| server.instructions = Some("Put before you get.".into()));
    world.set("box", Behaviour::with(&["other"]));
    let all = manager(&world, Cache::in_memory(), &entries(&["box"]));
    all.connect("box").await.unwrap();
    for before in [unknown, known] {
        let again = SessionServers::new(SessionParts {
            manager: Arc::clone(&all),
            artifacts: Arc::new(Artifacts::temporary()),
            secrets: None,
            resize: true,
            excluded: Vec::new(),
            only: None,
            recorded: Some(before.record()),
        });
        assert_eq!(front(&again), front(&before));
        assert_eq!(again.record(), before.record());
    }
}

#[tokio::test]
async fn tool_names_stay_stable_when_a_new_tool_collides() {
    let world = World::new(&[("a_b", Behaviour::with(&["c"])), ("a.b", Behaviour::with(&["c"]))]);
    let all = manager(&world, Cache::in_memory(), &entries(&["a_b", "a.b"]));
    // The second server of the file connects first.
    all.connect("a.b").await.unwrap();
    let session = session(&all);
    let found = |text: &str| {
        let names = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        names.map(|tool| tool["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let (text, _) = run_front(&session, "tool_search", json!({"query": "server:a.b"})).await;
    let first = found(&text);
    all.connect("a_b").await.unwrap();
    let (text, _) = run_front(&session, "tool_search", json!({"query": "c"})).await;
    let both = found(&text);
    assert_eq!(both.len(), 2);
    assert!(both.contains(&first[0]), "{first:?} {both:?}");
}

#[tokio::test]
async fn search_matches_parameter_names_and_respects_its_token_limit() {
    let tools: Vec<String> = (0..300).map(|n| format!("tool{n}")).collect();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let world = World::new(&[
        ("big", Behaviour::with(&tools)),
        ("slow", {
            let mut slow = Behaviour::with(&["x"]);
            slow.start = StartAs::After(Duration::from_secs(3600));
            slow
        }),
    ]);
    tokio::time::pause();
    let all = manager(&world, Cache::in_memory(), &entries(&["big", "slow"]));
    let session = session(&all);
    let (text, _) = run_front(&session, "tool_search", json!({"query": "zygote", "limit": 20})).await;
    assert!(text.contains("\"name\":\"mcp_big_tool0\"") && text.len() / 4 <= 4000, "{} bytes", text.len());
    assert!(text.contains("Not searched: slow (starting)."), "{text}");
    let (again, _) = run_front(&session, "tool_search", json!({"query": "zygote", "limit": 20})).await;
    assert_eq!(text, again);
}
