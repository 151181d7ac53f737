//! Tests the guarantees of a workspace on every system, with or without an index.

use std::fs;

use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_search::{GrepOptions, Mode, WorkspaceOptions, Workspaces};

#[test]
fn indexes_on_linux_and_reports_why_it_walks_elsewhere() {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in [("one", "hay\n"), ("two", "a needle\n")] {
        fs::write(place.path().join(name), text).unwrap();
    }
    let workspace = Workspaces::default().open(place.path(), &WorkspaceOptions::default()).unwrap();
    let (pool, never) = (Pool::new("test", 2), CancelToken::never());
    let files = || {
        let options = GrepOptions { mode: Mode::FilesWithMatches, ..GrepOptions::new("needle", "") };
        let found = workspace.grep(&options, &pool, &never, None).unwrap();
        found.rows().map(|row| row.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(files(), ["two"]);
    let status = workspace.ready(&pool, &never).unwrap();
    fs::write(place.path().join("one"), "another needle\n").unwrap();
    assert_eq!(files(), ["one", "two"]);
    assert_eq!(status.index.files, if cfg!(target_os = "linux") { 2 } else { 0 }, "{status:?}");
    if !cfg!(target_os = "linux") {
        assert_eq!(status.index.reason.as_deref(), Some("indexes are only supported on Linux"));
        assert_eq!(workspace.status().last.why, Some("indexes are only supported on Linux"));
    }
}
