use std::sync::Arc;

use serde_json::{json, value::to_raw_value};

use sinew_agent::mcp::cache::{Cache, KnownServer};
use sinew_mcp::Definition;
use sinew_mcp::era::Era;

/// How long an entry is known.
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
fn what_a_server_told_is_known_to_the_next_process_for_thirty_days() {
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
fn a_file_that_cannot_be_read_is_an_empty_cache_and_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-cache.json");
    for text in ["", "{", "[]", r#"{"version": 9, "servers": []}"#, "\u{0}", "{}\n"] {
        std::fs::write(&path, text).unwrap();
        let cache = Cache::read(path.clone(), 0);
        assert!(cache.get("a").is_none());
        cache.keep("a", known("one"), 1).unwrap();
        assert!(Cache::read(path.clone(), 2).get("a").is_some());
    }
}

#[test]
fn two_processes_lose_nothing_of_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-cache.json");
    let (first, second) = (Cache::read(path.clone(), 0), Cache::read(path.clone(), 0));
    first.keep("a", known("one"), 1).unwrap();
    second.keep("b", known("two"), 2).unwrap();
    let all = Cache::read(path, 3);
    assert!(all.get("a").is_some() && all.get("b").is_some());
}

#[test]
fn a_file_that_was_cut_or_grew_is_an_empty_cache() {
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
