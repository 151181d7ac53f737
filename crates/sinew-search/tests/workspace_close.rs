//! Tests that closed workspaces leave no resources. A single test, so that nothing else opens files in this process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::fs;
use std::path::Path;

use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_search::{GrepOptions, WorkspaceOptions, Workspaces};

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// Opens, builds, searches and drops.
fn cycle(root: &Path, cache: &Path, pool: &Pool) {
    let workspaces = Workspaces::default();
    let options = WorkspaceOptions { cache: Some(cache.to_path_buf()), ..WorkspaceOptions::default() };
    let workspace = workspaces.open(root, &options).unwrap();
    workspace.ready(pool, &CancelToken::never()).unwrap();
    let found = workspace.grep(&GrepOptions::new("needle", ""), pool, &CancelToken::never(), None).unwrap();
    assert_eq!(found.total_matches, 20);
}

#[test]
fn closing_leaves_no_open_file_and_no_thread() {
    let (place, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for file in 0..20 {
        let folder = place.path().join(format!("d{}", file % 4));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("f{file}")), "needle\n").unwrap();
    }
    // One thread: the calling one.
    let pool = Pool::new("test", 1);
    cycle(place.path(), cache.path(), &pool);
    let before = (descriptors(), threads());
    for _ in 0..100 {
        cycle(place.path(), cache.path(), &pool);
    }
    assert_eq!((descriptors(), threads()), before);
}
