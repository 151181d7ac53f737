use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sinew::base::{CancelHandle, CancelToken};
use sinew_agent::core::{Catalogue, Toolset};
use sinew_agent::mcp::cache::Cache;
use sinew_agent::mcp::{SessionParts, SessionServers};
use sinew_session::artifacts::Artifacts;
use sinew_session::secrets::Secrets;
use sinew_tools::tool::ToolError;

use crate::mcp::stage::{AnswerAs, Behaviour, World, entries, manager, run, run_front, session};

#[tokio::test]
async fn call_tool_resolves_to_the_real_call_and_back() {
    let world = World::new(&[("git", Behaviour::with(&["issue"]))]);
    let all = manager(&world, Cache::in_memory(), &entries(&["git"]));
    let session = session(&all);
    let unwrap = |arguments: Value| session.unwrap("call_tool", &arguments);
    let meant = |arguments: Value| Some(("mcp_git_issue".to_string(), arguments));
    assert_eq!(unwrap(json!({"name": "mcp_git_issue", "arguments": {"text": "x"}})), meant(json!({"text": "x"})));
    assert_eq!(unwrap(json!({"name": "mcp_git_issue", "arguments": "{\"text\": 1}"})), meant(json!({"text": 1})));
    assert_eq!(unwrap(json!({"name": "mcp_git_issue"})), meant(json!({})));
    for odd in
        [json!({}), json!({"name": 7}), json!({"name": "x", "arguments": 7}), json!({"name": "x", "arguments": "["})]
    {
        assert_eq!(unwrap(odd), None);
    }
    assert_eq!(session.unwrap("read", &json!({"name": "x"})), None);
    let back = session.wrap("mcp_git_issue", &json!({"text": "x"}));
    assert_eq!(back, Some(("call_tool".into(), json!({"name": "mcp_git_issue", "arguments": {"text": "x"}}))));
    assert_eq!(session.wrap("read", &json!({})), None);
}

#[tokio::test]
async fn deferred_tools_run_by_name_before_their_server_is_known() {
    let world = World::new(&[("git", Behaviour::with(&["issue", "issue_list"]))]);
    let all = manager(&world, Cache::in_memory(), &entries(&["git"]));
    let session = session(&all);
    let tools = Toolset::new(session.tools()).0.with_catalogue(Some(Arc::clone(&session) as _));
    let tool = tools.look_up("mcp_git_issue").unwrap();
    assert_eq!(run(&*tool, json!({}), CancelToken::never()).await.unwrap().0, "git/issue");
    // The server has listed its tools, so that missing ones are known too.
    assert!(tools.look_up("mcp_git_issue_list").is_some());
    assert!(tools.look_up("mcp_git_isue").is_none() && tools.look_up("mcp_hub_x").is_none());
    assert_eq!(tools.catalogue().unwrap().near("mcp_git_issues"), ["mcp_git_issue", "mcp_git_issue_list"]);
}

#[tokio::test]
async fn an_unknown_tool_name_lists_near_names() {
    let world = World::new(&[("git", Behaviour::with(&["issue"]))]);
    let all = manager(&world, Cache::in_memory(), &entries(&["git"]));
    let tool = session(&all).find("mcp_git_issues").unwrap();
    let error = run(&*tool, json!({}), CancelToken::never()).await.unwrap_err();
    let expect = "Tool mcp_git_issues not found. Near names: mcp_git_issue. Use tool_search to find tools of servers.";
    assert_eq!(error, ToolError::Failed(expect.into()));
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_the_call_but_not_the_server() {
    let mut silent = Behaviour::with(&["t"]);
    silent.answer = AnswerAs::Silent;
    let world = World::new(&[("s", silent)]);
    let all = manager(&world, Cache::in_memory(), &entries(&["s"]));
    all.connect("s").await.unwrap();
    let tool = session(&all).find("mcp_s_t").unwrap();
    let (handle, cancel) = CancelHandle::new();
    let begun = tokio::time::Instant::now();
    let calling = run(&*tool, json!({}), cancel);
    let aborting = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        handle.cancel();
    };
    let (outcome, ()) = tokio::join!(calling, aborting);
    assert_eq!((outcome, begun.elapsed()), (Err(ToolError::Aborted), Duration::from_secs(5)));
    assert_eq!(all.state("s").unwrap().state, "connected");
    assert_eq!(world.starts(), 1);
}

#[tokio::test]
async fn excluded_tools_cannot_be_searched_or_called() {
    let world = World::new(&[("s", Behaviour::with(&["good", "bad", "off"]))]);
    let entry = json!({"s": {"command": "x", "tools": {"exclude": ["off"]}}});
    let all = manager(&world, Cache::in_memory(), &entry);
    let session = SessionServers::new(SessionParts {
        manager: Arc::clone(&all),
        artifacts: Arc::new(Artifacts::temporary()),
        secrets: None,
        resize: true,
        excluded: vec!["mcp_s_bad".into()],
        only: None,
        recorded: None,
    });
    let (text, _) = run_front(&session, "tool_search", json!({"query": "server:s"})).await;
    assert!(text.contains("mcp_s_good") && !text.contains("mcp_s_bad") && !text.contains("mcp_s_off"), "{text}");
    assert!(session.find("mcp_s_bad").is_none() && session.find("mcp_s_off").is_none());
}

#[tokio::test]
async fn servers_get_placeholders_unless_they_may_have_secrets() {
    let world = World::new(&[
        ("web", Behaviour::with(&["t"])),
        ("program", Behaviour::with(&["t"])),
        ("trusted", Behaviour::with(&["t"])),
    ]);
    let entry = json!({
        "web": {"url": "https://x", "secrets": true},
        "program": {"command": "x"},
        "trusted": {"command": "x", "secrets": true},
    });
    let all = manager(&world, Cache::in_memory(), &entry);
    let secrets = Arc::new(Secrets::new(Box::new(|| [7; 32]), Vec::new()));
    secrets.add("hunter2-hunter2");
    let session = SessionServers::new(SessionParts {
        manager: Arc::clone(&all),
        artifacts: Arc::new(Artifacts::temporary()),
        secrets: Some(Arc::clone(&secrets)),
        resize: true,
        excluded: Vec::new(),
        only: None,
        recorded: None,
    });
    for server in ["web", "program", "trusted"] {
        all.connect(server).await.unwrap();
        let tool = session.find(&format!("mcp_{server}_t")).unwrap();
        run(&*tool, json!({"text": "hunter2-hunter2"}), CancelToken::never()).await.unwrap();
    }
    let calls = world.calls.lock().unwrap().clone();
    let seen: Vec<bool> = calls.iter().map(|(_, arguments)| arguments["text"] == "hunter2-hunter2").collect();
    assert_eq!(seen, [false, false, true]);
    assert!(calls[0].1["text"].as_str().unwrap().starts_with("<<$env:"), "{calls:?}");
}

#[tokio::test]
async fn tools_with_schemas_that_providers_reject_stay_callable() {
    let mut odd = Behaviour::with(&[]);
    odd.tools = vec![
        json!({"name": "top", "inputSchema": {"oneOf": [{"type": "object"}]}}),
        json!({"name": "elsewhere", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "https://x/s.json"}}}}),
        json!({"name": "untyped", "inputSchema": {}}),
        json!({"name": "none"}),
        json!({"name": "true", "inputSchema": true}),
        json!({"name": "huge", "inputSchema": {"type": "object", "description": "x".repeat(2 << 20)}}),
        json!({"name": "round", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}}}}),
    ];
    let world = World::new(&[("odd", odd)]);
    let all = manager(&world, Cache::in_memory(), &json!({"odd": {"command": "x", "expose": "direct"}}));
    all.connect("odd").await.unwrap();
    let session = session(&all);
    // Tools that the provider accepts are part of requests; the others can be searched.
    assert_eq!(
        session.names(),
        ["mcp_odd_untyped", "mcp_odd_none", "mcp_odd_true", "mcp_odd_round", "tool_search", "call_tool"]
    );
    for tool in session.tools() {
        assert_eq!(tool.parameters()["type"], "object", "{}", tool.name());
    }
    for name in ["top", "elsewhere", "huge", "untyped"] {
        let tool = session.find(&format!("mcp_odd_{name}")).unwrap();
        let (text, is_error) = run(&*tool, json!({"a": 1}), CancelToken::never()).await.unwrap();
        assert_eq!((text, is_error), (format!("odd/{name}"), false));
    }
}
