use std::sync::Arc;

use serde_json::{json, value::to_raw_value};

use sinew_agent::mcp::cache::{Cache, KnownServer};
use sinew_mcp::Definition;
use sinew_mcp::era::Era;

/// The lifetime of an entry.
const DAYS_30: i64 = 30 * 24 * 3600 * 1000;

fn known(name: &str) -> Arc<KnownServer> {
    let raw = to_raw_value(&json!({"name": name, "inputSchema": {}})).unwrap();
    Arc::new(KnownServer {
        era: Some(Era::Legacy),
        tools: vec![Definition::new(&raw, "name").unwrap()],
        instructions: Some("Be kind.".into()),
        ..KnownServer::default()
    })
}

#[test]
fn cached_lists_are_valid_in_other_processes_for_thirty_days() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-cache.json");
    let cache = Cache::read(path.clone(), 0);
    cache.keep("a", known("one"), 10).unwrap();
    cache.keep("a", known("two"), 20).unwrap();
    cache.keep("b", known("three"), DAYS_30).unwrap();
    let next = Cache::read(path.clone(), DAYS_30 + 10);
    let found = next.get("a").unwrap();
    assert_eq!((found.era, found.tools[0].name.as_str(), found.tools.len()), (Some(Era::Legacy), "two", 1));
    assert_eq!(found.tools[0].raw.get(), r#"{"name":"two","inputSchema":{}}"#);
    assert_eq!(found.instructions.as_deref(), Some("Be kind."));
    assert!(Cache::read(path.clone(), DAYS_30 + 20).get("a").is_none());
    assert!(Cache::read(path, DAYS_30 + 20).get("b").is_some());
}

#[test]
fn an_unreadable_cache_file_counts_as_empty_and_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-cache.json");
    let texts = ["", "{", "[]", r#"{"version": 9, "servers": []}"#, "\u{0}", "{}\n"].map(str::as_bytes);
    let no_text: [&[u8]; 2] = [b"\xff\xfe", b"{\"version\":2,\"servers\":[]}\n\x80"];
    for bytes in texts.into_iter().chain(no_text) {
        std::fs::write(&path, bytes).unwrap();
        let cache = Cache::read(path.clone(), 0);
        assert!(cache.get("a").is_none());
        cache.keep("a", known("one"), 1).unwrap();
        assert!(Cache::read(path.clone(), 2).get("a").is_some());
    }
}

#[test]
fn two_processes_keep_each_others_entries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-cache.json");
    let (first, second) = (Cache::read(path.clone(), 0), Cache::read(path.clone(), 0));
    first.keep("a", known("one"), 1).unwrap();
    second.keep("b", known("two"), 2).unwrap();
    let all = Cache::read(path, 3);
    assert!(all.get("a").is_some() && all.get("b").is_some());
}

#[test]
fn a_truncated_or_extended_cache_file_counts_as_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-cache.json");
    let mut two = KnownServer::clone(&known("größe\n"));
    two.prompts = known("p").tools.clone();
    two.resources = known("r").tools.clone();
    let cache = Cache::read(path.clone(), 0);
    cache.keep("a", known("one"), 1).unwrap();
    cache.keep("b", Arc::new(two), 1).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let read = Cache::read(path.clone(), 2);
    let found = read.get("b").unwrap();
    assert_eq!(found.tools[0].value()["name"], "größe\n");
    assert_eq!((found.prompts[0].name.as_str(), found.resources[0].text("name").as_str()), ("p", "r"));
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(Cache::read(path.clone(), 2).get("a").is_none(), "cut at {cut}");
    }
    std::fs::write(&path, [&whole[..], b"{}"].concat()).unwrap();
    assert!(Cache::read(path, 2).get("a").is_none());
}

#[test]
fn definitions_that_are_not_utf8_are_null_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-cache.json");
    let cache = Cache::read(path.clone(), 0);
    cache.keep("a", known("one"), 1).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() = 0xff;
    std::fs::write(&path, &bytes).unwrap();
    let read = Cache::read(path.clone(), 2);
    let tools = &read.get("a").unwrap().tools;
    assert_eq!((tools[0].name.as_str(), tools[0].value()), ("one", serde_json::Value::Null));
    read.keep("b", known("two"), 3).unwrap();
    let again = Cache::read(path, 4);
    assert!(again.get("a").is_none());
    assert_eq!(again.get("b").unwrap().tools[0].text("name"), "two");
}

/// Returns the number of bytes that this thread has read.
#[cfg(target_os = "linux")]
fn bytes_read() -> u64 {
    let facts = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    facts.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// Selecting the tools of a session with twenty servers and a thousand tools reads only names.
#[cfg(target_os = "linux")]
#[test]
fn preparing_the_first_request_reads_no_definitions() {
    use crate::mcp::stage::{Behaviour, World, entries, manager, read_entries, session};
    use sinew_agent::mcp::config::EntryStatus;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-cache.json");
    let names: Vec<String> = (0..20).map(|number| format!("server{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let config = entries(&names);
    let cache = Cache::read(path.clone(), 0);
    for entry in read_entries(&config).list {
        let EntryStatus::Ready(ready) = entry.standing else { panic!("{} cannot be used", entry.name) };
        let tool = |number: usize| {
            let tool = json!({"name": format!("tool{number}"), "description": "words ".repeat(200), "inputSchema": {}});
            Definition::new(&to_raw_value(&tool).unwrap(), "name").unwrap()
        };
        let tools = (0..50).map(tool).collect();
        cache.keep(&ready.hash, Arc::new(KnownServer { tools, ..KnownServer::default() }), 1_000_000).unwrap();
    }
    assert!(std::fs::metadata(&path).unwrap().len() > 1_000_000);
    let world = World::new(&names.iter().map(|name| (*name, Behaviour::with(&[]))).collect::<Vec<_>>());
    let own = bytes_read();
    let before = bytes_read();
    let all = manager(&world, Cache::read(path, 1_000_000), &config);
    let session = session(&all);
    let (fronts, bytes) = (session.names(), session.record().to_string().len());
    let read = bytes_read() - before - (before - own);
    assert_eq!(fronts, ["tool_search", "call_tool"]);
    assert!(bytes < 2_000 && read <= 64 * 1024, "{read} bytes read, {bytes} in front");
    // The definitions are read on first use.
    assert_eq!(all.state("server7").unwrap().tools, Some(50));
    assert!(all.state("server7").unwrap().bytes > 50_000);
}
