//! Tests that a checkpoint and a plan leave the times of the tree unchanged.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sinew_base::CancelToken;

use super::{Project, take};

/// The access time that every entry has before a call, in seconds. The next read changes such an old time, even on a
/// file system that records access times rarely.
const OLD: i64 = 1_000_000_000;

/// Sets the access time of every entry.
fn age(project: &Project) {
    project.run(&format!("find . -depth -exec touch -h -a -d @{OLD} {{}} +"));
}

/// Returns the entries with another access time. A parent is read before its entries, so each is checked in time.
fn read_entries(root: &Path) -> Vec<String> {
    let mut read = Vec::new();
    let mut paths = vec![root.to_path_buf()];
    while let Some(path) = paths.pop() {
        let found = path.symlink_metadata().unwrap();
        if found.atime() != OLD {
            read.push(path.display().to_string());
        }
        if found.is_dir() {
            paths.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    read
}

#[test]
#[cfg(target_os = "linux")]
fn takes_and_plans_change_no_time_in_the_tree() {
    let project = Project::new();
    project.run("mkdir -p d/e; echo 1 > a; echo 2 > d/e/b; git init -q; git add a d; git commit -qm 1; git gc -q; head -c 5000000 /dev/urandom > c; cp c c2; git add c; git commit -qm 2");
    let checkpoints = project.open();
    age(&project);
    let start = take(&checkpoints);
    assert_eq!(read_entries(&project.root()), [""; 0], "take");
    project.run("echo 3 > a");
    age(&project);
    checkpoints.plan(&start, &Default::default(), &CancelToken::never()).unwrap();
    assert_eq!(read_entries(&project.root()), [""; 0], "plan");
}
