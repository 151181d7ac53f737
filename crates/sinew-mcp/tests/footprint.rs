//! Counts the memory and connections that servers and their calls need.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]
#![allow(unsafe_code, reason = "a counting allocator")]

#[path = "all/support/mod.rs"]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{json, value::to_raw_value};
use sinew_mcp::catalogue::{CatalogueServer, ToolIndex, select_front};
use sinew_mcp::{CallOptions, CallTimes, Client, ClientOptions, Definition};
use support::{arguments, server};
use tokio::sync::Mutex;

/// Counts the allocated bytes and the number of allocations.
struct Counting;

static HELD: AtomicIsize = AtomicIsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// The counts are of the whole process, so only one test runs at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

fn size(layout: &Layout) -> isize {
    isize::try_from(layout.size()).unwrap_or(isize::MAX)
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(size(&layout), Ordering::Relaxed);
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(size(&layout), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn held() -> isize {
    HELD.load(Ordering::Relaxed)
}

/// Twenty servers of fifty tools of about 1 KB each.
fn thousand_tools() -> Vec<CatalogueServer> {
    let tool = |server: usize, tool: usize| {
        let parameter =
            |name: &str| json!({"type": "string", "description": format!("The {name} that this tool needs, in words")});
        let properties = json!({"owner": parameter("owner"), "project": parameter("project"), "title": parameter("title"), "body": parameter("body")});
        let definition = json!({
            "name": format!("do_{server}_{tool}"),
            "description": "Does something that takes a few words to describe, as descriptions of tools do. ".repeat(5),
            "inputSchema": {"type": "object", "properties": properties, "required": ["owner", "project"]},
        });
        Definition::new(&to_raw_value(&definition).unwrap(), "name").unwrap()
    };
    (0..20)
        .map(|of| CatalogueServer {
            name: format!("server{of}"),
            tools: Some((0..50).map(|index| tool(of, index)).collect()),
            ..CatalogueServer::default()
        })
        .collect()
}

#[test]
fn a_thousand_unsearched_definitions_take_two_and_a_half_megabytes() {
    let _alone = ALONE.blocking_lock();
    let before = held();
    let servers = thousand_tools();
    let front = select_front(&servers, &[]);
    let taken = held() - before;
    let text: usize =
        servers.iter().flat_map(|server| server.tools.iter().flatten()).map(|tool| tool.raw.get().len()).sum();
    assert!(text > 800_000, "{text} bytes of definitions");
    assert!(taken <= 2_500_000, "{taken} bytes for {text} bytes of definitions");
    assert!(front.tools.is_empty());
}

#[test]
fn a_search_of_a_thousand_tools_does_not_parse_definitions_again() {
    let _alone = ALONE.blocking_lock();
    let servers = thousand_tools();
    let index = ToolIndex::new(&servers, &[]);
    // One that finds nothing costs what looking at every tool costs, one that finds all what sorting them costs on top.
    for query in ["zebra", "server:server7 project", "words needs owner"] {
        let before = CALLS.load(Ordering::Relaxed);
        let found = index.search(query).len();
        let calls = CALLS.load(Ordering::Relaxed) - before;
        assert!(calls <= 2 * found + 32, "{query}: {calls} allocations for {found} tools found");
    }
}

#[tokio::test]
async fn ten_thousand_calls_leak_no_memory() {
    let _alone = ALONE.lock().await;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/liar.py");
    let options = ClientOptions { discover_silence: Duration::from_secs(60), ..ClientOptions::default() };
    let client = Client::start(&server("python3", ["-u", script, "error:-32601"]), &options).await.unwrap();
    let times = CallTimes { silence: Duration::from_secs(600), ..CallTimes::default() };
    let options = CallOptions { times, ..CallOptions::default() };
    let call = async |number: usize| {
        let text = format!("call {number:05}");
        let result = client.call_tool("echo", arguments(json!({ "text": text })), &options).await.unwrap();
        assert_eq!(result.text(), text);
    };
    for number in 0..1_000 {
        call(number).await;
    }
    let before = held();
    for number in 1_000..10_000 {
        call(number).await;
    }
    let grown = held() - before;
    // A slope of one byte a call would be 9,000.
    assert!(grown < 4_096, "{grown} bytes more after 9,000 calls");
    client.close().await;
}

/// The first request does not wait for anything that grows with the number of deferred tools.
#[tokio::test]
async fn the_front_of_a_thousand_tools_allocates_little() {
    let _alone = ALONE.lock().await;
    let servers = thousand_tools();
    let before = CALLS.load(Ordering::Relaxed);
    let again = servers.clone();
    let copied = CALLS.load(Ordering::Relaxed) - before;
    // Only the name of each tool is copied; the definitions are shared.
    assert!(copied <= 1_000 + 3 * 20 + 8, "{copied} allocations for a copy");
    let before = CALLS.load(Ordering::Relaxed);
    let front = select_front(&again, &[]);
    let chosen = CALLS.load(Ordering::Relaxed) - before;
    assert!(front.tools.is_empty() && front.search.is_some());
    assert!(chosen <= 200, "{chosen} allocations for the choice");
}
