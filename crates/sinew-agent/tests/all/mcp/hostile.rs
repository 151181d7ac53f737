//! Tests the manager with programs that violate the protocol in every way.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use sinew::base::CancelToken;
use sinew_agent::core::Catalogue;
use sinew_agent::mcp::Logins;
use sinew_agent::mcp::cache::Cache;
use sinew_agent::mcp::config::{ConfigFile, Origin, read};
use sinew_agent::mcp::connect::RealConnector;
use sinew_agent::mcp::elicit::PersonHost;
use sinew_agent::mcp::{Manager, ManagerParts, SessionServers};
use sinew_llm::http::HttpConfig;
use sinew_session::clock::SystemClock;

use crate::mcp::stage::{run, session, variables};

/// Returns the supervisor program, which is built together with the tests.
fn keeper() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().unwrap().parent().unwrap();
    folder.join("sinew-keeper")
}

fn liar() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../sinew-mcp/tests/peers/liar.py").to_string()
}

/// Creates a manager of real programs; each entry selects the mode of one.
fn programs(modes: &[(&str, &str)]) -> Option<Arc<Manager>> {
    let keeper = keeper();
    if !keeper.exists() {
        let line = "skipped: hostile servers: sinew-keeper is not built beside the tests\n";
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
        return None;
    }
    let servers = modes.iter().map(|(name, mode)| {
        let entry =
            json!({"command": "python3", "args": ["-u", liar(), mode], "expose": "deferred", "timeout": 10_000});
        ((*name).to_string(), entry)
    });
    let text = json!({"mcpServers": Value::Object(servers.collect())}).to_string();
    let file = ConfigFile { path: "mcp.json".into(), origin: Origin::User, trusted: true, text };
    Some(Manager::new(ManagerParts {
        entries: read(&[file], &variables()),
        cache: Cache::in_memory(),
        connector: Arc::new(RealConnector {
            keeper,
            environment: std::env::vars_os().collect(),
            cwd: "/".into(),
            http: HttpConfig::default(),
            logins: Logins::new("/nowhere/mcp-auth.json".into(), HttpConfig::default(), Arc::new(|| 0)),
        }),
        host: Box::new(|name| Arc::new(PersonHost::new(name, "/".into(), None))),
        clock: Arc::new(SystemClock),
        reserved: Vec::new(),
    }))
}

async fn call(session: &SessionServers, server: &str, tool: &str, arguments: Value) -> (String, bool) {
    // The tool is not listed, so it is called over the connection.
    let manager = session.manager();
    let connection = manager.connect(server).await.unwrap();
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    match connection.call(tool, arguments, &sinew_mcp::CallOptions::default()).await {
        Ok(result) => (result.text(), result.is_error),
        Err(error) => (error.to_string(), true),
    }
}

#[tokio::test]
async fn a_hostile_server_affects_only_its_own_calls() {
    let Some(all) = programs(&[("good", "modern"), ("bad", "garbage")]) else { return };
    let session = session(&all);
    for (tool, arguments, expect) in [
        ("talk", json!({}), "after all"),
        ("twice", json!({}), "first"),
        ("bytes", json!({}), "clean"),
        ("deep", json!({"depth": 100_000}), "shallow"),
        ("endless", json!({"megabytes": 64}), "behind"),
    ] {
        assert_eq!(call(&session, "bad", tool, arguments).await, (expect.to_string(), false), "{tool}");
        assert_eq!(call(&session, "good", "echo", json!({"text": "on"})).await.0, "on");
    }
    assert_eq!(all.state("bad").unwrap().state, "connected");
}

#[tokio::test]
async fn the_next_call_restarts_a_server_that_died() {
    let Some(all) = programs(&[("bad", "garbage")]) else { return };
    let session = session(&all);
    let pid = {
        all.connect("bad").await.unwrap();
        all.state("bad").unwrap().pid.unwrap()
    };
    assert!(call(&session, "bad", "die", json!({})).await.1);
    // The server lists `echo`, so the session's tool exists.
    let echo = session.find("mcp_bad_echo").unwrap();
    let (text, is_error) = run(&*echo, json!({"text": "again"}), CancelToken::never()).await.unwrap();
    assert_eq!((text.as_str(), is_error), ("again", false));
    assert_ne!(all.state("bad").unwrap().pid.unwrap(), pid);
}

#[tokio::test]
async fn ten_thousand_concurrent_calls_get_their_own_answers() {
    const AT_ONCE: usize = 8;
    const EACH: usize = 313;
    let Some(all) = programs(&[("good", "modern")]) else { return };
    let sessions = [session(&all), session(&all)];
    let own = async |session: &SessionServers, first: usize| {
        for number in first..first + EACH {
            let told = Arc::new(std::sync::Mutex::new(Vec::new()));
            let sink = Arc::clone(&told);
            let options = sinew_mcp::CallOptions {
                progress: Some(Arc::new(move |progress: sinew_mcp::Progress| {
                    sink.lock().unwrap().push(progress.progress);
                })),
                ..sinew_mcp::CallOptions::default()
            };
            let connection = session.manager().connect("good").await.unwrap();
            let arguments = json!({"number": number}).as_object().cloned().unwrap();
            let result = connection.call("steps", arguments, &options).await.unwrap();
            assert_eq!(result.text(), number.to_string());
            let expect = [number as f64];
            assert_eq!(*told.lock().unwrap(), expect);
        }
    };
    // The second program starts again with the same ids and progress tokens.
    for _ in 0..2 {
        let calls = sessions
            .iter()
            .enumerate()
            .flat_map(|(of, session)| (0..AT_ONCE).map(move |row| (session, 1 + (of * AT_ONCE + row) * EACH)));
        futures_util::future::join_all(calls.map(|(session, first)| own(session, first))).await;
        all.restart("good").await.unwrap();
    }
}

#[tokio::test]
async fn a_failed_start_reports_the_last_stderr_line() {
    let Some(all) = programs(&[("dead", "dies-twice")]) else { return };
    let error = all.connect("dead").await.err().unwrap();
    assert!(error.starts_with("MCP server \"dead\"") && error.ends_with("cannot find the database"), "{error}");
}

#[tokio::test]
async fn dropping_the_manager_ends_server_processes() {
    let Some(all) = programs(&[("a", "modern"), ("b", "garbage")]) else { return };
    let mut pids = Vec::new();
    for name in ["a", "b"] {
        all.connect(name).await.unwrap();
        pids.push(all.state(name).unwrap().pid.unwrap());
    }
    drop(all);
    let begun = std::time::Instant::now();
    // A zombie counts as dead, because its parent may never reap it.
    let lives =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while pids.iter().any(lives) {
        assert!(begun.elapsed() < std::time::Duration::from_secs(120), "{pids:?} live on");
        tokio::task::yield_now().await;
    }
}
