use std::time::Duration;

use serde_json::json;
use sinew_agent::core::Catalogue;
use sinew_agent::mcp::cache::Cache;

use crate::mcp::stage::{AnswerAs, Behaviour, StartAs, World, entries, manager, read_entries, run, run_front, session};

/// Creates a cache file with the facts of these servers.
async fn cached(world: &std::sync::Arc<World>, names: &[&str]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-cache.json");
    let all = manager(world, Cache::read(path.clone(), 0), &entries(names));
    for name in names {
        all.connect(name).await.unwrap();
    }
    // The file is written in the background.
    while names.len() != count(&path) {
        tokio::task::yield_now().await;
    }
    (folder, path)
}

fn count(path: &std::path::Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.matches("\"hash\"").count()
}

#[tokio::test]
async fn cached_servers_do_not_start_before_a_call() {
    let names: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let tools: Vec<String> = (0..50).map(|n| format!("tool{n}")).collect();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let world = World::new(&names.iter().map(|name| (*name, Behaviour::with(&tools))).collect::<Vec<_>>());
    let (_folder, path) = cached(&world, &names).await;
    let before = world.starts();
    let all = manager(&world, Cache::read(path, 0), &entries(&names));
    let session = session(&all);
    all.start_eager();
    assert!(names.iter().all(|name| all.state(name).unwrap().state == "idle"));
    assert_eq!(all.state("s3").unwrap().tools, Some(50));
    let (text, _) = run_front(&session, "tool_search", json!({"query": "nothing like it"})).await;
    assert!(text.starts_with("No tools match. Servers: s0 (50 tools), s1 (50 tools)"), "{text}");
    assert_eq!(world.starts(), before);
    // A search hit starts only the server of that tool.
    let (text, _) = run_front(&session, "tool_search", json!({"query": "name:tool7", "server": "s3"})).await;
    assert!(text.contains("\"name\":\"mcp_s3_tool7\""), "{text}");
    all.connect("s3").await.unwrap();
    assert_eq!(world.starts(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn dead_servers_restart_at_most_once_a_second_and_then_fail() {
    let mut dead = Behaviour::with(&[]);
    dead.start = StartAs::Fails;
    let world = World::new(&[("dead", dead)]);
    let all = manager(&world, Cache::in_memory(), &entries(&["dead"]));
    for round in 1..=7 {
        let error = all.connect("dead").await.err().unwrap();
        assert_eq!(error, "MCP server \"dead\" (x): failed to start \"x\": No such file");
        let expect = if round < 5 { "restarting" } else { "failed" };
        assert_eq!(all.state("dead").unwrap().state, expect, "{round}");
    }
    let times = world.times.lock().unwrap().clone();
    assert_eq!(times.len(), 7);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(1)), "{times:?}");
    // The server is not started again without a call.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(world.starts(), 7);
    world.change("dead", |server| server.start = StartAs::Up);
    all.connect("dead").await.unwrap();
    assert_eq!(all.state("dead").unwrap().state, "connected");
}

#[tokio::test(start_paused = true)]
async fn idle_servers_stop_and_restart_on_the_next_call() {
    let world = World::new(&[("s", Behaviour::with(&["t"])), ("stays", Behaviour::with(&["t"]))]);
    let mut configuration = entries(&["s", "stays"]);
    configuration["s"]["idleStopMs"] = 60_000.into();
    configuration["stays"]["idleStopMs"] = 0.into();
    let all = manager(&world, Cache::in_memory(), &configuration);
    let session = session(&all);
    all.connect("stays").await.unwrap();
    all.connect("s").await.unwrap();
    let tool = session.find(&all.tool_name("s", "t").await.unwrap()).unwrap();
    for _ in 0..3 {
        // A call restarts the idle time.
        tokio::time::sleep(Duration::from_secs(50)).await;
        run(&*tool, json!({}), sinew::base::CancelToken::never()).await.unwrap();
        assert_eq!((all.state("s").unwrap().state, world.starts()), ("connected", 2));
    }
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!((all.state("s").unwrap().state, all.state("stays").unwrap().state), ("idle", "connected"));
    run(&*tool, json!({}), sinew::base::CancelToken::never()).await.unwrap();
    assert_eq!((all.state("s").unwrap().state, world.starts()), ("connected", 3));

    // A running call counts as use, however long it takes.
    world.change("s", |server| server.answer = AnswerAs::NameAfter(Duration::from_secs(300)));
    run(&*tool, json!({}), sinew::base::CancelToken::never()).await.unwrap();
    assert_eq!((all.state("s").unwrap().state, world.starts()), ("connected", 3));
}

#[tokio::test(start_paused = true)]
async fn a_start_that_times_out_fails_with_a_reason() {
    let mut slow = Behaviour::with(&[]);
    slow.start = StartAs::Never;
    let world = World::new(&[("slow", slow)]);
    let all = manager(&world, Cache::in_memory(), &entries(&["slow"]));
    let begun = tokio::time::Instant::now();
    let error = all.connect("slow").await.err().unwrap();
    assert_eq!(error, "MCP server \"slow\" (x) did not start within 60 s.");
    assert_eq!(begun.elapsed(), Duration::from_secs(60));
    assert_eq!(all.state("slow").unwrap().state, "failed");
}

#[tokio::test(start_paused = true)]
async fn at_most_four_servers_start_at_once_and_waiters_share_a_start() {
    let names: Vec<String> = (0..9).map(|n| format!("s{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut slow = Behaviour::with(&["t"]);
    slow.start = StartAs::After(Duration::from_secs(10));
    let world = World::new(&names.iter().map(|name| (*name, slow.clone())).collect::<Vec<_>>());
    let all = manager(&world, Cache::in_memory(), &entries(&names));
    all.start_eager();
    all.start_eager();
    let begun = tokio::time::Instant::now();
    let waiting = names.iter().chain(&names).map(|name| all.connect(name));
    let connected = futures_util::future::join_all(waiting).await;
    assert!(connected.iter().all(Result::is_ok));
    assert_eq!((world.starts(), begun.elapsed().as_secs()), (9, 30));
}

#[tokio::test(start_paused = true)]
async fn cancelling_one_waiter_does_not_cancel_the_start() {
    let mut slow = Behaviour::with(&["t"]);
    slow.start = StartAs::After(Duration::from_secs(10));
    let world = World::new(&[("s", slow)]);
    let all = manager(&world, Cache::in_memory(), &entries(&["s"]));
    let left = tokio::time::timeout(Duration::from_secs(1), all.connect("s")).await;
    assert!(left.is_err());
    all.connect("s").await.unwrap();
    assert_eq!(world.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn three_unanswered_calls_in_a_row_restart_a_dead_server() {
    let mut silent = Behaviour::with(&["t"]);
    silent.answer = AnswerAs::Silent;
    let world = World::new(&[("s", silent)]);
    let all = manager(&world, Cache::in_memory(), &json!({"s": {"command": "x", "expose": "direct"}}));
    all.connect("s").await.unwrap();
    let session = session(&all);
    for round in 0..3 {
        assert_eq!(all.state("s").unwrap().state, "connected", "{round}");
        let (text, is_error) = run_front(&session, "mcp_s_t", json!({})).await;
        assert_eq!(text, "MCP error: no answer for 60 s. The server may still be working on it.");
        assert!(is_error);
    }
    // The probe runs in the background.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let state = all.state("s").unwrap();
    assert_eq!((state.state, state.error.as_deref()), ("restarting", Some("MCP server \"s\" does not answer.")));
    world.change("s", |server| server.answer = AnswerAs::Name);
    assert_eq!(run_front(&session, "mcp_s_t", json!({})).await.0, "s/t");
    assert_eq!(world.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_crash_fails_one_call_unless_the_tool_is_read_only() {
    let world = World::new(&[("s", Behaviour::with(&["get", "put"]))]);
    let entry = json!({"s": {"command": "x", "expose": "direct", "tools": {"readOnly": ["get"]}}});
    let all = manager(&world, Cache::in_memory(), &entry);
    all.connect("s").await.unwrap();
    let session = session(&all);
    world.change("s", |server| server.answer = AnswerAs::Crash);
    let (text, _) = run_front(&session, "mcp_s_put", json!({})).await;
    assert_eq!(text, "MCP error: Transport closed Whether the call took effect is unknown.");
    assert_eq!(all.state("s").unwrap().state, "restarting");
    let calls = || world.calls.lock().unwrap().len();
    assert_eq!(calls(), 1, "what may have had an effect is not repeated");
    let (text, _) = run_front(&session, "mcp_s_get", json!({})).await;
    assert_eq!((text.as_str(), calls()), ("MCP error: Transport closed", 3));
    world.change("s", |server| server.answer = AnswerAs::Name);
    assert_eq!(run_front(&session, "mcp_s_put", json!({})).await.0, "s/put");
}

#[tokio::test]
async fn the_next_call_starts_a_server_that_ended_while_idle() {
    let world = World::new(&[("s", Behaviour::with(&["t"]))]);
    let all = manager(&world, Cache::in_memory(), &json!({"s": {"command": "x", "expose": "direct"}}));
    all.connect("s").await.unwrap();
    let session = session(&all);
    world.crash_all();
    tokio::time::pause();
    assert_eq!(run_front(&session, "mcp_s_t", json!({})).await.0, "s/t");
    assert_eq!(world.starts(), 2);
}

#[tokio::test]
async fn a_required_server_that_needs_a_login_fails_the_start() {
    let mut closed = Behaviour::with(&[]);
    closed.start = StartAs::NeedsAuth;
    let world = World::new(&[("web", closed)]);
    let all = manager(&world, Cache::in_memory(), &json!({"web": {"url": "https://x", "required": true}}));
    let mut statuses = all.subscribe();
    let error = all.start_required().await.unwrap_err();
    assert_eq!(error, "MCP server \"web\" needs a login. The user can run: sinew mcp login web");
    let seen = [statuses.recv().await.unwrap().state, statuses.recv().await.unwrap().state];
    assert_eq!(seen, ["starting", "needs_auth"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_list_that_keeps_changing_is_polled_less_often() {
    let world = World::new(&[("s", Behaviour::with(&["t"]))]);
    let all = manager(&world, Cache::in_memory(), &entries(&["s"]));
    all.connect("s").await.unwrap();
    let mut statuses = all.subscribe();
    let begun = tokio::time::Instant::now();
    let mut looks = 0;
    while begun.elapsed() < Duration::from_secs(600) {
        world.tell_changes();
        // Reported after each read of the list, at least once a second here.
        if tokio::time::timeout(Duration::from_secs(1), statuses.recv()).await.is_ok() {
            looks += 1;
        }
    }
    assert!((5..20).contains(&looks), "{looks} looks in ten minutes");
}

#[tokio::test]
async fn reloading_config_files_changes_servers_but_not_the_prefix() {
    let world = World::new(&[
        ("stays", Behaviour::with(&["one"])),
        ("goes", Behaviour::with(&["two"])),
        ("comes", Behaviour::with(&["three"])),
    ]);
    let all = manager(&world, Cache::in_memory(), &entries(&["stays", "goes"]));
    let session = session(&all);
    let front = session.record();
    all.connect("stays").await.unwrap();
    all.connect("goes").await.unwrap();
    all.reload(read_entries(&entries(&["stays", "comes"])));
    assert_eq!(all.names(), ["stays", "comes"]);
    assert_eq!((all.state("stays").unwrap().state, all.state("goes")), ("connected", None));
    // The first request was not sent, so no server starts without a call.
    assert_eq!((all.state("comes").unwrap().state, world.starts()), ("idle", 2));
    let (text, _) = run_front(&session, "tool_search", json!({"query": "three"})).await;
    assert!(text.contains("mcp_comes_three"), "{text}");
    let (text, _) = run_front(&session, "tool_search", json!({"query": "two"})).await;
    assert!(text.starts_with("No tools match. Servers: stays (1 tools), comes (1 tools)"), "{text}");
    assert_eq!(session.record(), front);
    // After the first request, a server whose tools are unknown starts at once.
    all.start_eager();
    let before = world.starts();
    let mut changed = entries(&["stays", "comes"]);
    changed["stays"]["args"] = json!(["other"]);
    let mut statuses = all.subscribe();
    all.reload(read_entries(&changed));
    let status = statuses.recv().await.unwrap();
    assert_eq!((status.server.as_str(), status.state), ("stays", "starting"));
    all.connect("stays").await.unwrap();
    assert_eq!(world.starts(), before + 1);
}

#[tokio::test]
async fn a_restarted_server_lists_its_tools_again() {
    let world = World::new(&[("s", Behaviour::with(&["old"]))]);
    let all = manager(&world, Cache::in_memory(), &entries(&["s"]));
    let session = session(&all);
    all.connect("s").await.unwrap();
    world.set("s", Behaviour::with(&["new"]));
    tokio::time::pause();
    all.restart("s").await.unwrap();
    let (text, _) = run_front(&session, "tool_search", json!({"query": "name:new"})).await;
    assert!(text.contains("mcp_s_new"), "{text}");
    assert_eq!(world.starts(), 2);
    assert_eq!(all.restart("nobody").await.err().unwrap(), "There is no MCP server \"nobody\".");
}

/// A message starts before its request is sent. Servers that started then would compete with the request for the
/// processor.
#[tokio::test]
async fn eager_servers_start_after_the_first_request_was_sent() {
    use sinew_agent::event::{AnswerStep, Event};
    use sinew_agent::extension::{Context, Extension};
    use sinew_agent::mcp::extension::StartBehind;
    use sinew_llm::event::StreamEvent;
    use sinew_llm::message::AssistantMessage;

    let context = Context { cwd: "/".into(), session: "s".into(), ..Context::default() };
    let message = || AssistantMessage::default().into();
    let step = AnswerStep { event: StreamEvent::TextStart { content_index: 0 }, content: None };
    let piece = Event::MessageUpdate { message: None, step };
    for answer in [piece, Event::MessageEnd { message: message() }] {
        let world = World::new(&[("eager", Behaviour::with(&["t"])), ("unknown", Behaviour::with(&["t"]))]);
        let config = json!({"eager": {"command": "x", "start": "eager"}, "unknown": {"command": "x"}});
        let all = manager(&world, Cache::in_memory(), &config);
        let behind = StartBehind(std::sync::Arc::clone(&all));
        let states = || ["eager", "unknown"].map(|name| all.state(name).unwrap().state);
        behind.on_event(&Event::TurnStart, &context).await.unwrap();
        behind.on_event(&Event::MessageStart { message: message() }, &context).await.unwrap();
        assert_eq!(states(), ["idle", "idle"]);
        behind.on_event(&answer, &context).await.unwrap();
        assert_eq!(states(), ["starting", "starting"]);
    }
}

#[tokio::test(start_paused = true)]
async fn listing_tools_counts_toward_the_startup_timeout() {
    let mut mute = Behaviour::with(&[]);
    mute.start = StartAs::Greets;
    let world = World::new(&[("mute", mute)]);
    let config = json!({"mute": {"command": "x", "required": true, "startupTimeoutMs": 5000}});
    let all = manager(&world, Cache::in_memory(), &config);
    let begun = tokio::time::Instant::now();
    let error = all.start_required().await.unwrap_err();
    assert_eq!((error.as_str(), begun.elapsed().as_secs()), ("MCP server \"mute\" (x) did not start within 5 s.", 5));
    assert_eq!(all.state("mute").unwrap().state, "failed");
}

#[tokio::test(start_paused = true)]
async fn pending_searches_do_not_start_removed_servers() {
    let mut slow = Behaviour::with(&["t"]);
    slow.start = StartAs::Never;
    let world = World::new(&[("slow", slow), ("gone", Behaviour::with(&["t"]))]);
    let all = manager(&world, Cache::in_memory(), &entries(&["slow", "gone"]));
    let session = session(&all);
    let leaving = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        all.reload(read_entries(&entries(&["slow"])));
    };
    // The search still waits for the first server and has not reached the second.
    let (found, ()) = tokio::join!(run_front(&session, "tool_search", json!({"query": "t"})), leaving);
    assert!(found.0.starts_with("No tools match."), "{}", found.0);
    assert_eq!(world.starts(), 1);
}

/// The user hears of a server that cannot be used, with its program or address, and once.
#[tokio::test(start_paused = true)]
async fn servers_that_cannot_be_used_cause_one_warning() {
    let fails = || Behaviour { start: StartAs::Fails, ..Behaviour::with(&[]) };
    let odd = Behaviour { notes: vec!["2 items are left out".into()], ..Behaviour::with(&["t"]) };
    let web = json!({"url": "https://me:secret@h:8443/mcp?key=secret"});
    let program = json!({"command": "npx", "args": ["-y", "--token=secret"]});
    let failure = "failed to start \"x\": No such file";
    for (entry, behaviour, warnings) in [
        (&program, fails(), vec![format!("MCP server \"s\" (npx): {failure}")]),
        (&web, fails(), vec![format!("MCP server \"s\" (https://h:8443/mcp): {failure}")]),
        (&program, odd, vec!["MCP server \"s\" (npx): 2 items are left out".into()]),
        (&program, Behaviour::with(&["t"]), vec![]),
    ] {
        let world = World::new(&[("s", behaviour)]);
        let all = manager(&world, Cache::in_memory(), &json!({"s": entry}));
        let mut statuses = all.subscribe();
        // The result of a start is the same for each caller.
        for _ in 0..3 {
            let _ = all.connect("s").await;
        }
        let mut seen = Vec::new();
        while let Ok(status) = statuses.try_recv() {
            seen.extend(status.warning);
        }
        assert_eq!(seen, warnings, "{entry}");
    }
}
