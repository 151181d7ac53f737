//! Tests the memory of a workspace. A separate test program, because it measures the whole process.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::fmt::Write;
use std::fs;

use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_search::{GrepOptions, WorkspaceOptions, Workspaces};

/// Returns the resident memory of this process without mapped files, in bytes.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Returns lines of many different words, which have many grams.
fn text(seed: u64) -> String {
    let mut text = String::new();
    let mut state = seed;
    while text.len() < 64 << 10 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        writeln!(text, "{:x} of {}", state >> 40, state >> 24 & 0xFFFF).unwrap();
    }
    text
}

#[test]
fn releases_the_memory_of_the_build() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    fs::create_dir(&root).unwrap();
    (0..160).for_each(|file| fs::write(root.join(format!("f{file}")), text(file)).unwrap());
    let options = WorkspaceOptions { cache: Some(place.path().join("cache")), ..WorkspaceOptions::default() };
    let workspace = Workspaces::default().open(&root, &options).unwrap();
    let (pool, never) = (Pool::new("test", 2), CancelToken::never());
    workspace.refresh(&pool, &never).unwrap();
    let before = resident();
    let status = workspace.ready(&pool, &never).unwrap();
    assert!(status.index.files == 160 && status.index.persisted, "{status:?}");
    workspace.grep(&GrepOptions::new("needle", ""), &pool, &never, None).unwrap();
    let more = resident().saturating_sub(before);
    // The build needs over 20 MB for the grams of this text.
    assert!(more < 8 << 20, "{more} bytes more than before");
}
