//! Measures the cost of opening a session by counting allocations, remaining memory and read bytes. The only test of
//! its process, so that nothing else is counted.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_session::clock::FixedClock;
use sinew_session::{Defaults, Session, SessionOptions, Sync};

static CALLS: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn hold(bytes: usize) {
    PEAK.fetch_max(HELD.fetch_add(bytes, Ordering::Relaxed) + bytes, Ordering::Relaxed);
}

struct Counting;

// SAFETY: every call is passed to the system's allocator unchanged; counting has no effect on it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        hold(layout.size());
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    /// Growing is not counted as an allocation, because the number of reallocations depends on the library.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        hold(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the number of bytes that this process has read; `None` if the system does not count them.
fn bytes_read() -> Option<u64> {
    let table = std::fs::read_to_string("/proc/self/io").ok()?;
    table.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse().ok()
}

/// The cost of an operation.
#[derive(Debug)]
struct Cost {
    calls: usize,
    held: usize,
    /// The peak of allocated bytes.
    peak: usize,
    read: Option<u64>,
}

fn cost<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (calls, held, read) = (CALLS.load(Ordering::Relaxed), HELD.load(Ordering::Relaxed), bytes_read());
    PEAK.store(held, Ordering::Relaxed);
    let done = work();
    let cost = Cost {
        calls: CALLS.load(Ordering::Relaxed) - calls,
        held: HELD.load(Ordering::Relaxed).saturating_sub(held),
        peak: PEAK.load(Ordering::Relaxed).saturating_sub(held),
        read: bytes_read().zip(read).map(|(after, before)| after - before),
    };
    (done, cost)
}

/// Creates the lines of a session whose messages have `words` words of about 20 bytes. If `compacted`, only the last
/// ten messages are live.
fn session(entries: usize, words: usize, compacted: bool) -> String {
    let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/\"}\n".to_string();
    let said = "so it goes \\\"on\\\"\\n".repeat(words);
    let line = |at: usize, body: &str| {
        let parent = if at == 0 { "null".to_string() } else { format!("\"{:08x}\"", at - 1) };
        format!("{{\"id\":\"{at:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-01-31T09:30:00.000Z\",{body}}}\n")
    };
    for at in 0..entries {
        let answer = "\"role\":\"assistant\",\"api\":\"a\",\"provider\":\"p\",\"model\":\"m\",\"stopReason\":\"stop\"";
        let role = if at % 2 == 0 { "\"role\":\"user\"" } else { answer };
        let message = format!("{{{role},\"content\":[{{\"type\":\"text\",\"text\":\"{said}\"}}],\"timestamp\":1}}");
        text.push_str(&line(at, &format!("\"type\":\"message\",\"message\":{message}")));
    }
    if compacted {
        let kept = entries - 10;
        let body = format!("\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryId\":\"{kept:08x}\"");
        write!(text, "{}", line(entries, &body)).unwrap();
    }
    text
}

fn open(path: &Path) -> Session {
    let cwd = path.parent().unwrap().to_path_buf();
    let options =
        SessionOptions { cwd, blobs: None, sync: Sync::Never, clock: Arc::new(FixedClock::at(1)), mask: None };
    let opened = Session::open(path, options).unwrap();
    assert_eq!(opened.warnings, Vec::<String>::new());
    opened.session
}

#[test]
fn opening_reads_the_file_once_and_messages_are_read_later() {
    const ENTRIES: usize = 6_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    for compacted in [false, true] {
        let text = session(ENTRIES, 50, compacted);
        let size = text.len() as u64;
        std::fs::write(&path, text).unwrap();
        let (session, opened) = cost(|| open(&path));
        // Reading the head of an entry needs no allocation; only its node in the tree stays in memory.
        assert!(opened.calls < ENTRIES / 10, "{opened:?}");
        assert!(opened.held < ENTRIES * 160, "{opened:?}");
        // The margin covers lines across block boundaries and files of the system.
        assert!(opened.read.is_none_or(|read| (size..size + size / 10 + 64_000).contains(&read)), "{opened:?} {size}");
        let (context, built) = cost(|| session.context(&Defaults::default()).unwrap());
        let live = if compacted { 11 } else { ENTRIES };
        assert_eq!(context.messages.len(), live);
        // A few allocations for the fields of each entry and message.
        assert!(built.calls < live * 10 + 200, "{built:?}");
        let of_live = if compacted { 0 } else { size };
        assert!(
            built.read.is_none_or(|read| (of_live..of_live + size / 20 + 64_000).contains(&read)),
            "{built:?} {size}"
        );
    }
    long_session(&path);
}

/// Checks the memory of a long session: 240 bytes per entry, plus the messages that a model may see. A million entries
/// therefore open in 300 MB.
fn long_session(path: &Path) {
    const ENTRIES: usize = 200_000;
    const SEEN: usize = 50_000;
    std::fs::write(path, session(ENTRIES, 1, false)).unwrap();
    let (session, opened) = cost(|| open(path));
    assert!(opened.peak < ENTRIES * 240 + (8 << 20), "{opened:?}");
    let (context, built) = cost(|| session.context(&Defaults::default()).unwrap());
    assert_eq!((context.messages.len(), context.left_out), (SEEN, ENTRIES - SEEN));
    assert!(built.peak < SEEN * 1_000, "{built:?}");
    let warning = context.warning().unwrap();
    assert!(warning.contains("the newest 50000 messages, and not the 150000 before them"), "{warning}");
    let (todo, searched) = cost(|| session.todo(&["todo"]).unwrap());
    assert_eq!(todo, None);
    assert!(searched.calls < ENTRIES / 10 && searched.peak < 16 << 20, "{searched:?}");
}
